"""Finding a solution: SciPy's way, or the user's; it is made as exact as Newton's steps make it, and checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.errors import DomainError, ShapeError
from primad.functional.derivatives.recorded_jacobians import SPARSE_FROM
from primad.implicit.equations import Array, ImplicitEquation, MatrixFactors

MOST_STEPS = 100
"""Newton's steps from the start, at most. Chosen: those that converge take ten."""
MOST_HALVES = 30
"""How often a step is halved. Chosen: smaller ones are rounding errors."""
MOST_POLISHING = 4
"""Steps from a solution, at most. Chosen: each squares an error, and solvers' own is 1e-8."""


def solve(of: ImplicitEquation, x0: Array, given: Sequence[Array]) -> Array:
    """Return the solution of an equation.

    Raises:
        DomainError: if the residual does not vanish there, which says by how much.
    """
    x0 = np.array(x0)
    with np.errstate(all="ignore"):
        x = _by_user(of, x0, given) if of.solver is not None else OWN[of.name](of, x0, given)
        found, first = of.residual(x, given), of.residual(x0, given)
        matrix = of.jacobian(x, given)
        scale = np.maximum(abs(matrix) @ np.abs(x), np.max(np.abs(first), initial=0.0))
        far = ~(np.abs(found) <= of.tolerance * scale) & (found != 0)
    if far.any():
        place = int(np.argmax(np.where(np.isnan(found), np.inf, np.abs(found))))
        raise DomainError(
            f"{of.name}: no solution was found: the residual is {found[place]:.3g} where its terms are of size "
            f"{scale[place]:.3g} (element {place} of {found.size})",
            why=f"At a solution it is at most {of.tolerance:g} of that.",
            fix="start nearer to the solution, or give solver= a method that finds it, or a larger tolerance=.",
        )
    return _polished(of, x, found, matrix, given)


def _by_user(of: ImplicitEquation, x0: Array, given: Sequence[Array]) -> Array:
    """Call the user's solver with what it takes: a function of the unknowns as the user has them, and a start."""
    assert of.solver is not None
    unknowns = of.unknowns

    def function(x: Any) -> Any:
        values = of.values(np.asarray(unknowns.row(x), x0.dtype), given)
        return values[1][()] if len(values) > 1 else unknowns(values[0])

    found = of.solver(function, unknowns(x0))
    found = getattr(found, "x", getattr(found, "root", found))  # SciPy's results
    values = np.array(unknowns.row(found), x0.dtype)
    if values.shape != x0.shape:
        raise ShapeError(
            f"{of.name}: the solver returned {values.size} numbers for {x0.size} unknowns",
            fix="return what its function takes, or SciPy's result.",
        )
    return values


def _as_root(of: ImplicitEquation, x0: Array, given: Sequence[Array]) -> Array:
    """Return SciPy's hybrid method's result; of many unknowns, that of Newton's steps with sparse factors."""
    if x0.size >= SPARSE_FROM:
        return _by_newton(of, x0, given)
    from scipy.optimize import root  # loads when it is called

    dtype = x0.dtype
    found = root(lambda x: of.residual(x.astype(dtype), given), x0, jac=lambda x: of.jacobian(x.astype(dtype), given))
    return np.asarray(found.x, dtype)


def _as_minimum(of: ImplicitEquation, x0: Array, given: Sequence[Array]) -> Array:
    """Return SciPy's quasi-Newton method's result, and Newton's steps from there."""
    from scipy.optimize import minimize  # loads when it is called

    def both(x: Array) -> tuple[float, Array]:
        slope, value = of.values(x.astype(x0.dtype), given)
        return float(value), slope.astype(float)

    found = minimize(both, x0, jac=True, method="BFGS" if x0.size < SPARSE_FROM else "L-BFGS-B")
    return _by_newton(of, np.asarray(found.x, x0.dtype), given)


def _as_fit(of: ImplicitEquation, x0: Array, given: Sequence[Array]) -> Array:
    """Return SciPy's least squares, and Newton's steps from there."""
    from scipy.optimize import least_squares  # loads when it is called

    dtype = x0.dtype
    found = least_squares(
        lambda x: of.values(x.astype(dtype), given)[1], x0, lambda x: of.jacobian(x.astype(dtype), given, 1)
    )
    return _by_newton(of, np.asarray(found.x, dtype), given)


def _by_newton(of: ImplicitEquation, x: Array, given: Sequence[Array]) -> Array:
    """Take Newton's steps, each halved until the residual is smaller."""
    found = of.residual(x, given)
    for _ in range(MOST_STEPS):
        try:
            step = MatrixFactors(of.jacobian(x, given)).solve(found)
        except np.linalg.LinAlgError:
            return x
        size = np.linalg.norm(found)
        for half in range(MOST_HALVES):
            new = x - step / 2**half
            after = of.residual(new, given)
            if np.linalg.norm(after) < size:
                break
        else:
            return x
        x, found = new, after
        if half == 0 and np.linalg.norm(after) <= np.finfo(x.dtype).eps * size:
            return x
    return x


def _polished(of: ImplicitEquation, x: Array, found: Array, matrix: Any, given: Sequence[Array]) -> Array:
    """Take Newton's steps as long as each makes the residual less than a half."""
    for number in range(MOST_POLISHING):
        if not np.any(found):
            return x
        try:
            new = x - MatrixFactors(of.jacobian(x, given) if number else matrix).solve(found)
        except np.linalg.LinAlgError:
            return x
        after = of.residual(new, given)
        if not np.linalg.norm(after) < 0.5 * np.linalg.norm(found):
            return x
        x, found = new, after
    return x


OWN: dict[str, Callable[[ImplicitEquation, Array, Sequence[Array]], Array]] = {
    "root": _as_root,
    "fixed_point": _as_root,
    "linear_solve": _by_newton,
    "minimize": _as_minimum,
    "least_squares": _as_fit,
}
"""How each of the functions that users call finds a solution, unless the user says how."""
