"""Sums and products of large arrays, computed block by block on threads."""
