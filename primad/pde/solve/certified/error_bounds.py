"""A proven bound of the error of a solution, where a comparison principle tells one from its residual."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.enclosures import IntervalArray, Range, enclose
from primad.errors import EnclosureError, ProblemError
from primad.pde.geometry.sampling import Array, as_rows
from primad.pde.report.picture_grids import grid
from primad.pde.report.plots import draw_size
from primad.pde.solve.certified.box_budget import BoxBudget, box_budget
from primad.pde.solve.certified.comparison_bounds import Above, Barrier, Growth, Least, grown
from primad.pde.solve.certified.error_equation import ErrorEquation, refuse

if TYPE_CHECKING:
    from primad.pde.solve.solution import Solution

SLABS = 8
"""Pieces of time in which residuals and growth are bounded one by one, if not said otherwise. Chosen: more make bounds
of what changes in time closer, at the price of a search each."""
SAMPLES = 2048
"""Points of a slab at which a residual is looked at first, to know how close its bound is worth to be."""
CLOSE = 0.05
"""How close the bounds of factors are, relative to what they are divided into or multiplied with. Chosen: they
contribute a few per cent to the bound."""
SMALL = 0.01
"""How close the bound of what is off at the boundary is, as a part of what the residual contributes."""
RESONANCE = 0.99
"""How close to resonance, −a v″ = g v, a bound is computed. Chosen: at this part it is a hundred times the residual's,
and of no use beyond; and roundings do not reach over the rest."""
ROUNDS = 8
"""Sizes of an error that are tried as a hypothesis, each twice what the last one led to."""
RESIDUALS = 0.75
"""The part of the boxes that searches for residuals may use together. Chosen: they are what takes time; all others are
done with a few hundred boxes in most problems."""
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
        mismatch: by how much û is off at most from the values at the boundary and at the start.
        growth: the largest proven rate at which an error grows in time, or feeds itself in space.
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
        return self.bound.at(points)

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
    solution: Solution, factor: float, order: int, most: int, slabs: int, progress: bool
) -> CertifiedError:
    """Return a bound of the error of a solution; see `Solution.certify_error`.

    Raises:
        ProblemError: if the problem is another one, or there is no slab.
        EnclosureError: if errors may grow too fast for a bound.
    """
    if slabs < 1:
        raise ProblemError(
            f"certify_error: time is divided into {slabs!r} slabs", fix=f"take one at least; {SLABS} are common."
        )
    begun = time.monotonic()
    equation = ErrorEquation(solution.problem, solution.params)
    with box_budget(most, order, progress) as budget:
        search = _Search(equation, factor, budget)
        found = search.without_time() if equation.time is None else search.in_time(slabs)
    return CertifiedError(solution, *found, budget.finished, budget.boxes, time.monotonic() - begun)


class _Search:
    """Bounds of what the equation of an error has in it, and what follows from them."""

    def __init__(self, equation: ErrorEquation, factor: float, budget: BoxBudget) -> None:
        self.equation, self.factor, self.budget = equation, factor, budget
        self.ends = np.asarray(equation.problem.domain.bounds, float)
        self.box = IntervalArray(*self.ends.T)

    # -- space alone ---------------------------------------------------------------------------------------------------

    def without_time(self) -> tuple[float, float, float, float, Above]:
        """Return the bound, what it is made of, and where it holds.

        Raises:
            ProblemError: if the equation is not elliptic, or its error may feed itself.
        """
        equation, count = self.equation, len(self.ends)
        sign = float(np.sign(np.asarray(equation.second(self.box.middle)[0][0])))
        diffusion = self._diffusion(self.box, sign, 0.0)
        residual = self._residual("residual", self.box, RESIDUALS)
        barriers, reached = list[tuple[int, float, float, float]](), math.inf
        for i in range(count):
            half = 0.5 * float(self.box.width[i])
            if diffusion[i] > 0:
                scale = diffusion[i] / half
                along = partial(lambda i, at: equation.drift(at)[i], i)
                drift = self._size(self.budget.range("drift", along, self.box, width=CLOSE * scale))
                growth = self._growth(self.box, sign, CLOSE * scale / half)
                if not (growth and drift) and growth * half**2 < RESONANCE * diffusion[i] * (0.5 * math.pi) ** 2:
                    barriers.append((i, diffusion[i], drift, growth))
                    reached = min(reached, residual * half**2 / (2.0 * diffusion[i]))
        if not barriers:
            refuse(
                "an equation that is not proven to be elliptic, or whose error may feed itself",
                "−A∇∇u + b·∇u + c u = f with A positive and c ≥ 0, or b = 0 and c above −a π²/d², of diffusion a and "
                "width d",
            )
        mismatch = self._mismatch(SMALL * reached)
        ends = self.ends.tolist()
        bounds = [Barrier(i, ends[i][0], ends[i][1], a, b, g, residual, mismatch) for i, a, b, g in barriers]
        middle = self.ends.mean(axis=1)[None]
        most = min(float(one.at(middle)[0]) for one in bounds)
        return most, residual, mismatch, max(one.growth for one in bounds), Least(bounds)

    # -- time ----------------------------------------------------------------------------------------------------------

    def in_time(self, slabs: int) -> tuple[float, float, float, float, Above]:
        """Return the bound, what it is made of, and where it holds.

        The growth of an error depends on its size, in a nonlinear equation. A size is a hypothesis, in each slab: if
        what follows from it is less, the error, which is continuous in time, never reaches it.

        Raises:
            EnclosureError: if no hypothesis holds.
        """
        equation = self.equation
        assert equation.time is not None
        begin, end = map(float, self.ends[equation.time])
        times = np.linspace(begin, end, slabs + 1)
        boxes = [self._slab(*pair) for pair in pairwise(times)]
        many = RESIDUALS * self.budget.most
        sources = []
        for i, box in enumerate(boxes):
            share = (many - self.budget.boxes) / ((slabs - i) * max(1, self.budget.left))
            sources.append(self._by_rate(self._residual(f"residual, time {i + 1} of {slabs}", box, share)))
        reached = sum(source * step for source, step in zip(sources, np.diff(times), strict=True))
        mismatch = self._mismatch(SMALL * reached)
        levels, rates = [mismatch], list[float]()
        for i, box in enumerate(boxes):
            level, rate = self._through(box, sources[i], levels[-1], (times[i], times[i + 1]), CLOSE / (end - begin))
            levels.append(level)
            rates.append(rate)
        return levels[-1], max(sources), mismatch, max(rates), Growth(equation.time, times, np.array(levels))

    def _through(
        self, box: IntervalArray, source: float, level: float, time: tuple[float, float], width: float
    ) -> tuple[float, float]:
        """Return the bound at the end of a slab, and the largest growth in it.

        Args:
            box: the slab.
            source: the largest residual in it.
            level: the bound where it begins.
            time: its ends.
            width: how close the growth's bound is to be.

        Raises:
            EnclosureError: if no hypothesis holds.
        """
        error, varies = 0.0, self.equation.varies
        if varies:
            error = 2.0 * grown(level, source, 0.0, *time) + float(np.finfo(float).tiny)
        for _ in range(ROUNDS):
            tried, rate = error, self._rate(box, error, width)
            found = grown(level, source, rate, *time)
            if np.isfinite(found) and (found < tried or not varies):
                return found, rate
            if not np.isfinite(found):
                break
            error = 2.0 * found
        fix = "make the residual smaller, the time shorter, or pass more slabs."
        if not self.budget.finished:
            fix += f" Searches ended after {self.budget.boxes} boxes: pass a larger most= as well."
        raise EnclosureError(
            "certify_error: no bound of the error is proven to hold up to the last time",
            why=f"An error of {tried:.3g} may grow at the rate {rate:.3g}, to {found:.3g}, at {time[1]:.3g}.",
            fix=fix,
        )

    def _slab(self, begin: float, end: float) -> IntervalArray:
        low, high = self.box.low.copy(), self.box.high.copy()
        low[self.equation.time], high[self.equation.time] = begin, end
        return IntervalArray(low, high)

    def _rate(self, box: IntervalArray, error: float, width: float) -> float:
        """Return the largest rate of growth in a slab, not negative, of an error of a size at most."""
        sign = -float(np.sign(self.equation.rate))
        diffusion = self._diffusion(box, sign, error)
        if min(diffusion) < 0:
            refuse("second derivatives that are not proven to smooth in time", "∂u/∂t = A∇∇u + … with A ≥ 0")
        return self._by_rate(self._growth(box, sign, width * abs(self.equation.rate), error))

    def _by_rate(self, size: float) -> float:
        """Return a size divided by that of the factor of ∂u/∂t, rounded upwards."""
        equation = self.equation

        def divided(at: Any, size: Any) -> Any:
            assert equation.time is not None
            return size / pnp.abs(equation.drift(at)[equation.time])

        return float(enclose(divided, self.box, size).high)

    # -- factors -------------------------------------------------------------------------------------------------------

    def _diffusion(self, box: IntervalArray, sign: float, error: float) -> list[float]:
        """Return for each coordinate of space how much its factor is above the sizes of the mixed ones, at least.

        A symmetric matrix for which these are not negative has no negative eigenvalue.
        """
        equation, sizes, search = self.equation, range(len(self.equation.space)), self.budget.range
        off = IntervalArray(-error, error)
        found = []
        for i in sizes:

            def dominant(at: Any, off: Any, i: int = i) -> Any:
                row = equation.second(at, off)[i]
                return sign * row[i] - sum([pnp.abs(row[j]) for j in sizes if j != i], 0.0)

            middle = abs(float(np.asarray(dominant(box.middle, 0.0))))
            width = CLOSE * middle + float(np.finfo(float).tiny)
            found.append(float(search("diffusion", dominant, box, off, width=width).bounds.low))
        if min(found) < 0 and equation.time is None:
            return [-math.inf for _ in found]
        return found

    def _growth(self, box: IntervalArray, sign: float, width: float, error: float = 0.0) -> float:
        """Return the largest factor with which an error of a size at most feeds itself; 0 where it never does."""

        def reaction(at: Any, off: Any) -> Any:
            return sign * self.equation.reaction(at, off)

        found = self.budget.range("growth", reaction, box, IntervalArray(-error, error), width=width)
        return max(0.0, float(found.bounds.high))

    def _residual(self, what: str, box: IntervalArray, share: float) -> float:
        """Return the largest size of the residual in a box, from a part of the boxes that are left."""
        equation, term = self.equation, self.equation.term
        points = np.random.default_rng(0).uniform(box.low, box.high, (SAMPLES, box.low.size))
        sampled = np.asarray(equation.problem.evaluated(equation.params, {term.name: {"at": points}})[term.name])
        width = max(self.factor * float(np.max(np.abs(sampled))), float(np.finfo(float).tiny))
        return self._size(self.budget.range(what, equation.residual, box, width=width, share=share))

    def _mismatch(self, width: float) -> float:
        """Return by how much the values at the boundary and at the start are off, at most."""
        found, names = 0.0, self.equation.problem.domain.names
        for part in self.equation.problem.domain.parts:
            column = self.equation.time if part == "initial" else names.index(part[:-1])
            assert column is not None
            low, high = self.box.low.copy(), self.box.high.copy()
            low[column] = high[column] = self.ends[column][1 if part.endswith("+") else 0]
            face, off = IntervalArray(low, high), self.equation.mismatch(part)
            if np.all(low == high):
                found = max(found, float(np.max(np.abs([enclose(off, face).low, enclose(off, face).high]))))
            else:
                close = max(width, float(np.finfo(float).tiny))
                found = max(found, self._size(self.budget.range(f"values on {part}", off, face, width=close)))
        return found

    @staticmethod
    def _size(found: Range) -> float:
        return max(abs(float(found.bounds.low)), abs(float(found.bounds.high)))
