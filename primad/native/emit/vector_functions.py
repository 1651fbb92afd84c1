"""Functions of vectors of floats: calls into libmvec, and functions of our own that are made of few of them.

Every lane of a vector is computed from its own operands alone, so a value does not depend on where in a loop its
element stands.
"""

from __future__ import annotations

import math

from primad.native.emit import vector_math
from primad.native.emit.vector_math import OWN, own_function, polynomial
from primad.native.llvm.vectors import Vector, libmvec, symbol_of


def function(v: Vector, name: str, *operands: str) -> str:
    """Apply a function of the C library: its own for vectors, one of ours, or for each lane that of one number."""
    symbol = symbol_of(name, v.scalar, v.lanes * v.dtype.itemsize)
    if symbol in libmvec():
        return v.call(symbol, *operands)
    if name in OWN and v.lanes > 1:
        return own_function(v, name, *operands)
    return v.each(name if v.scalar == "double" else f"{name}f", *operands)


MOST_FACTORS = {1: 7, -1: 3}
"""The largest whole exponents, by their sign, of which powers are products. Chosen: then roundings stay below 4 ulp,
as those of the C library's functions for vectors do, which the tests check."""
WHOLE_EXPONENTS = tuple([n for sign, most in MOST_FACTORS.items() for n in range(sign, sign * (most + 1), sign)])
"""The exponents of which powers are products."""


def power(v: Vector, x: str, y: str) -> str:
    """A power: for exponents that are known and small whole numbers as a product, of 1/x for negative ones.

    A product of 1/x, and not 1 over one of x, overflows and vanishes only where the power does.
    """
    exponent = next((n for n in WHOLE_EXPONENTS if v.constant(n) == y), None)
    if exponent is None:
        return function(v, "pow", x, y)
    base = x if exponent > 0 else v.op("fdiv", v.constant(1), x)
    result = base
    for bit in f"{abs(exponent):b}"[1:]:
        result = v.op("fmul", result, result)
        result = v.op("fmul", result, base) if bit == "1" else result
    return result


def exp_below_zero(v: Vector, x: str) -> str:
    """Return exp(x) for x ≤ 0 within about 1 ulp, for functions that add errors of their own; libmvec's has up to 3."""
    return function(v, "exp", x) if v.scalar == "float" else vector_math.exp_below_zero(v, x)


def _decay(v: Vector, x: str) -> tuple[str, str]:
    """Return |x| and −2|x|, whose exponential tanh and sech² share."""
    size = v.intrinsic("fabs", x)
    return size, v.op("fmul", size, v.constant(-2))


def tanh(v: Vector, x: str) -> str:
    """t/(t + 2) with t = exp(−2|x|) − 1, and the sign of x: as accurate near 0 as it is far out."""
    if v.scalar == "float":
        return _short_tanh(v, x)
    _, decay = _decay(v, x)
    t = vector_math.expm1_below_zero(v, decay)
    return v.intrinsic("copysign", v.op("fdiv", t, v.op("fadd", t, v.constant(2))), x)


def _short_tanh(v: Vector, x: str) -> str:
    """|x| + |x|³·P(x²) near 0 (the Cephes library's), 1 − 2e/(1 + e) elsewhere, e = exp(−2|x|), in single precision."""
    size, decay = _decay(v, x)
    e, one = exp_below_zero(v, decay), v.constant(1)
    square = v.op("fmul", size, size)
    p = polynomial(
        v, square, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1
    )
    small = v.compare("olt", size, v.constant(0.625))
    above = v.choose(small, v.op("fmul", v.op("fmul", size, square), p), v.op("fmul", e, v.constant(-2)))
    below = v.choose(small, one, v.op("fadd", e, one))
    return v.intrinsic("copysign", v.op("fadd", v.choose(small, size, one), v.op("fdiv", above, below)), x)


def sech2(v: Vector, x: str) -> str:
    """4e/(1 + e(2 + e)) with e = exp(−2|x|); rounding 1 + e and squaring it would exceed 4 ulp in places."""
    e = exp_below_zero(v, _decay(v, x)[1])
    below = v.op("fadd", v.op("fmul", e, v.op("fadd", e, v.constant(2))), v.constant(1))
    return v.op("fdiv", v.op("fmul", e, v.constant(4)), below)


def logistic(v: Vector, x: str) -> str:
    """1/(1 + e) for x ≥ 0 and e/(1 + e) below, with e = exp(−|x|): accurate in both tails."""
    e = exp_below_zero(v, v.op("fneg", v.intrinsic("fabs", x)))
    one = v.constant(1)
    above = v.choose(v.compare("olt", x, v.constant(0)), e, one)
    return v.op("fdiv", above, v.op("fadd", e, one))


def softplus(v: Vector, x: str) -> str:
    """max(x, 0) + log1p(exp(−|x|))."""
    e = exp_below_zero(v, v.op("fneg", v.intrinsic("fabs", x)))
    positive = v.choose(v.compare("ugt", x, v.constant(0)), x, v.constant(0))
    return v.op("fadd", positive, function(v, "log1p", e))


def direction(v: Vector, x: str, y: str) -> str:
    """x/hypot(x, y), with the limits at infinity and 0 at the origin."""
    zero, one, infinity = v.constant(0), v.constant(1), v.constant(math.inf)
    far_x = v.compare("oeq", v.intrinsic("fabs", x), infinity)
    far_y = v.compare("oeq", v.intrinsic("fabs", y), infinity)
    near = v.choose(far_y, one, v.op("fmul", y, zero))
    x, y = v.choose(far_x, v.intrinsic("copysign", one, x), x), v.choose(far_x, near, y)
    length = function(v, "hypot", x, y)
    return v.op("fdiv", x, v.choose(v.compare("oeq", length, zero), one, length))


def leg(v: Vector, x: str) -> str:
    """√((1 − x)·(1 + x))."""
    one = v.constant(1)
    return v.intrinsic("sqrt", v.op("fmul", v.op("fsub", one, x), v.op("fadd", one, x)))
