"""Elementary functions: exponentials, logarithms, sqrt, sines, hyperbolic sines (tanh with sech²)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.ir.array_types import is_complex
from primad.ops.record.fields import CHEAP, MemoryUse, always
from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive, full

__all__ = [
    "cos",
    "cosh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sech2",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]  # fmt: skip

exp: Primitive = elementwise(
    "exp",
    numpy=np.exp,
    partials=[lambda out, x: out],
    smooth=always,
    meaning=lambda n, x: n.exp(x),
    complex="analytic",
    doc="eˣ.",
)
expm1: Primitive = elementwise(
    "expm1",
    numpy=np.expm1,
    partials=[lambda out, x: exp(x)],
    smooth=always,
    meaning=lambda n, x: n.exp(x) - 1,
    complex="analytic",
    doc="eˣ − 1, accurate near 0.",
)
log: Primitive = elementwise(
    "log",
    numpy=np.log,
    partials=[lambda out, x: 1.0 / x],
    meaning=lambda n, x: n.log(x),
    complex="analytic",
    doc="Natural logarithm.",
)
log1p: Primitive = elementwise(
    "log1p",
    numpy=np.log1p,
    partials=[lambda out, x: 1.0 / (1.0 + x)],
    meaning=lambda n, x: n.log(1 + x),
    complex="analytic",
    doc="log(1 + x), accurate near 0.",
)
exp2: Primitive = elementwise(
    "exp2",
    numpy=np.exp2,
    partials=[lambda out, x: math.log(2.0) * out],
    smooth=always,
    meaning=lambda n, x: n.exp(n.log(n.number(2)) * x),
    complex="analytic",
    doc="2ˣ.",
)
log2: Primitive = elementwise(
    "log2",
    numpy=np.log2,
    partials=[lambda out, x: (1.0 / x) / math.log(2.0)],
    meaning=lambda n, x: n.log(x) / n.log(n.number(2)),
    complex="analytic",
    doc="Logarithm to base 2.",
)
log10: Primitive = elementwise(
    "log10",
    numpy=np.log10,
    partials=[lambda out, x: (1.0 / x) / math.log(10.0)],
    meaning=lambda n, x: n.log(x) / n.log(n.number(10)),
    complex="analytic",
    doc="Logarithm to base 10.",
)
sqrt: Primitive = elementwise(
    "sqrt",
    numpy=np.sqrt,
    partials=[lambda out, x: 0.5 / out],
    meaning=lambda n, x: n.sqrt(x),
    work=CHEAP,
    complex="analytic",
    doc="√x; its derivative at 0 is ∞.",
)
sin: Primitive = elementwise(
    "sin",
    numpy=np.sin,
    partials=[lambda out, x: cos(x)],
    smooth=always,
    meaning=lambda n, x: n.sin(x),
    complex="analytic",
    doc="Sine of an angle in radians.",
)
cos: Primitive = elementwise(
    "cos",
    numpy=np.cos,
    partials=[lambda out, x: -sin(x)],
    smooth=always,
    meaning=lambda n, x: n.cos(x),
    complex="analytic",
    doc="Cosine of an angle in radians.",
)
tan: Primitive = elementwise(
    "tan",
    numpy=np.tan,
    # Far from the real axis tan² is nearly −1, and 1 + tan² would be what rounding leaves.
    partials=[lambda out, x: sech2(full(1j, x) * x) if is_complex(x.dtype) else 1.0 + out * out],
    meaning=lambda n, x: n.sin(x) / n.cos(x),
    complex="analytic",
    doc="sin x / cos x.",
)
sinh: Primitive = elementwise(
    "sinh",
    numpy=np.sinh,
    partials=[lambda out, x: cosh(x)],
    smooth=always,
    meaning=lambda n, x: (n.exp(x) - n.exp(-x)) / 2,
    complex="analytic",
    doc="(eˣ − e⁻ˣ)/2.",
)
cosh: Primitive = elementwise(
    "cosh",
    numpy=np.cosh,
    partials=[lambda out, x: sinh(x)],
    smooth=always,
    meaning=lambda n, x: (n.exp(x) + n.exp(-x)) / 2,
    complex="analytic",
    doc="(eˣ + e⁻ˣ)/2.",
)


def _sech2(x: Any, out: Any = None) -> Any:
    """4e/(1 + e)² with e = exp(−2|x|): accurate in the tails, where 1 − tanh²x is 0.

    It is even, so that of complex numbers those to the right of the imaginary axis are as good as |x|.
    """
    x = np.asarray(x)
    if x.dtype.kind == "c":
        e = np.exp(-2 * np.where(x.real < 0, -x, x))
        return np.divide(4 * e, (1 + e) * (1 + e), out=out)
    if not x.ndim and out is None:  # the same operations, on a scalar
        e = np.exp(-2 * abs(x[()]))
        d = 1 + e
        return e * 4 / (d * d)
    e = np.abs(x, out=np.empty_like(x) if out is None else out)
    e *= -2
    np.exp(e, out=e)
    d = 1 + e
    d *= d
    e *= 4
    e /= d
    return e


tanh: Primitive = elementwise(
    "tanh",
    numpy=np.tanh,
    partials=[lambda out, x: sech2(x)],
    smooth=always,
    meaning=lambda n, x: n.tanh(x),
    complex="analytic",
    doc="Hyperbolic tangent.",
)
sech2: Primitive = elementwise(
    "sech2",
    numpy=_sech2,
    partials=[lambda out, x: -2.0 * (out * tanh(x))],
    memory=MemoryUse(out=always),
    smooth=always,
    meaning=lambda n, x: 4 / (n.exp(x) + n.exp(-x)) ** 2,
    complex="analytic",
    doc="sech²x, the derivative of tanh, accurate in the tails.",
)
