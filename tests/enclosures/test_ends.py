"""Bounds where an end of a box is next to a crest, a trough or a pole, and of products that are exact or nearly so."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from primad.enclosures.bounds import Bounds
from primad.enclosures.function_bounds import cosine, sine, tangent
from primad.enclosures.interval_arithmetic import mul, square

EXTREMES = {
    "crest of sin": (sine, mpmath.mpf(1) / 4, 1, 1.0),
    "trough of sin": (sine, -mpmath.mpf(1) / 4, 1, -1.0),
    "crest of cos": (cosine, mpmath.mpf(0), 1, 1.0),
    "trough of cos": (cosine, mpmath.mpf(1) / 2, 1, -1.0),
    "pole of tan": (tangent, mpmath.mpf(1) / 4, 2, None),
}
"""The function, the place of the extreme in turns, how many there are in a turn, and the value; None of a pole."""


def ends(place: mpmath.mpf) -> tuple[float, float]:
    """Return the numbers of float64 on either side of a place."""
    near = float(place)
    return (near, float(np.nextafter(near, np.inf))) if near < place else (float(np.nextafter(near, -np.inf)), near)


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("side", [-1, 1])
def test_extremes_next_to_an_end_of_a_box_are_seen(name: str, side: int) -> None:
    """Of turns of all sizes: the box ends at the next number beyond, and begins a quarter of a radian before."""
    function, place, times, value = EXTREMES[name]
    rng = np.random.default_rng(0)
    many = rng.choice([-1, 1], 600) * rng.integers(0, 2 ** rng.integers(1, 54, 600))
    turns = np.concatenate([np.arange(-20, 21), many])
    with mpmath.workdps(60):
        found = [ends(2 * mpmath.pi * (mpmath.mpf(int(k)) / times + place)) for k in turns]
    near = np.array([above if side > 0 else below for below, above in found])
    far = near - np.maximum(0.25, 4 * np.spacing(np.abs(near))) * side
    bounds = function(Bounds(np.minimum(near, far), np.maximum(near, far)))
    if value is None:
        assert np.all(np.isnan(bounds.low) | np.isinf(bounds.low))
    elif value > 0:
        assert np.all(bounds.high >= value)
    else:
        assert np.all(bounds.low <= value)


def test_products_are_exact_or_contained() -> None:
    """Of numbers whose products have about as many digits as there are, and of those at the ends of the range."""
    rng = np.random.default_rng(1)
    digits = rng.integers(1, 54, 4000)
    a = np.floor(rng.uniform(0.5, 1.0, 4000) * 2.0**digits) * 2.0 ** rng.integers(-600, 400, 4000)
    b = np.floor(rng.uniform(0.5, 1.0, 4000) * 2.0 ** (54 - digits + rng.integers(-2, 3, 4000)).clip(1, 53))
    b = b * 2.0 ** rng.integers(-600, 400, 4000) * rng.choice([-1.0, 1.0], 4000)
    special = [0.0, 5e-324, 2.0**-1022, 2.0**-540, 3 * 2.0**-538, 1.0, 2.0**53 - 1, 1e308]
    a = np.concatenate([a, np.repeat(special, len(special)), 94906265.0 * np.ones(2)])
    b = np.concatenate([b, np.tile(special, len(special)), 94906267.0 * np.array([1.0, -1.0])])
    with np.errstate(all="ignore"):
        for found, first, second in ((mul(Bounds(a, a), Bounds(b, b)), a, b), (square(Bounds(a, a)), a, a)):
            tight = 0
            for x, y, low, high in zip(first, second, found.low, found.high, strict=True):
                exact = Fraction(float(x)) * Fraction(float(y))
                assert (low == -np.inf or Fraction(float(low)) <= exact) and (
                    high == np.inf or exact <= Fraction(float(high))
                )
                product = float(x * y)
                if np.isfinite(product) and Fraction(product) == exact and (abs(product) >= 2.0**-1022 or not product):
                    assert low == high == product
                    tight += 1
            assert tight > 50
