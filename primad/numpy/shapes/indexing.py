"""NumPy's indexing of traced arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from primad import ops
from primad.errors import IndexShapeError, TracingError
from primad.ir.node import Params, named
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.inplace.boolean_index import Chosen, Mask, check_mask, known_mask
from primad.numpy.inplace.seen import note
from primad.numpy.linalg.diagonals import diagonal_
from primad.numpy.promotion import as_traced, convert, expand, first_traced, implements, refuse_out
from primad.numpy.shapes.shaping import ravel
from primad.ops.record.primitive import Primitive, consuming
from primad.recording.foreign import kind_of, refuse_foreign, without_labels
from primad.recording.protocols import METHODS
from primad.recording.traced_array import TracedArray, bind_each, settled

__all__ = ["take", "take_along_axis"]

Shape = tuple[int, ...]
Step = tuple[Primitive, Params]
"""An op of one operand, and its params."""
MOST_INDICES = 4096
"""Indices of numbers and slices, with the shapes that they were of, whose ops are remembered."""


def _is_integer(item: Any) -> bool:
    """Say whether an entry of an index, which is no bool, is a number."""
    return isinstance(item, (int, np.integer))


def _plain(index: Any) -> tuple[Any, ...] | None:
    """Return an index of numbers, slices, new axes and dots as a tuple that can be a key; None for others."""
    if index.__class__ is int or index.__class__ is np.int64:
        return (int(index),)
    found: list[Any] = []
    for item in index if index.__class__ is tuple else (index,):
        if item.__class__ is slice:
            bounds = item.start, item.stop, item.step
            if not all(bound is None or bound.__class__ is int for bound in bounds):
                return None
            found.append(bounds)
        elif item.__class__ is int or item is None or item is Ellipsis:
            found.append(item)
        elif item.__class__ is np.int64:
            found.append(int(item))
        else:
            return None
    return tuple(found)


def _expand_index(index: Any, ndim: int) -> list[Any]:
    """Write an index out: one entry per axis (None for new axes), booleans as integer arrays."""
    items = list(index) if isinstance(index, tuple) else [index]
    result = [_index_of_axis(item) for item in items]
    used = sum(item.ndim if _is_mask(item) else item is not Ellipsis and _has_axis(item) for item in result)
    if used > ndim:
        raise IndexShapeError(f"too many indices: {used} for an array with {ndim} axes", fix=f"write {ndim} at most.")
    dots = [i for i, item in enumerate(result) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexShapeError("an index can have one ellipsis only", fix="write : for an axis that is taken whole.")
    fill: list[Any] = [slice(None)] * (ndim - used)
    place = dots[0] if dots else len(result)
    return result[:place] + fill + result[place + len(dots) :]


def _index_of_axis(item: Any) -> Any:
    """Return an entry of an index: a number, a slice, an array of integers or booleans, a bool, None or an ellipsis."""
    item = without_labels(item)
    if isinstance(item, (list, tuple, range)):
        item = np.asarray(item) if len(item) else np.zeros(0, int)
    item = settled(item)
    if isinstance(item, TracedArray) and item.dtype.kind == "b":
        item = item._read("the elements of a boolean index")
    if isinstance(item, (bool, np.bool_)) or (_is_mask(item) and item.ndim == 0):
        return bool(item)
    if isinstance(item, (np.ndarray, TracedArray)):
        refuse_foreign(item)
        if item.dtype.kind not in "biu":
            raise IndexShapeError(
                f"an array of dtype {item.dtype} cannot be an index",
                fix="use integers or booleans: i.astype(int), x > 0.",
            )
        return item
    if item is None or item is Ellipsis or isinstance(item, slice) or _is_integer(item):
        return item
    refuse_foreign(item)
    if hasattr(item, "__index__") and not isinstance(item, type):
        return operator.index(item)
    words, _ = kind_of(item) or (f"an object of type {type(item).__name__}", "")
    raise IndexShapeError(f"{words} cannot be an index", fix="use integers, slices, or arrays of integers or booleans.")


def _is_mask(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.dtype.kind == "b"


def _has_axis(item: Any) -> bool:
    """Say whether an entry of an index indexes an axis that the array has."""
    return item is not None and not isinstance(item, bool)


def with_known_masks(index: Any) -> Any:
    """Return an index with plain booleans for its masks whose values are known."""
    return tuple(map(known_mask, index)) if isinstance(index, tuple) else known_mask(index)


def getitem(x: TracedArray, index: Any) -> Any:
    """Index a traced array as NumPy does: integers, slices, new axes, ellipses, integer and boolean arrays."""
    plain = _plain(index)
    if plain is not None:
        found = bind_each(x, _steps(x.shape, plain))
        if found.node.type.shape or Ellipsis in plain:  # y[..., 0] is an array of one number, y[0] a number
            note(found, x, operator.getitem, (index,), {})
        return found
    index = with_known_masks(index)
    mask = Mask.of(index, x.shape)
    if mask is not None:
        return Chosen(getitem(x, mask.around), mask)
    entries = laid_out(x.shape, index)
    if any(isinstance(item, bool) for item in entries):
        x, entries = _with_single_axes(x, entries)
    arrays = [i for i, item in enumerate(entries) if isinstance(item, (np.ndarray, TracedArray))]
    if not arrays:
        found = bind_each(x, _basic(x.shape, entries))
        note(found, x, operator.getitem, (index,), {})
        return found
    # NumPy counts numbers among the arrays: what is indexed leads, unless all of them are neighbours.
    advanced = [i for i, item in enumerate(entries) if item is not None and not isinstance(item, slice)]
    place = advanced[0] if advanced == list(range(advanced[0], advanced[0] + len(advanced))) else 0
    own = [item for item in entries if item is not None]
    base, x = x, bind_each(x, _basic(x.shape, own))
    left = [item for item in own if not _is_integer(item)]
    axes = [i for i, item in enumerate(left) if not isinstance(item, slice)]
    others = [item for item in entries if item is None or isinstance(item, slice)]
    found = _advanced(x, [left[i] for i in axes], axes, place - others[:place].count(None))
    found = _with_new_axes(found, others, place) if None in others else found
    if found.shape and all(type(entries[i]) is TracedArray and not entries[i].shape for i in arrays):
        note(found, base, operator.getitem, (settled(index),), {})  # a row whose number only the program knows
    return found


def _with_new_axes(x: TracedArray, others: Sequence[Any], place: int) -> Any:
    """Insert the new axes among the axes that no arrays index, the axes of the arrays being at a place."""
    count = x.ndim - sum(item is not None for item in others)
    lengths = iter(x.shape)
    shape = [1 if item is None else next(lengths) for item in others[:place]]
    shape += [next(lengths) for _ in range(count)]
    shape += [1 if item is None else next(lengths) for item in others[place:]]
    return ops.reshape(x, shape=tuple(shape))


@lru_cache(maxsize=MOST_INDICES)
def _steps(shape: Shape, plain: tuple[Any, ...]) -> tuple[Step, ...]:
    """Return what takes a plain index (see `_plain`) of arrays of a shape."""
    index = tuple([slice(*item) if item.__class__ is tuple else item for item in plain])
    rest = len(shape) - len(index) + index.count(None)
    simple = rest >= 0 and Ellipsis not in index  # and each entry is what it says
    return tuple(_basic(shape, [*index, *[slice(None)] * rest] if simple else laid_out(shape, index)))


def laid_out(shape: Shape, index: Any) -> list[Any]:
    """Return an index with an entry for each axis, and for new ones: None, or a bool that chooses from one element."""
    axis = 0
    entries: list[Any] = []
    for item in _expand_index(index, len(shape)):
        if _is_mask(item):
            check_mask(item, shape, axis)
            entries.extend(np.nonzero(item))
            axis += item.ndim
        else:
            entries.append(item)
            axis += _has_axis(item)
    return entries


def _with_single_axes(x: TracedArray, entries: Sequence[Any]) -> tuple[TracedArray, list[Any]]:
    """Insert an axis of length 1 for each bool of an index, and return the places there that it chooses, 0 or none."""
    lengths = iter(x.shape)
    own = [item for item in entries if item is not None]
    shape = tuple([next(lengths) if _has_axis(item) else 1 for item in own])
    return ops.reshape(x, shape=shape), [np.arange(int(item)) if isinstance(item, bool) else item for item in entries]


def _basic(shape: Shape, entries: Sequence[Any]) -> list[Step]:
    """Return what takes the numbers, slices and new axes among the entries of an index, first what is read less of."""
    bounds: list[tuple[int, int, int]] = []
    reversed_axes: list[int] = []
    left: list[int] = []
    for item in entries:
        axis = len(bounds)
        if item is None:
            left.append(1)
            continue
        if _is_integer(item):
            number = int(item)
            if not -shape[axis] <= number < shape[axis]:
                raise IndexShapeError(
                    f"index {number} is out of range for axis {axis} of length {shape[axis]}", fix="count from 0."
                )
            number %= shape[axis]
            bounds.append((number, number + 1, 1))
            continue
        taken = range(*item.indices(shape[axis])) if isinstance(item, slice) else range(shape[axis])
        if taken.step < 0:
            reversed_axes.append(axis)
            taken = taken[::-1]
        bounds.append((taken.start, taken[-1] + 1, taken.step) if taken else (0, 0, 1))
        left.append(len(taken))
    start, stop, step = zip(*bounds, strict=True) if bounds else ((), (), ())
    steps: list[Step] = [(ops.slice_, (("start", start), ("step", step), ("stop", stop)))]  # as `named` orders them
    if reversed_axes:
        steps.append((ops.flip, named({"axes": tuple(reversed_axes)})))
    if len(left) != len(shape) or any(item is None for item in entries):
        steps.append((ops.reshape, named({"shape": tuple(left)})))
    return steps


def _advanced(x: TracedArray, indices: list[Any], axes: list[int], place: int) -> Any:
    """Gather at integer arrays: the indexed axes become one, at a place, the arrays one array of flat positions."""
    lengths = [x.shape[axis] for axis in axes]
    indices = counted_from_0(indices, axes, lengths)
    if len(axes) == 2 and consuming(diagonal_, x.node.op):
        return _pairs(x, indices, axes, place)
    others = [axis for axis in range(x.ndim) if axis not in axes]
    order = (*others[:place], *axes, *others[place:])
    if order != tuple(range(x.ndim)):
        x = ops.permute(x, order=order)
    if len(axes) > 1:
        x = ops.reshape(x, shape=(*x.shape[:place], math.prod(lengths), *x.shape[place + len(axes) :]))
    return ops.gather(x, as_traced(as_one(indices, lengths), x), axis=place, batch=0)


def counted_from_0(indices: Sequence[Any], axes: Sequence[int], lengths: Sequence[int]) -> list[Any]:
    """Return index arrays of axes of some lengths, which broadcast together, without negative numbers.

    Of a single one that is traced, negative numbers are left to the op that takes it. Of several, numbers that are out
    of range become so large that the position along all axes is too, so that the op refuses it.
    """
    found = []
    for place, (axis, item, n) in enumerate(zip(axes, indices, lengths, strict=True)):
        if not isinstance(item, TracedArray):
            item = np.asarray(item, np.int64)
            if item.size and (item.min() < -n or item.max() >= n):
                raise IndexShapeError(
                    f"an index array is out of range for axis {axis} of length {n}", fix="np.clip it."
                )
            item = np.where(item < 0, item + n, item)
        elif len(axes) > 1:
            item = convert(item, np.int64)  # flat positions do not fit narrow integers
            item = ops.select(item < 0, item + n, item)
            item = ops.select((item < 0) | (item >= n), item * 0 + math.prod(lengths[: place + 1]), item)
        found.append(item)
    try:
        np.broadcast_shapes(*[item.shape for item in found])
    except ValueError:
        shapes = " and ".join(str(item.shape) for item in found)
        raise IndexShapeError(
            f"index arrays of shapes {shapes} do not broadcast together", fix="np.ix_ adds axes."
        ) from None
    return found


def as_one(indices: Sequence[Any], lengths: Sequence[int]) -> Any:
    """Return the positions along axes that are one then, of index arrays of each."""
    flat = indices[0]
    for item, n in zip(indices[1:], lengths[1:], strict=True):
        flat = flat * n + item
    return flat


def _pairs(x: TracedArray, indices: list[Any], axes: list[int], place: int) -> Any:
    """Gather pairs along two axes as a diagonal, of an array whose diagonals are computed without the rest of it."""
    shape = np.broadcast_shapes(*[np.shape(item) for item in indices])
    for item, axis in zip(indices, axes, strict=True):
        flat = ops.reshape(expand(as_traced(item, x), shape), shape=(math.prod(shape),))
        x = ops.gather(x, flat, axis=axis, batch=0)
    found = diagonal_(x, axis1=axes[0], axis2=axes[1])
    last = found.ndim - 1
    found = ops.permute(found, order=(*range(place), last, *range(place, last)))
    return ops.reshape(found, shape=(*found.shape[:place], *shape, *found.shape[place + 1 :]))


METHODS["__getitem__"] = getitem


@implements(np.take, method="take")
def take(x: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """np.take: elements at integer indices along an axis; modes 'clip' and 'wrap' need indices that are not traced."""
    refuse_out("take", out)
    like = first_traced([x, indices])
    x = as_traced(x if isinstance(x, TracedArray) else np.asarray(x), like)
    if axis is None:
        x, axis = ravel(x), 0
    place = normalize_axis("take", axis, x.ndim)
    length = x.shape[place]
    if mode not in ("raise", "clip", "wrap") or (mode != "raise" and isinstance(indices, TracedArray)):
        raise TracingError(f"np.take with mode={mode!r} is not supported here", fix="clip or wrap the indices first.")
    if isinstance(indices, TracedArray):
        return ops.gather(x, indices, axis=place, batch=0)
    indices = np.asarray(indices)
    if mode != "raise":
        indices = np.clip(indices, 0, length - 1) if mode == "clip" else np.mod(indices, length)
    return getitem(x, (*[slice(None)] * place, indices))


@implements(np.take_along_axis)
def take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Any:
    """np.take_along_axis; without an axis, of all elements in a row."""
    like = first_traced([x, indices])
    x = as_traced(x, like)
    indices = as_traced(indices, like)
    if axis is None:
        x, axis = ops.reshape(x, shape=(x.size,)), 0
    place = normalize_axis("take_along_axis", axis, x.ndim)
    order = (*(i for i in range(x.ndim) if i != place), place)
    back = tuple([order.index(i) for i in range(x.ndim)])
    picked = ops.gather(
        ops.permute(x, order=order), ops.permute(indices, order=order), axis=x.ndim - 1, batch=x.ndim - 1
    )
    return ops.permute(picked, order=back)
