"""Acyclic colourings, of which any two colours have trees, and entries that are found along these trees.

Two vertices with an edge differ, and no cycle has two colours (Gebremedhin, Tarafdar, Pothen and Walther 2009, which
has the algorithm too). The edges of two colours that hang together are a set; sets are joined as vertices get colours.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from primad.native.llvm.compiler import compiler
from primad.native.loops.graph_coloring import ColoringWalk
from primad.native.loops.graph_walk import Array, GraphWalk, Neighbours, as_whole_numbers, walked


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
    """A function that colours vertices and joins edges."""

    def root(self, parents: str, edge: str) -> str:
        """Return what stands for the set of an edge, and make the way to it shorter."""

        def climb(_: str, values: list[str]) -> tuple[list[str], str]:
            above = self.at(parents, values[0])
            top = self.at(parents, above)
            self.put(parents, values[0], top)
            return [top], self.emit(f"icmp ne i64 {top}, {above}")

        (found,), _ = self.turns("9223372036854775807", climb, [edge], ["i64"])
        return found

    def join(self, parents: str, first: str, second: str) -> None:
        """Write that two edges are in one set."""
        self.put(parents, self.root(parents, first), self.root(parents, second))

    def each_edge(self, starts: str, of: str, body: Any) -> None:
        """Write what is done for each place in the list of a vertex."""
        start, end = self.at(starts, of), self.at(starts, self.emit(f"add i64 {of}, 1"))
        with self.when(self.emit(f"icmp ult i64 {start}, {end}")):
            self.loop(end, lambda i, _: body(i), start=start)


def _text() -> str:
    code = _Trees()
    colors, marks, order, starts, near, edges, parents, tree_by, tree_via, seen_by, seen_edge = code.addresses(11)

    def colored(v: str, body: Any) -> None:
        """Write what is done for each neighbour that has a colour: of it, its colour, and the edge."""

        def place(i: str) -> None:
            w = code.at(near, i)
            color = code.at(colors, w)
            with code.when(code.emit(f"icmp ne i64 {color}, 0")):
                body(w, color, code.at(edges, i))

        code.each_edge(starts, v, place)

    def beyond(v: str, body: Any) -> None:
        """Write what is done for each second neighbour over one that has a colour."""

        def first(w: str, _: str, edge: str) -> None:
            def second(x: str, color: str, further: str) -> None:
                with code.when(code.emit(f"icmp ne i64 {x}, {v}")):
                    body(w, edge, color, further)

            colored(w, second)

        colored(v, first)

    def vertex(i: str, _: list[str]) -> None:
        v = code.at(order, i)
        stamp = code.emit(f"add i64 {v}, 1")
        colored(v, lambda w, color, edge: code.mark(marks, color, stamp))

        def prevent(w: str, _: str, color: str, further: str) -> None:
            with code.when(code.emit(f"icmp ne i64 {code.at(marks, color)}, {stamp}")):
                root = code.root(parents, further)
                new = code.emit(f"icmp ne i64 {code.at(tree_by, root)}, {stamp}")
                other = code.emit(f"icmp ne i64 {code.at(tree_via, root)}, {w}")
                with code.when(code.emit(f"and i1 {code.emit(f'xor i1 {new}, true')}, {other}")):
                    code.mark(marks, color, stamp)
                with code.when(new):
                    code.put(tree_by, root, stamp)
                    code.put(tree_via, root, w)

        beyond(v, prevent)
        code.choose(colors, marks, v, stamp)

        def grow(_: str, color: str, edge: str) -> None:
            new = code.emit(f"icmp ne i64 {code.at(seen_by, color)}, {stamp}")
            with code.when(code.emit(f"xor i1 {new}, true")):
                code.join(parents, edge, code.at(seen_edge, color))
            with code.when(new):
                code.put(seen_by, color, stamp)
                code.put(seen_edge, color, edge)

        colored(v, grow)

        def merge(_: str, edge: str, color: str, further: str) -> None:
            with code.when(code.emit(f"icmp eq i64 {color}, {code.at(colors, v)}")):
                code.join(parents, edge, further)

        beyond(v, merge)

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
    code.turns("9223372036854775807", pop, ["0"], ["i64"])
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
        second = [(w, e, x, f) for w, e in first for x, f in near[w] if colors[x] and x != v]
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
