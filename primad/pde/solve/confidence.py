"""How well data determine coefficients: from the Hessian of Gauss and Newton at the end of a search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError, warn
from primad.optimize.gauss_newton.levenberg_marquardt import LevenbergMarquardt
from primad.optimize.gauss_newton.residual_models import Residuals
from primad.optimize.parameter_vectors import Space
from primad.pde.geometry.sampling import Array
from primad.pde.solve.misfit import Residual, alike, misfits, residuals_of

if TYPE_CHECKING:
    from primad.pde.solve.solution import Solution

MOST = 8000
"""Parameters for which the Hessian is made."""
STRICTEST = 1e8
"""How much more than data, in JᵀJ/σ², equations and conditions count at most: beyond, they are as good as exact."""
NEAR = 2.0
"""Standard deviations that a coefficient may still have to go."""
UNDETERMINED = 1e-3
"""Which part of a coefficient's direction may be without curvature."""


@dataclass(frozen=True)
class Confidence:
    """What data say of coefficients.

    Attributes:
        values: the coefficients.
        deviations: the standard deviation of each; infinite where data do not determine it.
        freedom: how many independent values the data have beyond the parameters that they determine.
        doubts: in words, why the deviations mean nothing; empty if they do.
    """

    values: dict[str, Any]
    deviations: dict[str, Array]
    freedom: float
    doubts: tuple[str, ...]

    def intervals(self, level: float) -> dict[str, tuple[Any, Any]]:
        """Return for each coefficient the interval that contains it with a probability; NaN where there are doubts.

        Raises:
            ProblemError: if the level is no probability.
        """
        if not 0 < level < 1:
            raise ProblemError(
                f"the level of confidence is a probability, got {level}",
                fix="pass 0.95, say.",
            )
        from scipy.special import stdtrit  # loads when intervals are asked for

        factor = np.nan if self.doubts else float(stdtrit(self.freedom, 0.5 + level / 2))
        pairs = [(name, value, factor * self.deviations[name]) for name, value in self.values.items()]
        return {name: (value - half, value + half) for name, value, half in pairs}


def confidence(solution: Solution) -> Confidence:
    """Return what data say of the coefficients.

    Residuals of data are taken as errors of one variance: their square sum, over their number less the parameters that
    they determine. Where neighbours are off alike, fewer of them are independent. Equations and conditions count by
    their mean squares. What such errors make of the coefficients, with the weights that the search had, is their
    covariance (the sandwich of P. Huber, Proc. Fifth Berkeley Symp. Math. Statist. Prob. 1 (1967) 221). Other weights
    than the sizes of the residuals ask for move the coefficients too: the step towards those that these would give
    is a further error.

    Raises:
        ProblemError: if there are no coefficients or no data, or too many parameters for the Hessian.
    """
    problem, params = solution.problem, solution.params
    space = Space.of(params)
    if not problem.coefficients:
        raise ProblemError(
            "no coefficient is learned: there is nothing to be confident of",
            fix='give the problem coefficients={"k": 1.0}.',
        )
    if not solution.has_data:
        raise ProblemError(
            "the confidence of coefficients comes from errors of data, and the problem has none",
            fix="give it pde.Data(…).",
        )
    if space.size > MOST:
        raise ProblemError(f"the Hessian of {space.size} parameters is too large", fix="use a smaller network.")
    found = _Hessian(solution, space)
    covariance, free, loose = found.covariance()
    _, lost, step = found.inverse()
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    lost = np.maximum(lost, loose)
    deviations[lost > UNDETERMINED] = np.inf
    doubts = misfits(problem, params, solution.points)
    if free < 1 and not doubts:
        doubts.append("there are hardly more data than parameters that they determine, and nothing tells their errors")
    chosen = np.flatnonzero(_coefficients(space) & (lost <= UNDETERMINED))
    far = float(np.max(np.abs(step[chosen]) / deviations[chosen], initial=0.0))
    if far > NEAR:
        doubts.append(f"the search is not at its end: a coefficient is {far:.1f} standard deviations away from it")
    deviations = np.hypot(deviations, step)
    named: dict[str, Any] = space.tree(deviations)["coefficients"]
    deviating = {name: np.asarray(value)[()] for name, value in named.items()}
    return Confidence(solution.coefficients, deviating, max(free, 1.0), tuple(doubts))


class _Hessian:
    """The Hessian of Gauss and Newton of a solution.

    Attributes:
        residuals: of the problem.
        correlated: for each residual, how many of its values count as one.
        variances: of each.
    """

    def __init__(self, solution: Solution, space: Space) -> None:
        problem = solution.problem
        self.solution, self.space = solution, space
        self.model: Residuals = problem.compiled(LevenbergMarquardt())
        self.residuals = list(residuals_of(problem, solution.params, solution.points))
        self.correlated, self.variances = list[float](), list[float]()
        for one in self.residuals:
            together = alike(one, problem.domain.bounds) if one.kind == "data" else 0.0
            many = ((1 + together) / max(1 - together, 1e-3)) ** problem.domain.dimension
            self.correlated.append(min(many, float(len(one.values))))
            given = 0.0 if one.given is None else float(np.mean(one.given**2))
            self.variances.append(max(float(np.mean(one.values**2)), 1e-24 * given, 1e-300))
        self._bound()

    def _bound(self) -> None:
        """Let nothing be so much stricter than data that the inverse has no digits for these."""
        sizes = [sum(float(np.sum(rows**2)) for _, rows in self._rows(one, 1.0)) for one in self.residuals]
        of = list(zip(self.residuals, sizes, self.variances, strict=True))
        most = STRICTEST * sum(size / variance for one, size, variance in of if one.kind == "data")
        self.variances = [v if one.kind == "data" or not most else max(v, size / most) for one, size, v in of]

    def _rows(self, one: Residual, scale: Any) -> Iterator[tuple[Array, Array]]:
        """Yield the values of a residual, and the rows of the Jacobian that belong to them, times a scale."""
        row = self.solution.points[one.term]
        scales = np.zeros_like(row["scale"])
        scales[:, one.place] = scale
        return self.model.rows(self.solution.params, {one.term: {**row, "scale": scales}})

    def _square(self, one: Residual, power: int) -> Array:
        """Return JᵀJ of a residual, its rows times a power of the scale that they had in the search."""
        scale = self.solution.points[one.term]["scale"][:, one.place] ** power
        found = np.zeros((self.space.size, self.space.size))
        for _, rows in self._rows(one, scale):
            found += rows.T @ rows
        return found

    def covariance(self) -> tuple[Array, float, Array]:
        """Return what errors make of the parameters, with the weights of the search; variances become those of errors.

        H⁻¹ (Σ σ² Jᵀ W² J) H⁻¹ with H = Σ Jᵀ W J. Of data, A = J H⁻¹ Jᵀ W takes tr(2A − AAᵀ) values from the freedom.
        Where neighbours are off alike, the variance counts as that of fewer values.

        Returns:
            the covariance, how many values of data are left over, and which part of each direction is left out.
        """
        whole, left = np.zeros((self.space.size, self.space.size)), 0.0
        of_data: dict[int, Array] = {}
        for place, one in enumerate(self.residuals):
            square = self._square(one, 1)
            whole += square
            if one.kind == "data":
                of_data[place] = square
        inverse, loose = _inverse(whole)
        for place, square in of_data.items():
            count, hat = len(self.residuals[place].values), inverse @ square
            free = count - 2 * float(np.trace(hat)) + float(np.sum(hat * hat.T))
            self.variances[place] *= count / max(free, 1.0) * self.correlated[place]
            left += free
        noise = np.zeros_like(inverse)
        for one, variance in zip(self.residuals, self.variances, strict=True):
            noise += variance * self._square(one, 2)
        return inverse @ noise @ inverse, left, loose

    def inverse(self) -> tuple[Array, Array, Array]:
        """Return the inverse of Σ JᵀJ/σ², which part of each direction it leaves out, and the step to its minimum."""
        size = self.space.size
        square, slope = np.zeros((size, size)), np.zeros(size)
        for one, variance in zip(self.residuals, self.variances, strict=True):
            for values, rows in self._rows(one, 1 / float(np.sqrt(variance))):
                square += rows.T @ rows
                slope += rows.T @ np.ravel(values)
        found, lost = _inverse(square)
        return found, lost, -(found @ slope)


def _inverse(square: Array) -> tuple[Array, Array]:
    """Return the pseudo-inverse of a Hessian, and which part of each direction it leaves out."""
    scale = np.sqrt(np.maximum(np.diag(square), np.max(np.diag(square)) * 1e-30))
    curvatures, vectors = np.linalg.eigh(square / np.outer(scale, scale))
    kept = curvatures > 1e-14 * curvatures[-1]
    half = vectors[:, kept] / np.sqrt(curvatures[kept]) / scale[:, None]
    found: Array = half @ half.T
    return found, np.sum(vectors[:, ~kept] ** 2, axis=1)


def _coefficients(space: Space) -> Array:
    """Return which parameters are coefficients."""
    marked = space.tree(np.arange(space.size, dtype=np.float64))["coefficients"]
    found = np.zeros(space.size, bool)
    for places in marked.values():
        found[np.ravel(places).astype(int)] = True
    return found


def intervals(solution: Solution, level: float) -> dict[str, tuple[Any, Any]]:
    """Return for each coefficient the interval that contains it with a probability; warn where there is none."""
    found = confidence(solution)
    if found.doubts:
        warn(
            f"there are no intervals of confidence: {'; '.join(found.doubts)}. Make more steps, mend the model, "
            "state the noise of data, Data(noise=…), or help the search: first solve(weights={'data': 100}), say, then "
            "from there without, solve(params=solution.params)."
        )
    return found.intervals(level)
