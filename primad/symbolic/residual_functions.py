"""Equations as functions: `residual_of`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import sympy

from primad.errors import TracingError
from primad.functional.derived_calls import run_once
from primad.recording import tree
from primad.recording.traced_array import is_traced
from primad.symbolic.from_expressions import Compiled


def residual_of(
    equation: Any,
    unknowns: Mapping[Any, Callable[..., Any]],
    coordinates: Any,
    coefficients: Any = (),
    *,
    functions: Mapping[Any, Callable[..., Any]] | None = None,
    quadrature: int = 0,
) -> Callable[..., Any]:
    """Return the residual of a differential equation, left minus right side, as a function of parameters and points.

    Each derivative that the equation contains is computed once, from the one of lower order; the derivatives at one
    point share everything. Points may be arrays, which broadcast.

    Args:
        equation: an `Eq`, an expression that is to be zero, a matrix of them, or a tree (list, tuple, dict) of these.
        unknowns: for each unknown function of the equation a function `(params, x, t) -> number`, a network for
            instance. A tuple of unknown functions stands for the components of one function's result.
        coordinates: the symbols of the coordinates.
        coefficients: the symbols of further arguments: constants, or values at the points.
        functions: known functions of coordinates that have no parameters, `(x, t) -> number`.
        quadrature: nodes of the Gauss–Legendre rule by which integrals of the equation are sums, over each variable.

    Returns:
        a function `(params, *coordinates, *coefficients)` with the tree of the equation.

    Raises:
        TracingError: for text, for equations that hold always or never, for symbols that are neither coordinates nor
            coefficients, for functions that are not given, and for unknown ones that the equation does not contain.

    Example:
        >>> import numpy as np, primad, sympy
        >>> x, t, nu = sympy.symbols("x t nu")
        >>> u = sympy.Function("u")
        >>> heat = sympy.Eq(u(x, t).diff(t), nu * u(x, t).diff(x, 2))
        >>> residual = primad.residual_of(heat, {u: lambda k, x, t: np.exp(-k * t) * np.sin(x)}, (x, t), (nu,))
        >>> residual(2.0, np.array([0.5, 1.0]), 0.0, 2.0)
        array([0., 0.])
    """
    sides = tree.map(difference, equation)
    if quadrature:
        sides = tree.map(lambda side: side.replace(sympy.Integral, partial(_summed, quadrature)), sides)
    known = dict(functions or {})
    symbols = [*_listed(coordinates), *_listed(coefficients)]
    compiled = Compiled(sides, symbols, [*unknowns, *known], "residual_of")
    for place, unknown in enumerate(unknowns):
        if not compiled.uses(place):
            raise TracingError(
                f"residual_of: the equation does not contain {unknown}",
                fix="leave it out, or write the equation with the same sympy.Function.",
            )

    return partial(_residual, compiled, list(unknowns.values()), list(known.values()))


def _residual(
    compiled: Compiled,
    unknowns: Sequence[Callable[..., Any]],
    known: Sequence[Callable[..., Any]],
    params: Any,
    *values: Any,
) -> Any:
    callables = [*(partial(unknown, params) for unknown in unknowns), *known]
    if is_traced(*tree.leaves((params, values))):
        return compiled(values, callables)
    # Recorded, so that the terms are one program: what they share is computed once.
    return run_once(lambda *values: compiled(values, callables), values)


def _listed(symbols: Any) -> Sequence[Any]:
    return symbols if isinstance(symbols, (list, tuple)) else [symbols]


def _summed(nodes: int, integrand: Any, *limits: Any) -> Any:
    """Return an integral as a sum over the nodes of Gauss and Legendre."""
    for limit in limits:
        if len(limit) != 3:
            raise TracingError(f"residual_of: the integral over {limit[0]} has no limits", fix="give them: (s, 0, 1).")
        variable, low, high = limit
        places, weights = np.polynomial.legendre.leggauss(nodes)
        middle, half = (low + high) / 2, (high - low) / 2
        terms = [
            weight * integrand.subs(variable, middle + half * place)
            for place, weight in zip(places.tolist(), weights.tolist(), strict=True)
        ]
        integrand = half * sympy.Add(*terms)
    return integrand


def difference(equation: Any, caller: str = "residual_of") -> Any:
    """Return what is zero where an equation holds.

    Raises:
        TracingError: for what is no equation.
    """
    if isinstance(equation, sympy.Equality):
        return equation.lhs - equation.rhs
    if isinstance(equation, (bool, sympy.logic.boolalg.Boolean)) and not isinstance(equation, sympy.Symbol):
        raise TracingError(
            f"{caller}: {equation} is no equation",
            why="SymPy makes True or False of an equation that holds always or never; inequalities have no residual.",
            fix="write the equation as sympy.Eq(left, right), or as the expression that is to be zero.",
        )
    return equation
