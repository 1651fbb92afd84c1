"""Complex numbers as pairs of real ones: their arithmetic, with the roundings and special values that NumPy has."""

from __future__ import annotations

from typing import Any, NamedTuple

from primad import ops
from primad.ops.record.primitive import full

Real = Any
"""A traced array of real numbers."""


class Parts(NamedTuple):
    """A traced array of complex numbers, as its parts.

    Attributes:
        real: an array of the real parts.
        imag: and one of the imaginary parts, of the same type.
    """

    real: Real
    imag: Real


def turned(z: Parts) -> Parts:
    """Return i·z."""
    return Parts(-z.imag, z.real)


def turned_back(z: Parts) -> Parts:
    """Return −i·z."""
    return Parts(z.imag, -z.real)


def scaled(z: Parts, factor: float) -> Parts:
    """Return z times a real number."""
    return Parts(z.real * factor, z.imag * factor)


def chosen(condition: Any, x: Parts, y: Parts) -> Parts:
    """Return x where a condition holds, else y."""
    return Parts(ops.select(condition, x.real, y.real), ops.select(condition, x.imag, y.imag))


def constant(value: complex, like: Parts) -> Parts:
    """Return a number with the type of others."""
    value = complex(value)
    return Parts(full(value.real, like.real), full(value.imag, like.real))


def product(x: Parts, y: Parts) -> Parts:
    """Return x·y."""
    return Parts(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real)


def quotient(x: Parts, y: Parts) -> Parts:
    """Return x/y by Smith's method, as NumPy does: nothing overflows that the result does not.

    Source: R. L. Smith, Algorithm 116: Complex division, Communications of the ACM 5 (1962), 435.
    """
    flat = ops.less_equal(ops.abs(y.imag), ops.abs(y.real))
    large, small = ops.select(flat, y.real, y.imag), ops.select(flat, y.imag, y.real)
    ahead, beside = ops.select(flat, x.real, x.imag), ops.select(flat, x.imag, x.real)
    ratio = small / large
    scale = 1.0 / (large + small * ratio)
    across = ahead * ratio
    found = Parts((ahead + beside * ratio) * scale, ops.select(flat, beside - across, across - beside) * scale)
    by_zero = flat & (large == 0.0)
    return chosen(by_zero, scaled(x, float("inf")), found)


def whole_power(x: Parts, exponent: int) -> Parts:
    """Return x to an integer power that is not 0 by repeated squares, as NumPy does; of 0 to a negative power NaN."""
    at_zero = (x.real == 0.0) & (x.imag == 0.0)
    found, square, left = constant(1.0, x), x, abs(exponent)
    while left:
        if left % 2:
            found = product(found, square)
        left //= 2
        if left:
            square = product(square, square)
    nothing = 0.0
    if exponent < 0:
        found, nothing = quotient(constant(1.0, x), found), float("nan")
    return chosen(at_zero, constant(complex(nothing, nothing), x), found)


def is_equal(x: Parts, y: Parts) -> Real:
    """Return whether both parts are equal."""
    return (x.real == y.real) & (x.imag == y.imag)
