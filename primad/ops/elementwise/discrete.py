"""Piecewise constant ops: sign, floor, comparisons, logic, shifts, and stop_gradient (constant by decree)."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, is_float
from primad.ir.node import Node, Trace
from primad.ops.record.fields import CHEAP, Law, MemoryUse
from primad.ops.record.kinds import piecewise_constant
from primad.ops.record.operand_types import same_type
from primad.ops.record.primitive import Primitive, full

__all__ = [
    "equal", "floor", "left_shift", "less", "less_equal", "logical_and", "logical_not", "logical_or",
    "right_shift", "sign", "stop_gradient",
]  # fmt: skip

Inputs = tuple[Node, ...]
Params = dict[str, Any]


def _to_bool(*types: ArrayType) -> ArrayType:
    return ArrayType(same_type(*types).shape, np.dtype(bool))


def _only_bool(*types: ArrayType) -> ArrayType:
    type = same_type(*types)
    if is_float(type.dtype):
        raise ShapeError(
            f"a logical operation needs booleans or integers, got {type}", fix="compare first, as in x != 0."
        )
    return type


sign: Primitive = piecewise_constant(
    "sign",
    numpy=np.sign,
    meaning=lambda n, x: n.number(-1 if n.less(x, 0) else 0 if n.equal(x, 0) else 1),
    work=CHEAP,
    doc="−1, 0 or 1.",
)
floor: Primitive = piecewise_constant(
    "floor",
    numpy=np.floor,
    meaning=lambda n, x: n.number(n.floor(x)),
    work=CHEAP,
    doc="The largest integer not above x.",
)
less: Primitive = piecewise_constant(
    "less", numpy=np.less, infer=_to_bool, meaning=lambda n, x, y: n.less(x, y), work=CHEAP, doc="x < y."
)
less_equal: Primitive = piecewise_constant(
    "less_equal",
    numpy=np.less_equal,
    infer=_to_bool,
    meaning=lambda n, x, y: not n.less(y, x),
    work=CHEAP,
    doc="x ≤ y.",
)
equal: Primitive = piecewise_constant(
    "equal",
    numpy=np.equal,
    infer=_to_bool,
    meaning=lambda n, x, y: n.equal(x, y),
    work=CHEAP,
    complex="analytic",
    doc="x = y.",
)
logical_and: Primitive = piecewise_constant(
    "logical_and",
    numpy=np.bitwise_and,
    infer=_only_bool,
    meaning=lambda n, x, y: bool(x) and bool(y),
    work=CHEAP,
    doc="x and y, bit by bit.",
)


def _everything(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    x, y = inputs
    if x is y:
        return x
    opposite = (y.op is logical_not and y.inputs[0] is x) or (x.op is logical_not and x.inputs[0] is y)
    return trace.literal(True, x.type) if opposite and x.type.dtype.kind == "b" else None


logical_or: Primitive = piecewise_constant(
    "logical_or",
    numpy=np.bitwise_or,
    infer=_only_bool,
    meaning=lambda n, x, y: bool(x) or bool(y),
    work=CHEAP,
    doc="x or y, bit by bit.",
    laws=[
        Law(
            "c or not c is true, c or c is c",
            "bitwise",
            lambda x: (logical_or(x > 0, logical_not(x > 0)), full(True, x > 0)),
            ((3,),),
            _everything,
        )
    ],
)
logical_not: Primitive = piecewise_constant(
    "logical_not", numpy=np.invert, infer=_only_bool, meaning=lambda n, x: not x, work=CHEAP, doc="not x, bit by bit."
)


def _only_integers(*types: ArrayType) -> ArrayType:
    type = same_type(*types)
    if type.dtype.kind not in "iu":
        raise ShapeError(f"a shift of bits needs integers, got {type}", fix="cast to int64.")
    return type


left_shift: Primitive = piecewise_constant(
    "left_shift", numpy=np.left_shift, infer=_only_integers, work=CHEAP, doc="The bits of x moved left y times."
)
right_shift: Primitive = piecewise_constant(
    "right_shift", numpy=np.right_shift, infer=_only_integers, work=CHEAP, doc="The bits of x moved right y times."
)

stop_gradient: Primitive = piecewise_constant(
    "stop_gradient",
    numpy=lambda x: x,
    exempt="its derivative is zero by decree: stopping derivatives is what it is for",
    memory=MemoryUse(views=True),
    work=CHEAP,
    complex="analytic",
    doc="x, as a constant: every derivative through it is zero.",
)
