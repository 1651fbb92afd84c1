"""Weights of an error's size, by which its bound depends on the place, and which make it grow more slowly.

With φ = exp ψ, L e = A∇∇e + b·∇e + c e and ∂e/∂t = L e + ρ, the weighted error e/φ grows at the rate L φ/φ at most,

    A : (∇∇ψ + ∇ψ ∇ψᵀ) + b·∇ψ + c,

and its source is ρ/φ (Protter and Weinberger 1984, section 3.3). Where α u + β ∂u/∂n is given, β ≥ 0, and is off by m,
|e|/φ is at most m / (φ (α + β ∂ψ/∂n)) there, if what it is divided by is positive: at a positive maximum of e/φ at the
boundary its derivative along the normal is not negative. The rate is convex in ψ, so a good ψ is found by minimising;
what is proven holds for every ψ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.enclosures import IntervalArray, enclose
from primad.pde.geometry.sampling import Array

DEGREE = 6
"""Degree of ψ in each coordinate. Chosen: for Burgers' equation at a viscosity of a tenth it takes what a front of that
width makes errors grow by; more make no difference there."""

PIECES = 256
"""Pieces of an interval in which a polynomial is bounded. Chosen: the bound is too large by a hundredth or so."""
SLOW = 1e-3
"""Growth for which (eˣ − 1)/x is bounded by e^|x|, without a division of nearly equal numbers by a small one."""


@dataclass(frozen=True)
class Weight:
    """ψ = Σ p_i(x_i): a polynomial of each coordinate of space, which is moved to [−1, 1].

    Attributes:
        columns: the places of the coordinates.
        middle: of their intervals.
        half: half the widths of these.
        factors: of the powers 1, 2, …, a row for each coordinate.
    """

    columns: tuple[int, ...]
    middle: Array
    half: Array
    factors: Array

    @classmethod
    def none(cls, columns: Sequence[int], ends: Array) -> Weight:
        """Return ψ = 0.

        Args:
            columns: the places of the coordinates of space.
            ends: of the intervals of all coordinates, a row for each.
        """
        low, high = ends[list(columns)].T
        return cls(tuple(columns), 0.5 * (low + high), 0.5 * (high - low), np.zeros((len(columns), DEGREE)))

    @property
    def is_none(self) -> bool:
        """Whether ψ = 0."""
        return not np.any(self.factors)

    def value(self, at: Any) -> Any:
        """Return ψ at a point, or at points, whose coordinates are the last axis."""
        return sum([self._polynomial(i, at, 0) for i in range(len(self.columns))], 0.0)

    def slopes(self, at: Any) -> list[Any]:
        """Return ∂ψ/∂x_i for each coordinate of space."""
        return [self._polynomial(i, at, 1) for i in range(len(self.columns))]

    def curves(self, at: Any) -> list[Any]:
        """Return ∂²ψ/∂x_i² for each coordinate of space; mixed ones are zero."""
        return [self._polynomial(i, at, 2) for i in range(len(self.columns))]

    def _polynomial(self, i: int, at: Any, order: int) -> Any:
        s = (at[..., self.columns[i]] - self.middle[i]) / self.half[i]
        total: Any = 0.0 * s
        for power in range(DEGREE, order - 1, -1):
            falling = float(np.prod([power - k for k in range(order)]))
            total = total * s + (falling * self.factors[i][power - 1] if power else 0.0)
        return total / self.half[i] ** order

    def rate(self, second: Sequence[Sequence[Any]], drift: Sequence[Any], reaction: Any, at: Any) -> Any:
        """Return A : (∇∇ψ + ∇ψ ∇ψᵀ) + b·∇ψ + c.

        Args:
            second: A, of the coordinates of space.
            drift: b, of the coordinates of space.
            reaction: c.
            at: where.
        """
        slopes, curves, total = self.slopes(at), self.curves(at), reaction
        for i, row in enumerate(second):
            total = total + row[i] * curves[i] + drift[i] * slopes[i]
            for j, entry in enumerate(row):
                total = total + entry * (slopes[i] * slopes[j])
        return total

    def most(self, box: IntervalArray) -> float:
        """Return an upper bound of exp ψ on a box: each polynomial is bounded in pieces of its interval."""
        if self.is_none:
            return 1.0
        highest = []
        for i, column in enumerate(self.columns):
            edges = np.linspace(float(box.low[column]), float(box.high[column]), PIECES + 1)
            low, high = [np.tile(end, (PIECES, 1)) for end in (box.low, box.high)]
            low[:, column], high[:, column] = edges[:-1], edges[1:]
            found = enclose(lambda at, i=i: self._polynomial(i, at, 0), IntervalArray(low, high))
            highest.append(float(np.max(found.high)))
        return upper(lambda *parts: pnp.exp(sum(parts)), *highest)

    def at(self, points: Array) -> Array:
        """Return upper bounds of exp ψ at points, one a row."""
        found: Array = enclose(lambda at: pnp.exp(self.value(at)), IntervalArray(points, points)).high
        return found


@dataclass(frozen=True)
class Weighted:
    """A bound exp ψ times a level, which in time is that of the slab that a time lies in.

    Attributes:
        column: the place of time among the coordinates; None without time.
        times: the ends of slabs.
        levels: the bound of |e|/exp ψ at each of them; in between it is at most the larger one.
        weight: ψ.
    """

    column: int | None
    times: Array
    levels: Array
    weight: Weight

    def at(self, points: Array) -> Array:
        """Return the bound at points, one a row."""
        scale = 1.0 if self.weight.is_none else self.weight.at(points)
        if self.column is None:
            found: Array = np.nextafter(self.levels[0] * scale, np.inf) * np.ones(len(points))
            return found
        highest = np.maximum(self.levels[1:], self.levels[:-1])
        slab = np.searchsorted(self.times, points[:, self.column], side="left") - 1
        level = highest[np.clip(slab, 0, len(highest) - 1)]
        return level if self.weight.is_none else np.nextafter(level * scale, np.inf)


def grown(level: float, source: float, rate: float, begin: float, end: float) -> float:
    """Return what a level z grows or falls to with z′ = rate z + source, rounded upwards.

    It is z e^(rate Δ) + source (e^(rate Δ) − 1)/rate, and with less than `SLOW` of growth source Δ e^|rate Δ| for the
    second part, which is more.

    Args:
        level: at the begin of a slab.
        source: the largest one in it, not negative.
        rate: the largest growth in it.
        begin: the time at which the slab begins.
        end: that at which it ends.
    """

    def steep(level: Any, source: Any, rate: Any, begin: Any, end: Any) -> Any:
        passed = rate * (end - begin)
        return level * pnp.exp(passed) + source * (pnp.expm1(passed) / rate)

    def flat(level: Any, source: Any, rate: Any, begin: Any, end: Any) -> Any:
        passed = rate * (end - begin)
        return level * pnp.exp(passed) + source * (end - begin) * pnp.exp(pnp.abs(passed))

    return upper(flat if abs(rate * (end - begin)) < SLOW else steep, level, source, rate, begin, end)


def upper(function: Any, *numbers: float) -> float:
    """Return a function of numbers in exact arithmetic, rounded upwards."""
    return float(enclose(function, *[IntervalArray(x, x) for x in numbers]).high)
