"""The error function and its kin, the normal distribution function, the logistic one: SciPy's implementations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.ops.elementwise.elementary import exp, sech2
from primad.ops.elementwise.selection import select
from primad.ops.record.fields import always
from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive
from primad.ops.special.series import dawson_derivative, repeated_integral
from primad.system.deferred import special

__all__ = [
    "dawsn", "erf", "erfc", "erfcinv", "erfi", "log_ndtr", "logistic", "logit", "ndtr", "ndtri", "ndtri_exp",
    "scaled_erfc", "softplus",
]  # fmt: skip

SQRT_PI = math.sqrt(math.pi)
PEAK = math.sqrt(0.5 / math.pi)
"""The largest value of the normal density."""

erf: Primitive = elementwise(
    "erf",
    numpy=special.erf,
    partials=[lambda out, x: (2.0 / SQRT_PI) * exp(-(x * x))],
    smooth=always,
    meaning=lambda n, x: n.erf(x),
    complex="analytic",
    doc="Error function, (2/√π)·∫₀ˣ exp(−t²) dt.",
)

erfc: Primitive = elementwise(
    "erfc",
    numpy=special.erfc,
    partials=[lambda out, x: (-2.0 / SQRT_PI) * exp(-(x * x))],
    smooth=always,
    meaning=lambda n, x: n.erfc(x),
    complex="analytic",
    doc="1 − erf(x), accurate for large x.",
)

ndtr: Primitive = elementwise(
    "ndtr",
    numpy=special.ndtr,
    partials=[lambda out, x: PEAK * exp(-0.5 * (x * x))],
    smooth=always,
    meaning=lambda n, x: n.erfc(-x / n.sqrt(n.number(2))) / 2,
    doc="The normal distribution function, (1/√(2π))·∫ exp(−t²/2) dt from −∞ to x, accurate in the left tail.",
)

logistic: Primitive = elementwise(
    "logistic",
    numpy=special.expit,
    partials=[lambda out, x: 0.25 * sech2(0.5 * x)],
    smooth=always,
    meaning=lambda n, x: 1 / (1 + n.exp(-x)),
    doc="1/(1 + e⁻ˣ). Its derivative sech²(x/2)/4 keeps its relative accuracy in both tails, and the next ones near 0.",
)


def _softplus(x: Any) -> Any:
    return np.logaddexp(x, np.zeros((), getattr(x, "dtype", np.float64)))


softplus: Primitive = elementwise(
    "softplus",
    numpy=_softplus,
    partials=[lambda out, x: logistic(x)],
    smooth=always,
    meaning=lambda n, x: n.log(1 + n.exp(x)),
    doc="log(1 + eˣ), without overflow.",
)


erfcinv: Primitive = elementwise(
    "erfcinv",
    numpy=special.erfcinv,
    partials=[lambda out, x: exp(out * out) * (-0.5 * SQRT_PI)],
    meaning=lambda n, x: n.erfinv(1 - x),
    doc="Inverse of erfc, of 0 < x < 2; accurate near 0.",
)
erfi: Primitive = elementwise(
    "erfi",
    numpy=special.erfi,
    partials=[lambda out, x: (2.0 / SQRT_PI) * exp(x * x)],
    meaning=lambda n, x: n.erfi(x),
    complex="analytic",
    doc="The imaginary error function, (2/√π)·∫₀ˣ exp(t²) dt.",
)
ndtri: Primitive = elementwise(
    "ndtri",
    numpy=special.ndtri,
    partials=[lambda out, x: exp(0.5 * (out * out)) / PEAK],
    meaning=lambda n, x: n.sqrt(n.number(2)) * n.erfinv(2 * x - 1),
    doc="Inverse of the normal distribution function, of 0 < x < 1.",
)


def _meaning_of_integral(n: Any, x: Any, order: int) -> Any:
    """Start at exp(x²)·erfc(x) and its integral, and go on by DLMF 7.18.7."""
    before, found = n.divide(2, n.sqrt(n.number(math.pi))), n.exp(x * x) * n.erfc(x)
    for k in range(1, order + 1):
        before, found = found, n.divide(before - 2 * x * found, 2 * k)
    return found


scaled_erfc: Primitive = elementwise(
    "scaled_erfc",
    numpy=repeated_integral,
    partials=[lambda out, x, *, n: (-2.0 * (n + 1)) * scaled_erfc(x, n=n + 1)],  # DLMF 7.18.3 and 7.18.7
    meaning=lambda numbers, x, *, n: _meaning_of_integral(numbers, x, n),
    complex="analytic",
    doc="exp(x²)·iⁿerfc(x), the scaled integral of order n of erfc: erfcx for n = 0.",
)
log_ndtr: Primitive = elementwise(
    "log_ndtr",
    numpy=special.log_ndtr,
    partials=[
        # The density over the distribution function, which is nearly 1 on the right and underflows on the left.
        lambda out, x: select(
            x > 0.0,
            (PEAK * exp(-0.5 * (x * x))) / ndtr(x),
            (2.0 * PEAK) / scaled_erfc(x * -math.sqrt(0.5), n=0),
        )
    ],
    meaning=lambda n, x: n.log(n.erfc(-x / n.sqrt(n.number(2))) / 2),
    doc="The logarithm of the normal distribution function, accurate in both tails.",
)

ndtri_exp: Primitive = elementwise(
    "ndtri_exp",
    numpy=special.ndtri_exp,
    partials=[
        # The distribution function over the density, which is large on the right and small on the left.
        lambda out, y: select(
            out > 0.0,
            exp(y + 0.5 * (out * out)) / PEAK,
            (0.5 / PEAK) * scaled_erfc(out * -math.sqrt(0.5), n=0),
        )
    ],
    meaning=lambda n, y: n.sqrt(n.number(2)) * n.erfinv(2 * n.exp(y) - 1),
    doc="The x at which the logarithm of the normal distribution function is y < 0.",
)


def _meaning_of_dawson(n: Any, x: Any, order: int) -> Any:
    """Start at Dawson's integral, whose derivatives follow from F′ = 1 − 2xF."""
    found = n.sqrt(n.number(math.pi)) / 2 * n.exp(-x * x) * n.erfi(x)
    before, constant = n.number(0), n.number(1)
    for k in range(order):
        before, found, constant = found, constant - 2 * x * found - 2 * k * before, n.number(0)
    return found


dawsn: Primitive = elementwise(
    "dawsn",
    numpy=dawson_derivative,
    partials=[lambda out, x, *, n: dawsn(x, n=n + 1)],
    meaning=lambda numbers, x, *, n: _meaning_of_dawson(numbers, x, n),
    doc="Dawson's integral exp(−x²)·∫₀ˣ exp(t²) dt, and its derivatives of order n.",
)
logit: Primitive = elementwise(
    "logit",
    numpy=special.logit,
    partials=[lambda out, x: 1.0 / (x * (1.0 - x))],
    meaning=lambda n, x: n.log(n.divide(x, 1 - x)),
    doc="log(x/(1 − x)), of 0 < x < 1.",
)
