"""NumPy's functions that turn, cut, join and fill arrays, in terms of those of `shaping`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.numpy.axis_arguments import as_shape, normalize_axes, normalize_axis
from primad.numpy.linalg.diagonals import diag
from primad.numpy.promotion import (
    any_traced,
    as_traced,
    convert,
    expand,
    first_traced,
    implements,
    joined,
    traced_operands,
)
from primad.numpy.shapes.indexing import take
from primad.numpy.shapes.shaping import (
    array_split,
    concatenate,
    flip,
    moveaxis,
    ravel,
    reshape,
    stack,
    swapaxes,
)
from primad.ops.record.primitive import full
from primad.recording.traced_array import TracedArray, settled

__all__ = [
    "append", "apply_along_axis", "apply_over_axes", "atleast_3d", "block", "broadcast_arrays", "delete",
    "diagflat", "dsplit", "dstack", "fliplr", "flipud", "hsplit", "insert", "matrix_transpose", "meshgrid",
    "resize", "rollaxis", "rot90", "tril", "triu", "unstack", "vander", "vsplit",
]  # fmt: skip


# -- turning -----------------------------------------------------------------------------------------------------------


@implements(np.flipud)
def flipud(x: Any) -> Any:
    """np.flipud."""
    return flip(x, 0)


@implements(np.fliplr)
def fliplr(x: Any) -> Any:
    """np.fliplr."""
    return flip(x, 1)


@implements(np.rot90)
def rot90(x: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """np.rot90: by quarter turns in the plane of two axes."""
    first, second = (normalize_axis("rot90", axis, x.ndim) for axis in axes)
    if first == second:
        raise ShapeError("rot90: the two axes are the same", fix="name two axes, as axes=(0, 1).")
    turns = operator.index(k) % 4
    if turns == 2:
        return flip(x, (first, second))
    if turns == 0:
        return x
    return swapaxes(flip(x, second), first, second) if turns == 1 else flip(swapaxes(x, first, second), second)


@implements(np.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    """np.matrix_transpose: the last two axes change places."""
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose: needs two axes at least, got shape {x.shape}", fix="add one: x[:, None].")
    return swapaxes(x, -1, -2)


@implements(np.rollaxis)
def rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    """np.rollaxis."""
    place = normalize_axis("rollaxis", axis, x.ndim)
    if not -x.ndim <= start <= x.ndim:
        raise ShapeError(
            f"rollaxis: start {start} is out of range for an array with {x.ndim} axes",
            fix=f"write a start from 0 to {x.ndim}, or np.moveaxis(x, source, destination).",
        )
    start = start + x.ndim if start < 0 else start
    return moveaxis(x, place, start - 1 if place < start else start)


# -- joining and cutting -----------------------------------------------------------------------------------------------


@implements(np.atleast_3d)
def atleast_3d(x: Any) -> Any:
    """np.atleast_3d."""
    if x.ndim >= 3:
        return x
    return reshape(x, ((1, 1, 1), (1, *x.shape, 1), (*x.shape, 1))[x.ndim])


@implements(np.dstack, of_arrays=True)
def dstack(arrays: Sequence[Any]) -> Any:
    """np.dstack."""
    return concatenate([atleast_3d(x) for x in traced_operands(*arrays)], 2)


@implements(np.hsplit)
def hsplit(x: Any, sections: Any) -> Any:
    """np.hsplit."""
    return _split("hsplit", x, sections, 1 if x.ndim > 1 else 0, 1)


@implements(np.vsplit)
def vsplit(x: Any, sections: Any) -> Any:
    """np.vsplit."""
    return _split("vsplit", x, sections, 0, 2)


@implements(np.dsplit)
def dsplit(x: Any, sections: Any) -> Any:
    """np.dsplit."""
    return _split("dsplit", x, sections, 2, 3)


def _split(name: str, x: Any, sections: Any, axis: int, least: int) -> Any:
    if x.ndim < least:
        raise ShapeError(
            f"{name}: needs {least} axes at least, got shape {x.shape}", fix="add axes of length 1 by reshape."
        )
    if not np.ndim(sections) and x.shape[axis] % operator.index(sections):
        raise ShapeError(
            f"{name}: axis of length {x.shape[axis]} cannot be split into {sections} equal parts",
            fix="np.array_split makes parts of unequal length.",
        )
    return array_split(x, sections, axis)


@implements(np.unstack)
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """np.unstack: the parts along an axis, as a tuple."""
    return tuple(moveaxis(x, normalize_axis("unstack", axis, x.ndim), 0))


@implements(np.block, of_arrays=True)
def block(arrays: Any) -> Any:
    """np.block: nested lists of blocks; the innermost lists are joined along the last axis."""

    def depth(part: Any) -> int:
        return 1 + max(map(depth, part), default=0) if isinstance(part, list) else 0

    def rank(part: Any) -> int:
        return max(map(rank, part), default=0) if isinstance(part, list) else np.ndim(part)

    levels = depth(arrays)
    axes = max(levels, rank(arrays))
    like = first_traced([arrays])

    def join(part: Any, level: int) -> Any:
        if isinstance(part, list):
            if not part:
                raise ShapeError(
                    "block: lists must be nested to one depth, and none may be empty",
                    fix="write lists of rows, each a list of blocks.",
                )
            return concatenate([join(item, level + 1) for item in part], axes - levels + level)
        if level != levels:
            raise ShapeError(
                "block: lists must be nested to one depth", fix="write lists of rows, each a list of blocks."
            )
        x = as_traced(part if isinstance(part, TracedArray) else np.asarray(part), like)
        return reshape(x, (1,) * (axes - x.ndim) + x.shape)

    return join(arrays, 0)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any) -> Any:
    """np.broadcast_arrays."""
    arrays = traced_operands(*args)
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    return tuple([expand(x, shape) for x in arrays])


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """np.meshgrid."""
    if indexing not in ("xy", "ij"):
        raise ShapeError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}", fix="leave it out for 'xy'.")
    arrays = [ravel(x) for x in traced_operands(*xi)]
    count = len(arrays)
    grids = [reshape(x, (1,) * i + (-1,) + (1,) * (count - i - 1)) for i, x in enumerate(arrays)]
    if indexing == "xy" and count > 1:
        grids = [swapaxes(x, 0, 1) for x in grids]
    return tuple(grids) if sparse else broadcast_arrays(*grids)


@implements(np.resize)
def resize(x: Any, shape: Any) -> Any:
    """np.resize: elements in a row, from the first again where they do not suffice."""
    lengths = as_shape(shape)
    size = int(np.prod(lengths))
    if not x.size:
        return np.zeros(lengths, x.dtype)
    return reshape(take(ravel(x), np.arange(size) % x.size), lengths)


@implements(np.append)
def append(x: Any, values: Any, axis: Any = None) -> Any:
    """np.append."""
    parts = [part if any_traced([part]) else np.asarray(part) for part in settled((x, values))]
    return concatenate([joined(part) for part in parts], axis)


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """np.insert: values before the given places, which must not be traced."""
    x, new = traced_operands(arr, values)
    if axis is None:
        x, axis = ravel(x), 0
    place = normalize_axis("insert", axis, x.ndim)
    length = x.shape[place]
    at = np.arange(length)[obj] if isinstance(obj, slice) else np.asarray(obj)
    at = np.flatnonzero(at) if at.dtype.kind == "b" else at if at.size else at.astype(np.int64)
    if at.size and (at.min() < -length or at.max() > length):
        raise ShapeError(
            f"insert: place {obj} is out of range for an axis of length {length}",
            fix=f"write a place from 0 to {length}.",
        )
    new = convert(new, x.dtype)
    new = reshape(new, (1,) * (x.ndim - new.ndim) + new.shape)
    if not at.ndim:
        new = moveaxis(new, 0, place)
    count = new.shape[place] if at.size == 1 else at.size
    new = expand(new, (*x.shape[:place], count, *x.shape[place + 1 :]))
    places = np.where(at < 0, at + length, at).ravel()
    places = np.repeat(places, count) if at.size == 1 else places
    order = np.argsort(places, kind="stable")
    places[order] += np.arange(count)
    source = np.zeros(length + count, int)
    old = np.ones(length + count, bool)
    old[places] = False
    source[old], source[places] = np.arange(length), length + np.arange(count)
    return take(concatenate([x, new], place), source, place)


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """np.delete: without the elements at the given places, which must not be traced."""
    if axis is None:
        arr, axis = ravel(arr), 0
    place = normalize_axis("delete", axis, arr.ndim)
    return take(arr, np.delete(np.arange(arr.shape[place]), obj), place)


# -- matrices ----------------------------------------------------------------------------------------------------------


def _triangle(x: Any, mask: Any) -> Any:
    x = expand(x, (x.shape[0],) * 2) if x.ndim == 1 else x
    if x.ndim < 2:
        raise ShapeError("tril and triu need one axis at least", fix="add one: x[None].")
    mask = np.broadcast_to(mask(x.shape), x.shape)
    return ops.select(as_traced(np.ascontiguousarray(mask), x), x, full(0, x))


@implements(np.tril)
def tril(x: Any, k: int = 0) -> Any:
    """np.tril: zeros above the k-th diagonal."""
    return _triangle(x, lambda shape: np.tri(shape[-2], shape[-1], k, bool))


@implements(np.triu)
def triu(x: Any, k: int = 0) -> Any:
    """np.triu: zeros below the k-th diagonal."""
    return _triangle(x, lambda shape: ~np.tri(shape[-2], shape[-1], k - 1, bool))


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    """np.diagflat."""
    return diag(ravel(v), k)


@implements(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """np.vander: powers of a vector as columns."""
    if x.ndim != 1:
        raise ShapeError(f"vander: needs a vector, got shape {x.shape}", fix="np.ravel makes a vector.")
    count = x.shape[0] if N is None else operator.index(N)
    x = convert(x, np.promote_types(x.dtype, int))
    if not count:
        return np.zeros((x.shape[0], 0), x.dtype)
    columns = [expand(as_traced(np.ones(1, x.dtype), x), x.shape)]
    for _ in range(count - 1):
        columns.append(columns[-1] * x if len(columns) > 1 else x)
    return stack(columns if increasing else columns[::-1], 1)


# -- functions of parts ------------------------------------------------------------------------------------------------


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """np.apply_along_axis: calls the function once for each vector; `primad.vmap` once for all."""
    place = normalize_axis("apply_along_axis", axis, arr.ndim)
    moved = moveaxis(arr, place, -1)
    lead = moved.shape[:-1]
    rows = reshape(moved, (-1, moved.shape[-1])) if lead else moved[None]
    found = stack(traced_operands(*[func1d(row, *args, **kwargs) for row in rows]))
    own = found.shape[1:]
    result = reshape(found, (*lead, *own))
    back = range(len(lead), len(lead) + len(own))
    return moveaxis(result, tuple(back), tuple(range(place, place + len(own))))


@implements(np.apply_over_axes)
def apply_over_axes(func: Any, x: Any, axes: Any) -> Any:
    """np.apply_over_axes."""
    for axis in normalize_axes("apply_over_axes", axes, x.ndim):
        found = func(x, axis)
        x = found if found.ndim == x.ndim else reshape(found, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
    return x
