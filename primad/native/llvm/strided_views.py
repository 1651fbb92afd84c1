"""Loops over strided arrays of known shapes, as LLVM text.

All sizes are constants of the text: axes that lie behind one another in every array become one, and what is left over
at the end of a row is a partly filled vector.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from msgspec import Struct

from primad.native.llvm.builder import Builder
from primad.native.llvm.vectors import BOOL, CELLS, MANGLED, filled
from primad.system.machine import CORE


class View(Struct, frozen=True, dict=True):
    """Where the elements of a value lie.

    Attributes:
        buffer: what they lie in; a part of the keys of `Code.places`.
        offset: place of the first element, counted in elements.
        shape: lengths of the axes.
        strides: steps along the axes, counted in elements.
        dtype: dtype of the elements.
    """

    buffer: Any
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    @cached_property
    def cell(self) -> str:
        """LLVM's type of an element."""
        return CELLS[self.dtype.str]


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a row-major array."""
    strides: list[int] = []
    step = 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def row_major(shape: tuple[int, ...], dtype: np.dtype[Any], buffer: Any = None, offset: int = 0) -> View:
    """Return where the elements of an array lie, one behind another."""
    return View(buffer, offset, shape, contiguous(shape), dtype)


def counter_of(shape: tuple[int, ...]) -> View:
    """Return an imagined array, of bytes and at the address 0, in which the address of an element is its number."""
    return row_major(shape, np.dtype(np.int8))


class Code(Builder):
    """The text of a function of addresses that is being written: a builder that knows arrays.

    Attributes:
        places: the parameters: the LLVM name of each address, by buffer, offset in it and type of its elements.
    """

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[tuple[Any, int, str], str] = {}

    def start(self, view: View) -> str:
        """Return the address of a view's first element."""
        return self.places.setdefault((view.buffer, view.offset, view.cell), f"%p{len(self.places)}")

    def step(self, views: Sequence[View], pointers: Sequence[str], index: str, strides: Sequence[int]) -> list[str]:
        """Return addresses moved by `index` steps along an axis."""
        places: dict[int, str] = {}
        result = []
        for view, pointer, stride in zip(views, pointers, strides, strict=True):
            if stride and index != "0":
                if stride not in places:
                    known = str(int(index) * stride) if index.isdigit() else None
                    places[stride] = known or (index if stride == 1 else self.emit(f"mul i64 {index}, {stride}"))
                pointer = self.place(view.cell, pointer, places[stride])
            result.append(pointer)
        return result

    def over(
        self,
        views: Sequence[View],
        pointers: Sequence[str],
        axes: Sequence[tuple[int, ...]],
        body: Callable[[list[str]], None],
    ) -> None:
        """Write nested loops along axes (length, steps of the views), in which the addresses move along."""
        if not axes:
            body(list(pointers))
            return
        (n, *steps), *rest = axes
        self.loop(n, lambda index, _: self.over(views, self.step(views, pointers, index, steps), rest, body))

    # -- elements of memory --------------------------------------------------------------------------------------------

    def load_lanes(
        self, cell: str, pointer: str, stride: int, part: int | str, lanes: int, filler: str, pieces: bool = False
    ) -> str:
        """Load elements into a vector.

        Args:
            cell: type of an element.
            pointer: where the first one lies.
            stride: elements from one to the next; 0 repeats the first one in all lanes.
            part: how many there are, or, of neighbours, a mask that says in which lanes.
            lanes: elements of the vector.
            filler: the vector that gives the other lanes.
            pieces: whether neighbours are loaded by pieces however many there are, and not by a mask.
        """
        kind = f"<{lanes} x {cell}>"
        if stride == 0:
            one = self.emit(f"load {cell}, ptr {pointer}, align 1")
            first = self.emit(f"insertelement {kind} poison, {cell} {one}, i64 0")
            return self.emit(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")
        if stride == 1 and part == lanes:
            return self.emit(f"load {kind}, ptr {pointer}, align 1")
        if stride == 1 and isinstance(part, int) and (pieces or _in_few_pieces(cell, part, lanes)):
            return self._load_pieces(cell, pointer, part, lanes, filler)
        if stride == 1 and part != 1:
            mask = (f"<{lanes} x i1>", part if isinstance(part, str) else lanes_mask(part, lanes))
            name = f"llvm.masked.load.v{lanes}{MANGLED[cell]}.p0"
            return self.call(kind, name, ("ptr", pointer), ("i32", "1"), mask, (kind, filler))
        assert isinstance(part, int)
        if part == lanes >= CORE.picked_lanes and 1 < stride <= CORE.picked_apart:
            return self._load_spread(cell, pointer, stride, lanes)
        value = filler
        for lane in range(part):
            one = self.emit(f"load {cell}, ptr {self.place(cell, pointer, lane * stride)}, align 1")
            value = self.emit(f"insertelement {kind} {value}, {cell} {one}, i64 {lane}")
        return value

    def store_lanes(
        self, cell: str, pointer: str, stride: int, part: int | str, lanes: int, value: str, pieces: bool = False
    ) -> None:
        """Store the elements of a vector: the first ones, or of neighbours those that a mask says; see `load_lanes`."""
        kind = f"<{lanes} x {cell}>"
        if stride == 1 and part == lanes:
            self.do(f"store {kind} {value}, ptr {pointer}, align 1")
        elif stride == 1 and isinstance(part, int) and (pieces or _in_few_pieces(cell, part, lanes)):
            self._store_pieces(cell, pointer, part, lanes, value)
        elif stride == 1 and part != 1:
            mask = (f"<{lanes} x i1>", part if isinstance(part, str) else lanes_mask(part, lanes))
            name = f"llvm.masked.store.v{lanes}{MANGLED[cell]}.p0"
            self.run(name, (kind, value), ("ptr", pointer), ("i32", "1"), mask)
        else:
            assert isinstance(part, int)
            for lane in range(part):
                one = self.emit(f"extractelement {kind} {value}, i64 {lane}")
                self.do(f"store {cell} {one}, ptr {self.place(cell, pointer, lane * stride)}, align 1")

    def scatter(self, cell: str, pointer: str, stride: int, lanes: int, value: str) -> None:
        """Store the elements of a vector some elements apart, by one instruction where the processor has it."""
        steps = ", ".join([f"i64 {lane * stride}" for lane in range(lanes)])
        places = self.emit(f"getelementptr {cell}, ptr {pointer}, <{lanes} x i64> <{steps}>")
        mask = (f"<{lanes} x i1>", lanes_mask(lanes, lanes))
        name = f"llvm.masked.scatter.v{lanes}{MANGLED[cell]}.v{lanes}p0"
        self.run(name, (f"<{lanes} x {cell}>", value), (f"<{lanes} x ptr>", places), ("i32", "1"), mask)

    def read_in_turn(self, cell: str, pointer: str, lanes: int, count: int) -> list[str]:
        """Load the elements of some vectors that lie in turn."""
        kind = f"<{lanes} x {cell}>"
        parts = [
            self.emit(f"load {kind}, ptr {self.place(cell, pointer, start)}, align 1")
            for start in range(0, count * lanes, lanes)
        ]
        return [
            self.gathered(kind, parts, [divmod(count * lane + k, lanes) for lane in range(lanes)]) for k in range(count)
        ]

    def write_in_turn(self, cell: str, pointer: str, lanes: int, values: Sequence[str]) -> None:
        """Store the elements of some vectors in turn."""
        kind, count = f"<{lanes} x {cell}>", len(values)
        for start in range(0, count * lanes, lanes):
            places = [divmod(start + lane, count) for lane in range(lanes)]
            part = self.gathered(kind, values, [(k, lane) for lane, k in places])
            self.do(f"store {kind} {part}, ptr {self.place(cell, pointer, start)}, align 1")

    def read(
        self, dtype: np.dtype[Any], pointer: str, stride: int, part: int | str, lanes: int, pieces: bool = False
    ) -> str:
        """Load elements to compute with: truth values as such, and in the lanes outside what does no harm."""
        filler = filled(dtype, lanes, HARMLESS[dtype.kind])
        cell = CELLS[dtype.str]
        value = self.load_lanes(cell, pointer, stride, part, lanes, filler, pieces)
        return self.emit(f"icmp ne <{lanes} x i8> {value}, zeroinitializer") if dtype == BOOL else value

    def write(
        self,
        dtype: np.dtype[Any],
        pointer: str,
        stride: int,
        part: int | str,
        lanes: int,
        value: str,
        pieces: bool = False,
    ) -> None:
        """Store elements that were computed."""
        if dtype == BOOL:
            value = self.emit(f"zext <{lanes} x i1> {value} to <{lanes} x i8>")
        cell = CELLS[dtype.str]
        self.store_lanes(cell, pointer, stride, part, lanes, value, pieces)

    def _load_pieces(self, cell: str, pointer: str, part: int, lanes: int, value: str) -> str:
        """Load neighbours by pieces into the first lanes of a vector.

        What a masked store writes can only be read after it has reached the cache, on some processors; so short rows
        that are read and written in turn, as a sum at indices does, take many times as long by masks.
        """
        kind = f"<{lanes} x {cell}>"
        for start, size in _pieces(part):
            piece = self.emit(f"load <{size} x {cell}>, ptr {self.place(cell, pointer, start)}, align 1")
            # a lane that is named twice has LLVM 22 read another one for it, where a choice follows
            wide = self.picked(f"<{size} x {cell}>", piece, "poison", [i if i < size else None for i in range(lanes)])
            order = [lanes + lane - start if start <= lane < start + size else lane for lane in range(lanes)]
            value = self.picked(kind, value, wide, order)
        return value

    def _load_spread(self, cell: str, pointer: str, stride: int, lanes: int) -> str:
        """Load elements a few apart, out of whole vectors that hold them and what lies between; nothing behind them."""
        kind, end = f"<{lanes} x {cell}>", (lanes - 1) * stride + 1
        starts = [min(start, end - lanes) for start in range(0, end, lanes)]
        parts = [self.emit(f"load {kind}, ptr {self.place(cell, pointer, start)}, align 1") for start in starts]
        places = [(lane * stride // lanes, lane * stride) for lane in range(lanes)]
        return self.gathered(kind, parts, [(k, place - starts[k]) for k, place in places])

    def _store_pieces(self, cell: str, pointer: str, part: int, lanes: int, value: str) -> None:
        """Store the first lanes of a vector by pieces."""
        for start, size in _pieces(part):
            piece = self.picked(f"<{lanes} x {cell}>", value, "poison", range(start, start + size))
            self.do(f"store <{size} x {cell}> {piece}, ptr {self.place(cell, pointer, start)}, align 1")


def _pieces(part: int) -> list[tuple[int, int]]:
    """Return starts and lengths, powers of two, of the pieces of a vector's first lanes."""
    sizes = [1 << bit for bit in reversed(range(part.bit_length())) if part >> bit & 1]
    return list(zip(accumulate(sizes, initial=0), sizes, strict=False))


def _in_few_pieces(cell: str, part: int, lanes: int) -> bool:
    """Say whether the first lanes of a vector are moved in less time by pieces than by a mask.

    A masked access takes as much of the memory as the whole vector: rows of a few numbers lie across two cache lines
    mostly, and are not read before they have reached the cache. Bytes have no such pieces in registers.
    """
    return 1 < part <= lanes // 2 and len(_pieces(part)) <= CORE.pieces and cell != CELLS[BOOL.str]


HARMLESS = {"f": 0.5, "i": 1, "u": 1, "b": 1}
"""What lanes outside of an array compute with, by the kind of their type: 0 would send log into its slow path, and be a
divisor."""


def lanes_mask(count: int, lanes: int) -> str:
    """Return the vector of truth values that is true in the first lanes."""
    return "<" + ", ".join(["i1 true" if lane < count else "i1 false" for lane in range(lanes)]) + ">"


def offsets(starts: Sequence[int], axes: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Yield the places that nested loops along axes (length, steps) come by, from where they start in each array."""
    for index in np.ndindex(*[n for n, *_ in axes]):
        moves = [[i * step for step in steps] for i, (_, *steps) in zip(index, axes, strict=True)]
        yield tuple(map(sum, zip(starts, *moves, strict=True)))


def merged(axes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Drop axes of length 1 and join axes that lie behind one another in every array."""
    result: list[tuple[int, ...]] = []
    for n, *strides in axes:
        if n == 1:
            continue
        if result:
            m, *before = result[-1]
            if all(a == b * n for a, b in zip(before, strides, strict=True)):
                result[-1] = (m * n, *strides)
                continue
        result.append((n, *strides))
    return result
