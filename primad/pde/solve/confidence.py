"""How well data determine coefficients: from the Hessian of Gauss and Newton at the end of a search."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError
from primad.optimize.gauss_newton.levenberg_marquardt import LevenbergMarquardt
from primad.optimize.gauss_newton.residual_models import Residuals
from primad.optimize.parameter_vectors import Space
from primad.pde.geometry.sampling import Array

if TYPE_CHECKING:
    from primad.pde.solve.solution import Solution

MOST = 8000
"""Parameters for which the Hessian is made."""


def deviations(solution: Solution) -> dict[str, Array]:
    """Return the standard deviations of the coefficients.

    The residuals of each term are taken as independent errors of the variance that they have: the inverse of the sum of
    JᵀJ/σ² of the terms, with the networks' parameters among the unknown ones, is the covariance.

    Raises:
        ProblemError: if there are no coefficients or no data, or too many parameters for the Hessian.
    """
    problem, params, points = solution.problem, solution.params, solution.points
    space = Space.of(params)
    if not problem.coefficients:
        raise ProblemError("no coefficient is learned: there is nothing to be confident of")
    if not solution.has_data:
        raise ProblemError(
            "the confidence of coefficients comes from errors of data, and the problem has none",
            fix="give it pde.Data(…).",
        )
    if space.size > MOST:
        raise ProblemError(f"the Hessian of {space.size} parameters is too large", fix="use a smaller network.")
    model: Residuals = problem.compiled(LevenbergMarquardt())
    square = np.zeros((space.size, space.size))
    for name, row in points.items():
        plain = {**row, "scale": np.ones_like(row["scale"])}
        values = problem.evaluated(params, {name: plain})[name]
        variance = np.maximum(np.mean(values**2, axis=0), 1e-24)
        if len(values) > 1:  # as an unbiased estimate; a single residual tells nothing more
            variance = variance * len(values) / max(len(values) - len(problem.coefficients), 1)
        plain["scale"] = np.broadcast_to(1 / np.sqrt(variance), row["scale"].shape).copy()
        for _, rows in model.rows(params, {name: plain}):
            square += rows.T @ rows
    return _named(solution, space, np.sqrt(np.diag(_inverse(square))))


def _inverse(square: Array) -> Array:
    """Return the pseudo-inverse of a matrix that is not negative; directions of no curvature are left out."""
    scale = np.sqrt(np.maximum(np.diag(square), np.max(np.diag(square)) * 1e-30))
    values, vectors = np.linalg.eigh(square / np.outer(scale, scale))
    kept = values > 1e-14 * values[-1]
    half = vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]
    found: Array = half @ half.T
    return found


def _named(solution: Solution, space: Space, vector: Array) -> dict[str, Array]:
    found: dict[str, Any] = space.tree(vector)["coefficients"]
    return {name: np.asarray(value)[()] for name, value in found.items()}


def intervals(solution: Solution, level: float) -> dict[str, tuple[Any, Any]]:
    """Return for each coefficient the interval that contains it with a probability."""
    if not 0 < level < 1:
        raise ProblemError(f"the level of confidence is a probability, got {level}")
    factor = NormalDist().inv_cdf(0.5 + level / 2)
    values = solution.coefficients
    return {name: (values[name] - factor * s, values[name] + factor * s) for name, s in deviations(solution).items()}
