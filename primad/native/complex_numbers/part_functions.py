"""Functions of complex numbers in terms of those of their parts.

Formulas and special values are those of C99's Annex G, which NumPy's functions have too: each follows what the GNU C
library's does where a plain formula would overflow, cancel or multiply infinities by zeros.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad import ops
from primad.native.complex_numbers.complex_arithmetic import (
    Parts,
    Real,
    chosen,
    product,
    quotient,
    scaled,
    turned,
    turned_back,
)
from primad.ops.record.primitive import full

INFINITY = math.inf


def _is_finite(x: Real) -> Real:
    return (x - x) == 0.0


def _is_negative(x: Real) -> Real:
    """Return whether numbers have a minus sign, of zeros too."""
    return (1.0 / x) < 0.0


def _with_sign_of(x: Real, sign: Real) -> Real:
    """Return numbers that are not negative with the sign of others."""
    return ops.select(_is_negative(sign), -x, x)


def _zero_with_sign_of(x: Real) -> Real:
    return ops.select(x < 0.0, full(-0.0, x), full(0.0, x))


def _strong_product(x: Real, y: Real) -> Real:
    """Return x·y, where 0 times what is not finite is 0."""
    found = x * y
    zero = ops.select(x == 0.0, x, ops.select(x < 0.0, -y, y))
    return ops.select(((x == 0.0) | (y == 0.0)) & ~(found == found), zero, found)


def _exponent_range(dtype: Any) -> float:
    """Return the largest whole number whose exp is a number."""
    return math.floor(math.log(float(np.finfo(dtype).max)))


def exp(z: Parts) -> Parts:
    """Return eˣ·(cos y, sin y); a factor e⁷⁰⁹, of 32 bits e⁸⁸, goes to the second where eˣ would overflow."""
    x, y = z
    most = _exponent_range(x.dtype)
    far = x > most
    factor = ops.select(far, full(math.exp(most), x), full(1.0, x))
    size = ops.exp(ops.select(far, x - most, x))
    lost = (ops.abs(x) == INFINITY) & ~_is_finite(y)
    real = ops.select(lost, size, size * (ops.cos(y) * factor))
    imag = size * (ops.sin(y) * factor)
    imag = ops.select(lost & (x < 0.0), _zero_with_sign_of(y), imag)
    return Parts(real, ops.select(y == 0.0, y, imag))


def log(z: Parts) -> Parts:
    """Return (log |z|, angle).

    Near |z| = 1 the first is log1p((|x| − 1)(|x| + 1) + y²)/2 with the larger part as x, by Kahan's log1p; parts near
    the ends of the numbers' range are scaled.
    """
    x, y = z
    info = np.finfo(x.dtype)
    a, b = ops.abs(x), ops.abs(y)
    large, small = ops.maximum(a, b), ops.minimum(a, b)
    step = math.floor(info.maxexp / 4)
    down, up = large > 2.0 ** (info.maxexp - step), large < 2.0 ** (info.minexp + step)
    one, none = full(1.0, x), full(0.0, x)
    factor = ops.select(down, full(2.0**-step, x), ops.select(up, full(2.0**step, x), one))
    shift = step * math.log(2.0)
    back = ops.select(down, full(shift, x), ops.select(up, full(-shift, x), none))
    length = ops.hypot(a * factor, b * factor)
    near = (length > 0.5) & (length < 2.0)
    excess = (large - 1.0) * (large + 1.0) + small * small
    above = excess + 1.0
    found = ops.log(ops.select(near, above, length))
    rest = above - 1.0
    half = ops.select(rest == 0.0, excess, found * (excess / rest)) * 0.5
    return Parts(ops.select(near, half, found + back), ops.arctan2(y, x))


def log1p(z: Parts) -> Parts:
    """Return the logarithm of 1 + z, as NumPy does."""
    x = z.real + 1.0
    return Parts(ops.log(ops.hypot(x, z.imag)), ops.arctan2(z.imag, x))


def expm1(z: Parts) -> Parts:
    """Return eᶻ − 1, accurate near 0: (eˣ − 1)·cos y − 2·sin²(y/2) and eˣ·sin y."""
    half = ops.sin(z.imag * 0.5)
    return Parts(ops.expm1(z.real) * ops.cos(z.imag) - 2.0 * half * half, ops.exp(z.real) * ops.sin(z.imag))


def sqrt(z: Parts) -> Parts:
    """Return the root with a real part that is not negative: √((|x| + |z|)/2), and |y|/2 by that.

    Parts near the ends of the numbers' range are scaled by powers of 4.
    """
    x, y = z
    info = np.finfo(x.dtype)
    a, b = ops.abs(x), ops.abs(y)
    large = ops.maximum(a, b)
    step = 2 * (info.nmant + 2)
    down, up = large > 2.0 ** (info.maxexp - 4), large < 2.0 ** (info.minexp + step)
    one = full(1.0, x)
    factor = ops.select(down, full(2.0**-4, x), ops.select(up, full(2.0**step, x), one))
    back = ops.select(down, full(4.0, x), ops.select(up, full(2.0 ** (-step // 2), x), one))
    a, b = a * factor, b * factor
    root = ops.sqrt((a + ops.hypot(a, b)) * 0.5)
    other = ops.select(root == 0.0, b, b * 0.5 / root)
    root, other = root * back, other * back
    left = x < 0.0
    real, imag = ops.select(left, other, root), _with_sign_of(ops.select(left, root, other), y)
    endless = ops.abs(y) == INFINITY
    return Parts(ops.select(endless, ops.abs(y), real), ops.select(endless, y, imag))


def _hyperbolic(x: Real, y: Real) -> tuple[Real, Real, Real, Real]:
    """Return sinh x and cosh x by a factor, and cos y and sin y times that: it is 1 but where those would overflow."""
    most = _exponent_range(x.dtype)
    step = math.floor(most / 4) * 3
    far = ops.abs(x) > most - 1.0
    x = ops.select(far, ops.select(x < 0.0, x + step, x - step), x)
    factor = ops.select(far, full(math.exp(step), x), full(1.0, x))
    return ops.sinh(x), ops.cosh(x), ops.cos(y) * factor, ops.sin(y) * factor


def _size_where_lost(x: Real, y: Real, found: Real) -> Real:
    """Return |x| where it is infinite and the angle y is not finite, elsewhere what was found."""
    size = ops.abs(x)
    return ops.select((size == INFINITY) & ~_is_finite(y), size, found)


def sinh(z: Parts) -> Parts:
    """Return (sinh x·cos y, cosh x·sin y)."""
    x, y = z
    s, c, cosine, sine = _hyperbolic(x, y)
    return Parts(_size_where_lost(x, y, _strong_product(s, cosine)), _strong_product(c, sine))


def cosh(z: Parts) -> Parts:
    """Return (cosh x·cos y, sinh x·sin y)."""
    x, y = z
    s, c, cosine, sine = _hyperbolic(x, y)
    return Parts(_size_where_lost(x, y, _strong_product(c, cosine)), _strong_product(s, sine))


def sin(z: Parts) -> Parts:
    """Return (cosh y·sin x, sinh y·cos x)."""
    x, y = z
    s, c, cosine, sine = _hyperbolic(y, x)
    return Parts(_strong_product(c, sine), _size_where_lost(y, x, _strong_product(s, cosine)))


def cos(z: Parts) -> Parts:
    """Return cosh(iz)."""
    return cosh(turned(z))


def tanh(z: Parts) -> Parts:
    """Return (sinh x·cosh x, sin y·cos y) by sinh²x + cos²y."""
    x, y = z
    most = math.floor(_exponent_range(x.dtype) / 4) * 2 - 2.0
    bounded = ops.maximum(ops.minimum(x, full(most, x)), full(-most, x))
    s, c, cosine, sine = ops.sinh(bounded), ops.cosh(bounded), ops.cos(y), ops.sin(y)
    below = s * s + cosine * cosine
    turn = sine * cosine
    real = ops.select(x == 0.0, x, s * c / below)
    imag = ops.select(ops.abs(x) > most, 0.0 * turn, turn / below)
    endless = ops.abs(x) == INFINITY
    real = ops.select(endless, ops.select(x < 0.0, full(-1.0, x), full(1.0, x)), real)
    imag = ops.select(endless & ~_is_finite(y), _zero_with_sign_of(y), imag)
    return Parts(real, ops.select(y == 0.0, y, imag))


def tan(z: Parts) -> Parts:
    """Return −i·tanh(iz)."""
    return turned_back(tanh(turned(z)))


def sech2(z: Parts) -> Parts:
    """Return 4e/(1 + e)² with e = exp(∓2z), to the right of the imaginary axis."""
    e = exp(chosen(z.real < 0.0, scaled(z, 2.0), scaled(z, -2.0)))
    more = Parts(e.real + 1.0, e.imag)
    return quotient(scaled(e, 4.0), product(more, more))


def exp2(z: Parts) -> Parts:
    """Return 2ᶻ."""
    return exp(scaled(z, math.log(2.0)))


def log2(z: Parts) -> Parts:
    """Return the logarithm to base 2."""
    return scaled(log(z), 1.0 / math.log(2.0))


def log10(z: Parts) -> Parts:
    """Return the logarithm to base 10."""
    return scaled(log(z), 1.0 / math.log(10.0))
