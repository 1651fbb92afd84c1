"""Executables of loops: their runs, and rows that are computed again in reverse mode."""
