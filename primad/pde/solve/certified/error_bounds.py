"""A proven bound of the error of a solution, where a comparison principle tells one from its residual."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import EnclosureError, ProblemError
from primad.pde.geometry.sampling import Array, as_rows
from primad.pde.report.picture_grids import grid
from primad.pde.report.plots import draw_size
from primad.pde.solve.certified.bound_search import BoundSearch, Found
from primad.pde.solve.certified.box_budget import BoxBudget, box_budget
from primad.pde.solve.certified.comparison_bounds import Above
from primad.pde.solve.certified.corrections import Corrected, corrected
from primad.pde.solve.certified.error_equation import ErrorEquation
from primad.pde.solve.certified.seams import Addition, Seam, Together

if TYPE_CHECKING:
    from primad.pde.solve.solution import Solution

SLABS = 8
"""Pieces of time in which residuals and growth are bounded one by one, if not said otherwise. Chosen: more make bounds
of what changes in time closer, at the price of a search each."""
MOST = 500_000
"""Boxes that all searches look at together, if not said otherwise. Measured: 0.1 to 0.3 ms each, for networks of 20 to
120 parameters, in all up to two minutes."""


@dataclass(frozen=True)
class CertifiedError:
    """A proven bound of |u − û|, of the true solution u and the one that was found, û.

    What is meant is the network with its weights as they are in float64, in exact arithmetic, and a true solution that
    is continuous up to the boundary and has the derivatives of the equation inside. Where coefficients were learned, it
    is the solution of the equation with those that were found, which says nothing of how true these are.

    Attributes:
        solution: û.
        most: |u − û| is at most so large everywhere.
        residual: the largest proven size of the residual, divided by the factor of ∂u/∂t where there is time.
            With a correction all that is said here is of û with it, but for `most` and `bound`.
        mismatch: by how much û is off at most from what is given at the boundary and at the start.
        growth: the largest proven rate at which an error, with its weight, grows in time, or feeds itself in space;
            negative where it decays.
        bound: what is proven at each point.
        finished: whether every search came as close as was asked; if not, boxes ran out, and the bound is true all the
            same.
        boxes: how many were looked at.
        seconds: how long it took.
    """

    solution: Solution
    most: float
    residual: float
    mismatch: float
    growth: float
    bound: Above
    finished: bool
    boxes: int
    seconds: float

    def at(self, points: Any) -> Array:
        """Return what |u − û| is at most, at points of the domain.

        Args:
            points: one a row.

        Raises:
            ShapeError: if points have other columns.
            ProblemError: if a point is outside of the domain.
        """
        points = as_rows(points, self.solution.coordinates)
        if not np.all(self.solution.problem.domain.contains(points)):
            raise ProblemError(
                "the bound of the error is asked outside of the domain",
                why="Outside of it no equation holds, and nothing is proven.",
                fix="ask at points of the domain.",
            )
        found: Array = np.minimum(self.bound.at(points), self.most)  # both are proven, and rounded upwards
        return found

    def plot(self, *, axes: Any = None, along: Sequence[str] | None = None, log: bool = False, **fixed: float) -> Any:
        """Draw the bound: a line in one dimension, a map in two.

        Args:
            axes: matplotlib's axes to draw on; by default those of a new figure.
            along: names of one or two coordinates; by default two, if there are.
            log: whether colours, or the axis, are logarithmic.
            **fixed: values of other coordinates; those that are missing are in the middle.

        Returns:
            the axes.
        """
        where = grid(self.solution, along, fixed)
        points = np.stack([column.ravel() for column in where.columns.values()], axis=1)
        values = where.masked(self.bound.at(points).reshape(where.inside.shape))
        return draw_size(axes, where, values, f"proven bound of |{self.solution.unknowns[0]} − exact|", log)

    def __str__(self) -> str:
        (name,) = self.solution.unknowns
        found = ", ".join(f"{key} = {value:.6g}" for key, value in self.solution.coefficients.items())
        return (f"with {found} as found: " if found else "") + (
            f"|{name} − exact| <= {self.most:.3g} everywhere (|residual| <= {self.residual:.3g}, growth <= "
            f"{self.growth:.3g}, values at the boundary are off by <= {self.mismatch:.3g})"
            f"{'' if self.finished else f'; the search ended after {self.boxes} boxes, with more the bound is closer'}"
        )


def certified_error(
    solution: Solution, factor: float, order: int, most: int, slabs: int, progress: bool, waves: int
) -> CertifiedError:
    """Return a bound of the error of a solution; see `Solution.certify_error`.

    Raises:
        ProblemError: if the problem is another one, there is no slab, or a negative number of waves.
        EnclosureError: if errors may grow too fast for a bound.
    """
    if slabs < 1:
        raise ProblemError(
            f"certify_error: time is divided into {slabs!r} slabs", fix=f"take one at least; {SLABS} are common."
        )
    if waves < 0:
        raise ProblemError(f"certify_error: a correction has {waves!r} waves", fix="take 0 for none, or 12 to 24.")
    begun = time.monotonic()
    wave = corrected(ErrorEquation(solution.problem, solution.params), waves) if waves else None
    found, failed = list[Found](), list[EnclosureError]()
    with box_budget(most, order, progress) as budget:
        # Of two proven bounds the smaller one is taken. Terms cancel more where there is a correction, so it is no use
        # where boxes run out without it; but an error may be small enough for a bound with it alone.
        for correction in [None] if wave is None else [None, wave]:
            try:
                found.append(proven(solution, correction, factor, budget, slabs))
            except EnclosureError as error:
                failed.append(error)
            if not budget.finished:
                break
    if not found:
        raise failed[-1]
    best = min(found, key=lambda proven: proven[0])
    return CertifiedError(solution, *best, budget.finished, budget.boxes, time.monotonic() - begun)


def proven(solution: Solution, correction: Addition | None, factor: float, budget: BoxBudget, slabs: int) -> Found:
    """Return the largest error that is proven, and what it is made of, by way of û + w.

    Args:
        solution: û.
        correction: w; None for 0.
        factor: how far the residual's bound may be above values that are taken.
        budget: of boxes.
        slabs: pieces of time.
    """
    problem, params = solution.problem, solution.params
    equation = ErrorEquation(problem, params, correction=correction)
    for column in equation.repeated:
        before = ErrorEquation(problem, params, correction=correction)
        seam = Seam(before.derivative, column, *map(float, problem.domain.bounds[column]))
        correction = seam if correction is None else Together((correction, seam))
    if correction is not None:
        equation = ErrorEquation(problem, params, correction=correction)
    search = BoundSearch(equation, factor, budget)
    above, residual, off, growth, bound = search.without_time() if equation.time is None else search.in_time(slabs)
    if correction is not None:
        above, bound = search.with_correction(above, correction), Corrected(bound, correction)
    return above, residual, off, growth, bound
