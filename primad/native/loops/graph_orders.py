"""Orders in which the vertices of a graph are coloured, by how many neighbours they have among those that are left.

Two vertices are neighbours if a group has both. The smallest last order takes away, again and again, a vertex with the
fewest neighbours that are left, and is the reverse (Matula and Beck 1983); incidence degree takes next the one with the
most neighbours that have their place (Brélaz 1979). Vertices of one number of neighbours are a list, in which the last
that came is the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.native.llvm.compiler import compiler
from primad.native.loops.graph_walk import UNBOUNDED, Array, GraphWalk, Neighbours, as_whole_numbers, walked

GONE = UNBOUNDED
"""Stands for a vertex that has its place, where others have the number of the step that has seen them: the largest."""


def smallest_last(groups: Neighbours, members: Neighbours) -> Array:
    """Return the smallest last order of vertices (see above).

    Args:
        groups: of each vertex.
        members: of each group.
    """
    return _ordered(groups, members, True)


def incidence_degree(groups: Neighbours, members: Neighbours) -> Array:
    """Return the order of vertices by incidence degree (see above)."""
    return _ordered(groups, members, False)


def largest_first(groups: Neighbours, members: Neighbours) -> Array:
    """Return the vertices with the most neighbours first, those in several groups counted so often."""
    counts = np.diff(members[0])
    owner = np.repeat(np.arange(len(groups[0]) - 1), np.diff(groups[0]))
    return np.argsort(-np.bincount(owner, counts[groups[1]], len(groups[0]) - 1), kind="stable")


def _ordered(groups: Neighbours, members: Neighbours, last: bool) -> Array:
    host, count = compiler(), len(groups[0]) - 1
    if host is None:
        return _in_python(groups, members, last)
    order, degrees, seen = (np.zeros(count, np.int64) for _ in range(3))
    heads, after, before = (np.zeros(count + 2, np.int64) for _ in range(3))
    arrays = [order, heads, after, before, degrees, seen, *as_whole_numbers(groups, members)]
    walked(host, _text(last), count, arrays)
    return order


class _Lists(GraphWalk):
    """Vertices in lists by their degree, each with a number from 1 on; 0 is none."""

    def __init__(self) -> None:
        super().__init__()
        self.order, self.heads, self.after, self.before, self.degrees, self.seen, *lists = self.addresses(10)
        self.groups, self.members = (lists[0], lists[1]), (lists[2], lists[3])

    def insert(self, vertex: str, degree: str) -> None:
        """Write that a vertex becomes the first of the list of a degree."""
        own, first = self.emit(f"add i64 {vertex}, 1"), self.at(self.heads, degree)
        self.put(self.after, own, first)
        self.put(self.before, own, "0")
        self.put(self.before, first, own)  # of number 0 nothing is read
        self.put(self.heads, degree, own)
        self.put(self.degrees, vertex, degree)

    def remove(self, vertex: str) -> str:
        """Write that a vertex leaves its list, and return its degree."""
        own, degree = self.emit(f"add i64 {vertex}, 1"), self.at(self.degrees, vertex)
        after, before = self.at(self.after, own), self.at(self.before, own)
        first = self.emit(f"icmp eq i64 {before}, 0")
        with self.when(first):
            self.put(self.heads, degree, after)
        self.put(self.after, before, after)
        self.put(self.before, after, before)
        return degree

    def each_new(self, vertex: str, stamp: str, body: Any) -> None:
        """Write what is done for each neighbour that the step of a number has not seen, and has no place yet."""

        def member(w: str) -> None:
            with self.when(self.emit(f"icmp slt i64 {self.at(self.seen, w)}, {stamp}")):
                self.put(self.seen, w, stamp)
                body(w)

        self.each(self.groups, vertex, lambda g: self.each(self.members, g, member))


def _text(last: bool) -> str:
    code = _Lists()

    def count(i: str, _: list[str]) -> None:
        vertex = code.emit(f"sub i64 {code.emit('sub i64 %count, 1')}, {i}")
        stamp = code.emit(f"add i64 {i}, 1")
        code.put(code.seen, vertex, stamp)
        if last:
            code.each_new(
                vertex, stamp,
                lambda w: code.put(code.degrees, vertex, code.emit(f"add i64 {code.at(code.degrees, vertex)}, 1")),
            )  # fmt: skip
        code.insert(vertex, code.at(code.degrees, vertex))

    def step(i: str, values: list[str]) -> list[str]:
        # The extreme degree has changed by one at most since the last step.
        down, up = code.emit(f"sub i64 {values[0]}, 2"), code.emit(f"add i64 {values[0]}, 2")
        least = code.emit(f"select i1 {code.emit(f'icmp slt i64 {down}, -1')}, i64 -1, i64 {down}")
        above = code.emit("add i64 %count, 1")
        most = code.emit(f"select i1 {code.emit(f'icmp sgt i64 {up}, {above}')}, i64 {above}, i64 {up}")

        def look(_: str, found: list[str]) -> tuple[list[str], str]:
            degree = code.emit(f"add i64 {found[0]}, {1 if last else -1}")
            return [degree], code.emit(f"icmp eq i64 {code.at(code.heads, degree)}, 0")

        (degree,), _ = code.turns(above, look, [least if last else most], ["i64"])
        vertex = code.emit(f"sub i64 {code.at(code.heads, degree)}, 1")
        code.remove(vertex)
        code.put(code.seen, vertex, GONE)
        place = code.emit(f"sub i64 {code.emit('sub i64 %count, 1')}, {i}") if last else i
        code.put(code.order, place, vertex)

        def moved(w: str) -> None:
            code.insert(w, code.emit(f"add i64 {code.remove(w)}, {-1 if last else 1}"))

        code.each_new(vertex, code.emit(f"add i64 {code.emit(f'add i64 {i}, 1')}, %count"), moved)
        return [degree]

    code.loop("%count", count)
    code.loop("%count", step, ["0"], "i64")
    return code.finished()


def _in_python(groups: Neighbours, members: Neighbours, last: bool) -> Array:
    """Order vertices where nothing is compiled."""
    (first, of), (second, have) = ([x.tolist() for x in lists] for lists in (groups, members))
    size = len(first) - 1
    near = [
        {w: None for g in of[first[v] : first[v + 1]] for w in have[second[g] : second[g + 1]] if w != v}
        for v in range(size)
    ]
    degrees = [len(x) if last else 0 for x in near]
    lists: list[dict[int, None]] = [{} for _ in range(size + 1)]
    for v in reversed(range(size)):
        lists[degrees[v]][v] = None
    order: list[int] = []
    gone = [False] * size
    for _ in range(size):
        degrees_there = [d for d, x in enumerate(lists) if x]
        v, _ = lists[min(degrees_there) if last else max(degrees_there)].popitem()
        gone[v] = True
        order.append(v)
        for w in near[v]:
            if not gone[w]:
                del lists[degrees[w]][w]
                degrees[w] += -1 if last else 1
                lists[degrees[w]][w] = None
    return np.array(order[::-1] if last else order, np.int64)
