"""Elementary functions of our own, as instructions: for machines whose C library has none for vectors.

In double precision each is within 3 units in the last place of the exact value, which the tests check against mpmath;
float32 is computed in double precision. Each lane takes the same instructions, whatever stands in the others; only
angles beyond 10⁶ are left to the C library's function of one number, for these lanes alone.

Sources: the reductions and polynomials of exp, log, sin and cos are those of FDLIBM (Sun Microsystems, 1993), with
fused multiplication; arctan is that of the Cephes library (S. L. Moshier).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primad.native.llvm.vectors import Vector

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""The number log 2, in two parts: multiples of the first one by small integers are exact. Given by FDLIBM."""
MAGIC = 1.5 / sys.float_info.epsilon
"""The number whose addition rounds to an integer, the bits of which are then the lowest ones."""


class QuarterTurns(NamedTuple):
    """How quarter turns are taken from an angle.

    Attributes:
        parts: π/2, its digits rounded to 53 bits one after the other.
        largest: the angle in radians up to which these are enough, as the tests check; the C library computes larger
            ones, in other bits.
    """

    parts: tuple[float, float, float]
    largest: float


QUARTER = QuarterTurns((1.57079632679489655800, 6.12323399573676603587e-17, -1.49738490485916983294e-33), largest=1e6)
SQRT_HALF = int(np.sqrt(0.5).view(np.int64))
"""The bits of √½: from there on a number is written as a power of two times one from √½ to √2."""


def polynomial(v: Vector, x: str, *coefficients: float) -> str:
    """Evaluate a polynomial, highest power first, by Estrin's scheme: pairs side by side, then pairs of pairs."""
    terms = [v.constant(coefficient) for coefficient in reversed(coefficients)]
    while len(terms) > 1:
        odd = [terms.pop()] if len(terms) % 2 else []
        terms = [v.intrinsic("fma", high, x, low) for low, high in zip(terms[::2], terms[1::2], strict=True)] + odd
        if len(terms) > 1:
            x = v.op("fmul", x, x)
    return terms[0]


def within(v: Vector, x: str, low: float, high: float) -> str:
    """Return x, or the bound that it is beyond; a NaN stays."""
    x = v.choose(v.compare("olt", x, v.constant(low)), v.constant(low), x)
    return v.choose(v.compare("ogt", x, v.constant(high)), v.constant(high), x)


def signed_zero(v: Vector, x: str, y: str) -> str:
    """Return y, or x where that is 0: a zero keeps its sign."""
    return v.choose(v.compare("oeq", x, v.constant(0)), x, y)


# -- exponentials ------------------------------------------------------------------------------------------------------


def power_of_two(v: Vector, shifted: str) -> str:
    """Return 2ⁿ for n + MAGIC."""
    i = v.integers
    exponent = i.op("add", i.op("shl", v.changed("bitcast", shifted, i), i.constant(52)), i.constant(1023 << 52))
    return i.changed("bitcast", exponent, v)


def _reduced(v: Vector, x: str) -> tuple[str, str]:
    """Return n and r with x = n·ln 2 + r."""
    n = v.op("fsub", v.op("fadd", v.op("fmul", x, v.constant(1 / math.log(2))), v.constant(MAGIC)), v.constant(MAGIC))
    rest = v.intrinsic("fma", n, v.constant(-LN2_HIGH), x)
    return n, v.intrinsic("fma", n, v.constant(-LN2_LOW), rest)


def _less_one(v: Vector, r: str) -> str:
    """Return eʳ − 1 for |r| ≤ ½·ln 2."""
    tail = polynomial(v, r, *[1 / math.factorial(k) for k in range(13, 1, -1)])
    return v.intrinsic("fma", v.op("fmul", r, r), tail, r)


def _scaled(v: Vector, x: str, n: str) -> str:
    """Return x·2ⁿ: where no instruction does it in two steps, since the whole power may be no normal number."""
    at_once = v.times_powers(x, n)
    if at_once is not None:
        return at_once
    magic = v.constant(MAGIC)
    first = v.op("fadd", v.op("fmul", n, v.constant(0.5)), magic)
    second = v.op("fadd", v.op("fsub", n, v.op("fsub", first, magic)), magic)
    return v.op("fmul", v.op("fmul", x, power_of_two(v, first)), power_of_two(v, second))


def exp(v: Vector, x: str, halvings: int = 0) -> str:
    """eˣ, halved so many times."""
    n, r = _reduced(v, within(v, x, -800, 800))
    n = v.op("fsub", n, v.constant(halvings)) if halvings else n
    return _scaled(v, v.op("fadd", _less_one(v, r), v.constant(1)), n)


def _below_zero(v: Vector, x: str) -> tuple[str, str]:
    """Return n and eʳ − 1 with x = n·ln 2 + r, of x ≤ 0."""
    n, r = _reduced(v, v.choose(v.compare("olt", x, v.constant(-800)), v.constant(-800), x))
    return n, _less_one(v, r)


def exp_below_zero(v: Vector, x: str) -> str:
    """eˣ for x ≤ 0."""
    n, near = _below_zero(v, x)
    return _scaled(v, v.op("fadd", near, v.constant(1)), n)


def expm1_below_zero(v: Vector, x: str) -> str:
    """2ⁿ·(eʳ − 1) + (2ⁿ − 1) for x ≤ 0; the second term is 0 where n is, and has no digits to lose elsewhere."""
    n, near = _below_zero(v, x)
    power = _scaled(v, v.constant(1), n)
    return v.intrinsic("fma", power, near, v.op("fsub", power, v.constant(1)))


def exp2(v: Vector, x: str) -> str:
    """2ˣ: the fraction as a power of e."""
    x = within(v, x, -1200, 1200)
    n = v.op("fsub", v.op("fadd", x, v.constant(MAGIC)), v.constant(MAGIC))
    r = v.op("fmul", v.op("fsub", x, n), v.constant(math.log(2)))
    return _scaled(v, v.op("fadd", _less_one(v, r), v.constant(1)), n)


def expm1(v: Vector, x: str) -> str:
    """2·(2ⁿ⁻¹·(eʳ − 1) + (2ⁿ⁻¹ − ½)), which overflows where the result does."""
    n, r = _reduced(v, within(v, x, -60, 709.79))
    half = power_of_two(v, v.op("fadd", v.op("fsub", n, v.constant(1)), v.constant(MAGIC)))
    near = _less_one(v, r)
    far = v.op("fmul", v.intrinsic("fma", half, near, v.op("fsub", half, v.constant(0.5))), v.constant(2))
    return signed_zero(v, x, v.choose(v.compare("oeq", n, v.constant(0)), near, far))


def sinh(v: Vector, x: str) -> str:
    """H − 1/(4h) with h = eˣ/2; near 0 (t + t/(t + 1))/2 with t = eˣ − 1."""
    size = v.intrinsic("fabs", x)
    h, t, one = exp(v, size, 1), expm1(v, size), v.constant(1)
    far = v.op("fsub", h, v.op("fdiv", v.constant(0.25), h))
    near = v.op("fmul", v.op("fadd", t, v.op("fdiv", t, v.op("fadd", t, one))), v.constant(0.5))
    return v.intrinsic("copysign", v.choose(v.compare("olt", size, one), near, far), x)


def cosh(v: Vector, x: str) -> str:
    """H + 1/(4h) with h = eˣ/2."""
    h = exp(v, v.intrinsic("fabs", x), 1)
    return v.op("fadd", h, v.op("fdiv", v.constant(0.25), h))


# -- logarithms --------------------------------------------------------------------------------------------------------


def _parts(v: Vector, x: str) -> tuple[str, str]:
    """Return k and m with x = 2ᵏ·m and √½ ≤ m < √2, of a positive number."""
    i = v.integers
    small = v.compare("olt", x, v.constant(np.finfo(np.float64).tiny))
    x = v.choose(small, v.op("fmul", x, v.constant(2.0**54)), x)
    above = i.op("sub", v.changed("bitcast", x, i), i.constant(SQRT_HALF))
    k = i.op("ashr", above, i.constant(52))
    m = i.op("add", i.op("and", above, i.constant((1 << 52) - 1)), i.constant(SQRT_HALF))
    power = i.changed("sitofp", k, v)
    return v.op("fsub", power, v.choose(small, v.constant(54), v.constant(0))), i.changed("bitcast", m, v)


def _log_parts(v: Vector, f: str) -> tuple[str, str]:
    """Return f²/2 and s·(f²/2 + R) with log(1 + f) = f − (f²/2 − s·(f²/2 + R)), s = f/(2 + f)."""
    s = v.op("fdiv", f, v.op("fadd", f, v.constant(2)))
    z = v.op("fmul", s, s)
    rest = v.op("fmul", z, polynomial(
        v, z, 1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
        2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01,
    ))  # fmt: skip
    half = v.op("fmul", v.op("fmul", f, f), v.constant(0.5))
    return half, v.op("fmul", s, v.op("fadd", half, rest))


def _at_ends(v: Vector, x: str, found: str) -> str:
    """Return a logarithm, −∞ at 0, ∞ at ∞, and NaN below 0."""
    zero, infinity = v.constant(0), v.constant(math.inf)
    found = v.choose(v.compare("oeq", x, infinity), infinity, found)
    found = v.choose(v.compare("oeq", x, zero), v.constant(-math.inf), found)
    return v.choose(v.compare("ult", x, zero), v.constant(math.nan), found)


def log(v: Vector, x: str) -> str:
    """The natural logarithm."""
    k, m = _parts(v, x)
    f = v.op("fsub", m, v.constant(1))
    half, rest = _log_parts(v, f)
    low = v.intrinsic("fma", k, v.constant(LN2_LOW), rest)
    found = v.intrinsic("fma", k, v.constant(LN2_HIGH), v.op("fsub", f, v.op("fsub", half, low)))
    return _at_ends(v, x, found)


def log1p(v: Vector, x: str) -> str:
    """log(1 + x): what rounding 1 + x lost is added again."""
    one = v.constant(1)
    u = v.op("fadd", x, one)
    k, m = _parts(v, u)
    large = v.compare("ogt", x, one)
    lost = v.choose(large, v.op("fsub", one, v.op("fsub", u, x)), v.op("fsub", x, v.op("fsub", u, one)))
    whole = v.compare("oeq", k, v.constant(0))
    f = v.choose(whole, x, v.op("fsub", m, one))
    half, rest = _log_parts(v, f)
    low = v.intrinsic("fma", k, v.constant(LN2_LOW), v.choose(whole, v.constant(0), v.op("fdiv", lost, u)))
    found = v.op("fsub", f, v.op("fsub", half, v.op("fadd", rest, low)))
    return signed_zero(v, x, _at_ends(v, u, v.intrinsic("fma", k, v.constant(LN2_HIGH), found)))


def _log_to_base(v: Vector, x: str, base: float, whole: tuple[float, float]) -> str:
    """k·log 2 + log m/log b, where `whole` is log 2 to the base, in two parts."""
    k, m = _parts(v, x)
    f = v.op("fsub", m, v.constant(1))
    half, rest = _log_parts(v, f)
    natural = v.op("fsub", f, v.op("fsub", half, rest))
    scale = 1 / math.log(base)
    found = v.intrinsic("fma", k, v.constant(whole[1]), v.op("fmul", natural, v.constant(scale)))
    return _at_ends(v, x, v.intrinsic("fma", k, v.constant(whole[0]), found))


def log2(v: Vector, x: str) -> str:
    """The logarithm to base 2."""
    return _log_to_base(v, x, 2.0, (1.0, 0.0))


def log10(v: Vector, x: str) -> str:
    """The logarithm to base 10."""
    return _log_to_base(v, x, 10.0, (3.01029995663611771306e-01, 3.69423907715893078616e-13))


# -- angles ------------------------------------------------------------------------------------------------------------


def _turned(v: Vector, x: str) -> tuple[str, str, str]:
    """Return sine and cosine of what is left of an angle after quarter turns, and their number, as integers."""
    shifted = v.op("fadd", v.op("fmul", x, v.constant(2 / math.pi)), v.constant(MAGIC))
    n = v.op("fsub", shifted, v.constant(MAGIC))
    r = x
    for part in QUARTER.parts:
        r = v.intrinsic("fma", n, v.constant(-part), r)
    z = v.op("fmul", r, r)
    tail = polynomial(
        v, z, 1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
        -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01,
    )  # fmt: skip
    sine = v.intrinsic("fma", v.op("fmul", r, z), tail, r)
    tail = polynomial(
        v, z, -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
        2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02,
    )  # fmt: skip
    half, one = v.op("fmul", z, v.constant(0.5)), v.constant(1)
    near = v.op("fsub", one, half)
    lost = v.op("fsub", v.op("fsub", one, near), half)
    cosine = v.op("fadd", near, v.intrinsic("fma", v.op("fmul", z, z), tail, lost))
    return sine, cosine, v.changed("bitcast", shifted, v.integers)


def _wave(v: Vector, x: str, quarters: int) -> str:
    """Return the sine of an angle and so many quarter turns."""
    sine, cosine, turns = _turned(v, x)
    i = v.integers
    turns = i.op("add", turns, i.constant(quarters))
    odd = i.order("ne", i.op("and", turns, i.constant(1)), i.constant(0))
    sign = i.op("shl", i.op("and", turns, i.constant(2)), i.constant(62))
    found = v.changed("bitcast", v.choose(odd, cosine, sine), i)
    return i.changed("bitcast", i.op("xor", found, sign), v)


def _near(name: str, function: Callable[[Vector, str], str]) -> Callable[[Vector, str], str]:
    """Return a function of angles that asks the C library for those that are far out."""

    def write(v: Vector, x: str) -> str:
        far = v.compare("ugt", v.intrinsic("fabs", x), v.constant(QUARTER.largest))
        some = v.code.call_once("i1", f"llvm.vector.reduce.or.v{v.lanes}i1", (v.bool, far))
        found = function(v, x)
        return v.code.either(v.type, some, lambda: v.choose(far, v.each(name, x), found), lambda: found)

    return write


def _sin(v: Vector, x: str) -> str:
    return signed_zero(v, x, _wave(v, x, 0))


def _tan(v: Vector, x: str) -> str:
    sine, cosine, turns = _turned(v, x)
    i = v.integers
    odd = i.order("ne", i.op("and", turns, i.constant(1)), i.constant(0))
    above, below = v.choose(odd, v.op("fneg", cosine), sine), v.choose(odd, sine, cosine)
    return signed_zero(v, x, v.op("fdiv", above, below))


def atan(v: Vector, x: str) -> str:
    """The arctangent: of −1/x above tan(3π/8), of (x − 1)/(x + 1) above 0.66."""
    size, one, zero = v.intrinsic("fabs", x), v.constant(1), v.constant(0)
    far = v.compare("ogt", size, v.constant(2.41421356237309504880))
    middle = v.compare("ogt", size, v.constant(0.66))
    above = v.choose(far, v.constant(-1), v.choose(middle, v.op("fsub", size, one), size))
    below = v.choose(far, size, v.choose(middle, v.op("fadd", size, one), one))
    r = v.op("fdiv", above, below)
    z = v.op("fmul", r, r)
    p = polynomial(
        v, z, -8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1,
        -1.228866684490136173410e2, -6.485021904942025371773e1,
    )  # fmt: skip
    q = polynomial(
        v, z, 1.0, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2,
        4.853903996359136964868e2, 1.945506571482613964425e2,
    )  # fmt: skip
    found = v.intrinsic("fma", r, v.op("fdiv", v.op("fmul", z, p), q), r)
    low = v.choose(far, v.constant(QUARTER.parts[1]), v.choose(middle, v.constant(QUARTER.parts[1] / 2), zero))
    high = v.choose(far, v.constant(math.pi / 2), v.choose(middle, v.constant(math.pi / 4), zero))
    return v.intrinsic("copysign", v.op("fadd", high, v.op("fadd", found, low)), x)


def atan2(v: Vector, y: str, x: str) -> str:
    """The angle of a point, from that of the quotient of its sizes."""
    zero, infinity = v.constant(0), v.constant(math.inf)
    sizes = [v.intrinsic("fabs", z) for z in (y, x)]

    def both(value: str) -> str:
        return v.logic("and", *[v.compare("oeq", size, value) for size in sizes])

    quotient = v.choose(both(infinity), v.constant(1), v.choose(both(zero), zero, v.op("fdiv", *sizes)))
    angle = atan(v, quotient)
    i = v.integers
    left = i.order("lt", v.changed("bitcast", x, i), i.constant(0))
    turned = v.op("fsub", v.constant(math.pi), v.op("fsub", angle, v.constant(2 * QUARTER.parts[1])))
    return v.intrinsic("copysign", v.choose(left, turned, angle), y)


OWN: dict[str, Callable[..., str]] = {
    "exp": exp, "exp2": exp2, "expm1": expm1, "sinh": sinh, "cosh": cosh, "log": log, "log1p": log1p, "log2": log2,
    "log10": log10, "sin": _near("sin", _sin), "cos": _near("cos", lambda v, x: _wave(v, x, 1)),
    "tan": _near("tan", _tan), "atan": atan, "atan2": atan2,
}  # fmt: skip
"""The functions of the C library that there are of our own."""


def in_double(write: Callable[..., str]) -> Callable[..., str]:
    """Return a function that computes what is written in double precision, of float32 too."""

    def emit(v: Vector, *operands: str, **params: Any) -> str:
        wide = v.of(np.float64)
        if wide is v:
            return write(v, *operands, **params)
        return wide.changed("fptrunc", write(wide, *[v.changed("fpext", x, wide) for x in operands], **params), v)

    return emit


def own_function(v: Vector, name: str, *operands: str) -> str:
    """Apply one of these functions."""
    return in_double(OWN[name])(v, *operands)
