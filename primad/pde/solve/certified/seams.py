"""What makes a solution repeat exactly, where it does so up to what its condition is off, or rounding.

The error of a function that repeats with its slope has no boundary: where it is largest, its slope is zero and its
curvature on either side is not positive, so a comparison principle holds on the circle. A network of cos(2πx) and
sin(2πx) repeats up to the rounding of π. With the jumps j and k of û and of ∂û/∂x from one end of an interval of length
l to the other, and s from 0 to 1,

    w = −j (s − 1/2) − k l (s² − s)/2

has the opposite ones, so û + w repeats with its slope. The jumps are functions of the other coordinates, as û is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from primad import numpy as pnp
from primad.errors import ProblemError


class Addition(Protocol):
    """What is added to a solution."""

    def value(self, at: Any) -> Any:
        """Return it at a point."""

    def derivative(self, at: Any, along: Sequence[int]) -> Any:
        """Return a derivative by coordinates, which are given by their places, at a point."""


@dataclass(frozen=True)
class Seam:
    """w, for one coordinate.

    Attributes:
        derivative_of: returns a derivative of û at a point, by the places of coordinates.
        column: the place of the coordinate that repeats.
        low, high: the ends of its interval.

    Raises:
        ProblemError: if the length of the interval is no number of float64, so that s is not 1 at its end.
    """

    derivative_of: Callable[[Any, Sequence[int]], Any]
    column: int
    low: float
    high: float

    def __post_init__(self) -> None:
        if math.fsum([self.high, -self.low, -(self.high - self.low)]):  # which is exact
            raise ProblemError(
                f"certify_error: the length of the interval from {self.low!r} to {self.high!r} is rounded",
                why="The true solution repeats after exactly this length.",
                fix="let the interval begin at 0, or at minus its end; solution.certify() bounds the residuals.",
            )

    def value(self, at: Any) -> Any:
        """Return w at a point."""
        return self.derivative(at, ())

    def derivative(self, at: Any, along: Sequence[int]) -> Any:
        """Return a derivative of w, at most the second by the coordinate that repeats, at a point."""
        others = [i for i in along if i != self.column]
        order, length = len(along) - len(others), self.high - self.low
        s = (at[self.column] - self.low) / length
        of_value = (s - 0.5, 1.0 / length, 0.0)[order]
        of_slope = (0.5 * length * (s * s - s), s - 0.5, 1.0 / length)[order]
        slope = self._jump(at, [*others, self.column])
        return -(of_slope * slope) if order == 2 else -(of_value * self._jump(at, others) + of_slope * slope)

    def _jump(self, at: Any, along: Sequence[int]) -> Any:
        ends = []
        for end in (self.high, self.low):
            there = pnp.stack([end if i == self.column else at[i] for i in range(at.shape[0])])
            ends.append(self.derivative_of(there, along))
        return ends[0] - ends[1]


@dataclass(frozen=True)
class Together:
    """Several additions.

    Attributes:
        parts: these.
    """

    parts: Sequence[Addition]

    def value(self, at: Any) -> Any:
        """Return their sum at a point."""
        return sum([one.value(at) for one in self.parts], 0.0)

    def derivative(self, at: Any, along: Sequence[int]) -> Any:
        """Return a derivative of their sum at a point."""
        return sum([one.derivative(at, along) for one in self.parts], 0.0)
