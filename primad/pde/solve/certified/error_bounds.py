"""A proven bound of the error of a solution, where a comparison principle tells one from its residual."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.enclosures import IntervalArray, Range, enclose, range_of
from primad.errors import EnclosureError, ProblemError
from primad.pde.geometry.sampling import Array, as_rows
from primad.pde.report.picture_grids import grid
from primad.pde.report.plots import draw_size
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
        seconds: how long it took.
    """

    solution: Solution
    most: float
    residual: float
    mismatch: float
    growth: float
    bound: Above
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
        )


def certified_error(solution: Solution, factor: float, order: int, most: int, slabs: int) -> CertifiedError:
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
    search = _Search(equation, factor, order, most)
    found = search.without_time() if equation.time is None else search.in_time(slabs)
    return CertifiedError(solution, *found, time.monotonic() - begun)


class _Search:
    """Bounds of what the equation of an error has in it, and what follows from them."""

    def __init__(self, equation: ErrorEquation, factor: float, order: int, most: int) -> None:
        self.equation, self.factor, self.order, self.most = equation, factor, order, most
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
        residual = self._residual(self.box)
        barriers, reached = list[tuple[int, float, float, float]](), math.inf
        for i in range(count):
            half = 0.5 * float(self.box.width[i])
            if diffusion[i] > 0:
                scale = diffusion[i] / half
                drift = self._size(self._range(lambda at, i=i: equation.drift(at)[i], self.box, CLOSE * scale))
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

        The growth of an error depends on its size, in a nonlinear equation. A size is a hypothesis: if what follows
        from it is less, the error, which is continuous in time, never reaches it.

        Raises:
            EnclosureError: if no hypothesis holds.
        """
        equation = self.equation
        assert equation.time is not None
        begin, end = map(float, self.ends[equation.time])
        times = np.linspace(begin, end, slabs + 1)
        boxes = [self._slab(*pair) for pair in pairwise(times)]
        sources = [self._by_rate(self._residual(box)) for box in boxes]
        reached = sum(source * step for source, step in zip(sources, np.diff(times), strict=True))
        mismatch, error = self._mismatch(SMALL * reached), 0.0
        for _ in range(ROUNDS):
            levels, rates = [mismatch], list[float]()
            for box, source, pair in zip(boxes, sources, pairwise(times), strict=True):
                rates.append(self._rate(box, error, CLOSE / (end - begin)))
                levels.append(grown(levels[-1], source, rates[-1], *pair))
            if not np.isfinite(levels[-1]):
                break
            if levels[-1] < error or not equation.varies:
                return levels[-1], max(sources), mismatch, max(rates), Growth(equation.time, times, np.array(levels))
            error = 2.0 * levels[-1] + float(np.finfo(float).tiny)
        raise EnclosureError(
            "certify_error: no bound of the error is proven to hold up to the last time",
            why=f"An error of {error:.3g} may grow at the rate {max(rates):.3g}, to {levels[-1]:.3g}.",
            fix="make the residual smaller, the time shorter, or pass more slabs.",
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
        equation, sizes = self.equation, range(len(self.equation.space))
        found = []
        for i in sizes:

            def dominant(at: Any, off: Any, i: int = i) -> Any:
                row = equation.second(at, off)[i]
                return sign * row[i] - sum([pnp.abs(row[j]) for j in sizes if j != i], 0.0)

            middle = abs(float(np.asarray(dominant(box.middle, 0.0))))
            width = CLOSE * middle + float(np.finfo(float).tiny)
            found.append(float(self._range(dominant, box, width, IntervalArray(-error, error)).bounds.low))
        if min(found) < 0 and equation.time is None:
            return [-math.inf for _ in found]
        return found

    def _growth(self, box: IntervalArray, sign: float, width: float, error: float = 0.0) -> float:
        """Return the largest factor with which an error of a size at most feeds itself; 0 where it never does."""

        def reaction(at: Any, off: Any) -> Any:
            return sign * self.equation.reaction(at, off)

        found = self._range(reaction, box, width, IntervalArray(-error, error))
        return max(0.0, float(found.bounds.high))

    def _residual(self, box: IntervalArray) -> float:
        """Return the largest size of the residual in a box."""
        equation, term = self.equation, self.equation.term
        points = np.random.default_rng(0).uniform(box.low, box.high, (SAMPLES, box.low.size))
        sampled = np.asarray(equation.problem.evaluated(equation.params, {term.name: {"at": points}})[term.name])
        width = max(self.factor * float(np.max(np.abs(sampled))), float(np.finfo(float).tiny))
        return self._size(self._range(equation.residual, box, width))

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
                found = max(found, self._size(self._range(off, face, max(width, float(np.finfo(float).tiny)))))
        return found

    def _range(self, function: Callable[..., Any], box: IntervalArray, width: float, *others: IntervalArray) -> Range:
        return range_of(function, box, *others, width=width, order=self.order, most=self.most)

    @staticmethod
    def _size(found: Range) -> float:
        return max(abs(float(found.bounds.low)), abs(float(found.bounds.high)))
