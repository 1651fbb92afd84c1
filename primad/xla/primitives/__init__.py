"""JAX's primitives as functions of traced arrays: the inverse of the table of JAX's functions beside it."""
