"""NumPy's functions that rearrange arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.numpy.axis_arguments import as_shape, normalize_axes, normalize_axis
from primad.numpy.inplace.seen import fresh
from primad.numpy.promotion import (
    as_traced,
    convert,
    expand,
    first_traced,
    implements,
    joined,
    refuse_out,
    result_dtype,
)
from primad.recording.protocols import METHODS
from primad.recording.traced_array import TracedArray, bind_each

__all__ = [
    "array_split", "atleast_1d", "atleast_2d", "broadcast_to", "column_stack", "concatenate", "expand_dims",
    "flip", "hstack", "moveaxis", "ndim", "ravel", "repeat", "reshape",
    "result_type", "roll", "shape", "size", "split", "squeeze", "stack", "swapaxes", "tile", "transpose", "vstack",
]  # fmt: skip


@implements(np.reshape)
def reshape(x: Any, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    """np.reshape; one length may be −1."""
    if len(shape) == 1 and (isinstance(shape[0], (tuple, list)) or np.ndim(shape[0])):
        shape = tuple(shape[0])
    if order == "F":
        return transpose(reshape(transpose(x), tuple(reversed(shape))))
    if order not in ("C", "A"):
        raise ShapeError(f"reshape: order must be 'C' or 'F', got {order!r}", fix="leave it out for 'C'.")
    if order == "A" and x.ndim > 1:
        raise ShapeError(
            "reshape: order='A' depends on how an array lies in memory, which a traced array does not say",
            fix="pass order='C' or order='F'.",
        )
    lengths = [operator.index(n) for n in shape]
    if lengths.count(-1) > 1:
        raise ShapeError(f"reshape: shape {shape} leaves more than one length open", fix="write -1 once.")
    if -1 in lengths:
        known = math.prod(n for n in lengths if n != -1)
        if known == 0 or x.size % known:
            raise ShapeError(
                f"reshape: an array of shape {x.shape} cannot have shape {shape}",
                fix="leave one length open by -1, or choose lengths whose product is the number of elements.",
            )
        lengths[lengths.index(-1)] = x.size // known
    return ops.reshape(x, shape=tuple(lengths))


METHODS["reshape"] = lambda x, *shape, order="C": reshape(x, shape[0] if len(shape) == 1 else shape, order=order)


@implements(np.ravel, method="ravel")
def ravel(x: Any, order: str = "C") -> Any:
    """np.ravel: all elements in one axis."""
    return reshape(x, (x.size,), order=order)


METHODS["flatten"] = lambda x, order="C": fresh(ravel(x, order))


def in_a_row(x: Any, axis: Any) -> tuple[Any, Any]:
    """Return the array that a function along one axis is about, and the axis: of a number a row of one, as in NumPy."""
    if axis is None:
        return np.ravel(x), 0
    return (x if np.ndim(x) else np.ravel(x)), axis


@implements(np.transpose)
def transpose(x: Any, axes: Any = None) -> Any:
    """np.transpose: axes reversed, or in the order given."""
    if axes is None:
        return ops.permute(x, order=tuple(reversed(range(x.ndim))))
    if len(axes) != x.ndim:
        raise ShapeError(
            f"transpose: axes {axes} do not fit an array with {x.ndim} axes",
            fix=f"name each axis from 0 to {x.ndim - 1} once." if x.ndim else "leave the axes out.",
        )
    return ops.permute(x, order=tuple([normalize_axis("transpose", axis, x.ndim) for axis in axes]))


METHODS["transpose"] = lambda x, *axes: transpose(x, (axes[0] if len(axes) == 1 else axes) or None)


@implements(np.swapaxes, method="swapaxes")
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """np.swapaxes."""
    order = list(range(x.ndim))
    a, b = normalize_axis("swapaxes", axis1, x.ndim), normalize_axis("swapaxes", axis2, x.ndim)
    order[a], order[b] = order[b], order[a]
    return ops.permute(x, order=tuple(order))


@implements(np.moveaxis)
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """np.moveaxis."""
    sources = [source] if np.ndim(source) == 0 else list(source)
    targets = [destination] if np.ndim(destination) == 0 else list(destination)
    sources = [normalize_axis("moveaxis", axis, x.ndim) for axis in sources]
    targets = [normalize_axis("moveaxis", axis, x.ndim) for axis in targets]
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return ops.permute(x, order=tuple(order))


@implements(np.expand_dims)
def expand_dims(x: Any, axis: Any) -> Any:
    """np.expand_dims."""
    count = 1 if np.ndim(axis) == 0 else len(axis)
    axes = normalize_axes("expand_dims", axis, x.ndim + count)
    lengths = iter(x.shape)
    return ops.reshape(x, shape=tuple([1 if i in axes else next(lengths) for i in range(x.ndim + count)]))


@implements(np.squeeze, method="squeeze")
def squeeze(x: Any, axis: Any = None) -> Any:
    """np.squeeze."""
    axes = [i for i, n in enumerate(x.shape) if n == 1] if axis is None else normalize_axes("squeeze", axis, x.ndim)
    if any(x.shape[i] != 1 for i in axes):
        raise ShapeError(
            f"squeeze: axis {axis} of shape {x.shape} has not length 1",
            fix="leave it out to drop all axes of length 1, or take an element: x[0].",
        )
    return ops.reshape(x, shape=tuple([n for i, n in enumerate(x.shape) if i not in axes]))


@implements(np.broadcast_to)
def broadcast_to(x: Any, shape: Any) -> Any:
    """np.broadcast_to."""
    return expand(x, as_shape(shape))


def _joined(name: str, given: Any, dtype: Any = None, casting: Any = "same_kind") -> list[TracedArray]:
    arrays: list[Any] = list(given)
    if not arrays:
        raise ShapeError(f"{name}: no arrays", fix="give a list of arrays, one at least.")
    if dtype is None and set(map(type, arrays)) == {TracedArray} and len({x.node.type.dtype for x in arrays}) == 1:
        return arrays
    like = first_traced(arrays)
    arrays = [joined(array) for array in arrays]
    operands = [as_traced(array if isinstance(array, TracedArray) else np.asarray(array), like) for array in arrays]
    if dtype is None:
        dtype = np.result_type(*[x.dtype for x in operands])  # NumPy makes arrays of numbers before it joins
    if not all(np.can_cast(x.dtype, dtype, casting) for x in operands):
        raise ShapeError(f"{name}: casting to {np.dtype(dtype)} is not {casting}", fix="use .astype before.")
    return [convert(x, dtype) for x in operands]


@implements(np.concatenate, of_arrays=True)
def concatenate(
    arrays: Sequence[Any], axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """np.concatenate."""
    refuse_out("concatenate", out)
    operands = _joined("concatenate", arrays, dtype, casting)
    if axis is None:
        operands, axis = [ravel(x) for x in operands], 0
    return ops.concatenate(*operands, axis=normalize_axis("concatenate", axis, operands[0].ndim))


@implements(np.stack, of_arrays=True)
def stack(
    arrays: Sequence[Any], axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """np.stack: join arrays of one shape along a new axis; also joins traced scalars into a vector."""
    refuse_out("stack", out)
    operands = _joined("stack", arrays, dtype, casting)
    shape = operands[0].shape
    if any(x.shape != shape for x in operands):
        raise ShapeError(
            f"stack: shapes {[x.shape for x in operands]} differ",
            fix="np.broadcast_arrays gives them one shape; np.concatenate joins arrays along an axis that they have.",
        )
    place = normalize_axis("stack", axis, len(shape) + 1)
    steps = ((ops.reshape, (("shape", (*shape[:place], 1, *shape[place:])),)),)
    return ops.concatenate(*[bind_each(x, steps) for x in operands], axis=place)


@implements(np.hstack, of_arrays=True)
def hstack(arrays: Sequence[Any], *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """np.hstack."""
    operands = [_at_least(x, 1) for x in _joined("hstack", arrays, dtype, casting)]
    return ops.concatenate(*operands, axis=0 if operands[0].ndim == 1 else 1)


@implements(np.vstack, of_arrays=True)
def vstack(arrays: Sequence[Any], *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """np.vstack."""
    return ops.concatenate(*[_at_least(x, 2) for x in _joined("vstack", arrays, dtype, casting)], axis=0)


@implements(np.column_stack, of_arrays=True)
def column_stack(arrays: Sequence[Any]) -> Any:
    """np.column_stack: one-dimensional arrays become columns."""
    operands = [expand_dims(_at_least(x, 1), 1) if x.ndim < 2 else x for x in _joined("column_stack", arrays)]
    return ops.concatenate(*operands, axis=1)


def _at_least(x: TracedArray, ndim: int) -> Any:
    return ops.reshape(x, shape=(1,) * (ndim - x.ndim) + x.shape) if x.ndim < ndim else x


@implements(np.atleast_1d)
def atleast_1d(x: Any) -> Any:
    """np.atleast_1d."""
    return _at_least(x, 1)


@implements(np.atleast_2d)
def atleast_2d(x: Any) -> Any:
    """np.atleast_2d."""
    return _at_least(x, 2)


@implements(np.flip)
def flip(x: Any, axis: Any = None) -> Any:
    """np.flip."""
    return ops.flip(x, axes=normalize_axes("flip", axis, x.ndim))


@implements(np.roll)
def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """np.roll along one axis, several, or (None) of the flattened array."""
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    for step, along in np.broadcast(shift, axis):
        place = normalize_axis("roll", int(along), x.ndim)
        length = x.shape[place]
        cut = length - operator.index(step) % length if length else 0
        x = ops.concatenate(_part(x, place, cut, length), _part(x, place, 0, cut), axis=place)
    return x


def _part(x: TracedArray, axis: int, start: int, stop: int) -> Any:
    low, high = [0] * x.ndim, list(x.shape)
    low[axis], high[axis] = start, stop
    return ops.slice_(x, start=tuple(low), stop=tuple(high), step=(1,) * x.ndim)


@implements(np.split)
def split(x: Any, sections: Any, axis: int = 0) -> Any:
    """np.split: into equal parts, or at the given places."""
    place = normalize_axis("split", axis, x.ndim)
    length = x.shape[place]
    if not np.ndim(sections):
        sections = _parts("split", sections)
        if length % sections:
            raise ShapeError(
                f"split: axis of length {length} cannot be split into {sections} equal parts",
                fix="np.array_split makes parts of unequal length.",
            )
        cuts = [length // sections * i for i in range(sections + 1)]
    else:
        cuts = [0, *(slice(0, cut).indices(length)[1] for cut in sections), length]
    return [_part(x, place, a, max(a, b)) for a, b in pairwise(cuts)]


def _parts(name: str, number: Any) -> int:
    count = operator.index(number)
    if count < 1:
        raise ShapeError(f"{name}: an axis cannot be split into {count} parts", fix="write 1 or more.")
    return count


@implements(np.array_split)
def array_split(x: Any, sections: Any, axis: int = 0) -> Any:
    """np.array_split: as split, into parts whose lengths differ by at most one."""
    if np.ndim(sections):
        return split(x, sections, axis)
    sections = _parts("array_split", sections)
    short, longer = divmod(x.shape[normalize_axis("array_split", axis, x.ndim)], sections)
    return split(x, [short * i + min(i, longer) for i in range(1, sections)], axis)


@implements(np.tile)
def tile(x: Any, reps: Any) -> Any:
    """np.tile."""
    counts = as_shape(reps)
    x = _at_least(x, len(counts))
    counts = (1,) * (x.ndim - len(counts)) + counts
    mixed = tuple([n for pair in zip(counts, x.shape, strict=True) for n in pair])
    axes = tuple(range(0, 2 * x.ndim, 2))
    wide = ops.broadcast(x, shape=mixed, axes=axes)
    return ops.reshape(wide, shape=tuple([a * b for a, b in zip(counts, x.shape, strict=True)]))


@implements(np.repeat, method="repeat")
def repeat(x: Any, repeats: Any, axis: Any = None) -> Any:
    """np.repeat, with one count for all elements or one for each."""
    if axis is None:
        x, axis = ravel(x), 0
    place = normalize_axis("repeat", axis, x.ndim)
    if np.ndim(repeats):
        positions = np.repeat(np.arange(x.shape[place]), repeats)
        return ops.gather(x, as_traced(positions, x), axis=place, batch=0)
    count = operator.index(repeats)
    shape = (*x.shape[: place + 1], count, *x.shape[place + 1 :])
    wide = ops.broadcast(x, shape=shape, axes=(place + 1,))
    return ops.reshape(wide, shape=(*x.shape[:place], x.shape[place] * count, *x.shape[place + 1 :]))


@implements(np.shape)
def shape(x: Any) -> Any:
    """np.shape."""
    return x.shape


@implements(np.ndim)
def ndim(x: Any) -> Any:
    """np.ndim."""
    return x.ndim


@implements(np.size)
def size(x: Any, axis: Any = None) -> Any:
    """np.size."""
    return x.size if axis is None else x.shape[axis]


@implements(np.result_type)
def result_type(*values: Any) -> Any:
    """np.result_type of arrays, numbers and dtypes."""
    described = (np.dtype, type, str)
    return result_dtype(*[np.empty(0, value) if isinstance(value, described) else value for value in values])
