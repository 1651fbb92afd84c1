"""Members of families that SciPy does not have: by recurrences where these are stable, else by fractions and series."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from primad.system.deferred import special

FAR_INTEGRAL, LEVELS = 2.0, 64
"""The x from which on repeated integrals of erfc are a continued fraction, and its number of levels. Chosen: its rest
is about exp(−2x√(2·LEVELS)), less than 2⁻⁵²."""
FAR_DAWSON, TERMS = 7.0, 40
"""The |x| from which on Dawson's integral is an asymptotic series, and its number of terms. Chosen: its least term is
about exp(−x²), less than 2⁻⁶⁴."""


def _in_double(x: Any) -> tuple[Any, Any]:
    """Return floats of 64 bits, and the dtype that a result is to have."""
    x = np.asarray(x)
    return x.astype(np.float64), x.dtype


def repeated_integral(x: Any, *, n: int) -> Any:
    """Return exp(x²)·iⁿerfc(x), of real or complex numbers."""
    if not np.iscomplexobj(x):
        return _real_integral(x, n=n)
    z = np.asarray(x, np.complex128)
    with np.errstate(all="ignore"):
        before, found = np.full(z.shape, 2.0 / math.sqrt(math.pi), z.dtype), special.erfcx(z)
        for k in range(1, n + 1):
            before, found = found, (before - 2.0 * z * found) / (2.0 * k)
        if n:  # DLMF 7.18.14, where the recurrence loses digits
            beyond = np.where(np.abs(z) > FAR_DAWSON, z, FAR_DAWSON)
            far, term = np.zeros(z.shape, z.dtype), 2.0 / math.sqrt(math.pi) * (2.0 * beyond) ** -(n + 1.0)
            for m in range(TERMS):
                far = far + term
                term = term * -(2 * m + n + 1) * (2 * m + n + 2) / ((m + 1) * (2.0 * beyond) ** 2)
            found = np.where((np.abs(z) > FAR_DAWSON) & (z.real >= 0.0), far, found)
    return found.astype(np.asarray(x).dtype)


def _real_integral(x: Any, *, n: int) -> Any:
    """Return exp(x²)·iⁿerfc(x).

    From order to order, iⁿerfc(x) = (iⁿ⁻²erfc(x) − 2x·iⁿ⁻¹erfc(x))/(2n) loses digits where x is large; there the ratios
    of neighbours are a continued fraction (DLMF 7.18.7 read backwards; the integrals are its minimal solution).
    """
    x, dtype = _in_double(x)
    with np.errstate(all="ignore"):
        first = special.erfcx(x)
        before, near = np.full(x.shape, 2.0 / math.sqrt(math.pi)), first
        for k in range(1, n + 1):
            before, near = near, (before - 2.0 * x * near) / (2.0 * k)
        if not n:
            return near.astype(dtype)
        beyond = np.maximum(x, FAR_INTEGRAL)
        ratio, far = np.zeros(x.shape), first
        for k in range(n + LEVELS, 0, -1):
            ratio = 1.0 / (2.0 * beyond + 2.0 * (k + 1) * ratio)
            if k <= n:
                far = far * ratio
    return np.where(x > FAR_INTEGRAL, far, near).astype(dtype)


def dawson_derivative(x: Any, *, n: int) -> Any:
    """Return the derivative of order n of Dawson's integral F.

    F′ = 1 − 2xF and F⁽ᵏ⁺¹⁾ = −2xF⁽ᵏ⁾ − 2kF⁽ᵏ⁻¹⁾ lose digits where x is large; there the terms of the asymptotic series
    Σ (2k − 1)!!/(2ᵏ⁺¹·x²ᵏ⁺¹) are differentiated (DLMF 7.12.1).
    """
    x, dtype = _in_double(x)
    if n == 0:
        return special.dawsn(x).astype(dtype)
    with np.errstate(all="ignore"):
        before, near = special.dawsn(x), 1.0 - 2.0 * x * special.dawsn(x)
        for k in range(1, n):
            before, near = near, -2.0 * x * near - 2.0 * k * before
        beyond = np.copysign(np.maximum(np.abs(x), FAR_DAWSON), x)
        inverse = 1.0 / (beyond * beyond)
        term = (-1.0) ** n * math.factorial(n) * 0.5 / beyond ** (n + 1)
        far = np.zeros(x.shape)
        for k in range(TERMS):
            far = far + term
            term = term * inverse * ((2 * k + 1 + n) * (2 * k + 2 + n) / (2 * (2 * k + 2)))
    return np.where(np.abs(x) > FAR_DAWSON, far, near).astype(dtype)


def exponential_moment(x: Any, *, n: int) -> Any:
    """Return ∫ tⁿ·exp(xt) dt from 0 to 1.

    For x < 0 it is an incomplete gamma function; for large x integrating by parts loses nothing; between them the terms
    of the power series Σ xᵏ/(k!·(n + 1 + k)) are positive.
    """
    x, dtype = _in_double(x)
    if n == 0:
        return special.exprel(x).astype(dtype)
    with np.errstate(all="ignore"):
        below = np.minimum(x, -1.0)
        negative = math.factorial(n) * special.gammainc(n + 1, -below) / (-below) ** (n + 1)
        edge = 2.0 * (n + 1)
        large = np.maximum(x, edge)
        high, e = special.exprel(large), np.exp(large)
        for k in range(1, n + 1):
            high = (e - k * high) / large
        small = np.clip(x, -1.0, edge)
        near, power = np.zeros(x.shape), np.ones(x.shape)
        for k in range(40 + 4 * n):
            near = near + power / (n + 1 + k)
            power = power * small / (k + 1)
    return np.where(x < -1.0, negative, np.where(x > edge, high, near)).astype(dtype)


class AsymptoticSeries(NamedTuple):
    """A series for large x that has an end.

    Attributes:
        numbers: those of its terms.
        start: from where on its rest is less than 2⁻⁵².
    """

    numbers: tuple[float, ...]
    start: int


PSI = AsymptoticSeries((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510), start=12)
"""The series of ψ, in the Bernoulli numbers B₂, B₄, … (DLMF 24.2)."""
FAR = PSI._replace(start=16)
"""The same numbers, from where on the rest is as small in derivatives of zeta functions, and in logarithms of Γ."""


def cotangents(n: int) -> list[int]:
    """Return the polynomial P for which dⁿ cot t/dtⁿ = P(cot t), lowest power first: the next is −(1 + c²) P′(c)."""
    found = [0, 1]
    for _ in range(n):
        slope = [power * each for power, each in enumerate(found)][1:]
        found = [-a - b for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return found


def polygamma_at(x: Any, *, n: int) -> Any:
    """Return ψ⁽ⁿ⁾(x); of negative numbers by reflection (DLMF 5.15.6), where SciPy adds |x| powers."""
    if n == 0:
        return special.psi(x).astype(getattr(x, "dtype", float))
    x, dtype = _in_double(x)
    below = x < 0.0
    found: Any = special.polygamma(n, np.where(below, 1.0 - x, x))
    if np.any(below):
        with np.errstate(all="ignore"):
            waves = _waves(x, n)
            found = np.where(below, waves + np.where(np.isinf(waves), 0.0, (-1.0) ** n * found), found)
    return np.asarray(found, dtype)


def _waves(x: Any, n: int) -> Any:
    """Return minus the derivative of order n of π cot πx; at its poles ∞, by the sign of ψ⁽ⁿ⁾ of positive numbers."""
    fraction = x - np.rint(x)
    size, factorial = np.abs(fraction), special.gamma(n + 1.0)
    far = size > 0.25
    tan = np.tan(math.pi * np.where(far, 0.5 - size, size))  # of 0 where the cotangent is 0
    cot = np.copysign(np.where(far, tan, 1.0 / tan), fraction)
    terms = [1.0]  # where the factorial is no double number all is infinite
    if factorial < math.inf:
        exact = math.factorial(n)
        terms = [math.pi ** (n + 1) * (abs(each) / exact) for each in cotangents(n)[(n + 1) % 2 :: 2]]  # others are 0
    total = reduce(lambda total, each: total * (cot * cot) + each, reversed(terms))
    return np.where(fraction == 0.0, math.inf * (-1) ** (n + 1), factorial * (total if n % 2 else -cot * total))


def polygamma_change(x: Any, d: Any, *, n: int) -> Any:
    """Return ψ⁽ⁿ⁾(x + d) − ψ⁽ⁿ⁾(x).

    For positive numbers differences of terms are formed before they are added: those of the recurrence, which takes x
    to where the asymptotic series holds, and of that series (DLMF 5.11.2, 5.15.5 and 5.15.8).
    """
    x, dtype = _in_double(x)
    d = np.asarray(d, np.float64)
    with np.errstate(all="ignore"):
        plain = polygamma_at(x + d, n=n) - polygamma_at(x, n=n)
        inside = (x > 0) & (x + d > 0)
        x, d = np.where(inside, x, 1.0), np.where(inside, d, 1.0)

        def change(y: Any, power: int) -> Any:
            """Return (y + d)⁻ᵖ − y⁻ᵖ."""
            return y ** -float(power) * np.expm1(-power * np.log1p(d / y))

        total = np.zeros(np.broadcast_shapes(x.shape, d.shape))
        for j in range(PSI.start):
            step = d / ((x + j) * (x + d + j)) if n == 0 else -change(x + j, n + 1)
            total = total + (-1.0) ** n * math.factorial(n) * step
        x = x + PSI.start
        first = np.log1p(d / x) if n == 0 else -math.factorial(n - 1) * (-1.0) ** n * change(x, n)
        total = total + first - (-1.0) ** n * math.factorial(n) * 0.5 * change(x, n + 1)
        for k, number in enumerate(PSI.numbers, start=1):
            weight = number * math.factorial(2 * k + n - 1) / math.factorial(2 * k)
            total = total - (-1.0) ** n * weight * change(x, 2 * k + n)
    return np.where(inside, total, plain).astype(dtype)
