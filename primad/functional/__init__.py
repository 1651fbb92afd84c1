"""Functions of functions: what users call.

Each records its function, builds a derived program, and runs it or, inside another trace, records it.
"""
