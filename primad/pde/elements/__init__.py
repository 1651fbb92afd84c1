"""Finite elements: statements as weak forms, on triangulations of their domains."""
