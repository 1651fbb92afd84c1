"""Inverses of sine, cosine, sinh, cosh, tanh, the cube and erf."""

from __future__ import annotations

import math

import numpy as np

from primad.deferred import special
from primad.kinds import elementwise
from primad.ops.elementary import exp, sqrt
from primad.primitive import Primitive

arcsin: Primitive = elementwise(
    "arcsin",
    numpy=np.arcsin,
    partials=[lambda out, x: 1.0 / sqrt((1.0 - x) * (1.0 + x))],
    doc="Inverse sine, of −1 ≤ x ≤ 1; its derivative at ±1 is ∞.",
)
arccos: Primitive = elementwise(
    "arccos",
    numpy=np.arccos,
    partials=[lambda out, x: -1.0 / sqrt((1.0 - x) * (1.0 + x))],
    doc="Inverse cosine, of −1 ≤ x ≤ 1; its derivative at ±1 is −∞.",
)
arcsinh: Primitive = elementwise(
    "arcsinh", numpy=np.arcsinh, partials=[lambda out, x: 1.0 / sqrt(1.0 + x * x)], doc="Inverse hyperbolic sine."
)
arccosh: Primitive = elementwise(
    "arccosh",
    numpy=np.arccosh,
    partials=[lambda out, x: 1.0 / sqrt((x - 1.0) * (x + 1.0))],
    doc="Inverse hyperbolic cosine, of x ≥ 1; its derivative at 1 is ∞.",
)
arctanh: Primitive = elementwise(
    "arctanh",
    numpy=np.arctanh,
    partials=[lambda out, x: 1.0 / ((1.0 - x) * (1.0 + x))],
    doc="Inverse hyperbolic tangent, of −1 < x < 1.",
)
cbrt: Primitive = elementwise(
    "cbrt",
    numpy=np.cbrt,
    partials=[lambda out, x: 1.0 / (3.0 * (out * out))],
    doc="The real cube root; its derivative at 0 is ∞.",
)
erfinv: Primitive = elementwise(
    "erfinv",
    numpy=special.erfinv,
    partials=[lambda out, x: exp(out * out) / (2.0 / math.sqrt(math.pi))],
    doc="Inverse of the error function, of −1 < x < 1.",
)
