"""NumPy's functions that make, rearrange, index, sort and join arrays."""
