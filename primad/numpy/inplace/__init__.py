"""Arrays that are written to while a function is recorded."""
