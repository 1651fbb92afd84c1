"""Bessel functions of orders 0, 1 and 2, in double precision: about 0 and the first zeros, and far from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from primad.native.emit.emit_context import Pointwise
from primad.native.emit.scipy_functions import exported
from primad.native.emit.vector_functions import function
from primad.native.emit.vector_math import QUARTER
from primad.native.llvm.vectors import Vector
from primad.native.special import bessel_fits
from primad.native.special.fits import Fit
from primad.native.special.modified_bessel import of_orders, series

Zero = tuple[float, float]
"""A positive zero, in two parts."""


class Order(NamedTuple):
    """How Jₙ is written.

    Attributes:
        zero: its first positive zero.
        near: Jₙ(x)/(xⁿ(x² − zero²)), in x².
    """

    zero: Zero
    near: Fit


class Hankel(NamedTuple):
    """Hankel's expansion (DLMF 10.17.3 and 10.17.4).

    Attributes:
        cosines: P, in (5/x)².
        sines: x·Q, in (5/x)².
    """

    cosines: Fit
    sines: Fit


class SecondKind(NamedTuple):
    """How Yₙ is written.

    Attributes:
        zero: that below 2; 1 where there is none.
        near: what is left without the logarithm, of Y₀ over x² − zero², of Y₁ times x, in x².
        next: the zero between 2 and 5.
        middle: Yₙ(x)/(x − next), there.
    """

    zero: Zero
    near: Fit
    next: Zero
    middle: Fit


ORDERS = (
    Order((2.404825557695773, -1.176691651530894e-16), bessel_fits.J0_NEAR),
    Order((3.8317059702075125, -1.5269184090088067e-16), bessel_fits.J1_NEAR),
    Order((5.135622301840683, -2.4550868789593206e-16), bessel_fits.J2_NEAR),
)
"""Those of the first kind of n = 0, 1 and 2."""
SECOND = (
    SecondKind(
        (0.8935769662791675, 2.6596231539720385e-17), bessel_fits.Y0_NEAR,
        (3.957678419314858, -1.0764340697562706e-16), bessel_fits.Y0_MIDDLE,
    ),
    SecondKind((1.0, 0.0), bessel_fits.Y1_NEAR, (2.197141326031017, -4.8259835876454966e-17), bessel_fits.Y1_MIDDLE),
)  # fmt: skip
"""Those of the second kind of n = 0 and 1."""
EXPANSIONS = (
    Hankel(bessel_fits.J0_COSINES, bessel_fits.J0_SINES),
    Hankel(bessel_fits.J1_COSINES, bessel_fits.J1_SINES),
)
"""Those of n = 0 and 1."""
FAR = math.sqrt(ORDERS[0].near.high)
"""The number from which on they hold."""


def _distance(v: Vector, x: str, zero: Zero) -> str:
    return v.op("fsub", v.op("fsub", x, v.constant(zero[0])), v.constant(zero[1]))


def _near(v: Vector, x: str, n: int) -> str:
    """Return Jₙ(x) of 0 ≤ x ≤ 5: the distances from both zeros times what is left."""
    order = ORDERS[n]
    both = v.op("fmul", _distance(v, x, order.zero), v.op("fadd", x, v.constant(order.zero[0])))
    for _ in range(n):
        both = v.op("fmul", both, x)
    return v.op("fmul", both, order.near.at(v, v.op("fmul", x, x)))


def _far(v: Vector, x: str, n: int, second_kind: bool) -> str:
    """Return √(2/(πx))·(P cos χ − Q sin χ) with χ = x − (2n + 1)π/4, of sine and cosine of x itself.

    Of the second kind it is P sin χ + Q cos χ.
    """
    expansion = EXPANSIONS[n]
    inverse = v.op("fdiv", v.constant(1), x)
    w = v.op("fmul", v.op("fmul", inverse, inverse), v.constant(FAR * FAR))
    p, q = expansion.cosines.at(v, w), v.op("fmul", expansion.sines.at(v, w), inverse)
    sine, cosine = function(v, "sin", x), function(v, "cos", x)
    total, gap = v.op("fadd", sine, cosine), v.op("fsub", sine, cosine)
    first, second = (gap, total) if n else (total, v.op("fneg", gap))
    if second_kind:
        first, second = v.op("fneg", second), first
    wave = v.intrinsic("fma", p, first, v.op("fmul", q, second))
    return v.op("fmul", wave, v.intrinsic("sqrt", v.op("fmul", inverse, v.constant(1 / math.pi))))


def _stepped(v: Vector, x: str, zero: str, one: str) -> str:
    """Return the function of order 2, of those of orders 0 and 1 (DLMF 10.6.1)."""
    return v.op("fsub", v.op("fmul", v.op("fdiv", v.constant(2), x), one), zero)


def _j(v: Vector, x: str, n: int) -> str:
    size = v.intrinsic("fabs", x)
    far = _stepped(v, size, *[_far(v, size, k, False) for k in (0, 1)]) if n == 2 else _far(v, size, n, False)
    found = v.choose(v.compare("ogt", size, v.constant(FAR)), far, _near(v, size, n))
    return v.op("fmul", found, v.intrinsic("copysign", v.constant(1), x)) if n == 1 else found


def _y_near(v: Vector, x: str, n: int) -> str:
    """Return Yₙ(x) of 0 < x ≤ 2: log(x/zero) apart, of which rounding x/zero loses nothing."""
    order = SECOND[n]
    (zero, rest), low = order.zero, v.compare("olt", x, v.constant(0.5))
    quotient = v.op("fmul", x, v.constant(1 / zero))
    log = function(v, "log", v.choose(low, x, quotient))
    lost = v.intrinsic("fma", quotient, v.constant(-zero), x)
    lost = v.op("fdiv", v.intrinsic("fma", quotient, v.constant(-rest), lost), x)
    log = v.op("fadd", log, v.choose(low, v.constant(-math.log(zero)), lost))
    left = order.near.at(v, v.op("fmul", x, x))
    if n:
        log, left = v.op("fmul", log, x), v.op("fdiv", left, x)
    else:
        left = v.op("fmul", v.op("fmul", _distance(v, x, order.zero), v.op("fadd", x, v.constant(zero))), left)
    return v.intrinsic("fma", v.op("fmul", log, v.constant(2 / math.pi)), series(v, x, n, 2.0, -1), left)


def _y(v: Vector, x: str, n: int) -> str:
    """Yₙ(x), −∞ at 0 and NaN below."""
    if n == 2:
        found = _stepped(v, x, *[_y(v, x, k) for k in (0, 1)])
    else:
        order = SECOND[n]
        middle = v.op("fmul", _distance(v, x, order.next), order.middle.at(v, x))
        found = v.choose(v.compare("ogt", x, v.constant(order.middle.low)), middle, _y_near(v, x, n))
        found = v.choose(v.compare("ogt", x, v.constant(FAR)), _far(v, x, n, True), found)
    return v.choose(v.compare("oeq", x, v.constant(0)), v.constant(-math.inf), found)


def _in_waves(write: Callable[[Vector, str, int], str], others: Pointwise, time: float) -> Pointwise:
    """Return how orders 0, 1 and 2 are written up to where sines of vectors are ours; all else is SciPy's."""

    def of_own(v: Vector, x: str, *, n: int) -> str:
        found = write(v, x, n)
        beyond = v.compare("ugt", v.intrinsic("fabs", x), v.constant(QUARTER.largest))
        some = v.code.call_once("i1", f"llvm.vector.reduce.or.v{v.lanes}i1", (v.bool, beyond))
        return v.code.either(v.type, some, lambda: v.choose(beyond, others.emit(v, x, n=n), found), lambda: found)

    return of_orders(of_own, others, time)


bessel_j = _in_waves(_j, exported("j0", "j1", of_order="jv"), 7)
bessel_y = _in_waves(_y, exported("y0", "y1", of_order="yv"), 9)
"""How they are written; the times are those of n = 0 and 1, measured."""
