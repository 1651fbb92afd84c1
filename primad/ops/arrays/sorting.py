"""The order of elements: argsort is piecewise constant; a sort is a gather at its indices."""

from __future__ import annotations

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.axes import along, moved_axis
from primad.ops.record.kinds import piecewise_constant
from primad.ops.record.primitive import Primitive

__all__ = ["argsort"]


def _argsort_type(x: ArrayType, *, axis: int) -> ArrayType:
    if not 0 <= axis < x.ndim:
        raise ShapeError(
            f"argsort: axis {axis} is out of range for shape {x.shape}", fix="name an axis of the operand."
        )
    return ArrayType(x.shape, np.dtype(np.int64))


argsort: Primitive = piecewise_constant(
    "argsort",
    numpy=lambda x, *, axis: np.argsort(x, axis=axis, kind="stable"),
    infer=_argsort_type,
    axes=lambda x, *, axis: along(x.ndim, [axis]),
    adapt=moved_axis,
    doc="Indices that sort along an axis; equal elements keep their order.",
)
