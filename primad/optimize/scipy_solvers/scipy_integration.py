"""SciPy's initial value problems for plain functions of trees: stiff methods get the Jacobian."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError, TracingError, suggestion
from primad.ir.array_types import check_real
from primad.numpy.shapes.shaping import reshape
from primad.optimize.parameter_vectors import Space, Tree, Vector
from primad.optimize.scipy_solvers.flat_functions import Function, Plain, check_args, parameters, spread
from primad.recording import tree
from primad.system.tracebacks import entrance

__all__ = ["solve_ivp"]

IMPLICIT = ("Radau", "BDF", "LSODA")
EXPLICIT = ("RK45", "RK23", "DOP853")
SPARSE = ("Radau", "BDF")
"""SciPy's methods: those that solve equations with the Jacobian, the others, and those that take a sparse one."""


@entrance
def solve_ivp(
    fun: Function,
    t_span: Sequence[float],
    y0: Tree,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Sequence[Any] | None = None,
    *,
    compiled: bool = True,
    **options: Any,
) -> Any:
    """Call `scipy.integrate.solve_ivp` on a plain function of a tree; stiff methods get the Jacobian.

    Radau and BDF get a sparse one of a large state, where most of it is zero. `primad.integrate.solve_ivp` has fewer
    methods, and is itself differentiable.

    Args:
        fun: a function (t, y, *args) that returns the derivative of y, a tree like y, written with NumPy.
        t_span: from when to when.
        y0: the state at the beginning. Numbers, and lists and tuples of numbers, are an array, as in SciPy; anything
            else is a tree of arrays. Integers become floats.
        method: as SciPy's, a name or a class; Radau, BDF and LSODA use the Jacobian.
        t_eval: as SciPy's.
        dense_output: as SciPy's; `sol(t)` returns trees.
        events: a function (t, y, *args) of one number, or a list of them, as SciPy's, with trees for y.
        vectorized: whether `fun` is written for y with one more axis: it gets one of length 1.
        args: other arguments of `fun` and of the events.
        compiled: whether `fun` is recorded once; otherwise it is at each call, and may branch on values.
        **options: as SciPy's (`rtol`, `atol`, a number or a tree like y0, `max_step`, …). `jac`, a matrix or a function
            (t, y, *args) of it, is used by stiff methods, and `fun` is called as it is then; by default it is exact.

    Returns:
        SciPy's result, in which `y` is a tree like y0 whose leaves have one more axis, the last: time. `y_events` are
        such trees.

    Raises:
        ShapeError: if y0 is no tree of float arrays, or `fun` returns another tree.
        TracingError: if there is no such method.
        NotDifferentiableError: in `grad`, `jit` or `vmap`.

    Example:
        >>> import numpy as np, primad
        >>> def pendulum(t, y):
        ...     return {"angle": y["speed"], "speed": -np.sin(y["angle"])}
        >>> found = primad.optimize.solve_ivp(pendulum, (0.0, 1.0), {"angle": 0.1, "speed": 0.0}, method="Radau")
        >>> found.y["angle"].shape == found.t.shape
        True
    """
    from scipy import integrate  # loads when it is called

    if isinstance(method, str) and method not in (*IMPLICIT, *EXPLICIT):
        known = (*EXPLICIT, *IMPLICIT)
        raise TracingError(
            f"solve_ivp: there is no method {method!r}",
            fix=suggestion(method, known) or f"choose from {known}; primad.integrate.solve_ivp has others.",
        )
    args = () if args is None else args
    check_args("solve_ivp", args)
    y0 = parameters(y0, "solve_ivp")
    for leaf in tree.leaves(y0):
        check_real(leaf.dtype)
    space = Space.of(y0)
    given = dict(options)
    if "atol" in given:
        given["atol"] = _tolerance(space, given["atol"])
    flat = Plain(_right(fun, space, vectorized, args), (y0, 0.0), (), "solve_ivp", compiled)
    name = method if isinstance(method, str) else method.__name__
    is_implicit = name in IMPLICIT
    jac = given.get("jac")
    if callable(jac):
        given["jac"] = flat.plain(lambda t, y: jac(t, space.tree(y), *args))
    values = flat.values(jac is not None or (not is_implicit and not flat.is_recordable(flat.call)))

    def slope(t: float, y: Vector) -> Vector:
        return values(np.append(y, t))

    if is_implicit and jac is None:
        matrix = flat.large_matrix() if name in SPARSE else flat.matrix()
        given["jac"] = lambda t, y: matrix(np.append(y, t))[:, :-1]
    if events is not None:
        listed = events if isinstance(events, (tuple, list)) else (events,)
        given["events"] = [_event(space, event, args) for event in listed]
    found = integrate.solve_ivp(
        slope, t_span, space.vector(y0), method=method, t_eval=t_eval, dense_output=dense_output, **given
    )
    found.y = _trees(space, np.reshape(found.y, (space.size, -1)))  # without times, SciPy's is a list
    if found.y_events is not None:
        found.y_events = [_trees(space, np.reshape(each, (-1, space.size)).T) for each in found.y_events]
    if found.sol is not None:
        inner = found.sol
        found.sol = lambda t: space.tree(inner(t)) if np.ndim(t) == 0 else _trees(space, inner(t))
    return found


def _right(fun: Function, space: Space, vectorized: bool, args: Sequence[Any]) -> Function:
    """Return the function of (value, time) whose result has the leaves of the derivative, which are looked at."""

    def right(moment: tuple[Tree, Any]) -> Any:
        state, time = moment
        if vectorized:
            state = tree.map(lambda leaf: pnp.expand_dims(leaf, -1), state)
        result = fun(time, state, *args)
        if space.structure.is_leaf() and isinstance(result, (list, tuple)):
            result = pnp.array(result)
        leaves = tree.flatten_as(space.structure, result, "solve_ivp: the result of fun")
        if vectorized:
            leaves = [reshape(leaf, np.shape(leaf)[:-1]) for leaf in leaves]
        for leaf, type in zip(leaves, space.types, strict=True):
            if np.shape(leaf) != type.shape:
                raise ShapeError(f"solve_ivp: fun returns {np.shape(leaf)} for a part of the state of {type.shape}")
        return leaves

    return right


def _tolerance(space: Space, given: Any) -> Any:
    """Return an absolute tolerance as SciPy's: a number, or one for each number of the state."""
    return given if np.ndim(given) == 0 and not isinstance(given, dict) else spread(space, given, "solve_ivp: atol")


def _event(space: Space, event: Function, args: Sequence[Any]) -> Function:
    """Return an event of vectors, with SciPy's attributes."""

    def at(t: float, y: Vector) -> float:
        return float(np.asarray(event(t, space.tree(y), *args)).item())

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
