"""SciPy's special functions: those that are members of a family, and those that are formulas of others."""
