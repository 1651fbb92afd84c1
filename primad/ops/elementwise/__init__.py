"""Elementwise ops: arithmetic, powers, elementary functions, conversion, comparisons and choices."""
