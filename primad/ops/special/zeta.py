"""The zeta functions, differentiable in both arguments, and Owen's T function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.ops.elementwise.elementary import exp
from primad.ops.record.kinds import elementwise
from primad.ops.record.primitive import Primitive
from primad.ops.special.error_functions import PEAK, erf
from primad.ops.special.series import FAR
from primad.system.deferred import special

__all__ = ["hurwitz", "owens_t"]


def _zeta(s: Any, q: Any, *, n: int) -> Any:
    """Return the derivative of order n in s of Σ (k + q)⁻ˢ, by the Euler–Maclaurin formula (DLMF 25.11.7)."""
    dtype = np.asarray(s).dtype
    s, q = np.broadcast_arrays(np.asarray(s, np.float64), np.asarray(q, np.float64))
    with np.errstate(all="ignore"):
        if n == 0:
            riemann = np.where(q == 1.0, special.zeta(s), special.zetac(s))  # these are known for s below 1 too
            return np.asarray(np.where((q == 1.0) | (q == 2.0), riemann, special.zeta(s, q)), dtype)
        total = sum([(-np.log(k + q)) ** n * (k + q) ** -s for k in range(FAR.start)], np.zeros(s.shape))
        a = q + FAR.start
        rest = [a * (-1.0) ** i / (s - 1.0) ** (i + 1) + (0.5 if i == 0 else 0.0) for i in range(n + 1)]
        rising, power = [s, np.ones(s.shape)] + [np.zeros(s.shape)] * n, 1.0 / a
        for j, number in enumerate(FAR.numbers, start=1):
            for i in range(n + 1):
                rest[i] = rest[i] + number / math.factorial(2 * j) * rising[i] * power
            for step in (2 * j - 1, 2 * j):
                rising = [rising[i] * (s + step) + (rising[i - 1] if i else 0.0) for i in range(n + 2)]
            power = power / (a * a)
        log = -np.log(a)
        tail = sum([rest[i] * log ** (n - i) / math.factorial(n - i) for i in range(n + 1)])
        found = total + math.factorial(n) * tail * a**-s
    return np.asarray(np.where((s > 0.0) & (s != 1.0) & (q > 0.0), found, np.nan), dtype)


def _in_shift(out: Any, s: Any, q: Any, *, n: int) -> Any:
    found = -s * hurwitz(s + 1.0, q, n=n)
    return found - float(n) * hurwitz(s + 1.0, q, n=n - 1) if n else found


hurwitz: Primitive = elementwise(
    "hurwitz",
    numpy=_zeta,
    partials=[lambda out, s, q, *, n: hurwitz(s, q, n=n + 1), _in_shift],
    meaning=lambda numbers, s, q, *, n: numbers.zeta(s, q, n),
    doc="The derivative of order n in s of Hurwitz' zeta function Σ (k + q)⁻ˢ, of q > 0; those are known for s > 0.",
)
owens_t: Primitive = elementwise(
    "owens_t",
    numpy=special.owens_t,
    partials=[
        lambda out, h, a: (-0.5 * PEAK) * exp(-0.5 * (h * h)) * erf(math.sqrt(0.5) * (a * h)),
        lambda out, h, a: (0.5 / math.pi) * exp(-0.5 * (h * h) * (1.0 + a * a)) / (1.0 + a * a),
    ],
    meaning=lambda numbers, h, a: numbers.quad(
        lambda t: numbers.exp(-h * h * (1 + t * t) / 2) / (1 + t * t) / (2 * numbers.pi), [0, a]
    ),
    doc="Owen's T function, ∫ exp(−h²(1 + t²)/2)/(2π(1 + t²)) dt from 0 to a.",
)
