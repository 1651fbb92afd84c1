"""The gamma and beta functions, their logarithms, and derivatives of these."""

from __future__ import annotations

import math
from typing import Any

from primad.ops.elementwise.elementary import cos, sin
from primad.ops.elementwise.selection import select
from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive
from primad.ops.special.series import polygamma_at, polygamma_change
from primad.system.deferred import special

__all__ = ["beta", "betaln", "binom", "gamma", "gammaln", "poch", "polygamma", "polygamma_gap", "rgamma"]


polygamma: Primitive = elementwise(
    "polygamma",
    numpy=polygamma_at,
    partials=[lambda out, x, *, n: polygamma(x, n=n + 1)],
    meaning=lambda numbers, x, *, n: numbers.polygamma(n, x),
    doc="Derivative of order n + 1 of log Γ; n = 0 is the digamma function.",
)
gammaln: Primitive = elementwise(
    "gammaln",
    numpy=special.gammaln,
    partials=[lambda out, x: polygamma(x, n=0)],
    meaning=lambda n, x: n.loggamma(x),
    doc="log |Γ(x)|.",
)
gamma: Primitive = elementwise(
    "gamma",
    numpy=special.gamma,
    partials=[lambda out, x: out * polygamma(x, n=0)],
    meaning=lambda n, x: n.gamma(x),
    doc="Euler's gamma function Γ; its derivative at its poles 0, −1, −2, … is NaN.",
)


def _rgamma_slope(out: Any, x: Any) -> Any:
    """Differentiate 1/Γ(x), below 1/2 as Γ(1 − x)·sin(πx)/π, which is smooth at the poles of Γ (DLMF 5.5.3)."""
    mirrored = 1.0 - x
    rest = gamma(mirrored)
    reflected = rest * (cos(math.pi * x) - polygamma(mirrored, n=0) * sin(math.pi * x) * (1.0 / math.pi))
    return select(x < 0.5, reflected, -out * polygamma(x, n=0))


rgamma: Primitive = elementwise(
    "rgamma",
    numpy=special.rgamma,
    partials=[_rgamma_slope],
    meaning=lambda n, x: n.divide(1, n.gamma(x)),
    doc="1/Γ(x), smooth everywhere.",
)
polygamma_gap: Primitive = elementwise(
    "polygamma_gap",
    numpy=polygamma_change,
    partials=[
        lambda out, x, d, *, n: polygamma_gap(x, d, n=n + 1),
        lambda out, x, d, *, n: polygamma(x + d, n=n + 1),
    ],
    meaning=lambda numbers, x, d, *, n: numbers.polygamma(n, x + d) - numbers.polygamma(n, x),
    doc="ψ⁽ⁿ⁾(x + d) − ψ⁽ⁿ⁾(x), to full accuracy where d is small beside x.",
)
beta: Primitive = elementwise(
    "beta",
    numpy=special.beta,
    partials=[
        lambda out, a, b: -out * polygamma_gap(a, b, n=0),
        lambda out, a, b: -out * polygamma_gap(b, a, n=0),
    ],
    meaning=lambda n, a, b: n.divide(n.gamma(a) * n.gamma(b), n.gamma(a + b)),
    doc="The beta function Γ(a)Γ(b)/Γ(a + b).",
)
betaln: Primitive = elementwise(
    "betaln",
    numpy=special.betaln,
    partials=[
        lambda out, a, b: -polygamma_gap(a, b, n=0),
        lambda out, a, b: -polygamma_gap(b, a, n=0),
    ],
    meaning=lambda n, a, b: n.loggamma(a) + n.loggamma(b) - n.loggamma(a + b),
    doc="log |Γ(a)Γ(b)/Γ(a + b)|.",
)
binom: Primitive = elementwise(
    "binom",
    numpy=special.binom,
    partials=[
        lambda out, n, k: out * polygamma_gap(n - k + 1.0, k, n=0),
        lambda out, n, k: out * polygamma_gap(k + 1.0, n - 2.0 * k, n=0),
    ],
    meaning=lambda numbers, n, k: numbers.divide(numbers.gamma(n + 1), numbers.gamma(k + 1) * numbers.gamma(n - k + 1)),
    doc="The binomial coefficient Γ(n + 1)/(Γ(k + 1)Γ(n − k + 1)) of real arguments.",
)
poch: Primitive = elementwise(
    "poch",
    numpy=special.poch,
    partials=[
        lambda out, x, m: out * polygamma_gap(x, m, n=0),
        lambda out, x, m: out * polygamma(x + m, n=0),
    ],
    meaning=lambda n, x, m: n.divide(n.gamma(x + m), n.gamma(x)),
    doc="The rising factorial Γ(x + m)/Γ(x).",
)
