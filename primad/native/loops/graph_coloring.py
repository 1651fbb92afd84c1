"""Colours of the vertices of graphs, one vertex after the other, each the first that it may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.native.llvm.builder import Builder, module
from primad.native.llvm.compiler import compiler

Array = np.ndarray[Any, Any]
Neighbours = tuple[Array, Array]
"""Where the neighbours of each vertex begin, and the last's end; and the neighbours of all."""


def first_colors(groups: Neighbours, members: Neighbours) -> Array:
    """Return colours from 1 on, of which no two members of a group have the same.

    Args:
        groups: of each member.
        members: of each group.
    """
    host = compiler()
    if host is None:
        return _first_colors(groups, members)
    count = len(groups[0]) - 1
    return _run(host, _first_text(), count, (*groups, *members))


def star_colors(neighbours: Neighbours) -> Array:
    """Return a star colouring: neighbours differ, and every path of four vertices has at least three colours.

    A vertex that has no colour yet lets its neighbours have different ones; one that has a colour lets none of them
    have that of another which leads on to its own colour (Gebremedhin, Manne and Pothen 2005, algorithm 4.1).
    """
    host = compiler()
    if host is None:
        return _star_colors(neighbours)
    return _run(host, _star_text(), len(neighbours[0]) - 1, neighbours)


def _run(host: Any, text: str, count: int, lists: tuple[Array, ...]) -> Array:
    """Call a function that fills colours, by the addresses of the colours, of marks, and of lists."""
    given = [np.ascontiguousarray(x, np.int64) for x in lists]
    colors, marks = np.zeros(count, np.int64), np.zeros(count + 2, np.int64)
    table = np.array([x.ctypes.data for x in (colors, marks, *given)], np.int64)
    if count:
        (kernel,) = host.kernels([text])
        kernel.function(table.ctypes.data, count, 0, 0)
    return colors


# -- as native code ----------------------------------------------------------------------------------------------------


class _GraphWalk(Builder):
    """A function that walks along lists of neighbours."""

    def addresses(self, count: int) -> list[str]:
        """Return the addresses of the arrays of the table."""
        return [self.load("ptr", "%table", i) for i in range(count)]

    def each(self, lists: tuple[str, str], of: str, body: Callable[[str], None]) -> None:
        """Write what is done for each neighbour of a vertex."""
        starts, items = lists
        start = self.load("i64", starts, of)
        end = self.load("i64", starts, self.emit(f"add i64 {of}, 1"))
        with self.when(self.emit(f"icmp ult i64 {start}, {end}")):
            self.loop(end, lambda i, _: body(self.load("i64", items, i)), start=start)

    def mark(self, marks: str, color: str, stamp: str) -> None:
        """Write that a vertex may not have a colour."""
        self.store("i64", stamp, self.place("i64", marks, color))

    def choose(self, colors: str, marks: str, vertex: str, stamp: str) -> None:
        """Write that a vertex gets the first colour that is not marked."""

        def look(_: str, values: list[str]) -> tuple[list[str], str]:
            color = self.emit(f"add i64 {values[0]}, 1")
            return [color], self.emit(f"icmp eq i64 {self.load('i64', marks, color)}, {stamp}")

        (color,), _ = self.turns("9223372036854775807", look, ["0"], ["i64"])
        self.store("i64", color, self.place("i64", colors, vertex))

    def finished(self) -> str:
        """Return the text."""
        self.do("ret void")
        head = "void @KERNEL(ptr %table, i64 %count, i64 %unused, i64 %last)"
        return module([self.function(head)], self.declared.values())


def _first_text() -> str:
    code = _GraphWalk()
    colors, marks, first, groups, second, members = code.addresses(6)

    def vertex(v: str, _: list[str]) -> None:
        stamp = code.emit(f"add i64 {v}, 1")

        def group(g: str) -> None:
            code.each((second, members), g, lambda w: code.mark(marks, code.load("i64", colors, w), stamp))

        code.each((first, groups), v, group)
        code.choose(colors, marks, v, stamp)

    code.loop("%count", vertex)
    return code.finished()


def _star_text() -> str:
    code = _GraphWalk()
    colors, marks, first, second = code.addresses(4)
    lists = first, second

    def vertex(v: str, _: list[str]) -> None:
        stamp = code.emit(f"add i64 {v}, 1")

        def near(w: str) -> None:
            own = code.load("i64", colors, w)
            code.mark(marks, own, stamp)
            bare = code.emit(f"icmp eq i64 {own}, 0")

            def behind(x: str) -> None:
                color = code.load("i64", colors, x)
                with code.when(code.emit(f"icmp ne i64 {color}, 0")):
                    with code.when(bare):
                        code.mark(marks, color, stamp)

                    def last(y: str) -> None:
                        same = code.emit(f"icmp eq i64 {code.load('i64', colors, y)}, {own}")
                        other = code.emit(f"icmp ne i64 {y}, {w}")
                        with code.when(code.emit(f"and i1 {same}, {other}")):
                            code.mark(marks, color, stamp)

                    with code.when(code.emit(f"xor i1 {bare}, true")):
                        code.each(lists, x, last)

            code.each(lists, w, behind)

        code.each(lists, v, near)
        code.choose(colors, marks, v, stamp)

    code.loop("%count", vertex)
    return code.finished()


# -- where nothing is compiled -----------------------------------------------------------------------------------------


def _first_colors(groups: Neighbours, members: Neighbours) -> Array:
    colors = [0] * (len(groups[0]) - 1)
    (first, of), (second, have) = ([x.tolist() for x in lists] for lists in (groups, members))
    for v in range(len(colors)):
        taken = {colors[w] for g in of[first[v] : first[v + 1]] for w in have[second[g] : second[g + 1]]}
        colors[v] = next(c for c in range(1, len(colors) + 1) if c not in taken)
    return np.array(colors, np.int64)


def _star_colors(neighbours: Neighbours) -> Array:
    first, to = (x.tolist() for x in neighbours)
    near = [to[first[v] : first[v + 1]] for v in range(len(first) - 1)]
    colors = [0] * len(near)
    for v in range(len(near)):
        taken = {colors[w] for w in near[v]}
        for w in near[v]:
            for x in near[w]:
                if colors[x] and (not colors[w] or any(y != w and colors[y] == colors[w] for y in near[x])):
                    taken.add(colors[x])
        colors[v] = next(c for c in range(1, len(colors) + 2) if c not in taken)
    return np.array(colors, np.int64)
