"""Densities and tails of the beta distribution and all their derivatives in both shapes, as integrals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.ops.special.quadrature import tail_integral
from primad.ops.special.series import polygamma_change
from primad.ops.special.tails import deviance, log_gamma_correction, log_over_psi
from primad.system.deferred import special

Orders = tuple[int, int]


def _weight(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Return xᵃyᵇ/B(a, b), y = 1 − x, by the distance of x from a/(a + b).

    Source: C. Loader, "Fast and accurate computation of binomial probabilities" (2000).
    """
    n, away = a + b, b * x - a * y
    exponent = -a * deviance(away / a, x + b * x / a) - b * deviance(-away / b, y + a * y / b)
    exponent += log_gamma_correction(n) - log_gamma_correction(a) - log_gamma_correction(b)
    return np.exp(exponent) * np.sqrt(a / n * b / (2.0 * math.pi))


class _BetaKernel:
    """The derivative of orders (j, k) in a and b of tᵃ(1 − t)ᵇ/B(a, b), divided by that: a polynomial of logarithms.

    1/Γ(a) is a/Γ(a + 1) where a is small, and a is differentiated as it stands: terms that cancel are never formed.
    """

    def __init__(self, a: Any, b: Any, n: Orders) -> None:
        self.n, self.a, self.b, self.sum = n, a, b, a + b
        self.small = a < 1.0, b < 1.0
        self.shifted = np.where(self.small[0], a + 1.0, a), np.where(self.small[1], b + 1.0, b)
        self.factors = np.where(self.small[0], 1.0 / a, 0.0), np.where(self.small[1], 1.0 / b, 0.0)
        self.cumulants = {(j, k): self._cumulant(j, k) for j in range(n[0] + 1) for k in range(n[1] + 1) if j + k > 1}

    def _cumulant(self, j: int, k: int) -> Any:
        """Return the derivative of orders (j, k) of log B, of shapes that are shifted where they are small."""
        if j and k:
            return -special.polygamma(j + k - 1, self.sum)
        return -self._change(0 if j else 1, j + k - 1)

    def _change(self, which: int, order: int) -> Any:
        """Return ψ⁽ᵐ⁾(a + b) − ψ⁽ᵐ⁾(a), of a shifted shape a."""
        shape, other = (self.a, self.b) if which == 0 else (self.b, self.a)
        rest = np.where(self.small[which], other - 1.0, other)
        return polygamma_change(np.where(self.small[which], shape + 1.0, shape), rest, n=order)

    def centred(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return log x and log y without their means."""
        away, found = self.b * x - self.a * y, []
        for which, (point, shape, distance) in enumerate(((x, self.a, away), (y, self.b, -away))):
            distance = distance / shape
            near = np.log1p(np.clip(distance, -0.5, 0.5)) + log_over_psi(shape) - log_over_psi(self.sum)
            by_distance = ~self.small[which] & (np.abs(distance) < 0.5)
            log = np.where(point > 0.5, np.log1p(-(y if which == 0 else x)), np.log(point))
            found.append(np.where(by_distance, near, log + self._change(which, 0)))
        return found[0], found[1]

    def at(self, first: Any, second: Any) -> Any:
        """Return the polynomial."""
        j, k = self.n
        found = bell_polynomials(first, second, self.cumulants, self.n)
        (left, right), whole = self.factors, found[j, k]
        whole = whole + (j * left * found[j - 1, k] if j else 0.0) + (k * right * found[j, k - 1] if k else 0.0)
        return whole + (j * k * left * right * found[j - 1, k - 1] if j and k else 0.0)


def bell_polynomials(first: Any, second: Any, cumulants: dict[Orders, Any], n: Orders) -> dict[Orders, Any]:
    """Return the derivatives of orders up to n of exp(f), divided by exp(f): complete Bell polynomials.

    Args:
        first: the first derivative of f in its first variable.
        second: that in its second variable.
        cumulants: by orders, the further derivatives of −f.
        n: the highest orders.
    """
    found: dict[Orders, Any] = {(0, 0): 0.0 * first + 1.0}
    for q, p in [*np.ndindex(n[1] + 1, n[0] + 1)][1:]:
        low = (p - 1, q) if p else (0, q - 1)
        total = (first if p else second) * found[low]
        for i, m in [*np.ndindex(low[0] + 1, low[1] + 1)][1:]:
            ways = math.comb(low[0], i) * math.comb(low[1], m)
            order = (i + 1, m) if p else (i, m + 1)
            total = total - ways * cumulants[order] * found[low[0] - i, low[1] - m]
        found[p, q] = total
    return found


def _in_double(a: Any, b: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    dtype = np.asarray(x).dtype
    a, b, x = np.broadcast_arrays(*[np.asarray(each, np.float64) for each in (a, b, x)])
    return a, b, x, dtype


def beta_density(a: Any, b: Any, x: Any, *, n: Orders) -> Any:
    """Return the derivative of orders n in a and b of xᵃ⁻¹(1 − x)ᵇ⁻¹/B(a, b)."""
    a, b, x, dtype = _in_double(a, b, x)
    with np.errstate(all="ignore"):
        y = 1.0 - x
        found = _weight(a, b, x, y) / x / y
        if any(n):
            kernel = _BetaKernel(a, b, n)
            found = found * kernel.at(*kernel.centred(x, y))
        for edge, shape, other in ((x == 0.0, a, b), (y == 0.0, b, a)):
            at_one = other if not any(n) else np.nan
            at_edge = np.where(shape > 1.0, 0.0, np.where(shape == 1.0, at_one, np.inf if not any(n) else np.nan))
            found = np.where(edge, at_edge, found)
    return np.asarray(np.where((a > 0) & (b > 0) & (x >= 0) & (x <= 1), found, np.nan), dtype)


def beta_distribution(a: Any, b: Any, x: Any, *, n: Orders) -> Any:
    """Return the derivative of orders n in a and b of the regularised incomplete beta function I_x(a, b).

    The density's derivative is integrated over the side of x on which the one of first order has one sign. The
    variable is log(t/(1 − t)), in which the density is log-concave.
    """
    a, b, x, dtype = _in_double(a, b, x)
    with np.errstate(all="ignore"):
        if not any(n):
            return np.asarray(special.betainc(a, b, x), dtype)
        inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a) & np.isfinite(b)
        at_end = np.where((a > 0) & (b > 0) & ((x == 0.0) | (x == 1.0)), 0.0, np.nan)
        a, b, x = [np.where(inside, each, usual) for each, usual in ((a, 1.0), (b, 1.0), (x, 0.5))]
        found = _side(a, b, x, 1.0 - x, n)
    return np.asarray(np.where(inside, found, at_end), dtype)


def _side(a: Any, b: Any, x: Any, y: Any, n: Orders) -> Any:
    """Integrate to the right of x, or to the left with the roles of t and 1 − t exchanged."""
    kernel = _BetaKernel(a, b, n)
    first, second = kernel.centred(x, y)
    upper = first + kernel.factors[0] > 0.0 if n[0] else second + kernel.factors[1] < 0.0
    near, far = np.where(upper, a, b), np.where(upper, b, a)  # the powers that grow and that fall outwards
    p, q = np.where(upper, x, y), np.where(upper, y, x)
    odds = np.log(q) - np.log(p)
    peak = np.maximum(np.log(near) - np.log(far) + odds, 0.0)

    log_p = np.log(p)

    def logs(v: Any) -> tuple[Any, Any]:
        """Return by how much the logarithms of the near and of the far power's base have grown.

        These are −log(p + q e⁻ᵛ) and −log(q + p eᵛ).
        """
        decay, lost = np.exp(-v), np.expm1(-v)
        shrunk = q * lost  # near −1 it has lost p, which is what is left there
        rest = np.where(shrunk > -0.5, 1.0 + shrunk, p + q * decay)
        rounding = np.where((shrunk > -0.5) & (rest < 1.0), shrunk / (rest - 1.0), 1.0)  # of 1 + shrunk
        grown = np.where(rest < 1.0, np.log(rest) * rounding, shrunk)
        far = log_p + v
        beyond = np.where(v < 300.0, -p * lost / decay, np.exp(np.minimum(far, 300.0)))
        return -grown, -np.where((v < 300.0) | (far < 300.0), np.log1p(beyond), far)

    def exponent(v: Any) -> Any:
        grown, fallen = logs(v)
        return near * grown + far * fallen

    def slope(v: Any) -> Any:
        return near * (q / (q + p * np.exp(v))) - far * (p / (p + q * np.exp(-v)))

    def integrand(v: Any) -> Any:
        grown, fallen = logs(v)
        of_t, of_rest = np.where(upper, grown, fallen), np.where(upper, fallen, grown)
        return np.exp(near * grown + far * fallen) * kernel.at(first + of_t, second + of_rest)

    tail = tail_integral(integrand, exponent, slope, peak, np.maximum(odds, 0.0))
    return np.where(upper, -tail, tail) * _weight(a, b, x, y)
