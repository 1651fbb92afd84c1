"""Symbols as graphs: shapes and types, names, JSON, lowering and binding."""
