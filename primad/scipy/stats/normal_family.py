"""Distributions that are made of the normal and of the gamma distribution."""

from __future__ import annotations

import math
from typing import Any

from primad import numpy as pn
from primad import ops
from primad.numpy import special
from primad.numpy.special_functions.members import FUNCTIONS
from primad.scipy.stats.distribution import (
    EULER,
    LOG_ROOT,
    Distribution,
    above_zero,
    within_one,
    without_ends,
)
from primad.scipy.stats.distributions import gamma, norm
from primad.scipy.stats.draws import normals, scipys_quantile
from primad.scipy.stats.tails import (
    ALL,
    LOG_2,
    gamma_tails,
    gauss_rule,
    hazard_tails,
    log1m_exp,
    log_erfc,
    log_less_log,
    log_of_odd,
)

__all__ = [
    "chi", "gengamma", "gennorm", "halfgennorm", "invgauss", "johnsonsb", "johnsonsu", "maxwell",
    "moyal", "nakagami", "powernorm", "rice", "skewnorm", "truncnorm", "wald",
]  # fmt: skip


def _finite(*shapes: Any) -> Any:
    return abs(shapes[0]) < math.inf


def _chi_mean(df: Any) -> Any:
    return math.sqrt(2.0) * pn.exp(special.gammaln(0.5 * df + 0.5) - special.gammaln(0.5 * df))


def _chi_entropy(df: Any) -> Any:
    half = 0.5 * df
    return special.gammaln(half) + half - 0.5 * LOG_2 - (half - 0.5) * special.digamma(half)


chi = Distribution(
    "chi",
    ("df",),
    lambda z, df: special.xlogy(df - 1.0, z) - 0.5 * z * z - (0.5 * df - 1.0) * LOG_2 - special.gammaln(0.5 * df),
    above_zero,
    functions={
        **gamma_tails(lambda z, df: (0.5 * df, 0.5 * z * z), log=lambda z, df: 2.0 * pn.log(z) - LOG_2),
        "ppf": lambda q, df: pn.sqrt(2.0 * special.gammaincinv(0.5 * df, q)),
        "isf": lambda q, df: pn.sqrt(2.0 * special.gammainccinv(0.5 * df, q)),
        "mean": _chi_mean,
        "var": lambda df: df - _chi_mean(df) ** 2,
        "entropy": _chi_entropy,
    },
)
maxwell = Distribution(
    "maxwell",
    (),
    lambda z: LOG_2 - LOG_ROOT + 2.0 * pn.log(z) - 0.5 * z * z,
    above_zero,
    functions={
        **gamma_tails(lambda z: (1.5, 0.5 * z * z), log=lambda z: 2.0 * pn.log(z) - LOG_2),
        "ppf": lambda q: pn.sqrt(2.0 * special.gammaincinv(1.5, q)),
        "isf": lambda q: pn.sqrt(2.0 * special.gammainccinv(1.5, q)),
        "mean": lambda: 2.0 * math.sqrt(2.0 / math.pi),
        "var": lambda: 3.0 - 8.0 / math.pi,
        "entropy": lambda: EULER + LOG_ROOT - 0.5,
    },
)


def _nakagami_mean(nu: Any) -> Any:
    return pn.exp(special.gammaln(nu + 0.5) - special.gammaln(nu)) / pn.sqrt(nu)


def _nakagami_entropy(nu: Any) -> Any:
    return special.gammaln(nu) + nu - (nu - 0.5) * special.digamma(nu) - 0.5 * pn.log(nu) - LOG_2


nakagami = Distribution(
    "nakagami",
    ("nu",),
    lambda z, nu: LOG_2 + special.xlogy(nu, nu) - special.gammaln(nu) + special.xlogy(2.0 * nu - 1.0, z) - nu * z * z,
    above_zero,
    functions={
        **gamma_tails(lambda z, nu: (nu, nu * z * z), log=lambda z, nu: pn.log(nu) + 2.0 * pn.log(z)),
        "ppf": lambda q, nu: pn.sqrt(special.gammaincinv(nu, q) / nu),
        "isf": lambda q, nu: pn.sqrt(special.gammainccinv(nu, q) / nu),
        "mean": _nakagami_mean,
        "var": lambda nu: 1.0 - _nakagami_mean(nu) ** 2,
        "entropy": _nakagami_entropy,
    },
)


GENGAMMA = gamma_tails(lambda z, a, c: (a, z**c), log=lambda z, a, c: c * pn.log(z))
"""The tails in zᶜ."""


def _gengamma_part(name: str, other: str) -> Any:
    """Return a probability, or a quantile: of the other tail where c is negative."""
    if name in ("ppf", "isf"):
        return lambda q, a, c: pn.where(c > 0.0, gamma.functions[name](q, a), gamma.functions[other](q, a)) ** (1.0 / c)
    return lambda z, a, c: pn.where(c > 0.0, GENGAMMA[name](z, a, c), GENGAMMA[other](z, a, c))


gengamma = Distribution(
    "gengamma",
    ("a", "c"),
    lambda z, a, c: pn.log(abs(c)) + special.xlogy(c * a - 1.0, z) - z**c - special.gammaln(a),
    above_zero,
    functions={
        "cdf": _gengamma_part("cdf", "sf"),
        "sf": _gengamma_part("sf", "cdf"),
        "logcdf": _gengamma_part("logcdf", "logsf"),
        "logsf": _gengamma_part("logsf", "logcdf"),
        "ppf": _gengamma_part("ppf", "isf"),
        "isf": _gengamma_part("isf", "ppf"),
        "entropy": lambda a, c: (
            a * (1.0 - special.digamma(a)) + special.digamma(a) / c + special.gammaln(a) - pn.log(abs(c))
        ),
        "tail": lambda a, c: pn.where(c < 0.0, -a * c, math.inf),
    },
    with_ends=lambda a, c: c > 0.0,
    valid=lambda a, c: (a > 0.0) & (c != 0.0) & (abs(c) < math.inf),
)
halfgennorm = Distribution(
    "halfgennorm",
    ("beta",),
    lambda z, beta: pn.log(beta) - special.gammaln(1.0 / beta) - z**beta,
    above_zero,
    functions={
        **gamma_tails(lambda z, beta: (1.0 / beta, z**beta), log=lambda z, beta: beta * pn.log(z)),
        "ppf": lambda q, beta: special.gammaincinv(1.0 / beta, q) ** (1.0 / beta),
        "isf": lambda q, beta: special.gammainccinv(1.0 / beta, q) ** (1.0 / beta),
        "entropy": lambda beta: 1.0 / beta - pn.log(beta) + special.gammaln(1.0 / beta),
    },
)


def _gennorm_above(z: Any, beta: Any) -> Any:
    tail = 0.5 * halfgennorm.functions["sf"](pn.abs(z), beta)
    return pn.where(z < 0.0, 1.0 - tail, tail)


def _gennorm_log_above(z: Any, beta: Any) -> Any:
    tail = halfgennorm.functions["logsf"](pn.abs(z), beta) - LOG_2
    return pn.where(z < 0.0, pn.log1p(-pn.exp(tail)), tail)


def _gennorm_upper(q: Any, beta: Any) -> Any:
    low = q < 0.5
    size = halfgennorm.functions["isf"](2.0 * pn.where(low, q, 1.0 - q), beta)
    return pn.where(low, size, -size)


gennorm = Distribution(
    "gennorm",
    ("beta",),
    lambda z, beta: halfgennorm.log_density(pn.abs(z), beta) - LOG_2,
    functions={
        "cdf": lambda z, beta: _gennorm_above(-z, beta),
        "sf": _gennorm_above,
        "logcdf": lambda z, beta: _gennorm_log_above(-z, beta),
        "logsf": _gennorm_log_above,
        "ppf": lambda q, beta: -_gennorm_upper(q, beta),
        "isf": _gennorm_upper,
        "mean": lambda beta: 0.0 * beta,
        "var": lambda beta: pn.exp(special.gammaln(3.0 / beta) - special.gammaln(1.0 / beta)),
        "entropy": lambda beta: halfgennorm.functions["entropy"](beta) + LOG_2,
    },
)


def _invgauss_density(z: Any, mu: Any) -> Any:
    return -LOG_ROOT - 1.5 * pn.log(z) - (z - mu) / mu * ((z - mu) / z) / (2.0 * mu)


def _invgauss_terms(z: Any, mu: Any, sign: float) -> tuple[Any, Any]:
    """Return the logarithms of the two normal probabilities (with their factor) that make a tail."""
    root = pn.sqrt(z)
    first = special.log_ndtr(sign * (z / mu - 1.0) / root)
    return first, 2.0 / mu + special.log_ndtr(-(z / mu + 1.0) / root)


def _invgauss_log_cdf(z: Any, mu: Any) -> Any:
    return pn.logaddexp(*_invgauss_terms(z, mu, 1.0))


def _invgauss_log_sf(z: Any, mu: Any) -> Any:
    """Return the logarithm of a tail.

    Beyond the mean both terms have the factor exp(−x²); what is left of them is a difference of erfcx at two places,
    which are close to each other where z > 1: there its slope is integrated.
    """
    right, root = z > mu, pn.sqrt(2.0 * z)
    first, second = _invgauss_terms(pn.where(right, mu, z), mu, -1.0)
    x, width = pn.where(right, (z / mu - 1.0) / root, 0.0), 2.0 / root
    points, weights = gauss_rule(NODES)
    slopes = ops.scaled_erfc(x[..., None] + pn.minimum(width, math.sqrt(2.0))[..., None] * points, n=1)
    integral = 2.0 * width * pn.sum(slopes * weights, axis=-1)
    difference = pn.where(z > 1.0, integral, special.erfcx(x) - special.erfcx(x + width))
    return pn.where(right, pn.log(0.5 * difference) - x * x, first + log1m_exp(first - second))


NODES = 12
"""Points of the rule for a tail: of a slope of erfcx over an interval no longer than √2 it has all digits. Measured."""


def _invgauss_entropy(mu: Any) -> Any:
    """Return the mean of −log p; U(1, 1, x) is eˣ·E₁(x)."""
    return 0.5 + LOG_ROOT + 1.5 * (pn.log(mu) - FUNCTIONS["hyperu"](1.0, 1.0, 2.0 / mu))


def _invgauss(name: str, shapes: tuple[str, ...]) -> Distribution:
    def mean(*mu: Any) -> Any:
        return mu[0] if mu else 1.0

    def density(z: Any, *mu: Any) -> Any:
        return pn.exp(_invgauss_density(z, mean(*mu)))

    return Distribution(
        name,
        shapes,
        lambda z, *mu: _invgauss_density(z, mean(*mu)),
        above_zero,
        functions={
            "cdf": lambda z, *mu: pn.exp(_invgauss_log_cdf(z, mean(*mu))),
            "sf": lambda z, *mu: pn.exp(_invgauss_log_sf(z, mean(*mu))),
            "logcdf": lambda z, *mu: _invgauss_log_cdf(z, mean(*mu)),
            "logsf": lambda z, *mu: _invgauss_log_sf(z, mean(*mu)),
            "ppf": scipys_quantile(name, "ppf", lambda z, *mu: pn.exp(_invgauss_log_cdf(z, mean(*mu))), density),
            "isf": scipys_quantile(name, "isf", lambda z, *mu: pn.exp(_invgauss_log_sf(z, mean(*mu))), density),
            "mean": mean,
            "var": lambda *mu: mean(*mu) ** 3,
            "entropy": lambda *mu: _invgauss_entropy(mean(*mu)),
        },
        with_ends=without_ends,
    )


invgauss, wald = _invgauss("invgauss", ("mu",)), _invgauss("wald", ())


def _log_mass(low: Any, high: Any) -> Any:
    """Return the logarithm of the normal probability between two ends, in the tail where they lie."""
    right = low > 0.0
    near, far = special.log_ndtr(pn.where(right, -low, high)), special.log_ndtr(pn.where(right, -high, low))
    return near + log1m_exp(near - far)


def _truncnorm_quantile(log_below: Any, log_above: Any, a: Any, b: Any) -> Any:
    """Return the quantile, from the smaller one of the normal probabilities below it and above it."""
    mass = _log_mass(a, b)
    under = pn.logaddexp(special.log_ndtr(a), log_below + mass)
    over = pn.logaddexp(special.log_ndtr(-b), log_above + mass)
    left = under < over
    inner = special.ndtri_exp(pn.where(left, under, over))
    return pn.where(left, inner, -inner)


def _truncnorm_entropy(a: Any, b: Any) -> Any:
    mass = _log_mass(a, b)

    def slope(end: Any) -> Any:
        inner = pn.where(pn.abs(end) < math.inf, end, 0.0)
        return inner * pn.exp(norm.log_density(inner) - mass)

    return 0.5 + LOG_ROOT + mass + 0.5 * (slope(a) - slope(b))


truncnorm = Distribution(
    "truncnorm",
    ("a", "b"),
    lambda z, a, b: norm.log_density(z) - _log_mass(a, b),
    lambda a, b: (a, b),
    functions={
        "cdf": lambda z, a, b: pn.exp(_log_mass(a, z) - _log_mass(a, b)),
        "sf": lambda z, a, b: pn.exp(_log_mass(z, b) - _log_mass(a, b)),
        "ppf": lambda q, a, b: _truncnorm_quantile(pn.log(q), pn.log1p(-q), a, b),
        "isf": lambda q, a, b: _truncnorm_quantile(pn.log1p(-q), pn.log(q), a, b),
        "entropy": _truncnorm_entropy,
    },
    valid=lambda a, b: a < b,
)


def _skewnorm_mean(a: Any) -> Any:
    return math.sqrt(2.0 / math.pi) * a / pn.sqrt(1.0 + a * a)


def _skewnorm_draw(key: Any, shape: tuple[int, ...], dtype: Any, a: Any) -> Any:
    half, other = normals(key, 2, shape, dtype)
    return (a * pn.abs(half) + other) / pn.hypot(1.0, a)


skewnorm = Distribution(
    "skewnorm",
    ("a",),
    lambda z, a: LOG_2 + norm.log_density(z) + special.log_ndtr(a * z),
    functions={"mean": _skewnorm_mean, "var": lambda a: 1.0 - _skewnorm_mean(a) ** 2, "draw": _skewnorm_draw},
    valid=_finite,
)


def _moyal_log_sf(z: Any) -> Any:
    w = -0.5 * (z + LOG_2)
    size = pn.exp(pn.where(w < 0.0, 0.0, w))
    near = pn.where(size >= ALL, 0.0, pn.log1p(-special.erfc(size)))
    return pn.where(w < 0.0, log_of_odd(special.erf, 2.0 / math.sqrt(math.pi), w), near)


moyal = Distribution(
    "moyal",
    (),
    lambda z: -0.5 * (z + pn.exp(-z)) - LOG_ROOT,
    functions={
        "cdf": lambda z: special.erfc(pn.exp(-0.5 * z) * math.sqrt(0.5)),
        "sf": lambda z: special.erf(pn.exp(-0.5 * z) * math.sqrt(0.5)),
        "logcdf": lambda z: log_erfc(pn.exp(-0.5 * z) * math.sqrt(0.5)),
        "logsf": _moyal_log_sf,
        "ppf": lambda q: -LOG_2 - 2.0 * pn.log(special.erfcinv(q)),
        "isf": lambda q: -LOG_2 - 2.0 * pn.log(special.erfinv(q)),
        "mean": lambda: LOG_2 + EULER,
        "var": lambda: 0.5 * math.pi**2,
        "entropy": lambda: 0.5 * (EULER + LOG_2 + 1.0) + LOG_ROOT,
    },
)


def _johnson(name: str, forth: Any, back: Any, log_slope: Any, support: Any) -> Distribution:
    """Return the distribution of what a function takes to a normal variable: a + b·forth(z)."""
    return Distribution(
        name,
        ("a", "b"),
        lambda z, a, b: pn.log(b) + log_slope(z) + norm.log_density(a + b * forth(z)),
        support,
        functions={
            "cdf": lambda z, a, b: special.ndtr(a + b * forth(z)),
            "sf": lambda z, a, b: special.ndtr(-a - b * forth(z)),
            "logcdf": lambda z, a, b: special.log_ndtr(a + b * forth(z)),
            "logsf": lambda z, a, b: special.log_ndtr(-a - b * forth(z)),
            "ppf": lambda q, a, b: back((special.ndtri(q) - a) / b),
            "isf": lambda q, a, b: back((-special.ndtri(q) - a) / b),
        },
        with_ends=without_ends,
        valid=lambda a, b: (b > 0) & (a == a),
    )


johnsonsu = _johnson(
    "johnsonsu", pn.arcsinh, pn.sinh, lambda z: -pn.log(pn.hypot(1.0, z)), lambda a, b: (-math.inf, math.inf)
)
johnsonsb = _johnson("johnsonsb", special.logit, special.expit, lambda z: -pn.log(z) - pn.log1p(-z), within_one)


powernorm = Distribution(
    "powernorm",
    ("c",),
    lambda z, c: pn.log(c) + norm.log_density(z) + (c - 1.0) * special.log_ndtr(-z),
    functions={
        **hazard_tails(
            lambda z, c: -c * special.log_ndtr(-z),
            lambda z, c: pn.log(c) + log_less_log(-special.log_ndtr(z), special.log_ndtr(-z)),
        ),
        "ppf": lambda q, c: -special.ndtri_exp(pn.log1p(-q) / c),
        "isf": lambda q, c: -special.ndtri_exp(pn.log(q) / c),
    },
)


def _rice_draw(key: Any, shape: tuple[int, ...], dtype: Any, b: Any) -> Any:
    along, across = normals(key, 2, shape, dtype)
    return pn.hypot(b + along, across)


rice = Distribution(
    "rice",
    ("b",),
    lambda z, b: pn.log(z) - 0.5 * (z - b) ** 2 + pn.log(FUNCTIONS["i0e"](b * z)),
    above_zero,
    functions={"draw": _rice_draw},
    valid=lambda b: b >= 0,
)
