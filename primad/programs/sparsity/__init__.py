"""Which elements of matrices of derivatives are zero, by the axes of ops, and directions that may be taken together."""
