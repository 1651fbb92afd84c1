"""Loops over strided arrays of known shapes, as LLVM text, and the loops of pointwise groups.

All sizes are constants of the text: axes that lie behind one another in every array become one, and what is left over
at the end of a row is a partly filled vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.native.vectors import Vector


@dataclass(frozen=True)
class View:
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
    def cell(self) -> str:
        """LLVM's type of an element."""
        return "i8" if self.dtype.kind == "b" else "double" if self.dtype.itemsize == 8 else "float"


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a row-major array."""
    strides: list[int] = []
    step = 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


class Code:
    """The text of a function of addresses that is being written.

    Attributes:
        lines: instructions and labels so far.
        called: declarations of the functions that it calls.
        places: the parameters: the LLVM name of each address, by buffer, offset in it and type of its elements.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.called: dict[str, str] = {}
        self.places: dict[tuple[Any, int, str], str] = {}
        self._count = 0

    def fresh(self) -> int:
        """Return a number that no name has yet."""
        self._count += 1
        return self._count

    def emit(self, code: str) -> str:
        """Write an instruction and return the name of its value."""
        name = f"%t{self.fresh()}"
        self.lines.append(f"  {name} = {code}")
        return name

    def loop(
        self,
        count: int | str,
        body: Callable[[str, list[str]], list[str]],
        carried: Sequence[str] = (),
        type: str = "",
    ) -> list[str]:
        """Write a loop; `body(index, values)` writes one turn and returns the carried values after it."""
        if count == 1:
            return body("0", list(carried))
        k = self.fresh()
        self.lines += [f"  br label %before{k}", f"before{k}:", f"  br label %loop{k}", f"loop{k}:"]
        place = len(self.lines)
        phis = [f"%c{k}.{j}" for j in range(len(carried))]
        after = body(f"%i{k}", phis)
        head = [f"  %i{k} = phi i64 [ 0, %before{k} ], [ %n{k}, %next{k} ]"]
        head += [
            f"  {phi} = phi {type} [ {start}, %before{k} ], [ {value}, %next{k} ]"
            for phi, start, value in zip(phis, carried, after, strict=True)
        ]
        self.lines[place:place] = head
        self.lines += [
            f"  br label %next{k}",
            f"next{k}:",
            f"  %n{k} = add i64 %i{k}, 1",
            f"  %m{k} = icmp ult i64 %n{k}, {count}",
            f"  br i1 %m{k}, label %loop{k}, label %after{k}",
            f"after{k}:",
        ]
        return after

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
                pointer = self.emit(f"getelementptr {view.cell}, ptr {pointer}, i64 {places[stride]}")
            result.append(pointer)
        return result

    def declare(self, result: str, name: str, *operands: str) -> str:
        """Declare a function and return its name."""
        self.called[name] = f"declare {result} @{name}({', '.join(operands)})"
        return f"@{name}"

    def load(self, view: View, pointer: str, stride: int, count: int, lanes: int, filler: str) -> str:
        """Load `count` elements into a vector of `lanes`; `filler` is the vector that gives the other lanes."""
        cell = view.cell
        kind = f"<{lanes} x {cell}>"
        if stride == 0:
            one = self.emit(f"load {cell}, ptr {pointer}, align 1")
            first = self.emit(f"insertelement {kind} poison, {cell} {one}, i64 0")
            return self.emit(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")
        if stride == 1 and count == lanes:
            return self.emit(f"load {kind}, ptr {pointer}, align 1")
        if stride == 1 and count > 1:
            mask = lanes_mask(count, lanes)
            bits = {"i8": "i8", "double": "f64", "float": "f32"}[cell]
            name = self.declare(kind, f"llvm.masked.load.v{lanes}{bits}.p0", "ptr", "i32", f"<{lanes} x i1>", kind)
            return self.emit(f"call {kind} {name}(ptr {pointer}, i32 1, <{lanes} x i1> {mask}, {kind} {filler})")
        value = filler
        for lane in range(count):
            place = self.emit(f"getelementptr {cell}, ptr {pointer}, i64 {lane * stride}")
            one = self.emit(f"load {cell}, ptr {place}, align 1")
            value = self.emit(f"insertelement {kind} {value}, {cell} {one}, i64 {lane}")
        return value

    def store(self, view: View, pointer: str, stride: int, count: int, lanes: int, value: str) -> None:
        """Store the first `count` elements of a vector."""
        cell = view.cell
        kind = f"<{lanes} x {cell}>"
        if stride == 1 and count == lanes:
            self.lines.append(f"  store {kind} {value}, ptr {pointer}, align 1")
        elif stride == 1 and count > 1:
            bits = {"i8": "i8", "double": "f64", "float": "f32"}[cell]
            name = self.declare("void", f"llvm.masked.store.v{lanes}{bits}.p0", kind, "ptr", "i32", f"<{lanes} x i1>")
            mask = f"<{lanes} x i1> {lanes_mask(count, lanes)}"
            self.lines.append(f"  call void {name}({kind} {value}, ptr {pointer}, i32 1, {mask})")
        else:
            for lane in range(count):
                one = self.emit(f"extractelement {kind} {value}, i64 {lane}")
                place = self.emit(f"getelementptr {cell}, ptr {pointer}, i64 {lane * stride}")
                self.lines.append(f"  store {cell} {one}, ptr {place}, align 1")

    def product_sum(self, vector: Vector, factors: Sequence[str], total: str) -> str:
        """Return total + the product of one or two factors, rounded once."""
        type = vector.type
        if len(factors) == 1:
            return self.emit(f"fadd {type} {total}, {factors[0]}")
        suffix = f"v{vector.lanes}f{8 * vector.dtype.itemsize}"
        name = self.declare(type, f"llvm.fma.{suffix}", type, type, type)
        return self.emit(f"call {type} {name}({type} {factors[0]}, {type} {factors[1]}, {type} {total})")


def lanes_mask(count: int, lanes: int) -> str:
    """Return the vector of truth values that is true in the first lanes."""
    return "<" + ", ".join(["i1 true" if lane < count else "i1 false" for lane in range(lanes)]) + ">"


# -- pointwise ---------------------------------------------------------------------------------------------------------


def pointwise(
    code: Code,
    reads: Sequence[View],
    writes: Sequence[View],
    dtype: np.dtype[Any],
    compute: Callable[[Vector, list[str]], list[str]],
) -> None:
    """Write a loop that reads an element of each operand, computes, and writes an element of each result.

    Args:
        code: where to write.
        reads: the operands.
        writes: the results, of the same shape.
        dtype: the float type of the vectors.
        compute: (vector, values of the operands) -> values of the results.
    """
    views = [*reads, *writes]
    axes = merged(
        [(n, *strides) for n, *strides in zip(writes[0].shape, *[view.strides for view in views], strict=True)]
    )
    if any(n == 0 for n, *_ in axes):
        return
    *outer, (length, *steps) = axes or [(1, *[0] * len(views))]
    lanes = Vector(dtype, "").lanes
    count = len(reads)

    def rows(level: int, pointers: list[str]) -> None:
        if level == len(outer):
            row(pointers)
            return
        n, *strides = outer[level]

        def turn(index: str, _: list[str]) -> list[str]:
            rows(level + 1, code.step(views, pointers, index, strides))
            return []

        code.loop(n, turn)

    def row(pointers: list[str]) -> None:
        fixed = [
            code.load(view, pointer, 0, lanes, lanes, "") if step == 0 else None
            for view, pointer, step in zip(reads, pointers, steps, strict=False)
        ]

        def chunk(places: list[str], width: int) -> None:
            loaded = []
            vector = Vector(dtype, f"v{code.fresh()}.")
            for view, place, step, constant in zip(reads, places, steps, fixed, strict=False):
                # Lanes outside get a harmless value: 0 would send log into its slow path.
                filler = vector.constant(0.5) if view.cell != "i8" else "zeroinitializer"
                value = constant or code.load(view, place, step, width, lanes, filler)
                if view.cell == "i8":
                    value = code.emit(f"icmp ne <{lanes} x i8> {value}, zeroinitializer")
                loaded.append(value)
            results = compute(vector, loaded)
            code.lines += vector.lines
            code.called.update(vector.called)
            for view, place, step, value in zip(writes, places[count:], steps[count:], results, strict=True):
                if view.cell == "i8":
                    value = code.emit(f"zext <{lanes} x i1> {value} to <{lanes} x i8>")
                code.store(view, place, step, width, lanes, value)

        whole, rest = divmod(length, lanes)
        far = [lanes * step for step in steps]

        def turn(index: str, _: list[str]) -> list[str]:
            chunk(code.step(views, pointers, index, far), lanes)
            return []

        if whole:
            code.loop(whole, turn)
        if rest:
            chunk(code.step(views, pointers, str(whole), far) if whole else pointers, rest)

    rows(0, [code.start(view) for view in views])


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
