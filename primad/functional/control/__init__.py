"""Loops, branches, maps and checkpoints for users."""
