"""Arguments of functions made of expressions: floats, or complex numbers, of any shapes that broadcast."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError
from primad.ir.array_types import complex_dtype, real_dtype
from primad.numpy.promotion import joined
from primad.recording.traced_array import is_traced


def as_numbers(value: Any) -> Any:
    """Return a value, or a list of values, as floats, or as complex numbers where they are such."""
    value = joined(value)
    if not is_traced(value) and not isinstance(value, float):
        value = np.asarray(value)
    return value if isinstance(value, float) or value.dtype.kind in "fc" else value.astype(np.float64)


def is_complex(value: Any) -> bool:
    """Say whether a value is of complex numbers."""
    return not isinstance(value, float) and value.dtype.kind == "c"


def as_complex(value: Any) -> Any:
    """Return floats as complex numbers of the same precision."""
    if isinstance(value, float):
        return np.complex128(value)
    return value if is_complex(value) else value.astype(complex_dtype(value.dtype))


def common(values: Sequence[Any]) -> Any:
    """Return something that has the shape and dtype which values have together."""
    try:
        found = reduce(operator.add, values) if values else 0.0
    except ValueError:
        raise ShapeError(
            f"arguments of shapes {', '.join(str(pnp.shape(value)) for value in values)} do not fit together",
            why="They broadcast as NumPy's do; the axes of an argument that is an array come last.",
            fix="reshape them, so that lengths from the last axis on are equal, or 1.",
        ) from None
    return np.float64(found) if isinstance(found, float) else found


def like(value: Any, other: Any) -> Any:
    """Return a value in the shape of another one, and in its precision if it is a float or complex."""
    if isinstance(value, (bool, float, complex)):
        value = np.asarray(value)
    if value.dtype.kind in "fc":
        dtype = complex_dtype(other.dtype) if value.dtype.kind == "c" else real_dtype(other.dtype)
        value = value if value.dtype == dtype else value.astype(dtype)
    return value if value.shape == pnp.shape(other) else pnp.broadcast_to(value, pnp.shape(other))
