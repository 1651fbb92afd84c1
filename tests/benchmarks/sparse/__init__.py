"""Sparse matrices of derivatives, and what is solved with them, beside other systems."""
