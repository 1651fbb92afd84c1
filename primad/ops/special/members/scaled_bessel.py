"""Modified Bessel functions times an exponential, and their derivatives: differences that cancel where x is large."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.ops.special.members.entry import FunctionFamily, Tried
from primad.system.deferred import special

FAR, TERMS = 25.0, 40
"""The values of x, of orders of moderate size, from which asymptotic series are summed, and how many terms they have.
Chosen: the least term of a series in 1/x is exp(−2·25) then, and the 40th one 1e-20."""


def _far(x: Any, v: float, n: int, sign: float) -> Any:
    """Return the derivative of order n of Σ (±1)ᵏ·aₖ(v)/x^(k + ½) (DLMF 10.40.1 and 10.40.2)."""
    total, coefficient = np.zeros(np.shape(x)), (-1.0) ** n
    for k in range(TERMS):
        rising = math.prod(k + 0.5 + i for i in range(n))
        total = total + coefficient * rising * x ** -float(k)
        coefficient *= sign * (4.0 * v * v - (2 * k + 1) ** 2) / (8.0 * (k + 1))
    return total * x ** (-0.5 - n)


def _near(function: Any, x: Any, v: float, n: int, middle: Any) -> Any:
    """Return a difference of order 2n in the order: f ↦ (f of v − 1 + f of v + 1)/2 is a derivative (DLMF 10.29.1)."""
    terms = [math.comb(2 * n, j) * middle**j * function(v + n - j, x) for j in range(2 * n + 1)]
    return 0.5**n * sum(terms[1:], terms[0])


def _of_order(general: Any, *whole: Any) -> Any:
    """Return a function of any order; SciPy's own of orders 0 and 1 are closer, and numbers where x is huge."""

    def function(x: Any, v: float) -> Any:
        found = whole[int(v)](x) if v in range(len(whole)) else general(v, x)
        return np.where(x == np.inf, 0.0, found)

    return function


def _ive(x: Any, v: float, n: int) -> Any:
    size = np.abs(x)
    far = size > max(FAR, 0.25 * v * v)
    near = _near(special.ive, np.where(far, 1.0, x), v, n, np.where(np.where(far, 1.0, x) < 0.0, 1.0, -1.0))
    turned = np.where(x < 0.0, (-1.0) ** (v + n) if v == int(v) else np.nan, 1.0)
    distant = turned * _far(np.where(far, size, FAR), v, n, -1.0) / math.sqrt(2.0 * math.pi)
    return np.where(far, distant, near)


def _kve(x: Any, v: float, n: int) -> Any:
    far = x > max(FAR, 0.25 * v * v)
    near = (-1.0) ** n * _near(special.kve, np.where(far, 1.0, x), v, n, -1.0)
    distant = _far(np.where(far, x, FAR), v, n, 1.0) * math.sqrt(0.5 * math.pi)
    return np.where(far, distant, near)


def _meaning(function: str, sign: int) -> Any:
    def meaning(numbers: Any, x: Any, v: Any, n: int) -> Any:
        terms = [
            (-1) ** j * numbers.binomial(2 * n, j) * getattr(numbers, function)(v + n - j, x) for j in range(2 * n + 1)
        ]
        return numbers.exp(-sign * x) * sign**n * sum(terms) / 2**n

    return meaning


def _family(name: str, sign: int, value: Any, derivative: Any, orders: tuple[float, ...]) -> dict[str, FunctionFamily]:
    """Return a function and its derivatives, of the parameters v and, of a derivative, n."""
    slopes, function = f"{name}_slope", "besseli" if sign > 0 else "besselk"
    return {
        name: FunctionFamily(
            value,
            lambda of, out, x, v: of(slopes, x, v, 1),
            lambda m, x, v: m.exp(-sign * x) * getattr(m, function)(v, x),
            Tried.POSITIVE,
            tuple([(v,) for v in orders]),
        ),
        slopes: FunctionFamily(
            derivative,
            lambda of, out, x, v, n: of(slopes, x, v, n + 1),
            _meaning(function, sign),
            Tried.POSITIVE,
            tuple([(v, n) for n, v in enumerate(orders, 1)]),
        ),
    }


SCALED_BESSEL = {
    **_family("ive", 1, _of_order(special.ive, special.i0e, special.i1e), _ive, (0, 1, 0.5)),
    **_family("kve", -1, _of_order(special.kve, special.k0e, special.k1e), _kve, (0, 1, 1.5)),
}
"""Families of exp(∓x)·I and exp(x)·K by name."""
