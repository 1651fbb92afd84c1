"""Interval arithmetic of single numbers: the four operations, powers, choices and comparisons.

Each function takes the bounds of its operands and returns bounds of all values. IEEE operations are rounded correctly,
so the next number outwards is a bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.enclosures.bounds import WHOLE, Bounds, around, down, hull, signed, undefined_where, up, within
from primad.errors import EnclosureError

POWER_ULPS = 4.0
"""Error of NumPy's power in ulps, as NumPy states it for vectors; scalars have less."""
BITS = np.finfo(np.float64).nmant + 1
"""Binary digits of a number of float64."""


def add(x: Bounds, y: Bounds) -> Bounds:
    """Bounds of x + y."""
    return Bounds(_rounded_sum(x.low, y.low, -np.inf), _rounded_sum(x.high, y.high, np.inf))


def _rounded_sum(a: Any, b: Any, towards: float) -> Any:
    """Return a + b rounded in a direction: what rounding lost is known exactly (Knuth's two-sum)."""
    total = a + b
    part = total - a
    lost = (a - (total - part)) + (b - part)
    moved = up(total) if towards > 0 else down(total)
    return np.where(lost <= 0 if towards > 0 else lost >= 0, total, moved)


def sub(x: Bounds, y: Bounds) -> Bounds:
    """Bounds of x − y."""
    return add(x, neg(y))


def neg(x: Bounds) -> Bounds:
    """−x, which is exact."""
    return Bounds(-x.high, -x.low)


def mul(x: Bounds, y: Bounds) -> Bounds:
    """x·y: the extremes are products of ends. 0·∞ is 0 here: bounds are limits, no number in them is infinite."""
    if x.is_point and y.is_point:
        return _rounded_product(x.low, y.low)
    products = [_product(a, b) for a in x for b in y]
    found = around(np.minimum.reduce(products), np.maximum.reduce(products))
    return _signed(found, x, y)


def _rounded_product(a: Any, b: Any) -> Bounds:
    """Return bounds of a product of known numbers: itself where it is exact.

    It is where the odd numbers that both are, times powers of two, have a product of no more digits than there are, and
    nothing overflows or is too small. A product of odd numbers is odd, so it is not the power of two beyond.
    """
    product = _product(a, b)
    fits = _odd_part(a) * _odd_part(b) < 2.0**BITS
    told = np.isfinite(product) & (np.abs(product) >= np.finfo(np.float64).tiny)
    exact = (a == 0) | (b == 0) | (fits & told)
    low, high = np.where(exact, product, down(product)), np.where(exact, product, up(product))
    return _signed(Bounds(low, high), Bounds(a, a), Bounds(b, b))


def _odd_part(x: Any) -> Any:
    """Return the odd number that a number is, without sign, times a power of two; 0 of 0, and of what is not finite."""
    finite = np.where(np.isfinite(x), x, 0.0)
    whole = np.ldexp(np.abs(np.frexp(finite)[0]), BITS).astype(np.int64)
    return (whole // np.maximum(whole & -whole, 1)).astype(np.float64)


def _signed(found: Bounds, x: Bounds, y: Bounds) -> Bounds:
    """Return bounds of a product or quotient with the sign that those of its operands give it."""
    above = ((x.low >= 0) & (y.low >= 0)) | ((x.high <= 0) & (y.high <= 0))
    below = ((x.low >= 0) & (y.high <= 0)) | ((x.high <= 0) & (y.low >= 0))
    return signed(found, above, below)


def _product(a: Any, b: Any) -> Any:
    found = a * b
    lost = np.isnan(found) & ~np.isnan(a) & ~np.isnan(b)
    return np.where(lost, 0.0, found) if np.any(lost) else found


def square(x: Bounds) -> Bounds:
    """x·x of one and the same x."""
    if x.is_point:
        return _rounded_product(x.low, x.low)
    size = absolute(x)
    found = around(size.low * size.low, size.high * size.high)
    return Bounds(np.maximum(found.low, 0.0), found.high)


def div(x: Bounds, y: Bounds) -> Bounds:
    """x/y, where 0 is not among the values of y."""
    quotients = []
    for a in x:
        for b in y:
            quotient = a / b
            both_infinite = np.isinf(a) & np.isinf(b)
            quotients.append(np.where(both_infinite, 0.0, quotient) if np.any(both_infinite) else quotient)
    found = around(np.minimum.reduce(quotients), np.maximum.reduce(quotients))
    return undefined_where((y.low <= 0) & (y.high >= 0), _signed(found, x, y))


def absolute(x: Bounds) -> Bounds:
    """|x|, which is exact."""
    low = np.maximum(np.maximum(x.low, -x.high), 0.0)
    return Bounds(low, np.maximum(-x.low, x.high))


def maximum(x: Bounds, y: Bounds) -> Bounds:
    """The larger of two numbers."""
    return Bounds(np.maximum(x.low, y.low), np.maximum(x.high, y.high))


def minimum(x: Bounds, y: Bounds) -> Bounds:
    """The smaller of two numbers."""
    return Bounds(np.minimum(x.low, y.low), np.minimum(x.high, y.high))


def power(x: Bounds, y: Bounds) -> Bounds:
    """x^y: of any base where all exponents are known and whole, else of positive ones."""
    if y.is_point and np.all(y.low == np.floor(y.low)) and np.all(np.isfinite(y.low)):
        return _whole_power(x, y.low)
    ends = [np.power(a, b) for a in (np.maximum(x.low, 0.0), x.high) for b in y]
    found = around(np.minimum.reduce(ends), np.maximum.reduce(ends), POWER_ULPS)
    at_zero = (x.low == 0) & (y.low <= 0)
    return undefined_where((x.low < 0) | at_zero, Bounds(np.maximum(found.low, 0.0), found.high))


def _whole_power(x: Bounds, n: Any) -> Bounds:
    """x^n of whole n: even ones of |x|, odd ones grow with x where n > 0 and fall on either side of 0 where n < 0."""
    even = n % 2 == 0
    size = absolute(x)
    a, b = np.where(even, size.low, x.low), np.where(even, size.high, x.high)
    ends = np.power(a, n), np.power(b, n)
    found = around(np.minimum(*ends), np.maximum(*ends), POWER_ULPS)
    found = Bounds(np.where(even, np.maximum(found.low, 0.0), found.low), found.high)
    found = Bounds(np.where(n == 0, 1.0, found.low), np.where(n == 0, 1.0, found.high))
    return undefined_where((n < 0) & (x.low <= 0) & (x.high >= 0), found)


def hypot(x: Bounds, y: Bounds) -> Bounds:
    """√(x² + y²), which grows with both sizes."""
    a, b = absolute(x), absolute(y)
    found = around(np.hypot(a.low, b.low), np.hypot(a.high, b.high), POWER_ULPS)
    return Bounds(np.maximum(found.low, 0.0), found.high)


def direction(x: Bounds, y: Bounds) -> Bounds:
    """x/√(x² + y²), which grows with x, and with |y| comes closer to 0; 0 at the origin."""
    size = absolute(y)

    def cosine(a: Any, b: Any) -> Any:
        _, exponent = np.frexp(np.maximum(np.abs(a), np.abs(b)))
        a, b = np.ldexp(a, -exponent), np.ldexp(b, -exponent)  # a length neither overflows nor loses bits near 0
        length = np.hypot(a, b)
        return np.where(length == 0, 0.0, a / np.where(length == 0, 1.0, length))

    low = cosine(x.low, np.where(x.low >= 0, size.high, size.low))
    high = cosine(x.high, np.where(x.high >= 0, size.low, size.high))
    found = within(around(low, high, 2.0 * POWER_ULPS), -1.0, 1.0)
    origin = (x.low <= 0) & (x.high >= 0) & (size.low <= 0)
    return Bounds(
        np.where(origin, np.minimum(found.low, 0.0), found.low), np.where(origin & (found.high < 0), 0.0, found.high)
    )


def arctan2(y: Bounds, x: Bounds) -> Bounds:
    """The angle of (x, y): the extremes are at corners, unless the box meets the cut along negative x."""
    corners = [np.arctan2(a, b) for a in y for b in x]
    found = around(np.minimum.reduce(corners), np.maximum.reduce(corners), POWER_ULPS)
    cut = (x.low <= 0) & (y.low <= 0) & (y.high >= 0)
    whole = up(np.pi)
    low, high = np.where(cut, -whole, found.low), np.where(cut, whole, found.high)
    return undefined_where((x.low <= 0) & (x.high >= 0) & cut, Bounds(low, high))


# -- rounding to whole numbers, remainders -----------------------------------------------------------------------------


def remainder(x: Bounds, y: Bounds) -> Bounds:
    """Bounds of x − y·⌊x/y⌋ of a known divisor: exact between two multiples, else all that it may be."""
    if not y.is_point:
        raise EnclosureError("remainder: there are no bounds for divisors that vary", fix="divide by a constant.")
    size = y.low
    lowest, highest = np.minimum(size, 0.0), np.maximum(size, 0.0)
    turns, same = _turns(x, size)
    moved = sub(x, mul(Bounds(turns, turns), y))
    low = np.where(same, np.maximum(moved.low, lowest), lowest)
    high = np.where(same, np.minimum(moved.high, highest), highest)
    return undefined_where(size == 0, Bounds(low, high))


def _turns(x: Bounds, size: Any) -> tuple[Any, Any]:
    """Return ⌊x/size⌋ at the lower end, and whether it is that of all numbers up to the upper one.

    NumPy's floor_divide finds it from an exact remainder; a rounded quotient is one too many just below a multiple.
    """
    first, last = [np.floor_divide(end, size) for end in x]
    return first, (first == last) & (np.abs(first) < WHOLE)


def crosses_multiple(x: Bounds, y: Bounds) -> Any:
    """Say where x may reach a multiple of y, at which the remainder jumps."""
    return ~_turns(x, y.low)[1]


def floor_divide(x: Bounds, y: Bounds) -> Bounds:
    """⌊x/y⌋."""
    found = div(x, y)
    return Bounds(np.floor(found.low), np.floor(found.high))


# -- choices -----------------------------------------------------------------------------------------------------------


def less(x: Bounds, y: Bounds) -> Bounds:
    """Bounds of x < y: surely, and perhaps."""
    return Bounds(x.high < y.low, ~(x.low >= y.high))


def less_equal(x: Bounds, y: Bounds) -> Bounds:
    """Bounds of x ≤ y: surely, and perhaps."""
    return Bounds(x.high <= y.low, ~(x.low > y.high))


def equal(x: Bounds, y: Bounds) -> Bounds:
    """Bounds of x = y: surely where both are one number, and perhaps where they meet."""
    sure = (x.low == x.high) & (y.low == y.high) & (x.low == y.low)
    return Bounds(sure, ~((x.high < y.low) | (y.high < x.low)))


def select(condition: Bounds, x: Bounds, y: Bounds) -> Bounds:
    """Bounds of x where the condition holds, y elsewhere, either where it may or may not."""
    both = hull(x, y)
    return Bounds(
        *[np.where(condition.low, a, np.where(condition.high, ab, b)) for a, ab, b in zip(x, both, y, strict=True)]
    )


def mask(condition: Bounds, x: Bounds) -> Bounds:
    """Bounds of x where the condition holds, 0 elsewhere."""
    zero = np.zeros(())
    return select(condition, x, Bounds(zero, zero))


def defined_where(condition: Bounds, x: Bounds) -> Bounds:
    """Bounds of x where the condition surely holds; nothing is known elsewhere."""
    return undefined_where(~condition.low, x)
