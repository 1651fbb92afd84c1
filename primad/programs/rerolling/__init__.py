"""Loops that were written in Python, found in what was recorded, as loops of the program."""
