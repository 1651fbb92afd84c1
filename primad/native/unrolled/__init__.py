"""Straight-line code in which every element of an array is a scalar in a register."""
