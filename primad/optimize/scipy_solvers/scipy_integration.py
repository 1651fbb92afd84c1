"""SciPy's initial value problems for plain functions of trees: stiff methods get the Jacobian."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.optimize.parameter_vectors import Space, Tree, Vector
from primad.optimize.scipy_solvers.flat_functions import Function, Plain
from primad.recording import tree

__all__ = ["solve_ivp"]

IMPLICIT = ("Radau", "BDF", "LSODA")
"""Methods that solve equations with the Jacobian."""


def solve_ivp(
    fun: Function,
    t_span: tuple[float, float],
    y0: Tree,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    args: Sequence[Any] = (),
    *,
    compiled: bool = True,
    **options: Any,
) -> Any:
    """Call `scipy.integrate.solve_ivp` on a plain function of a tree; stiff methods get the Jacobian.

    Args:
        fun: a function (t, y, *args) that returns the derivative of y, a tree like y, written with NumPy.
        t_span: from when to when.
        y0: the state at the beginning, a tree of float arrays.
        method: as SciPy's; Radau, BDF and LSODA use the Jacobian.
        t_eval: as SciPy's.
        dense_output: as SciPy's; `sol(t)` returns trees.
        events: a function (t, y, *args) of one number, or a list of them, as SciPy's, with trees for y.
        args: other arguments of `fun` and of the events.
        compiled: whether `fun` is recorded once; otherwise it is at each call, and may branch on values.
        **options: as SciPy's (`rtol`, `atol`, `max_step`, …).

    Returns:
        SciPy's result, in which `y` is a tree like y0 whose leaves have one more axis, the last: time. `y_events` are
        such trees.

    Raises:
        ShapeError: if y0 is no tree of float arrays, or `fun` returns another tree.

    Example:
        >>> import numpy as np, primad
        >>> def pendulum(t, y):
        ...     return {"angle": y["speed"], "speed": -np.sin(y["angle"])}
        >>> found = primad.optimize.solve_ivp(pendulum, (0.0, 1.0), {"angle": 0.1, "speed": 0.0}, method="Radau")
        >>> found.y["angle"].shape == found.t.shape
        True
    """
    from scipy import integrate  # loads when it is called

    def right(moment: tuple[Tree, Any]) -> Any:
        result = fun(moment[1], moment[0], *args)
        leaves = tree.flatten_as(space.structure, result, "solve_ivp: the result of fun")
        for leaf, type in zip(leaves, space.types, strict=True):
            if np.shape(leaf) != type.shape:
                raise ShapeError(f"solve_ivp: fun returns {np.shape(leaf)} for a part of the state of {type.shape}")
        return leaves

    space = Space.of(y0)
    flat = Plain(right, (y0, 0.0), (), "solve_ivp", compiled)
    values = flat.values()

    def slope(t: float, y: Vector) -> Vector:
        return values(np.append(y, t))

    given = dict(options)
    if method in IMPLICIT:
        matrix = flat.matrix()
        given["jac"] = lambda t, y: matrix(np.append(y, t))[:, :-1]
    if events is not None:
        listed = events if isinstance(events, (tuple, list)) else (events,)
        given["events"] = [_event(space, event, args) for event in listed]
    found = integrate.solve_ivp(
        slope, t_span, space.vector(y0), method=method, t_eval=t_eval, dense_output=dense_output, **given
    )
    found.y = _trees(space, found.y)
    if found.y_events is not None:
        found.y_events = [_trees(space, np.reshape(each, (-1, space.size)).T) for each in found.y_events]
    if found.sol is not None:
        inner = found.sol
        found.sol = lambda t: space.tree(inner(t)) if np.ndim(t) == 0 else _trees(space, inner(t))
    return found


def _event(space: Space, event: Function, args: Sequence[Any]) -> Function:
    """Return an event of vectors, with SciPy's attributes."""

    def at(t: float, y: Vector) -> float:
        return float(event(t, space.tree(y), *args))

    for name in ("terminal", "direction"):
        if hasattr(event, name):
            setattr(at, name, getattr(event, name))
    return at


def _trees(space: Space, states: Any) -> Tree:
    """Return a matrix whose columns are states as one tree, whose leaves have the columns last."""
    found, start = [], 0
    for type in space.types:
        found.append(states[start : start + type.size].reshape(*type.shape, -1).astype(type.dtype))
        start += type.size
    return tree.unflatten(space.structure, found)
