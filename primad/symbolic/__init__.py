"""SymPy both ways: programs as expressions, expressions and equations as functions. Imported, with SymPy, when used."""

from primad.symbolic.equations import residual_of
from primad.symbolic.functions import from_sympy
from primad.symbolic.programs import to_sympy

__all__ = ["from_sympy", "residual_of", "to_sympy"]
