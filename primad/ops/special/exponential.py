"""Exponential integrals, and (eˣ − 1)/x with its derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.ops.elementwise.elementary import exp
from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive
from primad.ops.special.series import exponential_moment
from primad.system.deferred import special

__all__ = ["exp1", "expi", "expn", "exprel"]

exp1: Primitive = elementwise(
    "exp1",
    numpy=special.exp1,
    partials=[lambda out, x: -exp(-x) / x],
    meaning=lambda n, x: n.expint(1, x),
    complex="analytic",
    doc="The exponential integral E₁, ∫ exp(−t)/t dt from x > 0 to ∞.",
)
expi: Primitive = elementwise(
    "expi",
    numpy=special.expi,
    partials=[lambda out, x: exp(x) / x],
    meaning=lambda n, x: n.ei(x),
    complex="analytic",
    doc="The exponential integral Ei, the principal value of ∫ exp(t)/t dt from −∞ to x.",
)


def _expn(x: Any, *, n: int) -> Any:
    return np.asarray(special.expn(n, x), getattr(x, "dtype", np.float64))


expn: Primitive = elementwise(
    "expn",
    numpy=_expn,
    partials=[lambda out, x, *, n: -expn(x, n=n - 1) if n > 1 else -exp(-x) / x],  # DLMF 8.19.13
    meaning=lambda numbers, x, *, n: numbers.expint(n, x),
    doc="The exponential integral Eₙ of an integer order n ≥ 1, ∫ exp(−xt)/tⁿ dt from 1 to ∞.",
)


def _meaning_of_moment(numbers: Any, x: Any, n: int) -> Any:
    """Integrate by parts, from order to order."""
    found = numbers.divide(numbers.exp(x) - 1, x)
    for k in range(1, n + 1):
        found = numbers.divide(numbers.exp(x) - k * found, x)
    return found


exprel: Primitive = elementwise(
    "exprel",
    numpy=exponential_moment,
    partials=[lambda out, x, *, n: exprel(x, n=n + 1)],
    meaning=lambda numbers, x, *, n: _meaning_of_moment(numbers, x, n),
    doc="∫ tⁿ·exp(xt) dt from 0 to 1: the derivative of order n of (eˣ − 1)/x, which is 1/(n + 1) at 0.",
)
