"""Powers, whose exponent is an operand like any other, and a literal in nearly all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, is_complex
from primad.ir.node import LITERAL, Node, Trace, literal_value
from primad.ops.elementwise.arithmetic import mul
from primad.ops.elementwise.conversion import real_part
from primad.ops.elementwise.division import div
from primad.ops.elementwise.elementary import log
from primad.ops.elementwise.literals import Inputs, Params
from primad.ops.elementwise.selection import select
from primad.ops.record.fields import Law
from primad.ops.record.kinds import elementwise
from primad.ops.record.operand_types import same_type
from primad.ops.record.primitive import Primitive, apply

__all__ = ["power"]


def _power_base(out: Any, x: Any, y: Any) -> Any:
    """y·x^(y−1), and 0 at 0⁰ (the limit of constant exponents)."""
    if y.node.op is LITERAL:
        return y * power(x, y - 1)
    at_zero = (x == 0) & (y == 0)
    return select(at_zero, y * 0, y * power(x, y - 1))


def _power_exponent(out: Any, x: Any, y: Any) -> Any:
    """x^y·log x, and 0 at x = 0 < y."""
    positive = (real_part(y) if is_complex(y.dtype) else y) > 0
    return select((x == 0) & positive, x * 0, out * log(x))


def _power_law(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    x, y = inputs
    if y.op is not LITERAL:
        return None
    exponent = literal_value(y)
    if exponent == 0:
        return trace.literal(1, x.type)
    if exponent == 1:
        return x
    if exponent in (2, 3):
        square = apply(trace, mul, x, x)
        return square if exponent == 2 else apply(trace, mul, square, x)
    return apply(trace, div, trace.literal(1, x.type), x) if exponent == -1 and x.type.is_float else None


def _number_type(*types: ArrayType) -> ArrayType:
    type = same_type(*types)
    if type.dtype.kind == "b":
        raise ShapeError("power: booleans have no powers of their own type", fix="convert with .astype(int).")
    return type


def _is_whole_power(node: Node) -> bool:
    """Say whether an application is a polynomial: the exponent is a known whole number, and not below 0."""
    exponent = node.inputs[1]
    value = literal_value(exponent) if exponent.op is LITERAL else -1
    return bool(value == abs(value) // 1)


power: Primitive = elementwise(
    "power",
    numpy=np.power,
    partials=[_power_base, _power_exponent],
    infer=_number_type,
    static_operands=(1,),
    smooth=_is_whole_power,
    meaning=lambda n, x, y: n.power(x, y),
    complex="analytic",
    doc="x to the power y. Integers stay integers; one to a negative power is an error.",
    laws=[
        Law(
            "x⁰ = 1, x¹ = x, x² = x·x, x³ = x·x·x, x⁻¹ = 1/x",
            "real",
            lambda x: (power(x, 3.0), mul(mul(x, x), x)),
            ((3,),),
            _power_law,
            ("literal",),
            complex="finite",  # of an infinite number NumPy's power is NaN, and the quotient is 0
        )
    ],
)
