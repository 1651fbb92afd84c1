"""What the elements of an array are that is written to while a function is recorded: plain numbers, or traced values.

A write records nothing: it notes, beside the plain numbers, where each element stands among the traced values that were
written, the *pieces*. What is read is put together from its pieces then, as one concatenation at most. Views are
NumPy's own views of the numbers, so NumPy says what is a view, which elements an index names, and what fits there.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from primad.errors import TracingError
from primad.ir.node import Trace
from primad.numpy.indexing import getitem, set_at
from primad.numpy.promotion import expand
from primad.numpy.shaping import concatenate, reshape, transpose
from primad.trace import TracedArray, settled

Numbers = np.ndarray[Any, Any]
NO_PLACE = -1


class ArrayMemory:
    """What an array and its views share.

    Attributes:
        trace: the recording that may write.
        numbers: the elements as plain numbers, in the order of memory; those of traced ones mean nothing.
        pieces: the traced values that were written.
        starts: how many elements the pieces before each have together.
        places: for each element, in a row, its place in the pieces one after another; `NO_PLACE` where it is a plain
            number; −2 − place where it is a plain number that stands in a piece as well. None where all elements are
            those of the one piece, in order, or where there is no piece.
    """

    __slots__ = ("numbers", "pieces", "places", "starts", "trace")

    def __init__(self, numbers: Numbers, trace: Trace, piece: TracedArray | None = None) -> None:
        self.numbers = numbers
        self.trace = trace
        self.pieces: list[TracedArray] = []
        self.starts: list[int] = []
        self.places: Numbers | None = None
        if piece is not None:
            self._refill(piece)

    def _refill(self, *pieces: TracedArray) -> None:
        self.places, self.pieces, self.starts = None, [*pieces], [0 for _ in pieces]

    # -- writing -------------------------------------------------------------------------------------------------------

    def put(self, view: Numbers, index: Any, piece: TracedArray) -> None:
        """Write a traced value, of the dtype of the elements, at an index of a view."""
        if self._is_all(view, index) and piece.shape == view.shape:
            return self._refill(piece)
        start = self.starts[-1] + self.pieces[-1].size if self.pieces else 0
        self._own_places(view)[index] = start + np.arange(piece.size).reshape(piece.shape)
        self.pieces.append(piece)
        self.starts.append(start)
        return None

    def put_numbers(self, view: Numbers, index: Any, value: Any) -> None:
        """Write plain numbers at an index of a view."""
        view[index] = value
        if self._is_all(view, index):
            self._refill()
        elif self.pieces:
            self._own_places(view)[index] = NO_PLACE

    def _is_all(self, view: Numbers, index: Any) -> bool:
        return view is self.numbers and (index is Ellipsis or (isinstance(index, slice) and index == slice(None)))

    def _own_places(self, view: Numbers) -> Numbers:
        """Return the places of a view's elements, to be written to."""
        if self.places is None:
            count = self.numbers.size
            self.places = np.arange(count) if self.pieces else np.full(count, NO_PLACE)
        return self._beside(view, self.places)

    def _beside(self, view: Numbers, row: Numbers) -> Numbers:
        """Return the elements of a row, one for each of the memory, that stand where a view's do."""
        if not view.size:
            return np.empty(view.shape, row.dtype)
        strides = [step * row.itemsize for step in self._steps(view)]
        return np.ndarray(view.shape, row.dtype, row, self._start(view) * row.itemsize, strides)

    def _start(self, view: Numbers) -> int:
        return int(_address(view) - _address(self.numbers)) // view.itemsize

    def _steps(self, view: Numbers) -> list[int]:
        return [step // view.itemsize for step in view.strides]

    # -- reading -------------------------------------------------------------------------------------------------------

    def get(self, view: Numbers, index: Any) -> Any:
        """Return elements of a view: a copy of plain numbers, or a traced array if one of them is traced."""
        while self.pieces:
            if self.places is None and is_basic(index):
                part = view[with_dots(index)]
                found = _part(self.pieces[0], self._start(part), self._steps(part), part.shape) if part.size else None
                if found is not None:
                    return found
            row = np.arange(self.numbers.size) if self.places is None else self.places
            places = np.asarray(self._beside(view, row)[index])
            if not (places >= 0).any():
                break
            places = np.where(places < NO_PLACE, -2 - places, places)
            last = bisect_right(self.starts, int(places.max())) - 1
            if places.min() >= self.starts[last]:
                return _picked(self.pieces[last], places - self.starts[last])
            self._join()
        found = view[index]
        return found.copy() if isinstance(found, np.ndarray) else found

    def _join(self) -> None:
        """Make one piece of all elements."""
        assert self.places is not None
        places = np.where(self.places < NO_PLACE, -2 - self.places, self.places)
        owner = np.searchsorted(self.starts, places, "right") - 1  # -1: none
        follows = (owner[1:] == owner[:-1]) & ((owner[1:] < 0) | (np.diff(places) == 1))
        cuts = [0, *(1 + np.flatnonzero(~follows)), places.size]
        used = np.unique(owner)
        row = self.numbers.reshape(-1)
        if len(cuts) <= 2 * len(used) + 2:  # pieces stand in a row, or nearly
            parts = []
            for begin, end in pairwise(cuts):
                piece = owner[begin]
                at = places[begin] - self.starts[piece]
                parts.append(row[begin:end] if piece < 0 else _flat(self.pieces[piece])[at : at + end - begin])
            whole = concatenate(parts)
        else:
            parts = [_flat(self.pieces[piece]) for piece in used if piece >= 0]
            sizes = [part.size for part in parts]
            at = np.empty(places.size, int)
            for piece, begin in zip([k for k in used if k >= 0], np.cumsum([0, *sizes[:-1]]), strict=True):
                at[owner == piece] = places[owner == piece] - self.starts[piece] + begin
            plain = owner < 0
            at[plain] = sum(sizes) + np.arange(plain.sum())
            whole = getitem(concatenate([*parts, row[plain]]), at)
        known = self.places < 0
        self._refill(reshape(whole, self.numbers.shape))
        if known.any():
            numbers = np.arange(known.size)
            self.places = np.where(known, -2 - numbers, numbers)


def items(index: Any) -> tuple[Any, ...]:
    """Return the items of an index."""
    return index if isinstance(index, tuple) else (index,)


def known(index: Any) -> Any:
    """Return an index with plain numbers for what is known of it."""
    found = []
    for item in items(index):
        now = settled(item)
        if type(now) is TracedArray and now.dtype.kind in "biu":
            with suppress(TracingError):  # where it is not known it stays traced
                now = np.asarray(now._value("the elements of an index"))[()]
        found.append(now)
    return tuple(found) if isinstance(index, tuple) else found[0]


def updated(now: TracedArray, index: Any, value: Any) -> Any:
    """Return an array with a value at an index of which not all is known."""
    if isinstance(index, TracedArray) and index.dtype.kind == "b" and np.ndim(value) == 0:
        mask = index.reshape(index.shape + (1,) * (now.ndim - index.ndim))
        return np.where(mask, value, now)
    return set_at(now, index, value)


def is_basic(index: Any) -> bool:
    """Say whether an index is made of integers, slices, new axes and an ellipsis, so that NumPy gives a view."""
    return all(
        item is None or item is Ellipsis or isinstance(item, (slice, np.integer)) or type(item) is int
        for item in items(index)
    )


def with_dots(index: Any) -> tuple[Any, ...]:
    """Return a basic index that gives a view, also of a single element."""
    given = items(index)
    return given if any(item is Ellipsis for item in given) else (*given, Ellipsis)


def _address(array: Numbers) -> int:
    return int(array.__array_interface__["data"][0])


def _flat(piece: TracedArray) -> Any:
    return piece if piece.ndim == 1 else reshape(piece, (piece.size,))


def _picked(piece: TracedArray, at: Numbers) -> Any:
    """Return the elements of a piece at places in its row."""
    start = int(at.flat[0])
    steps = [int(at.take(1, axis).flat[0]) - start if n > 1 else 0 for axis, n in enumerate(at.shape)]
    even = start + sum(
        (np.arange(n) * step).reshape((-1,) + (1,) * (at.ndim - axis - 1))
        for axis, (n, step) in enumerate(zip(at.shape, steps, strict=True))
    )
    found = _part(piece, start, steps, at.shape) if np.array_equal(even, at) else None
    return getitem(_flat(piece), at) if found is None else found


def _part(piece: TracedArray, start: int, steps: list[int], shape: tuple[int, ...]) -> TracedArray | None:
    """Return the elements of a piece that start at a place of its row and go on by steps; None if no slices do that."""
    own = piece.shape
    strides = [math.prod(own[axis + 1 :]) for axis in range(len(own))]
    if shape == own and start == 0 and all(n == 1 or a == b for n, a, b in zip(own, steps, strides, strict=True)):
        return piece
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
    found = getitem(piece, tuple(index))
    rest = [axis for axis in range(len(own)) if axis not in order]
    return expand(reshape(transpose(found, [*order, *rest]), once), shape)
