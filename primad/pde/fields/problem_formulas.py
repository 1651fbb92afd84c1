"""Equations as formulas: what functions of unknowns compute, as SymPy's expressions, in LaTeX and in MathML."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from primad.errors import PrimadError
from primad.numpy.shapes.shaping import stack
from primad.pde.equations.symbolic_equations import Equation
from primad.pde.fields.field_display import mathml
from primad.pde.fields.given_fields import GivenField
from primad.pde.fields.named_fields import FieldAt
from primad.pde.geometry.domains import Domain
from primad.pde.problem.named_arguments import by_name
from primad.recording import tree
from primad.system.deferred import sympy

Function = Callable[..., Any]


def is_symbolic(equation: Any) -> bool:
    """Say whether an equation is SymPy's: an `Eq`, an expression, or a matrix, list or tuple of these."""
    if isinstance(equation, (list, tuple)):
        return bool(equation) and all(is_symbolic(one) for one in equation)
    if isinstance(equation, bool):
        return True  # what `Eq` is of equal sides
    return "sympy" in sys.modules and isinstance(equation, (sympy.Basic, sympy.MatrixBase))


def formulas(function: Function, domain: Domain, unknowns: Sequence[str], numbers: Mapping[str, Any]) -> list[Any]:
    """Return what a function of unknowns, coordinates and numbers by name returns, as SymPy's expressions.

    Args:
        function: of an equation.
        domain: whose coordinates there are.
        unknowns: names.
        numbers: coefficients and constants; those that are single numbers become symbols.

    Raises:
        TracingError: for what has no formula.
    """
    from primad.symbolic.program_formulas import to_sympy  # loads when it is called, with SymPy

    coordinates = domain.names
    single = [name for name in (*coordinates, *numbers) if np.ndim(numbers.get(name, 0)) == 0]
    symbols = {name: sympy.Symbol(name, real=True) for name in single}
    point = [symbols[name] for name in coordinates]
    used: dict[tuple[str, tuple[str, ...]], Any] = {}

    def noted(name: str, along: tuple[str, ...]) -> Any:
        if name:
            used.setdefault((name, along), sympy.Dummy(f"{name}_{''.join(along)}", real=True))
        return 0.5

    def called(values: Mapping[str, Any], take: Callable[[str, tuple[str, ...]], Any]) -> Any:
        fields = {name: GivenField(name, domain, take) for name in unknowns}
        points = stack([values[name] for name in coordinates])
        result = by_name(function, {**numbers, **values, **fields, "points": points})
        return tree.map(lambda leaf: leaf.value if isinstance(leaf, FieldAt) else leaf, result)

    called(dict.fromkeys(symbols, 0.5), noted)
    keys = list(used)

    def recorded(*given: Any) -> Any:
        values = dict(zip(symbols, given, strict=False))
        atoms = dict(zip(keys, given[len(symbols) :], strict=True))
        return called(values, lambda name, along: atoms[name, along] if name else values[along[0]])

    leaves = tree.leaves(to_sympy(recorded, *symbols.values(), *used.values()))
    written = {}
    for (name, along), dummy in used.items():
        base = sympy.Function(name)(*point)
        written[dummy] = base.diff(*[symbols[c] for c in along]) if along else base
    return [sympy.sympify(leaf).xreplace(written) for leaf in leaves]


def latex_of(*of: Any) -> list[str]:
    """Return an equation in LaTeX, a line for each residual; nothing where it has no formula. See `shown`."""
    return [str(sympy.latex(one)) for one in shown(*of)]


def mathml_of(*of: Any) -> list[str]:
    """Return an equation in MathML, an element for each residual; nothing where it has no formula. See `shown`."""
    return mathml(shown(*of))


def shown(
    equation: Any,
    function: Function,
    domain: Domain,
    unknowns: Sequence[str],
    numbers: Mapping[str, Any],
    complex_unknowns: Set[str] = frozenset(),
) -> list[Any]:
    """Return an equation as SymPy's, with derivatives as indices; nothing where it has no formula.

    Args:
        equation: as it was given.
        function: the same as a function.
        domain: whose coordinates there are.
        unknowns: names.
        numbers: coefficients and constants by name.
        complex_unknowns: of which functions have no formula: those of recorded programs hold for real numbers.
    """
    if is_symbolic(equation):
        sides = _listed(equation)
    elif isinstance(equation, Equation):
        sides = _listed(tree.leaves(equation.residuals))
    elif complex_unknowns:
        return []
    else:
        try:
            sides = formulas(function, domain, unknowns, numbers)
        except (PrimadError, TypeError, ValueError, AttributeError, IndexError):
            return []  # what a user's function does with arrays may have no formula
    equations = [side if isinstance(side, sympy.Equality) else sympy.Eq(side, 0, evaluate=False) for side in sides]
    return [_indexed(one, set(domain.names)) for one in equations]


def _listed(equation: Any) -> list[Any]:
    """Return the single equations of lists and matrices."""
    if isinstance(equation, (list, tuple, sympy.MatrixBase)):
        return [part for one in equation for part in _listed(one)]
    if isinstance(equation, sympy.Equality) and isinstance(equation.lhs, sympy.MatrixBase):
        return list(equation.lhs - equation.rhs)
    return [equation]


def _indexed(equation: Any, coordinates: set[str]) -> Any:
    """Return an equation with unknowns without their arguments, and derivatives as indices."""
    replaced = {}
    for atom in equation.atoms(sympy.core.function.AppliedUndef, sympy.Derivative):
        function, times = (atom.expr, atom.variable_count) if isinstance(atom, sympy.Derivative) else (atom, ())
        if isinstance(function, sympy.core.function.AppliedUndef) and all(
            str(argument) in coordinates for argument in function.args
        ):
            parts = [str(symbol) for symbol, count in times for _ in range(int(count))]
            index = "".join(parts) if all(len(part) == 1 for part in parts) else " ".join(parts)
            replaced[atom] = sympy.Symbol(f"{function.func}_{index}" if index else str(function.func))
    return equation.xreplace(replaced)
