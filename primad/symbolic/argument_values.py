"""Arguments of functions made of expressions: floats of any shapes that broadcast."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError
from primad.numpy.promotion import joined
from primad.recording.traced_array import is_traced


def as_floats(value: Any) -> Any:
    """Return a value, or a list of values, as floats."""
    value = joined(value)
    if not is_traced(value) and not isinstance(value, float):
        value = np.asarray(value)
    return value if isinstance(value, float) or value.dtype.kind == "f" else value.astype(np.float64)


def common(values: Sequence[Any]) -> Any:
    """Return something that has the shape and dtype which values have together."""
    try:
        found = reduce(operator.add, values) if values else 0.0
    except ValueError:
        raise ShapeError(
            f"arguments of shapes {', '.join(str(pnp.shape(value)) for value in values)} do not fit together",
            why="They broadcast as NumPy's do; the axes of an argument that is an array come last.",
        ) from None
    return np.float64(found) if isinstance(found, float) else found


def like(value: Any, other: Any) -> Any:
    """Return a value in the shape of another one, and in its dtype if it is a float."""
    if isinstance(value, (bool, float)):
        value = np.asarray(value)
    if value.dtype.kind == "f" and value.dtype != other.dtype:
        value = value.astype(other.dtype)
    return value if value.shape == pnp.shape(other) else pnp.broadcast_to(value, pnp.shape(other))
