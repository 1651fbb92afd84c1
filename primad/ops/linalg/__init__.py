"""Ops on matrices: factorizations, eigenvalues, cofactors and functions of matrices."""
