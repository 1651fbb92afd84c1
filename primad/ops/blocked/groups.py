"""Sums in groups of few, whose sums are added up in groups again: their errors grow with the logarithm of the length.

A running sum of n numbers may err by n roundings, one in groups of g by g·log n / log g. NumPy's sums along memory are
such sums, of pairs. All sums are here: along any axis, in loops, blocks and tiles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

GROUP = 16
"""Numbers, or sums of groups, that are added one after the other, at most. Tuned: shorter groups of what a loop adds up
take more time. The last bits of sums depend on it."""
PRODUCTS = 64
"""Products that are added one after the other, at most: `np.einsum` has few running sums, and in a block of several
rows and columns they fill the registers, so that to begin anew takes longer. Tuned: with 16 they took 4 % more. BLAS
has hundreds. The last bits of sums depend on it."""


def spans_of(length: int, first: int = 1) -> list[int]:
    """Return how many numbers the sums stand for that are added up in groups, from the innermost groups to all.

    Args:
        length: how many numbers there are.
        first: how many are one sum before, of any kind.
    """
    spans = []
    while first < length:
        spans.append(first)
        first *= GROUP
    return spans


class RunningSums:
    """Sums of arrays that come one after the other, in groups.

    Args:
        count: how many sums there are.
        group: how many arrays are a group, by default as many as elsewhere.
    """

    def __init__(self, count: int, group: int | None = None) -> None:
        self._levels: list[list[Any]] = [[None] * count]
        self._turns, self._group = 0, group or GROUP

    def add(self, place: int, value: Any) -> None:
        """Add an array to a sum, which may change it later."""
        _add(self._levels[0], place, value)

    def of_group(self, place: int) -> Any:
        """Return the sum of the group that is being added up; None before anything was added."""
        return self._levels[0][place]

    def turn(self) -> None:
        """Say that all sums have got what comes at a time; every so often groups end."""
        self._turns += 1
        turns = self._turns
        for k in range(len(self._levels)):
            if turns % self._group:
                return
            turns //= self._group
            if k + 1 == len(self._levels):
                self._levels.append([None] * len(self._levels[k]))
            _move(self._levels[k], self._levels[k + 1])

    def ended(self) -> list[Any]:
        """Return the sums; None for those that got nothing."""
        for below, above in zip(self._levels, self._levels[1:], strict=False):
            _move(below, above)
        return self._levels[-1]


def _add(totals: list[Any], place: int, value: Any) -> None:
    if totals[place] is None:
        totals[place] = value
    else:
        totals[place] += value


def _move(below: list[Any], above: list[Any]) -> None:
    for place, value in enumerate(below):
        if value is not None:
            _add(above, place, value)
            below[place] = None


def sum_along(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the sum of an array over axes; what NumPy would add one row after the other is added in groups."""
    if x.size <= GROUP or x.dtype.kind != "f" or (len(axes) == x.ndim and x.flags.c_contiguous):
        return np.add.reduce(x, axis=axes, dtype=x.dtype)
    left = [axis for axis in axes if x.shape[axis] > 1]
    if math.prod([x.shape[axis] for axis in left]) <= GROUP:
        return np.add.reduce(x, axis=axes, dtype=x.dtype)
    kept = [n for axis, n in enumerate(x.shape) if axis not in axes]
    while left:
        inner = _nearest(x, left)
        if len(inner) == len(left):
            return np.add.reduce(x, axis=axes, dtype=x.dtype)
        if inner:
            x = np.add.reduce(x, axis=inner, dtype=x.dtype, keepdims=True)
        else:
            inner = (min(left, key=lambda axis: abs(x.strides[axis])),)
            x = _across(x, *inner)
        left = [axis for axis in left if axis not in inner]
    return x.reshape(kept)[()]


def _nearest(x: Any, axes: Sequence[int]) -> tuple[int, ...]:
    """Return those of some axes along which neighbours in memory lie: NumPy adds along them in pairs."""
    found: list[int] = []
    step = 0
    for axis in sorted(range(x.ndim), key=lambda axis: abs(x.strides[axis]) or math.inf):
        n, stride = x.shape[axis], abs(x.strides[axis])
        if n == 1:
            continue
        if axis not in axes or (found and stride != step):
            break
        found.append(axis)
        step = n * stride
    return tuple(found)


def _across(x: Any, axis: int) -> Any:
    """Return the sum over an axis, which stays with length 1, in groups."""

    def rows(array: Any, start: int, stop: int) -> Any:
        return array[(*(slice(None),) * axis, slice(start, stop))]

    shape = list(x.shape)
    while (length := x.shape[axis]) > GROUP:
        groups = length // GROUP
        shape[axis] = -(-length // GROUP)
        sums = np.empty_like(x, shape=shape)
        whole = rows(x, 0, groups * GROUP).reshape(*shape[:axis], groups, GROUP, *shape[axis + 1 :])
        np.add.reduce(whole, axis=axis + 1, out=rows(sums, 0, groups))
        if groups < shape[axis]:
            rest = rows(x, groups * GROUP, length)
            np.add.reduce(rest, axis=axis, out=rows(sums, groups, groups + 1), keepdims=True)
        x = sums
    return np.add.reduce(x, axis=axis, dtype=x.dtype, keepdims=True)
