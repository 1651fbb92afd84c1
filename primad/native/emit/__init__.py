"""LLVM loops for each op: one table of how an op is written, and the writers."""
