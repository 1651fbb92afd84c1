"""Finite volumes: statements as conservation laws, on the cells of boxes."""
