"""Functions that rearrange, join, split, pad and make matrices: Paddle's names over its operators."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from primad.compat.paddle.eager.operators import apply, prototype
from primad.compat.paddle.functions.math import cast as cast
from primad.compat.paddle.settings.errors import InvalidArgumentError

Shape = Any


def lengths(shape: Any) -> tuple[int, ...]:
    """Return a shape given as numbers or tensors, in a list or alone, as a tuple of ints."""
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    return tuple([operator.index(n) if not hasattr(n, "item") else int(n.item()) for n in shape])


def _axes(axis: Any) -> tuple[int, ...]:
    return () if axis is None else lengths(axis)


# -- shapes ------------------------------------------------------------------------------------------------------------


@prototype("reshape2", shape=())
def _reshape(x: Any, *, shape: tuple[int, ...]) -> Any:
    return x.reshape(tuple([x.shape[i] if n == 0 and x.size else n for i, n in enumerate(shape)]))


def reshape(x: Any, shape: Shape, name: Any = None) -> Any:
    """Return x in another shape; −1 stands for what is left, 0 for the length that x has there."""
    return apply(_reshape, x, shape=lengths(shape), name=name)


@prototype("flatten_contiguous_range", start_axis=0, stop_axis=-1)
def _flatten(x: Any, *, start_axis: int, stop_axis: int) -> Any:
    first, last = (axis + x.ndim if axis < 0 else axis for axis in (start_axis, stop_axis))
    return x.reshape((*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :]))


def flatten(x: Any, start_axis: int = 0, stop_axis: int = -1, name: Any = None) -> Any:
    """Return x with the axes from start_axis to stop_axis joined to one."""
    return apply(_flatten, x, layer="flatten", start_axis=start_axis, stop_axis=stop_axis, name=name)


@prototype("squeeze2", axes=())
def _squeeze(x: Any, *, axes: tuple[int, ...]) -> Any:
    chosen = [axis % x.ndim for axis in axes] if axes else range(x.ndim)
    return x.reshape(tuple([n for i, n in enumerate(x.shape) if n != 1 or i not in chosen]))


def squeeze(x: Any, axis: Any = None, name: Any = None) -> Any:
    """Return x without axes of length 1: all of them, or those named that have length 1."""
    return apply(_squeeze, x, layer="squeeze", axes=_axes(axis), name=name)


@prototype("unsqueeze2", axes=())
def _unsqueeze(x: Any, *, axes: tuple[int, ...]) -> Any:
    shape = list(x.shape)
    for axis in axes:
        shape.insert(axis if axis >= 0 else axis + len(shape) + 1, 1)
    return x.reshape(tuple(shape))


def unsqueeze(x: Any, axis: Any, name: Any = None) -> Any:
    """Return x with new axes of length 1, put in one after the other."""
    return apply(_unsqueeze, x, axes=_axes(axis), name=name)


@prototype("transpose2", axis=())
def _transpose(x: Any, *, axis: tuple[int, ...]) -> Any:
    return np.transpose(x, axis)


def transpose(x: Any, perm: Sequence[int], name: Any = None) -> Any:
    """Return x with its axes in the order `perm`."""
    return apply(_transpose, x, layer="transpose", axis=lengths(perm), name=name)


def t(input: Any, name: Any = None) -> Any:
    """Return a matrix transposed; vectors and scalars as they are."""
    if len(input.shape) > 2:
        raise InvalidArgumentError(f"t() takes a tensor with at most 2 axes, got {len(input.shape)}", fix="transpose.")
    return transpose(input, (1, 0), name=name) if len(input.shape) == 2 else input


def moveaxis(x: Any, source: Any, destination: Any, name: Any = None) -> Any:
    """Return x with axes moved to other places."""
    count = len(x.shape)
    sources = [axis % count for axis in lengths(source)]
    order = [axis for axis in range(count) if axis not in sources]
    for place, axis in sorted(zip([axis % count for axis in lengths(destination)], sources, strict=True)):
        order.insert(place, axis)
    return transpose(x, order, name=name)


def swapaxes(x: Any, axis0: int, axis1: int, name: Any = None) -> Any:
    """Return x with two axes exchanged."""
    order = list(range(len(x.shape)))
    order[axis0], order[axis1] = order[axis1], order[axis0]
    return transpose(x, order, name=name)


@prototype("expand_v2", shape=())
def _expand(x: Any, *, shape: tuple[int, ...]) -> Any:
    offset = len(shape) - x.ndim
    return np.broadcast_to(x, tuple([x.shape[i - offset] if n == -1 else n for i, n in enumerate(shape)]))


def expand(x: Any, shape: Shape, name: Any = None) -> Any:
    """Return x broadcast to a shape; −1 keeps the length that x has."""
    return apply(_expand, x, layer="expand", shape=lengths(shape), name=name)


broadcast_to = expand


def expand_as(x: Any, y: Any, name: Any = None) -> Any:
    """Return x broadcast to the shape of y."""
    return expand(x, y.shape, name=name)


@prototype("tile", repeat_times=())
def _tile(x: Any, *, repeat_times: tuple[int, ...]) -> Any:
    return np.tile(x, repeat_times)


def tile(x: Any, repeat_times: Any, name: Any = None) -> Any:
    """Return x repeated as a whole along its axes."""
    return apply(_tile, x, repeat_times=lengths(repeat_times), name=name)


@prototype("repeat_interleave", Repeats=1, dim=0)
def _repeat(x: Any, *, Repeats: int, dim: int) -> Any:
    return np.repeat(x, Repeats, axis=dim)


def repeat_interleave(x: Any, repeats: int, axis: int | None = None, name: Any = None) -> Any:
    """Return x with each element along an axis repeated, by default of the flattened tensor."""
    return apply(
        _repeat, flatten(x) if axis is None else x, Repeats=int(repeats), dim=0 if axis is None else axis, name=name
    )


@prototype("flip", axis=())
def _flip(x: Any, *, axis: tuple[int, ...]) -> Any:
    return np.flip(x, axis)


def flip(x: Any, axis: Any, name: Any = None) -> Any:
    """Return x with the order along axes reversed."""
    return apply(_flip, x, axis=lengths(axis), name=name)


@prototype("roll", shifts=(), axis=())
def _roll(x: Any, *, shifts: tuple[int, ...], axis: tuple[int, ...]) -> Any:
    return np.roll(x, shifts, axis) if axis else np.roll(x, shifts[0])


def roll(x: Any, shifts: Any, axis: Any = None, name: Any = None) -> Any:
    """Return x rolled along axes, by default of the flattened tensor."""
    return apply(_roll, x, shifts=lengths(shifts), axis=_axes(axis), name=name)


# -- joining and splitting ---------------------------------------------------------------------------------------------


@prototype("concat", axis=0)
def _concat(x: Any, *, axis: int) -> Any:
    return np.concatenate(x, axis=axis)


def concat(x: Sequence[Any], axis: Any = 0, name: Any = None) -> Any:
    """Return tensors joined along an axis."""
    return apply(_concat, list(x), axis=int(axis), name=name)


@prototype("stack", outputs="Y", axis=0)
def _stack(x: Any, *, axis: int) -> Any:
    return np.stack(x, axis=axis)


def stack(x: Sequence[Any], axis: int = 0, name: Any = None) -> Any:
    """Return tensors of one shape joined along a new axis."""
    return apply(_stack, list(x), axis=axis, name=name)


@prototype("split", axis=0, num=0, sections=())
def _split(x: Any, *, axis: int, num: int, sections: tuple[int, ...]) -> Any:
    if not sections:
        return list(np.split(x, num, axis=axis))
    if -1 in sections:
        rest = x.shape[axis] - sum(n for n in sections if n != -1)
        sections = tuple([rest if n == -1 else n for n in sections])
    return list(np.split(x, list(accumulate(sections))[:-1], axis=axis))


def split(x: Any, num_or_sections: Any, axis: Any = 0, name: Any = None) -> Any:
    """Return the parts of x along an axis: a number of equal ones, or of given lengths (one may be −1)."""
    if isinstance(num_or_sections, int):
        length = x.shape[int(axis)]
        if length > 0 and length % num_or_sections:
            raise InvalidArgumentError(f"split: an axis of length {length} has no {num_or_sections} equal parts")
        return apply(_split, x, axis=int(axis), num=num_or_sections, name=name)
    return apply(_split, x, axis=int(axis), sections=lengths(num_or_sections), name=name)


def chunk(x: Any, chunks: int, axis: Any = 0, name: Any = None) -> Any:
    """Return x in a number of equal parts along an axis."""
    return split(x, chunks, axis, name=name)


@prototype("unbind", axis=0)
def _unbind(x: Any, *, axis: int) -> Any:
    return [x[(builtins.slice(None),) * (axis % x.ndim) + (i,)] for i in range(x.shape[axis])]


def unbind(input: Any, axis: int = 0) -> Any:
    """Return the slices of a tensor along an axis, without it."""
    return apply(_unbind, input, axis=axis)


unstack = unbind


# -- matrices and padding ----------------------------------------------------------------------------------------------


@prototype("tril_triu", diagonal=0, lower=True)
def _triangle(x: Any, *, diagonal: int, lower: bool) -> Any:
    keep = np.tri(x.shape[-2], x.shape[-1], diagonal if lower else diagonal - 1, dtype=bool)
    return np.where(np.broadcast_to(keep if lower else ~keep, x.shape), x, 0)


def tril(x: Any, diagonal: int = 0, name: Any = None) -> Any:
    """Return the lower triangle of matrices, zero elsewhere."""
    return apply(_triangle, x, diagonal=diagonal, lower=True, name=name)


def triu(x: Any, diagonal: int = 0, name: Any = None) -> Any:
    """Return the upper triangle of matrices, zero elsewhere."""
    return apply(_triangle, x, diagonal=diagonal, lower=False, name=name)


@prototype("pad", paddings=(), pad_value=0.0)
def _pad(x: Any, *, paddings: tuple[int, ...], pad_value: float) -> Any:
    widths = [(paddings[2 * i], paddings[2 * i + 1]) for i in range(x.ndim)]
    return np.pad(x, widths, constant_values=pad_value)


def pad(
    x: Any,
    pad: Any,
    mode: str = "constant",
    value: float = 0.0,
    data_format: str = "NCHW",
    pad_from_left_axis: bool = True,
    name: Any = None,
) -> Any:
    """Return x with a constant around it.

    Args:
        x: a tensor.
        pad: for every axis the widths before and after it, from the first axis (from the last with
            pad_from_left_axis=False); or for the spatial axes only, from the last.
        mode: 'constant'.
        value: the constant.
        data_format: where the spatial axes are, when `pad` is for those only.
        pad_from_left_axis: see `pad`.
        name: ignored.

    Raises:
        InvalidArgumentError: for other modes, or widths that do not fit.
    """
    if mode != "constant":
        raise InvalidArgumentError(f"pad: mode {mode!r} is not supported", fix="use 'constant'.")
    widths = lengths(pad)
    count = len(x.shape)
    if len(widths) == 2 * count:
        pairs = [widths[2 * i : 2 * i + 2] for i in range(count)]
        if not pad_from_left_axis:
            pairs.reverse()
    elif len(widths) % 2 == 0 and len(widths) <= 2 * (count - 2):
        spatial = [widths[2 * i : 2 * i + 2] for i in range(len(widths) // 2)][::-1]
        last = data_format.endswith("C")
        head = count - len(spatial) - last
        pairs = [(0, 0)] * head + spatial + [(0, 0)] * last
    else:
        raise InvalidArgumentError(f"pad: {len(widths)} widths do not fit a tensor with {count} axes")
    return apply(_pad, x, paddings=tuple([n for pair in pairs for n in pair]), pad_value=float(value), name=name)


@prototype("diag_v2", offset=0, padding_value=0.0)
def _diag(x: Any, *, offset: int, padding_value: float) -> Any:
    return np.diag(x, offset)


def diag(x: Any, offset: int = 0, padding_value: float = 0, name: Any = None) -> Any:
    """Return the matrix with x on a diagonal, or the diagonal of a matrix."""
    if padding_value:
        raise InvalidArgumentError("diag: padding_value other than 0 is not supported", fix="use where.")
    return apply(_diag, x, offset=offset, name=name)


@prototype("diagonal", inputs="Input", offset=0, axis1=0, axis2=1)
def _diagonal(x: Any, *, offset: int, axis1: int, axis2: int) -> Any:
    return np.diagonal(x, offset, axis1, axis2)


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, name: Any = None) -> Any:
    """Return a diagonal of matrices as the last axis."""
    return apply(_diagonal, x, offset=offset, axis1=axis1, axis2=axis2, name=name)


def meshgrid(*args: Any, **kwargs: Any) -> list[Any]:
    """Return the coordinates of a grid, one tensor for each vector, in the order of the axes ('ij')."""
    vectors = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    shape = [vector.shape[0] for vector in vectors]
    count = len(vectors)
    return [
        expand(reshape(vector, [-1 if j == i else 1 for j in range(count)]), shape) for i, vector in enumerate(vectors)
    ]


__all__ = [
    "broadcast_to", "chunk", "concat", "diag", "diagonal", "expand", "expand_as", "flatten", "flip", "meshgrid",
    "moveaxis", "pad", "repeat_interleave", "reshape", "roll", "split", "squeeze", "stack", "swapaxes", "t",
    "tile", "transpose", "tril", "triu", "unbind", "unsqueeze", "unstack",
]  # fmt: skip
