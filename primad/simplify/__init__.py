"""Simplification: constructor laws as a program is rebuilt, then the families of laws that run as a pass."""

from primad.simplify.engine import simplify

__all__ = ["simplify"]
