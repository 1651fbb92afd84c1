"""Machine code for programs: their loops as LLVM text, compiled by llvmlite where it is installed."""
