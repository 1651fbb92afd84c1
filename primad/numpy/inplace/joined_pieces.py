"""Elements of several traced values, the *pieces*, as one array: slices, blocks side by side, or what is gathered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from primad.numpy.promotion import expand
from primad.numpy.shapes.indexing import getitem
from primad.numpy.shapes.shaping import concatenate, reshape, transpose
from primad.recording.traced_array import TracedArray
from primad.system.deferred import distinct

Numbers = np.ndarray[Any, Any]
MOST_PARTS = 4096
"""Parts of arrays of which it is remembered by which slices they are shown. Chosen: half a kilobyte each."""


def assembled(
    places: Numbers, owner: Numbers, numbers: Numbers, pieces: Sequence[TracedArray], starts: Sequence[int]
) -> TracedArray:
    """Return elements as one array.

    Where the elements of the pieces follow each other in a row, rows are joined; where each piece has a box of an array
    of several axes, as the interior of a grid is, boxes are; other elements are gathered.

    Args:
        places: where each stands in the pieces, one after another.
        owner: the number of the piece in which that is; −1 for plain numbers.
        numbers: the elements that are plain numbers.
        pieces: the traced values.
        starts: how many elements the pieces before each have together.
    """
    shape, order = places.shape, None
    row, at, of = numbers.reshape(-1), places.reshape(-1), owner.reshape(-1)
    follows = (of[1:] == of[:-1]) & ((of[1:] < 0) | (np.diff(at) == 1))
    few = 2 * len(distinct(of))
    if np.count_nonzero(~follows) > few:  # they do not stand in a row, nor nearly
        boxes = _JoinedBoxes(pieces, starts, len(shape) * few)
        joined: TracedArray | None = boxes.joined(places, owner, numbers)
        if joined is not None:
            return joined
        order = np.lexsort((at, of))
        at, of, row = at[order], of[order], row[order]
        follows = of[1:] == of[:-1]
    parts = []
    for begin, end in pairwise([0, *(1 + np.flatnonzero(~follows)), at.size]):
        piece = of[begin]
        if piece < 0:
            parts.append(row[begin:end])
        else:
            parts.append(picked(pieces[piece], at[begin:end] - starts[piece]))
    whole = concatenate(parts)
    found: TracedArray = reshape(whole if order is None else getitem(whole, np.argsort(order)), shape)
    return found


class _JoinedBoxes:
    """Arrays as boxes side by side, each of one piece.

    Args:
        pieces: the traced values.
        starts: how many elements the pieces before each have together.
        most: boxes, above which the elements had better be gathered: a box inside of another leaves two for each axis.
    """

    def __init__(self, pieces: Sequence[TracedArray], starts: Sequence[int], most: int) -> None:
        self._pieces, self._starts, self._left = pieces, starts, most

    def joined(self, places: Numbers, owner: Numbers, numbers: Numbers) -> Any:
        """Return elements as boxes that are joined along one axis after another; None if they are no few boxes."""
        first = int(owner.flat[0])
        if (owner == first).all():
            self._left -= 1
            if self._left < 0:
                return None
            return numbers if first < 0 else _shown(self._pieces[first], places - self._starts[first])
        for axis in range(owner.ndim):
            lines = np.moveaxis(owner, axis, 0)
            cuts = 1 + np.flatnonzero((lines[1:] != lines[:-1]).any(axis=tuple(range(1, owner.ndim))))
            if not cuts.size or cuts.size >= self._left:
                continue
            found = []
            for box in zip(*(np.split(each, cuts, axis) for each in (places, owner, numbers)), strict=True):
                found.append(self.joined(*box))
                if found[-1] is None:
                    return None
            return concatenate(found, axis=axis)
        return None


def flat(piece: TracedArray) -> Any:
    """Return the elements of a piece in a row."""
    return piece if piece.ndim == 1 else reshape(piece, (piece.size,))


def picked(piece: TracedArray, at: Numbers) -> Any:
    """Return the elements of a piece at places in its row."""
    if not at.shape:
        return getitem(piece, tuple([int(i) for i in np.unravel_index(int(at), piece.shape)]))
    if at.size:
        found = _shown(piece, at)
        if found is not None:
            return found
    return getitem(flat(piece), at)


def _shown(piece: TracedArray, at: Numbers) -> TracedArray | None:
    """Return the elements of a piece at places in its row, as slices; None if no slices show them."""
    start = int(at.flat[0])
    steps = [int(at.take(1, axis).flat[0]) - start if n > 1 else 0 for axis, n in enumerate(at.shape)]
    even = start + sum(
        (np.arange(n) * step).reshape((-1,) + (1,) * (at.ndim - axis - 1))
        for axis, (n, step) in enumerate(zip(at.shape, steps, strict=True))
    )
    if np.array_equal(even, at):
        for elements in (piece, flat(piece)):
            found = part(elements, start, steps, at.shape)
            if found is not None:
                return found
    return None


def part(piece: TracedArray, start: int, steps: list[int], shape: tuple[int, ...]) -> TracedArray | None:
    """Return the elements of a piece that start at a place of its row and go on by steps; None if no slices do that."""
    found = _slices(piece.shape, start, tuple(steps), shape)
    if found is None:
        return None
    index, order, once = found
    shown = getitem(piece, index) if index else piece
    shown = transpose(shown, order) if order else shown
    return expand(shown if shown.shape == once else reshape(shown, once), shape)


@lru_cache(maxsize=MOST_PARTS)
def _slices(
    own: tuple[int, ...], start: int, steps: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[tuple[slice, ...], list[int], tuple[int, ...]] | None:
    """Return which slices show a part (see `part`), how its axes are exchanged, and its shape before it repeats."""
    strides = [math.prod(own[axis + 1 :]) for axis in range(len(own))]
    if shape == own and start == 0 and all(n == 1 or a == b for n, a, b in zip(own, steps, strides, strict=True)):
        return (), [], own
    begin = [int(number) for number in np.unravel_index(start, own)] if own else []
    index: list[Any] = [slice(number, number + 1) for number in begin]
    order: list[int] = []
    once = tuple([1 if step == 0 else n for n, step in zip(shape, steps, strict=True)])
    for n, step in zip(once, steps, strict=True):
        if n == 1:
            continue
        axis = next((a for a, stride in enumerate(strides) if own[a] > 1 and stride <= abs(step)), -1)
        if axis < 0 or axis in order or step % strides[axis]:
            return None
        by = step // strides[axis]
        end = begin[axis] + by * (n - 1)
        if not 0 <= end < own[axis]:
            return None
        index[axis] = slice(begin[axis], end + by if end + by >= 0 else None, by)
        order.append(axis)
    turned = order != sorted(order)  # the other axes have length 1
    rest = [axis for axis in range(len(own)) if axis not in order]
    return tuple(index), [*order, *rest] if turned else [], once
