"""SciPy's distribution functions in their older form: formulas of incomplete gamma and beta functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad import ops
from primad.numpy.elementwise.ufuncs import absolute, log1p, where
from primad.numpy.promotion import harmonize
from primad.numpy.special_functions.formulas import SERIES, TERMS, formula
from primad.ops.record.primitive import full
from primad.system.deferred import special

__all__ = [
    "bdtr", "bdtrc", "bdtri", "chdtr", "chdtrc", "chdtri", "fdtr", "fdtrc", "fdtri", "gdtr", "gdtrc", "gdtria",
    "gdtrix", "nbdtr", "nbdtrc", "nbdtri", "ndtri_exp", "nrdtrimn", "nrdtrisd", "pdtr", "pdtrc", "pdtri", "stdtr",
    "stdtrit",
]  # fmt: skip


def lower_beta(a: Any, b: Any, x: Any) -> Any:
    """Return I_x(a, b)."""
    return ops.betainc(a, b, x, n=(0, 0))


def _of_beta(a: Any, b: Any, x: Any, *, upper: bool) -> Any:
    return ops.betaincc(a, b, x) if upper else lower_beta(a, b, x)


def _log_of_beta(a: Any, b: Any, x: Any, *, upper: bool) -> Any:
    return ops.log_beta_tail(a, b, x, n=(0, 0), upper=upper)


def log_beta_tail(a: Any, b: Any, x: Any, upper: bool) -> Any:
    """Return the logarithm of betainc, or of betaincc, also where those vanish."""
    return _log_of_beta(*harmonize("betainc", a, b, x, floats=True), upper=upper)


def log_gamma_tail(a: Any, x: Any, upper: bool) -> Any:
    """Return the logarithm of gammainc, or of gammaincc, also where those vanish."""
    return ops.log_gamma_tail(*harmonize("gammainc", a, x, floats=True), n=0, upper=upper)


@formula(special.bdtr)
def bdtr(k: Any, n: Any, p: Any) -> Any:
    """scipy.special.bdtr: the probability of at most k successes in n trials."""
    k = ops.floor(k)
    return where(k >= n, where(p == p, 1.0, p), ops.betaincc(k + 1.0, where(k >= n, 1.0, n - k), p))


@formula(special.bdtrc)
def bdtrc(k: Any, n: Any, p: Any) -> Any:
    """scipy.special.bdtrc: the probability of more than k successes in n trials."""
    k = ops.floor(k)
    return where(k >= n, where(p == p, 0.0, p), lower_beta(k + 1.0, where(k >= n, 1.0, n - k), p))


@formula(special.bdtri)
def bdtri(k: Any, n: Any, y: Any) -> Any:
    """scipy.special.bdtri: the p at which bdtr is y."""
    k = ops.floor(k)
    return ops.betainccinv(k + 1.0, n - k, y)


@formula(special.nbdtr)
def nbdtr(k: Any, n: Any, p: Any) -> Any:
    """scipy.special.nbdtr: the probability of at most k failures before n successes."""
    return lower_beta(n, ops.floor(k) + 1.0, p)


@formula(special.nbdtrc)
def nbdtrc(k: Any, n: Any, p: Any) -> Any:
    """scipy.special.nbdtrc: the probability of more than k failures before n successes."""
    return ops.betaincc(n, ops.floor(k) + 1.0, p)


@formula(special.nbdtri)
def nbdtri(k: Any, n: Any, y: Any) -> Any:
    """scipy.special.nbdtri: the p at which nbdtr is y."""
    return ops.betaincinv(n, ops.floor(k) + 1.0, y)


@formula(special.pdtr)
def pdtr(k: Any, m: Any) -> Any:
    """scipy.special.pdtr: the probability of at most k events, m expected."""
    return ops.gammaincc(ops.floor(k) + 1.0, m)


@formula(special.pdtrc)
def pdtrc(k: Any, m: Any) -> Any:
    """scipy.special.pdtrc: the probability of more than k events, m expected."""
    return ops.gammainc(ops.floor(k) + 1.0, m, n=0)


@formula(special.pdtri)
def pdtri(k: Any, y: Any) -> Any:
    """scipy.special.pdtri: the m at which pdtr is y."""
    return ops.gammainccinv(ops.floor(k) + 1.0, y)


@formula(special.chdtr)
def chdtr(v: Any, x: Any) -> Any:
    """scipy.special.chdtr: the chi-squared distribution function of v degrees of freedom."""
    return ops.gammainc(0.5 * v, 0.5 * x, n=0)


@formula(special.chdtrc)
def chdtrc(v: Any, x: Any) -> Any:
    """scipy.special.chdtrc: the complement of chdtr."""
    return ops.gammaincc(0.5 * v, 0.5 * x)


@formula(special.chdtri)
def chdtri(v: Any, p: Any) -> Any:
    """scipy.special.chdtri: the x at which chdtrc is p."""
    return 2.0 * ops.gammainccinv(0.5 * v, p)


@formula(special.gdtr)
def gdtr(a: Any, b: Any, x: Any) -> Any:
    """scipy.special.gdtr: the gamma distribution function of rate a and shape b."""
    return ops.gammainc(b, a * x, n=0)


@formula(special.gdtrc)
def gdtrc(a: Any, b: Any, x: Any) -> Any:
    """scipy.special.gdtrc: the complement of gdtr."""
    return ops.gammaincc(b, a * x)


@formula(special.gdtrix)
def gdtrix(a: Any, b: Any, p: Any) -> Any:
    """scipy.special.gdtrix: the x at which gdtr is p."""
    return ops.gammaincinv(b, p) / a


@formula(special.gdtria)
def gdtria(p: Any, b: Any, x: Any) -> Any:
    """scipy.special.gdtria: the rate at which gdtr is p."""
    return ops.gammaincinv(b, p) / x


@formula(special.fdtr)
def fdtr(dfn: Any, dfd: Any, x: Any) -> Any:
    """scipy.special.fdtr: the F distribution function."""
    return f_probability(dfn, dfd, x, upper=False)


@formula(special.fdtrc)
def fdtrc(dfn: Any, dfd: Any, x: Any) -> Any:
    """scipy.special.fdtrc: the complement of fdtr."""
    return f_probability(dfn, dfd, x, upper=True)


def log_f_tail(dfn: Any, dfd: Any, x: Any, upper: bool) -> Any:
    """Return the logarithm of fdtr, or of fdtrc, also where those vanish."""
    return f_probability(*harmonize("fdtr", dfn, dfd, x, floats=True), upper=upper, tail=_log_of_beta)


def f_probability(dfn: Any, dfd: Any, x: Any, *, upper: bool, tail: Any = _of_beta) -> Any:
    """Return a tail of F, by the one of dfn·x and dfd that is smaller than their sum's half."""
    ahead, total = dfn * x, dfn * x + dfd
    small = ahead < dfd
    below = where(small, ahead, dfd) / total
    left = tail(0.5 * dfn, 0.5 * dfd, where(small, below, 0.5), upper=upper)
    return where(small, left, tail(0.5 * dfd, 0.5 * dfn, where(small, 0.5, below), upper=not upper))


@formula(special.fdtri)
def fdtri(dfn: Any, dfd: Any, p: Any) -> Any:
    """scipy.special.fdtri: the x at which fdtr is p."""
    return dfd / dfn * _beta_odds(0.5 * dfn, 0.5 * dfd, p)


def _beta_odds(a: Any, b: Any, p: Any) -> Any:
    """Return x/(1 − x) of the x at which I_x(a, b) is p, by the smaller one of x and 1 − x: the other one is flat."""
    low = ops.betaincinv(a, b, p)
    small = low < 0.5
    low, high = where(small, low, 0.5), where(small, 0.5, ops.betainccinv(b, a, p))
    return where(small, low / (1.0 - low), (1.0 - high) / high)


@formula(special.stdtr)
def stdtr(df: Any, t: Any) -> Any:
    """scipy.special.stdtr: Student's t distribution function of df degrees of freedom."""
    return t_probability(df, t)


def t_probability(df: Any, t: Any) -> Any:
    """Return the probability of a smaller t."""
    near, middle = _near_middle(df, t)
    far, log_tail = _far_out(df, t)
    tail = where(far, ops.exp(log_tail), 0.5 * _outside(df, where(far, df, t * t), _of_beta))
    return where(near, middle, where(t < 0.0, tail, 1.0 - tail))


def _near_middle(df: Any, t: Any) -> tuple[Any, Any]:
    """Return where t is close to 0, and the probability there, ½ elsewhere, by its power series.

    An even function, as that of t² is, has derivatives of odd orders that cancel there.
    """
    square, half, root = t * t, 0.5 * df, 0.5 + 0.0 * df
    near = square * (1.0 + 1.0 / df) < SERIES
    series = where(near, t, 0.0) * _over_density(df, where(near, square, 0.0)) * ops.exp(-ops.betaln(half, root))
    return near, 0.5 + series / ops.sqrt(df)


def _far_out(df: Any, t: Any) -> tuple[Any, Any]:
    """Return where t is large and x = df/(df + t²) nothing beside 1, and log(I_x(df/2, ½)/2), I being a power of x."""
    eps = float(np.finfo(t.dtype).eps)
    far = (df / (df + t * t) < eps**2) & (absolute(t) > 1.0 / eps) & (absolute(t) < math.inf)
    half, size = 0.5 * df, where(far, absolute(t), 1.0)
    beta = ops.log(df + 1.0) + ops.betaln(half + 1.0, 0.5 + 0.0 * df)  # df·B(df/2, ½), also of a df next to 0
    return far, half * ops.log(df) - df * ops.log(size) - beta


def _outside(df: Any, square: Any, tail: Any) -> Any:
    """Return a tail of t², by the one of t² and df that is smaller."""
    far, half, root = square > df, 0.5 * df, 0.5 + 0.0 * df
    ratio = where(far, 0.5, square / (df + square))
    outer = tail(half, root, df / where(far, df + square, 2.0 * df), upper=False)
    return where(far, outer, tail(root, half, where(ratio == 0.0, 0.25, ratio), upper=True))


def log_t_tail(df: Any, t: Any) -> Any:
    """Return the logarithm of stdtr, also where that vanishes."""
    df, t = harmonize("stdtr", df, t, floats=True)
    near, middle = _near_middle(df, t)
    far, log_tail = _far_out(df, t)
    tail = where(far, log_tail, _outside(df, where(near | far, df, t * t), _log_of_beta) - math.log(2.0))
    return where(near, ops.log(middle), where(t < 0.0, tail, log1p(-ops.exp(tail))))


def _over_density(df: Any, square: Any) -> Any:
    """Return the integral of the density from 0 to t, over t times the density at 0, by its power series in t²."""
    total = full(1.0 / (2 * TERMS + 1), square)
    for k in range(TERMS - 1, -1, -1):
        total = 1.0 / (2 * k + 1) - square * (0.5 * (df + 1.0) + k) / (df * (k + 1)) * total
    return total


def _of_series(df: Any) -> tuple[Any, Any]:
    """Return the coefficients of −t³ and t⁵ in the distribution function, which starts as t times the density at 0."""
    return (df + 1.0) / (6.0 * df), (df + 1.0) * (df + 3.0) / (40.0 * df * df)


@formula(special.stdtrit)
def stdtrit(df: Any, p: Any) -> Any:
    """scipy.special.stdtrit: the t at which stdtr is p."""
    return t_quantile(df, p)


def t_quantile(df: Any, p: Any) -> Any:
    """Return the t at which stdtr is p.

    Near the middle it is the power series that inverts that of stdtr; of the first terms left out, the third derivative
    is as small as rounding.
    """
    half, root = 0.5 * df, 0.5 + 0.0 * df
    s, (cubic, quintic) = (p - 0.5) * ops.exp(ops.betaln(half, root)) * ops.sqrt(df), _of_series(df)
    near = s * s * cubic < MIDDLE
    small = where(p < 0.5, p, 1.0 - p)
    inner = where(near, 0.25, small)
    size = ops.sqrt(df / _beta_odds(half, root, 2.0 * inner))
    middle = s * (1.0 + s * s * (cubic + s * s * (3.0 * cubic * cubic - quintic)))
    return where(near, middle, where(p < 0.5, -size, size))


MIDDLE = 1e-9
"""Below it the cube of a series is its next term squared: 1e-18 of the value. Derived from 2⁻⁵²."""


@formula(special.ndtri_exp)
def ndtri_exp(y: Any) -> Any:
    """scipy.special.ndtri_exp: the x at which log_ndtr is y."""
    return ops.ndtri_exp(y)


@formula(special.nrdtrimn)
def nrdtrimn(p: Any, std: Any, x: Any) -> Any:
    """scipy.special.nrdtrimn: the mean of a normal distribution whose distribution function at x is p."""
    return x - std * ops.ndtri(p)


@formula(special.nrdtrisd)
def nrdtrisd(mn: Any, p: Any, x: Any) -> Any:
    """scipy.special.nrdtrisd: the standard deviation of a normal distribution whose distribution function at x is p."""
    return (x - mn) / ops.ndtri(p)
