"""Bessel functions and modified ones, of orders that are plain real numbers, and Airy functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive
from primad.system.deferred import Deferred, special

__all__ = ["airy", "bessel_i", "bessel_j", "bessel_k", "bessel_y"]


def _of_order(zero: Deferred, one: Deferred, general: Deferred) -> Callable[..., Any]:
    """Return a function of any order; SciPy's own of orders 0 and 1 are faster, and closer."""

    def function(x: Any, *, n: float) -> Any:
        found = one(x) if n == 1 else general(n, x) if n else zero(x)
        return np.asarray(found, getattr(x, "dtype", np.float64))

    return function


bessel_i: Primitive = elementwise(
    "bessel_i",
    numpy=_of_order(special.i0, special.i1, special.iv),
    partials=[
        # DLMF 10.29.1 and 10.29.3; Iₙ₋₁ − (n/x)·Iₙ is the same and has 0/0 at 0
        lambda out, x, *, n: 0.5 * (bessel_i(x, n=n - 1) + bessel_i(x, n=n + 1)) if n else bessel_i(x, n=1)
    ],
    meaning=lambda numbers, x, *, n: numbers.besseli(numbers.number(n), x),
    doc="The modified Bessel function of the first kind Iₙ, of a real order n. It grows as eˣ/√(2πx).",
)
bessel_j: Primitive = elementwise(
    "bessel_j",
    numpy=_of_order(special.j0, special.j1, special.jv),
    partials=[
        # DLMF 10.6.1 and 10.6.3
        lambda out, x, *, n: 0.5 * (bessel_j(x, n=n - 1) - bessel_j(x, n=n + 1)) if n else -bessel_j(x, n=1)
    ],
    meaning=lambda numbers, x, *, n: numbers.besselj(numbers.number(n), x),
    doc="The Bessel function of the first kind Jₙ, of a real order n.",
)
bessel_y: Primitive = elementwise(
    "bessel_y",
    numpy=_of_order(special.y0, special.y1, special.yv),
    partials=[
        # DLMF 10.6.1 and 10.6.3
        lambda out, x, *, n: 0.5 * (bessel_y(x, n=n - 1) - bessel_y(x, n=n + 1)) if n else -bessel_y(x, n=1)
    ],
    meaning=lambda numbers, x, *, n: numbers.bessely(numbers.number(n), x),
    doc="The Bessel function of the second kind Yₙ, of a real order n and x > 0.",
)
bessel_k: Primitive = elementwise(
    "bessel_k",
    numpy=_of_order(special.k0, special.k1, special.kv),
    partials=[
        # DLMF 10.29.1 and 10.29.3
        lambda out, x, *, n: -0.5 * (bessel_k(x, n=n - 1) + bessel_k(x, n=n + 1)) if n else -bessel_k(x, n=1)
    ],
    meaning=lambda numbers, x, *, n: numbers.besselk(numbers.number(n), x),
    doc="The modified Bessel function of the second kind Kₙ, of a real order n and x > 0.",
)


def _airy(x: Any, *, n: int) -> Any:
    return special.airy(x)[n]


airy: Primitive = elementwise(
    "airy",
    numpy=_airy,
    partials=[lambda out, x, *, n: x * airy(x, n=n - 1) if n % 2 else airy(x, n=n + 1)],  # DLMF 9.2.1
    meaning=lambda numbers, x, *, n: (numbers.airyai, numbers.airyaiprime, numbers.airybi, numbers.airybiprime)[n](x),
    doc="The Airy functions: Ai, Ai′, Bi and Bi′ for n = 0, 1, 2, 3.",
)
