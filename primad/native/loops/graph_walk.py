"""Functions in machine code that walk along lists of neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.native.llvm.builder import Builder, module

Array = np.ndarray[Any, Any]
Neighbours = tuple[Array, Array]
"""Where the neighbours of each vertex begin, and the last's end; and the neighbours of all."""
UNBOUNDED = str(np.iinfo(np.int64).max)
"""Turns of a loop that ends by itself, at most, as LLVM writes them."""


def walked(host: Any, text: str, count: int, arrays: Sequence[Array]) -> None:
    """Call a function with a table of the addresses of arrays of whole numbers, into some of which it writes.

    Args:
        host: the compiler.
        text: of the function.
        count: of vertices.
        arrays: of 64 bits each, without gaps.
    """
    table = np.array([x.ctypes.data for x in arrays], np.int64)
    if count:
        (kernel,) = host.kernels([text])
        kernel.function(table.ctypes.data, count, 0, 0)


def as_whole_numbers(*lists: Neighbours) -> list[Array]:
    """Return arrays as `walked` takes them."""
    return [np.ascontiguousarray(x, np.int64) for pair in lists for x in pair]


class GraphWalk(Builder):
    """A function that walks along lists of neighbours."""

    def addresses(self, count: int) -> list[str]:
        """Return the addresses of the arrays of the table."""
        return [self.load("ptr", "%table", i) for i in range(count)]

    def at(self, array: str, index: str) -> str:
        """Return an element of an array."""
        return self.load("i64", array, index)

    def put(self, array: str, index: str, value: str) -> None:
        """Write an element of an array."""
        self.store("i64", value, self.place("i64", array, index))

    def each(self, lists: tuple[str, str], of: str, body: Callable[[str], None]) -> None:
        """Write what is done for each neighbour of a vertex."""
        starts, items = lists
        self.each_place(starts, of, lambda place: body(self.at(items, place)))

    def each_place(self, starts: str, of: str, body: Callable[[str], None]) -> None:
        """Write what is done for each place in the list of a vertex."""
        start = self.at(starts, of)
        end = self.at(starts, self.emit(f"add i64 {of}, 1"))
        with self.when(self.emit(f"icmp ult i64 {start}, {end}")):
            self.loop(end, lambda i, _: body(i), start=start)

    def finished(self) -> str:
        """Return the text."""
        self.do("ret void")
        head = "void @KERNEL(ptr %table, i64 %count, i64 %unused, i64 %last)"
        return module([self.function(head)], self.declared.values())
