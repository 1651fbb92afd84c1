"""Polynomials that stand for special functions on intervals, in double precision."""

from __future__ import annotations

from typing import NamedTuple

from primad.native.emit.vector_math import polynomial
from primad.native.llvm.vectors import Vector


class Fit(NamedTuple):
    """A polynomial that has a function's values at the zeros of a Chebyshev polynomial.

    Attributes:
        low: where the interval begins.
        high: where it ends.
        numbers: the coefficients of powers of t, lowest first; t goes from −1 to 1 along the interval.
    """

    low: float
    high: float
    numbers: tuple[float, ...]

    def at(self, v: Vector, x: str) -> str:
        """Return its values at numbers of the interval."""
        length = self.high - self.low
        t = v.intrinsic("fma", x, v.constant(2.0 / length), v.constant(-(self.low + self.high) / length))
        return polynomial(v, t, *self.numbers[::-1])


# Computed: `python -m tests.native.fits` says of each what it stands for, and prints it.
PSI_NEAR = Fit(1.0, 2.0, (
    3.5664595351193733, 1.1078103371609274, 0.03964512670223546, -0.0022469932213115104,
    0.00019565679522153413, -2.0563281613948855e-05, 2.3956036707373167e-06, -2.9715359300833194e-07,
    3.839146947676053e-08, -5.098977722992053e-09, 6.903658717512204e-10, -9.454323123274129e-11,
    1.310695949084843e-11, -1.977422976036799e-12, 2.7782452245508475e-13,
))  # fmt: skip
