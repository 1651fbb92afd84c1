"""Sums and extrema of large arrays, in pieces that threads may share, and in long loops."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from primad.ops.blocked.groups import sum_along
from primad.ops.blocked.pieces import MOST_CHUNKS, Each, in_order
from primad.system.machine import LOOP_ELEMENTS, STREAMED_BYTES

LEFT_SHARE = 8
"""Times what pieces, or rows side by side, leave to be added up that they must take, at least. Estimated: what is left
is small beside it, in time and in memory. The last bits of sums depend on it."""


def reduction(both: np.ufunc, x: Any, *, axes: tuple[int, ...], each: Each = in_order) -> Any:
    """Return what is left of an array when a function of two elements has gone along axes.

    Args:
        both: np.add, np.maximum or np.minimum.
        x: an array.
        axes: those that are gone after it.
        each: how pieces are shared; results do not depend on it.
    """
    x = np.asarray(x)
    pieces = min(MOST_CHUNKS, x.nbytes // STREAMED_BYTES)
    if pieces < 2 or 0 not in axes or len(x) < LEFT_SHARE * pieces:
        return _at_once(both, x, axes)

    def piece(number: int) -> Any:
        return _at_once(both, x[number * len(x) // pieces : (number + 1) * len(x) // pieces], axes)

    return reduce(both, each(piece, pieces))


def _at_once(both: np.ufunc, x: Any, axes: tuple[int, ...]) -> Any:
    if x.size >= LEFT_SHARE * LOOP_ELEMENTS and _has_short_rows(x, axes):
        return _side_by_side(both, x, len(axes))
    return _along(both, x, axes)


def _along(both: np.ufunc, x: Any, axes: tuple[int, ...]) -> Any:
    return sum_along(x, axes) if both is np.add else both.reduce(x, axis=axes, dtype=x.dtype)


def _has_short_rows(x: Any, axes: tuple[int, ...]) -> bool:
    """Say whether the first axes are those that go, and few elements lie behind them."""
    return (
        {*axes} == {*range(len(axes))} and 1 < math.prod(x.shape[len(axes) :]) < LOOP_ELEMENTS and x.flags.c_contiguous
    )


def _side_by_side(both: np.ufunc, x: Any, gone: int) -> Any:
    """Go along the first axes of an array, many rows in one loop."""
    rest = x.shape[gone:]
    rows = x.reshape((-1, math.prod(rest)))
    side = LOOP_ELEMENTS // rows.shape[1]
    even = len(rows) // side * side
    wide = rows[:even].reshape((-1, side, rows.shape[1]))
    parts = [_along(both, _along(both, wide, (0,)), (0,))] if even else []
    parts += [_along(both, rows[even:], (0,))] if even < len(rows) else []
    return reduce(both, parts).reshape(rest)
