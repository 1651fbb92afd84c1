"""A function and its derivatives as SciPy's solvers call them, for solvers that primad does not call itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.functional.derivatives.gradients import value_and_grad
from primad.functional.derivatives.higher_order import hvp
from primad.functional.derivatives.lazy_matrices import hessian, jacobian
from primad.numpy.linalg.products import vdot
from primad.numpy.shapes.shaping import concatenate, reshape
from primad.optimize.parameter_vectors import Space, Tree, Vector, check_plain
from primad.optimize.real_coordinates import RealCoordinates, real_parts
from primad.optimize.scipy_solvers.flat_functions import parameters, recorded_once
from primad.recording import tree
from primad.recording.tracing import check_function
from primad.system.tracebacks import entrance

Function = Callable[..., Any]


@entrance
def to_scipy(function: Function, x0: Tree, argnum: int = 0, *, compiled: bool = True) -> ScipyFunctions:
    """Return a function with its derivatives in the forms that SciPy's solvers take: of one vector of numbers.

    `primad.optimize` calls SciPy's `minimize`, `least_squares`, `root`, `curve_fit` and `solve_ivp` for you. This is
    for all others that take what they take: `basinhopping`, `shgo`, constraints of your own, other libraries.

    Args:
        function: a function of arrays and pytrees of arrays, written with NumPy, of one number (an array without axes),
            or of arrays or trees of them, such as residuals, constraints, equations or slopes.
        x0: a value of the argument that is searched, for its structure and shapes. Numbers, and lists and tuples of
            numbers, are an array; anything else is a tree of arrays. Complex arrays are searched by their parts.
        argnum: the position of that argument: 1 for `solve_ivp`, whose functions are called with (t, y).
        compiled: whether `function` is recorded once; otherwise it is at each call, and may branch on values.

    Returns:
        an object with the methods below, which take the arguments of `function` with a vector in place of that one:
        - `fun`: the number, or the vector of results, complex ones as their parts.
        - `jac`: the gradient of a number; the Jacobian of a vector, a row for each result.
        - `hess`, and `hessp` with a vector after x: the Hessian of a number, and its product with that vector.
        - `weighted_hess`, with a vector v after x: the Hessian of v @ fun, as `NonlinearConstraint` takes it as `hess`.
        - `tree`: the argument that a vector stands for; `vector`: the vector of such an argument.

        and `x0`, the vector to start from. What is asked for at one place again is computed once, and value and
        gradient together once `jac` was called.

    Raises:
        ShapeError: if x0 is no tree of float arrays; from `hess` and `hessp` of a function of several numbers.
        NotDifferentiableError: in `grad`, `jit` or `vmap`.

    Example:
        >>> import numpy as np, primad, scipy.optimize
        >>> def loss(p, scale):
        ...     return scale * (p["a"] - 1.0) ** 2 + np.sum((p["b"] - p["a"]) ** 4)
        >>> f = primad.to_scipy(loss, {"a": 3.0, "b": np.zeros(2)})
        >>> found = scipy.optimize.minimize(f.fun, f.x0, (2.0,), "trust-ncg", f.jac, hessp=f.hessp)
        >>> round(float(f.tree(found.x)["a"]), 6)
        1.0
    """
    return ScipyFunctions(function, x0, argnum, compiled)


class _Point(NamedTuple):
    """Arguments of a function, and what was computed there; of threads that ask at once each has its own.

    Attributes:
        structure: of the arguments.
        leaves: copies of them.
        found: what was computed, by name.
    """

    structure: Any
    leaves: list[Any]
    found: dict[str, Any]


class ScipyFunctions:
    """A function of a vector with its derivatives, see `to_scipy`.

    Attributes:
        x0: the vector to start from.
    """

    def __init__(self, function: Function, x0: Tree, argnum: int, compiled: bool) -> None:
        check_function(function, "to_scipy: ")
        start = parameters(x0, "to_scipy")
        self._coordinates = RealCoordinates.of(start)
        start = self._coordinates.split(start)
        self._space, self._function, self._argnum = Space.of(start), function, argnum
        self.x0 = self._space.vector(start)
        self._is_compiled = compiled
        self._made: dict[Function, Function] = {}
        self._there = _Point(None, [], {})
        self._with_slopes = False
        self._is_number = True  # until it is known not to be

    def __reduce__(self) -> Any:
        """Pickle the function and not what was made of it, for solvers with several processes."""
        return ScipyFunctions, (self._function, self.tree(self.x0), self._argnum, self._is_compiled)

    def fun(self, *args: Any) -> Any:
        """Return the function's number, or its results as a vector."""
        found = self._at("fun", args)
        return found if self._is_number else found.copy()

    def jac(self, *args: Any) -> Vector:
        """Return the gradient of a number, or the Jacobian of a vector of results."""
        if not self._with_slopes:
            self._at("fun", args)  # which tells whether it is a number
            self._with_slopes = True
        return np.array(self._at("jac", args))

    def hess(self, *args: Any) -> Vector:
        """Return the Hessian of a number."""
        self._check_number("hess", args)
        return np.array(self._at("hess", args))

    def hessp(self, *args: Any) -> Vector:
        """Return the Hessian of a number times the vector that stands after x."""
        others, vector = self._without_vector(args)
        self._check_number("hessp", others)
        return np.asarray(self._run(_product, others, vector), np.float64)

    def weighted_hess(self, *args: Any) -> Vector:
        """Return the Hessian of v @ fun, for the vector v that stands after x."""
        others, vector = self._without_vector(args)
        return np.asarray(self._run(_weighted, others, vector), np.float64)

    def tree(self, vector: Any) -> Tree:
        """Return the argument that a vector stands for."""
        return self._coordinates.joined(self._space.tree(np.asarray(vector, np.float64)))

    def vector(self, argument: Tree) -> Vector:
        """Return the vector that stands for an argument with the structure and the shapes of x0."""
        leaves = tree.flatten_as(self._space.structure, self._coordinates.split(argument), "to_scipy: the argument")
        return self._space.vector(tree.unflatten(self._space.structure, leaves))

    def _at(self, what: str, args: tuple[Any, ...]) -> Any:
        """Return something of the function at arguments, computed once where it is asked for again."""
        check_plain("a function for SciPy", args)
        leaves, structure = tree.flatten(args)
        point = self._there
        if point.structure != structure or not all(map(_is_same, point.leaves, leaves)):
            # Copies: solvers write the next point into the array of the last one.
            self._there = point = _Point(structure, [np.array(leaf) for leaf in leaves], {})
        if what not in point.found:
            point.found.update(self._computed(what, args))
        return point.found[what]

    def _computed(self, what: str, args: tuple[Any, ...]) -> dict[str, Any]:
        """Return something of the function at arguments, and what comes with it."""
        if what == "hess":
            return {"hess": np.asarray(self._run(_curvature, args), np.float64)}
        if what == "fun" and not (self._with_slopes and self._is_number):
            found = _settled(self._run(_value, args))
            self._is_number = isinstance(found, float)
            return {"fun": found}
        if what == "jac" and not self._is_number:
            return {"jac": np.asarray(self._run(_rows, args), np.float64)}
        value, slope = self._run(_both, args)
        return {"fun": _settled(value), "jac": np.asarray(slope, np.float64)}

    def _check_number(self, name: str, args: tuple[Any, ...]) -> None:
        """Raise for a function of several numbers.

        Raises:
            ShapeError: if it is one.
        """
        count = np.size(self._at("fun", args))
        if not self._is_number:
            raise ShapeError(
                f"to_scipy: {name} is of a function of one number, and this one has {count}",
                fix="weighted_hess(x, v) is the Hessian of v @ fun, for NonlinearConstraint; np.sum(f(x)) is a number.",
            )

    def _without_vector(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], Vector]:
        """Return the function's arguments, and the vector that stands after x among what was given."""
        place = self._argnum + 1
        if len(args) <= place:
            raise TracingError(
                f"to_scipy: expected a vector after x, got {len(args)} arguments", fix="call it as hessp(x, p, *args)."
            )
        return (*args[:place], *args[place + 1 :]), np.asarray(args[place], np.float64)

    def _run(self, derived: Function, args: tuple[Any, ...], *more: Any) -> Any:
        """Return what is derived of the function at its arguments, compiled."""
        if derived not in self._made:
            made = derived(self._of_vector)
            self._made[derived] = recorded_once(made) if self._is_compiled else made
        place = self._argnum
        x = np.asarray(args[place], np.float64).reshape(-1)
        if x.size != self._space.size:
            raise ShapeError(
                f"to_scipy: a vector of {x.size} numbers, and x0 has {self._space.size}",
                fix="pass a vector like x0; vector(argument) makes one of an argument.",
            )
        return self._made[derived](x, args[:place], args[place + 1 :], *more)

    def _of_vector(self, x: Any, before: tuple[Any, ...], after: tuple[Any, ...]) -> Any:
        """Return the function's number, or its results as a vector, in real numbers."""
        found = self._function(*before, self._coordinates.joined(self._space.tree(x)), *after)
        leaves = [real_parts(leaf) for leaf in tree.leaves(found)]
        if len(leaves) == 1 and np.ndim(leaves[0]) == 0:
            return leaves[0]
        return concatenate([reshape(leaf, (-1,)) for leaf in leaves]) if leaves else np.zeros(0)


def _value(of: Function) -> Function:
    return of


def _both(of: Function) -> Function:
    return value_and_grad(of)


def _rows(of: Function) -> Function:
    return lambda x, before, after: jacobian(of)(x, before, after)[...]


def _curvature(of: Function) -> Function:
    return lambda x, before, after: hessian(of)(x, before, after)[...]


def _product(of: Function) -> Function:
    return lambda x, before, after, p: hvp(lambda x: of(x, before, after), x, p)


def _weighted(of: Function) -> Function:
    return lambda x, before, after, v: hessian(lambda x: vdot(v, reshape(of(x, before, after), (-1,))))(x)[...]


def _settled(found: Any) -> Any:
    """Return a number as Python's, and a vector in double precision that nobody else has."""
    return float(found) if np.ndim(found) == 0 else np.array(found, np.float64)


def _is_same(kept: Any, leaf: Any) -> bool:
    """Say whether an argument has the numbers that it had."""
    return np.shape(leaf) == kept.shape and np.asarray(leaf).dtype == kept.dtype and np.array_equal(kept, leaf)
