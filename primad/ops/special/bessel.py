"""Modified Bessel functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive
from primad.system.deferred import special

__all__ = ["bessel_i"]


def _bessel_i(x: Any, *, n: int) -> Any:
    dtype = getattr(x, "dtype", np.float64)
    found = special.iv(n, x) if n > 1 else special.i1(x) if n else special.i0(x)
    return found.astype(dtype)


bessel_i: Primitive = elementwise(
    "bessel_i",
    numpy=_bessel_i,
    partials=[
        # DLMF 10.29.1 and 10.29.3; Iₙ₋₁ − (n/x)·Iₙ is the same and has 0/0 at 0
        lambda out, x, *, n: 0.5 * (bessel_i(x, n=n - 1) + bessel_i(x, n=n + 1)) if n else bessel_i(x, n=1)
    ],
    meaning=lambda numbers, x, *, n: numbers.besseli(n, x),
    doc="The modified Bessel function of the first kind Iₙ, of an integer order n ≥ 0. It grows as eˣ/√(2πx).",
)
