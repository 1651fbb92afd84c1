"""Functions that index, gather, scatter, select and overwrite: Paddle's names over its operators."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import primad.numpy as pn
from primad.compat.paddle.eager.operators import Value, apply, prototype
from primad.compat.paddle.functions.creation import assign
from primad.compat.paddle.functions.manipulation import expand, lengths, reshape
from primad.compat.paddle.functions.math import cast as cast
from primad.compat.paddle.settings.errors import ArgumentTypeError, InvalidArgumentError, OutOfRangeError


@prototype("slice", inputs="Input", axes=(), starts=(), ends=(), strides=())
def _slice(x: Any, *, axes: Any, starts: Any, ends: Any, strides: Any) -> Any:
    index = [builtins.slice(None)] * x.ndim
    for axis, start, end, stride in zip(axes, starts, ends, strides or [1] * len(axes), strict=True):
        index[axis] = builtins.slice(start, end, stride)
    return x[tuple(index)]


def slice(input: Any, axes: Any, starts: Any, ends: Any) -> Any:
    """Return the part of a tensor between starts and ends along axes."""
    return apply(_slice, input, axes=lengths(axes), starts=lengths(starts), ends=lengths(ends))


def strided_slice(x: Any, axes: Any, starts: Any, ends: Any, strides: Any, name: Any = None) -> Any:
    """Return every stride-th element between starts and ends along axes."""
    return apply(
        _slice, x, axes=lengths(axes), starts=lengths(starts), ends=lengths(ends), strides=lengths(strides), name=name
    )


@prototype("getitem", inputs="X Indices", index=())
def _getitem(x: Any, indices: Any, *, index: Any) -> Any:
    return x[decoded(index, indices or ())]


def getitem(x: Any, index: Any) -> Any:
    """Return x[index] as NumPy reads the index, which may hold tensors."""
    coded, arrays = encoded(index, tuple(x.shape))
    return apply(_getitem, x, arrays or None, index=coded)


def encoded(index: Any, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], list[Any]]:
    """Return an index as a hashable code, and the arrays of integers in it.

    Masks become the positions where they hold; negative positions count from the end.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    items = [_plain(item) for item in items]
    used = sum(item.ndim if _is_mask(item) else item is not None and item is not Ellipsis for item in items)
    if used > len(shape):
        raise OutOfRangeError(f"too many indices: {used} for a tensor with {len(shape)} axes")
    code: list[Any] = []
    arrays: list[Any] = []
    axis = 0
    for item in items:
        if isinstance(item, np.ndarray):
            for positions in np.nonzero(item) if _is_mask(item) else (item,):
                _check_positions(positions, axis, shape[axis])
                code.append("array")
                arrays.append(np.where(positions < 0, positions + shape[axis], positions).astype(np.int64))
                axis += 1
            continue
        code.append(_coded(item))
        if isinstance(code[-1], int):
            _check_positions(np.asarray(code[-1]), axis, shape[axis])
        axis += 0 if item is None else len(shape) - used if item is Ellipsis else 1
    return tuple(code), arrays


def _coded(item: Any) -> Any:
    """Return the code of an index's item that is no array."""
    if item is None:
        return "new"
    if item is Ellipsis:
        return "..."
    if isinstance(item, builtins.slice):
        return ("slice", *(None if n is None else operator.index(n) for n in (item.start, item.stop, item.step)))
    if not hasattr(item, "__index__"):
        raise InvalidArgumentError(
            f"a tensor cannot be indexed by {item!r}",
            "An index is an integer, a slice, an ellipsis, None, a list or tensor of integers, a mask, or a tuple.",
        )
    return operator.index(item)


def _check_positions(positions: np.ndarray[Any, Any], axis: int, length: int) -> None:
    if length >= 0 and positions.size and not (positions.min() >= -length and positions.max() < length):
        raise OutOfRangeError(f"an index is out of range for axis {axis} of length {length}")


def _plain(item: Any) -> Any:
    if isinstance(item, Value):
        item = item.numpy()  # type: ignore[attr-defined]
    elif isinstance(item, (list, tuple, range)):
        item = np.asarray([_plain(part) for part in item])
        item = item.astype(np.int64) if item.size == 0 else item
    if isinstance(item, np.ndarray) and item.dtype.kind not in "biu":
        raise ArgumentTypeError(f"an index must be of integers or booleans, got {item.dtype}")
    return np.asarray(item) if isinstance(item, (bool, np.bool_)) else item


def _is_mask(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.dtype.kind == "b"


def decoded(code: Sequence[Any], arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return the index that `encoded` gave a code for, with arrays put in."""
    given = iter(arrays)
    fixed = {"new": None, "...": Ellipsis}
    return tuple(
        [
            builtins.slice(*item[1:])
            if isinstance(item, tuple)
            else next(given)
            if item == "array"
            else fixed.get(item, item)
            for item in code
        ]
    )


@prototype("set_value", inputs="Input ValueTensor", index=())
def _set_value(x: Any, value: Any, *, index: Any) -> Any:
    return pn.set_at(x, decoded(index, ()), value)


@prototype("set_value", inputs="Input ValueTensor Hit Source")
def _set_positions(x: Any, value: Any, hit: Any, source: Any) -> Any:
    return np.where(hit, np.take(value.reshape(-1), source), x)


def setitem(x: Any, index: Any, value: Any) -> Any:
    """Return x with x[index] replaced by a value, which broadcasts; where positions repeat, the last value stays."""
    coded, arrays = encoded(index, tuple(x.shape))
    if not arrays:
        return apply(_set_value, x, cast(value, x.dtype) if isinstance(value, Value) else value, index=coded)
    places = np.arange(math.prod(x.shape)).reshape(tuple(x.shape))[decoded(coded, arrays)]
    own = tuple(value.shape) if isinstance(value, Value) else np.shape(value)  # type: ignore[attr-defined]
    numbers = np.broadcast_to(np.arange(math.prod(own)).reshape(own), places.shape)
    source = np.full(math.prod(x.shape), -1)
    source[places.reshape(-1)] = numbers.reshape(-1)
    source = source.reshape(tuple(x.shape))
    value = cast(value, x.dtype) if isinstance(value, Value) else value
    return apply(_set_positions, x, value, source >= 0, np.maximum(source, 0))


@prototype("gather", inputs="X Index", axis=0)
def _gather(x: Any, index: Any, *, axis: int) -> Any:
    return np.take(x, index.reshape(-1), axis=axis)


def gather(x: Any, index: Any, axis: Any = None, name: Any = None) -> Any:
    """Return the slices of x at positions along an axis."""
    return apply(_gather, x, index, axis=0 if axis is None else int(axis), name=name)


@prototype("index_select", inputs="X Index", dim=0)
def _index_select(x: Any, index: Any, *, dim: int) -> Any:
    return np.take(x, index, axis=dim)


def index_select(x: Any, index: Any, axis: int = 0, name: Any = None) -> Any:
    """Return the slices of x at positions along an axis."""
    return apply(_index_select, x, index, dim=axis, name=name)


@prototype("gather_nd", inputs="X Index")
def _gather_nd(x: Any, index: Any) -> Any:
    return x[tuple([index[..., i] for i in range(index.shape[-1])])]


def gather_nd(x: Any, index: Any, name: Any = None) -> Any:
    """Return the parts of x whose leading positions stand in the last axis of `index`."""
    return apply(_gather_nd, x, index, name=name)


@prototype("take_along_axis", inputs="Input Index", outputs="Result", Axis=0)
def _take_along_axis(x: Any, index: Any, *, Axis: int) -> Any:
    return pn.take_along_axis(x, index, Axis)


def take_along_axis(arr: Any, indices: Any, axis: int, broadcast: bool = True) -> Any:
    """Return the elements of a tensor at positions along an axis."""
    if broadcast:
        shape = [1 if i == axis % len(arr.shape) else n for i, n in enumerate(arr.shape)]
        indices = expand(indices, np.broadcast_shapes(tuple(indices.shape), tuple(shape)))
    return apply(_take_along_axis, arr, indices, Axis=axis)


@prototype("scatter", inputs="X Ids Updates")
def _scatter_add(x: Any, index: Any, updates: Any) -> Any:
    kept = pn.add_at(x * 0 + 1, index, -np.ones(updates.shape, x.dtype)) > 0
    return pn.add_at(np.where(kept, x, 0), index, updates)


def scatter(x: Any, index: Any, updates: Any, overwrite: bool = True, name: Any = None) -> Any:
    """Return x with the rows at `index` replaced by updates; with overwrite=False, by the sum of their updates."""
    index = reshape(index, (-1,))
    return setitem(x, index, updates) if overwrite else apply(_scatter_add, x, index, updates, name=name)


@prototype("scatter_nd_add", inputs="X Index Updates")
def _scatter_nd_add(x: Any, index: Any, updates: Any) -> Any:
    return pn.add_at(x, tuple([index[..., i] for i in range(index.shape[-1])]), updates)


def scatter_nd_add(x: Any, index: Any, updates: Any, name: Any = None) -> Any:
    """Return x with updates added where the last axis of `index` says; repeated positions add up."""
    return apply(_scatter_nd_add, x, index, updates, name=name)


@prototype("index_add", inputs="X Index AddValue", axis=0)
def _index_add(x: Any, index: Any, value: Any, *, axis: int) -> Any:
    return pn.add_at(x, (builtins.slice(None),) * (axis % x.ndim) + (index,), value)


def index_add(x: Any, index: Any, axis: int, value: Any, name: Any = None) -> Any:
    """Return x with slices added at positions along an axis; repeated positions add up."""
    return apply(_index_add, x, index, value, axis=axis, name=name)


@prototype("where", inputs="Condition X Y")
def _where(condition: Any, x: Any, y: Any) -> Any:
    return np.where(condition, x, y)


def where(condition: Any, x: Any = None, y: Any = None, name: Any = None) -> Any:
    """Return elements of x where the condition holds, of y elsewhere; with the condition alone, its positions."""
    if x is None and y is None:
        return nonzero(condition, as_tuple=True)
    return apply(_where, condition, x, y, name=name)


def nonzero(x: Any, as_tuple: bool = False) -> Any:
    """Return the positions of elements that are not zero: one row each, or a column for each axis."""
    rows = np.argwhere(x.numpy())
    return tuple([assign(rows[:, i : i + 1]) for i in range(rows.shape[1])]) if as_tuple else assign(rows)


def masked_select(x: Any, mask: Any, name: Any = None) -> Any:
    """Return the elements of x where the mask holds, in one axis."""
    return getitem(x, mask)


def masked_fill(x: Any, mask: Any, value: Any, name: Any = None) -> Any:
    """Return x with a value where the mask holds."""
    return where(mask, cast(value, x.dtype) if isinstance(value, Value) else value, x, name=name)


__all__ = [
    "gather", "gather_nd", "index_add", "index_select", "masked_fill", "masked_select", "nonzero", "scatter",
    "scatter_nd_add", "slice", "strided_slice", "take_along_axis", "where",
]  # fmt: skip
