"""LLVM loops over stacks of matrices, each of which LAPACK or unrolled code works on."""
