"""Acyclic colourings, of which any two colours have trees, and entries that are found along these trees.

Two vertices with an edge differ, and no cycle has two colours (Gebremedhin, Tarafdar, Pothen and Walther 2009, which
has the algorithm too). The edges of two colours that hang together are a set; sets are joined as vertices get colours.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from primad.native.llvm.compiler import compiler
from primad.native.loops.graph_coloring import ColoringWalk
from primad.native.loops.graph_walk import UNBOUNDED, Array, GraphWalk, Neighbours, as_whole_numbers, walked


def acyclic_colors(neighbours: Neighbours, edges: Array, order: Array) -> Array:
    """Return an acyclic colouring, from 1 on.

    Args:
        neighbours: of each vertex.
        edges: for each neighbour the number of the edge, the same from both sides.
        order: in which the vertices are coloured.
    """
    host, count = compiler(), len(neighbours[0]) - 1
    if host is None:
        return _in_python(neighbours, edges, order)
    most = int(edges.max(initial=-1)) + 1
    colors, marks, seen_by, seen_edge = (np.zeros(count + 2, np.int64) for _ in range(4))
    trees = [np.arange(most), np.zeros(most, np.int64), np.zeros(most, np.int64)]
    lists = as_whole_numbers(neighbours)
    arrays = [colors, marks, np.ascontiguousarray(order, np.int64), *lists, np.ascontiguousarray(edges, np.int64)]
    walked(host, _text(), count, [*arrays, *trees, seen_by, seen_edge])
    return colors[:count]


def leaves_first(groups: Array, twins: Array, count: int) -> Array:
    """Return half of the positions in the order in which they are the last of their group that is left.

    A position and its twin are taken away together.

    Args:
        groups: of each position.
        twins: the other position of each.
        count: of groups.
    """
    degrees = np.bincount(groups, minlength=count)
    sums = np.bincount(groups, np.arange(len(groups)), count).astype(np.int64)
    found, stack = np.zeros(len(groups) // 2 + 1, np.int64), np.zeros(2 * count + 1, np.int64)
    host = compiler()
    if host is None:
        return _leaves_in_python(groups, twins, degrees.tolist(), sums.tolist())
    sizes = np.zeros(2, np.int64)
    given = [np.ascontiguousarray(x, np.int64) for x in (groups, twins, degrees, sums)]
    walked(host, _leaves_text(), count, [*given, found, stack, sizes])
    return found[: sizes[1]]


def substituted(values: Array, groups: Array, twins: Array, order: Array, count: int) -> Array:
    """Return the entries at positions, of which the sums over groups are known; the sums are overwritten.

    Args:
        values: the sums.
        groups: of each position.
        twins: the other position of each, which has the same entry.
        order: see `leaves_first`.
        count: of positions.
    """
    found = np.zeros(count)
    own, other = groups[order], groups[twins[order]]
    host = compiler()
    if host is None:
        for position, a, b in zip(order.tolist(), own.tolist(), other.tolist(), strict=True):
            found[position] = values[a]
            values[b] -= values[a]
    else:
        given = [np.ascontiguousarray(x, np.int64) for x in (order, own, other)]
        walked(host, _sums_text(), len(order), [*given, values, found])
    found[twins[order]] = found[order]
    return found


# -- as native code ----------------------------------------------------------------------------------------------------


class _Trees(ColoringWalk):
    """A function that colours vertices and joins edges. A vertex leaves its stamp where it has been."""

    def __init__(self) -> None:
        super().__init__()
        self.colors, self.marks, self.order, self.starts, self.near, self.edges, *rest = self.addresses(11)
        self.parents, self.tree_by, self.tree_via, self.seen_by, self.seen_edge = rest

    def root(self, edge: str) -> str:
        """Return what stands for the set of an edge, and make the way to it shorter."""

        def climb(_: str, values: list[str]) -> tuple[list[str], str]:
            above = self.at(self.parents, values[0])
            top = self.at(self.parents, above)
            self.put(self.parents, values[0], top)
            return [top], self.emit(f"icmp ne i64 {top}, {above}")

        (found,), _ = self.turns(UNBOUNDED, climb, [edge], ["i64"])
        return found

    def join(self, first: str, second: str) -> None:
        """Write that two edges are in one set."""
        self.put(self.parents, self.root(first), self.root(second))

    def each_colored(self, v: str, body: Callable[[str, str, str], None]) -> None:
        """Write what is done for each neighbour that has a colour: of it, its colour, and the edge."""

        def at(place: str) -> None:
            w = self.at(self.near, place)
            color = self.at(self.colors, w)
            with self.when(self.emit(f"icmp ne i64 {color}, 0")):
                body(w, color, self.at(self.edges, place))

        self.each_place(self.starts, v, at)

    def each_beyond(self, v: str, body: Callable[[str, str, str, str], None]) -> None:
        """Write what is done for each coloured neighbour of one: of that one, the edge to it, the colour, the edge."""

        def first(w: str, _: str, edge: str) -> None:
            def second(x: str, color: str, further: str) -> None:
                with self.when(self.emit(f"icmp ne i64 {x}, {v}")):
                    body(w, edge, color, further)

            self.each_colored(w, second)

        self.each_colored(v, first)

    def prevent_cycles(self, v: str, stamp: str) -> None:
        """Write that a vertex may not have a colour whose trees it would meet over two neighbours."""

        def prevent(w: str, _: str, color: str, further: str) -> None:
            with self.when(self.emit(f"icmp ne i64 {self.at(self.marks, color)}, {stamp}")):
                root = self.root(further)
                new = self.emit(f"icmp ne i64 {self.at(self.tree_by, root)}, {stamp}")
                other = self.emit(f"icmp ne i64 {self.at(self.tree_via, root)}, {w}")
                with self.when(self.emit(f"and i1 {self.emit(f'xor i1 {new}, true')}, {other}")):
                    self.mark(self.marks, color, stamp)
                with self.when(new):
                    self.put(self.tree_by, root, stamp)
                    self.put(self.tree_via, root, w)

        self.each_beyond(v, prevent)

    def join_neighbours(self, v: str, stamp: str) -> None:
        """Write that the edges of a vertex to neighbours of one colour are in one set."""

        def grow(_: str, color: str, edge: str) -> None:
            new = self.emit(f"icmp ne i64 {self.at(self.seen_by, color)}, {stamp}")
            with self.when(self.emit(f"xor i1 {new}, true")):
                self.join(edge, self.at(self.seen_edge, color))
            with self.when(new):
                self.put(self.seen_by, color, stamp)
                self.put(self.seen_edge, color, edge)

        self.each_colored(v, grow)

    def join_beyond(self, v: str) -> None:
        """Write that an edge of a vertex is in one set with those that lead on to its own colour."""

        def merge(_: str, edge: str, color: str, further: str) -> None:
            with self.when(self.emit(f"icmp eq i64 {color}, {self.at(self.colors, v)}")):
                self.join(edge, further)

        self.each_beyond(v, merge)


def _text() -> str:
    code = _Trees()

    def vertex(i: str, _: list[str]) -> None:
        v = code.at(code.order, i)
        stamp = code.emit(f"add i64 {v}, 1")
        code.each_colored(v, lambda w, color, edge: code.mark(code.marks, color, stamp))
        code.prevent_cycles(v, stamp)
        code.choose(code.colors, code.marks, v, stamp)
        code.join_neighbours(v, stamp)
        code.join_beyond(v)

    code.loop("%count", vertex)
    return code.finished()


def _leaves_text() -> str:
    code = GraphWalk()
    groups, twins, degrees, sums, found, stack, sizes = code.addresses(7)

    def push(group: str) -> None:
        top = code.at(sizes, "0")
        code.put(stack, top, group)
        code.put(sizes, "0", code.emit(f"add i64 {top}, 1"))

    def start(g: str, _: list[str]) -> None:
        with code.when(code.emit(f"icmp eq i64 {code.at(degrees, g)}, 1")):
            push(g)

    def pop(_: str, values: list[str]) -> tuple[list[str], str]:
        some = code.emit(f"icmp ne i64 {code.at(sizes, '0')}, 0")
        with code.when(some):
            top = code.emit(f"sub i64 {code.at(sizes, '0')}, 1")
            code.put(sizes, "0", top)
            g = code.at(stack, top)
            with code.when(code.emit(f"icmp eq i64 {code.at(degrees, g)}, 1")):
                position, place = code.at(sums, g), code.at(sizes, "1")
                code.put(found, place, position)
                code.put(sizes, "1", code.emit(f"add i64 {place}, 1"))
                code.put(degrees, g, "0")
                twin = code.at(twins, position)
                other = code.at(groups, twin)
                left = code.emit(f"sub i64 {code.at(degrees, other)}, 1")
                code.put(degrees, other, left)
                code.put(sums, other, code.emit(f"sub i64 {code.at(sums, other)}, {twin}"))
                with code.when(code.emit(f"icmp eq i64 {left}, 1")):
                    push(other)
        return values, some

    code.loop("%count", start)
    code.turns(UNBOUNDED, pop, ["0"], ["i64"])
    return code.finished()


def _sums_text() -> str:
    code = GraphWalk()
    order, own, other, values, found = code.addresses(5)

    def step(k: str, _: list[str]) -> None:
        value = code.load("double", values, code.at(own, k))
        code.store("double", value, code.place("double", found, code.at(order, k)))
        place = code.at(other, k)
        left = code.emit(f"fsub double {code.load('double', values, place)}, {value}")
        code.store("double", left, code.place("double", values, place))

    code.loop("%count", step)
    return code.finished()


# -- where nothing is compiled -----------------------------------------------------------------------------------------


def _in_python(neighbours: Neighbours, edges: Array, order: Array) -> Array:
    starts, to = (x.tolist() for x in neighbours)
    numbers = edges.tolist()
    near = [list(zip(to[a:b], numbers[a:b], strict=True)) for a, b in pairwise(starts)]
    colors = [0] * len(near)
    parents = list(range(max(numbers, default=-1) + 1))

    def root(edge: int) -> int:
        while parents[edge] != edge:
            edge = parents[edge]
        return edge

    for v in order.tolist():
        first = [(w, e) for w, e in near[v] if colors[w]]
        second = [(w, e, x, f) for w, e in first for x, f in near[w] if colors[x]]
        taken = {colors[w] for w, _ in first}
        via: dict[int, int] = {}
        for w, _, x, f in second:
            if colors[x] not in taken and via.setdefault(root(f), w) != w:
                taken.add(colors[x])
        colors[v] = next(c for c in range(1, len(colors) + 2) if c not in taken)
        seen: dict[int, int] = {}
        for w, e in first:
            if colors[w] in seen:
                parents[root(e)] = root(seen[colors[w]])
            seen.setdefault(colors[w], e)
        for _, e, x, f in second:
            if colors[x] == colors[v]:
                parents[root(e)] = root(f)
    return np.array(colors, np.int64)


def _leaves_in_python(groups: Array, twins: Array, degrees: list[int], sums: list[int]) -> Array:
    stack = [g for g, degree in enumerate(degrees) if degree == 1]
    found = []
    while stack:
        g = stack.pop()
        if degrees[g] == 1:
            position = sums[g]
            twin = int(twins[position])
            other = int(groups[twin])
            found.append(position)
            degrees[g] = 0
            degrees[other] -= 1
            sums[other] -= twin
            if degrees[other] == 1:
                stack.append(other)
    return np.array(found, np.int64)
