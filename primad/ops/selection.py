"""Choosing between arrays: select, and the mask that transposing it leaves behind."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.node import LITERAL, Node, Trace, is_literal, literal_value
from primad.kinds import linear
from primad.primitive import Law, Primitive
from primad.types import ArrayType


def _select_type(condition: ArrayType, x: ArrayType, y: ArrayType) -> ArrayType:
    if condition.dtype != np.dtype(bool) or condition.shape != x.shape or x != y:
        raise ShapeError(f"select: a condition {condition} cannot choose between {x} and {y}")
    return x


def _select_trivial(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    condition, x, y = inputs
    if x is y:
        return x
    if condition.op is LITERAL:
        return x if literal_value(condition) else y
    return None


select: Primitive = linear(
    "select",
    numpy=lambda condition, x, y: np.where(condition, x, y),
    infer=_select_type,
    transpose=[None, lambda ct, c, x, y: mask(c, ct), lambda ct, c, x, y: mask(~c, ct)],
    operands=(1, 2),
    doc="Take elements of x where the condition holds, of y elsewhere.",
    laws=[
        Law(
            "a choice between equal things is no choice",
            "bitwise",
            lambda c, x: (select(c > 0, x, x), x),
            ((2, 3), (2, 3)),
            _select_trivial,
        )
    ],
)


def _mask_type(condition: ArrayType, x: ArrayType) -> ArrayType:
    if condition.dtype != np.dtype(bool) or condition.shape != x.shape:
        raise ShapeError(f"mask: a condition {condition} does not fit {x}")
    return x


def _mask_trivial(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    condition, x = inputs
    if condition.op is LITERAL:
        return x if literal_value(condition) else trace.literal(0, x.type)
    if is_literal(x, 0) or (x.op is mask and x.inputs[0] is condition):
        return x
    return None


def _mask(condition: Any, x: Any, out: Any = None) -> Any:
    """Multiply the bits of x, read as integers, by 1 or 0: a tenth of the time of np.where, and exact for NaN too."""
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return np.where(condition, x, np.zeros((), x.dtype))
    bits = np.dtype(f"i{x.itemsize}")
    found = np.multiply(x.view(bits), condition, out=None if out is None else out.view(bits), dtype=bits)
    return found.view(x.dtype) if out is None else out


mask: Primitive = linear(
    "mask",
    numpy=_mask,
    infer=_mask_type,
    transpose=[None, lambda ct, c, x: mask(c, ct)],
    operands=(1,),
    doc="Keep x where the condition holds; elsewhere the zero that differentiation put there, which stays "
    "zero whatever multiplies it (emitted by transposes only).",
    laws=[
        Law(
            "a mask applied twice is applied once",
            "bitwise",
            lambda c, x: (mask(c > 0, mask(c > 0, x)), mask(c > 0, x)),
            ((2, 3), (2, 3)),
            _mask_trivial,
            ("literal", "mask"),
        )
    ],
)
