"""What the polynomials of special functions stand for: `python -m tests.native.special.fits` prints them anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import mpmath as m

DIGITS = 60


class Wanted(NamedTuple):
    """A function that a polynomial stands for, on an interval."""

    low: float
    high: float
    degree: int
    function: Callable[[Any], Any]


def fitted(wanted: Wanted) -> tuple[float, ...]:
    """Return coefficients of powers of t, lowest first: those of the interpolation at the zeros of Chebyshev's Tₙ."""
    count = wanted.degree + 1
    with m.workdps(DIGITS):
        middle, half = (m.mpf(wanted.high) + wanted.low) / 2, (m.mpf(wanted.high) - wanted.low) / 2
        angles = [m.pi * (2 * k + 1) / (2 * count) for k in range(count)]
        values = [wanted.function(middle + half * m.cos(angle)) for angle in angles]
        zeros = [m.mpf(0)] * wanted.degree
        total, before, now = [m.mpf(0), *zeros], [*zeros, m.mpf(0)], [m.mpf(1), *zeros]
        for j in range(count):
            share = m.fsum(y * m.cos(j * angle) for y, angle in zip(values, angles, strict=True)) / count
            total = [a + (2 if j else 1) * share * b for a, b in zip(total, now, strict=True)]
            following = [(2 if j else 1) * a - b for a, b in zip([m.mpf(0), *now[:-1]], before, strict=True)]
            before, now = now, following
        return tuple(map(float, total))


with m.workdps(DIGITS):
    ROOT_OF_PSI = m.findroot(lambda x: m.psi(0, x), 1.46)


def _stirling(w: Any) -> Any:
    """Return x times what Stirling's formula (DLMF 5.11.1) leaves of log Γ(x) at x = 3/√w."""
    x = 3 / m.sqrt(w)
    return x * (m.loggamma(x) - (x - m.mpf(1) / 2) * m.log(x) + x - m.log(2 * m.pi) / 2)


def _sinc(z: Any) -> Any:
    """Return sin(πr)/(πr) for z = r²."""
    angle = m.pi * m.sqrt(z)
    return m.sin(angle) / angle


def _erfcx(t: Any) -> Any:
    x = 4 * (1 + t) / (1 - t)
    return (x + m.mpf(1) / 2) * m.exp(x * x) * m.erfc(x)


def _inverse(w: Any) -> Any:
    """Return erfinv(u)/u for w = −log(1 − u²)."""
    u = m.sqrt(-m.expm1(-w))
    rest = m.exp(-w) / (1 + u)
    found = m.sqrt(w) if w > 3 else u
    while True:
        value = m.erfc(found)
        step = m.log(value / rest) * value * m.sqrt(m.pi) / 2 * m.exp(found * found)
        found += step
        if abs(step) < found * m.mpf(10) ** (8 - DIGITS):
            return found / u


def _scaled(n: int, x: Any) -> Any:
    """Return exp(−x)·Iₙ(x)."""
    return m.exp(-x) * m.besseli(n, x)


def _risen(n: int, x: Any) -> Any:
    """Return exp(x)·Kₙ(x)."""
    return m.exp(x) * m.besselk(n, x)


def _slope(function: Callable[[int, Any], Any], n: int, sign: int) -> Callable[[Any], Any]:
    """Return the derivative of exp(∓x)·Iₙ or exp(x)·Kₙ (DLMF 10.29.1 and 10.29.3)."""

    def slope(x: Any) -> Any:
        return sign * ((function(abs(n - 1), x) + function(n + 1, x)) / 2 - function(n, x))

    return slope


def _far(start: float, power: int, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of x = start/w times x to the power of a half times an odd number."""
    return lambda w: function(start / w) * m.sqrt(start / w) ** power


def _of_square(n: int, sign: int) -> Callable[[Any], Any]:
    """Return Kₙ(x) − sign·log(x/2)·Iₙ(x) in x², and x times it for n = 1 (DLMF 10.31.1)."""
    return lambda z: m.sqrt(z) ** n * (m.besselk(n, m.sqrt(z)) - sign * m.log(m.sqrt(z) / 2) * m.besseli(n, m.sqrt(z)))


def _bessel(n: int) -> Callable[[Any], Any]:
    """Return Jₙ(x)/(xⁿ(x² − zero²)) in x²."""
    with m.workdps(DIGITS):
        zero = m.besseljzero(n, 1)
    return lambda z: m.besselj(n, m.sqrt(z)) / m.sqrt(z) ** n / (z - zero * zero)


def _second(n: int) -> Callable[[Any], Any]:
    """Return what is left of Yₙ(x) in x² without its logarithm: of Y₀ over x² − zero², of Y₁ times x (DLMF 10.8.1)."""
    with m.workdps(DIGITS):
        zero = m.mpf(1) if n else m.besselyzero(0, 1)

    def rest(z: Any) -> Any:
        x = m.sqrt(z)
        left = m.bessely(n, x) - 2 / m.pi * m.besselj(n, x) * m.log(x / zero)
        return left * x if n else left / (z - zero * zero)

    return rest


def _about_zero(n: int, k: int) -> Callable[[Any], Any]:
    """Return Yₙ(x)/(x − zero)."""
    with m.workdps(DIGITS):
        zero = m.besselyzero(n, k)
    return lambda x: m.bessely(n, x) / (x - zero)


def _hankel(n: int, w: Any) -> Any:
    """Return P + iQ of Hankel's expansion (DLMF 10.17.5) at x = 5/√w, and x."""
    x = 5 / m.sqrt(w)
    return m.hankel1(n, x) * m.sqrt(m.pi * x / 2) * m.expj(-(x - (2 * n + 1) * m.pi / 4)), x


def _cosines(n: int) -> Callable[[Any], Any]:
    return lambda w: _hankel(n, w)[0].real


def _sines(n: int) -> Callable[[Any], Any]:
    return lambda w: _hankel(n, w)[0].imag * _hankel(n, w)[1]


OTHERS: dict[str, Wanted] = {
    "LOG_GAMMA": Wanted(1.0, 3.0, 27, lambda x: m.loggamma(x) / ((x - 1) * (x - 2))),
    "STIRLING": Wanted(0.0, 1.0, 11, _stirling),
    "SINC": Wanted(0.0, 0.25, 8, _sinc),
    "PSI_NEAR": Wanted(1.0, 2.0, 14, lambda x: x * (x + 1) * m.psi(0, x) / (x - ROOT_OF_PSI)),
    "ERFCX": Wanted(-1.0, 1.0, 25, _erfcx),
    "INVERSE_NEAR": Wanted(0.0, 6.25, 25, _inverse),
    "INVERSE_MIDDLE": Wanted(2.5, 4.0, 21, lambda s: _inverse(s * s)),
    "INVERSE_FAR": Wanted(0.036, 0.25, 30, lambda r: _inverse(1 / (r * r)) * r),
}
BESSEL: dict[str, Wanted] = {
    "J0_NEAR": Wanted(0.0, 25.0, 13, _bessel(0)),
    "J0_COSINES": Wanted(0.0, 1.0, 19, _cosines(0)),
    "J0_SINES": Wanted(0.0, 1.0, 18, _sines(0)),
    "J1_NEAR": Wanted(0.0, 25.0, 12, _bessel(1)),
    "J1_COSINES": Wanted(0.0, 1.0, 19, _cosines(1)),
    "J1_SINES": Wanted(0.0, 1.0, 18, _sines(1)),
    "J2_NEAR": Wanted(0.0, 25.0, 13, _bessel(2)),
    "Y0_NEAR": Wanted(0.0, 4.0, 9, _second(0)),
    "Y0_MIDDLE": Wanted(2.0, 5.0, 23, _about_zero(0, 2)),
    "Y1_NEAR": Wanted(0.0, 4.0, 10, _second(1)),
    "Y1_MIDDLE": Wanted(2.0, 5.0, 26, _about_zero(1, 1)),
    **{f"I{n}_FAR": Wanted(0.0, 1.0, 21, _far(8.0, 1, partial(_scaled, n))) for n in (0, 1, 2)},
    **{f"I{n}_SLOPE": Wanted(0.0, 1.0, 24, _far(8.0, 3, _slope(_scaled, n, 1))) for n in (0, 1)},
    **{f"K{n}_NEAR": Wanted(0.0, 4.0, 10, _of_square(n, 2 * n - 1)) for n in (0, 1)},
    **{f"K{n}_FAR": Wanted(0.0, 1.0, 22, _far(2.0, 1, partial(_risen, n))) for n in (0, 1)},
    **{f"K{n}_SLOPE": Wanted(0.0, 1.0, 23, _far(2.0, 3, _slope(_risen, n, -1))) for n in (0, 1)},
}
WANTED = {"fits": OTHERS, "bessel_fits": BESSEL}
"""By module of `primad.native.special` and by name, what each stands for."""


def main() -> None:
    """Print the tables as these modules have them."""
    for module, tables in WANTED.items():
        print(f"# {module}")
        for name, wanted in tables.items():
            numbers = [f"{number!r}," for number in fitted(wanted)]
            rows = [f"    {' '.join(numbers[i : i + 4])}\n" for i in range(0, len(numbers), 4)]
            print(f"{name} = Fit({wanted.low}, {wanted.high}, (\n{''.join(rows)}))  # fmt: skip")


if __name__ == "__main__":
    main()
