"""Pointwise ops on vectors: one table says how each is written, and for which dtypes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from primad import ops
from primad.ir.node import LITERAL, Leaf, Node, literal_value
from primad.ir.program import Program
from primad.native.emit import vector_functions
from primad.native.emit.emit_context import Emit, Pointwise, times
from primad.native.emit.scipy_functions import exported
from primad.native.llvm.vectors import BOOL, CELLS, Vector
from primad.native.special.bessel_functions import bessel_j, bessel_y
from primad.native.special.erf_family import ERF_FAMILY
from primad.native.special.log_gamma import gammaln
from primad.native.special.modified_bessel import bessel_i, bessel_k, member
from primad.native.special.polygammas import polygamma
from primad.ops.record.primitive import Primitive
from primad.simplify.own_definitions import own_definition
from primad.system.deferred import Deferred
from primad.system.machine import CORE


def operand_dtype(node: Node) -> np.dtype[Any]:
    """Return the dtype of the operands that are no conditions."""
    for operand in node.inputs:
        dtype = operand.type.dtype
        if dtype != BOOL:
            return dtype
    return BOOL if node.inputs else node.type.dtype


def pointwise_way(node: Node) -> Pointwise:
    """Return how an op is written that works on each element alone and has native code."""
    how = POINTWISE.get(node.op) or recorded_way(node)
    assert how is not None
    return how


def written(vector: Vector, node: Node, operands: Sequence[str]) -> str:
    """Write an op that has native code, and return its value."""
    how = pointwise_way(node)
    return how.emit(vector.of(operand_dtype(node)), *operands, **dict(node.params))


# -- a user's own op ---------------------------------------------------------------------------------------------------


def recorded_way(node: Node) -> Pointwise | None:
    """Return how a user's own op is written: as the pointwise ops that its definition is made of; None if it is not."""
    program = own_definition(node)
    return None if program is None else _written_out(program)


@lru_cache(maxsize=256)
def _written_out(program: Program) -> Pointwise | None:
    """Return how a program of pointwise ops is written; None if one of them is not, or is wider than the inputs."""
    steps = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    largest = max([type.dtype.itemsize for type in program.in_types], default=0)
    hows = []
    for node in steps:
        how = POINTWISE.get(node.op) or recorded_way(node)
        small = all(x.type.dtype.itemsize <= largest and x.type.dtype.str in CELLS for x in (node, *node.inputs))
        if how is None or not small or operand_dtype(node).kind not in how.kinds or how.limit(node):
            return None
        hows.append(how)

    def emit(v: Vector, *operands: str, **_: Any) -> str:
        known = dict(zip(program.inputs, operands, strict=True))
        for node in program.nodes:
            if node.op is LITERAL:
                known[node] = v.of(node.type.dtype).constant(literal_value(node))
            elif node not in known:
                known[node] = written(v, node, [known[x] for x in node.inputs])
        return known[program.outputs[0]]

    return Pointwise(emit, "fiub", any(how.function for how in hows))


# -- arithmetic --------------------------------------------------------------------------------------------------------


def _arithmetic(name: str, of_booleans: str = "") -> Emit:
    return lambda v, x, y: v.op(of_booleans, x, y) if v.dtype == BOOL else v.arithmetic(name, x, y)


def _negative(v: Vector, x: str) -> str:
    return v.op("fneg", x) if v.dtype.kind == "f" else v.op("sub", v.constant(0), x)


def _absolute(v: Vector, x: str) -> str:
    if v.dtype.kind == "f":
        return v.intrinsic("fabs", x)
    return v.choose(v.order("lt", x, v.constant(0)), _negative(v, x), x) if v.signed else x


def larger(order: str) -> Emit:
    """Return what writes the larger ('gt') or smaller ('lt') of two operands."""

    def emit(v: Vector, x: str, y: str) -> str:
        # A NaN in y fails the comparison and is chosen; one in x is chosen by being unordered with itself. Of equal
        # operands y is chosen, as NumPy does: it shows where they are zeros of different signs.
        larger = v.order(order, x, y)
        return v.choose(v.logic("or", larger, v.compare("uno", x, x)) if v.dtype.kind == "f" else larger, x, y)

    return emit


def _sign(v: Vector, x: str) -> str:
    zero = v.constant(0)
    if v.dtype.kind == "u":
        return v.choose(v.order("gt", x, zero), v.constant(1), zero)
    unchanged = v.op("fadd", x, zero) if v.dtype.kind == "f" else zero
    negative = v.choose(v.order("lt", x, zero), v.constant(-1), unchanged)
    return v.choose(v.order("gt", x, zero), v.constant(1), negative)


def _compared(order: str) -> Emit:
    return lambda v, x, y: v.order(order, x, y)


def _called(name: str) -> Emit:
    return lambda v, *operands: vector_functions.function(v, name, *operands)


# -- division with a remainder -----------------------------------------------------------------------------------------


def _integer_division(v: Vector, x: str, y: str) -> tuple[str, str, str]:
    """Return quotient and remainder towards zero, and where the divisor is one that has none.

    Division by 0 gives 0 and 0 in NumPy; the least integer by −1 would not fit, and is trapped by processors.
    """
    none = v.order("eq", y, v.constant(0))
    one = v.constant(1)
    if not v.signed:
        safe = v.choose(none, one, y)
        return v.op("udiv", x, safe), v.op("urem", x, safe), none
    minus = v.order("eq", y, v.constant(-1))
    safe = v.choose(v.logic("or", none, minus), one, y)
    quotient = v.choose(minus, _negative(v, x), v.op("sdiv", x, safe))
    return quotient, v.op("srem", x, safe), none


def _is_beside(v: Vector, rest: str, y: str) -> str:
    """Say where a remainder towards zero has another sign than the divisor, and is not 0."""
    zero = v.constant(0)
    other = v.logic("xor", v.order("lt", rest, zero), v.order("lt", y, zero))
    return v.logic("and", other, v.order("ne", rest, zero))


def _fmod(v: Vector, x: str, y: str) -> str:
    if v.dtype.kind == "f":
        return v.op("frem", x, y)
    _, rest, none = _integer_division(v, x, y)
    return v.choose(none, v.constant(0), rest)


def _divided(v: Vector, x: str, y: str) -> tuple[str, str]:
    """Return the quotient before it is rounded, and the remainder with the sign of the divisor, as NumPy does."""
    zero, rest = v.constant(0), v.op("frem", x, y)
    quotient = v.op("fdiv", v.op("fsub", x, rest), y)
    beside = _is_beside(v, rest, y)
    quotient = v.choose(beside, v.op("fsub", quotient, v.constant(1)), quotient)
    moved = v.choose(beside, v.op("fadd", rest, y), rest)
    whole = v.order("eq", rest, zero)
    return quotient, v.choose(whole, v.intrinsic("copysign", zero, y), moved)


def _remainder(v: Vector, x: str, y: str) -> str:
    if v.dtype.kind == "f":
        _, rest = _divided(v, x, y)
        return v.choose(v.order("eq", y, v.constant(0)), v.op("frem", x, y), rest)
    _, rest, none = _integer_division(v, x, y)
    if v.signed:
        rest = v.choose(_is_beside(v, rest, y), v.op("add", rest, y), rest)
    return v.choose(none, v.constant(0), rest)


def _floor_divide(v: Vector, x: str, y: str) -> str:
    zero, one = v.constant(0), v.constant(1)
    if v.dtype.kind == "f":
        exact = v.op("fdiv", x, y)
        quotient, _ = _divided(v, x, y)
        floor = v.intrinsic("floor", quotient)
        above = v.compare("ogt", v.op("fsub", quotient, floor), v.constant(0.5))
        rounded = v.choose(above, v.op("fadd", floor, one), floor)
        found = v.choose(v.order("eq", quotient, zero), v.intrinsic("copysign", zero, exact), rounded)
        return v.choose(v.order("eq", y, zero), exact, found)
    quotient, rest, none = _integer_division(v, x, y)
    if v.signed:
        quotient = v.choose(_is_beside(v, rest, y), v.op("sub", quotient, one), quotient)
    return v.choose(none, zero, quotient)


# -- conversions -------------------------------------------------------------------------------------------------------


def _cast(v: Vector, x: str, *, dtype: str) -> str:
    target = v.of(np.dtype(dtype))
    if v.dtype.kind == "f":
        own, its = v.dtype.itemsize, target.dtype.itemsize
        return x if own == its else v.changed("fpext" if its == max(own, its) else "fptrunc", x, target)
    return v.changed("sitofp" if v.signed else "uitofp", x, target)


def _truncate(v: Vector, x: str, *, dtype: str) -> str:
    target = v.of(np.dtype(dtype))
    if target.dtype == v.dtype:
        return x
    if target.dtype == BOOL:
        return v.order("ne", x, v.constant(0))
    if v.dtype.kind == "f":
        return _rounded_towards_zero(v, x, target)
    sizes = 0 if v.dtype == BOOL else v.dtype.itemsize, target.dtype.itemsize
    if sizes[0] == sizes[1]:
        return x
    return v.changed("trunc" if sizes[0] > sizes[1] else "sext" if v.signed else "zext", x, target)


def _rounded_towards_zero(v: Vector, x: str, target: Vector) -> str:
    """What does not fit becomes the least integer, as the instruction of x86 says, and NumPy with it."""
    least = -(2.0 ** (8 * target.dtype.itemsize - 1))
    fits = v.logic("and", v.compare("oge", x, v.constant(least)), v.compare("olt", x, v.constant(-least)))
    if v.dtype.itemsize > target.dtype.itemsize:  # the next float below the least integer is rounded to it
        fits = v.logic("and", v.compare("ogt", x, v.constant(least - 1)), v.compare("olt", x, v.constant(-least)))
    whole = v.changed("fptosi", v.choose(fits, x, v.constant(0)), target)
    return target.choose(fits, whole, target.constant(int(least)))


def _no_truncation(node: Node) -> str:
    source, target = operand_dtype(node), node.type.dtype
    written = source.kind != "f" or target == BOOL or target in (np.int64, np.int32)
    return "" if written else f"what of {source} does not fit {target} is for the C compiler of NumPy to say"


# -- bits --------------------------------------------------------------------------------------------------------------


def _inverted(v: Vector, x: str) -> str:
    return v.op("xor", x, v.listed([-1] * v.lanes))


def _shifted(v: Vector, x: str, y: str, instruction: str, beyond: str) -> str:
    """NumPy defines shifts by more than there are bits, and by negative numbers: nothing is left but the sign."""
    inside = v.compare("ult", y, v.constant(8 * v.dtype.itemsize))
    return v.choose(inside, v.op(instruction, x, v.choose(inside, y, v.constant(0))), beyond)


def _left_shift(v: Vector, x: str, y: str) -> str:
    return _shifted(v, x, y, "shl", v.constant(0))


def _right_shift(v: Vector, x: str, y: str) -> str:
    zero = v.constant(0)
    if not v.signed:
        return _shifted(v, x, y, "lshr", zero)
    return _shifted(v, x, y, "ashr", v.choose(v.order("lt", x, zero), v.constant(-1), zero))


# -- the table ---------------------------------------------------------------------------------------------------------


def _exps_of_power(node: Node) -> float:
    exponent = node.inputs[1]
    return 0.25 if exponent.op is LITERAL and literal_value(exponent) in vector_functions.WHOLE_EXPONENTS else 6.0


ALL, NUMBERS, DISCRETE = "fiub", "fiu", "iub"
C_NAMES = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2",
}  # fmt: skip
"""The C library's names for functions, where they are others."""

SLOW = {
    "log1p": 2, "sinh": 1.5, "cosh": 1.5, "erfc": 2, "cbrt": 2, "arcsin": 1.5, "arccos": 1.5, "arctan": 1.5,
    "arcsinh": 5, "arccosh": 9, "arctanh": 4, "arctan2": 2,
}  # fmt: skip
"""How many times exp's time the C library's slow functions take. Measured with the GNU C library on AVX2; only
predictions depend on it."""

POINTWISE: dict[Primitive, Pointwise] = {
    **{op: exported(op.numpy.name) for op in ops.ALL if isinstance(op.numpy, Deferred)},
    ops.neg: Pointwise(_negative, NUMBERS),
    ops.add: Pointwise(_arithmetic("add", "or"), ALL),
    ops.sub: Pointwise(_arithmetic("sub"), NUMBERS),
    ops.mul: Pointwise(_arithmetic("mul", "and"), ALL),
    ops.div: Pointwise(lambda v, x, y: v.op("fdiv", x, y)),
    ops.abs: Pointwise(_absolute, ALL),
    ops.sqrt: Pointwise(lambda v, x: v.intrinsic("sqrt", x)),
    ops.floor: Pointwise(lambda v, x: v.intrinsic("floor", x)),
    ops.sign: Pointwise(_sign, NUMBERS),
    ops.maximum: Pointwise(larger("gt"), ALL),
    ops.minimum: Pointwise(larger("lt"), ALL),
    ops.floor_divide: Pointwise(_floor_divide, NUMBERS, function=True, times_exp=times(5)),
    ops.remainder: Pointwise(_remainder, NUMBERS, function=True, times_exp=times(5)),
    ops.fmod: Pointwise(_fmod, NUMBERS, function=True, times_exp=times(5)),
    ops.less: Pointwise(_compared("lt"), ALL),
    ops.less_equal: Pointwise(_compared("le"), ALL),
    ops.equal: Pointwise(_compared("eq"), ALL),
    ops.logical_and: Pointwise(lambda v, x, y: v.op("and", x, y), DISCRETE),
    ops.logical_or: Pointwise(lambda v, x, y: v.op("or", x, y), DISCRETE),
    ops.logical_not: Pointwise(_inverted, DISCRETE),
    ops.left_shift: Pointwise(_left_shift, "iu"),
    ops.right_shift: Pointwise(_right_shift, "iu"),
    ops.select: Pointwise(lambda v, c, x, y: v.choose(c, x, y), ALL),
    ops.mask: Pointwise(lambda v, c, x: v.choose(c, x, v.constant(0)), ALL),
    ops.defined_where: Pointwise(lambda v, c, x: v.choose(c, x, v.constant(math.nan))),
    ops.cast: Pointwise(_cast, ALL),
    ops.truncate: Pointwise(_truncate, ALL, limit=_no_truncation),
    ops.leg: Pointwise(vector_functions.leg),
    **{
        ops.BY_NAME[name]: Pointwise(
            _called(C_NAMES.get(name, name)), function=True, times_exp=times(SLOW.get(name, 1.0))
        )
        for name in (
            "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "hypot",
            "erf", "erfc", "cbrt", *C_NAMES,
        )
    },
    ops.gammaln: gammaln,
    ops.polygamma: polygamma,
    **ERF_FAMILY,
    ops.dawsn: exported("dawsn"),
    ops.bessel_i: bessel_i,
    ops.bessel_j: bessel_j,
    ops.bessel_y: bessel_y,
    ops.bessel_k: bessel_k,
    ops.member: member,
    ops.gammainc: exported("gammainc"),
    ops.betainc: exported("betainc"),
    ops.betaincinv: exported("betaincinv"),
    ops.betainccinv: exported("betainccinv"),
    ops.expn: exported(of_order="expn"),
    ops.exprel: exported("exprel"),
    ops.direction: Pointwise(vector_functions.direction, function=True, times_exp=times(2)),
    ops.power: Pointwise(vector_functions.power, function=True, times_exp=_exps_of_power),
    ops.tanh: Pointwise(vector_functions.tanh, function=True),
    ops.sech2: Pointwise(vector_functions.sech2, function=True),
    ops.logistic: Pointwise(vector_functions.logistic, function=True),
    ops.softplus: Pointwise(vector_functions.softplus, function=True, times_exp=times(2.5)),
}  # fmt: skip
"""The pointwise ops that have native code."""


def is_function(node: Node) -> bool:
    """Say whether a node's op is a function of each element that takes as long as exp."""
    how = POINTWISE.get(node.op)
    return how is not None and how.function


def work_of_element(node: Node) -> int:
    """Return how many ops of arithmetic a node's op takes as long as, for each element."""
    return CORE.function if is_function(node) else 1
