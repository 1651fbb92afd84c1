"""Ops without operands: the identity matrix and the integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.ir.array_types import ArrayType
from primad.ir.axes import AxisMap
from primad.ops.record.fields import CHEAP
from primad.ops.record.kinds import piecewise_constant
from primad.ops.record.primitive import Primitive, apply
from primad.recording.traced_array import TracedArray

__all__ = ["eye", "iota"]

eye: Primitive = piecewise_constant(
    "eye",
    numpy=lambda *, n, dtype: np.eye(n, dtype=dtype),
    infer=lambda *, n, dtype: ArrayType((n, n), np.dtype(dtype)),
    axes=lambda *, n, dtype: AxisMap((), ((None, None),)),
    work=CHEAP,
    doc="The identity matrix: the seeds of a Jacobian.",
)


def identity(like: Any, n: int) -> Any:
    """Return the identity matrix, traced where `like` is (for the statements of laws)."""
    if isinstance(like, TracedArray):
        return TracedArray(apply(like.node.trace, eye, n=n, dtype=str(like.dtype)))
    return eye(n=n, dtype="float64")


iota: Primitive = piecewise_constant(
    "iota",
    numpy=lambda *, n, dtype: np.arange(n, dtype=dtype),
    infer=lambda *, n, dtype: ArrayType((n,), np.dtype(dtype)),
    axes=lambda *, n, dtype: AxisMap((), ((None,),)),
    work=CHEAP,
    doc="The integers 0 … n−1.",
)
