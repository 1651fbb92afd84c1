"""Densities and tails of the beta distribution and all their derivatives in both shapes, as integrals."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from primad.ops.special.gamma_tails import (
    LEAST,
    Orders,
    bell_polynomials,
    deviance,
    log_derivatives,
    log_gamma_correction,
    log_of_probability,
    log_over_psi,
)
from primad.ops.special.quadrature import tail_integral
from primad.ops.special.series import polygamma_change
from primad.system.deferred import special


def _weight_parts(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return an exponent and a factor of xᵃyᵇ/B(a, b), y = 1 − x, by the distance of x from a/(a + b).

    Source: C. Loader, "Fast and accurate computation of binomial probabilities" (2000).
    """
    n, away = a + b, b * x - a * y
    exponent = -a * deviance(away / a, x + b * x / a) - b * deviance(-away / b, y + a * y / b)
    exponent += log_gamma_correction(n) - log_gamma_correction(a) - log_gamma_correction(b)
    return exponent, np.sqrt(a / n * b / (2.0 * math.pi))


def _weight(a: Any, b: Any, x: Any, y: Any) -> Any:
    exponent, factor = _weight_parts(a, b, x, y)
    return np.exp(exponent) * factor


class _BetaKernel:
    """The derivative of orders (j, k) in a and b of tᵃ(1 − t)ᵇ/B(a, b), divided by that: a polynomial of logarithms.

    1/Γ(a) is a/Γ(a + 1) where a is small, and a is differentiated as it stands: terms that cancel are never formed.
    """

    def __init__(self, a: Any, b: Any, n: Orders) -> None:
        self.n, self.a, self.b, self.sum = n, a, b, a + b
        self.small = a < 1.0, b < 1.0
        self.shifted = np.where(self.small[0], a + 1.0, a), np.where(self.small[1], b + 1.0, b)
        self.factors = np.where(self.small[0], 1.0 / a, 0.0), np.where(self.small[1], 1.0 / b, 0.0)
        self.logs = {(j, k): self._of_log(j, k) for j in range(n[0] + 1) for k in range(n[1] + 1) if j + k > 1}

    def _of_log(self, j: int, k: int) -> Any:
        """Return the derivative of orders (j, k) of −log B, of shapes that are shifted where they are small."""
        if j and k:
            return special.polygamma(j + k - 1, self.sum)
        return self._change(0 if j else 1, j + k - 1)

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
        found = bell_polynomials({(1, 0): first, (0, 1): second, **self.logs}, self.n)
        (left, right), whole = self.factors, found[j, k]
        whole = whole + (j * left * found[j - 1, k] if j else 0.0) + (k * right * found[j, k - 1] if k else 0.0)
        return whole + (j * k * left * right * found[j - 1, k - 1] if j and k else 0.0)


def _in_double(a: Any, b: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    dtype = np.asarray(x).dtype
    a, b, x = np.broadcast_arrays(*[np.asarray(each, np.float64) for each in (a, b, x)])
    return a, b, x, dtype


def beta_density(a: Any, b: Any, x: Any, *, n: Orders) -> Any:
    """Return the derivative of orders n in a and b of xᵃ⁻¹(1 − x)ᵇ⁻¹/B(a, b)."""
    a, b, x, dtype = _in_double(a, b, x)
    with np.errstate(all="ignore"):
        y = 1.0 - x
        exponent, factor = _weight_parts(a, b, x, y)
        found = np.exp(exponent) * factor / x / y
        small = found < LEAST
        if np.any(small):  # the weight may vanish where the density does not
            found = np.where(small, np.exp(exponent - np.log(x) - np.log(y)) * factor, found)
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


def _of_tail(a: Any, b: Any, x: Any, n: Orders, upper: bool) -> tuple[Any, ...]:
    """Return operands and orders of what is a lower tail: an upper one's roles of t and 1 − t are exchanged."""
    return (b, a, 1.0 - x, x, n[::-1]) if upper else (a, b, x, 1.0 - x, n)


def _below(a: Any, b: Any, x: Any, y: Any, n: Orders) -> tuple[Any, dict[Orders, Any]]:
    """Return M = ∫ (t/x)ᵃ((1 − t)/y)ᵇ/(t(1 − t)) dt over t < x, and the derivatives of log M in a and b up to orders n.

    M is I_x(a, b) over the density times xy, and neither overflows nor vanishes where they do.
    """

    def logs(v: Any) -> tuple[Any, Any]:
        """Return log(t/x) and log((1 − t)/y) where the odds of t are those of x times exp(−v)."""
        change = x * np.expm1(-v)
        fallen = -np.where(change > -0.5, np.log1p(np.maximum(change, -0.5)), np.log(y + x * np.exp(-v)))
        return fallen - v, fallen

    def exponent(v: Any) -> Any:
        of_t, of_rest = logs(v)
        return a * of_t + b * of_rest

    def slope(v: Any) -> Any:
        e = x * np.exp(-v)
        return (b * e - a * y) / (y + e)

    def integral(j: int, k: int) -> Any:
        def integrand(v: Any) -> Any:
            of_t, of_rest = logs(v)
            return of_t**j * of_rest**k * np.exp(a * of_t + b * of_rest)

        return tail_integral(integrand, exponent, slope, np.zeros(a.shape))

    whole = integral(0, 0)
    orders = [*np.ndindex(n[0] + 1, n[1] + 1)][1:]
    return whole, log_derivatives({order: integral(*order) / whole for order in orders}, n)


def _probability(a: Any, b: Any, x: Any, upper: bool) -> Any:
    """Return a tail. SciPy's complement takes many times as long as the function, and is asked where it must be."""
    found = np.asarray(special.betainc(a, b, x))
    if not upper:
        return found
    found = 1.0 - found
    small = found < 0.5
    for chosen, own in (
        (small & (x >= 0.5), lambda a, b, x: special.betainc(b, a, 1.0 - x)),
        (small & (x < 0.5), special.betaincc),
    ):
        if np.any(chosen):
            found = np.array(found)
            found[chosen] = own(a[chosen], b[chosen], x[chosen])
    return found


def _far(plain: Any, a: Any, b: Any, x: Any) -> Any:
    return (plain < LEAST) & (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a) & np.isfinite(b)


def _of_log_weight(a: Any, b: Any, x: Any, y: Any, n: Orders) -> Any:
    """Return the derivative of orders n in a and b of log(xᵃyᵇ/B(a, b))."""
    j, k = n
    if j and k:
        return special.polygamma(j + k - 1, a + b)
    log = (np.log(x) if j else np.where(y > 0.5, np.log1p(-x), np.log(y))) if j + k == 1 else 0.0
    return log + polygamma_change(a if j else b, b if j else a, n=j + k - 1)


def log_beta_tail(a: Any, b: Any, x: Any, *, n: Orders, upper: bool) -> Any:
    """Return the derivative of orders n in a and b of log(1 − I_x(a, b)), or of log I_x(a, b).

    Both go on where those vanish.
    """
    a, b, x, dtype = _in_double(a, b, x)
    with np.errstate(all="ignore"):
        plain = _probability(a, b, x, upper)
        if any(n):
            orders, sign = [*np.ndindex(n[0] + 1, n[1] + 1)][1:], -1.0 if upper else 1.0
            parts = {order: sign * beta_distribution(a, b, x, n=order) / plain for order in orders}
            found = np.asarray(log_derivatives(parts, n)[n])
        else:
            found = log_of_probability(plain, partial(_probability, upper=not upper), a, b, x)
        far = _far(plain, a, b, x)
        if np.any(far):
            found = np.array(found)
            p, q, near, rest, order = _of_tail(a[far], b[far], x[far], n, upper)
            whole, logs = _below(p, q, near, rest, order)
            if any(n):
                found[far] = logs[order] + _of_log_weight(p, q, near, rest, order)
            else:
                exponent, factor = _weight_parts(p, q, near, rest)
                found[far] = exponent + np.log(factor * whole)
    return np.asarray(found, dtype)


def beta_hazard(a: Any, b: Any, x: Any, *, n: Orders, upper: bool) -> Any:
    """Return the derivative of orders n in a and b of the beta distribution's density over a tail."""
    a, b, x, dtype = _in_double(a, b, x)
    with np.errstate(all="ignore"):
        plain = _probability(a, b, x, upper)
        found = beta_density(a, b, x, n=(0, 0)) / plain
        orders = [*np.ndindex(n[0] + 1, n[1] + 1)][1:]
        logs = {
            order: _of_log_weight(a, b, x, 1.0 - x, order) - log_beta_tail(a, b, x, n=order, upper=upper)
            for order in orders
        }
        found = np.asarray(found * bell_polynomials(logs, n)[n])
        far = _far(plain, a, b, x)
        if np.any(far):
            found = np.array(found)
            p, q, near, rest, order = _of_tail(a[far], b[far], x[far], n, upper)
            whole, logs = _below(p, q, near, rest, order)
            bell = bell_polynomials({each: -log for each, log in logs.items()}, order)[order]
            found[far] = bell / (near * rest * whole)
    return np.asarray(found, dtype)
