"""The process and its machine: processors and memory, what is imported late, and the cache on disk."""
