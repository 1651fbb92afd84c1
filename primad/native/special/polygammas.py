"""The digamma function and its derivatives, in double precision: recurrences, asymptotic series and reflections."""

from __future__ import annotations

import math
import sys

from primad.ir.node import Node
from primad.native.emit.emit_context import Pointwise, times
from primad.native.emit.vector_functions import function
from primad.native.emit.vector_math import in_double, polynomial
from primad.native.llvm.vectors import Vector
from primad.native.special.fits import PSI_NEAR
from primad.ops.special.series import PSI, cotangents

ROOT_OF_PSI = (1.4616321449683622, 9.549995429965697e-17)
"""The positive root of ψ, in two parts. Given: DLMF 5.4.20."""


def start_of(n: int) -> int:
    """Return the x from which on the rest of the series of ψ⁽ⁿ⁾ is less than half of the last bit (DLMF 5.15.8).

    The rest is less than the first term that is left out, whose Bernoulli number is bounded by DLMF 24.9.8.
    """
    order = 2 * len(PSI.numbers) + 2
    bound = 2.0 / (math.pow(2.0 * math.pi, order) * (1.0 - math.pow(2.0, 1 - order)))  # of |B| / order!
    rest = bound * math.perm(order + n - 1, order if n else order - 1)  # a quotient of factorials, which overflow
    return math.ceil(math.pow(rest / sys.float_info.epsilon * 2.0, 1.0 / order))


def _limit(node: Node) -> str:
    """Say where the product of the powers that the recurrence divides by is no number."""
    n = dict(node.params)["n"]
    start = start_of(n)
    digits = (n + 1) * math.log10(math.factorial(2 * start) // math.factorial(start))
    return "" if digits < sys.float_info.max_10_exp else f"polygamma of order {n} is SciPy's"


def _whole_power(v: Vector, x: str, n: int) -> str:
    """Return xⁿ, n ≥ 1, by squares."""
    found = x
    for bit in f"{n:b}"[1:]:
        found = v.op("fmul", found, found)
        found = v.op("fmul", found, x) if bit == "1" else found
    return found


def _of_positive(v: Vector, x: str, n: int) -> str:
    """Return |ψ⁽ⁿ⁾(x)| of x ≥ 0: n! Σ (x + k)⁻ⁿ⁻¹ until the asymptotic series holds, as one quotient, and that."""
    start, one, factorial = start_of(n), v.constant(1), math.factorial
    near = v.compare("olt", x, v.constant(start))
    above, below = v.constant(0), one
    for k in range(1, start):
        power = _whole_power(v, v.op("fadd", x, v.constant(k)), n + 1)
        above, below = v.intrinsic("fma", above, power, below), v.op("fmul", below, power)
    first = _whole_power(v, v.op("fdiv", one, x), n + 1)  # overflows where the value does
    steps = v.op("fmul", v.op("fadd", first, v.op("fdiv", above, below)), v.constant(factorial(n)))
    far = v.choose(near, v.op("fadd", x, v.constant(start)), x)
    inverse = v.op("fdiv", one, far)
    square = v.op("fmul", inverse, inverse)
    weights = [b * factorial(2 * k + n - 1) / factorial(2 * k) for k, b in enumerate(PSI.numbers, start=1)]
    rest = v.intrinsic("fma", polynomial(v, square, *weights[::-1]), inverse, v.constant(factorial(n) / 2))
    series = v.intrinsic("fma", rest, inverse, v.constant(factorial(n - 1)))
    series = v.op("fmul", series, _whole_power(v, inverse, n))
    return v.op("fadd", series, v.choose(near, steps, v.constant(0)))


def _less_digamma(v: Vector, x: str) -> str:
    """Return −ψ(x) of x ≥ 0: above 2 as that of other orders, below the distance from the root times what is left."""
    start, one, steps = start_of(0), v.constant(1), start_of(0) - int(PSI_NEAR.high)
    low, first = v.compare("olt", x, v.constant(PSI_NEAR.high)), v.compare("olt", x, one)
    y = v.choose(first, v.op("fadd", x, one), x)
    distance = v.op("fsub", v.op("fsub", y, v.constant(ROOT_OF_PSI[0])), v.constant(ROOT_OF_PSI[1]))
    near = v.compare("olt", x, v.constant(start))
    above, below = v.constant(0), one
    for k in range(steps):
        term = v.op("fadd", x, v.constant(k))
        above, below = v.intrinsic("fma", above, term, below), v.op("fmul", below, term)
    far = v.choose(near, v.op("fadd", x, v.constant(steps)), x)
    above = v.choose(low, v.op("fneg", v.op("fmul", distance, PSI_NEAR.at(v, y))), above)
    below = v.choose(low, v.intrinsic("fma", y, y, y), below)
    quotient = v.choose(near, v.op("fdiv", above, below), v.constant(0))
    inverse = v.op("fdiv", one, v.choose(first, x, far))
    square = v.op("fmul", inverse, inverse)
    weights = [b / (2 * k) for k, b in enumerate(PSI.numbers, start=1)]
    rest = v.intrinsic("fma", polynomial(v, square, *weights[::-1]), inverse, v.constant(0.5))
    series = v.op("fsub", v.op("fmul", rest, inverse), function(v, "log", far))
    return v.op("fadd", v.choose(first, inverse, v.choose(low, v.constant(0), series)), quotient)


def _waves(v: Vector, x: str, n: int) -> str:
    """Return minus the derivative of order n of π cot πx; where it has a pole, what SciPy says of ψ⁽ⁿ⁾."""
    one = v.constant(1)
    floor = v.intrinsic("floor", x)
    fraction = v.op("fsub", x, floor)
    nearer = v.compare("ogt", fraction, v.constant(0.5))
    fraction = v.choose(nearer, v.op("fsub", x, v.op("fadd", floor, one)), fraction)
    size, half = v.intrinsic("fabs", fraction), v.constant(0.5)
    far = v.compare("ogt", size, v.constant(0.25))
    angle = v.op("fmul", v.choose(far, v.op("fsub", half, size), size), v.constant(math.pi))  # 0 where cot is
    sine, cosine = function(v, "sin", angle), function(v, "cos", angle)
    size = v.op("fdiv", v.choose(far, sine, cosine), v.choose(far, cosine, sine))
    cot = v.intrinsic("copysign", size, fraction)
    terms = [-each * math.pi ** (n + 1) for each in cotangents(n)[(n + 1) % 2 :: 2]]  # the others are 0
    waves = polynomial(v, v.op("fmul", cot, cot), *terms[::-1])
    waves = waves if n % 2 else v.op("fmul", cot, waves)
    zero, infinity = v.constant(0), v.constant(math.inf)
    at_pole = infinity if n % 2 else v.op("fneg", infinity)
    if n == 0:
        at_pole = v.choose(
            v.compare("oeq", x, zero), v.intrinsic("copysign", infinity, v.op("fneg", x)), v.constant(math.nan)
        )
    return v.choose(v.compare("oeq", fraction, zero), at_pole, waves)


def _polygamma(v: Vector, x: str, *, n: int) -> str:
    """ψ⁽ⁿ⁾(x) for x ≤ 0 is (−1)ⁿψ⁽ⁿ⁾(1 − x) less the derivative of π cot πx (DLMF 5.15.6)."""
    below = v.compare("ole", x, v.constant(0))
    mirrored = v.choose(below, v.op("fsub", v.constant(1), x), x)
    size = _of_positive(v, mirrored, n) if n else _less_digamma(v, mirrored)
    positive = size if n % 2 else v.op("fneg", size)
    some = v.code.call_once("i1", f"llvm.vector.reduce.or.v{v.lanes}i1", (v.bool, below))

    def with_waves() -> str:
        return v.choose(below, v.op("fsub", _waves(v, x, n), size), positive)

    return v.code.either(v.type, some, with_waves, lambda: positive)


polygamma = Pointwise(in_double(_polygamma), function=True, limit=_limit, times_exp=times(6))
"""How it is written; the time is that of n = 1 and positive numbers, measured."""
