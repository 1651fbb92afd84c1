"""Powers, ratios and shares: distributions whose tails are powers, or whose values lie in an interval."""

from __future__ import annotations

import math
from typing import Any

from primad import numpy as pn
from primad.numpy import special
from primad.scipy.stats.distribution import (
    EULER,
    LOG_ROOT,
    Distribution,
    above_zero,
    where_finite,
    within_one,
    without_ends,
)
from primad.scipy.stats.distributions import laplace, quarter_tangent
from primad.scipy.stats.tails import LOG_2, f_tails, hazard_tails, log1m_exp, log_angle, log_erfc, log_log1p_exp

__all__ = [
    "arcsine", "betaprime", "bradford", "burr", "burr12", "fisk", "halfcauchy", "levy", "loglaplace",
    "loguniform", "lomax", "pareto", "powerlaw", "reciprocal", "triang", "truncexpon",
]  # fmt: skip

pareto = Distribution(
    "pareto",
    ("b",),
    lambda z, b: pn.log(b) - (b + 1.0) * pn.log(z),
    lambda b: (1.0, math.inf),
    functions={
        **hazard_tails(lambda z, b: b * pn.log(z), lambda z, b: pn.log(b) + pn.log(pn.log(z))),
        "ppf": lambda q, b: pn.exp(-pn.log1p(-q) / b),
        "isf": lambda q, b: pn.exp(-pn.log(q) / b),
        "mean": lambda b: where_finite(b > 1.0, b / (b - 1.0)),
        "var": lambda b: where_finite(b > 2.0, b / ((b - 1.0) ** 2 * (b - 2.0))),
        "entropy": lambda b: 1.0 + 1.0 / b - pn.log(b),
        "tail": lambda b: b,
    },
)
lomax = Distribution(
    "lomax",
    ("c",),
    lambda z, c: pn.log(c) - (c + 1.0) * pn.log1p(z),
    above_zero,
    functions={
        **hazard_tails(lambda z, c: c * pn.log1p(z), lambda z, c: pn.log(c) + pn.log(pn.log1p(z))),
        "ppf": lambda q, c: pn.expm1(-pn.log1p(-q) / c),
        "isf": lambda q, c: pn.expm1(-pn.log(q) / c),
        "mean": lambda c: where_finite(c > 1.0, 1.0 / (c - 1.0)),
        "var": pareto.functions["var"],
        "entropy": pareto.functions["entropy"],
        "tail": lambda c: c,
    },
)
powerlaw = Distribution(
    "powerlaw",
    ("a",),
    lambda z, a: pn.log(a) + special.xlogy(a - 1.0, z),
    within_one,
    functions={
        "cdf": lambda z, a: z**a,
        "sf": lambda z, a: -pn.expm1(a * pn.log(z)),
        "logcdf": lambda z, a: a * pn.log(z),
        "ppf": lambda q, a: q ** (1.0 / a),
        "isf": lambda q, a: pn.exp(pn.log1p(-q) / a),
        "mean": lambda a: a / (a + 1.0),
        "var": lambda a: a / ((a + 2.0) * (a + 1.0) ** 2),
        "entropy": lambda a: 1.0 - 1.0 / a - pn.log(a),
    },
)


def _of_laplace(name: str) -> Any:
    return lambda z, c: laplace.functions[name](c * pn.log(z))


loglaplace = Distribution(
    "loglaplace",
    ("c",),
    lambda z, c: pn.log(0.5 * c) + special.xlogy(pn.where(z < 1.0, c - 1.0, -c - 1.0), z),
    above_zero,
    functions={
        **{name: _of_laplace(name) for name in ("cdf", "sf", "logcdf", "logsf")},
        "ppf": lambda q, c: pn.exp(laplace.functions["ppf"](q) / c),
        "isf": lambda q, c: pn.exp(laplace.functions["isf"](q) / c),
        "entropy": lambda c: 1.0 + LOG_2 - pn.log(c),
        "tail": lambda c: c,
    },
)


def _log_odds(y: Any) -> Any:
    """Return log(eʸ − 1), which softplus takes to y."""
    return y + log1m_exp(y)


fisk = Distribution(
    "fisk",
    ("c",),
    lambda z, c: pn.log(c) + special.xlogy(c - 1.0, z) - 2.0 * special.softplus(c * pn.log(z)),
    above_zero,
    functions={
        "cdf": lambda z, c: special.expit(c * pn.log(z)),
        "sf": lambda z, c: special.expit(-c * pn.log(z)),
        "logcdf": lambda z, c: special.log_expit(c * pn.log(z)),
        "logsf": lambda z, c: special.log_expit(-c * pn.log(z)),
        "ppf": lambda q, c: pn.exp(special.logit(q) / c),
        "isf": lambda q, c: pn.exp(-special.logit(q) / c),
        "entropy": lambda c: 2.0 - pn.log(c),
        "tail": lambda c: c,
    },
)


def _burr_density(z: Any, c: Any, d: Any) -> Any:
    powers = special.xlogy(c * d - 1.0, z) - (d + 1.0) * special.softplus(c * pn.log(z))
    return pn.log(c) + pn.log(d) + powers


def _burr_entropy(c: Any, d: Any) -> Any:
    """Return the mean of −log p: zᶜ/(1 + zᶜ) is a number of the beta distribution (d, 1)."""
    total = (d + 1.0) * (special.digamma(d + 1.0) + EULER)
    return total - (d - 1.0 / c) * (special.digamma(d) + EULER) - pn.log(c) - pn.log(d)


burr = Distribution(
    "burr",
    ("c", "d"),
    _burr_density,
    above_zero,
    functions={
        **hazard_tails(
            lambda z, c, d: d * special.softplus(-c * pn.log(z)),
            lambda z, c, d: pn.log(d) + log_log1p_exp(-c * pn.log(z)),
            falling=True,
        ),
        "ppf": lambda q, c, d: pn.exp(-_log_odds(-pn.log(q) / d) / c),
        "isf": lambda q, c, d: pn.exp(-_log_odds(-pn.log1p(-q) / d) / c),
        "entropy": _burr_entropy,
        "tail": lambda c, d: c,
    },
)


def _burr12_density(z: Any, c: Any, d: Any) -> Any:
    powers = special.xlogy(c - 1.0, z) - (d + 1.0) * special.softplus(c * pn.log(z))
    return pn.log(c) + pn.log(d) + powers


def _burr12_entropy(c: Any, d: Any) -> Any:
    """Return the mean of −log p: 1/(1 + zᶜ) is a number of the beta distribution (d, 1)."""
    return 1.0 + 1.0 / d + (1.0 - 1.0 / c) * (special.digamma(d) + EULER) - pn.log(c) - pn.log(d)


burr12 = Distribution(
    "burr12",
    ("c", "d"),
    _burr12_density,
    above_zero,
    functions={
        **hazard_tails(
            lambda z, c, d: d * special.softplus(c * pn.log(z)),
            lambda z, c, d: pn.log(d) + log_log1p_exp(c * pn.log(z)),
        ),
        "ppf": lambda q, c, d: pn.exp(_log_odds(-pn.log1p(-q) / d) / c),
        "isf": lambda q, c, d: pn.exp(_log_odds(-pn.log(q) / d) / c),
        "entropy": _burr12_entropy,
        "tail": lambda c, d: c * d,
    },
)


def _betaprime_variance(a: Any, b: Any) -> Any:
    return where_finite(b > 2.0, a * (a + b - 1.0) / ((b - 2.0) * (b - 1.0) ** 2))


def _betaprime_entropy(a: Any, b: Any) -> Any:
    below, above, total = special.digamma(a), special.digamma(b), special.digamma(a + b)
    return special.betaln(a, b) - (a - 1.0) * (below - above) + (a + b) * (total - above)


betaprime = Distribution(
    "betaprime",
    ("a", "b"),
    lambda z, a, b: special.xlogy(a - 1.0, z) - (a + b) * pn.log1p(z) - special.betaln(a, b),
    above_zero,
    functions={
        **f_tails(lambda z, a, b: (2.0 * a, 2.0 * b, z * b / a)),
        "ppf": lambda q, a, b: special.fdtri(2.0 * a, 2.0 * b, q) * a / b,
        "isf": lambda q, a, b: a / (b * special.fdtri(2.0 * b, 2.0 * a, q)),
        "mean": lambda a, b: where_finite(b > 1.0, a / (b - 1.0)),
        "var": _betaprime_variance,
        "entropy": _betaprime_entropy,
        "tail": lambda a, b: b,
    },
)
bradford = Distribution(
    "bradford",
    ("c",),
    lambda z, c: pn.log(c / pn.log1p(c)) - pn.log1p(c * z),
    within_one,
    functions={
        "cdf": lambda z, c: pn.log1p(c * z) / pn.log1p(c),
        "sf": lambda z, c: pn.log1p(c * (1.0 - z) / (1.0 + c * z)) / pn.log1p(c),
        "ppf": lambda q, c: pn.expm1(q * pn.log1p(c)) / c,
        "isf": lambda q, c: pn.expm1((1.0 - q) * pn.log1p(c)) / c,
        "mean": lambda c: 1.0 / pn.log1p(c) - 1.0 / c,
        "entropy": lambda c: 0.5 * pn.log1p(c) - pn.log(c / pn.log1p(c)),
    },
)
arcsine = Distribution(
    "arcsine",
    (),
    lambda z: -math.log(math.pi) - 0.5 * pn.log(z) - 0.5 * pn.log1p(-z),
    within_one,
    functions={
        "cdf": lambda z: 2.0 / math.pi * pn.arcsin(pn.sqrt(z)),
        "sf": lambda z: 2.0 / math.pi * pn.arcsin(pn.sqrt(1.0 - z)),
        "ppf": lambda q: pn.sin(0.5 * math.pi * q) ** 2,
        "isf": lambda q: pn.cos(0.5 * math.pi * q) ** 2,
        "mean": lambda: 0.5,
        "var": lambda: 0.125,
        "entropy": lambda: math.log(0.25 * math.pi),
    },
)


def _log_ratio(a: Any, b: Any) -> Any:
    return pn.log1p((b - a) / a)


def _loguniform_variance(a: Any, b: Any) -> Any:
    ratio = _log_ratio(a, b)
    return (b - a) * (0.5 * (b + a) - (b - a) / ratio) / ratio


def _loguniform(name: str) -> Distribution:
    return Distribution(
        name,
        ("a", "b"),
        lambda z, a, b: -pn.log(z) - pn.log(_log_ratio(a, b)),
        lambda a, b: (a, b),
        functions={
            "cdf": lambda z, a, b: _log_ratio(a, z) / _log_ratio(a, b),
            "sf": lambda z, a, b: _log_ratio(z, b) / _log_ratio(a, b),
            "ppf": lambda q, a, b: a * pn.exp(q * _log_ratio(a, b)),
            "isf": lambda q, a, b: b * pn.exp(-q * _log_ratio(a, b)),
            "mean": lambda a, b: (b - a) / _log_ratio(a, b),
            "var": _loguniform_variance,
            "entropy": lambda a, b: 0.5 * (pn.log(a) + pn.log(b)) + pn.log(_log_ratio(a, b)),
        },
        valid=lambda a, b: (a > 0) & (b > a),
    )


loguniform, reciprocal = _loguniform("loguniform"), _loguniform("reciprocal")


def _triangle(part: Any, c: Any, below: Any, above: Any) -> Any:
    """Return what holds at or below the peak, and above it; each is asked where it holds only."""
    low = (part < c) | (c == 1.0)
    inner, width = pn.where(low, part, 0.5 * c), pn.where(c == 0.0, 1.0, c)
    outer, rest = pn.where(low, 0.5 * (1.0 + c), part), pn.where(c == 1.0, 1.0, 1.0 - c)
    return pn.where(low, below(inner, width), above(1.0 - outer, rest))


def _triangle_part(z: Any, c: Any) -> Any:
    return _triangle(z, c, lambda x, w: x * x / w, lambda y, r: 1.0 - y * y / r)


def _triangle_quantile(q: Any, c: Any) -> Any:
    return _triangle(q, c, lambda x, w: pn.sqrt(x * w), lambda y, r: 1.0 - pn.sqrt(y * r))


triang = Distribution(
    "triang",
    ("c",),
    lambda z, c: LOG_2 + _triangle(z, c, lambda x, w: pn.log(x / w), lambda y, r: pn.log(y / r)),
    within_one,
    functions={
        "cdf": _triangle_part,
        "sf": lambda z, c: _triangle(z, c, lambda x, w: 1.0 - x * x / w, lambda y, r: y * y / r),
        "logcdf": lambda z, c: _triangle(
            z, c, lambda x, w: 2.0 * pn.log(x) - pn.log(w), lambda y, r: pn.log1p(-y * y / r)
        ),
        "logsf": lambda z, c: _triangle(
            z, c, lambda x, w: pn.log1p(-x * x / w), lambda y, r: 2.0 * pn.log(y) - pn.log(r)
        ),
        "ppf": _triangle_quantile,
        "isf": lambda q, c: 1.0 - _triangle_quantile(q, 1.0 - c),
        "mean": lambda c: (c + 1.0) / 3.0,
        "var": lambda c: (1.0 - c + c * c) / 18.0,
        "entropy": lambda c: 0.5 - LOG_2 + 0.0 * c,
    },
    valid=lambda c: (c >= 0.0) & (c <= 1.0),
)
truncexpon = Distribution(
    "truncexpon",
    ("b",),
    lambda z, b: -z - log1m_exp(b),
    lambda b: (0.0, b),
    functions={
        "cdf": lambda z, b: pn.expm1(-z) / pn.expm1(-b),
        "sf": lambda z, b: pn.exp(-z) * pn.expm1(z - b) / pn.expm1(-b),
        "ppf": lambda q, b: -pn.log1p(q * pn.expm1(-b)),
        "isf": lambda q, b: -pn.log1p((1.0 - q) * pn.expm1(-b)),
        "entropy": lambda b: 1.0 - b / pn.expm1(b) + log1m_exp(b),
    },
)
halfcauchy = Distribution(
    "halfcauchy",
    (),
    lambda z: math.log(2.0 / math.pi) - 2.0 * pn.log(pn.hypot(1.0, z)),
    above_zero,
    functions={
        "cdf": lambda z: 2.0 / math.pi * pn.arctan(z),
        "sf": lambda z: 2.0 / math.pi * pn.arctan2(1.0, z),
        "logsf": lambda z: log_angle(z, 0.5),
        "ppf": quarter_tangent,
        "isf": lambda q: 1.0 / quarter_tangent(q),
        "mean": lambda: math.inf,
        "var": lambda: math.inf,
        "entropy": lambda: math.log(2.0 * math.pi),
        "tail": lambda: 1.0,
    },
)
levy = Distribution(
    "levy",
    (),
    lambda z: -LOG_ROOT - 1.5 * pn.log(z) - 0.5 / z,
    above_zero,
    functions={
        "cdf": lambda z: special.erfc(pn.sqrt(0.5 / z)),
        "sf": lambda z: special.erf(pn.sqrt(0.5 / z)),
        "logcdf": lambda z: log_erfc(pn.sqrt(0.5 / z)),
        "ppf": lambda q: 0.5 / special.erfcinv(q) ** 2,
        "isf": lambda q: 0.5 / special.erfinv(q) ** 2,
        "mean": lambda: math.inf,
        "var": lambda: math.inf,
        "entropy": lambda: 0.5 * (1.0 + 3.0 * EULER + math.log(16.0 * math.pi)),
        "tail": lambda: 0.5,
    },
    with_ends=without_ends,
)
