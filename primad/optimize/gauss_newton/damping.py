"""How far the model of a step is trusted: damping that follows the gain ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.optimize.parameter_vectors import Vector

LEAST, MOST = 1e-15, 1e30
"""Bounds of the damping, relative to the largest element of the matrix's diagonal."""


@dataclass(frozen=True)
class Damping:
    """λ and what it grows by (H. B. Nielsen, Damping parameter in Marquardt's method, IMM-REP-1999-05).

    Attributes:
        amount: λ.
        growth: by how much the next step that fails multiplies it.
    """

    amount: float
    growth: float

    def raised(self) -> Damping:
        """Return the damping after a step that failed."""
        return Damping(min(self.amount * self.growth, MOST), 2 * self.growth)

    def followed(self, gain: float) -> Damping:
        """Return the damping after a step that went down.

        Args:
            gain: the decrease of the function over that of its model.
        """
        return Damping(min(max(self.amount * max(1 / 3, 1 - (2 * gain - 1) ** 3), LEAST), MOST), 2.0)


def scales(diagonal: Vector, power: float) -> Vector:
    """Return what λ multiplies: powers of a matrix's diagonal, in its unit.

    Elements without curvature get some, so that no parameter is free.

    Args:
        diagonal: of a matrix that is not negative.
        power: 0 for Levenberg's identity, 1 for Marquardt's diagonal.
    """
    largest = float(np.max(diagonal))
    if not largest > 0:
        return np.ones_like(diagonal)
    found: Vector = largest * np.maximum(diagonal / largest, 1e-12) ** power
    return found


def check_numbers(rule: Any) -> None:
    """Raise for settings of a rule that make no sense.

    Raises:
        ShapeError: if the damping is not positive or the power of the diagonal is not between 0 and 1.
    """
    name = type(rule).__name__
    if not rule.damping > 0:
        raise ShapeError(
            f"{name}: the damping must be positive, got {rule.damping}",
            fix="begin with a small one, as 1e-3; each step adapts it.",
        )
    if not 0 <= rule.scaling <= 1:
        raise ShapeError(
            f"{name}: scaling must be between 0 (Levenberg) and 1 (Marquardt), got {rule.scaling}",
            fix="leave it out for 0.5, halfway between the two.",
        )
