"""Rows of a table by their numbers, and the one-hot vectors that pick them."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.nn.operands import integers
from primad.numpy.elementwise.ufuncs import where
from primad.numpy.shapes.indexing import take
from primad.numpy.shapes.shaping import expand_dims
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive
from primad.recording.traced_array import TracedArray

__all__ = ["embedding", "one_hot"]


def _one_hot(indices: Any, *, depth: int, dtype: str) -> Any:
    shape = (*indices.shape, depth)
    numbers = TracedArray(indices.node.trace.build(ops.iota, (), (("dtype", str(indices.dtype)), ("n", depth))))
    wide = ops.broadcast(indices, shape=shape, axes=(indices.ndim,))
    hit = ops.equal(wide, ops.broadcast(numbers, shape=shape, axes=tuple(range(indices.ndim))))
    convert = ops.cast if np.dtype(dtype).kind == "f" else ops.truncate
    return convert(hit, dtype=dtype)


def _one_hot_type(indices: ArrayType, *, depth: int, dtype: str) -> ArrayType:
    return ArrayType((*indices.shape, depth), np.dtype(dtype))


one_hot_: Primitive = composite(
    "one_hot",
    numpy=lambda indices, *, depth, dtype: (np.asarray(indices)[..., None] == np.arange(depth)).astype(dtype),
    lower=_one_hot,
    infer=_one_hot_type,
    doc="1 at the index along a new last axis, 0 elsewhere.",
)

COMPOSITES = (one_hot_,)


def one_hot(indices: Any, depth: int, dtype: Any = None) -> Any:
    """Return vectors that are 1 at an index and 0 elsewhere; indices outside [0, depth) give zeros.

    Args:
        indices: an integer array.
        depth: length of the vectors, a new last axis.
        dtype: dtype of the result, float64 by default.

    Returns:
        an array of shape `indices.shape + (depth,)`.

    Raises:
        ShapeError: if the indices are not integers.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.one_hot(np.array([1, 0]), 3)
        array([[0., 1., 0.],
               [1., 0., 0.]])
    """
    return one_hot_(integers("one_hot: indices", indices), depth=depth, dtype=str(np.dtype(dtype or np.float64)))


def embedding(indices: Any, table: Any, padding_index: int | None = None) -> Any:
    """Return rows of a table. In reverse mode, cotangents of equal indices add up.

    Args:
        indices: an integer array; negative indices count from the end.
        table: an array of shape (number of rows, …).
        padding_index: an index that stands for nothing: its rows are zeros, and pass no cotangent to the table.

    Returns:
        an array of shape `indices.shape + table.shape[1:]`.

    Raises:
        ShapeError: if the indices are not integers, or the table has no rows.

    Example:
        >>> import numpy as np, primad
        >>> table = np.array([[0.0, 1.0], [2.0, 3.0]])
        >>> primad.nn.embedding(np.array([1, 1]), table)
        array([[2., 3.],
               [2., 3.]])
        >>> primad.grad(lambda t: np.sum(primad.nn.embedding(np.array([1, 1]), t)))(table)
        array([[0., 0.],
               [2., 2.]])
    """
    indices = integers("embedding: indices", indices)
    table = table if isinstance(table, TracedArray) else np.asarray(table)
    if table.ndim == 0:
        raise ShapeError(
            "embedding: the table has no axis to take rows from", fix="give a table with a row for each index."
        )
    rows = take(table, indices, axis=0)
    if padding_index is None:
        return rows
    nothing = indices == padding_index % table.shape[0]
    for _ in range(table.ndim - 1):
        nothing = expand_dims(nothing, -1)
    return where(nothing, 0.0, rows)
