"""The incomplete gamma functions and their inverses, differentiable in both arguments."""

from __future__ import annotations

from typing import Any

from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive
from primad.ops.special import gamma_tails
from primad.system.deferred import special

__all__ = [
    "gamma_density", "gamma_hazard", "gammainc", "gammaincc", "gammainccinv", "gammaincinv", "log_gamma_tail",
]  # fmt: skip


def _along(a: Any, x: Any, n: int) -> Any:
    """Differentiate ∂ⁿ/∂aⁿ of the density in x: its logarithm has the slope (a − 1)/x − 1."""
    found = gamma_density(a, x, n=n) * ((a - 1.0) / x - 1.0)
    return found + gamma_density(a, x, n=n - 1) * (n / x) if n else found


def _distribution(numbers: Any, a: Any, x: Any, n: int = 0) -> Any:
    return numbers.differentiated(lambda a: numbers.gammainc(a, 0, x, regularized=True), (a,), (n,))


def _density(numbers: Any, a: Any, x: Any, n: int) -> Any:
    return numbers.differentiated(lambda a: x ** (a - 1) * numbers.exp(-x) / numbers.gamma(a), (a,), (n,))


def _quantile(numbers: Any, a: Any, p: Any) -> Any:
    start = special.gammaincinv(float(a), float(p))
    return numbers.root(lambda x: _distribution(numbers, a, x) - p, start)


gamma_density: Primitive = elementwise(
    "gamma_density",
    numpy=gamma_tails.gamma_density,
    partials=[
        lambda out, a, x, *, n: gamma_density(a, x, n=n + 1),
        lambda out, a, x, *, n: _along(a, x, n),
    ],
    meaning=_density,
    doc="The derivative of order n in a of xᵃ⁻¹·exp(−x)/Γ(a), the density of the gamma distribution.",
)
gammainc: Primitive = elementwise(
    "gammainc",
    numpy=gamma_tails.gamma_distribution,
    partials=[
        lambda out, a, x, *, n: gammainc(a, x, n=n + 1),
        lambda out, a, x, *, n: gamma_density(a, x, n=n),
    ],
    meaning=_distribution,
    doc="The derivative of order n in a of the lower regularised incomplete gamma function P(a, x).",
)
gammaincc: Primitive = elementwise(
    "gammaincc",
    numpy=special.gammaincc,
    partials=[
        lambda out, a, x: -gammainc(a, x, n=1),
        lambda out, a, x: -gamma_density(a, x, n=0),
    ],
    meaning=lambda numbers, a, x: 1 - _distribution(numbers, a, x),
    doc="The upper regularised incomplete gamma function, 1 − P(a, x).",
)
gammaincinv: Primitive = elementwise(
    "gammaincinv",
    numpy=special.gammaincinv,
    partials=[
        lambda out, a, p: -gammainc(a, out, n=1) / gamma_density(a, out, n=0),
        lambda out, a, p: 1.0 / gamma_density(a, out, n=0),
    ],
    meaning=_quantile,
    doc="The x at which P(a, x) is p.",
)
gammainccinv: Primitive = elementwise(
    "gammainccinv",
    numpy=special.gammainccinv,
    partials=[
        lambda out, a, q: -gammainc(a, out, n=1) / gamma_density(a, out, n=0),
        lambda out, a, q: -1.0 / gamma_density(a, out, n=0),
    ],
    meaning=lambda numbers, a, q: _quantile(numbers, a, 1 - q),
    doc="The x at which 1 − P(a, x) is q.",
)


def _tail(numbers: Any, a: Any, x: Any, upper: bool) -> Any:
    ends = (x,) if upper else (0, x)
    return numbers.gammainc(a, *ends, regularized=True)


log_gamma_tail: Primitive = elementwise(
    "log_gamma_tail",
    numpy=gamma_tails.log_gamma_tail,
    partials=[
        lambda out, a, x, *, n, upper: log_gamma_tail(a, x, n=n + 1, upper=upper),
        lambda out, a, x, *, n, upper: (-1.0 if upper else 1.0) * gamma_hazard(a, x, n=(n, 0), upper=upper),
    ],
    meaning=lambda numbers, a, x, n, upper: numbers.differentiated(
        lambda a: numbers.log(_tail(numbers, a, x, upper)), (a,), (n,)
    ),
    doc="The derivative of order n in a of log P(a, x), or of log(1 − P(a, x)), which go on below 1e-308.",
)
gamma_hazard: Primitive = elementwise(
    "gamma_hazard",
    numpy=gamma_tails.gamma_hazard,
    partials=[
        lambda out, a, x, *, n, upper: gamma_hazard(a, x, n=(n[0] + 1, n[1]), upper=upper),
        lambda out, a, x, *, n, upper: gamma_hazard(a, x, n=(n[0], n[1] + 1), upper=upper),
    ],
    meaning=lambda numbers, a, x, n, upper: numbers.differentiated(
        lambda a, x: _density(numbers, a, x, 0) / _tail(numbers, a, x, upper), (a, x), n
    ),
    doc="The derivative of orders n in a and x of the gamma distribution's density over a tail.",
)
