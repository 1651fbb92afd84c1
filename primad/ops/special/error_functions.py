"""Special functions: erf, logistic, softplus. SciPy's implementations, loaded by the core's own dependency."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.ops.elementwise.elementary import exp, sech2
from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive
from primad.system.deferred import special

__all__ = ["erf", "erfc", "logistic", "ndtr", "softplus"]

erf: Primitive = elementwise(
    "erf",
    numpy=special.erf,
    partials=[lambda out, x: (2.0 / math.sqrt(math.pi)) * exp(-(x * x))],
    meaning=lambda n, x: n.erf(x),
    doc="Error function, (2/√π)·∫₀ˣ exp(−t²) dt.",
)

erfc: Primitive = elementwise(
    "erfc",
    numpy=special.erfc,
    partials=[lambda out, x: (-2.0 / math.sqrt(math.pi)) * exp(-(x * x))],
    meaning=lambda n, x: n.erfc(x),
    doc="1 − erf(x), accurate for large x.",
)

ndtr: Primitive = elementwise(
    "ndtr",
    numpy=special.ndtr,
    partials=[lambda out, x: math.sqrt(0.5 / math.pi) * exp(-0.5 * (x * x))],
    meaning=lambda n, x: n.erfc(-x / n.sqrt(n.number(2))) / 2,
    doc="The normal distribution function, (1/√(2π))·∫ exp(−t²/2) dt from −∞ to x, accurate in the left tail.",
)

logistic: Primitive = elementwise(
    "logistic",
    numpy=special.expit,
    partials=[lambda out, x: 0.25 * sech2(0.5 * x)],
    meaning=lambda n, x: 1 / (1 + n.exp(-x)),
    doc="1/(1 + e⁻ˣ). Its derivative sech²(x/2)/4 keeps its relative accuracy in both tails, and the next ones near 0.",
)


def _softplus(x: Any) -> Any:
    return np.logaddexp(x, np.zeros((), getattr(x, "dtype", np.float64)))


softplus: Primitive = elementwise(
    "softplus",
    numpy=_softplus,
    partials=[lambda out, x: logistic(x)],
    meaning=lambda n, x: n.log(1 + n.exp(x)),
    doc="log(1 + eˣ), without overflow.",
)
