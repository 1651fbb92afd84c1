"""SciPy's initial value problems for plain functions of trees: stiff methods get the Jacobian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError, TracingError, suggestion
from primad.implicit.sparse_orders import sparse_factors
from primad.ir.array_types import ArrayType, is_complex
from primad.numpy.shapes.shaping import reshape
from primad.optimize.parameter_vectors import Space, Tree, Vector
from primad.optimize.real_coordinates import RealCoordinates
from primad.optimize.scipy_solvers.flat_functions import Function, Plain, check_args, parameters, spread
from primad.parallel.threads import single_threaded_blas
from primad.recording import tree
from primad.recording.foreign import is_sparse
from primad.recording.tracing import type_of
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

    Radau and BDF get a sparse one of a large state, where most of it is zero. Of a complex state, whose slope need not
    be analytic, stiff methods integrate the parts, and errors are those of parts. `primad.integrate.solve_ivp` has
    fewer methods, and is itself differentiable.

    Args:
        fun: a function (t, y, *args) that returns the derivative of y, a tree like y, written with NumPy.
        t_span: from when to when.
        y0: the state at the beginning, of real or complex numbers. Numbers, and lists and tuples of numbers, are an
            array, as in SciPy; anything else is a tree of arrays. Integers become floats.
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
        ShapeError: if y0 is no tree of arrays, or `fun` returns another tree.
        TracingError: if there is no such method; for complex slopes of a real part of the state, and a `jac` of a
            complex state.
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
    name = method if isinstance(method, str) else _name_of(method)
    y0 = parameters(y0, "solve_ivp")
    states = States.of(y0, name in EXPLICIT)
    given = dict(options)
    if "atol" in given:
        given["atol"] = states.tolerance(given["atol"])
    flat = Plain(_right(fun, states.coordinates, vectorized, args), (y0, 0.0), (), "solve_ivp", compiled, parts=True)
    is_implicit = name in IMPLICIT
    jac = given.get("jac")
    if jac is not None:
        states.coordinates.refuse("solve_ivp: a derivative of your own")
    if callable(jac):
        given["jac"] = flat.plain(lambda t, y: jac(t, states.trees(y), *args))
    values = flat.values(jac is not None or (not is_implicit and not flat.is_recordable(flat.call)))

    def slope(t: float, y: Any) -> Any:
        return states.of_parts(values(np.append(states.parts(y), t)))

    if is_implicit and jac is None:
        matrix = flat.large_matrix() if name in SPARSE else flat.matrix()
        given["jac"] = lambda t, y: matrix(np.append(y, t))[:, :-1]
    if events is not None:
        listed = events if isinstance(events, (tuple, list)) else (events,)
        given["events"] = [_event(states, event, args) for event in listed]
    start = states.vector(y0)
    scipys = getattr(integrate, name, None)
    solver = _ordering(scipys) if name in SPARSE and method in (name, scipys) else method
    found = integrate.solve_ivp(slope, t_span, start, method=solver, t_eval=t_eval, dense_output=dense_output, **given)
    found.y = states.trees(np.reshape(found.y, (start.size, -1)))  # without times, SciPy's is a list
    if found.y_events is not None:
        found.y_events = [states.trees(np.reshape(each, (-1, start.size)).T) for each in found.y_events]
    if found.sol is not None:
        inner = found.sol
        found.sol = lambda t: states.trees(inner(t))
    return found


def _name_of(method: type) -> str:
    """Return the name of the one of SciPy's methods that a class is, or is derived from."""
    names = [each.__name__ for each in method.__mro__]
    return next((name for name in names if name in (*IMPLICIT, *EXPLICIT)), names[0])


def _ordering(solver: Any) -> Any:
    """Return one of SciPy's methods that factors sparse matrices in an order in which the factors have few entries.

    Its steps have BLAS on one thread then: they add and multiply vectors, for which others would wait in vain.
    """

    class Ordering(solver):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            if is_sparse(self.J):
                self.lu = self._factors

        def _step_impl(self) -> Any:
            return single_threaded_blas(super()._step_impl) if is_sparse(self.J) else super()._step_impl()

        def _factors(self, matrix: Any) -> Any:
            self.nlu += 1
            return sparse_factors(matrix)

    return Ordering


@dataclass(frozen=True)
class States:
    """How states, trees of arrays, become SciPy's vectors and back.

    A complex number of a state is one of a vector where the method takes such, and otherwise two: its parts.

    Attributes:
        coordinates: the parts of states.
        space: of the coordinates.
        is_whole: whether vectors are complex.
    """

    coordinates: RealCoordinates
    space: Space
    is_whole: bool

    @classmethod
    def of(cls, start: Tree, takes_complex: bool) -> States:
        """Return those of states like one."""
        coordinates = RealCoordinates.of(start)
        return cls(coordinates, Space.of(coordinates.split(start)), takes_complex and coordinates.are_parts)

    def vector(self, state: Tree) -> Any:
        """Return a state as SciPy's vector."""
        if not self.is_whole:
            return self.space.vector(self.coordinates.split(state))
        return np.concatenate([np.ravel(leaf).astype(np.complex128) for leaf in tree.leaves(state)])

    def trees(self, vectors: Any) -> Tree:
        """Return a vector as a state; of a matrix whose columns are vectors one tree, whose leaves have them last."""
        found, start = [], 0
        for type in self.coordinates.types:
            has_pairs = type.is_complex and not self.is_whole
            end = start + type.size * (2 if has_pairs else 1)
            numbers, start = vectors[start:end], end
            if has_pairs:
                numbers = np.stack([numbers[::2], numbers[1::2]], axis=-1).view(np.complex128)
            elif not type.is_complex:
                numbers = numbers.real
            found.append(numbers.reshape((*type.shape, *vectors.shape[1:])).astype(type.dtype))
        return tree.unflatten(self.coordinates.structure, found)

    def parts(self, vector: Any) -> Vector:
        """Return the coordinates of a state from its vector."""
        return self.space.vector(self.coordinates.split(self.trees(vector))) if self.is_whole else vector

    def of_parts(self, parts: Vector) -> Any:
        """Return the vector of a state from its coordinates."""
        return self.vector(self.coordinates.joined(self.space.tree(parts))) if self.is_whole else parts

    def tolerance(self, given: Any) -> Any:
        """Return an absolute tolerance as SciPy's: a number, or one for each number of a vector."""
        if np.ndim(given) == 0 and not isinstance(given, dict):
            return given
        types = self.coordinates.types
        each = spread(Space(self.coordinates.structure, list(types)), given, "solve_ivp: atol")
        counts = [2 if type.is_complex and not self.is_whole else 1 for type in types for _ in range(type.size)]
        return np.repeat(each, counts)


def _right(fun: Function, coordinates: RealCoordinates, vectorized: bool, args: Sequence[Any]) -> Function:
    """Return the function of (value, time) whose result has the leaves of the derivative, which are looked at."""
    structure = coordinates.structure

    def right(moment: tuple[Tree, Any]) -> Any:
        state, time = moment
        if vectorized:
            state = tree.map(lambda leaf: pnp.expand_dims(leaf, -1), state)
        result = fun(time, state, *args)
        if structure.is_leaf() and isinstance(result, (list, tuple)):
            result = pnp.array(result)
        leaves = tree.flatten_as(structure, result, "solve_ivp: the result of fun")
        if vectorized:
            leaves = [reshape(leaf, np.shape(leaf)[:-1]) for leaf in leaves]
        return [_slope(leaf, type) for leaf, type in zip(leaves, coordinates.types, strict=True)]

    return right


def _slope(leaf: Any, type: ArrayType) -> Any:
    """Return the slope of a part of the state, in complex numbers where this has them."""
    if np.shape(leaf) != type.shape:
        raise ShapeError(
            f"solve_ivp: fun returns {np.shape(leaf)} for a part of the state of {type.shape}",
            fix="return dy/dt in a container like y0, with arrays of the same shapes.",
        )
    has = is_complex(type_of(leaf).dtype)
    if has and not type.is_complex:
        raise TracingError(
            f"solve_ivp: fun returns complex numbers for a part of the state of {type}",
            fix="begin with complex numbers: np.asarray(y0, complex).",
        )
    return leaf if has or not type.is_complex else leaf + 0j


def _event(states: States, event: Function, args: Sequence[Any]) -> Function:
    """Return an event of vectors, with SciPy's attributes."""

    def at(t: float, y: Any) -> float:
        return float(np.asarray(event(t, states.trees(y), *args)).item())

    for name in ("terminal", "direction"):
        if hasattr(event, name):
            setattr(at, name, getattr(event, name))
    return at
