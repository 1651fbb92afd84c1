"""Compiled programs as built-in functions of CPython: arguments, results and the layout of objects."""
