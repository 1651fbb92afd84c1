"""What stands in an equation of SymPy besides numbers: unknowns at places, their derivatives, and integrals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from primad.errors import TracingError
from primad.pde.fields.integrals import integral
from primad.pde.fields.named_fields import FieldAt
from primad.system.deferred import sympy

Values = Mapping[Any, Any]
"""What is known at points: of unknown functions their fields, of symbols arrays."""


@dataclass(frozen=True)
class EquationSymbols:
    """What an equation knows.

    Attributes:
        unknowns: the unknown functions at the points of the equation, u(x, t), by their heads.
        coordinates: the symbols that unknown functions are taken at.
        coefficients: the other symbols.
        functions: known functions, for each head what computes it.
    """

    unknowns: Mapping[Any, Any]
    coordinates: tuple[Any, ...]
    coefficients: tuple[Any, ...]
    functions: Mapping[Any, Callable[..., Any]]


class Terms:
    """Expressions whose unknowns, derivatives and integrals are computed one by one, and the rest as one recipe.

    Args:
        expressions: the expressions.
        known: what the equation knows.
        variables: those of the integrals around.
    """

    def __init__(self, expressions: Sequence[Any], known: EquationSymbols, variables: tuple[Any, ...] = ()) -> None:
        from primad.symbolic.from_expressions import Compiled  # loads when it is called, with SymPy

        self._known, self._symbols = known, (*known.coordinates, *variables, *known.coefficients)
        self._variables = variables
        self._taken: dict[Any, tuple[Any, Callable[[Values], Any]]] = {}
        prepared = [self._without(each) for each in expressions]
        arguments = [*[dummy for dummy, _ in self._taken.values()], *self._symbols]
        self._compiled = Compiled(prepared, arguments, list(known.functions), "Equation")

    def __call__(self, values: Values) -> list[Any]:
        """Return the expressions at the points of fields."""
        arrays = [take(values) for _, take in self._taken.values()] + [values[symbol] for symbol in self._symbols]
        return list(self._compiled(arrays, list(self._known.functions.values())))

    def _without(self, expression: Any) -> Any:
        """Return an expression with symbols in the places of unknowns, of their derivatives, and of integrals."""
        if not expression.has(sympy.core.function.AppliedUndef, sympy.Integral):
            return expression
        if expression not in self._taken:
            found = self._take(expression)
            if found is None:
                return expression.func(*[self._without(part) for part in expression.args])
            self._taken[expression] = found
        return self._taken[expression][0]

    def _take(self, expression: Any) -> tuple[Any, Callable[[Values], Any]] | None:
        """Return a symbol for a part of an expression, and what computes it; None for what is no such part."""
        from primad.symbolic.translation import number_kind  # loads when it is called, with SymPy

        if isinstance(expression, sympy.Integral):
            heads = [atom.func for atom in expression.atoms(sympy.core.function.AppliedUndef)]
            kinds = [number_kind(one) for one in (*heads, *expression.free_symbols)]
            kind = next((one for one in kinds if "complex" in one), {"real": True})
            return sympy.Dummy("integral", **kind), self._integral(expression)
        place = placed(expression, self._known.unknowns)
        if place is None:
            own = {atom.func for atom in expression.atoms(sympy.core.function.AppliedUndef)}
            if isinstance(expression, sympy.Derivative) and own & set(self._known.unknowns):
                raise not_carried_out(expression)
            return None
        head, at, along = place
        dummy = sympy.Dummy(str(expression), **number_kind(head))
        base = self._known.unknowns[head]
        names = [str(symbol) for symbol in base.args]
        derivative = " ".join(names[i] for i in along)
        moved = {name: one for name, one, own in zip(names, at, base.args, strict=True) if one != own}
        places = Terms(list(moved.values()), self._known, self._variables) if moved else None

        def take(values: Values) -> Any:
            field: FieldAt = values[head]
            if places is not None:
                field = field(**dict(zip(moved, places(values), strict=True)))
            return field.d(derivative) if derivative else field.value

        return dummy, take

    def _integral(self, expression: Any) -> Callable[[Values], Any]:
        """Return what computes an integral; of several variables the one over the last first."""
        *inner, (variable, low, high) = expression.limits
        function = sympy.Integral(expression.function, *inner) if inner else expression.function
        own = sympy.Dummy(str(variable), real=True)
        inside = Terms([function.subs(variable, own)], self._known, (*self._variables, own))
        limits = Terms([low, high], self._known, self._variables)

        def take(values: Values) -> Any:
            return integral(lambda at: inside({**values, own: at})[0], *limits(values))

        return take


def placed(expression: Any, heads: Any) -> tuple[Any, tuple[Any, ...], list[int]] | None:
    """Return the unknown function that an expression is a value or a derivative of: its head, the place, along what.

    Args:
        expression: any.
        heads: the unknown functions.

    Returns:
        the head, an expression for each argument, and for each derivative the number of an argument; None of others.

    Raises:
        TracingError: for a derivative by what is in no argument alone.
    """
    if isinstance(expression, sympy.core.function.AppliedUndef):
        return (expression.func, expression.args, []) if expression.func in heads else None
    if isinstance(expression, sympy.Subs):
        found = placed(expression.expr, heads)
        if found is None:
            return None
        head, at, along = found
        instead = dict(zip(expression.variables, expression.point, strict=True))
        return head, tuple([one.subs(instead, simultaneous=True) for one in at]), along
    if not isinstance(expression, sympy.Derivative):
        return None
    found = placed(expression.expr, heads)
    if found is None:
        return None
    head, at, along = found
    for symbol, times in expression.variable_count:
        where = [i for i, one in enumerate(at) if one.has(symbol)]
        if len(where) != 1 or at[where[0]].diff(symbol) != 1:
            raise not_carried_out(expression)
        along = [*along, *where * int(times)]
    return head, at, along


def not_carried_out(derivative: Any) -> TracingError:
    """Return the error for a derivative that is not one of an unknown function by one of its arguments."""
    return TracingError(
        f"Equation: {derivative} is no derivative of an unknown function by one of its arguments",
        fix="carry it out: write derivatives of the function, taken at a place: u(t).diff(t).subs(t, t / 2).",
    )


def check_integrals(expression: Any, coordinates: Sequence[str]) -> None:
    """Raise for integrals without limits, with infinite ones, or over a coordinate that has a meaning besides.

    Args:
        expression: of an equation.
        coordinates: names.

    Raises:
        TracingError: if there is such an integral.
    """
    free = {str(symbol) for symbol in expression.free_symbols}
    for one in sorted(expression.atoms(sympy.Integral), key=str):
        for limit in one.limits:
            variable = str(limit[0])
            if len(limit) != 3:
                raise TracingError(
                    f"Equation: the integral over {variable} has no limits", fix=f"give them: ({variable}, 0, 1)."
                )
            if any(end.has(sympy.oo, -sympy.oo, sympy.zoo, sympy.nan) for end in limit[1:]):
                raise TracingError(
                    f"Equation: the integral over {variable} has an infinite limit",
                    why="It is a sum over nodes between finite limits, and a domain is finite.",
                    fix="end where the integrand is negligible.",
                )
            if variable in coordinates and variable in free:
                raise TracingError(
                    f"Equation: {variable} is a coordinate, and the variable of an integral",
                    why=f"Inside of the integral {variable} would be the variable, and outside the coordinate.",
                    fix=f"call the variable something else: sympy.Integral(u({_other(free)}), ({_other(free)}, …, …)).",
                )


def _other(taken: set[str]) -> str:
    """Return a name for a variable."""
    return next(name for name in ("s", "r", "y", "z", "s_1") if name not in taken)
