"""SciPy's special functions that are formulas of others, under its names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from primad import ops
from primad.ir.array_types import is_complex
from primad.numpy.elementwise.logic import isfinite
from primad.numpy.elementwise.ufuncs import absolute, defined_where, expm1, hypot, log1p, sin, where
from primad.numpy.promotion import as_float, harmonize, implements
from primad.system.deferred import Deferred, special

__all__ = [
    "boxcox", "boxcox1p", "cosm1", "entr", "huber", "inv_boxcox", "inv_boxcox1p", "kl_div", "log_expit", "multigammaln",
    "pseudo_huber", "rel_entr", "xlog1py",
]  # fmt: skip


def formula(*originals: Deferred) -> Callable[[Callable[..., Any]], Any]:
    """Register a formula of traced floats that have one shape."""

    def decorate(function: Callable[..., Any]) -> Any:
        def apply(*operands: Any) -> Any:
            return function(*harmonize(function.__name__, *operands, floats=True))

        apply.__name__ = apply.__qualname__ = function.__name__
        apply.__doc__ = function.__doc__
        return implements(*originals, ufunc=True)(apply)

    return decorate


@formula(special.xlog1py)
def xlog1py(x: Any, y: Any) -> Any:
    """scipy.special.xlog1py: x·log(1 + y), and 0 where x = 0."""
    regular = isfinite(y) & (y != -1) if is_complex(y.dtype) else (y > -1.0) & (y < math.inf)
    nothing = (x == 0) & (y == y) & ~regular
    return where(nothing, 0.0 * x, x) * log1p(where(nothing, 0.0, y))


@formula(special.log_expit)
def log_expit(x: Any) -> Any:
    """scipy.special.log_expit: log(1/(1 + e⁻ˣ)), without overflow."""
    return -ops.softplus(-x)


@formula(special.entr)
def entr(x: Any) -> Any:
    """scipy.special.entr: −x·log x, 0 at 0 and −∞ below."""
    inside = where(x > 0, x, 1.0)
    return where(x > 0, -inside * ops.log(inside), where(x == 0, _steep_zero(x), where(x < 0, -math.inf, x)))


def _steep_zero(x: Any) -> Any:
    """Return 0 for 0, with the infinite slope to the right that x·log(1/x) has there, as √x has one."""
    return ops.sqrt(where(x == 0, x, 1.0))


@formula(special.rel_entr)
def rel_entr(x: Any, y: Any) -> Any:
    """scipy.special.rel_entr: x·log(x/y), 0 where x = 0 ≤ y, and ∞ outside of the domain."""
    inside = (x > 0) & (y > 0)
    a, b = where(inside, x, 1.0), where(inside, y, 1.0)
    outside = where((x == 0) & (y >= 0), -_steep_zero(x), _infinite(x, y))
    return where(inside, a * _log_ratio(a, b), outside)


def _infinite(x: Any, y: Any) -> Any:
    """Return ∞, and NaN with derivatives that are NaN where x or y is NaN."""
    known = (x == x) & (y == y)
    return where(known, math.inf, defined_where(known, x + y))


def _log_ratio(a: Any, b: Any) -> Any:
    """Return log(a/b): by log1p of the difference where a and b are close, whose quotient is rounded."""
    ratio = a / b
    near = (ratio > 0.5) & (ratio < 2.0)
    close = log1p(where(near, (a - b) / b, 0.0))
    possible = (ratio > 1e-290) & (ratio < 1e290)
    return where(near, close, where(possible, ops.log(where(possible, ratio, 1.0)), ops.log(a) - ops.log(b)))


@formula(special.kl_div)
def kl_div(x: Any, y: Any) -> Any:
    """scipy.special.kl_div: x·log(x/y) − x + y, y where x = 0 ≤ y, and ∞ outside of the domain."""
    inside = (x > 0) & (y > 0)
    a, b = where(inside, x, 1.0), where(inside, y, 1.0)
    outside = where((x == 0) & (y >= 0), y - _steep_zero(x), _infinite(x, y))
    return where(inside, a * _log_ratio(a, b) - a + b, outside)


@formula(special.huber)
def huber(delta: Any, r: Any) -> Any:
    """scipy.special.huber: r²/2 for |r| ≤ delta, else delta·(|r| − delta/2); ∞ for negative delta."""
    size = absolute(r)
    inside = size <= delta
    found = where(inside, 0.5 * r * r, delta * (size - 0.5 * delta))
    return where(delta < 0, math.inf, found)


@formula(special.pseudo_huber)
def pseudo_huber(delta: Any, r: Any) -> Any:
    """scipy.special.pseudo_huber: delta²·(√(1 + (r/delta)²) − 1), without cancellation; ∞ for negative delta."""
    positive, small = where(delta <= 0, 1.0, delta), delta < absolute(r)
    ratio = where(small, 1.0, r / positive)
    found = r * ratio * positive / (hypot(ratio, 1.0) + 1.0)
    found = where(small, positive * (hypot(positive, where(small, r, 1.0)) - positive), found)
    beside = where(delta == 0, delta * absolute(r), where(r == 0, 0.0, found))  # it is linear near delta = 0
    return where(delta < 0, math.inf, where(delta > 0, found, beside))


@formula(special.cosm1)
def cosm1(x: Any) -> Any:
    """scipy.special.cosm1: cos x − 1, accurate near 0."""
    half = sin(0.5 * x)
    return -2.0 * half * half


def _power_over(log_x: Any, lmbda: Any) -> Any:
    """Return (exp(lmbda·log x) − 1)/lmbda, smooth where lmbda is 0, and with its limits where log x is infinite.

    Elsewhere it is that quotient: the derivative of the smooth form is a difference, and loses digits of small powers.
    """
    near = (absolute(lmbda * log_x) < 1.0) | (lmbda == 0.0)
    infinite = near & (absolute(log_x) == math.inf)
    inner = where(near & ~infinite, log_x, 0.0)
    quotient = expm1(lmbda * where(near, 0.0, log_x)) / where(near, 1.0, lmbda)
    return where(infinite, log_x, where(near, inner * ops.exprel(lmbda * inner, n=0), quotient))


@formula(special.boxcox)
def boxcox(x: Any, lmbda: Any) -> Any:
    """scipy.special.boxcox: (x**lmbda − 1)/lmbda, of x > 0; log x where lmbda is 0."""
    return _power_over(ops.log(x), lmbda)


@formula(special.boxcox1p)
def boxcox1p(x: Any, lmbda: Any) -> Any:
    """scipy.special.boxcox1p: ((1 + x)**lmbda − 1)/lmbda, of x > −1; log(1 + x) where lmbda is 0."""
    return _power_over(log1p(x), lmbda)


def log1p_over(x: Any, lmbda: Any) -> Any:
    """Return log(1 + lmbda·x)/lmbda; near 0, where that is x·(1 − lmbda·x/2 + …), by its series."""
    z = lmbda * x
    small = absolute(z) < SERIES
    divisor = where(small, 1.0, lmbda)
    series = 0.0 * z
    for k in range(TERMS, 0, -1):
        series = 1.0 / k - where(small, z, 0.0) * series
    return where(small, x * series, log1p(where(small, 0.0, z)) / divisor)


SERIES, TERMS = 0.05, 16
"""Below which size, and with how many terms, the series of log(1 + z)/z is taken: 0.05¹⁶ is below 2⁻⁶⁴. Derived."""


@formula(special.inv_boxcox)
def inv_boxcox(y: Any, lmbda: Any) -> Any:
    """scipy.special.inv_boxcox: (1 + lmbda·y)**(1/lmbda); exp(y) where lmbda is 0."""
    return ops.exp(log1p_over(y, lmbda))


@formula(special.inv_boxcox1p)
def inv_boxcox1p(y: Any, lmbda: Any) -> Any:
    """scipy.special.inv_boxcox1p: (1 + lmbda·y)**(1/lmbda) − 1; exp(y) − 1 where lmbda is 0."""
    return expm1(log1p_over(y, lmbda))


@implements(special.multigammaln)
def multigammaln(a: Any, d: int) -> Any:
    """scipy.special.multigammaln: the logarithm of the multivariate gamma function of dimension d."""
    a = as_float(a)
    return sum([ops.gammaln(a - 0.5 * j) for j in range(d)], 0.25 * d * (d - 1) * math.log(math.pi))
