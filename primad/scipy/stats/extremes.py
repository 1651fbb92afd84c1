"""Extreme values and lifetimes: distributions of exponentials of exponentials and of powers."""

from __future__ import annotations

import math
from typing import Any

from primad import numpy as pn
from primad.numpy import special
from primad.numpy.special_functions.formulas import log1p_over
from primad.numpy.special_functions.members import FUNCTIONS
from primad.scipy.stats.distribution import (
    EULER,
    Distribution,
    above_zero,
    where_finite,
    without_ends,
)
from primad.scipy.stats.distributions import quarter_tangent
from primad.scipy.stats.tails import (
    LOG_2,
    gamma_tails,
    hazard_tails,
    log1m_exp,
    log1m_exp_exp,
    log_less_log,
    log_log1p_exp,
    log_of_odd,
)

__all__ = [
    "exponweib", "genextreme", "genlogistic", "genpareto", "gompertz", "gumbel_l", "gumbel_r", "halflogistic",
    "hypsecant", "invweibull", "loggamma", "weibull_max", "weibull_min",
]  # fmt: skip


def _order(power: Any) -> Any:
    """Return the order below which moments are finite, of a survival function like a power of z, of −1/`power`."""
    return pn.where(power > 0.0, 1.0 / pn.where(power > 0.0, power, 1.0), math.inf)


gumbel_r = Distribution(
    "gumbel_r",
    (),
    lambda z: -z - pn.exp(-z),
    functions={
        **hazard_tails(lambda z: pn.exp(-z), lambda z: -z, falling=True),
        "ppf": lambda q: -pn.log(-pn.log(q)),
        "isf": lambda q: -pn.log(-pn.log1p(-q)),
        "mean": lambda: EULER,
        "var": lambda: math.pi**2 / 6.0,
        "entropy": lambda: EULER + 1.0,
    },
)
gumbel_l = Distribution(
    "gumbel_l",
    (),
    lambda z: z - pn.exp(z),
    functions={
        **hazard_tails(pn.exp, lambda z: z),
        "ppf": lambda q: pn.log(-pn.log1p(-q)),
        "isf": lambda q: pn.log(-pn.log(q)),
        "mean": lambda: -EULER,
        "var": lambda: math.pi**2 / 6.0,
        "entropy": lambda: EULER + 1.0,
    },
)


def _weibull_mean(c: Any) -> Any:
    return special.gamma(1.0 + 1.0 / c)


def _weibull_variance(c: Any) -> Any:
    return special.gamma(1.0 + 2.0 / c) - _weibull_mean(c) ** 2


def _weibull_entropy(c: Any) -> Any:
    return 1.0 + EULER - EULER / c - pn.log(c)


weibull_min = Distribution(
    "weibull_min",
    ("c",),
    lambda z, c: pn.log(c) + special.xlogy(c - 1.0, z) - z**c,
    above_zero,
    functions={
        **hazard_tails(lambda z, c: z**c, lambda z, c: c * pn.log(z)),
        "ppf": lambda q, c: (-pn.log1p(-q)) ** (1.0 / c),
        "isf": lambda q, c: (-pn.log(q)) ** (1.0 / c),
        "mean": _weibull_mean,
        "var": _weibull_variance,
        "entropy": _weibull_entropy,
    },
)
weibull_max = Distribution(
    "weibull_max",
    ("c",),
    lambda z, c: weibull_min.log_density(-z, c),
    lambda c: (-math.inf, 0.0),
    functions={
        **hazard_tails(lambda z, c: (-z) ** c, lambda z, c: c * pn.log(-z), falling=True),
        "ppf": lambda q, c: -weibull_min.functions["isf"](q, c),
        "isf": lambda q, c: -weibull_min.functions["ppf"](q, c),
        "mean": lambda c: -_weibull_mean(c),
        "var": _weibull_variance,
        "entropy": _weibull_entropy,
    },
)


def _exponweib_log(z: Any, c: Any) -> Any:
    return log1m_exp_exp(c * pn.log(z))


exponweib = Distribution(
    "exponweib",
    ("a", "c"),
    lambda z, a, c: pn.log(a) + pn.log(c) + (a - 1.0) * _exponweib_log(z, c) - z**c + special.xlogy(c - 1.0, z),
    above_zero,
    functions={
        **hazard_tails(
            lambda z, a, c: -a * _exponweib_log(z, c),
            lambda z, a, c: pn.log(a) + log_less_log(z**c, _exponweib_log(z, c)),
            falling=True,
        ),
        "ppf": lambda q, a, c: (-log1m_exp(-pn.log(q) / a)) ** (1.0 / c),
        "isf": lambda q, a, c: (-log1m_exp(-pn.log1p(-q) / a)) ** (1.0 / c),
    },
)
invweibull = Distribution(
    "invweibull",
    ("c",),
    lambda z, c: pn.log(c) - (c + 1.0) * pn.log(z) - z ** (-c),
    above_zero,
    functions={
        **hazard_tails(lambda z, c: z ** (-c), lambda z, c: -c * pn.log(z), falling=True),
        "ppf": lambda q, c: (-pn.log(q)) ** (-1.0 / c),
        "isf": lambda q, c: (-pn.log1p(-q)) ** (-1.0 / c),
        "entropy": lambda c: 1.0 + EULER + EULER / c - pn.log(c),
        "tail": lambda c: c,
    },
    with_ends=without_ends,
)


def _genextreme_support(c: Any) -> tuple[Any, Any]:
    end = 1.0 / pn.where(c == 0.0, 1.0, c)
    return pn.where(c < 0.0, end, -math.inf), pn.where(c > 0.0, end, math.inf)


def _reduced(z: Any, c: Any) -> Any:
    """Return log(1 − c·z)/c, which is −z where c is 0: the logarithm of −log of the distribution function."""
    return log1p_over(-z, c)


def _genextreme_density(z: Any, c: Any) -> Any:
    reduced = _reduced(z, c)
    return reduced * (1.0 - c) - pn.exp(reduced)


genextreme = Distribution(
    "genextreme",
    ("c",),
    _genextreme_density,
    _genextreme_support,
    functions={
        **hazard_tails(lambda z, c: pn.exp(_reduced(z, c)), _reduced, falling=True),
        "ppf": lambda q, c: -special.boxcox(-pn.log(q), c),
        "isf": lambda q, c: -special.boxcox(-pn.log1p(-q), c),
        "entropy": lambda c: 1.0 + EULER * (1.0 - c),
        "tail": lambda c: _order(-c),
    },
    valid=lambda c: abs(c) < math.inf,
)
genpareto = Distribution(
    "genpareto",
    ("c",),
    lambda z, c: -(1.0 + c) * log1p_over(z, c),
    lambda c: (0.0, pn.where(c < 0.0, -1.0 / pn.where(c < 0.0, c, -1.0), math.inf)),
    functions={
        "cdf": lambda z, c: -pn.expm1(-log1p_over(z, c)),
        "sf": lambda z, c: pn.exp(-log1p_over(z, c)),
        "logsf": lambda z, c: -log1p_over(z, c),
        "ppf": lambda q, c: -special.boxcox1p(-q, -c),
        "isf": lambda q, c: -special.boxcox(q, -c),
        "mean": lambda c: where_finite(c < 1.0, 1.0 / (1.0 - c)),
        "var": lambda c: where_finite(c < 0.5, 1.0 / ((1.0 - c) ** 2 * (1.0 - 2.0 * c))),
        "entropy": lambda c: 1.0 + c,
        "tail": lambda c: _order(c),
    },
    valid=lambda c: abs(c) < math.inf,
)
gompertz = Distribution(
    "gompertz",
    ("c",),
    lambda z, c: pn.log(c) + z - c * pn.expm1(z),
    above_zero,
    functions={
        **hazard_tails(lambda z, c: c * pn.expm1(z), lambda z, c: pn.log(c) + pn.log(pn.expm1(z))),
        "ppf": lambda q, c: pn.log1p(-pn.log1p(-q) / c),
        "isf": lambda q, c: pn.log1p(-pn.log(q) / c),
        "entropy": lambda c: 1.0 - pn.log(c) - FUNCTIONS["hyperu"](1.0, 1.0, c),
    },
)
loggamma = Distribution(
    "loggamma",
    ("c",),
    lambda z, c: c * z - pn.exp(z) - special.gammaln(c),
    functions={
        **gamma_tails(lambda z, c: (c, pn.exp(z)), log=lambda z, c: z),
        "ppf": lambda q, c: pn.log(special.gammaincinv(c, q)),
        "isf": lambda q, c: pn.log(special.gammainccinv(c, q)),
        "mean": special.digamma,
        "var": lambda c: special.polygamma(1, c),
        "entropy": lambda c: special.gammaln(c) - c * special.digamma(c) + c,
    },
)


def _genlogistic_quantile(log_q: Any, c: Any) -> Any:
    """Return −log(q^(−1/c) − 1)."""
    return log_q / c - log1m_exp(-log_q / c)


genlogistic = Distribution(
    "genlogistic",
    ("c",),
    lambda z, c: pn.log(c) - z - (c + 1.0) * special.softplus(-z),
    functions={
        **hazard_tails(lambda z, c: c * special.softplus(-z), lambda z, c: pn.log(c) + log_log1p_exp(-z), falling=True),
        "ppf": lambda q, c: _genlogistic_quantile(pn.log(q), c),
        "isf": lambda q, c: _genlogistic_quantile(pn.log1p(-q), c),
        "mean": lambda c: EULER + special.digamma(c),
        "var": lambda c: math.pi**2 / 6.0 + special.polygamma(1, c),
        "entropy": lambda c: special.digamma(c + 1.0) - pn.log(c) + EULER + 1.0,
    },
)


def _half_logistic_log_sf(z: Any) -> Any:
    small = z < 1.0
    far = LOG_2 + special.log_expit(-pn.where(small, 1.0, z))
    return pn.where(small, pn.log1p(-pn.tanh(0.5 * pn.where(small, z, 0.0))), far)


halflogistic = Distribution(
    "halflogistic",
    (),
    lambda z: LOG_2 - z - 2.0 * pn.log1p(pn.exp(-z)),
    above_zero,
    functions={
        "cdf": lambda z: pn.tanh(0.5 * z),
        "sf": lambda z: 2.0 * special.expit(-z),
        "logsf": _half_logistic_log_sf,
        "ppf": lambda q: 2.0 * pn.arctanh(q),
        "isf": lambda q: -special.logit(0.5 * q),
        "mean": lambda: 2.0 * LOG_2,
        "var": lambda: math.pi**2 / 3.0 - 4.0 * LOG_2**2,
        "entropy": lambda: 2.0 - LOG_2,
    },
)


def _hypsecant_log_cdf(z: Any) -> Any:
    tail = log_of_odd(pn.arctan, 1.0, -pn.abs(z)) + math.log(2.0 / math.pi)
    return pn.where(z < 0.0, tail, pn.log1p(-pn.exp(tail)))


hypsecant = Distribution(
    "hypsecant",
    (),
    lambda z: -math.log(0.5 * math.pi) - pn.logaddexp(z, -z),
    functions={
        "cdf": lambda z: 2.0 / math.pi * pn.arctan(pn.exp(z)),
        "sf": lambda z: 2.0 / math.pi * pn.arctan(pn.exp(-z)),
        "logcdf": _hypsecant_log_cdf,
        "logsf": lambda z: _hypsecant_log_cdf(-z),
        "ppf": lambda q: pn.log(quarter_tangent(q)),
        "isf": lambda q: -pn.log(quarter_tangent(q)),
        "mean": lambda: 0.0,
        "var": lambda: 0.25 * math.pi**2,
        "entropy": lambda: math.log(2.0 * math.pi),
    },
)
