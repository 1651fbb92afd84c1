"""SymPy both ways: programs as expressions, expressions and equations as functions. Imported, with SymPy, when used."""

from primad.symbolic.from_expressions import from_sympy
from primad.symbolic.program_formulas import to_sympy
from primad.symbolic.residual_functions import residual_of

__all__ = ["from_sympy", "residual_of", "to_sympy"]
