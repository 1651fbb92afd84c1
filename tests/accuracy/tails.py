"""Distribution functions of any precision: series of positive terms, continued fractions, and their inverses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy import special

FARTHEST = 1e5
"""The largest logarithm that a search for an inverse may try. Chosen: beyond all floats."""


class NoReferenceError(ArithmeticError):
    """A reference is not known at a point."""


def _fraction(m: Any, terms: Callable[[int], tuple[Any, Any]]) -> Any:
    """Return the continued fraction a₁/(b₁ + a₂/(b₂ + …)) by the modified Lentz method."""
    tiny = m.mpf(10) ** (-3 * m.dps)
    found, c, d, k = tiny, tiny, m.mpf(0), 0
    while True:
        k += 1
        a, b = terms(k)
        d = 1 / (b + a * d or tiny)
        c = b + a / c or tiny
        found *= c * d
        if abs(c * d - 1) < m.eps:
            return found


def gamma(m: Any, a: Any, x: Any, upper: bool = False) -> Any:
    """Return P(a, x) or 1 − P(a, x): a power series (DLMF 8.11.4), and far out a continued fraction (8.9.2)."""
    if a <= 0 or x < 0:
        raise NoReferenceError
    small_shape = max(0, -int(m.log10(a)))
    by_series = x < max(a + 1, 2 * m.dps)
    with m.extradps(20 + small_shape + (int(x) if by_series and x > a else 0)):
        lead = m.exp(a * m.log(x) - x - m.loggamma(a)) if x else m.mpf(0)
        if by_series:
            term = total = 1 / a
            k = 0
            while abs(term) > m.eps * abs(total):
                k += 1
                term = term * x / (a + k)
                total += term
            return 1 - lead * total if upper else lead * total
        found = lead * _fraction(m, lambda k: (m.mpf(1) if k == 1 else -(k - 1) * (k - 1 - a), x + 2 * k - 1 - a))
        return found if upper else 1 - found


def beta(m: Any, a: Any, b: Any, x: Any, y: Any = None, upper: bool = False) -> Any:
    """Return I_x(a, b) or 1 − I_x(a, b), with y = 1 − x, by a continued fraction (DLMF 8.17.22)."""
    if a <= 0 or b <= 0 or not 0 <= x <= 1:
        raise NoReferenceError
    with m.extradps(20 + max(0, -int(m.log10(min(a, b))), -int(m.log10(x)) if x else 0)):
        y = 1 - x if y is None else y
        if x * (a + b + 2) > a + 1:
            return beta(m, b, a, y, x, not upper)

        def terms(k: int) -> tuple[Any, Any]:
            n, odd = divmod(k - 1, 2)
            if k == 1:
                return m.mpf(1), m.mpf(1)
            if odd:
                return -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1)), m.mpf(1)
            return n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n)), m.mpf(1)

        log = a * m.log(x) + b * m.log(y) + m.loggamma(a + b) - m.loggamma(a) - m.loggamma(b)
        found = m.exp(log) / a * _fraction(m, terms)
        return 1 - found if upper else found


def normal(m: Any, x: Any) -> Any:
    """Return Φ(x)."""
    return m.erfc(-x / m.sqrt(2)) / 2


def t(m: Any, df: Any, x: Any) -> Any:
    """Return the distribution function of Student's t."""
    tail = beta(m, df / 2, m.mpf(1) / 2, df / (df + x * x), x * x / (df + x * x)) / 2
    return tail if x < 0 else 1 - tail


def _solved(m: Any, log: Callable[[Any], Any], wanted: Any, start: Any) -> Any:
    """Return the u at which a smooth increasing logarithm is what is wanted, by the secant method."""
    before, u = m.mpf(start) - m.mpf(10) ** -6, m.mpf(start)
    value = log(before) - wanted
    for _ in range(60):
        found = log(u) - wanted
        if found == value:
            break
        before, value, u = u, found, u - found * (u - before) / (found - value)
        if abs(u) > FARTHEST:
            break
        if abs(u - before) < m.mpf(10) ** (15 - m.dps) * (1 + abs(u)):
            return u
    raise NoReferenceError


def gamma_inverse(m: Any, a: Any, p: Any, upper: bool = False) -> Any:
    """Return the x at which P(a, x) or 1 − P(a, x) is p."""
    start = (special.gammainccinv if upper else special.gammaincinv)(float(a), float(p))
    if not 0 < start < float("inf"):
        raise NoReferenceError
    sign = -1 if upper else 1
    return m.exp(_solved(m, lambda u: sign * m.log(gamma(m, a, m.exp(u), upper)), sign * m.log(p), m.log(start)))


def beta_inverse(m: Any, a: Any, b: Any, p: Any, upper: bool = False) -> Any:
    """Return the x at which I_x(a, b) or 1 − I_x(a, b) is p."""
    start = m.mpf(float((special.betainccinv if upper else special.betaincinv)(float(a), float(b), float(p))))
    if not 0 < start < 1:
        raise NoReferenceError
    sign = -1 if upper else 1

    def log(u: Any) -> Any:
        return sign * m.log(beta(m, a, b, 1 / (1 + m.exp(-u)), 1 / (1 + m.exp(u)), upper))

    return 1 / (1 + m.exp(-_solved(m, log, sign * m.log(p), m.log(start / (1 - start)))))


def erfc_inverse(m: Any, q: Any) -> Any:
    """Return the x at which erfc is q, of 0 < q < 2."""
    if q > 1:
        return -erfc_inverse(m, 2 - q)
    if q > 0.5:
        return m.erfinv(1 - q)
    if q <= 0:
        raise NoReferenceError
    return -_solved(m, lambda u: m.log(m.erfc(-u)), m.log(q), -m.sqrt(-m.log(q)))


def t_inverse(m: Any, df: Any, p: Any) -> Any:
    """Return the t at which the distribution function is p."""
    if p > 0.5:
        return -t_inverse(m, df, 1 - p)
    start = m.mpf(float(special.stdtrit(float(df), float(p))))
    if not -float("inf") < start < 0:
        raise NoReferenceError
    return -m.exp(-_solved(m, lambda u: m.log(t(m, df, -m.exp(-u))), m.log(p), -m.log(-start)))
