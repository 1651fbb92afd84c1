"""LLVM text and its compilation: the builder, vectors, views, symbols, and texts that are kept on disk."""
