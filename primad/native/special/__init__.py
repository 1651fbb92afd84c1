"""Special functions that are written as vectors of our own, since the C library has none of them."""
