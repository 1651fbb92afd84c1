"""Equations as formulas: what functions of unknowns compute, as SymPy's expressions, in LaTeX and in MathML."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.errors import PrimadError
from primad.numpy.shapes.creation import asarray
from primad.numpy.shapes.shaping import stack
from primad.pde.equations.symbolic_equations import Equation
from primad.pde.fields.field_display import mathml
from primad.pde.fields.given_fields import GivenField, Take
from primad.pde.fields.integrals import Quadrature, integrating
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

    The function is called twice: with numbers, to see which derivatives, values elsewhere and integrals it asks for;
    and recorded, where what it asked for are arguments, and places, limits and integrands are further results.

    Args:
        function: of an equation.
        domain: whose coordinates there are.
        unknowns: names.
        numbers: coefficients and constants; those that are single numbers become symbols.

    Raises:
        TracingError: for what has no formula.
    """
    from primad.symbolic.program_formulas import to_sympy  # loads when it is called, with SymPy

    single = [name for name in (*domain.names, *numbers) if np.ndim(numbers.get(name, 0)) == 0]
    symbols = {name: sympy.Symbol(name, real=True) for name in single}

    def called(values: Mapping[str, Any], slots: Slots) -> Any:
        with integrating(Quadrature(written=slots.integral)):
            fields = {
                name: GivenField(name, domain, slots.taken(values), elsewhere=slots.elsewhere) for name in unknowns
            }
            points = stack([values[name] for name in domain.names])
            result = by_name(function, {**numbers, **values, **fields, "points": points})
            return tree.map(_plain, result)

    called(dict.fromkeys(symbols, 0.5), asked := Slots([]))
    dummies = [sympy.Dummy(slot.label, real=True) for slot in asked.slots]

    def recorded(*given: Any) -> Any:
        slots = Slots(given[len(symbols) :])
        result = called(dict(zip(symbols, given, strict=False)), slots)
        return result, [list(slot.told) for slot in slots.slots]

    result, told = to_sympy(recorded, *symbols.values(), *dummies)
    point = [symbols[name] for name in domain.names]
    meant: dict[Any, Any] = {}
    for dummy, slot, parts in zip(dummies, asked.slots, told, strict=True):
        meant[dummy] = slot.formula(point, dummies, parts)
    return [_replaced(sympy.sympify(leaf), meant) for leaf in tree.leaves(result)]


def _replaced(formula: Any, meant: Mapping[Any, Any]) -> Any:
    """Return a formula with what symbols mean in their place, and in the place of those in what they mean."""
    while formula.free_symbols & {dummy for dummy, wanted in meant.items() if wanted is not dummy}:
        formula = formula.xreplace({dummy: wanted for dummy, wanted in meant.items() if wanted is not dummy})
    return formula


@dataclass
class Slot:
    """A number that a function asked for: a derivative, a variable of an integral, or an integral.

    Attributes:
        label: how it is called.
        formula: returns what it means: of the point's symbols, those in the places of all slots, and the formulas of
            `told`.
        told: what else is to be recorded of it: the place of a value, or an integrand and its limits.
    """

    label: str
    formula: Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Any]
    told: tuple[Any, ...] = ()


class Slots:
    """What a function asks for while it runs, in that order.

    Args:
        given: the numbers, in the same order; none where they are not known yet.
    """

    def __init__(self, given: Sequence[Any]) -> None:
        self._given, self.slots = given, list[Slot]()
        self._known: dict[Any, Any] = {}

    def _next(self, slot: Slot) -> Any:
        self.slots.append(slot)
        return self._given[len(self.slots) - 1] if self._given else 0.5

    def taken(self, values: Mapping[str, Any]) -> Take:
        """Return what gives derivatives at the point; the values of coordinates are known."""

        def take(name: str, along: tuple[str, ...]) -> Any:
            if not name:
                return values[along[0]]
            if (name, along) not in self._known:
                slot = Slot(f"{name}_{''.join(along)}", lambda point, every, told: _derivative(name, along, point))
                self._known[name, along] = self._next(slot)
            return self._known[name, along]

        return take

    def elsewhere(self, place: Mapping[str, Any]) -> Take:
        """Return what gives derivatives at a place."""

        def take(name: str, along: tuple[str, ...]) -> Any:
            if not name:
                return place[along[0]]
            index = "".join(along) if all(len(part) == 1 for part in along) else " ".join(along)
            label = f"{name}_{{{index}}}" if along else name
            at = tuple([asarray(value) for value in place.values()])
            return self._next(Slot(label, lambda point, every, told: sympy.Function(label)(*told), at))

        return take

    def integral(self, function: Callable[[Any], Any], low: Any, high: Any) -> Any:
        """Return an integral."""
        variable = len(self.slots)
        name = "s" if isinstance(function, np.ufunc) else next(iter(inspect.signature(function).parameters), "s")
        at = self._next(Slot(name, lambda point, every, told: every[variable]))
        told = tuple([asarray(value) for value in (_plain(function(at)), low, high)])
        return self._next(
            Slot("integral", lambda point, every, told: sympy.Integral(told[0], (every[variable], *told[1:])), told)
        )


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, FieldAt) else value


def _derivative(name: str, along: Sequence[str], point: Sequence[Any]) -> Any:
    base = sympy.Function(name)(*point)
    symbols = {str(symbol): symbol for symbol in point}
    return base.diff(*[symbols[part] for part in along]) if along else base


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
