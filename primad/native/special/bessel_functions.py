"""Bessel functions of the first kind of orders 0 and 1, in double precision: about the first zero, and far from it."""

from __future__ import annotations

import math
from typing import NamedTuple

from primad.native.emit.emit_context import Pointwise, times
from primad.native.emit.scipy_functions import exported
from primad.native.emit.vector_functions import function
from primad.native.emit.vector_math import QUARTER, in_double
from primad.native.llvm.vectors import Vector
from primad.native.special.bessel_fits import J0_COSINES, J0_NEAR, J0_SINES, J1_COSINES, J1_NEAR, J1_SINES
from primad.native.special.fits import Fit

_of_scipy = exported("j0", "j1", of_order="jv")


class Order(NamedTuple):
    """How Jₙ is written.

    Attributes:
        zero: its first positive zero, in two parts.
        near: Jₙ(x)/(xⁿ(x² − zero²)), in x².
        cosines: P of Hankel's expansion (DLMF 10.17.3) in (5/x)².
        sines: x·Q, in (5/x)².
    """

    zero: tuple[float, float]
    near: Fit
    cosines: Fit
    sines: Fit


ORDERS = (
    Order((2.404825557695773, -1.176691651530894e-16), J0_NEAR, J0_COSINES, J0_SINES),
    Order((3.8317059702075125, -1.5269184090088067e-16), J1_NEAR, J1_COSINES, J1_SINES),
)
"""Those of n = 0 and 1."""


def _near(v: Vector, x: str, n: int) -> str:
    """Return Jₙ(x) of 0 ≤ x ≤ 5: the distances from both zeros times what is left."""
    order = ORDERS[n]
    distance = v.op("fsub", v.op("fsub", x, v.constant(order.zero[0])), v.constant(order.zero[1]))
    both = v.op("fmul", distance, v.op("fadd", x, v.constant(order.zero[0])))
    both = v.op("fmul", both, x) if n else both
    return v.op("fmul", both, order.near.at(v, v.op("fmul", x, x)))


def _far(v: Vector, x: str, n: int) -> str:
    """Return √(2/(πx))·(P cos χ − Q sin χ) with χ = x − (2n + 1)π/4, of sine and cosine of x itself."""
    order = ORDERS[n]
    inverse = v.op("fdiv", v.constant(1), x)
    w = v.op("fmul", v.op("fmul", inverse, inverse), v.constant(order.near.high))
    p, q = order.cosines.at(v, w), v.op("fmul", order.sines.at(v, w), inverse)
    sine, cosine = function(v, "sin", x), function(v, "cos", x)
    total, gap = v.op("fadd", sine, cosine), v.op("fsub", sine, cosine)
    first, second = (gap, total) if n else (total, v.op("fneg", gap))
    wave = v.intrinsic("fma", p, first, v.op("fmul", q, second))
    return v.op("fmul", wave, v.intrinsic("sqrt", v.op("fmul", inverse, v.constant(1 / math.pi))))


def _bessel_j(v: Vector, x: str, *, n: int) -> str:
    """Jₙ(x) of |x| up to where sines of vectors are ours; beyond, and of NaN, SciPy's."""
    size = v.intrinsic("fabs", x)
    far = v.compare("ogt", size, v.constant(math.sqrt(ORDERS[n].near.high)))
    beyond = v.compare("ugt", size, v.constant(QUARTER.largest))
    found = v.choose(far, _far(v, size, n), _near(v, size, n))
    found = v.op("fmul", found, v.intrinsic("copysign", v.constant(1), x)) if n else found
    some = v.code.call_once("i1", f"llvm.vector.reduce.or.v{v.lanes}i1", (v.bool, beyond))
    return v.code.either(v.type, some, lambda: v.choose(beyond, _of_scipy.emit(v, x, n=n), found), lambda: found)


def _emit(v: Vector, x: str, *, n: float) -> str:
    if n in range(len(ORDERS)):
        return in_double(_bessel_j)(v, x, n=int(n))
    return _of_scipy.emit(v, x, n=n)


bessel_j = Pointwise(_emit, function=True, limit=_of_scipy.limit, times_exp=times(7))
"""How it is written; the time is that of n = 0 and 1, measured."""
