"""The table of distributions: each by the functions of its standard form."""

from __future__ import annotations

import math
from typing import Any

from primad import numpy as pn
from primad.numpy import special
from primad.scipy.stats.distribution import Distribution

__all__ = [
    "beta", "cauchy", "chi2", "expon", "f", "gamma", "gumbel_r", "halfnorm", "invgamma", "laplace", "logistic",
    "lognorm", "norm", "pareto", "poisson", "rayleigh", "t", "uniform", "weibull_min",
]  # fmt: skip

LOG_ROOT = 0.5 * math.log(2.0 * math.pi)
LOG_2 = math.log(2.0)


def _positive(*shapes: Any) -> tuple[Any, Any]:
    return 0.0, math.inf


def _unit(*shapes: Any) -> tuple[Any, Any]:
    return 0.0, 1.0


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
    },
)
expon = Distribution(
    "expon",
    (),
    lambda z: -z,
    _positive,
    functions={
        "cdf": lambda z: -pn.expm1(-z),
        "sf": lambda z: pn.exp(-z),
        "logsf": lambda z: -z,
        "ppf": lambda q: -pn.log1p(-q),
        "isf": lambda q: -pn.log(q),
    },
)
uniform = Distribution(
    "uniform",
    (),
    lambda z: 0.0 * z,
    _unit,
    functions={"cdf": lambda z: z, "sf": lambda z: 1.0 - z, "ppf": lambda q: q, "isf": lambda q: 1.0 - q},
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
    },
)


def _cotangent(q: Any) -> Any:
    return pn.cos(math.pi * q) / pn.sin(math.pi * q)


cauchy = Distribution(
    "cauchy",
    (),
    lambda z: -math.log(math.pi) - pn.log1p(z * z),
    functions={
        "cdf": lambda z: pn.arctan2(1.0, -z) / math.pi,
        "sf": lambda z: pn.arctan2(1.0, z) / math.pi,
        "ppf": lambda q: -_cotangent(q),
        "isf": _cotangent,
    },
)
gumbel_r = Distribution(
    "gumbel_r",
    (),
    lambda z: -z - pn.exp(-z),
    functions={
        "cdf": lambda z: pn.exp(-pn.exp(-z)),
        "sf": lambda z: -pn.expm1(-pn.exp(-z)),
        "logcdf": lambda z: -pn.exp(-z),
        "ppf": lambda q: -pn.log(-pn.log(q)),
        "isf": lambda q: -pn.log(-pn.log1p(-q)),
    },
)
rayleigh = Distribution(
    "rayleigh",
    (),
    lambda z: pn.log(z) - 0.5 * z * z,
    _positive,
    functions={
        "cdf": lambda z: -pn.expm1(-0.5 * z * z),
        "sf": lambda z: pn.exp(-0.5 * z * z),
        "logsf": lambda z: -0.5 * z * z,
        "ppf": lambda q: pn.sqrt(-2.0 * pn.log1p(-q)),
        "isf": lambda q: pn.sqrt(-2.0 * pn.log(q)),
    },
)
halfnorm = Distribution(
    "halfnorm",
    (),
    lambda z: LOG_2 - 0.5 * z * z - LOG_ROOT,
    _positive,
    functions={
        "cdf": lambda z: special.erf(z * math.sqrt(0.5)),
        "sf": lambda z: special.erfc(z * math.sqrt(0.5)),
        "logsf": lambda z: LOG_2 + special.log_ndtr(-z),
        "ppf": lambda q: math.sqrt(2.0) * special.erfinv(q),
        "isf": lambda q: math.sqrt(2.0) * special.erfcinv(q),
    },
)
weibull_min = Distribution(
    "weibull_min",
    ("c",),
    lambda z, c: pn.log(c) + special.xlogy(c - 1.0, z) - z**c,
    _positive,
    functions={
        "cdf": lambda z, c: -pn.expm1(-(z**c)),
        "sf": lambda z, c: pn.exp(-(z**c)),
        "logsf": lambda z, c: -(z**c),
        "ppf": lambda q, c: (-pn.log1p(-q)) ** (1.0 / c),
        "isf": lambda q, c: (-pn.log(q)) ** (1.0 / c),
    },
)
pareto = Distribution(
    "pareto",
    ("b",),
    lambda z, b: pn.log(b) - (b + 1.0) * pn.log(z),
    lambda b: (1.0, math.inf),
    functions={
        "cdf": lambda z, b: -pn.expm1(-b * pn.log(z)),
        "sf": lambda z, b: pn.exp(-b * pn.log(z)),
        "logsf": lambda z, b: -b * pn.log(z),
        "ppf": lambda q, b: pn.exp(-pn.log1p(-q) / b),
        "isf": lambda q, b: pn.exp(-pn.log(q) / b),
    },
)
lognorm = Distribution(
    "lognorm",
    ("s",),
    lambda z, s: -pn.log(s) - pn.log(z) - LOG_ROOT - 0.5 * (pn.log(z) / s) ** 2,
    _positive,
    functions={
        "cdf": lambda z, s: special.ndtr(pn.log(z) / s),
        "sf": lambda z, s: special.ndtr(-pn.log(z) / s),
        "logcdf": lambda z, s: special.log_ndtr(pn.log(z) / s),
        "logsf": lambda z, s: special.log_ndtr(-pn.log(z) / s),
        "ppf": lambda q, s: pn.exp(s * special.ndtri(q)),
        "isf": lambda q, s: pn.exp(-s * special.ndtri(q)),
    },
)
gamma = Distribution(
    "gamma",
    ("a",),
    lambda z, a: special.xlogy(a - 1.0, z) - z - special.gammaln(a),
    _positive,
    functions={
        "cdf": lambda z, a: special.gammainc(a, z),
        "sf": lambda z, a: special.gammaincc(a, z),
        "ppf": lambda q, a: special.gammaincinv(a, q),
        "isf": lambda q, a: special.gammainccinv(a, q),
    },
)
chi2 = Distribution(
    "chi2",
    ("df",),
    lambda z, df: gamma.log_density(0.5 * z, 0.5 * df) - LOG_2,
    _positive,
    functions={
        "cdf": lambda z, df: special.gammainc(0.5 * df, 0.5 * z),
        "sf": lambda z, df: special.gammaincc(0.5 * df, 0.5 * z),
        "ppf": lambda q, df: 2.0 * special.gammaincinv(0.5 * df, q),
        "isf": lambda q, df: 2.0 * special.gammainccinv(0.5 * df, q),
    },
)
invgamma = Distribution(
    "invgamma",
    ("a",),
    lambda z, a: -(a + 1.0) * pn.log(z) - special.gammaln(a) - 1.0 / z,
    _positive,
    functions={
        "cdf": lambda z, a: special.gammaincc(a, 1.0 / z),
        "sf": lambda z, a: special.gammainc(a, 1.0 / z),
        "ppf": lambda q, a: 1.0 / special.gammainccinv(a, q),
        "isf": lambda q, a: 1.0 / special.gammaincinv(a, q),
    },
)
beta = Distribution(
    "beta",
    ("a", "b"),
    lambda z, a, b: special.xlogy(a - 1.0, z) + special.xlog1py(b - 1.0, -z) - special.betaln(a, b),
    _unit,
    functions={
        "cdf": lambda z, a, b: special.betainc(a, b, z),
        "sf": lambda z, a, b: special.betaincc(a, b, z),
        "ppf": lambda q, a, b: special.betaincinv(a, b, q),
        "isf": lambda q, a, b: special.betainccinv(a, b, q),
    },
)
t = Distribution(
    "t",
    ("df",),
    lambda z, df: -special.betaln(0.5 * df, 0.5) - 0.5 * pn.log(df) - 0.5 * (df + 1.0) * pn.log1p(z * z / df),
    functions={
        "cdf": lambda z, df: special.stdtr(df, z),
        "sf": lambda z, df: special.stdtr(df, -z),
        "ppf": lambda q, df: special.stdtrit(df, q),
        "isf": lambda q, df: -special.stdtrit(df, q),
    },
)


def _f_density(z: Any, dfn: Any, dfd: Any) -> Any:
    half, rest, ratio = 0.5 * dfn, 0.5 * dfd, dfn / dfd
    powers = half * pn.log(ratio) + special.xlogy(half - 1.0, z) - (half + rest) * pn.log1p(ratio * z)
    return powers - special.betaln(half, rest)


f = Distribution(
    "f",
    ("dfn", "dfd"),
    _f_density,
    _positive,
    functions={
        "cdf": lambda z, dfn, dfd: special.fdtr(dfn, dfd, z),
        "sf": lambda z, dfn, dfd: special.fdtrc(dfn, dfd, z),
        "ppf": lambda q, dfn, dfd: special.fdtri(dfn, dfd, q),
        "isf": lambda q, dfn, dfd: 1.0 / special.fdtri(dfd, dfn, q),
    },
)
poisson = Distribution(
    "poisson",
    ("mu",),
    lambda k, mu: special.xlogy(k, mu) - special.gammaln(k + 1.0) - mu,
    _positive,
    discrete=True,
    functions={
        "cdf": lambda k, mu: special.gammaincc(k + 1.0, mu),
        "sf": lambda k, mu: special.gammainc(k + 1.0, mu),
    },
)
