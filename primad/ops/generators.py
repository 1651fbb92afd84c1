"""Ops without operands: the identity matrix and the integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.kinds import piecewise_constant
from primad.primitive import Primitive
from primad.types import ArrayType


def _no_axes(*, n: int, dtype: str) -> Any:
    return (), (None, None)


eye: Primitive = piecewise_constant(
    "eye",
    numpy=lambda *, n, dtype: np.eye(n, dtype=dtype),
    infer=lambda *, n, dtype: ArrayType((n, n), np.dtype(dtype)),
    axes=_no_axes,
    insert_axis=lambda batched, **params: params,
    doc="The identity matrix: the seeds of a Jacobian.",
)

iota: Primitive = piecewise_constant(
    "iota",
    numpy=lambda *, n, dtype: np.arange(n, dtype=dtype),
    infer=lambda *, n, dtype: ArrayType((n,), np.dtype(dtype)),
    axes=lambda *, n, dtype: ((), (None,)),
    insert_axis=lambda batched, **params: params,
    doc="The integers 0 … n−1.",
)
