"""The logarithm of the gamma function, and its derivatives."""

from __future__ import annotations

from typing import Any

from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive
from primad.system.deferred import special

__all__ = ["gammaln", "polygamma"]


def _polygamma(x: Any, *, n: int) -> Any:
    return special.polygamma(n, x).astype(getattr(x, "dtype", float))


polygamma: Primitive = elementwise(
    "polygamma",
    numpy=_polygamma,
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
