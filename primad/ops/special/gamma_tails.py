"""Densities and tails of the gamma distribution and all their derivatives in the shape, as integrals."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from primad.ops.special.quadrature import tail_integral
from primad.ops.special.series import FAR
from primad.system.deferred import special

Orders = tuple[int, int]
LEAST = sys.float_info.min / sys.float_info.epsilon
"""Below it a probability may have lost digits."""


def log_gamma_correction(a: Any) -> Any:
    """Return log Γ(a + 1) − log(√(2πa)·(a/e)ᵃ), which is 1/(12a) − … where a is large (DLMF 5.11.1)."""
    inverse = 1.0 / np.maximum(a, FAR.start)
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    del inverse, square
    small = np.minimum(a, FAR.start)
    direct = special.gammaln(small + 1.0)
    direct -= 0.5 * np.log(2.0 * math.pi * small) + small * np.log(small) - small
    return np.where(a >= FAR.start, series, direct)


def log_over_psi(a: Any) -> Any:
    """Return log a − ψ(a), which is 1/(2a) + … where a is large (DLMF 5.11.2)."""
    inverse = 1.0 / np.maximum(a, FAR.start)
    square = inverse * inverse
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    small = np.minimum(a, FAR.start)
    return np.where(a >= FAR.start, 0.5 * inverse + series, np.log(small) - special.psi(small))


def deviance(away: Any, ratio: Any) -> Any:
    """Return away − log(1 + away), where 1 + away is a ratio."""
    near = log1p_rest(np.clip(away, -0.1, 0.1))
    plain = away - np.where(np.abs(away) < 0.5, np.log1p(np.clip(away, -0.5, 0.5)), np.log(ratio))
    return np.where(np.abs(away) < 0.1, near, plain)


def log1p_rest(z: Any) -> Any:
    """Return z − log(1 + z) for |z| ≤ 0.1, by its series in z/(2 + z)."""
    r = z / (2.0 + z)
    total = np.zeros(np.shape(z))
    for k in range(10, 0, -1):
        total = (total + 1.0 / (2 * k + 1)) * r * r
    return r * (z - 2.0 * total)


def _weight_parts(a: Any, x: Any) -> tuple[Any, Any]:
    """Return an exponent and a factor of xᵃ·exp(−x)/Γ(a), by the distance of x from a, which logarithms would lose.

    Source: C. Loader, "Fast and accurate computation of binomial probabilities" (2000).
    """
    away = (x - a) / a
    by_distance = (a > 1.0) | (np.abs(away) < 0.5)
    far = a * np.log(x) - x - special.gammaln(a)
    exponent = np.where(by_distance, -a * deviance(away, x / a) - log_gamma_correction(a), far)
    return exponent, np.where(by_distance, np.sqrt(a / (2.0 * math.pi)), 1.0)


def _weight(a: Any, x: Any) -> Any:
    """Return xᵃ·exp(−x)/Γ(a)."""
    exponent, factor = _weight_parts(a, x)
    return np.exp(exponent) * factor


def bell_polynomials(logs: dict[Orders, Any], n: Orders) -> dict[Orders, Any]:
    """Return the derivatives of orders up to n of exp(f), divided by exp(f): complete Bell polynomials.

    Args:
        logs: those of f, by their orders in its two variables.
        n: the highest orders.
    """
    found: dict[Orders, Any] = {(0, 0): 1.0}
    for q, p in [*np.ndindex(n[1] + 1, n[0] + 1)][1:]:
        low, total = (p - 1, q) if p else (0, q - 1), 0.0
        for i, m in np.ndindex(low[0] + 1, low[1] + 1):
            ways = math.comb(low[0], i) * math.comb(low[1], m)
            total = total + ways * logs[(i + 1, m) if p else (i, m + 1)] * found[low[0] - i, low[1] - m]
        found[p, q] = total
    return found


def log_derivatives(parts: dict[Orders, Any], n: Orders) -> dict[Orders, Any]:
    """Return the derivatives of orders up to n of log f from those of f, divided by f, which are Bell polynomials.

    Args:
        parts: the derivatives of f, divided by f, by their orders, but for the one of no order.
        n: the highest orders.
    """
    moments, found = {(0, 0): 1.0, **parts}, dict[Orders, Any]()
    for q, p in [*np.ndindex(n[1] + 1, n[0] + 1)][1:]:
        low, total = (p - 1, q) if p else (0, q - 1), moments[p, q]
        for i, m in [*np.ndindex(low[0] + 1, low[1] + 1)][:-1]:
            ways = math.comb(low[0], i) * math.comb(low[1], m)
            order = (i + 1, m) if p else (i, m + 1)
            total = total - ways * found[order] * moments[low[0] - i, low[1] - m]
        found[p, q] = total
    return found


class _GammaKernel:
    """The derivative of order n in a of tᵃ/Γ(a), divided by tᵃ/Γ(a): a polynomial of log t.

    1/Γ(a) is a/Γ(a + 1) where a is small, and a is differentiated as it stands: terms that cancel are never formed.
    """

    def __init__(self, a: Any, n: int) -> None:
        self.n, self.small = n, a < 1.0
        self.shifted = np.where(self.small, a + 1.0, a)
        self.factor = np.where(self.small, n / a, 0.0)
        self.cumulants = [special.polygamma(m, self.shifted) for m in range(1, n)]

    def centred(self, a: Any, x: Any) -> Any:
        """Return log x − ψ, of a where it is not small."""
        away = (x - a) / a
        by_distance = ~self.small & (np.abs(away) < 0.5)
        near = np.log1p(np.clip(away, -0.5, 0.5)) + log_over_psi(a)
        return np.where(by_distance, near, np.log(x) - special.psi(self.shifted))

    def at(self, centred: Any) -> Any:
        """Return the polynomial, by the recurrence of complete Bell polynomials."""
        found = [np.ones(np.shape(centred)), centred]
        for m in range(1, self.n):
            terms = [math.comb(m, i) * self.cumulants[i - 1] * found[m - i] for i in range(1, m + 1)]
            found.append(centred * found[m] - sum(terms))
        return found[self.n] + (self.factor * found[self.n - 1] if self.n else 0.0)


def gamma_density(a: Any, x: Any, *, n: int) -> Any:
    """Return the derivative of order n in a of xᵃ⁻¹·exp(−x)/Γ(a)."""
    dtype = np.asarray(x).dtype
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    with np.errstate(all="ignore"):
        exponent, factor = _weight_parts(a, x)
        found = np.exp(exponent) * factor / x
        small = found < LEAST
        if np.any(small):  # the weight may vanish where the density does not
            found = np.where(small, np.exp(exponent - np.log(x)) * factor, found)
        if n:
            kernel = _GammaKernel(a, n)
            found = found * kernel.at(kernel.centred(a, x))
        at_zero = np.where(a > 1.0, 0.0, np.where(a == 1.0, 1.0, np.inf) if n == 0 else np.nan)
        found = np.where(x == 0.0, at_zero, np.where(np.isposinf(x), 0.0, found))
    return np.asarray(np.where((a > 0) & (x >= 0), found, np.nan), dtype)


def gamma_distribution(a: Any, x: Any, *, n: int) -> Any:
    """Return the derivative of order n in a of the regularised incomplete gamma function P(a, x).

    The density's derivative is integrated: over t below x where x lies left of exp ψ(a), at which the one of first
    order changes its sign, else over t above it. The variable is log t, in which the density is log-concave.
    """
    dtype = np.asarray(x).dtype
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    with np.errstate(all="ignore"):
        if n == 0:
            return np.asarray(special.gammainc(a, x), dtype)
        inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        at_end = np.where((a > 0) & ((x == 0.0) | np.isposinf(x)), 0.0, np.nan)
        a, x = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
        kernel = _GammaKernel(a, n)
        start = kernel.centred(a, x)
        upper = start + kernel.factor / n > 0.0
        sign = np.where(upper, 1.0, -1.0)
        peak = np.maximum(sign * (np.log(a) - np.log(x)), 0.0)

        def exponent(v: Any) -> Any:
            return sign * a * v - x * np.expm1(sign * v)

        def slope(v: Any) -> Any:
            return sign * (a - x * np.exp(sign * v))

        def integrand(v: Any) -> Any:
            return np.exp(exponent(v)) * kernel.at(start + sign * v)

        found = -sign * tail_integral(integrand, exponent, slope, peak) * _weight(a, x)
    return np.asarray(np.where(inside, found, at_end), dtype)


def _beyond(a: Any, x: Any, upper: bool, n: Orders) -> dict[Orders, Any]:
    """Return ∫ (log t/x)ʲ·|1 − x/t|ᵏ·(t/x)ᵃ·exp(x − t) dt/t over t beyond x, of orders up to n: of (0, 0) it is V/x.

    V is P or Q over the density, and it neither overflows nor vanishes where they do. Of a lower tail t/x is in the
    place of x/t.
    """
    sign = 1.0 if upper else -1.0

    def exponent(v: Any) -> Any:
        return sign * a * v - x * np.expm1(sign * v)

    def slope(v: Any) -> Any:
        return sign * (a - x * np.exp(sign * v))

    def moment(j: int, k: int) -> Any:
        def integrand(v: Any) -> Any:
            return (sign * v) ** j * (-np.expm1(-v)) ** k * np.exp(exponent(v))

        return tail_integral(integrand, exponent, slope, np.zeros(a.shape))

    return {order: moment(*order) for order in np.ndindex(n[0] + 1, n[1] + 1)}


def log_gamma_tail(a: Any, x: Any, *, n: int, upper: bool) -> Any:
    """Return the derivative of order n in a of log Q(a, x), or of log P(a, x); both go on where those vanish."""
    dtype = np.asarray(x).dtype
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    own, other = (special.gammaincc, special.gammainc) if upper else (special.gammainc, special.gammaincc)
    with np.errstate(all="ignore"):
        plain = np.asarray(own(a, x))
        far = (plain < LEAST) & (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        if n:
            sign = -1.0 if upper else 1.0
            parts = {(k, 0): sign * gamma_distribution(a, x, n=k) / plain for k in range(1, n + 1)}
            found = np.asarray(log_derivatives(parts, (n, 0))[n, 0])
        else:
            found = log_of_probability(plain, other, a, x)
        if np.any(far):
            a, x, found = a[far], x[far], np.array(found)
            moments = _beyond(a, x, upper, (n, 0))
            whole = moments.pop((0, 0))
            if n:
                cumulant = log_derivatives({order: each / whole for order, each in moments.items()}, (n, 0))[n, 0]
                found[far] = cumulant + (np.log(x) - special.psi(a) if n == 1 else -special.polygamma(n - 1, a))
            else:
                exponent, factor = _weight_parts(a, x)
                found[far] = exponent + np.log(factor * whole)
    return np.asarray(found, dtype)


def log_of_probability(plain: Any, other: Any, *operands: Any) -> Any:
    """Return the logarithm of probabilities, of large ones by their complements."""
    found = np.log(plain)
    large = plain > 0.5
    if np.any(large):
        found = np.asarray(found)
        found[large] = np.log1p(-other(*[each[large] for each in operands]))
    return found


def gamma_hazard(a: Any, x: Any, *, n: Orders, upper: bool) -> Any:
    """Return the derivative of orders n in a and x of the gamma distribution's density over a tail."""
    dtype, (j, k) = np.asarray(x).dtype, n
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    with np.errstate(all="ignore"):
        plain = np.asarray((special.gammaincc if upper else special.gammainc)(a, x))
        inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        small = inside & ((plain < LEAST) if k == 0 else (plain < 0.5) & (x > (1.0 if upper else 0.0)))
        shapes = [_hazard_in_shape(a, x, plain, i, upper) for i in range(j + 1)]
        found = _moved(shapes, a, x, k, 1.0 if upper else -1.0)
        if np.any(small):
            found = np.array(found)
            found[small] = _hazard_of_small(a[small], x[small], n, upper)
    return np.asarray(found, dtype)


def _hazard_in_shape(a: Any, x: Any, plain: Any, n: int, upper: bool) -> Any:
    """Return the derivative of order n in a of a hazard, from those of the logarithm of a tail."""
    logs = {(k, 0): -log_gamma_tail(a, x, n=k, upper=upper) for k in range(1, n + 1)}
    if n:
        logs[1, 0] = logs[1, 0] + np.log(x) - special.psi(a)
    logs |= {(k, 0): logs[k, 0] - special.polygamma(k - 1, a) for k in range(2, n + 1)}
    return gamma_density(a, x, n=0) / plain * bell_polynomials(logs, (n, 0))[n, 0]


def _moved(shapes: list[Any], a: Any, x: Any, k: int, sign: float) -> Any:
    """Return the last one's derivative of order k in x, of derivatives in a of a hazard h: h′ is h·((a − 1)/x − 1 ± h).

    Both sides are differentiated further by Leibniz. Terms cancel where h hardly depends on x.
    """
    last = len(shapes) - 1
    rows = [shapes]
    for m in range(k):
        rows.append([])
        for i in range(last + 1):
            total = -rows[m][i]
            for r in range(m + 1):
                power = (-1.0) ** r * math.factorial(r) / x ** (r + 1) * math.comb(m, r)
                total = total + power * ((a - 1.0) * rows[m - r][i] + (i * rows[m - r][i - 1] if i else 0.0))
                for q in range(i + 1):
                    ways = sign * math.comb(m, r) * math.comb(i, q)
                    total = total + ways * rows[r][q] * rows[m - r][i - q]
            rows[m + 1].append(total)
    return rows[k][last]


def _hazard_of_small(a: Any, x: Any, n: Orders, upper: bool) -> Any:
    """Return a hazard's derivative where the tail is small: of 1/V, by integrals whose terms have one sign.

    Of an upper tail V is ∫ (1 + s/x)ᵃ⁻¹·e⁻ˢ ds from 0 to ∞, which is differentiated in a and in 1/x, times that; of a
    lower one it is x·∫ exp(−av + x(1 − e⁻ᵛ)) dv, in a and in x, times that.
    """
    (j, k), moments, parts = n, _beyond(a, x, upper, n), dict[Orders, Any]()
    for i, m in np.ndindex(j + 1, k + 1):
        parts[i, m] = moments[i, m] * (1.0 if upper else x**m)
        if upper and m:  # (1 + s/x)ᵃ⁻¹ has the factors a − 1, a − 2, …, which depend on a, too
            factors = [np.poly1d(np.arange(1.0, m + 1.0), r=True).deriv(q)(a) for q in range(i + 1)]
            parts[i, m] = sum([math.comb(i, q) * factors[q] * moments[i - q, m] for q in range(i + 1)])
    whole = parts.pop((0, 0))
    logs = {order: -each for order, each in log_derivatives({o: each / whole for o, each in parts.items()}, n).items()}
    for m in range(1, k + 1 if not upper else 1):
        logs[0, m] = logs[0, m] + (-1.0) ** m * math.factorial(m - 1)
    bell = bell_polynomials(logs, n)
    if upper and k:  # from derivatives in 1/x to those in x
        ways = [math.comb(k - 1, m - 1) * math.factorial(k) // math.factorial(m) for m in range(1, k + 1)]
        total = (-1.0) ** k * sum([way * bell[j, m] for m, way in enumerate(ways, 1)])
    else:
        total = bell[j, k]
    return total / whole / x ** (k + 1)
