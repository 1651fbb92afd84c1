"""The error function scaled and inverted, and the normal distribution function, in double precision."""

from __future__ import annotations

import math

from primad import ops
from primad.ir.node import Node
from primad.native.emit.emit_context import Pointwise, times
from primad.native.emit.vector_functions import function
from primad.native.emit.vector_math import in_double, within
from primad.native.llvm.vectors import Vector
from primad.native.special.fits import ERFCX, INVERSE_FAR, INVERSE_MIDDLE, INVERSE_NEAR
from primad.ops.record.primitive import Primitive

FARTHEST = 40.0
"""The number from which on exp(x²) is ∞ and exp(−x²/2) is 0. Chosen: half of its square is above 745."""


def _of_positive(v: Vector, x: str) -> str:
    """Return exp(x²)·erfc(x) of x ≥ 0."""
    t = v.op("fsub", v.constant(1), v.op("fdiv", v.constant(8), v.op("fadd", x, v.constant(4))))
    return v.op("fdiv", ERFCX.at(v, t), v.op("fadd", x, v.constant(0.5)))


def _exp_of_square(v: Vector, x: str, factor: float) -> str:
    """Return exp(factor·x²), where the factor is a power of two: what rounding the square lost is a factor, too."""
    x = within(v, x, -FARTHEST, FARTHEST)
    square = v.op("fmul", x, x)
    lost = v.intrinsic("fma", x, x, v.op("fneg", square))
    more = v.intrinsic("fma", lost, v.constant(factor), v.constant(1))
    return v.op("fmul", function(v, "exp", v.op("fmul", square, v.constant(factor))), more)


def _scaled_erfc(v: Vector, x: str) -> str:
    """exp(x²)·erfc(x); for x < 0 it is 2·exp(x²) − exp(x²)·erfc(−x)."""
    found = _of_positive(v, v.intrinsic("fabs", x))
    below = v.compare("olt", x, v.constant(0))
    some = v.code.call_once("i1", f"llvm.vector.reduce.or.v{v.lanes}i1", (v.bool, below))

    def with_powers() -> str:
        power = _exp_of_square(v, x, 1.0)
        return v.choose(below, v.op("fsub", v.op("fadd", power, power), found), found)

    return v.code.either(v.type, some, with_powers, lambda: found)


def _ndtr(v: Vector, x: str) -> str:
    """Half of erfc(−x/√2): in the left tail from the scaled function, so that nothing vanishes too early."""
    size = v.intrinsic("fabs", x)
    scaled = _of_positive(v, v.op("fmul", size, v.constant(math.sqrt(0.5))))
    tail = v.op("fmul", v.op("fmul", scaled, v.constant(0.5)), _exp_of_square(v, x, -0.5))
    return v.choose(v.compare("ogt", x, v.constant(0)), v.op("fsub", v.constant(1), tail), tail)


def _inverse(v: Vector, u: str, rest: str) -> str:
    """Return erfinv(u), where `rest` is 1 − u²: u times a function of w = −log(1 − u²), or of √w."""
    w = v.op("fneg", function(v, "log", rest))
    far = v.compare("ugt", w, v.constant(INVERSE_NEAR.high))
    some = v.code.call_once("i1", f"llvm.vector.reduce.or.v{v.lanes}i1", (v.bool, far))
    near = INVERSE_NEAR.at(v, w)

    def with_tails() -> str:
        s = v.intrinsic("sqrt", w)
        last = v.op("fmul", s, INVERSE_FAR.at(v, v.op("fdiv", v.constant(1), s)))
        beyond = v.compare("ugt", s, v.constant(INVERSE_MIDDLE.high))
        return v.choose(far, v.choose(beyond, last, INVERSE_MIDDLE.at(v, s)), near)

    return v.op("fmul", u, v.code.either(v.type, some, with_tails, lambda: near))


def _erfinv(v: Vector, u: str) -> str:
    """Take no sign from a zero, as SciPy does."""
    one = v.constant(1)
    return v.op("fadd", _inverse(v, u, v.op("fmul", v.op("fsub", one, u), v.op("fadd", one, u))), v.constant(0))


def _erfcinv(v: Vector, x: str) -> str:
    """Return −erfinv(x − 1), so that it is −0 at 1, as SciPy's."""
    rest = v.op("fmul", x, v.op("fsub", v.constant(2), x))
    return _inverse(v, v.op("fneg", v.op("fsub", x, v.constant(1))), rest)


def _ndtri(v: Vector, p: str) -> str:
    return v.op("fmul", _erfcinv(v, v.op("fadd", p, p)), v.constant(-math.sqrt(2)))


def _limit(node: Node) -> str:
    n = dict(node.params)["n"]
    return f"integrals of erfc of n = {n} are NumPy's" if n else ""


ERF_FAMILY: dict[Primitive, Pointwise] = {
    ops.scaled_erfc: Pointwise(
        lambda v, x, *, n: in_double(_scaled_erfc)(v, x), function=True, limit=_limit, times_exp=times(2)
    ),
    ops.ndtr: Pointwise(in_double(_ndtr), function=True, times_exp=times(2.5)),
    ops.erfinv: Pointwise(in_double(_erfinv), function=True, times_exp=times(3)),
    ops.erfcinv: Pointwise(in_double(_erfcinv), function=True, times_exp=times(3)),
    ops.ndtri: Pointwise(in_double(_ndtri), function=True, times_exp=times(3)),
}
"""How they are written; times are measured, of numbers about 0."""
