"""Finding a solution: SciPy's way, or the user's; it is made as exact as Newton's steps make it, and checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.errors import DomainError, ShapeError
from primad.functional.derivatives.recorded_jacobians import SPARSE_FROM
from primad.implicit.constrained import by_slsqp
from primad.implicit.equations import Array, ImplicitEquation
from primad.implicit.matrix_factors import MatrixFactors

MOST_STEPS = 100
"""Newton's steps from the start, at most. Chosen: those that converge take ten."""
MOST_HALVES = 30
"""How often a step is halved. Chosen: smaller ones are rounding errors."""
MOST_POLISHING = 4
"""Steps from a solution, at most. Chosen: each squares an error, and solvers' own is 1e-8."""

ROUNDED = 16
"""Rounding errors that a residual may have beside its terms. Chosen: float32 has no more at a tolerance of 1e-6."""
STALLED = 0.9
"""Share of a Newton step that the next one has, from which no solution is near. Chosen: where m solutions meet it is
1 − 1/m, and 1 or more on the way to infinity."""


class Tangents:
    """The Jacobian of an equation and its factors, each computed once where it is the same.

    Args:
        of: the equation.
        given: what it depends on.
    """

    def __init__(self, of: ImplicitEquation, given: Sequence[Array]) -> None:
        self._of, self._given = of, given
        self._at: Array | None = None
        self._matrix: Any = None
        self._factors: MatrixFactors | None = None

    def matrix(self, x: Array) -> Any:
        """Return the Jacobian at x."""
        if self._at is None or not (x is self._at or self._is_same_everywhere(x)):
            self._at, self._matrix, self._factors = x, self._of.jacobian(x, self._given), None
        return self._matrix

    def _is_same_everywhere(self, x: Array) -> bool:
        """Say whether the Jacobian does not change with x; of few unknowns, to know takes longer than the matrix."""
        return len(x) >= SPARSE_FROM and self._of.is_affine

    def step(self, x: Array, found: Array) -> Array:
        """Return what the factors at x make of a residual.

        Raises:
            LinAlgError: if the Jacobian is singular.
        """
        matrix = self.matrix(x)
        if self._factors is None:
            self._factors = MatrixFactors(matrix)
        return self._factors.solve(found)


def solve(of: ImplicitEquation, x0: Array, given: Sequence[Array]) -> Array:
    """Return the solution of an equation.

    Raises:
        DomainError: if the residual does not vanish there, which says by how much, or vanishes at infinity only.
    """
    x0, tangents = np.array(x0), Tangents(of, given)
    with np.errstate(all="ignore"):
        x = _by_user(of, x0, given) if of.solver is not None else OWN[of.name](of, x0, given, tangents)
        found, first = of.residual(x, given), of.residual(x0, given)
        matrix = tangents.matrix(x)
        tolerance = max(of.tolerance, ROUNDED * float(np.finfo(x.dtype).eps))
        scale = np.maximum(abs(matrix) @ np.abs(x), np.max(np.abs(first), initial=0.0, where=np.isfinite(first)))
        far = ~((np.abs(found) <= tolerance * scale) & np.isfinite(found)) & (found != 0)
        if far.any():
            place = int(np.argmax(np.where(np.isnan(found), np.inf, np.abs(found))))
            raise DomainError(
                f"{of.name}: no solution was found: the residual is {found[place]:.3g} where its terms are of size "
                f"{scale[place]:.3g} (element {place} of {found.size})",
                why=f"At a solution it is at most {tolerance:g} of that.",
                fix="start nearer to the solution, or take a method that finds it, or a larger tolerance=.",
            )
        near = np.maximum(np.abs(x), np.abs(x0))
        if (np.abs(found) > tolerance * (abs(matrix) @ near)).any():
            _check_nearness(of, x, found, tangents, given, tolerance * np.maximum(near, tolerance * np.max(near)))
        sizes = abs(matrix) @ near
        unknown = np.finfo(x.dtype).eps * np.abs(first) > tolerance * sizes
        if unknown.any():
            _check_slopes(of, x, x0, unknown, sizes, given)
        return _polished(of, x, found, tangents, given)


def _check_nearness(
    of: ImplicitEquation, x: Array, found: Array, tangents: Tangents, given: Sequence[Array], short: Array
) -> None:
    """Raise where the residual is small since x is far away, as that of exp(−x), and not since a solution is near.

    Newton's steps towards a solution become shorter, by 1/m or more of their length where m solutions meet. There is
    nothing to say where the Jacobian is singular.

    Args:
        of: the equation.
        x: where it stands.
        found: the residual there.
        tangents: Jacobians, and the factors there.
        given: what the equation depends on.
        short: steps up to which a solution is near.
    """
    try:
        step = tangents.step(x, found)
        after = Tangents(of, given).step(x - step, of.residual(x - step, given))
    except np.linalg.LinAlgError:
        return
    away = (np.abs(step) > short) & ~(np.abs(after) < STALLED * np.abs(step))
    if away.any():
        place = int(np.argmax(away))
        raise DomainError(
            f"{of.name}: no solution was found: the residual is {np.max(np.abs(found)):.3g} at x = {x[place]:.6g}, and "
            f"Newton's steps from there, {-step[place]:.3g} and {-after[place]:.3g}, lead on and on (element {place} "
            f"of {x.size})",
            why="It vanishes at infinity, as that of exp(-x), or where x is not known as well as the tolerance asks.",
            fix="start nearer to the solution, or write the equation such that its terms are of size 1 there.",
        )


def _check_slopes(
    of: ImplicitEquation, x: Array, x0: Array, unknown: Array, sizes: Array, given: Sequence[Array]
) -> None:
    """Raise where a residual vanishes since its terms are rounded, on the way to infinity, as tanh(x) − 1 does at 20.

    There, as where solutions meet, rounding moves a solution by more than the tolerance. But behind the latter the
    residual changes faster again, and on the way to infinity ever less.

    Args:
        of: the equation.
        x: where it stands.
        x0: where it began.
        unknown: the elements that rounding of what they began with moves by more than the tolerance.
        sizes: what rows of the Jacobian, times the unknowns, are.
        given: what the equation depends on.
    """
    beyond = 2 * x - x0
    slower = unknown & (abs(of.jacobian(beyond, given)) @ np.maximum(np.abs(x), np.abs(x0)) < sizes)
    if slower.any():
        place = int(np.argmax(slower))
        raise DomainError(
            f"{of.name}: no solution was found: the residual vanishes at x = {x[place]:.6g} by rounding, and changes "
            f"ever less on the way from {x0[place]:.6g} on (element {place} of {x.size})",
            why="It vanishes at infinity, as tanh(x) - 1 does, or where x is not known as well as the tolerance asks.",
            fix="start nearer to the solution, or write the equation such that its terms are of size 1 there.",
        )


def returned(found: Any) -> Any:
    """Return the solution in what a solver returned, which may be a result of SciPy's or of ours."""
    return getattr(found, "x", getattr(found, "root", getattr(found, "params", found)))


def _by_user(of: ImplicitEquation, x0: Array, given: Sequence[Array]) -> Array:
    """Call the user's solver with what it takes: a function of the unknowns as the user has them, and a start."""
    assert of.solver is not None
    unknowns = of.unknowns

    def function(x: Any) -> Any:
        return of.for_solver(of.values(unknowns.row(x).astype(x0.dtype), given))

    settings = of.values(x0, given)[len(of.of.program.outputs) - of.settings :]
    found = returned(of.solver(function, unknowns(x0), *settings))
    way_out = "return what its function takes, or SciPy's result."
    try:
        values = np.array(unknowns.row(found), x0.dtype)
    except (TypeError, ValueError) as error:
        raise ShapeError(
            f"{of.name}: the solver returned {type(found).__name__}, which is no {type(unknowns(x0)).__name__} of "
            "numbers",
            why=str(error).partition("\n")[0],
            fix=way_out,
        ) from None
    if values.shape != x0.shape:
        raise ShapeError(
            f"{of.name}: the solver returned {values.size} numbers for {x0.size} unknowns",
            fix=way_out,
        )
    return values


def _as_root(of: ImplicitEquation, x0: Array, given: Sequence[Array], tangents: Tangents) -> Array:
    """Return SciPy's hybrid method's result; of many unknowns, that of Newton's steps with sparse factors."""
    if x0.size >= SPARSE_FROM:
        return _by_newton(of, x0, given, tangents)
    from scipy.optimize import root  # loads when it is called

    dtype = x0.dtype
    found = root(lambda x: of.residual(x.astype(dtype), given), x0, jac=lambda x: of.jacobian(x.astype(dtype), given))
    return np.asarray(found.x, dtype)


def _as_minimum(of: ImplicitEquation, x0: Array, given: Sequence[Array], tangents: Tangents) -> Array:
    """Return SciPy's quasi-Newton method's result, and Newton's steps from there."""
    from scipy.optimize import minimize  # loads when it is called

    def both(x: Array) -> tuple[float, Array]:
        slope, value = of.values(x.astype(x0.dtype), given)
        return float(value), slope.astype(float)

    found = minimize(both, x0, jac=True, method="BFGS" if x0.size < SPARSE_FROM else "L-BFGS-B")
    return _by_newton(of, np.asarray(found.x, x0.dtype), given, tangents)


def _as_fit(of: ImplicitEquation, x0: Array, given: Sequence[Array], tangents: Tangents) -> Array:
    """Return SciPy's least squares, and Newton's steps from there."""
    from scipy.optimize import least_squares  # loads when it is called

    dtype = x0.dtype
    found = least_squares(
        lambda x: of.values(x.astype(dtype), given)[1], x0, lambda x: of.jacobian(x.astype(dtype), given, 1)
    )
    return _by_newton(of, np.asarray(found.x, dtype), given, tangents)


def _by_newton(of: ImplicitEquation, x: Array, given: Sequence[Array], tangents: Tangents) -> Array:
    """Take Newton's steps, each halved until the residual is smaller, until it is what rounding makes of its terms."""
    found = of.residual(x, given)
    for _ in range(MOST_STEPS):
        matrix = tangents.matrix(x)
        try:
            step = tangents.step(x, found)
        except np.linalg.LinAlgError:
            return x
        size = _norm(found)
        for half in range(MOST_HALVES):
            new = x - step / 2**half
            after = of.residual(new, given)
            if _norm(after) < size:
                break
        else:
            return x
        x, found = new, after
        eps = np.finfo(x.dtype).eps
        if half == 0 and _norm(after) <= eps * size:
            return x
        if half == 0 and np.all(np.abs(after) <= ROUNDED * eps * (abs(matrix) @ np.abs(x))):
            return x
    return x


def _polished(of: ImplicitEquation, x: Array, found: Array, tangents: Tangents, given: Sequence[Array]) -> Array:
    """Take Newton's steps as long as each makes the residual less than a half: in units of the rows of the Jacobian.

    Else rounding errors of a large row would hide the others.
    """
    rows = abs(tangents.matrix(x)) @ np.ones_like(x)
    rows[rows == 0] = 1
    for _ in range(MOST_POLISHING):
        if not np.any(found):
            return x
        try:
            new = x - tangents.step(x, found)
        except np.linalg.LinAlgError:
            return x
        after = of.residual(new, given)
        if not _norm(after / rows) < 0.5 * _norm(found / rows):
            return x
        x, found = new, after
    return x


def _norm(x: Array) -> float:
    """Return the length of a row: a dot product wakes the threads of BLAS, which takes longer than it."""
    return float(np.sqrt(np.sum(np.square(x))))


OWN: dict[str, Callable[[ImplicitEquation, Array, Sequence[Array], Tangents], Array]] = {
    "root": _as_root,
    "fixed_point": _as_root,
    "linear_solve": _by_newton,
    "minimize": _as_minimum,
    "argmin": lambda of, x0, given, _: by_slsqp(of, x0, given),
    "least_squares": _as_fit,
}
"""How each of the functions that users call finds a solution, unless the user says how."""
