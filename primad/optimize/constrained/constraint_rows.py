"""Constraints in SciPy's forms as rows of a function of a vector, between two limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.optimize.parameter_vectors import Space, Tree, Vector
from primad.optimize.real_coordinates import RealCoordinates, real_parts
from primad.optimize.scipy_solvers.flat_functions import Plain, as_array, as_floats, spread
from primad.optimize.scipy_solvers.limits import check_linear, parts_of
from primad.recording import tree
from primad.recording.tracing import type_of


class ConstraintRows(NamedTuple):
    """A constraint: lower ≤ function(x) ≤ upper.

    Attributes:
        function: of a vector, whose result is a row.
        lower: limits of the row.
        upper: limits of the row.
        image: what the user's function returns.
    """

    function: Callable[[Any], Any]
    lower: Vector
    upper: Vector
    image: Space


def constraint_rows(given: Any, x0: Tree, what: str) -> ConstraintRows:
    """Return a constraint of the user's as rows.

    Args:
        given: a `NonlinearConstraint`, a `LinearConstraint` or a dict, as SciPy's, whose functions take trees.
        x0: where the search starts.
        what: the solver, for messages.

    Raises:
        ShapeError: if it is none of these, or does not fit the parameters.
        TracingError: if it brings derivatives.
    """
    from scipy.optimize import LinearConstraint, NonlinearConstraint  # loads when it is called

    what = f"{what}: constraints"
    if isinstance(given, LinearConstraint):
        check_linear(given, Space.of(RealCoordinates.of(x0).split(x0)).size, what)
        matrix = given.A if hasattr(given.A, "tocsr") else np.atleast_2d(given.A)
        return _between(lambda x: matrix @ x, np.zeros(matrix.shape[0]), given.lb, given.ub, what)
    if isinstance(given, NonlinearConstraint):
        check_no_derivatives({"jac": given.jac, "hess": given.hess}, what)
        function, args, parts, lower, upper = given.fun, (), False, given.lb, given.ub
    else:
        function, args, kind = parts_of(given, what)
        check_no_derivatives({"jac": given.get("jac")}, what)
        parts, lower, upper = kind == "eq", 0.0, 0.0 if kind == "eq" else np.inf
    flat = Plain(function, x0, args, what, True, parts=parts)
    found = as_array(flat.plain(flat.call)(flat.tree(flat.start)))
    found = as_floats(tree.map(real_parts, found) if parts else found, what)
    return _between(lambda x: flat.joined(flat.space.tree(x)), found, lower, upper, what)


def _between(function: Callable[[Any], Any], found: Tree, lower: Any, upper: Any, what: str) -> ConstraintRows:
    """Return rows between limits.

    Args:
        function: of a vector.
        found: a tree like what the user's function returns.
        lower: a number or a tree like it.
        upper: a number or a tree like it.
        what: the solver, for messages.

    Raises:
        ShapeError: if limits do not fit, or are of complex numbers.
    """
    leaves, structure = tree.flatten(found)
    image = Space(structure, [type_of(leaf) for leaf in leaves])
    if any(type.is_complex for type in image.types):
        raise ShapeError(
            f"{what}: limits of complex numbers, which have no order",
            fix='return real numbers, as np.abs(z) or z.real, or write an equation: {"type": "eq", "fun": f}.',
        )
    low, high = (spread(image, limit, f"{what}: a limit") for limit in (lower, upper))
    if not np.all(low <= high):
        raise ShapeError(
            f"{what}: a lower limit is not below the upper one, nor equal to it",
            fix="write the lower limit first, and -np.inf or np.inf where there is none.",
        )
    return ConstraintRows(function, low, high, image)


def check_no_derivatives(given: Mapping[str, Any], what: str) -> None:
    """Raise where the user brings a derivative as a function.

    Raises:
        TracingError: that names it.
    """
    for name, derivative in given.items():
        if callable(derivative) or derivative is True:
            raise TracingError(
                f"{what}: {name} would not be used: derivatives, and where they are zero, come from the function",
                fix=f"leave {name} out. What cannot be recorded gets its derivative by primad.custom_jvp.",
            )
