"""What the elements of an array are that is written to while a function is recorded: plain numbers, or traced values.

A write records nothing: it notes, beside the plain numbers, where each element stands among the traced values that were
written, the *pieces*. What is read is put together from its pieces then, as one concatenation at most. Views are
NumPy's own views of the numbers, so NumPy says what is a view, which elements an index names, and what fits there.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from itertools import zip_longest
from typing import Any

import numpy as np

from primad import ops
from primad.errors import TracingError
from primad.ir.node import Trace
from primad.numpy.inplace.joined_pieces import assembled, flat, part, picked
from primad.numpy.inplace.seen import fresh
from primad.numpy.promotion import as_traced, expand
from primad.numpy.shapes.index_updates import set_at
from primad.numpy.shapes.indexing import getitem
from primad.numpy.shapes.shaping import reshape
from primad.recording.traced_array import TracedArray, settled

Numbers = np.ndarray[Any, Any]
NO_PLACE = -1


class _Memory:
    """Elements in the order of memory, and views of them.

    Attributes:
        trace: the recording that may write.
        numbers: the elements as plain numbers, in the order of memory; those of traced ones mean nothing.
    """

    __slots__ = ("_begin", "numbers", "trace")

    def __init__(self, numbers: Numbers, trace: Trace) -> None:
        self.numbers = numbers
        self.trace = trace
        self._begin = _address(numbers)

    def _is_all(self, view: Numbers, index: Any) -> bool:
        return view is self.numbers and (index is Ellipsis or (isinstance(index, slice) and index == slice(None)))

    def _beside(self, view: Numbers, row: Numbers) -> Numbers:
        """Return the elements of a row, one for each of the memory, that stand where a view's do."""
        if not view.size:
            return np.empty(view.shape, row.dtype)
        strides = [step * row.itemsize for step in self._steps(view)]
        return np.ndarray(view.shape, row.dtype, row, self._start(view) * row.itemsize, strides)

    @property
    def _pitch(self) -> int:
        """Bytes from one element to the next."""
        return self.numbers.itemsize

    def holds(self, view: Numbers) -> bool:
        """Say whether a view that is among the elements starts at one of them."""
        return (_address(view) - self._begin) % self._pitch == 0

    def _start(self, view: Numbers) -> int:
        return (_address(view) - self._begin) // self._pitch

    def _steps(self, view: Numbers) -> list[int]:
        return [step // self._pitch for step in view.strides]


class ArrayMemory(_Memory):
    """What an array and its views share.

    Attributes:
        pieces: the traced values that were written, or joined of such.
        starts: how many elements the pieces before each have together.
        places: for each element, in a row, its place in the pieces one after another; `NO_PLACE` where it is a plain
            number; −2 − place where it is a plain number that stands in a piece as well. None where all elements are
            those of the one piece, in order, or where there is no piece.
    """

    __slots__ = ("pieces", "places", "starts")

    def __init__(self, numbers: Numbers, trace: Trace, piece: TracedArray | None = None) -> None:
        super().__init__(numbers, trace)
        self.pieces: list[TracedArray] = []
        self.starts: list[int] = []
        self.places: Numbers | None = None
        if piece is not None:
            self._refill(piece)

    def _refill(self, *pieces: TracedArray) -> None:
        self.places, self.pieces, self.starts = None, [fresh(piece) for piece in pieces], [0 for _ in pieces]

    # -- writing -------------------------------------------------------------------------------------------------------

    def put(self, view: Numbers, index: Any, piece: TracedArray) -> None:
        """Write a traced value, of the dtype of the elements, at an index of a view."""
        if self._is_all(view, index) and piece.shape == view.shape:
            return self._refill(piece)
        places = self._own_places(view)  # as they are before
        places[index] = self._added(piece)
        return None

    def put_numbers(self, view: Numbers, index: Any, value: Any) -> None:
        """Write plain numbers at an index of a view."""
        view[index] = value
        if self._is_all(view, index):
            self._refill()
        elif self.pieces:
            self._own_places(view)[index] = NO_PLACE

    def _own_places(self, view: Numbers) -> Numbers:
        """Return the places of a view's elements, to be written to."""
        if self.places is None:
            count = self.numbers.size
            self.places = np.arange(count) if self.pieces else np.full(count, NO_PLACE)
        return self._beside(view, self.places)

    def _added(self, piece: TracedArray) -> Numbers:
        """Append a piece and return the places of its elements."""
        start = self.starts[-1] + self.pieces[-1].size if self.pieces else 0
        self.pieces.append(fresh(piece))  # what was written may be written to itself
        self.starts.append(start)
        return np.arange(start, start + piece.size).reshape(piece.shape)

    # -- reading -------------------------------------------------------------------------------------------------------

    def is_plain(self, view: Numbers) -> bool:
        """Say whether the elements of a view are plain numbers."""
        return not self.pieces or (self.places is not None and not (self._beside(view, self.places) >= 0).any())

    def get(self, view: Numbers, index: Any) -> Any:
        """Return elements of a view: a copy of plain numbers, or a traced array if one of them is traced."""
        if self.pieces and is_one_element(view, index):
            return self._element(view, index)
        while self.pieces:
            if self.places is None and is_basic(index):
                shown = view[with_dots(index)]
                found = (
                    part(self.pieces[0], self._start(shown), self._steps(shown), shown.shape) if shown.size else None
                )
                if found is not None:
                    return found
            row = np.arange(self.numbers.size) if self.places is None else self.places
            given = np.asarray(self._beside(view, row)[index])
            if not (given >= 0).any():
                break
            places = _in_pieces(given)
            last = bisect_right(self.starts, int(places.max())) - 1
            if places.min() >= self.starts[last]:
                return picked(self.pieces[last], places - self.starts[last])
            if 2 * given.size < self.numbers.size:
                return self._of_several(view, index, given)
            self._join()
        found = view[index]
        return found.copy() if isinstance(found, np.ndarray) else found

    def _element(self, view: Numbers, index: Any) -> Any:
        """Return an element of a view: a number, or a traced one."""
        place = self._start(view)
        for number, length, step in zip(items(index), view.shape, view.strides, strict=True):
            place += (number + length if number < 0 else number) * (step // self._pitch)
        if self.places is not None:
            place = self.places.item(place)
            if place == NO_PLACE:
                return view[index]
            place = -2 - place if place < NO_PLACE else place
        owner = bisect_right(self.starts, place) - 1
        piece, at = self.pieces[owner], place - self.starts[owner]
        if not piece.shape:
            return piece
        return getitem(piece, at if piece.ndim == 1 else tuple(map(int, np.unravel_index(at, piece.shape))))

    def _of_several(self, view: Numbers, index: Any, given: Numbers) -> TracedArray:
        """Return elements that stand in several pieces; a part of the array that is read is one piece from then on."""
        found = self._assembled(_in_pieces(given), view[index])
        if is_basic(index):
            places = self._added(found)
            self._own_places(view)[index] = np.where(given < 0, -2 - places, places)
        return found

    def _join(self) -> None:
        """Make one piece of all elements."""
        assert self.places is not None
        known = self.places < 0
        self._refill(self._assembled(_in_pieces(self.places).reshape(self.numbers.shape), self.numbers))
        if known.any():
            numbers = np.arange(known.size)
            self.places = np.where(known, -2 - numbers, numbers)

    def _assembled(self, places: Numbers, numbers: Numbers) -> TracedArray:
        """Return elements: those at places in the pieces, and plain numbers where there is none."""
        return assembled(places, self._owners(places), numbers, self.pieces, self.starts)

    def _owners(self, places: Numbers) -> Numbers:
        """Return the number of the piece in which each place is; −1 for none."""
        if places.size < len(self.starts):
            found = [bisect_right(self.starts, place) - 1 for place in places.reshape(-1).tolist()]
            return np.array(found).reshape(places.shape)
        return np.searchsorted(self.starts, places, "right") - 1


class ChosenMemory(_Memory):
    """The elements of an array at an index that only the program knows: a row whose number is traced, as a view.

    Args:
        array: the array, which is read and written whenever this is.
        index: integers, traced ones too, slices, new axes and an ellipsis.
        shape: the shape of the elements.
    """

    __slots__ = ("array", "index")
    pieces = True
    """Its elements are traced values."""

    def __init__(self, array: Any, index: Any, shape: tuple[int, ...]) -> None:
        super().__init__(np.empty(shape, array.dtype), array.memory.trace)
        self.array = array
        self.index = index

    def is_of(self, array: Any, index: Any) -> bool:
        """Say whether these are the elements of an array at an index."""
        pairs = zip_longest(items(self.index), items(index))
        return self.array is array and all(
            a is b or (type(a) is type(b) and not isinstance(a, TracedArray) and a == b) for a, b in pairs
        )

    def is_plain(self, view: Numbers) -> bool:
        """Say no."""
        return False

    def get(self, view: Numbers, index: Any) -> Any:
        """Return what the elements of a view are now."""
        return picked(TracedArray(self.array.node)[self.index], self._places(view, index))

    def put(self, view: Numbers, index: Any, piece: Any) -> None:
        """Write a value at an index of a view."""
        now = TracedArray(self.array.node)[self.index]
        self.array[self.index] = reshape(set_at(flat(now), self._places(view, index), piece), now.shape)

    def put_numbers(self, view: Numbers, index: Any, value: Any) -> None:
        """Write plain numbers at an index of a view."""
        cast = np.empty(view.shape, view.dtype)
        cast[index] = value
        self.put(view, index, cast[index])

    def _places(self, view: Numbers, index: Any) -> Numbers:
        return np.asarray(self._beside(view, np.arange(self.numbers.size))[index])


class PartMemory(_Memory):
    """The real or the imaginary parts of complex elements: they are read and written in these, as NumPy's views do.

    Args:
        whole: the memory of the complex elements.
        imaginary: whether the imaginary parts are meant.
    """

    __slots__ = ("imaginary", "whole")

    def __init__(self, whole: ArrayMemory | ChosenMemory, imaginary: bool) -> None:
        super().__init__(whole.numbers.imag if imaginary else whole.numbers.real, whole.trace)
        self.whole, self.imaginary = whole, imaginary

    @property
    def _pitch(self) -> int:
        return self.whole.numbers.itemsize

    @property
    def pieces(self) -> Any:
        """What was written into the complex elements."""
        return self.whole.pieces

    def _around(self, view: Numbers) -> Numbers:
        """Return the complex elements of which a view has parts."""
        return self._beside(view, self.whole.numbers.reshape(-1))

    def is_plain(self, view: Numbers) -> bool:
        """Say whether the elements of a view are plain numbers."""
        return self.whole.is_plain(self._around(view))

    def get(self, view: Numbers, index: Any) -> Any:
        """Return elements of a view: a copy of plain numbers, or a traced array if one of them is traced."""
        return self._parts(self.whole.get(self._around(view), index))[self.imaginary]

    def put(self, view: Numbers, index: Any, piece: TracedArray) -> None:
        """Write a traced value at an index of a view; the other parts stay."""
        around = self._around(view)
        now = self.whole.get(around, index)
        both = list(self._parts(now))
        both[self.imaginary] = expand(piece, np.shape(now))
        self.whole.put(around, index, ops.complex_of(*both))

    def put_numbers(self, view: Numbers, index: Any, value: Any) -> None:
        """Write plain numbers at an index of a view; the other parts stay."""
        around = self._around(view)
        now = self.whole.get(around, index)
        parts = np.empty(np.shape(now), view.dtype)
        parts[...] = value
        if isinstance(now, TracedArray):
            self.put(view, index, as_traced(parts, now))
            return
        both = np.array(now)
        (both.imag if self.imaginary else both.real)[...] = parts
        self.whole.put_numbers(around, index, both)

    @staticmethod
    def _parts(numbers: Any) -> tuple[Any, Any]:
        if isinstance(numbers, TracedArray):
            return ops.real_part(numbers), ops.imaginary_part(numbers)
        return numbers.real.copy(), numbers.imag.copy()


def _in_pieces(given: Numbers) -> Numbers:
    """Return places in the pieces, also of those elements of which the plain numbers are known."""
    return np.where(given < NO_PLACE, -2 - given, given)


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
                now = np.asarray(now._read("the elements of an index"))[()]
        found.append(now)
    return tuple(found) if isinstance(index, tuple) else found[0]


def is_basic(index: Any) -> bool:
    """Say whether an index is made of integers, slices, new axes and an ellipsis, so that NumPy gives a view."""
    return all(
        item is None or item is Ellipsis or isinstance(item, (slice, np.integer)) or type(item) is int
        for item in items(index)
    )


def is_one_element(view: Numbers, index: Any) -> bool:
    """Say whether an index is a number for each axis of a view."""
    if index.__class__ is int:
        return view.ndim == 1
    return index.__class__ is tuple and len(index) == view.ndim and all(item.__class__ is int for item in index)


def with_dots(index: Any) -> tuple[Any, ...]:
    """Return a basic index that gives a view, also of a single element."""
    given = items(index)
    return given if any(item is Ellipsis for item in given) else (*given, Ellipsis)


def _address(array: Numbers) -> int:
    return int(array.__array_interface__["data"][0])
