"""Kernels: a group of pointwise ops as one loop over arrays.

A kernel takes an array of pointers (what it reads, then what it writes) and the lengths of its three loops. An operand
varies along some of them. A result that does not vary along all is a sum in groups (`primad.ops.blocked.groups`): the
kernel adds to zeros, and every so often moves what it has to those behind, and so on; what is there in the end the
caller adds up. Its text says nothing about sizes, so tiles of any length share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from primad.ir.node import LITERAL, Node, literal_value
from primad.native.emit.pointwise import written
from primad.native.llvm.builder import module
from primad.native.llvm.strided_views import Code
from primad.native.llvm.vectors import CELLS, Vector
from primad.ops.blocked.groups import GROUP

Body = Callable[[str, int | str], None]
"""Writes a vector, at a column: of so many elements, or of those in a mask."""
Columns = Callable[[Body], None]
"""Writes the vectors of a row."""

SUMS = ("rc", "oc", "c")
"""Layouts of sums."""


class Read(Struct, frozen=True):
    """An array that a kernel reads.

    Attributes:
        source: the node that has the array.
        layout: the loops along which it varies (see `primad.native.schedule.iteration_space`).
    """

    source: Node
    layout: str


def kernel_text(
    nodes: Sequence[Node],
    reads: Sequence[Read],
    found: dict[Node, int],
    results: Sequence[tuple[Node, Node, str]],
    dtype: np.dtype[Any],
    columns: int,
) -> str:
    """Write a kernel.

    Args:
        nodes: the ops, in order.
        reads: the arrays that it reads.
        found: for each operand from outside, which read it is.
        results: what is stored: the node, the op whose value it is or sums, and its layout.
        dtype: a type of the size that the group's vectors are for.
        columns: the length of a row; a multiple of the vector's length needs no code for what is left over.
    """
    return _Kernel(nodes, reads, found, results, dtype).text(columns)


class _Kernel:
    """A kernel that is being written; for the arguments see `kernel_text`."""

    def __init__(
        self,
        nodes: Sequence[Node],
        reads: Sequence[Read],
        found: dict[Node, int],
        results: Sequence[tuple[Node, Node, str]],
        dtype: np.dtype[Any],
    ) -> None:
        self.nodes, self.reads, self.found, self.results = nodes, reads, found, results
        self.code = Code()
        self.vector = Vector(self.code, dtype)
        self.dtypes = [node.type.dtype for node in (*(r.source for r in reads), *(r[0] for r in results))]
        self.cells = [CELLS[dtype.str] for dtype in self.dtypes]
        self.layouts = [*(read.layout for read in reads), *(layout for _, _, layout in results)]

    def text(self, columns: int) -> str:
        """Write the loops over the outer index o and the row r, and return the whole text."""
        code, lanes = self.code, self.vector.lanes
        arrays = [code.load("ptr", "%pointers", i) for i in range(len(self.cells))]
        row = self._full if columns % lanes == 0 else self._cut()

        def around(o: str, _: list[str]) -> None:
            code.loop("%rows", lambda r, _: self._row(arrays, o, r, row))

        code.loop("%outer", around)
        code.do("ret void")
        head = "void @KERNEL(ptr %pointers, i64 %outer, i64 %rows, i64 %columns)"
        return module([code.function(head)], code.declared.values())

    def _row(self, arrays: list[str], o: str, r: str, write: Columns) -> None:
        """Write a row: where it begins in each array depends on the loops along which the array varies."""
        code, lanes = self.code, self.vector.lanes
        both = code.emit(f"add i64 {code.emit(f'mul i64 {o}, %rows')}, {r}")
        index = {"or": both, "o": o, "r": r, "": "0"}
        starts = []
        for cell, array, layout in zip(self.cells, arrays, self.layouts, strict=True):
            place = index[layout.removesuffix("c")]
            moved = place if "c" not in layout or place == "0" else code.once(f"mul i64 {place}, %columns")
            starts.append(code.place(cell, array, moved))
        repeated = [
            None if "c" in read.layout else code.read(dtype, start, 0, lanes, lanes)
            for read, dtype, start in zip(self.reads, self.dtypes, starts, strict=False)
        ]
        write(lambda column, part: self._vector(starts, repeated, column, part))
        all_rows = code.once("mul i64 %outer, %rows")
        ways = {"rc": (o, "%outer", "%rows"), "oc": (r, "%rows", "%outer"), "c": (both, all_rows, "1")}
        count = len(self.reads)
        for start, dtype, layout in list(zip(starts, self.dtypes, self.layouts, strict=True))[count:]:
            if layout in SUMS:
                turn, turns, each = ways[layout]
                self._end_groups(start, dtype, (code.once(f"add i64 {turn}, 1"), turns), each, write)

    def _end_groups(self, start: str, dtype: np.dtype[Any], turns: tuple[str, str], rows: str, write: Columns) -> None:
        """Move the sums of groups that have ended, in a row of a sum, to those behind.

        Args:
            start: address of the row.
            dtype: type of the sum.
            turns: how many were added, and how many will be in the end.
            rows: how many rows the sum has.
            write: writes the vectors of a row.
        """
        code, number, cell = self.code, self.vector.of(dtype), CELLS[dtype.str]
        done, most = turns

        def ended(count: str) -> str:
            return code.emit(f"icmp eq i64 {code.emit(f'urem i64 {count}, {GROUP}')}, 0")

        def level(_: str, values: list[str]) -> tuple[list[str], str]:
            below, count = values
            above = code.place(cell, below, code.emit(f"mul i64 {rows}, %columns"))

            def move(column: str, part: int | str) -> None:
                places = [code.place(cell, row, column) for row in (below, above)]
                sums = [code.read(dtype, place, 1, part, number.lanes) for place in places]
                code.write(dtype, places[1], 1, part, number.lanes, number.arithmetic("add", *sums))
                code.write(dtype, places[0], 1, part, number.lanes, number.constant(0))

            write(move)
            groups = code.emit(f"udiv i64 {count}, {GROUP}")
            return [above, groups], ended(groups)

        more = code.emit(f"icmp ult i64 {done}, {most}")
        with code.when(code.emit(f"and i1 {more}, {ended(done)}")):
            code.turns(most, level, [start, done], ["ptr", "i64"])

    def _full(self, body: Body) -> None:
        """Write the vectors of a row that all are full."""
        lanes = self.vector.lanes
        self.code.loop("%columns", lambda k, _: body(k, lanes), step=lanes)

    def _cut(self) -> Columns:
        """Return what writes the vectors of a row of which the last is partly filled, perhaps."""
        code, lanes = self.code, self.vector.lanes
        ramp = ", ".join(f"i64 {i}" for i in range(lanes))
        rest = code.emit(f"and i64 %columns, {lanes - 1}")
        whole = code.emit(f"sub i64 %columns, {rest}")
        some, more = (code.emit(f"icmp ne i64 {count}, 0") for count in (whole, rest))
        kind = f"<{lanes} x i64>"
        one = code.emit(f"insertelement {kind} poison, i64 {rest}, i64 0")
        rests = code.emit(f"shufflevector {kind} {one}, {kind} poison, <{lanes} x i32> zeroinitializer")
        inside = code.emit(f"icmp ult {kind} <{ramp}>, {rests}")

        def write(body: Body) -> None:
            with code.when(some):
                code.loop(whole, lambda k, _: body(k, lanes), step=lanes)
            with code.when(more):
                body(whole, inside)

        return write

    def _vector(self, starts: list[str], repeated: list[str | None], column: str, part: int | str) -> None:
        """Write a vector: all loads, the ops, all stores (a result may lie over an operand that ends here)."""
        code, vector = self.code, self.vector
        count, lanes = len(self.reads), vector.lanes
        places = [
            code.place(cell, start, column) if "c" in layout else start
            for cell, start, layout in zip(self.cells, starts, self.layouts, strict=True)
        ]
        loaded = [
            known or code.read(dtype, place, 1, part, lanes)
            for dtype, place, known in zip(self.dtypes, places, repeated, strict=False)
        ]
        values = self._computed(loaded)
        for i, (_, source, _) in enumerate(self.results):
            dtype, place, kept = self.dtypes[count + i], places[count + i], values[source]
            if self.layouts[count + i] in SUMS:
                before = code.read(dtype, place, 1, part, lanes)
                kept = vector.of(dtype).arithmetic("add", before, kept)
            code.write(dtype, place, 1, part, lanes, kept)

    def _computed(self, loaded: list[str]) -> dict[Node, str]:
        """Write the ops, and return their values."""
        vector = self.vector
        values: dict[Node, str] = {}

        def value(node: Node) -> str:
            if node in self.found:
                return loaded[self.found[node]]
            if node.op is LITERAL:
                constant = literal_value(node)
                return vector.of(node.type.dtype).constant(constant)
            return values[node]

        for node in self.nodes:
            values[node] = written(vector, node, [value(operand) for operand in node.inputs])
        return values
