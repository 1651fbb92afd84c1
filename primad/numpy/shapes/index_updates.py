"""Functional updates of arrays at an index: set_at and add_at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.errors import TracingError
from primad.numpy.inplace.boolean_index import Mask
from primad.numpy.promotion import any_traced, as_traced, convert, expand, first_traced
from primad.numpy.shapes.indexing import as_one, counted_from_0, getitem, laid_out, with_known_masks
from primad.numpy.shapes.shaping import ravel
from primad.recording.traced_array import TracedArray, settled

__all__ = ["add_at", "set_at"]


def _positions(x: Any, index: Any) -> Any:
    """Flat positions of the elements that an index names."""
    shape = tuple(x.shape)
    numbers = np.arange(math.prod(shape)).reshape(shape)
    items = index if isinstance(index, tuple) else (index,)
    traced = [item for item in items if isinstance(item, TracedArray)]
    if not traced:
        return numbers[index]
    return getitem(as_traced(numbers, traced[0]), index)


def add_at(x: Any, index: Any, value: Any) -> Any:
    """Return x with `value` added at an index; repeated indices accumulate. Works on traced and plain arrays alike.

    Args:
        x: an array.
        index: what could stand in x[index].
        value: what to add, broadcast to the shape of x[index].

    Returns:
        a new array; x itself is not changed.

    Example:
        >>> import numpy as np, primad
        >>> primad.numpy.add_at(np.zeros(3), [0, 0, 2], 1.0)
        array([2., 0., 1.])
    """
    x, index = settled((x, with_known_masks(index)))
    mask = Mask.of(index, np.shape(x))
    if mask is not None:
        x = as_traced(x, mask.values)
        zeros = as_traced(np.zeros(getitem(x, mask.around).shape, x.dtype), x)
        return add_at(x, mask.around, mask.put(zeros, value))
    value = settled(value)
    if not any_traced([x, value, *(index if isinstance(index, tuple) else (index,))]):
        result = np.array(x)
        np.add.at(result, index, value)
        return result
    like = first_traced([x, value, *(index if isinstance(index, tuple) else (index,))])
    filled = isinstance(x, TracedArray) or np.any(x)
    x = as_traced(x, like)
    placed = _scatter(x, index, value, like)
    return x + placed if filled else placed


def _scatter(x: TracedArray, index: Any, value: Any, like: TracedArray) -> Any:
    """Return zeros like x with a value added at an index: rows where arrays index neighbouring axes, else elements."""
    entries = laid_out(x.shape, index)
    axes = [i for i, item in enumerate(entries) if isinstance(item, (np.ndarray, TracedArray))]
    whole = all(item == slice(None) for i, item in enumerate(entries) if i not in axes)
    if (
        axes
        and whole
        and len(entries) == x.ndim
        and axes[-1] - axes[0] == len(axes) - 1
        and not _has_traced_mask(entries)
    ):
        return _scatter_rows(x, [entries[i] for i in axes], axes, value)
    positions = as_traced(_positions(x, index), like)
    updates = expand(convert(as_traced(value, like), x.dtype), positions.shape)
    flat = ops.scatter_add(
        ops.reshape(updates, shape=(positions.size,)),
        ops.reshape(positions, shape=(positions.size,)),
        axis=0,
        batch=0,
        size=x.size,
    )
    return ops.reshape(flat, shape=x.shape)


def _has_traced_mask(entries: Sequence[Any]) -> bool:
    return any(isinstance(item, TracedArray) and item.dtype.kind == "b" for item in entries)


def _scatter_rows(x: TracedArray, indices: Sequence[Any], axes: Sequence[int], value: Any) -> Any:
    """Return zeros like x with a value added where arrays index some neighbouring axes."""
    place, after = axes[0], axes[-1] + 1
    lengths = x.shape[place:after]
    flat = as_traced(as_one(counted_from_0(indices, axes, lengths), lengths), x)
    updates = expand(convert(as_traced(value, x), x.dtype), (*x.shape[:place], *flat.shape, *x.shape[after:]))
    found = ops.scatter_add(updates, flat, axis=place, batch=0, size=math.prod(lengths))
    return found if len(axes) == 1 else ops.reshape(found, shape=x.shape)


def _without_leading_axes(value: TracedArray, most: int) -> TracedArray:
    """Return a value without the axes of length 1 before the last few, which NumPy drops where it assigns."""
    more = max(0, value.ndim - most)
    return ops.reshape(value, shape=value.shape[more:]) if more and value.shape[:more] == (1,) * more else value


def set_at(x: Any, index: Any, value: Any) -> Any:
    """Return x with x[index] replaced by `value`; where an index repeats, the last value stays.

    For traced and plain arrays.

    Args:
        x: an array.
        index: what could stand in x[index]; index arrays with repeated elements must not be traced.
        value: what to put there, broadcast to the shape of x[index].

    Returns:
        a new array; x itself is not changed.

    Raises:
        TracingError: for traced index arrays of more than one element, whose repetitions are not known.

    Example:
        >>> import numpy as np, primad
        >>> primad.numpy.set_at(np.zeros(3), 1, 5.0)
        array([0., 5., 0.])
    """
    x, index = settled((x, with_known_masks(index)))
    mask = Mask.of(index, np.shape(x))
    if mask is not None:
        x = as_traced(x, mask.values)
        return set_at(x, mask.around, mask.put(getitem(x, mask.around), value))
    value = settled(value)
    items = index if isinstance(index, tuple) else (index,)
    if not any_traced([x, value, *items]):
        result = np.array(x)
        result[index] = value
        return result
    like = first_traced([x, value, *items])
    x = as_traced(x, like)
    positions = _positions(x, index)
    value = _without_leading_axes(as_traced(value, like), positions.ndim)
    if isinstance(positions, TracedArray):
        if any(isinstance(item, TracedArray) and item.size > 1 for item in items):
            raise TracingError("set_at with a traced index array: its repetitions are not known", fix="use add_at.")
        hit = expand(as_traced(_scatter(x * 0, index, 1.0, like), like), x.shape) > 0
        return ops.select(hit, _scatter(x, index, value, like), x)
    shape = positions.shape
    flat = positions.ravel()
    _, last = np.unique(flat[::-1], return_index=True)
    last = np.sort(flat.size - 1 - last)
    hit = np.zeros(x.size, bool)
    hit[flat] = True
    updates = ravel(expand(convert(value, x.dtype), shape))
    if last.size != flat.size:
        updates = updates[last]
    placed = ops.scatter_add(updates, as_traced(flat[last], like), axis=0, batch=0, size=x.size)
    return ops.select(as_traced(hit.reshape(x.shape), like), ops.reshape(placed, shape=x.shape), x)
