"""A proven bound of ∫|u − û| dx for scalar conservation laws on periodic boxes, shocks included.

Of the entropy solution u of ∂u/∂t + ∇·F(u) = f and of a function û that is continuously differentiable in the box, with
r = ∂û/∂t + ∇·F(û) − f, Kruzhkov's inequality with û in the place of a constant gives

    d/dt ∫|u − û| dx ≤ ∫|r| dx + Σ ∫|F′(û)| |û₊ − û₋| ds

(Kruzhkov 1970, theorem 1 and its proof; LeVeque 1992, section 3.8, for the contraction). The last sum is over the ends
at which û should repeat: there û is a limit of functions that go from one value to the other in a thin layer, with a
residual that is so much. The largest error of an entropy solution has no such bound: a shock may stand elsewhere.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.enclosures import IntervalArray, enclose, range_of
from primad.enclosures.bounds import up
from primad.enclosures.boxes import BatchedFunction, Boxes, joined
from primad.errors import EnclosureError, ProblemError
from primad.pde.geometry.sampling import Array
from primad.pde.solve.certified.error_equation import ErrorEquation
from primad.pde.solve.certified.weights import upper

TINY = 1e-9
"""How close the bound of what û fails to repeat by is, in units of u. Chosen: less than networks fail by in practice is
of no use, and the search ends early."""

if TYPE_CHECKING:
    from primad.pde.solve.solution import Solution


@dataclass(frozen=True)
class CertifiedIntegral:
    """A proven bound of ∫|u − û| dx at each time, of the entropy solution u and the one that was found, û.

    Attributes:
        solution: û.
        most: ∫|u − û| dx is at most so large at every time.
        start: it is at most so large at the start.
        residual: the integral of the residual's size over space and time, divided by the factor of ∂u/∂t, is at most so
            large.
        ends: what û fails to repeat by at the ends adds at most so much.
        times: the ends of slabs of time.
        levels: the bound up to each of them.
        boxes: how many were looked at.
        seconds: how long it took.
    """

    solution: Solution
    most: float
    start: float
    residual: float
    ends: float
    times: Array
    levels: Array
    boxes: int
    seconds: float

    def at(self, times: Any) -> Array:
        """Return what ∫|u − û| dx is at most, at times."""
        slab = np.searchsorted(self.times, np.asarray(times, float), side="left")
        found: Array = self.levels[np.clip(slab, 0, len(self.levels) - 1)]
        return found

    def __str__(self) -> str:
        (name,) = self.solution.unknowns
        return (
            f"integral of |{name} − exact| <= {self.most:.3g} at every time (start <= {self.start:.3g}, residual <= "
            f"{self.residual:.3g}, ends <= {self.ends:.3g})"
        )


def certified_integral(solution: Solution, factor: float, order: int, most: int, slabs: int) -> CertifiedIntegral:
    """Return a bound of the integral of the error's size; see `Solution.certify_integral`.

    Raises:
        ProblemError: if the problem is no scalar conservation law on a periodic box.
        EnclosureError: if a residual is not proven to be finite everywhere.
    """
    if slabs < 1:
        raise ProblemError(f"certify_integral: time is divided into {slabs!r} slabs", fix="take one at least.")
    begun = time.monotonic()
    equation = ErrorEquation(solution.problem, solution.params, repeats=True)
    assert equation.time is not None
    ends = np.asarray(solution.problem.domain.bounds, float)
    first, last = map(float, ends[equation.time])
    times = np.linspace(first, last, slabs + 1)
    (face,) = equation.faces
    low, high = ends.T.copy()
    high[equation.time] = low[equation.time]
    share, rate = most // (2 * slabs + 2), equation.rate
    start, boxes = integral(equation.mismatch(face), low, high, (factor, order, share), (equation.time,))
    levels, residual, jumps = [start], 0.0, 0.0
    for begin, end in pairwise(times):
        low, high = ends.T.copy()
        low[equation.time], high[equation.time] = begin, end
        inside, count = integral(equation.residual, low, high, (factor, order, share))
        inside, boxes = upper(lambda size, rate: size / abs(rate), inside, rate), boxes + count
        across = 0.0
        for column in equation.space:
            left, right = low.copy(), high.copy()
            left[column] = right[column] = ends[column][0]
            size, count = _at_ends(equation, column, ends[column], (left, right), (factor, order, share))
            across, boxes = upper(lambda a, b, rate: a + b / abs(rate), across, size, rate), boxes + count
        levels.append(upper(lambda a, b, c: a + b + c, levels[-1], inside, across))
        residual, jumps = upper(lambda a, b: a + b, residual, inside), upper(lambda a, b: a + b, jumps, across)
    seconds = time.monotonic() - begun
    return CertifiedIntegral(solution, levels[-1], start, residual, jumps, times, np.array(levels), boxes, seconds)


def _at_ends(
    equation: ErrorEquation, column: int, ends: Array, box: tuple[Array, Array], how: tuple[float, int, int]
) -> tuple[float, int]:
    """Return an upper bound of the integral of |F′(û)| |û₊ − û₋| over a time and the other coordinates."""
    factor, order, most = how
    most = max(1, most // (3 * len(equation.space)))
    jump, place = equation.jump(column, *ends.tolist()), IntervalArray(*box)
    size, count = integral(jump, *box, (factor, order, most), (column,))
    widest = range_of(jump, place, width=TINY, order=order, most=most)
    far = max(abs(float(widest.bounds.low)), abs(float(widest.bounds.high)))
    off = IntervalArray(-far, far)
    speed = range_of(lambda at, off: equation.drift(at, off)[column], place, off, width=0.1, order=order, most=most)
    fastest = max(abs(float(speed.bounds.low)), abs(float(speed.bounds.high)))
    return upper(lambda size, fastest: size * fastest, size, fastest), count + widest.boxes + speed.boxes


def integral(
    function: Callable[[Any], Any], low: Array, high: Array, how: tuple[float, int, int], fixed: tuple[int, ...] = ()
) -> tuple[float, int]:
    """Return an upper bound of the integral of a function's size over a box, and how many boxes were looked at.

    It is that of steps that are above: boxes in which bounds are far apart are halved.

    Args:
        function: of a point.
        low: where the box begins.
        high: where it ends.
        how: by which part the bounds may be apart, the order of Taylor models, and how many boxes are looked at.
        fixed: coordinates along which nothing is integrated, in which the box has no width.

    Raises:
        EnclosureError: if the function is not proven to be finite everywhere.
    """
    factor, order, most = how
    along = [i for i in range(len(low)) if i not in fixed]
    scale = np.where(high > low, high - low, 1.0)
    if not along:
        found = enclose(function, IntervalArray(low, high))
        return float(max(abs(found.low), abs(found.high))), 1
    batched = BatchedFunction(function, (IntervalArray(low, high),))
    boxes, size, apart = _looked_at(batched, batched.whole, order, along)
    count = 1
    while np.sum(apart) > factor * np.sum(size) and count + 2 <= most:
        many = min(max(1, len(size) // 2), (most - count) // 2)
        which = np.zeros(len(size), bool)
        which[np.argsort(-apart)[:many]] = True
        parts, more, wide = _looked_at(batched, boxes.chosen(which).halved(scale), order, along)
        count += 2 * many
        boxes = joined([boxes.chosen(~which), parts])
        size, apart = np.concatenate([size[~which], more]), np.concatenate([apart[~which], wide])
    total = float(up(math.fsum(size)))
    if not np.isfinite(total):
        raise EnclosureError(
            "certify_integral: what is integrated is not proven to be finite everywhere", fix="pass a larger most=."
        )
    return total, count


def _looked_at(function: BatchedFunction, boxes: Boxes, order: int, along: list[int]) -> tuple[Boxes, Array, Array]:
    """Return boxes, upper bounds of the integrals over each, and about by how much they may be too large."""
    (found,) = function.bounds(boxes, order)
    volume = np.ones(len(boxes.low))
    for i in along:
        volume = up(volume * up(boxes.high[:, i] - boxes.low[:, i]))
    size = np.maximum(np.abs(found.low), np.abs(found.high))
    size = np.where(np.isnan(size), np.inf, size)
    apart = np.where(np.isfinite(size), found.high - found.low, np.inf) * volume
    return boxes, up(size * volume), apart
