"""Operands of this package's records: floats of one dtype, all traced where one of them is."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import is_float
from primad.numpy.promotion import any_traced, as_traced, convert, first_traced, result_dtype
from primad.recording.traced_array import TracedArray, settled


def floats(*values: Any) -> list[Any]:
    """Promote operands to one float dtype as NumPy does, without broadcasting them; integers become float64."""
    values = settled(values)
    dtype = result_dtype(*values)
    if not is_float(dtype):
        dtype = np.dtype(np.float64)
    if not any_traced(values):
        return [np.asarray(value, dtype) for value in values]
    like = first_traced(values)
    return [
        convert(value, dtype) if isinstance(value, TracedArray) else as_traced(np.asarray(value, dtype), like)
        for value in values
    ]


def integers(name: str, value: Any) -> Any:
    """Return an operand that must hold integers, as an array or traced array.

    Raises:
        ShapeError: if it holds something else.
    """
    value = settled(value)
    if not isinstance(value, TracedArray):
        value = np.asarray(value)
    if value.dtype.kind not in "iu":
        raise ShapeError(f"{name} must be integers, got {value.dtype}", fix="convert with .astype(int).")
    return value if isinstance(value, TracedArray) or value.ndim else value[()]


def same_shape(name: str, x: Any, y: Any) -> None:
    """Raise unless two operands have one shape: broadcasting a prediction against its target hides mistakes."""
    if x.shape != y.shape:
        raise ShapeError(
            f"{name}: the shapes {x.shape} and {y.shape} differ",
            why="Broadcasting here would average over pairs that do not belong together.",
            fix="reshape one of them, or broadcast it on purpose with primad.numpy.broadcast_to.",
        )
