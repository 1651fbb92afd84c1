"""Equations as formulas, both ways: SymPy's as functions of what they ask for, and functions as SymPy's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy
from sympy.core.function import AppliedUndef

from primad import tree
from primad.errors import PrimadError, ProblemError
from primad.pde.calling import by_name
from primad.pde.fields import Field, FieldAt
from primad.symbolic.functions import from_sympy
from primad.symbolic.programs import to_sympy

Function = Callable[..., Any]


def is_symbolic(equation: Any) -> bool:
    """Say whether an equation is SymPy's: an `Eq`, an expression, or a matrix, list or tuple of these."""
    if isinstance(equation, (list, tuple)):
        return bool(equation) and all(is_symbolic(one) for one in equation)
    return isinstance(equation, (sympy.Basic, sympy.MatrixBase, bool))


def as_function(equation: Any, coordinates: Sequence[str], what: str) -> Function:
    """Return a function of what an equation of SymPy's contains, by name: unknowns, coordinates, other symbols.

    Args:
        equation: an `Eq`, an expression that is to be zero, or a list, tuple or matrix of these.
        coordinates: names, which unknown functions must be functions of.
        what: whose equation it is, for messages.

    Raises:
        ProblemError: for equations that hold always or never, and for unknowns at other places than the point.
    """
    sides = [_difference(one, what) for one in _listed(equation)]
    values = {atom: _asked(atom, coordinates, what) for side in sides for atom in _atoms(side)}
    symbols = {atom: sympy.Dummy(f"{name}_{derivative}") for atom, (name, derivative) in values.items()}
    plain = [side.xreplace(symbols) for side in sides]
    free = sorted({str(s) for side in plain for s in side.free_symbols if s not in symbols.values()})
    others = {name: next(s for side in plain for s in side.free_symbols if str(s) == name) for name in free}
    compiled = from_sympy(plain, [*symbols.values(), *others.values()])
    unknowns = sorted({name for name, _ in values.values()})

    def residual(**given: Any) -> Any:
        asked = [given[name].d(derivative) if derivative else given[name].value for name, derivative in values.values()]
        found = compiled(*asked, *[given[name] for name in others])
        return found[0] if len(found) == 1 else tuple(found)

    parameters = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in (*unknowns, *others)]
    residual.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return residual


def _listed(equation: Any) -> list[Any]:
    if isinstance(equation, sympy.Equality) and isinstance(equation.lhs, sympy.MatrixBase):
        return list(equation.lhs - equation.rhs)
    if isinstance(equation, sympy.MatrixBase):
        return list(equation)
    return [part for one in equation for part in _listed(one)] if isinstance(equation, (list, tuple)) else [equation]


def _difference(equation: Any, what: str) -> Any:
    """Return what is zero where an equation holds, with derivatives carried out as far as they can be."""
    if isinstance(equation, sympy.Equality):
        return (equation.lhs - equation.rhs).doit()
    if isinstance(equation, bool) or not isinstance(equation, sympy.Expr):
        raise ProblemError(
            f"{what}: {equation} is no equation",
            why="SymPy makes True or False of an equation that holds always or never; inequalities have no residual.",
            fix="write it as sympy.Eq(left, right), or as the expression that is to be zero.",
        )
    return equation.doit()


def _atoms(side: Any) -> list[Any]:
    """Return unknown functions and derivatives of them, the outermost ones, in a fixed order."""
    found = side.atoms(AppliedUndef, sympy.Derivative)
    return sorted(found, key=lambda atom: (-atom.count_ops(), str(atom)))


def _asked(atom: Any, coordinates: Sequence[str], what: str) -> tuple[str, str]:
    """Return the unknown and the derivative that an atom stands for, by names."""
    function = atom.expr if isinstance(atom, sympy.Derivative) else atom
    if not isinstance(function, AppliedUndef):
        raise ProblemError(f"{what}: {atom} is no derivative of an unknown function")
    for argument in function.args:
        if not isinstance(argument, sympy.Symbol) or str(argument) not in coordinates:
            raise ProblemError(
                f"{what}: {function} is an unknown at another place than the point",
                why=f"The coordinates are {', '.join(coordinates)}.",
                fix="say what holds at the boundary or the start by conditions.",
            )
    times = atom.variable_count if isinstance(atom, sympy.Derivative) else ()
    return str(function.func), " ".join(str(variable) for variable, count in times for _ in range(int(count)))


# -- functions as formulas ---------------------------------------------------------------------------------------------


class _Symbolic(FieldAt):
    """An unknown whose derivatives are symbols."""

    def __init__(self, name: str, coordinates: Sequence[str], take: Callable[[str, tuple[str, ...]], Any]) -> None:
        self.field = Field(lambda *point: point[0], tuple(coordinates))
        self.component, self.shape_of_points, self._name, self._take = None, (), name, take
        self._known = {}

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def _has_components(self) -> bool:
        return False

    def _derivative(self, names: tuple[str, ...]) -> Any:
        return self._take(self._name, names)

    def combination(self, terms: Sequence[tuple[float, Sequence[str]]]) -> Any:
        order = self.field.coordinates.names.index
        return sum(number * self._take(self._name, tuple(sorted(names, key=order))) for number, names in terms)

    def coordinate(self, name: str) -> Any:
        return self._take("", (name,))


def formulas(
    function: Function, coordinates: Sequence[str], unknowns: Sequence[str], numbers: Mapping[str, Any]
) -> list[Any]:
    """Return what a function of unknowns, coordinates and numbers by name returns, as SymPy's expressions.

    Args:
        function: of an equation.
        coordinates: names.
        unknowns: names.
        numbers: coefficients and constants; those that are single numbers become symbols.

    Raises:
        TracingError: for what has no formula.
    """
    single = [name for name in (*coordinates, *numbers) if np.ndim(numbers.get(name, 0)) == 0]
    symbols = {name: sympy.Symbol(name, real=True) for name in single}
    point = [symbols[name] for name in coordinates]
    used: dict[tuple[str, tuple[str, ...]], sympy.Symbol] = {}

    def noted(name: str, along: tuple[str, ...]) -> Any:
        if name:
            used.setdefault((name, along), sympy.Dummy(f"{name}_{''.join(along)}", real=True))
        return 0.5

    def called(values: Mapping[str, Any], take: Callable[[str, tuple[str, ...]], Any]) -> Any:
        fields = {name: _Symbolic(name, coordinates, take) for name in unknowns}
        result = by_name(function, {**numbers, **values, **fields})
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
    written = [sympy.mathml(one, printer="presentation") for one in shown(*of)]
    return [f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{one}</math>' for one in written]


def shown(
    equation: Any, function: Function, coordinates: Sequence[str], unknowns: Sequence[str], numbers: Mapping[str, Any]
) -> list[Any]:
    """Return an equation as SymPy's, with derivatives as indices; nothing where it has no formula.

    Args:
        equation: as it was given.
        function: the same as a function.
        coordinates: names.
        unknowns: names.
        numbers: coefficients and constants by name.
    """
    if is_symbolic(equation):
        sides = [equation] if not isinstance(equation, (list, tuple)) else list(equation)
    else:
        try:
            sides = formulas(function, coordinates, unknowns, numbers)
        except (PrimadError, TypeError, ValueError, AttributeError, IndexError):
            return []  # what a user's function does with arrays may have no formula
    equations = [side if isinstance(side, sympy.Equality) else sympy.Eq(side, 0, evaluate=False) for side in sides]
    return [_indexed(one, set(coordinates)) for one in equations]


def _indexed(equation: Any, coordinates: set[str]) -> Any:
    """Return an equation with unknowns without their arguments, and derivatives as indices."""
    replaced = {}
    for atom in _atoms(equation):
        place = (atom.expr if isinstance(atom, sympy.Derivative) else atom).args
        if all(str(argument) in coordinates for argument in place):
            name, along = _asked(atom, sorted(coordinates), "an equation")
            parts = along.split()
            index = "".join(parts) if all(len(part) == 1 for part in parts) else " ".join(parts)
            replaced[atom] = sympy.Symbol(f"{name}_{index}" if index else name)
    return equation.xreplace(replaced)
