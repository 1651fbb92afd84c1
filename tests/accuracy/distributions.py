"""Incomplete gamma and beta functions, their inverses, and the distribution functions that are made of them."""

from __future__ import annotations

from typing import Any

from tests.accuracy import tails
from tests.accuracy.entries import Entry
from tests.accuracy.grids import SHAPE, SMALL, UNIT, up_to

FAR = up_to(1e5)
COUNTS = ((2, 7), (20, 50), (0, 1000))


def _gamma(upper: bool = False, inverse: bool = False) -> Any:
    function = tails.gamma_inverse if inverse else tails.gamma
    return lambda m, a, x: function(m, a, x, upper)


def _beta(upper: bool = False, inverse: bool = False) -> Any:
    function = tails.beta_inverse if inverse else tails.beta
    return lambda m, a, b, x: function(m, a, b, x, upper=upper)


def _f(upper: bool) -> Any:
    return lambda m, d, e, x: tails.beta(m, d / 2, e / 2, d * x / (d * x + e), e / (d * x + e), upper)


def _f_inverse(m: Any, d: Any, e: Any, p: Any) -> Any:
    found = tails.beta_inverse(m, d / 2, e / 2, p)
    return e * found / (d * (1 - found))


DISTRIBUTIONS: dict[str, Entry] = {
    "gammainc": Entry((SHAPE, FAR), _gamma()),
    "gammaincc": Entry((SHAPE, FAR), _gamma(upper=True)),
    "gammaincinv": Entry((SHAPE, UNIT), _gamma(inverse=True)),
    "gammainccinv": Entry((SHAPE, UNIT), _gamma(upper=True, inverse=True)),
    "betainc": Entry((SHAPE, SHAPE, UNIT), _beta()),
    "betaincc": Entry((SHAPE, SHAPE, UNIT), _beta(upper=True)),
    "betaincinv": Entry((SHAPE, SHAPE, UNIT), _beta(inverse=True)),
    "betainccinv": Entry((SHAPE, SHAPE, UNIT), _beta(upper=True, inverse=True)),
    "bdtr": Entry((UNIT,), lambda m, k, n, p: tails.beta(m, k + 1, n - k, p, upper=True), COUNTS),
    "bdtrc": Entry((UNIT,), lambda m, k, n, p: tails.beta(m, k + 1, n - k, p), COUNTS),
    "bdtri": Entry((UNIT,), lambda m, k, n, y: tails.beta_inverse(m, k + 1, n - k, y, upper=True), COUNTS),
    "nbdtr": Entry((UNIT,), lambda m, k, n, p: tails.beta(m, n, k + 1, p), COUNTS),
    "nbdtrc": Entry((UNIT,), lambda m, k, n, p: tails.beta(m, n, k + 1, p, upper=True), COUNTS),
    "nbdtri": Entry((UNIT,), lambda m, k, n, y: tails.beta_inverse(m, n, k + 1, y), COUNTS),
    "pdtr": Entry((FAR,), lambda m, k, x: tails.gamma(m, k + 1, x, upper=True), ((0,), (3,), (100,))),
    "pdtrc": Entry((FAR,), lambda m, k, x: tails.gamma(m, k + 1, x), ((0,), (3,), (100,))),
    "pdtri": Entry((UNIT,), lambda m, k, y: tails.gamma_inverse(m, k + 1, y, upper=True), ((0,), (3,), (100,))),
    "chdtr": Entry((SHAPE, FAR), lambda m, v, x: tails.gamma(m, v / 2, x / 2)),
    "chdtrc": Entry((SHAPE, FAR), lambda m, v, x: tails.gamma(m, v / 2, x / 2, upper=True)),
    "chdtri": Entry((SHAPE, UNIT), lambda m, v, p: 2 * tails.gamma_inverse(m, v / 2, p, upper=True)),
    "gdtr": Entry((up_to(1e4), SHAPE, up_to(1e4)), lambda m, a, b, x: tails.gamma(m, b, a * x)),
    "gdtrc": Entry((up_to(1e4), SHAPE, up_to(1e4)), lambda m, a, b, x: tails.gamma(m, b, a * x, upper=True)),
    "gdtrix": Entry((FAR, SHAPE, UNIT), lambda m, a, b, p: tails.gamma_inverse(m, b, p) / a),
    "gdtria": Entry((UNIT, SHAPE, FAR), lambda m, p, b, x: tails.gamma_inverse(m, b, p) / x),
    "fdtr": Entry((SHAPE, SHAPE, up_to(1e4)), _f(upper=False)),
    "fdtrc": Entry((SHAPE, SHAPE, up_to(1e4)), _f(upper=True)),
    "fdtri": Entry((SHAPE, SHAPE, UNIT), _f_inverse),
    "stdtr": Entry((SHAPE, (*SMALL, *up_to(1e4))), tails.t),
    "stdtrit": Entry((SHAPE, UNIT), tails.t_inverse),
}
"""By name."""
