"""What slices, paddings and joined arrays are: on plain arrays, as types, and along axes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, array_type
from primad.ir.axes import AxisMap, Change, Strided
from primad.ops.arrays.reshaping import Shape


@lru_cache(maxsize=4096)
def slices(start: Shape, stop: Shape, step: Shape) -> tuple[slice, ...]:
    """Return an index of slices: many short programs take the same ones in each run."""
    return tuple([slice(a, b, s) for a, b, s in zip(start, stop, step, strict=True)])


def sliced(x: Any, *, start: Shape, stop: Shape, step: Shape) -> Any:
    """Return start:stop:step of each axis."""
    return np.asarray(x)[slices(start, stop, step)]


def slice_type(x: ArrayType, *, start: Shape, stop: Shape, step: Shape) -> ArrayType:
    """Return the type of a slice."""
    if not len(start) == len(stop) == len(step) == x.ndim:
        raise ShapeError(
            f"slice: bounds {start}, {stop}, {step} do not have the {x.ndim} axes of shape {x.shape}",
            fix="give one start, stop and step for each axis.",
        )
    lengths = []
    for a, b, s, n in zip(start, stop, step, x.shape, strict=True):
        if not (0 <= a <= b <= n and s > 0):
            raise ShapeError(
                f"slice: bounds {start}, {stop}, {step} are not inside shape {x.shape}",
                fix="keep 0 <= start <= stop <= length, and steps of 1 or more.",
            )
        lengths.append(-((a - b) // s))
    return array_type(tuple(lengths), x.dtype)


def slice_axes(x: ArrayType, *, start: Shape, stop: Shape, step: Shape) -> AxisMap:
    """Return the axis map of a slice: an axis that is not taken whole is a strided part of the operand's."""
    labels = tuple(
        [
            axis if (a, b, s) == (0, n, 1) else Strided(axis, a, s)
            for axis, (a, b, s, n) in enumerate(zip(start, stop, step, x.shape, strict=True))
        ]
    )
    return AxisMap((tuple(range(x.ndim)),), (labels,))


def slice_adapt(change: Change, *, start: Shape, stop: Shape, step: Shape) -> dict[str, Any]:
    """Return the bounds after a change of axes: an axis that was taken to its end still is."""
    start, step = change.result.entries(start, 0), change.result.entries(step, 1)
    ends = zip(start, change.result.entries(stop, 0), step, change.result.shape, strict=True)
    return {"start": start, "stop": tuple([n if (a, s) == (0, 1) else b for a, b, s, n in ends]), "step": step}


@lru_cache(maxsize=4096)
def _padded(before: Shape, low: Shape, high: Shape, interior: Shape) -> tuple[Shape, tuple[slice, ...]]:
    """Return the shape of a padded array, and where in it the elements lie."""
    shape = tuple([a + b + n + max(0, n - 1) * i for a, b, i, n in zip(low, high, interior, before, strict=True)])
    return shape, tuple([slice(a, m - b, i + 1) for a, b, i, m in zip(low, high, interior, shape, strict=True)])


def padded(x: Any, *, low: Shape, high: Shape, interior: Shape) -> Any:
    """Return an array with zeros before, after and between its elements."""
    x = np.asarray(x)
    shape, places = _padded(x.shape, low, high, interior)
    out = np.zeros(shape, x.dtype)
    out[places] = x
    return out


def padding(x: ArrayType, *, low: Shape, high: Shape, interior: Shape) -> Callable[[Any], Any]:
    """Return what pads arrays of one type."""
    (shape, places), dtype = _padded(x.shape, low, high, interior), x.dtype

    def pad(x: Any) -> Any:
        out = np.zeros(shape, dtype)
        out[places] = x
        return out

    return pad


def pad_type(x: ArrayType, *, low: Shape, high: Shape, interior: Shape) -> ArrayType:
    """Return the type of a padded array."""
    if not len(low) == len(high) == len(interior) == x.ndim or any(n < 0 for n in (*low, *high, *interior)):
        raise ShapeError(
            f"pad: widths {low}, {high}, {interior} do not fit shape {x.shape}",
            fix="give three widths for each axis, which leave no negative length.",
        )
    sizes = zip(low, high, interior, x.shape, strict=True)
    return ArrayType(tuple([a + b + n + max(0, n - 1) * i for a, b, i, n in sizes]), x.dtype)


def pad_axes(x: ArrayType, *, low: Shape, high: Shape, interior: Shape) -> AxisMap:
    """Return the axis map of a padding: the operand's axis is a strided part of one that gets zeros."""
    labels = tuple(
        [
            Strided(axis, a, i + 1) if a or b or i else axis
            for axis, (a, b, i) in enumerate(zip(low, high, interior, strict=True))
        ]
    )
    return AxisMap((labels,), (tuple(range(x.ndim)),))


def pad_adapt(change: Change, **widths: Shape) -> dict[str, Any]:
    """Return the widths after a change of axes: new axes get no zeros."""
    return {name: change.operand.entries(width, 0) for name, width in widths.items()}


def concatenate_type(*types: ArrayType, axis: int) -> ArrayType:
    """Return the type of joined arrays."""
    first = types[0]
    if not 0 <= axis < first.ndim:
        raise ShapeError(
            f"concatenate: axis {axis} is out of range for shape {first.shape}", fix="name an axis of the operands."
        )
    for other in types:
        rest = other.shape[:axis] + other.shape[axis + 1 :]
        if (
            other.ndim != first.ndim
            or rest != first.shape[:axis] + first.shape[axis + 1 :]
            or other.dtype != first.dtype
        ):
            raise ShapeError(
                f"concatenate: {', '.join(map(str, types))} do not agree outside axis {axis}",
                fix="bring the operands to one dtype and, outside of the axis, one shape.",
            )
    length = sum(other.shape[axis] for other in types)
    return ArrayType((*first.shape[:axis], length, *first.shape[axis + 1 :]), first.dtype)


def concatenate_axes(*types: ArrayType, axis: int) -> AxisMap:
    """Return the axis map of joined arrays: each operand's axis is a part of the result's."""
    labels = tuple(range(types[0].ndim))
    starts = itertools.accumulate([x.shape[axis] for x in types[:-1]], initial=0)
    return AxisMap(
        tuple([(*labels[:axis], Strided(axis, start, 1), *labels[axis + 1 :]) for start in starts]), (labels,)
    )
