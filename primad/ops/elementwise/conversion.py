"""Changing the dtype: cast between floats is linear, truncate to integers and booleans is piecewise constant."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.node import LITERAL, Node, Trace, literal_value
from primad.ops.record.fields import CHEAP, Law
from primad.ops.record.kinds import linear, piecewise_constant
from primad.ops.record.primitive import Primitive

__all__ = ["cast", "truncate"]


def _cast(x: Any, *, dtype: str) -> Any:
    x = np.asarray(x)
    return x if x.dtype == object else x.astype(dtype)


def _cast_same(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (x,) = inputs
    if x.type.dtype == np.dtype(params["dtype"]):
        return x
    if x.op is LITERAL:
        with np.errstate(all="ignore"):  # it may be no number of that dtype; NumPy would warn when it runs
            value = np.asarray(literal_value(x), x.type.dtype).astype(params["dtype"]).item()
        return trace.literal(value, ArrayType(x.type.shape, np.dtype(params["dtype"])))
    return None


def _to_float(x: ArrayType, *, dtype: str) -> ArrayType:
    result = ArrayType(x.shape, np.dtype(dtype))
    if not result.is_float:
        raise ShapeError(f"cast: {dtype} is not a floating-point dtype; use truncate")
    return result


cast: Primitive = linear(
    "cast",
    numpy=_cast,
    infer=_to_float,
    transpose=[lambda ct, x, *, dtype: cast(ct, dtype=str(x.dtype))],
    work=CHEAP,
    doc="Convert to another floating-point dtype.",
    laws=[
        Law(
            "a cast to the same dtype does nothing",
            "bitwise",
            lambda x: (cast(x, dtype="float64"), x),
            ((2, 3),),
            _cast_same,
        )
    ],
)


def _truncate(x: Any, *, dtype: str) -> Any:
    x = np.asarray(x)
    return np.vectorize(int, otypes=[object])(x) if x.dtype == object else x.astype(dtype)


def _to_discrete(x: ArrayType, *, dtype: str) -> ArrayType:
    result = ArrayType(x.shape, np.dtype(dtype))
    if result.is_float:
        raise ShapeError(f"truncate: {dtype} is a floating-point dtype; use cast")
    return result


truncate: Primitive = piecewise_constant(
    "truncate",
    numpy=_truncate,
    infer=_to_discrete,
    laws=[
        Law(
            "a truncation to the same dtype does nothing",
            "bitwise",
            lambda x: (truncate(truncate(x, dtype="int64"), dtype="int64"), truncate(x, dtype="int64")),
            ((2, 3),),
            _cast_same,
        )
    ],
    work=CHEAP,
    doc="Convert to an integer or boolean dtype, towards zero.",
)
