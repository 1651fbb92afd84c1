"""Bounds and constraints in SciPy's forms and as trees, as SciPy takes them for vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.functional.derivatives.higher_order import hvp
from primad.optimize.parameter_vectors import Space, Tree, Vector
from primad.optimize.real_coordinates import RealCoordinates
from primad.optimize.scipy_solvers.derivatives import BY_VALUES
from primad.optimize.scipy_solvers.flat_functions import Function, Plain, as_array, as_floats, spread

PAIRS = (
    "write optimize.Bounds(lower, upper) of SciPy, a pair (None for none) for each element of an array x0, or "
    "(lower, upper), each a number or a tree like x0."
)


def bounds_of(flat: Plain, given: Any, by_element: bool) -> Any:
    """Return bounds as SciPy's `Bounds` of vectors.

    Args:
        flat: the function.
        given: `Bounds`, (lower, upper), or a pair for each element.
        by_element: whether pairs for each element are meant where both readings are possible, as in `minimize`.

    Raises:
        ShapeError: if they do not fit the parameters, exclude each other, or can be read in two ways.
    """
    from scipy.optimize import Bounds

    if isinstance(given, Bounds):
        feasible = given.keep_feasible
        if np.size(feasible) > 1:
            feasible = spread(flat.space, feasible, f"{flat.what}: keep_feasible").astype(bool)
        return Bounds(*_checked(flat, given.lb, given.ub), keep_feasible=feasible)
    try:
        items = [] if isinstance(given, (dict, str)) else list(given)
    except TypeError:
        items = []
    if (
        by_element
        and flat.space.structure.is_leaf()
        and not flat.coordinates.are_parts
        and _are_pairs(flat, given, items)
    ):
        lower, upper = ([_infinite(pair[side], sign) for pair in items] for side, sign in ((0, -1.0), (1, 1.0)))
        return Bounds(*_checked(flat, np.array(lower), np.array(upper)))
    if len(items) != 2:
        found = f"{len(items)} entries for {flat.space.size} parameters" if items else type(given).__name__
        raise ShapeError(
            f"{flat.what}: bounds are a pair (lower, upper), or a pair for each element",
            why=f"It got {found}.",
            fix=PAIRS,
        )
    return Bounds(*_checked(flat, *items))


def _are_pairs(flat: Plain, given: Any, items: list[Any]) -> bool:
    """Say whether bounds are a pair for each element of an array."""
    if len(items) != flat.space.size or not all(np.ndim(item) == 1 and len(item) == 2 for item in items):
        return False
    if len(items) == 2 and all(isinstance(item, np.ndarray) for item in items) and not isinstance(given, np.ndarray):
        raise ShapeError(
            f"{flat.what}: two arrays of two numbers as bounds could be (lower, upper) or two pairs", fix=PAIRS
        )
    return True


def _infinite(bound: Any, sign: float) -> Any:
    """Return a bound, or an infinite one for None."""
    return sign * np.inf if bound is None else bound


def _checked(flat: Plain, lower: Any, upper: Any) -> tuple[Vector, Vector]:
    """Return bounds as vectors."""
    what = f"{flat.what}: bounds"
    given = [flat.coordinates.bound(_infinite(b, s), what) for b, s in ((lower, -1.0), (upper, 1.0))]
    lower, upper = (spread(flat.space, bound, what) for bound in given)
    if np.any(np.isnan(lower) | np.isnan(upper)):
        raise ShapeError(f"{flat.what}: a bound is NaN", fix="write -np.inf or np.inf where there is none.")
    if np.any(lower > upper):
        raise ShapeError(f"{flat.what}: a lower bound is above the upper one", fix="exchange the two there.")
    return lower, upper


def constraint_of(given: Any, x0: Tree, compiled: bool, method: str) -> Any:
    """Return a constraint of vectors, with the derivatives that a method takes.

    Args:
        given: a dict, a `NonlinearConstraint` or a `LinearConstraint`, as SciPy's, whose functions take trees.
        x0: where the search starts.
        compiled: as of `minimize`.
        method: SciPy's, in small letters.

    Raises:
        ShapeError: if it is none of these, or does not fit the parameters.
    """
    from scipy.optimize import LinearConstraint, NonlinearConstraint

    if isinstance(given, LinearConstraint):
        check_linear(given, Space.of(RealCoordinates.of(x0).split(x0)).size, "minimize")
        return given
    if isinstance(given, NonlinearConstraint):
        return _nonlinear(given, x0, compiled, method)
    function, args, kind = parts_of(given, "minimize")
    flat = Plain(function, x0, args, "minimize: constraints", compiled, parts=kind == "eq")
    values, jac = _values(flat, given.get("jac"), method)
    if method != "trust-constr":
        return {"type": kind, "fun": values, "jac": jac}
    upper = 0.0 if kind == "eq" else np.inf
    return NonlinearConstraint(values, 0.0, upper, jac=jac, hess=_hessian(flat, given.get("jac"), None))


def check_linear(given: Any, size: int, what: str) -> None:
    """Raise unless a `LinearConstraint` has a column for each of so many parameters.

    Raises:
        ShapeError: if it has not.
    """
    if np.ndim(given.A) > 2 or np.shape(given.A)[-1:] != (size,):
        raise ShapeError(
            f"{what}: a LinearConstraint of shape {np.shape(given.A)} for {size} parameters",
            fix="give the matrix a column for each number of x0, two for a complex one, in the order of leaves.",
        )


def parts_of(given: Any, what: str) -> tuple[Function, tuple[Any, ...], str]:
    """Return the function of a constraint in SciPy's older form, its other arguments, and 'eq' or 'ineq'.

    Raises:
        ShapeError: if it is no such dict.
    """
    kind = str(given.get("type")).lower() if isinstance(given, dict) else ""
    if kind not in ("eq", "ineq") or "fun" not in given:
        raise ShapeError(
            f"{what}: a constraint is a dict with 'type' ('eq' or 'ineq') and 'fun', or one of SciPy's constraints",
            why=f"It got {given!r}.",
            fix='write {"type": "ineq", "fun": f} for f(x) ≥ 0, or NonlinearConstraint(f, lower, upper).',
        )
    args = given.get("args", ())
    return given["fun"], args if isinstance(args, tuple) else (args,), kind


def _nonlinear(given: Any, x0: Tree, compiled: bool, method: str) -> Any:
    """Return a NonlinearConstraint of vectors."""
    from scipy.optimize import BFGS, NonlinearConstraint

    flat = Plain(given.fun, x0, (), "minimize: constraints", compiled)
    lower, upper = given.lb, given.ub
    if np.size(lower) > 1 or np.size(upper) > 1 or isinstance(lower, dict) or isinstance(upper, dict):
        image = Space.of(as_floats(as_array(flat.plain(flat.call)(flat.tree(flat.start))), flat.what))
        lower, upper = (spread(image, bound, "minimize: constraints: a limit") for bound in (lower, upper))
    values, jac = _values(flat, given.jac, method)
    options: dict[str, Any] = {"jac": jac, "keep_feasible": given.keep_feasible}
    if callable(given.hess):
        options["hess"] = flat.given(given.hess)
    elif method == "trust-constr":  # the default, BFGS(), and names of differences ask for a derivative: it is exact
        options["hess"] = _hessian(flat, given.jac, None if isinstance(given.hess, (BFGS, str)) else given.hess)
    return NonlinearConstraint(values, lower, upper, **options)


def _values(flat: Plain, jac: Any, method: str) -> tuple[Function, Function]:
    """Return a constraint's function and its Jacobian, which may be the user's: then the function is not recorded."""
    if callable(jac):
        return flat.values(as_it_is=True), flat.given(jac)
    matrix = flat.large_matrix() if method == "trust-constr" else flat.matrix()
    return flat.values(method in BY_VALUES and not flat.is_recordable(flat.call)), matrix


def _hessian(flat: Plain, jac: Any, strategy: Any) -> Any:
    """Return the function that takes a vector and weights to products with the Hessian of the weighed sum.

    Or a strategy of updates: the user's, or SciPy's where the user gives the Jacobian of what cannot be recorded.
    """
    from scipy.optimize import BFGS
    from scipy.sparse.linalg import LinearOperator

    if strategy is not None or (callable(jac) and not flat.is_recordable(flat.call)):
        return strategy or BFGS()

    def weighed(x: Tree, v: Tree, weights: Any) -> Tree:
        return hvp(lambda y: np.sum(weights * flat.joined(y)), x, v)

    product = flat.ready(weighed)

    def bend(x: Vector, weights: Vector) -> Any:
        there = flat.tree(x)
        return LinearOperator(
            (x.size, x.size),
            matvec=lambda v: flat.space.vector(product(there, flat.tree(np.ravel(v)), weights)),
            dtype=np.float64,
        )

    return bend
