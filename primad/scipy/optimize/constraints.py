"""Constraints of minima in SciPy's forms, as functions that are to be 0 and functions that are not to be negative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError
from primad.functional.derivatives.lazy_matrices import jacobian
from primad.implicit.constrained import Constrained, in_a_row, multipliers
from primad.optimize.scipy_solvers import scipy_minimizers
from primad.recording.foreign import is_sparse
from primad.scipy.traced_calls import as_args

Function = Callable[..., Any]


def constrained(value: Function, constraints: Any) -> Constrained:
    """Return a problem with SciPy's constraints.

    Args:
        value: x -> a number.
        constraints: one of SciPy's dicts or objects, or several. Limits and functions may be traced.
    """
    several = constraints if isinstance(constraints, (list, tuple)) else [constraints]
    equal: list[Function] = []
    positive: list[Function] = []
    for number, constraint in enumerate(several):
        for kind, function in _parts(constraint, number):
            (equal if kind == "eq" else positive).append(function)
    return Constrained(value, lambda x: [f(x) for f in equal], lambda x: [f(x) for f in positive])


def _parts(constraint: Any, number: int) -> list[tuple[str, Function]]:
    """Return functions that are to be 0 ('eq') or not negative ('ineq') for one of SciPy's constraints."""
    if isinstance(constraint, dict):
        kind, function = constraint.get("type"), constraint.get("fun")
        args = as_args(constraint.get("args", ()))
        if kind in ("eq", "ineq") and callable(function):
            return [(str(kind), lambda x: function(x, *args))]
    elif hasattr(constraint, "lb") and hasattr(constraint, "ub"):
        return _between(_function_of(constraint), constraint.lb, constraint.ub)
    raise ShapeError(
        f"minimize: constraint {number} is {type(constraint).__name__}, and none of SciPy's",
        fix='pass {"type": "eq" or "ineq", "fun": …}, a LinearConstraint or a NonlinearConstraint.',
    )


def _function_of(constraint: Any) -> Function:
    if hasattr(constraint, "fun"):
        found: Function = constraint.fun
        return found
    matrix = constraint.A
    return lambda x: (matrix if is_sparse(matrix) else pnp.atleast_2d(pnp.array(matrix))) @ x


def _between(function: Function, low: Any, high: Any) -> list[tuple[str, Function]]:
    """Return the parts of low <= function <= high; limits that are traced are finite, and differ."""
    plain = all(isinstance(end, (int, float, np.ndarray, np.generic, list, tuple)) for end in (low, high))
    if plain:
        try:
            low, high = np.asarray(low, float), np.asarray(high, float)
        except Exception:  # traced numbers among them
            plain = False
    if not plain:
        return [("ineq", lambda x: in_a_row(function(x)) - low), ("ineq", lambda x: high - in_a_row(function(x)))]

    def chosen(end: Any, sign: float, where: Callable[[Any, Any], Any]) -> Function:
        def part(x: Any) -> Any:
            found = in_a_row(function(x))
            ends = [np.broadcast_to(y, found.shape) for y in (low, high)]
            there = np.flatnonzero(where(*ends))
            return sign * (found[there] - np.broadcast_to(end, found.shape)[there])

        return part

    return [
        ("eq", chosen(low, 1.0, lambda a, b: a == b)),
        ("ineq", chosen(low, 1.0, lambda a, b: np.isfinite(a) & (a != b))),
        ("ineq", chosen(high, -1.0, lambda a, b: np.isfinite(b) & (a != b))),
    ]


def by_constrained(function: Function, start: Any, *bounds: Any, **options: Any) -> Any:
    """Return the unknowns, with multipliers, of a minimum that one of SciPy's methods finds."""
    x0, equal, count = start["x"], len(start["equal"]), len(start["equal"]) + len(start["positive"])

    def of(x: Any) -> Any:
        return function({**start, "x": x})

    kinds = (("eq", slice(1, 1 + equal)), ("ineq", slice(1 + equal, 1 + count)))
    constraints = [{"type": kind, "fun": lambda x, own=own: of(x)[own]} for kind, own in kinds if own.stop > own.start]
    ends = [np.asarray(end) for end in bounds]
    given = list(zip(*[end.tolist() for end in ends], strict=True)) if ends else None
    found = scipy_minimizers.minimize(lambda x: of(x)[0], x0, bounds=given, constraints=constraints, **options)
    if not found.success:
        return found
    x = np.asarray(found.x)
    values, slopes = np.asarray(of(x)), np.asarray(jacobian(of)(x))
    if not ends:
        return {"x": x, **dict(zip(("equal", "positive"), multipliers(values, slopes, equal), strict=True))}
    room, signs = np.stack([x - ends[0], ends[1] - x]), np.array([1.0, -1.0])
    side, place = np.nonzero(np.isfinite(room))
    bounding = np.zeros((len(place), len(x)))
    bounding[np.arange(len(place)), place] = signs[side]
    of_equal, others = multipliers(np.append(values, room[side, place]), np.concatenate([slopes, bounding]), equal)
    held = others[count - equal :] > 0
    x[place[held]] = np.stack(ends)[side[held], place[held]]
    return {"x": x, "equal": of_equal, "positive": others[: count - equal]}
