"""Quotients: div."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, Zero
from primad.ir.node import Node, Trace, is_literal
from primad.ops.elementwise.arithmetic import neg
from primad.ops.elementwise.literals import Inputs, Params, of_literals
from primad.ops.record.fields import CHEAP, Law
from primad.ops.record.kinds import custom
from primad.ops.record.operand_types import same_type
from primad.ops.record.primitive import Primitive, apply, full

__all__ = ["div"]


def _div_law(trace: Trace, inputs: Inputs, params: Params) -> Node | None:
    x, y = inputs
    if is_literal(y, 1):
        return x
    if x.op is neg:
        return apply(trace, neg, apply(trace, div, x.inputs[0], y))
    return None


def _division_type(*types: ArrayType) -> ArrayType:
    type = same_type(*types)
    if not type.is_float:
        raise ShapeError(
            f"div needs floating-point operands, got {type}", fix="cast integers to float64, or use floor_divide."
        )
    return type


def _quotient_tangent(tangents: Sequence[Any], out: Any, x: Any, y: Any) -> Any:
    """(ẋ − out·ẏ)/y, but 0 for x/x, whose two contributions cancel (and may overflow before they do)."""
    over, under = tangents
    if x.node is y.node:
        return full(0, out)
    if isinstance(under, Zero):
        return over / y
    change = out * under
    return -change / y if isinstance(over, Zero) else (over - change) / y


div: Primitive = custom(
    "div",
    numpy=np.true_divide,
    infer=_division_type,
    jvp=_quotient_tangent,
    transpose=[lambda ct, x, y: ct / y, None],
    operands=(0,),
    laws=[
        of_literals("literals divide", lambda: div, np.true_divide, 3, 8, 0.375),
        Law(
            "x / 1 = x, (−x) / y = −(x / y)",
            "bitwise",
            lambda x, y: (div(neg(x), y), neg(div(x, y))),
            ((3,), (3,)),
            _div_law,
            ("literal", "neg"),
        ),
    ],
    meaning=lambda n, x, y: n.divide(x, y),
    work=CHEAP,
    complex="analytic",
    doc="x / y. The quotient rule is (dx − out·dy)/y: it stays right where dx/y − x·dy/y² overflows.",
)
