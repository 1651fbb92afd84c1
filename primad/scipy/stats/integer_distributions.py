"""Distributions of integers."""

from __future__ import annotations

import math
from typing import Any

from primad import numpy as pn
from primad.numpy import special
from primad.numpy.special_functions.distributions import log_beta_tail
from primad.scipy.stats.distribution import Distribution, above_zero, where_finite
from primad.scipy.stats.tails import beta_tails, gamma_tails

__all__ = [
    "bernoulli", "betabinom", "binom", "dlaplace", "geom", "logser", "nbinom", "planck", "poisson", "randint",
    "yulesimon",
]  # fmt: skip


def _from_one(*shapes: Any) -> tuple[Any, Any]:
    return 1.0, math.inf


def _log_choices(n: Any, k: Any) -> Any:
    """Return the logarithm of how many ways there are to take k of n."""
    return -special.betaln(k + 1.0, n - k + 1.0) - pn.log1p(n)


def _log_binom(k: Any, n: Any, p: Any, at_most: float, upper: bool) -> Any:
    """Return the logarithm of a tail of the beta distribution, or what is known of n successes, which are the most."""
    return pn.where(k >= n, at_most, log_beta_tail(k + 1.0, pn.where(k >= n, 1.0, n - k), p, upper=upper))


poisson = Distribution(
    "poisson",
    ("mu",),
    lambda k, mu: special.xlogy(k, mu) - special.gammaln(k + 1.0) - mu,
    above_zero,
    discrete=True,
    functions={
        **gamma_tails(lambda k, mu: (k + 1.0, mu), falling=True),
        "mean": lambda mu: mu,
        "var": lambda mu: mu,
    },
    valid=lambda mu: mu >= 0,
)
bernoulli = Distribution(
    "bernoulli",
    ("p",),
    lambda k, p: special.xlogy(k, p) + special.xlog1py(1.0 - k, -p),
    lambda p: (0.0, 1.0),
    discrete=True,
    functions={
        "cdf": lambda k, p: pn.where(k < 1.0, 1.0 - p, 1.0),
        "sf": lambda k, p: pn.where(k < 1.0, p, 0.0),
        "mean": lambda p: p,
        "var": lambda p: p * (1.0 - p),
        "entropy": lambda p: special.entr(p) + special.entr(1.0 - p),
    },
    valid=lambda p: (p >= 0) & (p <= 1),
)
binom = Distribution(
    "binom",
    ("n", "p"),
    lambda k, n, p: _log_choices(n, k) + special.xlogy(k, p) + special.xlog1py(n - k, -p),
    lambda n, p: (0.0, n),
    discrete=True,
    functions={
        "cdf": lambda k, n, p: special.bdtr(k, n, p),
        "sf": lambda k, n, p: special.bdtrc(k, n, p),
        "logcdf": lambda k, n, p: _log_binom(k, n, p, 0.0, upper=True),
        "logsf": lambda k, n, p: _log_binom(k, n, p, -math.inf, upper=False),
        "mean": lambda n, p: n * p,
        "var": lambda n, p: n * p * (1.0 - p),
    },
    valid=lambda n, p: (n >= 0) & (n == pn.floor(n)) & (p >= 0) & (p <= 1),
)
nbinom = Distribution(
    "nbinom",
    ("n", "p"),
    lambda k, n, p: _log_choices(n + k - 1.0, k) + special.xlogy(n, p) + special.xlog1py(k, -p),
    above_zero,
    discrete=True,
    functions={
        **beta_tails(lambda k, n, p: (n, k + 1.0, p)),
        "mean": lambda n, p: n * (1.0 - p) / p,
        "var": lambda n, p: n * (1.0 - p) / (p * p),
    },
    valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
)


def _geom_entropy(p: Any) -> Any:
    return -pn.log(p) - special.xlog1py(1.0 - p, -p) / p


geom = Distribution(
    "geom",
    ("p",),
    lambda k, p: special.xlog1py(k - 1.0, -p) + pn.log(p),
    _from_one,
    discrete=True,
    functions={
        "cdf": lambda k, p: -pn.expm1(k * pn.log1p(-p)),
        "sf": lambda k, p: pn.exp(k * pn.log1p(-p)),
        "logsf": lambda k, p: k * pn.log1p(-p),
        "mean": lambda p: 1.0 / p,
        "var": lambda p: (1.0 - p) / (p * p),
        "entropy": _geom_entropy,
    },
    valid=lambda p: (p > 0) & (p <= 1),
)
planck = Distribution(
    "planck",
    ("lambda_",),
    lambda k, lambda_: pn.log(-pn.expm1(-lambda_)) - lambda_ * k,
    above_zero,
    discrete=True,
    functions={
        "cdf": lambda k, lambda_: -pn.expm1(-lambda_ * (k + 1.0)),
        "sf": lambda k, lambda_: pn.exp(-lambda_ * (k + 1.0)),
        "logsf": lambda k, lambda_: -lambda_ * (k + 1.0),
        "mean": lambda lambda_: 1.0 / pn.expm1(lambda_),
        "var": lambda lambda_: pn.exp(-lambda_) / pn.expm1(-lambda_) ** 2,
        "entropy": lambda lambda_: lambda_ / pn.expm1(lambda_) - pn.log(-pn.expm1(-lambda_)),
    },
)


def _log_dlaplace_tail(k: Any, a: Any) -> Any:
    """Return the logarithm of the probability of more than k, of k ≥ 0."""
    return -a * (k + 1.0) - pn.log1p(pn.exp(-a))


def _log_dlaplace_above(k: Any, a: Any) -> Any:
    """Return the logarithm of the probability of more than k."""
    below = k < 0.0
    other = pn.exp(_log_dlaplace_tail(pn.where(below, -1.0 - k, 0.0), a))
    return pn.where(below, pn.log1p(-other), _log_dlaplace_tail(pn.where(below, 0.0, k), a))


dlaplace = Distribution(
    "dlaplace",
    ("a",),
    lambda k, a: pn.log(pn.tanh(0.5 * a)) - a * pn.abs(k),
    discrete=True,
    functions={
        "cdf": lambda k, a: pn.exp(_log_dlaplace_above(-1.0 - k, a)),
        "sf": lambda k, a: pn.exp(_log_dlaplace_above(k, a)),
        "logcdf": lambda k, a: _log_dlaplace_above(-1.0 - k, a),
        "logsf": _log_dlaplace_above,
        "mean": lambda a: 0.0 * a,
        "var": lambda a: 0.5 / pn.sinh(0.5 * a) ** 2,
        "entropy": lambda a: a / pn.sinh(a) - pn.log(pn.tanh(0.5 * a)),
    },
)


def _logser_mean(p: Any) -> Any:
    return -p / ((1.0 - p) * pn.log1p(-p))


def _logser_variance(p: Any) -> Any:
    return _logser_mean(p) * (1.0 / (1.0 - p) - _logser_mean(p))


logser = Distribution(
    "logser",
    ("p",),
    lambda k, p: k * pn.log(p) - pn.log(k) - pn.log(-pn.log1p(-p)),
    _from_one,
    discrete=True,
    functions={"mean": _logser_mean, "var": _logser_variance},
    valid=lambda p: (p > 0) & (p < 1),
)


def _betabinom_density(k: Any, n: Any, a: Any, b: Any) -> Any:
    return _log_choices(n, k) + special.betaln(k + a, n - k + b) - special.betaln(a, b)


def _betabinom_variance(n: Any, a: Any, b: Any) -> Any:
    total = a + b
    return n * (a / total) * (b / total) * (total + n) / (total + 1.0)


betabinom = Distribution(
    "betabinom",
    ("n", "a", "b"),
    _betabinom_density,
    lambda n, a, b: (0.0, n),
    discrete=True,
    functions={"mean": lambda n, a, b: n * a / (a + b), "var": _betabinom_variance},
    valid=lambda n, a, b: (n >= 0) & (n == pn.floor(n)) & (a > 0) & (b > 0),
)
randint = Distribution(
    "randint",
    ("low", "high"),
    lambda k, low, high: 0.0 * k - pn.log(high - low),
    lambda low, high: (low, high - 1),
    discrete=True,
    functions={
        "cdf": lambda k, low, high: (k - low + 1.0) / (high - low),
        "sf": lambda k, low, high: (high - 1.0 - k) / (high - low),
        "mean": lambda low, high: 0.5 * (high + low - 1.0),
        "var": lambda low, high: ((high - low) ** 2 - 1.0) / 12.0,
        "entropy": lambda low, high: pn.log(high - low),
    },
    valid=lambda low, high: (high > low) & (low == pn.floor(low)) & (high == pn.floor(high)),
)


def _yulesimon_variance(alpha: Any) -> Any:
    return where_finite(alpha > 2.0, alpha**2 / ((alpha - 1.0) ** 2 * (alpha - 2.0)))


yulesimon = Distribution(
    "yulesimon",
    ("alpha",),
    lambda k, alpha: pn.log(alpha) + special.betaln(k, alpha + 1.0),
    _from_one,
    discrete=True,
    functions={
        "cdf": lambda k, alpha: 1.0 - k * special.beta(k, alpha + 1.0),
        "sf": lambda k, alpha: k * special.beta(k, alpha + 1.0),
        "logsf": lambda k, alpha: pn.log(k) + special.betaln(k, alpha + 1.0),
        "mean": lambda alpha: where_finite(alpha > 1.0, alpha / (alpha - 1.0)),
        "var": _yulesimon_variance,
        "tail": lambda alpha: alpha,
    },
)
