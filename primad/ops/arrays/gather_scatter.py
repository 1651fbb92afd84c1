"""Indexing by integer arrays: gather along one axis, and scatter_add, its transpose."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad.errors import IndexShapeError, ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.axes import AxisMap, Change
from primad.ops.record.fields import DomainOfDefinition, Indexing, Work
from primad.ops.record.kinds import linear
from primad.ops.record.primitive import Primitive

__all__ = ["gather", "scatter_add"]


def _index_grid(indices: Any, batch: int) -> tuple[Any, ...]:
    """Index arrays for the batch axes and the gathered axis."""
    indices = np.asarray(indices)
    grid: list[Any] = []
    for axis in range(batch):
        shape = [1] * indices.ndim
        shape[axis] = indices.shape[axis]
        grid.append(np.arange(indices.shape[axis]).reshape(shape))
    return (*grid, indices)


def _flat_places(indices: Any, batch: int, axis: int, n: int) -> Any:
    """Return where rows are picked from all rows of all batches; None where another way must be found.

    NumPy is several times as fast with one array of indices as with one for each axis.
    """
    if axis != batch or not indices.size or indices.min() < 0 or indices.max() >= n:
        return None
    first = np.arange(0, n * math.prod(indices.shape[:batch]), n)
    return indices + first.reshape((*indices.shape[:batch], *[1] * (indices.ndim - batch)))


def _gather(x: Any, indices: Any, *, axis: int, batch: int) -> Any:
    x, indices = np.asarray(x), np.asarray(indices)
    if batch == 0:
        return np.take(x, indices, axis)
    places = _flat_places(indices, batch, axis, x.shape[axis])
    if places is not None:
        rows = math.prod(x.shape[: axis + 1])  # said, since NumPy finds no -1 where they are empty
        return np.take(x.reshape((rows, *x.shape[axis + 1 :])), places, 0)
    moved = np.moveaxis(x, axis, batch)
    out = moved[_index_grid(indices, batch)]
    own = indices.ndim - batch
    return np.moveaxis(out, range(batch, batch + own), range(axis, axis + own))


def _gather_type(x: ArrayType, indices: ArrayType, *, axis: int, batch: int) -> ArrayType:
    if indices.dtype.kind not in "iu":
        raise ShapeError(f"gather: indices must be integers, got {indices.dtype}", fix="cast the indices to int64.")
    if not batch <= axis < x.ndim or x.shape[:batch] != indices.shape[:batch]:
        raise ShapeError(
            f"gather: axis {axis} with {batch} batch axes does not fit {x} and {indices}",
            fix="name an axis of the operand behind the batch axes, which both have in front.",
        )
    return ArrayType(x.shape[:axis] + indices.shape[batch:] + x.shape[axis + 1 :], x.dtype)


def _gather_axes(x: ArrayType, indices: ArrayType, *, axis: int, batch: int) -> AxisMap:
    x_labels: list[Any] = [("x", i) for i in range(x.ndim)]
    x_labels[axis] = None
    i_labels: list[Any] = [("x", i) if i < batch else ("i", i) for i in range(indices.ndim)]
    found = (*x_labels[:axis], *i_labels[batch:], *x_labels[axis + 1 :])
    return AxisMap((tuple(x_labels), tuple(i_labels)), (found,))


def _batch_of(change: Change, batch: int) -> int | None:
    """Return how many batch axes there are then; None where an operand lacks one of them."""
    x, indices = change.operands
    left = len(indices.places(range(batch)))
    if x.inserted and indices.inserted:
        return left + 1
    return left if not indices.inserted and not (x.inserted and left) else None


def _gather_adapt(change: Change, *, axis: int, batch: int) -> dict[str, Any] | None:
    batches = _batch_of(change, batch)
    return None if batches is None else {"axis": change.operand.place(axis), "batch": batches}


def _outside(indices: Any, n: int) -> tuple[tuple[int, ...], int] | None:
    """Return the first index that is out of range for an axis of length n, and its place."""
    indices = np.asarray(indices)
    outside = np.argwhere((indices < -n) | (indices >= n))
    if not len(outside):
        return None
    place = tuple(outside[0].tolist())
    return place, int(indices[place])


def _indices_below(length: Callable[..., int]) -> DomainOfDefinition:
    """Return the domain of indices along an axis, whose length follows from the operands and params."""
    return DomainOfDefinition(
        IndexShapeError,
        operand=1,
        operand_name="the indices",
        find=lambda x, indices, **params: _outside(indices, length(x, **params)),
        say=lambda index, x, indices, **params: (
            f"index {index} is out of range for an axis of length {length(x, **params)}"
        ),
        fix="keep the indices within the array, with np.clip if need be.",
    )


gather: Primitive = linear(
    "gather",
    numpy=_gather,
    infer=_gather_type,
    transpose=[
        lambda ct, x, indices, *, axis, batch: scatter_add(ct, indices, axis=axis, batch=batch, size=x.shape[axis]),
        None,
    ],
    axes=_gather_axes,
    adapt=_gather_adapt,
    domain=_indices_below(lambda x, *, axis, batch: x.shape[axis]),
    work=Work(few=lambda x, indices, *, axis, batch: None if batch else lambda x, indices: x.take(indices, axis)),
    indexing=Indexing(takes_rows=lambda x, indices, *, axis, batch: axis),
    doc="Take elements along an axis at integer indices; the first `batch` axes of both operands go together.",
)


def _scatter_add(x: Any, indices: Any, *, axis: int, batch: int, size: int) -> Any:
    x, indices = np.asarray(x), np.asarray(indices)
    own = indices.ndim - batch
    shape = (*x.shape[:axis], size, *x.shape[axis + own :])
    if batch == axis == 0 and own == 1 and x.size >= LONG * size and _are_distinct(indices, size):
        return _rows_at(x, indices, shape)
    out = np.zeros(shape, x.dtype)
    places = _flat_places(indices, batch, axis, size) if batch else None
    if places is not None:
        rest = out.shape[axis + 1 :]
        rows = math.prod(out.shape[: axis + 1])
        np.add.at(out.reshape((rows, *rest)), places.reshape(-1), x.reshape((places.size, *rest)))
        return out
    moved_out = np.moveaxis(out, axis, batch)
    moved = np.moveaxis(x, range(axis, axis + own), range(batch, batch + own))
    np.add.at(moved_out, _index_grid(indices, batch), moved)
    return out


def _scatter_few(x: ArrayType, indices: ArrayType, *, axis: int, batch: int, size: int) -> Any:
    if batch or axis or indices.ndim != 1 or x.size >= LONG * size:
        return None
    shape, dtype = (size, *x.shape[1:]), x.dtype

    def added(x: Any, indices: Any) -> Any:
        out = np.zeros(shape, dtype)
        np.add.at(out, indices, x)
        return out

    return added


LONG = 4
"""Elements of rows, on average, from which on it is worth looking whether no two go to one place. Estimated: looking
takes about as long as adding one element to each row."""


def _are_distinct(indices: Any, n: int) -> bool:
    """Say whether indices are different, and from 0 to n − 1."""
    if indices.dtype.kind != "i" or indices.size > n or indices.min(initial=0) < 0 or indices.max(initial=-1) >= n:
        return False
    return bool(np.bincount(indices).max(initial=0) <= 1)


def _rows_at(x: Any, indices: Any, shape: tuple[int, ...]) -> Any:
    """Put rows at distinct places of zeros, which NumPy does several times as fast as it adds them."""
    out = (np.empty if len(x) == shape[0] else np.zeros)(shape, x.dtype)
    out[indices] = x
    out += out.dtype.type(0)  # −0 is 0 then, as it is in a sum
    return out


def _scatter_type(x: ArrayType, indices: ArrayType, *, axis: int, batch: int, size: int) -> ArrayType:
    own = indices.shape[batch:]
    if indices.dtype.kind not in "iu":
        raise ShapeError(
            f"scatter_add: indices must be integers, got {indices.dtype}", fix="cast the indices to int64."
        )
    if x.shape[axis : axis + len(own)] != own or x.shape[:batch] != indices.shape[:batch]:
        raise ShapeError(
            f"scatter_add: updates {x} do not fit indices {indices} at axis {axis}",
            fix="give updates the shape that a gather with these indices would have.",
        )
    return ArrayType((*x.shape[:axis], size, *x.shape[axis + len(own) :]), x.dtype)


def _scatter_axes(x: ArrayType, indices: ArrayType, *, axis: int, batch: int, size: int) -> AxisMap:
    """The axes of the indices are summed: what is added is the sum of what parts of it add."""
    own = indices.ndim - batch
    labels = tuple([("i", i - axis) if axis <= i < axis + own else ("x", i) for i in range(x.ndim)])
    i_labels = tuple([("x", i) if i < batch else ("i", i - batch) for i in range(indices.ndim)])
    return AxisMap((labels, i_labels), ((*labels[:axis], None, *labels[axis + own :]),))


def _scatter_adapt(change: Change, *, axis: int, batch: int, size: int) -> dict[str, Any] | None:
    batches = _batch_of(change, batch)
    return None if batches is None else {"axis": change.result.place(axis), "batch": batches, "size": size}


scatter_add: Primitive = linear(
    "scatter_add",
    numpy=_scatter_add,
    infer=_scatter_type,
    transpose=[lambda ct, x, indices, *, axis, batch, size: gather(ct, indices, axis=axis, batch=batch), None],
    axes=_scatter_axes,
    adapt=_scatter_adapt,
    domain=_indices_below(lambda x, *, axis, batch, size: size),
    work=Work(few=_scatter_few),
    indexing=Indexing(adds_rows=lambda x, indices, *, axis, batch, size: range(axis, axis + indices.ndim - batch)),
    doc="Add elements into zeros of length `size` along an axis; repeated indices accumulate.",
)
