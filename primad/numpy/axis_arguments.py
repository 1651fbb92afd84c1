"""Shapes and axes as NumPy's functions take them, made plain tuples, and which ops broadcast arrays by its rule."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any, cast

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.ir.node import Params, named
from primad.recording.traced_array import TracedArray

MOST_EXPANSIONS = 4096
"""Shapes with those to which they are broadcast, of which it is remembered by which ops. Chosen: a kilobyte each."""


def as_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape that is given as one length or several."""
    return tuple(map(operator.index, shape)) if np.ndim(shape) else (operator.index(shape),)


def normalize_axes(name: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """Return sorted nonnegative axes; None means all.

    Raises:
        ShapeError: if an axis is out of range or repeated.
    """
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    result = []
    for item in axes:
        number = operator.index(item)
        if not -ndim <= number < ndim:
            raise ShapeError(
                f"{name}: axis {number} is out of range for an array with {ndim} axes",
                fix=f"name an axis from 0 to {ndim - 1}." if ndim else "leave the axis out.",
            )
        result.append(number % ndim)
    if len(set(result)) != len(result):
        raise ShapeError(f"{name}: axis {axis} names an axis twice", fix="name each axis once.")
    return tuple(sorted(result))


def reduced_axes(name: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of a reduction; NumPy takes a number for an array with one axis there."""
    return () if ndim == 0 and not isinstance(axis, tuple) and axis in (0, -1) else normalize_axes(name, axis, ndim)


def normalize_axis(name: str, axis: Any, ndim: int) -> int:
    """Return one nonnegative axis.

    Raises:
        ShapeError: if it is out of range, or no integer.
    """
    if axis.__class__ is int and -ndim <= axis < ndim:
        return int(axis % ndim)
    if axis is None or isinstance(axis, (tuple, list)):
        raise ShapeError(f"{name}: axis must be one integer, got {axis!r}", fix="write one axis, as axis=0.")
    return normalize_axes(name, axis, ndim)[0]


def keep_axes(result: TracedArray, x: TracedArray, axes: tuple[int, ...], keepdims: bool) -> TracedArray:
    """Put back reduced axes with length 1, if asked."""
    if not keepdims:
        return result
    return cast(TracedArray, ops.reshape(result, shape=tuple([1 if i in axes else n for i, n in enumerate(x.shape)])))


@lru_cache(maxsize=MOST_EXPANSIONS)
def expansion(own: tuple[int, ...], shape: tuple[int, ...]) -> tuple[tuple[Any, Params], ...]:
    """Return the ops, with their params, that broadcast an array of a shape to another."""
    offset = len(shape) - len(own)
    if offset < 0 or any(n not in (1, m) for n, m in zip(own, shape[offset:], strict=True)):
        raise ShapeError(f"an array of shape {own} does not broadcast to {shape}", fix="give it those lengths, or 1.")
    stretched = [i for i, n in enumerate(own) if n == 1 and shape[offset + i] != 1]
    axes = (*range(offset), *(offset + i for i in stretched))
    spread = (ops.broadcast, named({"shape": shape, "axes": axes}))
    if not stretched:
        return (spread,)
    return (ops.reshape, named({"shape": tuple([n for i, n in enumerate(own) if i not in stretched])})), spread


@lru_cache(maxsize=MOST_EXPANSIONS)
def broadcast_shape(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the shape to which arrays of two shapes are broadcast; None if lengths do not fit."""
    try:
        return np.broadcast_shapes(one, other)
    except ValueError:
        return None
