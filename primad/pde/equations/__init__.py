"""Equations by name and by SymPy, and reference solutions."""
