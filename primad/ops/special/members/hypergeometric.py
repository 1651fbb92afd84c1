"""Hypergeometric functions, those that are integrals of elementary ones, and orthogonal polynomials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.ops.elementwise.elementary import cos, cosh, exp, log, sin
from primad.ops.elementwise.selection import select
from primad.ops.record.primitive import full
from primad.ops.special.members.entry import FunctionFamily, Tried
from primad.system.deferred import special


def _jacobi_slope(of: Any, out: Any, x: Any, n: float, a: float, b: float) -> Any:
    return (0.5 * (n + a + b + 1)) * of("jacobi", x, n - 1, a + 1, b + 1) if n else 0.0 * x


def _associated_slope(of: Any, out: Any, x: Any, m: float, v: float) -> Any:
    """Return the derivative by DLMF 14.10.5."""
    return (v * x * out - (v + m) * of("lpmv", x, m, v - 1)) / (x * x - 1.0)


FAR, TERMS = 4.0, 20
"""The |z| from which on ₁F₂ is made by its recurrence, and the number of terms of its series before. Chosen: FAR to the
power TERMS, over the square of its factorial, is below 2⁻⁵²."""


def _one_of_two(z: Any, k: int) -> Any:
    """Return Fₖ = ₁F₂(k; k + 1, k + 1; z) by its series, or by z·Fₖ₊₁ = (k + 1)²·(₀F₁(k + 1; z) − Fₖ), with F₀ = 1.

    There ₀F₁ is a Bessel function of 2√|z| (DLMF 10.16.9 and 10.39.9).
    """
    distant = np.abs(z) >= FAR
    near, far = np.where(distant, 0.0, z), np.where(distant, z, FAR)
    term = series = found = np.ones(z.shape)
    for j in range(1, TERMS + 1):
        term = term * near / (j * (k + j))
        series = series + term * (k / (k + j))
    root = np.sqrt(np.abs(far))
    for j in range(1, k + 1):
        bessel = np.where(far > 0.0, special.iv(j - 1, 2.0 * root), special.jv(j - 1, 2.0 * root))
        found = (math.factorial(j - 1) * bessel / root ** (j - 1) - found) * (j * j / far)
    return np.where(distant, found, series)


def _dilogarithm_slope(of: Any, out: Any, x: Any) -> Any:
    """Return log x/(1 − x): as ₂F₁ of 1 − x near 1, and as that quotient near 0, where 1 − x has lost digits of x."""
    near = x < 0.5
    below = log(select(near, x, full(0.5, x)))
    return select(near, below / (1.0 - x), -of("hyp2f1", 1.0 - select(near, full(1.0, x), x), 1, 1, 2))


HYPERGEOMETRIC: dict[str, FunctionFamily] = {
    "hyp0f1": FunctionFamily(
        lambda x, b: special.hyp0f1(b, x),
        lambda of, out, x, b: of("hyp0f1", x, b + 1) / b,
        lambda m, x, b: m.hyp0f1(b, x), Tried.ARGUMENT, ((0.5,), (3,)),
    ),
    "hyp1f2": FunctionFamily(
        _one_of_two, lambda of, out, z, k: of("hyp1f2", z, k + 1) * (k / (k + 1.0) ** 2),
        lambda m, z, k: m.hyper([k], [k + 1, k + 1], z), Tried.ARGUMENT, ((1,), (2,)),
    ),
    "hyp1f1": FunctionFamily(
        lambda x, a, b: special.hyp1f1(a, b, x),
        lambda of, out, x, a, b: (a * of("hyp1f1", x, a + 1, b + 1)) / b,
        lambda m, x, a, b: m.hyp1f1(a, b, x), Tried.ARGUMENT, ((0.5, 1.5), (2, 3)),
    ),
    "hyp2f1": FunctionFamily(
        lambda x, a, b, c: special.hyp2f1(a, b, c, x),
        lambda of, out, x, a, b, c: (a * b * of("hyp2f1", x, a + 1, b + 1, c + 1)) / c,
        lambda m, x, a, b, c: m.hyp2f1(a, b, c, x), Tried.ARGUMENT, ((0.5, 0.25, 1.5), (1, 1, 2)),
    ),
    "hyperu": FunctionFamily(
        lambda x, a, b: special.hyperu(a, b, x),
        lambda of, out, x, a, b: -a * of("hyperu", x, a + 1, b + 1),
        lambda m, x, a, b: m.hyperu(a, b, x), Tried.POSITIVE, ((0.5, 1.5), (1, 2)),
    ),
    "wright_bessel": FunctionFamily(
        lambda x, a, b: special.wright_bessel(a, b, x),
        lambda of, out, x, a, b: of("wright_bessel", x, a, a + b),
        lambda m, x, a, b: m.nsum(lambda k: x**k * m.rgamma(k + 1) * m.rgamma(a * k + b), [0, m.inf]),
        Tried.POSITIVE, ((1, 1), (0.5, 1)),
    ),
    "log_wright_bessel": FunctionFamily(
        lambda x, a, b: special.log_wright_bessel(a, b, x),
        lambda of, out, x, a, b: exp(of("log_wright_bessel", x, a, a + b) - out),
        lambda m, x, a, b: m.log(m.nsum(lambda k: x**k * m.rgamma(k + 1) * m.rgamma(a * k + b), [0, m.inf])),
        Tried.POSITIVE, ((1, 1), (0.5, 1)),
    ),
    "pbdv": FunctionFamily(
        lambda x, v: special.pbdv(v, x)[0],
        lambda of, out, x, v: 0.5 * (v * of("pbdv", x, v - 1) - of("pbdv", x, v + 1)),  # DLMF 12.8.3
        lambda m, x, v: m.pcfd(v, x), Tried.POSITIVE, ((0.5,), (2,)),
    ),
    "spence": FunctionFamily(
        special.spence, _dilogarithm_slope,
        lambda m, x: m.polylog(2, 1 - x), (0.25, 1.75),
    ),
    "wrightomega": FunctionFamily(
        special.wrightomega, lambda of, out, x: out / (1.0 + out), lambda m, x: m.lambertw(m.exp(x)), (-2.0, 2.0)
    ),
    "si": FunctionFamily(
        lambda x: special.sici(x)[0], lambda of, out, x: of("spherical_jn", x, 0), lambda m, x: m.si(x), Tried.POSITIVE
    ),
    "ci": FunctionFamily(
        lambda x: special.sici(x)[1], lambda of, out, x: cos(x) / x, lambda m, x: m.ci(x), Tried.POSITIVE
    ),
    "shi": FunctionFamily(
        lambda x: special.shichi(x)[0], lambda of, out, x: of("spherical_in", x, 0), lambda m, x: m.shi(x),
        Tried.POSITIVE,
    ),
    "chi": FunctionFamily(
        lambda x: special.shichi(x)[1], lambda of, out, x: cosh(x) / x, lambda m, x: m.chi(x),
        Tried.POSITIVE,
    ),
    "fresnels": FunctionFamily(
        lambda x: special.fresnel(x)[0], lambda of, out, x: sin((0.5 * math.pi) * (x * x)),
        lambda m, x: m.fresnels(x), (-2.0, 2.0),
    ),
    "fresnelc": FunctionFamily(
        lambda x: special.fresnel(x)[1], lambda of, out, x: cos((0.5 * math.pi) * (x * x)),
        lambda m, x: m.fresnelc(x), (-2.0, 2.0),
    ),
    "jacobi": FunctionFamily(
        lambda x, n, a, b: special.eval_jacobi(n, a, b, x), _jacobi_slope,
        lambda m, x, n, a, b: m.jacobi(n, a, b, x), Tried.INSIDE, ((0, 1, 1), (3, 0.5, 2), (1.5, 0.5, 1)),
    ),
    "legendre": FunctionFamily(
        lambda x, n: special.eval_legendre(n, x),
        lambda of, out, x, n: of("gegenbauer", x, n - 1, 1.5) if n else 0.0 * x,
        lambda m, x, n: m.legendre(n, x), Tried.INSIDE, ((0,), (4,), (0.5,)),
    ),
    "gegenbauer": FunctionFamily(
        lambda x, n, a: special.eval_gegenbauer(n, a, x),
        lambda of, out, x, n, a: 2.0 * a * of("gegenbauer", x, n - 1, a + 1) if n else 0.0 * x,
        lambda m, x, n, a: m.gegenbauer(n, a, x), Tried.INSIDE, ((0, 0.5), (3, 1.5)),
    ),
    "chebyt": FunctionFamily(
        lambda x, n: special.eval_chebyt(n, x),
        lambda of, out, x, n: float(n) * of("chebyu", x, n - 1) if n else 0.0 * x,
        lambda m, x, n: m.chebyt(n, x), Tried.INSIDE, ((0,), (4,), (2.5,)),
    ),
    "chebyu": FunctionFamily(
        lambda x, n: special.eval_chebyu(n, x),
        lambda of, out, x, n: 2.0 * of("gegenbauer", x, n - 1, 2) if n else 0.0 * x,
        lambda m, x, n: m.chebyu(n, x), Tried.INSIDE, ((0,), (3,)),
    ),
    "hermite": FunctionFamily(
        lambda x, n: special.eval_hermite(n, x),
        lambda of, out, x, n: 2.0 * n * of("hermite", x, n - 1) if n else 0.0 * x,
        lambda m, x, n: m.hermite(n, x), Tried.INSIDE, ((0,), (4,)),
    ),
    "hermitenorm": FunctionFamily(
        lambda x, n: special.eval_hermitenorm(n, x),
        lambda of, out, x, n: float(n) * of("hermitenorm", x, n - 1) if n else 0.0 * x,
        lambda m, x, n: m.mpf(2) ** (-m.mpf(n) / 2) * m.hermite(n, x / m.sqrt(2)), Tried.INSIDE, ((0,), (4,)),
    ),
    "laguerre": FunctionFamily(
        lambda x, n, a: special.eval_genlaguerre(n, a, x),
        lambda of, out, x, n, a: -of("laguerre", x, n - 1, a + 1) if n else 0.0 * x,
        lambda m, x, n, a: m.laguerre(n, a, x), Tried.POSITIVE, ((0, 0), (3, 0.5), (1.5, 0)),
    ),
    "lpmv": FunctionFamily(
        lambda x, m, v: special.lpmv(m, v, x), _associated_slope,
        lambda n, x, m, v: n.legenp(v, m, x, type=2), Tried.INSIDE, ((1, 2), (2, 3.5)),
    ),
}  # fmt: skip
"""By name. Polynomials are of a real degree: with one that is not whole, functions."""
