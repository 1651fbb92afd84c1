"""Sliding windows: all windows of an array as a view, their transpose (overlap-add), and the place of their maximum.

Along an axis, element p of window i lies at position i·step + p·dilation − low. Positions outside the array hold zeros
for `windows`, are dropped by `overlap_add`, and are never chosen by `window_argmax`. So padding and cropping are part
of the ops: `low` is the number of positions before the array, and `count` windows reach as far behind it as they do.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.axes import AxisMap, Slide, along, moved_axes
from primad.ir.node import Node, Trace
from primad.ops.arrays.contraction import contract, letters, split
from primad.ops.arrays.reshaping import flip
from primad.ops.blocked.pieces import Each, in_order, in_pieces
from primad.ops.record.fields import Indexing, Law, MemoryUse
from primad.ops.record.kinds import linear, piecewise_constant
from primad.ops.record.primitive import Primitive, apply

__all__ = ["overlap_add", "window_argmax", "windows"]

Shape = tuple[int, ...]


def _check(name: str, x: ArrayType, axes: Shape, *entries: Shape) -> None:
    """Raise unless there is one entry per axis in each param, and the axes are ascending and in range."""
    if any(len(entry) != len(axes) for entry in entries) or not axes:
        raise ShapeError(
            f"{name}: needs one or more axes, and one entry for each of the axes {axes} in every param",
            fix="give sizes, strides and paddings one entry for each axis.",
        )
    if list(axes) != sorted(set(axes)) or axes[0] < 0 or axes[-1] >= x.ndim:
        raise ShapeError(
            f"{name}: axes {axes} must ascend within the {x.ndim} axes of shape {x.shape}",
            fix="list the axes in ascending order, each once.",
        )


def _check_steps(name: str, count: Shape, size: Shape, step: Shape, dilation: Shape) -> None:
    if min(*count, *size, *step, *dilation) < 1:
        raise ShapeError(
            f"{name}: count {count}, size {size}, step {step} and dilation {dilation} must be positive",
            fix="choose windows that are no larger than the padded array.",
        )


def _replaced(shape: Shape, axes: Shape, lengths: Shape) -> Shape:
    result = list(shape)
    for axis, length in zip(axes, lengths, strict=True):
        result[axis] = length
    return tuple(result)


# -- windows -----------------------------------------------------------------------------------------------------------


def _windows(x: Any, *, axes: Shape, count: Shape, size: Shape, step: Shape, dilation: Shape, low: Shape) -> Any:
    x = np.asarray(x)
    start, inside, wide = [0] * x.ndim, [slice(None)] * x.ndim, list(x.shape)
    for axis, n, k, s, d, before in zip(axes, count, size, step, dilation, low, strict=True):
        behind = (n - 1) * s + (k - 1) * d - before - x.shape[axis] + 1
        start[axis] = max(-before, 0)
        inside[axis] = slice(max(before, 0), max(before, 0) + x.shape[axis])
        wide[axis] += max(before, 0) + max(behind, 0)
    if tuple(wide) != x.shape:
        framed = np.zeros(wide, x.dtype)
        framed[tuple(inside)] = x
        x = framed
    elif not x.flags.aligned:
        x = x.copy()
    x = x[tuple([slice(a, None) for a in start])]
    strides = list(x.strides)
    for axis, s in zip(axes, step, strict=True):
        strides[axis] *= s
    strides += [x.strides[axis] * d for axis, d in zip(axes, dilation, strict=True)]
    return as_strided(x, (*_replaced(x.shape, axes, count), *size), strides, writeable=False)


def _windows_type(
    x: ArrayType, *, axes: Shape, count: Shape, size: Shape, step: Shape, dilation: Shape, low: Shape
) -> ArrayType:
    _check("windows", x, axes, count, size, step, dilation, low)
    _check_steps("windows", count, size, step, dilation)
    return ArrayType((*_replaced(x.shape, axes, count), *size), x.dtype)


def _windows_transpose(
    ct: Any, x: Any, *, axes: Shape, count: Shape, size: Shape, step: Shape, dilation: Shape, low: Shape
) -> Any:
    length = tuple([x.shape[axis] for axis in axes])
    return overlap_add(ct, axes=axes, length=length, step=step, dilation=dilation, low=low)


def _windows_axes(x: ArrayType, *, axes: Shape, **params: Shape) -> AxisMap:
    (labels,) = along(x.ndim, axes).operands
    return AxisMap((labels,), ((*labels, *[None] * len(axes)),))


def _windows_slides(
    x: ArrayType, *, axes: Shape, count: Shape, size: Shape, step: Shape, dilation: Shape, low: Shape
) -> dict[int, Slide]:
    geometry = zip(axes, size, step, dilation, low, strict=True)
    return {axis: Slide(1, range(before, before - k * d, -d), s) for axis, k, s, d, before in geometry}


windows: Primitive = linear(
    "windows",
    numpy=_windows,
    infer=_windows_type,
    transpose=[_windows_transpose],
    axes=_windows_axes,
    indexing=Indexing(slides=_windows_slides),
    adapt=moved_axes,
    memory=MemoryUse(views=True),
    doc="All windows of `size` elements along `axes`: the axes count the windows, new last axes their elements.",
)


# -- overlap-add -------------------------------------------------------------------------------------------------------


def meeting(n: int, length: int, shift: int, step: int) -> tuple[slice, slice] | None:
    """Return which windows have one of their elements, `shift` behind the first, inside an array, and where it lies."""
    first = max(0, -(shift // step))
    last = min(n - 1, (length - 1 - shift) // step)
    if last < first:
        return None
    return slice(first, last + 1), slice(first * step + shift, last * step + shift + 1, step)


def _overlap_add(
    y: Any, *, axes: Shape, length: Shape, step: Shape, dilation: Shape, low: Shape, each: Each = in_order
) -> Any:
    y = np.asarray(y)
    out = np.zeros(_replaced(y.shape[: y.ndim - len(axes)], axes, length), y.dtype)

    def work(piece: tuple[slice, ...]) -> None:
        _add_windows(out[piece], y[piece], axes, length, step, dilation, low)

    in_pieces(work, out.shape, axes, out.itemsize, each)
    return out


def _add_windows(out: Any, y: Any, axes: Shape, length: Shape, step: Shape, dilation: Shape, low: Shape) -> None:
    ndim = out.ndim
    for element in np.ndindex(y.shape[ndim:]):
        source, target = [slice(None)] * ndim, [slice(None)] * ndim
        for axis, m, p, s, d, before in zip(axes, length, element, step, dilation, low, strict=True):
            found = meeting(y.shape[axis], m, p * d - before, s)
            if found is None:
                break
            source[axis], target[axis] = found
        else:
            out[tuple(target)] += y[(*source, *element)]


def _overlap_add_type(
    y: ArrayType, *, axes: Shape, length: Shape, step: Shape, dilation: Shape, low: Shape
) -> ArrayType:
    _check("overlap_add", y, axes, length, step, dilation, low)
    ndim = y.ndim - len(axes)
    if axes[-1] >= ndim:
        raise ShapeError(
            f"overlap_add: shape {y.shape} has no last axes for the elements of windows along {axes}",
            fix="put the elements of the windows last, one axis for each windowed one.",
        )
    _check_steps("overlap_add", tuple([y.shape[axis] for axis in axes]), y.shape[ndim:], step, dilation)
    if min(length) < 0:
        raise ShapeError(f"overlap_add: lengths {length} must not be negative", fix="give lengths of 0 or more.")
    return ArrayType(_replaced(y.shape[:ndim], axes, length), y.dtype)


def _overlap_add_transpose(
    ct: Any, y: Any, *, axes: Shape, length: Shape, step: Shape, dilation: Shape, low: Shape
) -> Any:
    count = tuple([y.shape[axis] for axis in axes])
    size = y.shape[len(y.shape) - len(axes) :]
    return windows(ct, axes=axes, count=count, size=size, step=step, dilation=dilation, low=low)


def _overlap_add_axes(y: ArrayType, *, axes: Shape, **params: Shape) -> AxisMap:
    (labels,) = along(y.ndim - len(axes), axes).operands
    return AxisMap(((*labels, *[None] * len(axes)),), (labels,))


def _overlap_add_product(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """Overlapping products of places and elements are products with windows of the places, the elements reversed.

    The products of all windows need not exist then. Where windows would be many more than places, or turning the
    elements around costs more than it saves, the overlap-add stays.
    """
    (y,) = inputs
    if y.op is not contract or any(s != 1 for s in params["step"]):
        return None
    *parts, out = split(dict(y.params)["labels"])
    axes, ndim = params["axes"], len(out) - len(params["axes"])
    places, elements = [out[axis] for axis in axes], list(out[ndim:])
    for i in (0, 1):
        here, there = parts[i], parts[1 - i]
        if all(c not in there for c in places) and all(c not in here for c in elements):
            break
    else:
        return None
    u, w = y.inputs[i], y.inputs[1 - i]
    count, size = [y.type.shape[axis] for axis in axes], y.type.shape[ndim:]
    seen = u.type.size * math.prod(params["length"]) * math.prod(size) // max(1, math.prod(count))
    if math.prod(params["length"]) > 2 * math.prod(count) or w.type.size > seen:
        return None
    low = [(k - 1) * d - before for k, d, before in zip(size, params["dilation"], params["low"], strict=True)]
    order = sorted(range(len(axes)), key=lambda j: here.index(places[j]))
    entries = {"count": params["length"], "size": size, "step": params["step"], "dilation": params["dilation"]}
    geometry = {name: tuple([entry[j] for j in order]) for name, entry in {**entries, "low": low}.items()}
    operands = [u, w]
    operands[0] = apply(trace, windows, u, axes=tuple([here.index(places[j]) for j in order]), **geometry)
    operands[1] = apply(trace, flip, w, axes=tuple(sorted(there.index(c) for c in elements)))
    names = [here + "".join(elements[j] for j in order), there]
    if i == 1:
        operands.reverse()
        names.reverse()
    return apply(trace, contract, *operands, labels=letters(*names, out[:ndim]))


def _overlap_add_slides(
    y: ArrayType, *, axes: Shape, length: Shape, step: Shape, dilation: Shape, low: Shape
) -> dict[int, Slide]:
    geometry = zip(axes, y.shape[y.ndim - len(axes) :], step, dilation, low, strict=True)
    return {axis: Slide(s, range(-before, k * d - before, d), 1) for axis, k, s, d, before in geometry}


overlap_add: Primitive = linear(
    "overlap_add",
    numpy=_overlap_add,
    infer=_overlap_add_type,
    transpose=[_overlap_add_transpose],
    axes=_overlap_add_axes,
    indexing=Indexing(slides=_overlap_add_slides),
    adapt=moved_axes,
    memory=MemoryUse(each=True),
    doc="Add the elements of windows, which are the last axes, where they lie: the transpose of `windows`.",
    laws=[
        Law(
            "overlapping products are products with windows",
            "finite",
            lambda x, y: (
                overlap_add(
                    contract(x, y, labels="ab,ac->bc"), axes=(0,), length=(5,), step=(1,), dilation=(1,), low=(1,)
                ),
                contract(
                    windows(x, axes=(1,), count=(5,), size=(3,), step=(1,), dilation=(1,), low=(1,)),
                    flip(y, axes=(1,)),
                    labels="abc,ac->b",
                ),
            ),
            ((2, 4), (2, 3)),
            _overlap_add_product,
        )
    ],
)


# -- the place of the maximum ------------------------------------------------------------------------------------------


def first_inside(n: int, length: int, size: int, step: int, dilation: int, low: int) -> Any:
    """Return which is the first element of each of n windows that lies inside an array, −1 where none does."""
    place = np.arange(n)[:, None] * step + np.arange(size) * dilation - low
    inside = (place >= 0) & (place < length)
    return np.where(inside.any(1), inside.argmax(1), -1)


def _window_argmax(
    x: Any,
    *,
    axes: Shape,
    count: Shape,
    size: Shape,
    step: Shape,
    dilation: Shape,
    low: Shape,
    each: Each = in_order,
) -> Any:
    x = np.asarray(x)
    length = tuple([x.shape[axis] for axis in axes])
    start, first = 0, 0
    for i, (axis, *geometry) in enumerate(zip(axes, count, length, size, step, dilation, low, strict=True)):
        n, s, before = count[i], step[i], low[i]
        start = start + _along((np.arange(n) * s - before) * math.prod(length[i + 1 :]), axis, x.ndim)
        first = first + _along(first_inside(*geometry) * math.prod(size[i + 1 :]), axis, x.ndim)
    elements = np.indices(size).reshape(len(size), -1)
    behind = sum(
        row * d * math.prod(length[i + 1 :]) for i, (row, d) in enumerate(zip(elements, dilation, strict=True))
    )
    place = np.empty(_replaced(x.shape, axes, count), np.int64)

    def work(piece: tuple[slice, ...]) -> None:
        number = np.empty(place[piece].shape, np.uint8 if math.prod(size) <= 256 else np.uint32)
        number[...] = first
        _find_largest(number, x[piece], axes, size, step, dilation, low)
        np.add(np.take(behind, number), start, out=place[piece])

    in_pieces(work, x.shape, axes, x.itemsize, each)
    return place


def _find_largest(number: Any, x: Any, axes: Shape, size: Shape, step: Shape, dilation: Shape, low: Shape) -> None:
    """Raise each window's number, that of its first element inside, to that of its first largest element."""
    best = np.full(number.shape, -np.inf, x.dtype)
    with_nan = x.size > 0 and bool(np.isnan(np.max(x)))
    for i, element in enumerate(np.ndindex(*size)):
        source, target = [slice(None)] * x.ndim, [slice(None)] * x.ndim
        for axis, p, s, d, before in zip(axes, element, step, dilation, low, strict=True):
            found = meeting(number.shape[axis], x.shape[axis], p * d - before, s)
            if found is None:
                break
            target[axis], source[axis] = found
        else:
            values, leader, leading = x[tuple(source)], best[tuple(target)], number[tuple(target)]
            better = values > leader
            if with_nan:
                better |= np.isnan(values) & ~np.isnan(leader)
            np.maximum(leader, values, out=leader)
            # Numbers only grow, so that no branch is needed, which would cost more than the arithmetic.
            np.maximum(leading, np.multiply(better, i, dtype=leading.dtype), out=leading)


def _along(values: Any, axis: int, ndim: int) -> Any:
    return values.reshape([-1 if i == axis else 1 for i in range(ndim)])


def _window_argmax_type(
    x: ArrayType, *, axes: Shape, count: Shape, size: Shape, step: Shape, dilation: Shape, low: Shape
) -> ArrayType:
    _check("window_argmax", x, axes, count, size, step, dilation, low)
    _check_steps("window_argmax", count, size, step, dilation)
    if not x.is_float:
        raise ShapeError(f"window_argmax: needs a floating-point operand, got {x}", fix="convert with .astype(float).")
    for axis, *rest in zip(axes, count, [x.shape[axis] for axis in axes], size, step, dilation, low, strict=True):
        if (first_inside(*rest) < 0).any():
            raise ShapeError(
                f"window_argmax: along axis {axis} of shape {x.shape} a window lies outside the array",
                fix="pad by less than a window.",
            )
    return ArrayType(_replaced(x.shape, axes, count), np.int64)


window_argmax: Primitive = piecewise_constant(
    "window_argmax",
    numpy=_window_argmax,
    infer=_window_argmax_type,
    axes=lambda x, *, axes, **params: along(x.ndim, axes),
    adapt=moved_axes,
    memory=MemoryUse(each=True),
    doc="For each window the place of its largest element, counted in row-major order over the axes of the windows; at "
    "a tie the first in the window.",
)
