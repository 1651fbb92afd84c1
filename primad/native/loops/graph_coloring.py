"""Colours of the vertices of graphs, one vertex after the other, each the first that it may have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad.native.llvm.compiler import compiler
from primad.native.loops.graph_walk import UNBOUNDED, Array, GraphWalk, Neighbours, as_whole_numbers, walked


def first_colors(groups: Neighbours, members: Neighbours, order: Array) -> Array:
    """Return colours from 1 on, of which no two members of a group have the same.

    Args:
        groups: of each member.
        members: of each group.
        order: in which the members are coloured.
    """
    host = compiler()
    if host is None:
        return _first_colors(groups, members, order)
    return _run(host, _first_text(), len(groups[0]) - 1, order, as_whole_numbers(groups, members))


def star_colors(neighbours: Neighbours, order: Array) -> Array:
    """Return a star colouring: neighbours differ, and every path of four vertices has at least three colours.

    A vertex that has no colour yet lets its neighbours have different ones; one that has a colour lets none of them
    have that of another which leads on to its own colour (Gebremedhin, Manne and Pothen 2005, algorithm 4.1). What
    a colour leads on to that is taken already is not looked at, nor any of this where neighbours have all colours: of
    graphs with nearly all edges there are as many such paths as the fourth power of the vertices.
    """
    host = compiler()
    if host is None:
        return _star_colors(neighbours, order)
    counts = np.zeros(2, np.int64)  # of all colours that vertices have, and of those of a vertex's neighbours
    return _run(host, _star_text(), len(neighbours[0]) - 1, order, [*as_whole_numbers(neighbours), counts])


def _run(host: Any, text: str, count: int, order: Array, lists: Sequence[Array]) -> Array:
    """Call a function that fills colours, by the addresses of the colours, of marks, of the order, and of lists."""
    colors, marks = np.zeros(count, np.int64), np.zeros(count + 2, np.int64)
    walked(host, text, count, [colors, marks, np.ascontiguousarray(order, np.int64), *lists])
    return colors


# -- as native code ----------------------------------------------------------------------------------------------------


class ColoringWalk(GraphWalk):
    """A function that colours vertices one after the other."""

    def mark(self, marks: str, color: str, stamp: str) -> None:
        """Write that a vertex may not have a colour."""
        self.store("i64", stamp, self.place("i64", marks, color))

    def choose(self, colors: str, marks: str, vertex: str, stamp: str) -> None:
        """Write that a vertex gets the first colour that is not marked."""

        def look(_: str, values: list[str]) -> tuple[list[str], str]:
            color = self.emit(f"add i64 {values[0]}, 1")
            return [color], self.emit(f"icmp eq i64 {self.load('i64', marks, color)}, {stamp}")

        (color,), _ = self.turns(UNBOUNDED, look, ["0"], ["i64"])
        self.store("i64", color, self.place("i64", colors, vertex))


def _first_text() -> str:
    code = ColoringWalk()
    colors, marks, order, first, groups, second, members = code.addresses(7)

    def vertex(i: str, _: list[str]) -> None:
        v = code.at(order, i)
        stamp = code.emit(f"add i64 {v}, 1")

        def group(g: str) -> None:
            code.each((second, members), g, lambda w: code.mark(marks, code.load("i64", colors, w), stamp))

        code.each((first, groups), v, group)
        code.choose(colors, marks, v, stamp)

    code.loop("%count", vertex)
    return code.finished()


class _StarWalk(ColoringWalk):
    """A function that colours vertices with stars."""

    def __init__(self) -> None:
        super().__init__()
        self.colors, self.marks, self.order, *lists, self.counts = self.addresses(6)
        self.lists = (lists[0], lists[1])

    def take_neighbours(self, v: str, stamp: str) -> None:
        """Write that a vertex may not have a colour of its neighbours, and count these."""
        self.put(self.counts, "1", "0")

        def near(w: str) -> None:
            color = self.at(self.colors, w)
            given = self.emit(f"icmp ne i64 {color}, 0")
            with self.when(self.emit(f"and i1 {given}, {self.is_free(color, stamp)}")):
                self.mark(self.marks, color, stamp)
                self.put(self.counts, "1", self.emit(f"add i64 {self.at(self.counts, '1')}, 1"))

        self.each(self.lists, v, near)

    def take_beyond(self, v: str, stamp: str) -> None:
        """Write that a vertex may not have a colour with which a path of four vertices would have two."""

        def near(w: str) -> None:
            own = self.at(self.colors, w)
            bare = self.emit(f"icmp eq i64 {own}, 0")

            def behind(x: str) -> None:
                color = self.at(self.colors, x)
                given = self.emit(f"icmp ne i64 {color}, 0")
                with self.when(self.emit(f"and i1 {given}, {self.is_free(color, stamp)}")):
                    with self.when(bare):
                        self.mark(self.marks, color, stamp)

                    def last(y: str) -> None:
                        same = self.emit(f"icmp eq i64 {self.at(self.colors, y)}, {own}")
                        other = self.emit(f"icmp ne i64 {y}, {w}")
                        with self.when(self.emit(f"and i1 {same}, {other}")):
                            self.mark(self.marks, color, stamp)

                    with self.when(self.emit(f"xor i1 {bare}, true")):
                        self.each(self.lists, x, last)

            self.each(self.lists, w, behind)

        self.each(self.lists, v, near)

    def is_free(self, color: str, stamp: str) -> str:
        """Return whether nothing has said yet that a vertex may not have a colour."""
        return self.emit(f"icmp ne i64 {self.at(self.marks, color)}, {stamp}")


def _star_text() -> str:
    code = _StarWalk()

    def vertex(i: str, _: list[str]) -> None:
        v = code.at(code.order, i)
        stamp = code.emit(f"add i64 {v}, 1")
        code.take_neighbours(v, stamp)
        more = code.emit(f"icmp ult i64 {code.at(code.counts, '1')}, {code.at(code.counts, '0')}")
        with code.when(more):
            code.take_beyond(v, stamp)
        code.choose(code.colors, code.marks, v, stamp)
        found = code.at(code.colors, v)
        with code.when(code.emit(f"icmp ugt i64 {found}, {code.at(code.counts, '0')}")):
            code.put(code.counts, "0", found)

    code.loop("%count", vertex)
    return code.finished()


# -- where nothing is compiled -----------------------------------------------------------------------------------------


def _first_colors(groups: Neighbours, members: Neighbours, order: Array) -> Array:
    colors = [0] * (len(groups[0]) - 1)
    (first, of), (second, have) = ([x.tolist() for x in lists] for lists in (groups, members))
    for v in order.tolist():
        taken = {colors[w] for g in of[first[v] : first[v + 1]] for w in have[second[g] : second[g + 1]]}
        colors[v] = next(c for c in range(1, len(colors) + 1) if c not in taken)
    return np.array(colors, np.int64)


def _star_colors(neighbours: Neighbours, order: Array) -> Array:
    first, to = (x.tolist() for x in neighbours)
    near = [to[first[v] : first[v + 1]] for v in range(len(first) - 1)]
    colors, most = [0] * len(near), 0
    for v in order.tolist():
        taken = {0, *[colors[w] for w in near[v]]}
        for w in near[v] if len(taken) <= most else ():
            for x in near[w]:
                if colors[x] in taken:
                    continue
                if not colors[w] or any(y != w and colors[y] == colors[w] for y in near[x]):
                    taken.add(colors[x])
        colors[v] = next(c for c in range(1, len(colors) + 2) if c not in taken)
        most = max(most, colors[v])
    return np.array(colors, np.int64)
