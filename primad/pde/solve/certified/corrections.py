"""Corrections of a solution, near its error, which make the bound of that close.

Residuals of networks oscillate, and what they make of an error is small, since diffusion averages them: a bound by
their largest size is tens to hundreds of times the error. With any function w, |u − û| ≤ |w| + |u − (û + w)|. So w is
chosen such that the residual of û + w is small, by least squares at samples: it is near the error u − û, and what is
left of that is bounded as that of any other function. What is proven holds for every w.

w is a sum of products of a function of each coordinate, x(1 − x) cos(m π (0.1 + 0.8 x)) in space and t cos(n π (0.1 +
0.8 t)) in time, for coordinates that are moved to [0, 1]: zero where values are given. Cosines on a part of their
interval approximate what does not repeat, as polynomials do (Boyd 2002, "A comparison of numerical algorithms for
Fourier extension"), and their bounds on boxes are closer than those of polynomials. Of a coordinate that repeats they
are 1, cos 2πx, sin 2πx, cos 4πx, …, which repeat up to rounding (see `seams`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.enclosures import IntervalArray, enclose
from primad.functional.control.mapping import vmap
from primad.pde.geometry.sampling import Array
from primad.pde.solve.certified.comparison_bounds import Above
from primad.pde.solve.certified.seams import Addition

if TYPE_CHECKING:
    from primad.pde.solve.certified.error_equation import ErrorEquation

MARGIN = 0.1
"""The part of a half turn on either side of a coordinate's interval. Chosen: half of it needs more cosines for the same
accuracy, twice of it makes them more alike."""
SAMPLES = 8
"""Points for each factor at which the residual is made small. Chosen: in between it is not much larger."""
SMALLEST = 1e-10
"""Directions of factors that count for less than this part of the largest are left out, since they only round."""
WORTH = 0.5
"""The part of the residual that is left at most, or there is no correction. Chosen: the bound has |w| in it."""
ROUNDS = 4
"""How often samples are weighed anew by what is left there, which lowers the largest (Lawson's method)."""


@dataclass(frozen=True)
class Correction:
    """w, as factors of products of a function for each coordinate.

    Attributes:
        ends: of the intervals of all coordinates, a row for each.
        time: the place of time among the coordinates; None without it.
        factors: with an axis for each coordinate.
        repeated: the places of coordinates that repeat.
    """

    ends: Array
    time: int | None
    factors: Array
    repeated: tuple[int, ...] = ()

    def value(self, at: Any) -> Any:
        """Return w at a point."""
        return self.derivative(at, ())

    def derivative(self, at: Any, along: Sequence[int]) -> Any:
        """Return a derivative of w, by at most two coordinates, at a point.

        Args:
            at: the point, a vector.
            along: the places of the coordinates.
        """
        total: Any = self.factors
        for i in reversed(range(len(self.ends))):
            total = total @ self.functions(i, at[i], list(along).count(i), self.factors.shape[i])
        return total

    def functions(self, i: int, x: Any, order: int, count: int) -> Any:
        """Return a derivative of all functions of a coordinate, as the last axis.

        Args:
            i: the place of the coordinate.
            x: where.
            order: 0, 1 or 2.
            count: how many functions there are.
        """
        low, high = self.ends[i]
        length = float(high - low)
        s = (x - low) / length
        speed, start = [np.pi * part * np.arange(count) for part in (1.0 - 2.0 * MARGIN, MARGIN)]
        if i in self.repeated:
            speed, start = 2.0 * np.pi * ((np.arange(count) + 1) // 2), -0.5 * np.pi * (np.arange(count) % 2)
        turned = s[..., None] * speed + start
        none = 0.0 * s
        factor = [s, none + 1.0, none] if i == self.time else [s * (1.0 - s), 1.0 - 2.0 * s, none - 2.0]
        if i in self.repeated:
            factor = [none + 1.0, none, none]
        # Numbers are multiplied in the program, not before: derivatives are exact, with speeds as they are rounded.
        cosine = pnp.cos(turned)
        wave = [cosine, -(speed * pnp.sin(turned)), -(speed * (speed * cosine))]
        total: Any = 0.0
        for k in range(order + 1):
            total = total + math.comb(order, k) * (factor[k][..., None] * wave[order - k])
        for _ in range(order):
            total = total / length
        return total


@dataclass(frozen=True)
class Corrected:
    """A bound of |u − (û + w)| and |w|, which add up to one of |u − û|.

    Attributes:
        bound: the first.
        correction: w.
    """

    bound: Above
    correction: Addition

    def at(self, points: Array) -> Array:
        """Return the bound at points, one a row."""

        def size(at: Any) -> Any:
            return pnp.abs(self.correction.value(at))

        sizes = enclose(vmap(size), IntervalArray(points, points)).high
        found: Array = np.nextafter(sizes + self.bound.at(points), np.inf)
        return found


def corrected(equation: ErrorEquation, waves: int) -> Correction | None:
    """Return a correction by which the residual of an equation becomes small; None where it hardly does.

    Where slopes are given at the boundary there is none: it has other slopes there.

    Args:
        equation: of the error, without a correction.
        waves: how many functions of each coordinate there are.
    """
    if any(face.slope for face in equation.faces):
        return None
    ends = np.asarray(equation.problem.domain.bounds, float)
    shape = (waves,) * len(ends)
    none = Correction(ends, equation.time, np.zeros(shape), equation.repeated)
    rng = np.random.default_rng(0)
    spread = 0.5 - 0.5 * np.cos(np.pi * rng.uniform(size=(SAMPLES * none.factors.size, len(ends))))
    at = ends[:, 0] + np.ptp(ends, axis=1) * spread
    known = vmap(lambda x: (equation.second(x), equation.drift(x), equation.reaction(x), equation.residual(x)))(at)
    second, drift, reaction, residual = known
    residual = np.asarray(residual)
    rows = np.asarray(reaction)[:, None] * _products(none, at, ())
    for i, factor in enumerate(drift):
        if np.any(np.asarray(factor)):
            rows = rows + np.asarray(factor)[:, None] * _products(none, at, (i,))
    for (i, a), (j, b) in product(enumerate(equation.space), repeat=2):
        if np.any(np.asarray(second[i][j])):
            rows = rows + np.asarray(second[i][j])[:, None] * _products(none, at, (a, b))
    weight, best = np.ones(len(at)), none
    least = float(np.max(np.abs(residual)))
    wanted = WORTH * least
    for _ in range(ROUNDS):
        root = np.sqrt(weight)
        factors = np.linalg.lstsq(rows * root[:, None], -residual * root, rcond=SMALLEST)[0]
        left = np.abs(residual + rows @ factors)
        if np.max(left) < least:
            least, best = float(np.max(left)), replace(none, factors=factors.reshape(shape))
        weight = weight * (left + 1e-3 * np.max(left))
        weight = weight / np.max(weight)
    return best if least <= wanted else None


def _products(correction: Correction, at: Array, along: Sequence[int]) -> Array:
    """Return a derivative of each product of functions at points, as rows."""
    found: Array = np.ones((len(at), 1))
    for i, count in enumerate(correction.factors.shape):
        one = np.asarray(correction.functions(i, at[:, i], list(along).count(i), count))
        found = (found[:, :, None] * one[:, None, :]).reshape(len(at), -1)
    return found
