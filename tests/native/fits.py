"""What the polynomials of special functions stand for: `python -m tests.native.fits` prints them anew, from mpmath."""

from __future__ import annotations

from collections.abc import Callable
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


WANTED: dict[str, Wanted] = {
    "PSI_NEAR": Wanted(1.0, 2.0, 14, lambda x: x * (x + 1) * m.psi(0, x) / (x - ROOT_OF_PSI)),
}
"""By its name in `primad.native.special.fits`, what each stands for."""


def main() -> None:
    """Print the tables as `primad.native.special.fits` has them."""
    for name, wanted in WANTED.items():
        numbers = [f"{number!r}," for number in fitted(wanted)]
        rows = [f"    {' '.join(numbers[i : i + 4])}\n" for i in range(0, len(numbers), 4)]
        print(f"{name} = Fit({wanted.low}, {wanted.high}, (\n{''.join(rows)}))  # fmt: skip")


if __name__ == "__main__":
    main()
