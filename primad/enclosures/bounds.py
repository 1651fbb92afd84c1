"""Bounds of real numbers in float64, and the rounding that makes them hold.

What is not proven to be defined has the bounds NaN, which every operation hands on: a NaN of NumPy's arithmetic on
bounds, such as inf − inf, says the same, so no case of it needs a check.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = Any
UNIT = 2.0**-53
"""The largest relative error of one rounding to float64 (IEEE 754)."""
TINY = 2.0**-1074
"""The smallest number above zero in float64."""
LARGEST = float(np.finfo(np.float64).max)
WHOLE = 2.0**53
"""Up to it float64 holds every whole number."""


class Bounds(NamedTuple):
    """What is known of an array: each element lies between two numbers, or is one of two truth values.

    Attributes:
        low: the lower bounds, float64 or bool; of an integer array its values.
        high: the upper bounds; the same array where the values are known exactly.
    """

    low: Array
    high: Array

    @property
    def is_point(self) -> bool:
        """Say whether all values are known."""
        return self.low is self.high or bool(np.all(self.low == self.high))


def point(values: Array) -> Bounds:
    """Return known values as bounds: floats in float64, in which those of fewer bits are exact."""
    found = np.asarray(values)
    found = found.astype(np.float64) if found.dtype.kind == "f" else found
    return Bounds(found, found)


def real(x: Bounds) -> Bounds:
    """Return bounds in float64: of whole numbers of more bits the numbers on either side."""
    if x.low.dtype.kind not in "iu":
        return x
    low, high = [end.astype(np.float64) for end in x]
    huge = np.maximum(np.abs(low), np.abs(high)) >= WHOLE
    if not np.any(huge):
        return Bounds(low, high)
    return Bounds(np.where(huge, np.nextafter(low, -np.inf), low), np.where(huge, np.nextafter(high, np.inf), high))


def whole(x: Bounds, dtype: np.dtype[Any]) -> Bounds:
    """Return bounds of whole numbers of a type: what leaves its range is wrapped, and may be anything in it."""
    least, most = float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
    low, high = np.ceil(x.low), np.floor(x.high)
    wrapped = (low <= least - 1.0) | (high >= most + 1.0)
    low, high = np.where(wrapped, least, low), np.where(wrapped, most, high)
    found = Bounds(low, high)
    return point(low.astype(dtype)) if found.is_point else found


def down(x: Array, ulps: float = 0.0) -> Array:
    """Return a lower bound of what was computed as x with an error of so many ulps, or of half of one."""
    x = np.minimum(x, LARGEST)  # what overflowed is above the largest number, by the same error
    return np.nextafter(x - ulps * _ulp(x) if ulps else x, -np.inf)


def up(x: Array, ulps: float = 0.0) -> Array:
    """Return an upper bound of what was computed as x with an error of so many ulps, or of half of one."""
    x = np.maximum(x, -LARGEST)
    return np.nextafter(x + ulps * _ulp(x) if ulps else x, np.inf)


def _ulp(x: Array) -> Array:
    return np.spacing(np.minimum(np.abs(x), LARGEST))


def around(low: Array, high: Array, ulps: float = 0.0) -> Bounds:
    """Return bounds of what lies between two numbers that were computed with an error of so many ulps each."""
    return Bounds(down(low, ulps), up(high, ulps))


def within(bounds: Bounds, least: float, most: float) -> Bounds:
    """Return bounds without what lies outside of a function's range."""
    return Bounds(np.clip(bounds.low, least, most), np.clip(bounds.high, least, most))


def signed(bounds: Bounds, above: Array, below: Array) -> Bounds:
    """Return bounds of what is known to be at least 0 in some places, and at most 0 in others."""
    return Bounds(
        np.where(above, np.maximum(bounds.low, 0.0), bounds.low),
        np.where(below, np.minimum(bounds.high, 0.0), bounds.high),
    )


def undefined_where(bad: Array, bounds: Bounds) -> Bounds:
    """Return bounds that say nothing, not even that there is a value, where it is not proven to be defined."""
    if not np.any(bad):
        return bounds
    return Bounds(np.where(bad, np.nan, bounds.low), np.where(bad, np.nan, bounds.high))


def absolute_most(x: Bounds) -> Array:
    """Return the largest sizes of what lies within bounds."""
    return np.maximum(np.abs(x.low), np.abs(x.high))


def hull(x: Bounds, y: Bounds) -> Bounds:
    """Return bounds of what is one of two values."""
    return Bounds(np.minimum(x.low, y.low), np.maximum(x.high, y.high))


def middle_of(x: Bounds) -> Array:
    """Return numbers within bounds, near the middle; half of the smallest number above 0 is rounded to 0."""
    return np.clip(0.5 * x.low + 0.5 * x.high, x.low, x.high)


def intersection(x: Bounds, y: Bounds) -> Bounds:
    """Return bounds of what has both; NaN gives way, since either proves that there is a value."""
    return Bounds(np.fmax(x.low, y.low), np.fmin(x.high, y.high))


def relative_error(count: float) -> float:
    """Return the relative error of a sum of so many roundings (Higham 2002, lemma 3.1), rounded up."""
    part = count * UNIT
    return part / (1.0 - part) * (1.0 + 4.0 * UNIT)
