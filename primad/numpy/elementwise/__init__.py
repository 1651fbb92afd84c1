"""NumPy's elementwise functions: ufuncs, logic, bits and rounding."""
