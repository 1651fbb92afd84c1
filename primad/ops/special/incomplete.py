"""The incomplete gamma functions and their inverses, differentiable in both arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.ops.elementwise.elementary import log
from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive
from primad.ops.special.gamma import polygamma
from primad.ops.special.tails import gamma_moment as _moment
from primad.ops.special.tails import gamma_weight
from primad.system.deferred import special

__all__ = ["gamma_density", "gamma_moment", "gammaincc", "gammainccinv", "gammaincinv"]


def _density(a: Any, x: Any) -> Any:
    return np.asarray(gamma_weight(a, x), np.asarray(x).dtype)


gamma_density: Primitive = elementwise(
    "gamma_density",
    numpy=_density,
    partials=[
        lambda out, a, x: out * (log(x) - polygamma(a, n=0)),
        lambda out, a, x: out * ((a - x) / x),
    ],
    meaning=lambda n, a, x: n.divide(n.power(x, a) * n.exp(-x), n.gamma(a)),
    doc="xᵃ·exp(−x)/Γ(a): x times the density of the gamma distribution.",
)


def _lower(a: Any, x: Any, n: int) -> Any:
    """Differentiate the weight and its centre ψ(a)."""
    return gamma_moment(a, x, n=n + 1) - (n * polygamma(a, n=1) * gamma_moment(a, x, n=n - 1) if n else 0.0)


def _at_end(a: Any, x: Any, n: int) -> Any:
    """Return the integrand at its upper end."""
    found = gamma_density(a, x) / x
    for _ in range(n):
        found = found * (log(x) - polygamma(a, n=0))
    return found


gamma_moment: Primitive = elementwise(
    "gamma_moment",
    numpy=_moment,
    partials=[
        lambda out, a, x, *, n: _lower(a, x, n),
        lambda out, a, x, *, n: _at_end(a, x, n),
    ],
    meaning=lambda numbers, a, x, *, n: numbers.gamma_moment(a, x, n),
    doc="∫ tᵃ⁻¹·exp(−t)/Γ(a)·(log t − ψ(a))ⁿ dt from 0 to x: the regularised incomplete gamma function for n = 0.",
)
gammaincc: Primitive = elementwise(
    "gammaincc",
    numpy=special.gammaincc,
    partials=[
        lambda out, a, x: -gamma_moment(a, x, n=1),
        lambda out, a, x: -gamma_density(a, x) / x,
    ],
    meaning=lambda numbers, a, x: 1 - numbers.gamma_moment(a, x, 0),
    doc="The upper regularised incomplete gamma function, 1 − P(a, x).",
)
gammaincinv: Primitive = elementwise(
    "gammaincinv",
    numpy=special.gammaincinv,
    partials=[
        lambda out, a, p: -gamma_moment(a, out, n=1) * (out / gamma_density(a, out)),
        lambda out, a, p: out / gamma_density(a, out),
    ],
    meaning=lambda numbers, a, p: numbers.gamma_quantile(a, p),
    doc="The x at which P(a, x) is p.",
)
gammainccinv: Primitive = elementwise(
    "gammainccinv",
    numpy=special.gammainccinv,
    partials=[
        lambda out, a, q: -gamma_moment(a, out, n=1) * (out / gamma_density(a, out)),
        lambda out, a, q: -out / gamma_density(a, out),
    ],
    meaning=lambda numbers, a, q: numbers.gamma_quantile(a, 1 - q),
    doc="The x at which 1 − P(a, x) is q.",
)
