"""Modified Bessel functions of orders 0, 1 and 2, also scaled, in double precision: power series, and fits far out."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from primad.ir.node import Node
from primad.native.emit.emit_context import Pointwise, times
from primad.native.emit.scipy_functions import exported
from primad.native.emit.vector_functions import exp_below_zero, function
from primad.native.emit.vector_math import in_double, polynomial
from primad.native.llvm.vectors import Vector
from primad.native.special import bessel_fits
from primad.native.special.fits import Fit

FAR_OF_I, FAR_OF_K = 8.0, 2.0
"""The values of x from which on fits hold. Chosen: there the series of I has no cancellation, and that of K little."""
I_FAR = (bessel_fits.I0_FAR, bessel_fits.I1_FAR, bessel_fits.I2_FAR)
I_SLOPES = (bessel_fits.I0_SLOPE, bessel_fits.I1_SLOPE)
K_NEAR = (bessel_fits.K0_NEAR, bessel_fits.K1_NEAR)
K_FAR = (bessel_fits.K0_FAR, bessel_fits.K1_FAR)
K_SLOPES = (bessel_fits.K0_SLOPE, bessel_fits.K1_SLOPE)


def terms_below(largest: float) -> int:
    """Return how many terms the series of I₀ has until they are less than a hundredth of the last bit."""
    total, term, k = 1.0, 1.0, 0
    while term > 2.0**-60 * total:
        k += 1
        term *= (0.5 * largest / k) ** 2
        total += term
    return k + 1


def series(v: Vector, x: str, n: int, largest: float, sign: int = 1) -> str:
    """Return Iₙ(x)/xⁿ, or Jₙ(x)/xⁿ for sign −1, by powers of x² (DLMF 10.25.2 and 10.2.2)."""
    factors = [
        (0.25 * sign) ** k * 0.5**n / (math.factorial(k) * math.factorial(k + n)) for k in range(terms_below(largest))
    ]
    return polynomial(v, v.op("fmul", x, x), *factors[::-1])


def _times_power(v: Vector, y: str, x: str, n: int) -> str:
    for _ in range(n):
        y = v.op("fmul", y, x)
    return y


def _tail(v: Vector, x: str, fit: Fit, start: float, power: int) -> str:
    """Return a fit in start/x times 1/x to the power of a half times an odd number."""
    inverse = v.op("fdiv", v.constant(1), x)
    found = v.op("fmul", fit.at(v, v.op("fmul", inverse, v.constant(start))), v.intrinsic("sqrt", inverse))
    return v.op("fmul", found, inverse) if power == 3 else found


def _odd(v: Vector, found: str, x: str) -> str:
    """Turn the sign where x < 0; it is 0 at −0, as SciPy's."""
    return v.choose(v.compare("olt", x, v.constant(0)), v.op("fneg", found), found)


# -- the first kind ----------------------------------------------------------------------------------------------------


def _i(v: Vector, x: str, n: int, scaled: bool) -> str:
    """Iₙ(x), or exp(−|x|) times it."""
    size = v.intrinsic("fabs", x)
    near = _times_power(v, series(v, size, n, FAR_OF_I), size, n)
    far = _tail(v, size, I_FAR[n], FAR_OF_I, 1)
    if scaled:
        near = v.op("fmul", near, exp_below_zero(v, v.op("fneg", size)))
    else:
        half = function(v, "exp", v.op("fmul", size, v.constant(0.5)))  # its square overflows before the result does
        far = v.op("fmul", v.op("fmul", far, half), half)
    found = v.choose(v.compare("ogt", size, v.constant(FAR_OF_I)), far, near)
    return _odd(v, found, x) if n % 2 else found


def _slope_of_i(v: Vector, x: str, n: int) -> str:
    """Return the derivative of exp(−|x|)·Iₙ(x), which for n = 0 jumps at 0, from 1 to −1."""
    size = v.intrinsic("fabs", x)
    zero, one, two = [_times_power(v, series(v, size, k, FAR_OF_I), size, k) for k in range(3)]
    near = v.op("fsub", one, zero)
    if n:
        near = v.op("fsub", v.op("fmul", v.op("fadd", zero, two), v.constant(0.5)), one)
    near = v.op("fmul", near, exp_below_zero(v, v.op("fneg", size)))
    far = _tail(v, size, I_SLOPES[n], FAR_OF_I, 3)
    found = v.choose(v.compare("ogt", size, v.constant(FAR_OF_I)), far, near)
    return found if n else _odd(v, found, x)


# -- the second kind ---------------------------------------------------------------------------------------------------


def _k_near(v: Vector, x: str, n: int) -> str:
    """Return Kₙ(x) of 0 ≤ x ≤ 2: its logarithm apart, of x/2 where that is not below all numbers (DLMF 10.31.1)."""
    low, zero = v.compare("olt", x, v.constant(1)), v.constant(0)
    log = function(v, "log", v.choose(low, x, v.op("fmul", x, v.constant(0.5))))
    log = v.op("fsub", log, v.choose(low, v.constant(math.log(2)), zero))
    rest, of_i = K_NEAR[n].at(v, v.op("fmul", x, x)), series(v, x, n, FAR_OF_K)
    if n == 0:
        return v.intrinsic("fma", v.op("fneg", log), of_i, rest)
    found = v.intrinsic("fma", v.op("fmul", log, x), of_i, v.op("fdiv", rest, x))
    return v.choose(v.compare("oeq", x, zero), v.constant(math.inf), found)


def _k(v: Vector, x: str, n: int, scaled: bool) -> str:
    """Kₙ(x), or exp(x) times it; NaN for x < 0."""
    if n == 2:  # DLMF 10.29.1
        inverse = v.op("fdiv", v.constant(2), v.intrinsic("fabs", x))  # ∞ at −0, as SciPy says
        return v.intrinsic("fma", inverse, _k(v, x, 1, scaled), _k(v, x, 0, scaled))
    near, far = _k_near(v, x, n), _tail(v, x, K_FAR[n], FAR_OF_K, 1)
    if scaled:
        near = v.op("fdiv", near, exp_below_zero(v, v.op("fneg", x)))
    else:
        half = exp_below_zero(v, v.op("fmul", x, v.constant(-0.5)))
        far = v.op("fmul", v.op("fmul", far, half), half)
    return v.choose(v.compare("ogt", x, v.constant(FAR_OF_K)), far, near)


def _slope_of_k(v: Vector, x: str, n: int) -> str:
    """Return the derivative of exp(x)·Kₙ(x)."""
    zero, one = [_k_near(v, x, k) for k in range(2)]
    near = v.op("fsub", zero, one)
    near = v.op("fneg", v.op("fadd", near, v.op("fdiv", one, x))) if n else near
    near = v.op("fdiv", near, exp_below_zero(v, v.op("fneg", x)))
    far = _tail(v, x, K_SLOPES[n], FAR_OF_K, 3)
    return v.choose(v.compare("ogt", x, v.constant(FAR_OF_K)), far, near)


# -- the ops -----------------------------------------------------------------------------------------------------------


def of_orders(write: Callable[..., str], others: Pointwise, time: float) -> Pointwise:
    """Return how an op is written whose orders 0, 1 and 2 are ours, and all others SciPy's."""

    def emit(v: Vector, x: str, *, n: float) -> str:
        return in_double(write)(v, x, n=int(n)) if n in (0, 1, 2) else others.emit(v, x, n=n)

    return Pointwise(emit, function=True, limit=others.limit, times_exp=times(time))


bessel_i = of_orders(partial(_i, scaled=False), exported(of_order="iv"), 5)
bessel_k = of_orders(partial(_k, scaled=False), exported(of_order="kv"), 6)
"""How they are written; the times are those of n = 0 and 1, measured."""

SCALED: dict[tuple[str, tuple[float, ...]], Callable[..., str]] = {
    **{("ive", (n,)): partial(_i, n=n, scaled=True) for n in (0, 1, 2)},
    **{("ive_slope", (n, 1)): partial(_slope_of_i, n=n) for n in (0, 1)},
    **{("kve", (n,)): partial(_k, n=n, scaled=True) for n in (0, 1, 2)},
    **{("kve_slope", (n, 1)): partial(_slope_of_k, n=n) for n in (0, 1)},
}
"""The members of families that are ours."""


def _member_limit(node: Node) -> str:
    params = dict(node.params)
    return "" if (params["of"], params["p"]) in SCALED else "NumPy computes whole arrays of it"


def _member(v: Vector, x: str, *, of: str, p: tuple[Any, ...]) -> str:
    return in_double(SCALED[of, p])(v, x)


member = Pointwise(_member, function=True, limit=_member_limit, times_exp=times(4))
"""How the scaled ones are written; the time is that of n = 0, measured."""
