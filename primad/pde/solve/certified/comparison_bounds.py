"""Functions that the size of an error stays below, by comparison, with every rounding upwards.

A function v ≥ |e| on the boundary and at the start, for which the operator of the error's equation is at least the
largest residual ρ, is above |e| everywhere (Protter and Weinberger 1984, chapters 2 and 3). Here it depends on one
coordinate of space, and of several the least counts; `weights` has those that are products with a level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from primad import numpy as pnp
from primad.enclosures import IntervalArray, enclose
from primad.pde.geometry.sampling import Array

LEAST = 1e-3
"""Least product of a drift, or the root of a source's growth, with the half width, in units of the diffusion: for less
this much is taken, which is more than there is and so right, and keeps differences of nearly equal numbers from losing
their digits. Chosen: it makes a bound larger by a thousandth at most."""


class Above(Protocol):
    """What is above an error's size at points."""

    def at(self, points: Array) -> Array:
        """Return the bound at points, one a row."""


@dataclass(frozen=True)
class Barrier:
    """A bound that depends on one coordinate, and is least at both ends.

    With s the distance to the middle and h half the width, −a v″ − B|v′| − g v = ρ and v = m at the ends:

        v = ρ (h² − s²) / 2a + m                                                      with B = g = 0,
        v = ρ/B (a/B (exp(B h/a) − exp(B s/a)) − (h − s)) + m                         with g = 0,
        v = (m + ρ/g) cos(k s) / cos(k h) − ρ/g,  k = √(g/a),  k h < π/2              with B = 0.

    Each falls from the middle on and is concave, so it is above the error for every larger a, and smaller B and g, too.

    Attributes:
        column: the place of the coordinate.
        low: where it begins.
        high: where it ends.
        diffusion: a, the least factor of the second derivative.
        drift: B, the largest size of the factor of the first one.
        growth: g, the largest factor with which the error feeds itself.
        residual: ρ.
        mismatch: m, by how much values at the boundary are off.
    """

    column: int
    low: float
    high: float
    diffusion: float
    drift: float
    growth: float
    residual: float
    mismatch: float

    def at(self, points: Array) -> Array:
        """Return the bound at points, one a row."""
        numbers = self.low, self.high, self.diffusion, self.drift, self.growth, self.residual, self.mismatch
        given = [IntervalArray(x, x) for x in (points[:, self.column], *numbers)]
        found: Array = np.maximum(enclose(self._formula, *given).high, self.mismatch)
        return found

    def _formula(self, x: Any, low: Any, high: Any, a: Any, b: Any, growth: Any, residual: Any, mismatch: Any) -> Any:
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        s = pnp.abs(x - middle)
        if self.growth:
            g = pnp.maximum(growth, LEAST**2 * a / half**2)
            k = pnp.sqrt(g / a)
            return (mismatch + residual / g) * pnp.cos(k * s) / pnp.cos(k * half) - residual / g
        if self.drift:
            b = pnp.maximum(b, LEAST * a / half)
            return residual / b * (a / b * (pnp.exp(b * half / a) - pnp.exp(b * s / a)) - (half - s)) + mismatch
        return residual * (half - s) * (half + s) / (2.0 * a) + mismatch


@dataclass(frozen=True)
class Least:
    """The least of several bounds, which are all right.

    Attributes:
        bounds: these.
    """

    bounds: Sequence[Above]

    def at(self, points: Array) -> Array:
        """Return the bound at points, one a row."""
        found: Array = np.min([one.at(points) for one in self.bounds], axis=0)
        return found
