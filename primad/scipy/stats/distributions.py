"""The distributions that are met most, each by the functions of its standard form."""

from __future__ import annotations

import math
from typing import Any

from primad import numpy as pn
from primad.numpy import special
from primad.numpy.elementwise.ufuncs import defined_where
from primad.numpy.special_functions.distributions import log_t_tail
from primad.scipy.stats.distribution import (
    EULER,
    LOG_ROOT,
    Distribution,
    above_zero,
    where_finite,
    within_one,
    without_ends,
)
from primad.scipy.stats.tails import (
    LOG_2,
    beta_tails,
    f_tails,
    gamma_tails,
    hazard_tails,
    log1p_ratio,
    log_angle,
    log_erfc,
)

__all__ = [
    "beta", "cauchy", "chi2", "expon", "f", "gamma", "halfnorm", "invgamma", "laplace", "logistic", "lognorm", "norm",
    "rayleigh", "t", "uniform",
]  # fmt: skip

norm = Distribution(
    "norm",
    (),
    lambda z: -0.5 * z * z - LOG_ROOT,
    functions={
        "cdf": special.ndtr,
        "sf": lambda z: special.ndtr(-z),
        "logcdf": special.log_ndtr,
        "logsf": lambda z: special.log_ndtr(-z),
        "ppf": special.ndtri,
        "isf": lambda q: -special.ndtri(q),
        "mean": lambda: 0.0,
        "var": lambda: 1.0,
        "entropy": lambda: LOG_ROOT + 0.5,
    },
)
expon = Distribution(
    "expon",
    (),
    lambda z: -z,
    above_zero,
    functions={
        "cdf": lambda z: -pn.expm1(-z),
        "sf": lambda z: pn.exp(-z),
        "logsf": lambda z: -z,
        "ppf": lambda q: -pn.log1p(-q),
        "isf": lambda q: -pn.log(q),
        "mean": lambda: 1.0,
        "var": lambda: 1.0,
        "entropy": lambda: 1.0,
    },
)
uniform = Distribution(
    "uniform",
    (),
    lambda z: 0.0 * z,
    within_one,
    functions={
        "cdf": lambda z: z,
        "sf": lambda z: 1.0 - z,
        "ppf": lambda q: q,
        "isf": lambda q: 1.0 - q,
        "mean": lambda: 0.5,
        "var": lambda: 1.0 / 12.0,
        "entropy": lambda: 0.0,
    },
)


def _laplace_log(z: Any) -> Any:
    left = pn.where(z < 0.0, z, 0.0)
    right = pn.where(z < 0.0, 0.0, z)
    return pn.where(z < 0.0, left - LOG_2, pn.log1p(-0.5 * pn.exp(-right)))


def _laplace_cdf(z: Any) -> Any:
    tail = 0.5 * pn.exp(-pn.abs(z))
    return pn.where(z < 0.0, tail, 1.0 - tail)


def _laplace_quantile(q: Any) -> Any:
    low = q < 0.5
    return pn.where(low, pn.log(2.0 * pn.where(low, q, 0.25)), -LOG_2 - pn.log1p(-pn.where(low, 0.5, q)))


laplace = Distribution(
    "laplace",
    (),
    lambda z: -pn.abs(z) - LOG_2,
    functions={
        "cdf": _laplace_cdf,
        "sf": lambda z: _laplace_cdf(-z),
        "logcdf": _laplace_log,
        "logsf": lambda z: _laplace_log(-z),
        "ppf": _laplace_quantile,
        "isf": lambda q: -_laplace_quantile(q),
        "mean": lambda: 0.0,
        "var": lambda: 2.0,
        "entropy": lambda: 1.0 + LOG_2,
    },
)
logistic = Distribution(
    "logistic",
    (),
    lambda z: -z - 2.0 * special.softplus(-z),
    functions={
        "cdf": special.expit,
        "sf": lambda z: special.expit(-z),
        "logcdf": special.log_expit,
        "logsf": lambda z: special.log_expit(-z),
        "ppf": special.logit,
        "isf": lambda q: -special.logit(q),
        "mean": lambda: 0.0,
        "var": lambda: math.pi**2 / 3.0,
        "entropy": lambda: 2.0,
    },
)


def quarter_tangent(q: Any) -> Any:
    """Return tan(π·q/2) of 0 ≤ q ≤ 1, by the smaller one of q and 1 − q."""
    upper = q > 0.5
    found = pn.tan(0.5 * math.pi * pn.where(upper, 1.0 - q, q))
    return pn.where(upper, 1.0 / found, found)


def _cotangent(q: Any) -> Any:
    upper = q > 0.5
    size = 1.0 / quarter_tangent(2.0 * pn.where(upper, 1.0 - q, q))
    return pn.where(upper, -size, size)


cauchy = Distribution(
    "cauchy",
    (),
    lambda z: -math.log(math.pi) - 2.0 * pn.log(pn.hypot(1.0, z)),
    functions={
        "cdf": lambda z: pn.arctan2(1.0, -z) / math.pi,
        "sf": lambda z: pn.arctan2(1.0, z) / math.pi,
        "logcdf": lambda z: log_angle(-z, 1.0),
        "logsf": lambda z: log_angle(z, 1.0),
        "ppf": lambda q: -_cotangent(q),
        "isf": _cotangent,
        "entropy": lambda: math.log(4.0 * math.pi),
        "tail": lambda: 1.0,
    },
)
rayleigh = Distribution(
    "rayleigh",
    (),
    lambda z: pn.log(z) - 0.5 * z * z,
    above_zero,
    functions={
        **hazard_tails(lambda z: 0.5 * z * z, lambda z: 2.0 * pn.log(z) - LOG_2),
        "ppf": lambda q: pn.sqrt(-2.0 * pn.log1p(-q)),
        "isf": lambda q: pn.sqrt(-2.0 * pn.log(q)),
        "mean": lambda: math.sqrt(0.5 * math.pi),
        "var": lambda: 2.0 - 0.5 * math.pi,
        "entropy": lambda: 1.0 + 0.5 * (EULER - LOG_2),
    },
)
halfnorm = Distribution(
    "halfnorm",
    (),
    lambda z: LOG_2 - 0.5 * z * z - LOG_ROOT,
    above_zero,
    functions={
        "cdf": lambda z: special.erf(z * math.sqrt(0.5)),
        "sf": lambda z: special.erfc(z * math.sqrt(0.5)),
        "logsf": lambda z: log_erfc(z * math.sqrt(0.5)),
        "ppf": lambda q: math.sqrt(2.0) * special.erfinv(q),
        "isf": lambda q: math.sqrt(2.0) * special.erfcinv(q),
        "mean": lambda: math.sqrt(2.0 / math.pi),
        "var": lambda: 1.0 - 2.0 / math.pi,
        "entropy": lambda: 0.5 + LOG_ROOT - LOG_2,
    },
)
lognorm = Distribution(
    "lognorm",
    ("s",),
    lambda z, s: -pn.log(s) - pn.log(z) - LOG_ROOT - 0.5 * (pn.log(z) / s) ** 2,
    above_zero,
    functions={
        "cdf": lambda z, s: special.ndtr(pn.log(z) / s),
        "sf": lambda z, s: special.ndtr(-pn.log(z) / s),
        "logcdf": lambda z, s: special.log_ndtr(pn.log(z) / s),
        "logsf": lambda z, s: special.log_ndtr(-pn.log(z) / s),
        "ppf": lambda q, s: pn.exp(s * special.ndtri(q)),
        "isf": lambda q, s: pn.exp(-s * special.ndtri(q)),
        "mean": lambda s: pn.exp(0.5 * s * s),
        "var": lambda s: pn.exp(s * s) * pn.expm1(s * s),
        "entropy": lambda s: 0.5 + LOG_ROOT + pn.log(s),
    },
    with_ends=without_ends,
)
gamma = Distribution(
    "gamma",
    ("a",),
    lambda z, a: special.xlogy(a - 1.0, z) - z - special.gammaln(a),
    above_zero,
    functions={
        **gamma_tails(lambda z, a: (a, z)),
        "ppf": lambda q, a: special.gammaincinv(a, q),
        "isf": lambda q, a: special.gammainccinv(a, q),
        "mean": lambda a: a,
        "var": lambda a: a,
        "entropy": lambda a: (1.0 - a) * special.digamma(a) + a + special.gammaln(a),
    },
)
chi2 = Distribution(
    "chi2",
    ("df",),
    lambda z, df: gamma.log_density(0.5 * z, 0.5 * df) - LOG_2,
    above_zero,
    functions={
        **gamma_tails(lambda z, df: (0.5 * df, 0.5 * z)),
        "ppf": lambda q, df: 2.0 * special.gammaincinv(0.5 * df, q),
        "isf": lambda q, df: 2.0 * special.gammainccinv(0.5 * df, q),
        "mean": lambda df: df,
        "var": lambda df: 2.0 * df,
        "entropy": lambda df: gamma.functions["entropy"](0.5 * df) + LOG_2,
    },
)
invgamma = Distribution(
    "invgamma",
    ("a",),
    lambda z, a: -(a + 1.0) * pn.log(z) - special.gammaln(a) - 1.0 / z,
    above_zero,
    functions={
        **gamma_tails(lambda z, a: (a, 1.0 / z), falling=True),
        "ppf": lambda q, a: 1.0 / special.gammainccinv(a, q),
        "isf": lambda q, a: 1.0 / special.gammaincinv(a, q),
        "mean": lambda a: where_finite(a > 1.0, 1.0 / (a - 1.0)),
        "var": lambda a: where_finite(a > 2.0, 1.0 / ((a - 1.0) ** 2 * (a - 2.0))),
        "entropy": lambda a: a - (a + 1.0) * special.digamma(a) + special.gammaln(a),
        "tail": lambda a: a,
    },
    with_ends=without_ends,
)


def _beta_entropy(a: Any, b: Any) -> Any:
    total = (a + b - 2.0) * special.digamma(a + b)
    return special.betaln(a, b) - (a - 1.0) * special.digamma(a) - (b - 1.0) * special.digamma(b) + total


beta = Distribution(
    "beta",
    ("a", "b"),
    lambda z, a, b: special.xlogy(a - 1.0, z) + special.xlog1py(b - 1.0, -z) - special.betaln(a, b),
    within_one,
    functions={
        **beta_tails(lambda z, a, b: (a, b, z)),
        "ppf": lambda q, a, b: special.betaincinv(a, b, q),
        "isf": lambda q, a, b: special.betainccinv(a, b, q),
        "mean": lambda a, b: a / (a + b),
        "var": lambda a, b: a / (a + b) * (b / (a + b)) / (a + b + 1.0),
        "entropy": _beta_entropy,
    },
)
t = Distribution(
    "t",
    ("df",),
    lambda z, df: -special.betaln(0.5 * df, 0.5) - 0.5 * pn.log(df) - 0.5 * (df + 1.0) * log1p_ratio(z, df),
    functions={
        "cdf": lambda z, df: special.stdtr(df, z),
        "sf": lambda z, df: special.stdtr(df, -z),
        "logcdf": lambda z, df: log_t_tail(df, z),
        "logsf": lambda z, df: log_t_tail(df, -z),
        "ppf": lambda q, df: special.stdtrit(df, q),
        "isf": lambda q, df: -special.stdtrit(df, q),
        "mean": lambda df: where_finite(df > 1.0, 0.0 * df),
        "var": lambda df: defined_where(df > 1.0, where_finite(df > 2.0, df / (df - 2.0))),
        "entropy": lambda df: (
            0.5 * (df + 1.0) * (special.digamma(0.5 * df + 0.5) - special.digamma(0.5 * df))
            + 0.5 * pn.log(df)
            + special.betaln(0.5 * df, 0.5)
        ),
        "tail": lambda df: df,
    },
)


def _f_density(z: Any, dfn: Any, dfd: Any) -> Any:
    half, rest, ratio = 0.5 * dfn, 0.5 * dfd, dfn / dfd
    powers = half * pn.log(ratio) + special.xlogy(half - 1.0, z) - (half + rest) * pn.log1p(ratio * z)
    return powers - special.betaln(half, rest)


def _f_variance(dfn: Any, dfd: Any) -> Any:
    half = dfd - 2.0
    return where_finite(dfd > 4.0, 2.0 * dfd**2 * (dfn + half) / (dfn * half**2 * (half - 2.0)))


def _f_entropy(dfn: Any, dfd: Any) -> Any:
    half, rest = 0.5 * dfn, 0.5 * dfd
    below, above, total = special.digamma(half), special.digamma(rest), special.digamma(half + rest)
    powers = (half + rest) * (total - above) - (half - 1.0) * (below - above)
    return special.betaln(half, rest) + powers + pn.log(dfd) - pn.log(dfn)


f = Distribution(
    "f",
    ("dfn", "dfd"),
    _f_density,
    above_zero,
    functions={
        **f_tails(lambda z, dfn, dfd: (dfn, dfd, z)),
        "ppf": lambda q, dfn, dfd: special.fdtri(dfn, dfd, q),
        "isf": lambda q, dfn, dfd: 1.0 / special.fdtri(dfd, dfn, q),
        "mean": lambda dfn, dfd: where_finite(dfd > 2.0, dfd / (dfd - 2.0)),
        "var": _f_variance,
        "entropy": _f_entropy,
        "tail": lambda dfn, dfd: 0.5 * dfd,
    },
)
