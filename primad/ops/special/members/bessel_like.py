"""Spherical, scaled and Kelvin functions, Struve functions, and integrals of Bessel and Airy functions."""

from __future__ import annotations

import cmath
import math
from functools import partial
from typing import Any

import numpy as np

from primad.ops.special.bessel import airy, bessel_i, bessel_j, bessel_k, bessel_y
from primad.ops.special.members.entry import FunctionFamily, Tried
from primad.system.deferred import special


def _spherical(name: str, before: float, after: float) -> Any:
    """Return the slope by DLMF 10.51.2 and 10.51.5: (±n·f of order n − 1, ± (n + 1)·f of order n + 1)/(2n + 1)."""

    def slope(of: Any, out: Any, x: Any, n: int) -> Any:
        if n == 0:
            return after * of(name, x, 1)
        return (before * n * of(name, x, n - 1) + after * (n + 1) * of(name, x, n + 1)) / (2.0 * n + 1.0)

    return slope


def _half(numbers: Any, function: str, x: Any, n: int) -> Any:
    return numbers.sqrt(numbers.pi / (2 * x)) * getattr(numbers, function)(n + numbers.mpf(1) / 2, x)


COSINES = (1.0, math.sqrt(0.5), 0.0, -math.sqrt(0.5), -1.0, -math.sqrt(0.5), 0.0, math.sqrt(0.5))
"""Those of multiples of π/4."""
SERIES, TERMS = 1.0, 12
"""Values of x below which power series are summed, and how many terms they have. Chosen: the next is below 2⁻⁵²."""
SCIPYS = {("j", 0): "ber", ("j", 6): "bei", ("k", 0): "ker", ("k", 6): "kei"}
"""SciPy's names, by the function and by how many times π/4 it is turned, of order 0."""


def _kelvin(x: Any, kind: str, n: int, turn: int) -> Any:
    """Return the real part of exp(i·turn·π/4) times Jₙ(x·exp(3πi/4)) or Kₙ(x·exp(πi/4)).

    Terms of the power series of which it has no part are left out: rounded, they are larger than those that it has.
    """
    known = SCIPYS.get((kind, turn)) if n == 0 else None
    if known:
        return getattr(special, known)(x)
    angle = cmath.exp(0.25j * math.pi * turn)
    plain = (
        special.jv(n, x * cmath.exp(0.75j * math.pi)) if kind == "j" else special.kv(n, x * cmath.exp(0.25j * math.pi))
    )
    return np.where(np.abs(x) < SERIES, (_kelvin_j if kind == "j" else _kelvin_k)(x, n, turn), (angle * plain).real)


def _added(terms: list[tuple[float, Any]]) -> Any:
    return sum([factor * term for factor, term in reversed(terms) if factor], 0.0)


def _kelvin_j(x: Any, n: int, turn: int) -> Any:
    factors = [(-1) ** m / (math.factorial(m) * math.factorial(m + n)) for m in range(TERMS)]
    return _added([
        (factor * COSINES[(turn + 3 * (2 * m + n)) % 8], (0.5 * x) ** (2 * m + n)) for m, factor in enumerate(factors)
    ])  # fmt: skip


def _kelvin_k(x: Any, n: int, turn: int) -> Any:
    """Add the series of DLMF 10.31.1."""
    log, found = np.log(0.5 * x), []
    for k in range(n):
        factor = 0.5 * (-1) ** k * math.factorial(n - k - 1) / math.factorial(k)
        found.append((factor * COSINES[(turn + 2 * k - n) % 8], (0.5 * x) ** (2 * k - n)))
    for k in range(TERMS):
        factor, angle = (-1) ** n / (math.factorial(k) * math.factorial(n + k)), turn + 2 * k + n
        power, mean = (0.5 * x) ** (2 * k + n), 0.5 * float(special.psi(k + 1.0) + special.psi(n + k + 1.0))
        found.append((factor * COSINES[angle % 8], power * (mean - log)))
        found.append((factor * 0.25 * math.pi * COSINES[(angle - 2) % 8], power))
    return _added(found)


def _kelvin_slope(of: Any, out: Any, x: Any, kind: str, n: int, turn: int) -> Any:
    """Return the derivative by DLMF 10.6.1 and 10.29.1, turned as the argument is."""
    turn = (turn + (3 if kind == "j" else 1)) % 8
    after = of("kelvin", x, kind, n + 1, turn)
    if n == 0:
        return -after
    before = of("kelvin", x, kind, n - 1, turn)
    return 0.5 * (before - after) if kind == "j" else -0.5 * (before + after)


def _kelvin_meaning(m: Any, x: Any, kind: str, n: int, turn: int) -> Any:
    angle = m.expjpi(m.mpf(turn) / 4)
    of_order = m.besselj(n, x * m.expjpi(m.mpf(3) / 4)) if kind == "j" else m.besselk(n, x * m.expjpi(m.mpf(1) / 4))
    return m.re(angle * of_order)


def _result(name: str, place: int) -> Any:
    return lambda x: getattr(special, name)(x)[place]


def _over(of_integrand: Any) -> Any:
    return lambda of, out, x: of_integrand(x) / x


def _over_less(quarter: float) -> Any:
    """Return (I₀(x) − 1)/x or, of −1/4, (1 − J₀(x))/x, without the cancellation: x/4 times ₁F₂ of ±x²/4."""
    return lambda of, out, x: 0.25 * x * of("hyp1f2", quarter * (x * x), 1)


def _by_struve(numbers: Any, x: Any, y: str) -> Any:
    """Integrate Y₀ from 0 (DLMF 10.22.2)."""
    function = getattr(numbers, y)
    of_zero, of_one = numbers.struveh(0, x), numbers.struveh(1, x)
    return x * function(0, x) + numbers.pi * x / 2 * (function(1, x) * of_zero - function(0, x) * of_one)


def _integral_of_y_over_t(m: Any, x: Any) -> Any:
    """Add the power series of ∫ Y₀(t)/t dt from x to ∞ (Abramowitz and Stegun 11.1.20)."""
    log, terms = m.log(x / 2), range(1, m.dps)
    series = [(-1) ** k * (x / 2) ** (2 * k) / (2 * k * m.factorial(k) ** 2) for k in terms]
    rest = sum([s * (m.psi(0, k + 1) + m.mpf(1) / (2 * k) - log) for k, s in zip(terms, series, strict=True)])
    return (-log * log - 2 * m.euler * log + m.pi**2 / 6 - m.euler**2 + 2 * rest) / m.pi


def _integral_of_k_over_t(m: Any, x: Any) -> Any:
    """Add the power series of ∫ K₀(t)/t dt from x to ∞ (Abramowitz and Stegun 11.1.22)."""
    log, terms = m.log(x / 2), range(1, m.dps)
    series = [(x / 2) ** (2 * k) / (2 * k * m.factorial(k) ** 2) for k in terms]
    rest = sum([s * (m.psi(0, k + 1) + m.mpf(1) / (2 * k) - log) for k, s in zip(terms, series, strict=True)])
    return log * log / 2 + m.euler * log + m.pi**2 / 24 + m.euler**2 / 2 - rest


def _hyper(above: Any, below: Any, sign: int, lead: Any) -> Any:
    """Return a generalised hypergeometric function of ±x²/4 times something; parameters are halves."""

    def meaning(n: Any, x: Any) -> Any:
        return lead(n, x) * n.hyper([n.mpf(a) / 2 for a in above], [n.mpf(b) / 2 for b in below], sign * x * x / 4)

    return meaning


def _airy_integral(numbers: Any, x: Any, kind: str, turn: int) -> Any:
    return turn * getattr(numbers, kind)(turn * x, derivative=-1)


BESSEL_LIKE: dict[str, FunctionFamily] = {
    "spherical_jn": FunctionFamily(
        lambda x, n: special.spherical_jn(n, x), _spherical("spherical_jn", 1.0, -1.0),
        lambda m, x, n: _half(m, "besselj", x, n), Tried.POSITIVE, ((0,), (1,), (3,)),
    ),
    "spherical_yn": FunctionFamily(
        lambda x, n: special.spherical_yn(n, x), _spherical("spherical_yn", 1.0, -1.0),
        lambda m, x, n: _half(m, "bessely", x, n), Tried.POSITIVE, ((0,), (2,)),
    ),
    "spherical_in": FunctionFamily(
        lambda x, n: special.spherical_in(n, x), _spherical("spherical_in", 1.0, 1.0),
        lambda m, x, n: _half(m, "besseli", x, n), Tried.POSITIVE, ((0,), (2,)),
    ),
    "spherical_kn": FunctionFamily(
        lambda x, n: special.spherical_kn(n, x), _spherical("spherical_kn", -1.0, -1.0),
        lambda m, x, n: _half(m, "besselk", x, n), Tried.POSITIVE, ((0,), (2,)),
    ),
    "kelvin": FunctionFamily(
        _kelvin, _kelvin_slope, _kelvin_meaning, Tried.POSITIVE,
        (("j", 0, 0), ("k", 1, 1), ("j", 0, 6), ("k", 0, 0), ("k", 0, 6), ("j", 1, 3)),
    ),
    "struve": FunctionFamily(
        lambda x, v: special.struve(v, x),
        lambda of, out, x, v: 0.5 * (of("struve", x, v - 1) - of("struve", x, v + 1) + of("struve_source", x, v)),
        lambda m, x, v: m.struveh(v, x), Tried.POSITIVE, ((0,), (-0.5,), (1,)),
    ),
    "modstruve": FunctionFamily(
        lambda x, v: special.modstruve(v, x),
        lambda of, out, x, v: 0.5 * (of("modstruve", x, v - 1) + of("modstruve", x, v + 1) + of("struve_source", x, v)),
        lambda m, x, v: m.struvel(v, x), Tried.POSITIVE, ((0,), (-0.5,), (1,)),
    ),
    "struve_source": FunctionFamily(
        lambda x, v: (0.5 * x) ** v * (special.rgamma(v + 1.5) / math.sqrt(math.pi)),
        lambda of, out, x, v: (
            (v / (2.0 * v + 1.0)) * of("struve_source", x, v - 1) if v > 0 else v / x * out if v else 0.0 * x
        ),
        lambda m, x, v: (x / 2) ** v * m.rgamma(m.mpf(v) + m.mpf(3) / 2) / m.sqrt(m.pi),
        Tried.POSITIVE, ((0.5,), (2,)),
    ),
    "itstruve0": FunctionFamily(
        special.itstruve0, lambda of, out, x: of("struve", x, 0),
        _hyper((2, 2), (3, 3, 4), -1, lambda n, x: x * x / n.pi), Tried.POSITIVE,
    ),
    "it2struve0": FunctionFamily(
        special.it2struve0, lambda of, out, x: -of("struve", x, 0) / x,
        lambda m, x: m.pi / 2 - _hyper((1, 2), (3, 3, 3), -1, lambda n, x: 2 * x / n.pi)(m, x), Tried.POSITIVE,
    ),
    "itmodstruve0": FunctionFamily(
        special.itmodstruve0, lambda of, out, x: of("modstruve", x, 0),
        _hyper((2, 2), (3, 3, 4), 1, lambda n, x: x * x / n.pi), Tried.POSITIVE,
    ),
    "itj0": FunctionFamily(
        _result("itj0y0", 0), lambda of, out, x: bessel_j(x, n=0), _hyper((1,), (2, 3), -1, lambda n, x: x),
        Tried.POSITIVE,
    ),
    "ity0": FunctionFamily(
        _result("itj0y0", 1), lambda of, out, x: bessel_y(x, n=0), partial(_by_struve, y="bessely"), Tried.POSITIVE
    ),
    "iti0": FunctionFamily(
        _result("iti0k0", 0), lambda of, out, x: bessel_i(x, n=0), _hyper((1,), (2, 3), 1, lambda n, x: x),
        Tried.POSITIVE,
    ),
    "itk0": FunctionFamily(
        _result("iti0k0", 1), lambda of, out, x: bessel_k(x, n=0),
        lambda m, x: m.pi * x / 2 * (m.besselk(0, x) * m.struvel(-1, x) + m.besselk(1, x) * m.struvel(0, x)),
        Tried.POSITIVE,
    ),
    "it2j0": FunctionFamily(
        _result("it2j0y0", 0), _over_less(-0.25),
        _hyper((2, 2), (4, 4, 4), -1, lambda n, x: x * x / 8), Tried.POSITIVE,
    ),
    "it2y0": FunctionFamily(
        _result("it2j0y0", 1), _over(lambda x: -bessel_y(x, n=0)),
        _integral_of_y_over_t, Tried.POSITIVE,
    ),
    "it2i0": FunctionFamily(
        _result("it2i0k0", 0), _over_less(0.25),
        _hyper((2, 2), (4, 4, 4), 1, lambda n, x: x * x / 8), Tried.POSITIVE,
    ),
    "it2k0": FunctionFamily(
        _result("it2i0k0", 1), _over(lambda x: -bessel_k(x, n=0)),
        _integral_of_k_over_t, Tried.POSITIVE,
    ),
    **{
        f"itairy{place}": FunctionFamily(
            _result("itairy", place),
            partial(lambda of, out, x, turn, n: airy(turn * x, n=n), turn=turn, n=n),
            partial(_airy_integral, kind=kind, turn=turn), Tried.POSITIVE, (),  # SciPy has 7 digits
        )
        for place, (kind, turn, n) in enumerate(
            (("airyai", 1, 0), ("airybi", 1, 2), ("airyai", -1, 0), ("airybi", -1, 2))
        )
    },
}  # fmt: skip
"""By name. Integrals start at 0, or go to infinity."""
