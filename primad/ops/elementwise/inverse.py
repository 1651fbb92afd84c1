"""Inverses of sine, cosine, tangent, sinh, cosh, tanh, the cube and erf."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.ir.array_types import is_complex
from primad.ops.elementwise.conversion import complex_of, imaginary_part, real_part
from primad.ops.elementwise.discrete import equal
from primad.ops.elementwise.elementary import exp, sqrt
from primad.ops.elementwise.plane import hypot
from primad.ops.elementwise.selection import select
from primad.ops.record.fields import CHEAP, always
from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive, full
from primad.system.deferred import special

__all__ = ["arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "erfinv", "leg"]


def _leg(x: Any) -> Any:
    if np.asarray(x).dtype.kind == "c":  # on both sides of a branch cut the factors are on theirs, by signs of zeros
        return np.sqrt(-(x - 1)) * np.sqrt(x - (-1))
    return np.sqrt((1 - x) * (1 + x))


def _turned(z: Any) -> Any:
    """Return i·z, with the signs of zeros, which tell the sides of a branch cut."""
    return complex_of(-imaginary_part(z), real_part(z))


def _squared(x: Any) -> Any:
    return x * x


def _side(y: Any, z: Any) -> Any:
    """Return √(z − 1)·√(z + 1) from the leg of z: i times it above the real axis, and −i times below.

    A derivative of the product of roots would be a difference that cancels near 0.
    """
    below = imaginary_part(z)
    below = (below < 0) | (equal(below, 0) & (full(1.0, below) / below < 0))
    real, imaginary = real_part(y), imaginary_part(y)
    return complex_of(select(below, imaginary, -imaginary), select(below, -real, real))


leg: Primitive = elementwise(
    "leg",
    numpy=_leg,
    partials=[lambda out, x: -x / out],
    meaning=lambda n, x: n.sqrt(1 - x * x),
    work=CHEAP,
    complex="analytic",
    doc="√(1 − x²), the other leg of a right triangle with the longest side 1: accurate near ±1, and its derivatives, "
    "written with its value, near 0.",
)
arcsin: Primitive = elementwise(
    "arcsin",
    numpy=np.arcsin,
    partials=[lambda out, x: 1.0 / leg(x)],
    meaning=lambda n, x: n.atan(n.divide(x, n.sqrt(1 - x * x))),
    complex="analytic",
    doc="Inverse sine, of −1 ≤ x ≤ 1; its derivative at ±1 is ∞.",
)
arccos: Primitive = elementwise(
    "arccos",
    numpy=np.arccos,
    partials=[lambda out, x: -1.0 / leg(x)],
    meaning=lambda n, x: n.number(math.pi) / 2 - n.atan(n.divide(x, n.sqrt(1 - x * x))),
    complex="analytic",
    doc="Inverse cosine, of −1 ≤ x ≤ 1; its derivative at ±1 is −∞.",
)
arctan: Primitive = elementwise(
    "arctan",
    numpy=np.arctan,
    partials=[lambda out, x: _squared(1.0 / leg(_turned(x))) if is_complex(x.dtype) else 1.0 / (1.0 + x * x)],
    smooth=always,
    meaning=lambda n, x: n.atan(x),
    complex="analytic",
    doc="Inverse tangent; of complex numbers the derivative does not overflow, and does not cancel near ±i.",
)
arcsinh: Primitive = elementwise(
    "arcsinh",
    numpy=np.arcsinh,
    partials=[lambda out, x: 1.0 / (leg(_turned(x)) if is_complex(x.dtype) else hypot(x, full(1.0, x)))],
    smooth=always,
    meaning=lambda n, x: n.log(x + n.sqrt(1 + x * x)),
    complex="analytic",
    doc="Inverse hyperbolic sine; its derivative 1/√(1 + x²) does not overflow.",
)
arccosh: Primitive = elementwise(
    "arccosh",
    numpy=np.arccosh,
    partials=[lambda out, x: 1.0 / (_side(leg(x), x) if is_complex(x.dtype) else sqrt(x - 1.0) * sqrt(x + 1.0))],
    meaning=lambda n, x: n.log(x + n.sqrt(x * x - 1)),
    complex="analytic",
    doc="Inverse hyperbolic cosine, of x ≥ 1; its derivative at 1 is ∞.",
)
arctanh: Primitive = elementwise(
    "arctanh",
    numpy=np.arctanh,
    partials=[lambda out, x: _squared(1.0 / leg(x))],
    meaning=lambda n, x: n.divide(n.log(n.divide(1 + x, 1 - x)), 2),
    complex="analytic",
    doc="Inverse hyperbolic tangent, of −1 < x < 1.",
)
cbrt: Primitive = elementwise(
    "cbrt",
    numpy=np.cbrt,
    partials=[lambda out, x: 1.0 / (3.0 * (out * out))],
    meaning=lambda n, x: -n.power(-x, n.divide(1, 3)) if n.less(x, 0) else n.power(x, n.divide(1, 3)),
    doc="The real cube root; its derivative at 0 is ∞.",
)
erfinv: Primitive = elementwise(
    "erfinv",
    numpy=special.erfinv,
    partials=[lambda out, x: exp(out * out) / (2.0 / math.sqrt(math.pi))],
    meaning=lambda n, x: n.erfinv(x),
    doc="Inverse of the error function, of −1 < x < 1.",
)
