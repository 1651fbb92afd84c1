"""Densities and weighted tails of the gamma distribution, with which incomplete gamma functions are differentiated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.system.deferred import special

STEPS = np.linspace(-4.0, 4.0, 129)
"""Nodes of the double exponential rule: beyond them weights are below 2⁻⁵², and this many are enough. Measured against
quadratures in high precision: the error is below 1e-13 of a tail."""


def _rule() -> tuple[Any, Any]:
    """Return points and weights on (0, ∞) for what decays as exp(−v) (H. Takahasi and M. Mori 1974)."""
    step = STEPS[1] - STEPS[0]
    points = np.exp(STEPS - np.exp(-STEPS))
    return points, points * (1.0 + np.exp(-STEPS)) * step


def log_gamma_correction(a: Any) -> Any:
    """Return log Γ(a + 1) − log(√(2πa)·(a/e)ᵃ), which is 1/(12a) − … where a is large (DLMF 5.11.1)."""
    inverse = 1.0 / np.maximum(a, 16.0)
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    del inverse, square
    small = np.minimum(a, 16.0)
    direct = special.gammaln(small + 1.0)
    direct -= 0.5 * np.log(2.0 * math.pi * small) + small * np.log(small) - small
    return np.where(a >= 16.0, series, direct)


def gamma_weight(a: Any, x: Any) -> Any:
    """Return xᵃ·exp(−x)/Γ(a), by the distance of x from a, which a difference of logarithms would lose.

    Source: C. Loader, "Fast and accurate computation of binomial probabilities" (2000).
    """
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    with np.errstate(all="ignore"):
        away = (x - a) / a
        near = -_log1p_rest(np.clip(away, -0.1, 0.1))
        near = np.where(np.abs(away) < 0.1, near, np.where(np.abs(away) < 0.5, np.log1p(away), np.log(x / a)) - away)
        by_distance = (a > 1.0) | (np.abs(away) < 0.5)
        del away
        exponent = a * np.log(x)
        exponent -= x
        exponent -= special.gammaln(a)
        exponent = np.where(by_distance, a * near, exponent)
        del near
        exponent = exponent - np.where(by_distance, log_gamma_correction(a), 0.0)
        found = np.exp(exponent) * np.where(by_distance, np.sqrt(a / (2.0 * math.pi)), 1.0)
    return np.where((x == 0.0) & (a > 0), 0.0, found)


def _log1p_rest(z: Any) -> Any:
    """Return z − log(1 + z) for |z| < 0.1, by its series in z/(2 + z)."""
    r = z / (2.0 + z)
    total = np.zeros(z.shape)
    for k in range(10, 0, -1):
        total = (total + 1.0 / (2 * k + 1)) * r * r
    return r * (z - 2.0 * total)


def gamma_moment(a: Any, x: Any, *, n: int) -> Any:
    """Return ∫ tᵃ⁻¹·exp(−t)/Γ(a)·(log t − ψ(a))ⁿ dt from 0 to x.

    Tails are integrated: of t below x where x lies left of exp ψ(a), at which the weight changes its sign, else of t
    above it. In the logarithm of t they decay at least exponentially, so that a double exponential rule serves.
    """
    dtype = np.asarray(x).dtype
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    with np.errstate(all="ignore"):
        if n == 0:
            return np.asarray(special.gammainc(a, x), dtype)
        centre, start = special.psi(a), np.log(x)
        upper = x > np.maximum(np.exp(centre), 1.0)
        rate = np.where(upper, x - a, a - x)
        rate = np.maximum(rate, 0.0)
        scale = 2.0 / (rate + np.sqrt(rate * rate + 2.0 * x))
        scale = np.where(upper | (a > 1.0), scale, 1.0 / a)  # below 1 only the power decays
        total = np.zeros(a.shape)
        for point, weight in zip(*_rule(), strict=True):
            v = point * scale
            exponent = np.where(upper, a * v - x * np.expm1(v), -a * v - x * np.expm1(-v))
            total = total + weight * np.exp(exponent) * (np.where(upper, start + v, start - v) - centre) ** n
        tail = total * scale * gamma_weight(a, x)
        found = np.where(upper, _all_moment(a, n) - tail, tail)
        found = np.where(x == 0.0, 0.0, np.where(np.isposinf(x), _all_moment(a, n), found))
    return np.asarray(np.where((a > 0) & (x >= 0), found, np.nan), dtype)


def _all_moment(a: Any, n: int) -> Any:
    """Return the central moment of order n of the logarithm of a gamma variable, from its cumulants ψ⁽ᵏ⁻¹⁾(a)."""
    moments = [np.ones(a.shape), np.zeros(a.shape)]
    for m in range(2, n + 1):
        terms = [math.comb(m - 1, k - 1) * special.polygamma(k - 1, a) * moments[m - k] for k in range(2, m + 1)]
        moments.append(np.sum(terms, axis=0))
    return moments[n]
