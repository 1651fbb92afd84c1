"""Functions of functions: what users call. Each records its function, builds a derived program, and runs or records it."""
