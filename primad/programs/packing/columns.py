"""Numbers from here and there as one array: elements of arrays, numbers of the program's text, and lone ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import CAPTURED, LITERAL, Leaf, Node, Trace, leaf_value
from primad.programs.loop_sizes import FEWEST_STEPS
from primad.recording.traced_array import TracedArray, lift


def is_small_view(node: Node) -> bool:
    """Say whether a node is one element of an array, in whatever shape."""
    return (
        not isinstance(node.op, Leaf)
        and node.op.memory.views
        and isinstance(node.inputs[0].type, ArrayType)
        and node.type.size == 1
    )


class Joins:
    """What joins numbers, one behind the other, be it in parts that are joined again.

    Programs that put a long list together do it in parts: the numbers are those of all parts, so that they are gathered
    from an array once.

    Attributes:
        numbers: of each node that joins numbers, these in order.
        outermost: those of the nodes whose numbers no other one joins again.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.numbers: dict[Node, list[Node]] = {}
        inner: set[Node] = set()
        for node in nodes:
            if isinstance(node.op, Leaf) or not node.op.indexing.joins:
                continue
            parts = [self._of_part(node, x) for x in node.inputs]
            numbers = [x for part in parts for x in part]
            if len(numbers) == node.type.size and all(parts):
                self.numbers[node] = numbers
                inner.update(node.inputs)
        self.outermost = [
            node for node, found in self.numbers.items() if node not in inner and len(found) >= FEWEST_STEPS
        ]

    def _of_part(self, whole: Node, part: Node) -> list[Node]:
        """Return the numbers of a part of what is joined; none if it is no number and does not join any."""
        if part.type.size == 1:
            return [part]
        alike = part in self.numbers and part.op is whole.op and part.params == whole.params
        return self.numbers[part] if alike else []

    @property
    def elements(self) -> int:
        """How many of the numbers are elements of arrays that give several."""
        given: Counter[Node] = Counter()
        for node in self.outermost:
            given.update([array for x in self.numbers[node] if (array := _array_of(x)) is not None])
        return sum([count for count in given.values() if count >= FEWEST_STEPS])


def _array_of(node: Node) -> Node | None:
    """Return the array of which a node is one element; None if it is none."""
    while is_small_view(node):
        (node,) = node.inputs
        if node.type.size > 1:
            return node
    return None


MOST_PIECES = 4
"""Pieces of arrays that are put one behind the other; elements of more are gathered from what is put together. Chosen:
each is an op, and the ends of an array are three."""

Element = tuple[Node | None, int]
"""An array, and the place of an element in it; no array and a number of its own for a number that is known."""


class Columns:
    """Arrays of one axis, whose elements are numbers of a program that is being built again.

    Args:
        trace: where they are built.
        place: where numbers that have been computed together are: an array of one axis, and the index there.
        value: returns what stands for another node of the program.
    """

    def __init__(self, trace: Trace, place: dict[Node, tuple[Node, int]], value: Callable[[Node], Node]) -> None:
        self.trace = trace
        self._place = place
        self._value = value
        self._made: dict[tuple[Node, ...], Node] = {}
        self._found: dict[Node, Element] = {}
        self._memory: dict[Node, np.ndarray[Any, Any]] = {}
        self._flat: dict[Node, Node] = {}

    def of(self, nodes: Sequence[Node]) -> Node:
        """Return the numbers as an array; one number as itself."""
        if all(node is nodes[0] for node in nodes):
            return self._value(nodes[0])
        key = tuple(nodes)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self._gathered(nodes)
        return found

    def _gathered(self, nodes: Sequence[Node]) -> Node:
        each = [self._element(node) for node in nodes]
        wanted: dict[Node | None, dict[int, int]] = {}
        for source, i in each:
            own = wanted.setdefault(source, {})
            own.setdefault(i, len(own))
        if len(wanted) == 1 and None not in wanted:
            (source,) = wanted
            assert source is not None
            return self._taken(source, [i for _, i in each])
        pieces = _pieces(each)
        if len(pieces) <= MOST_PIECES:
            found = [self._constants(nodes, each, own) if x is None else self._taken(x, own) for x, own in pieces]
            return lift(ops.concatenate(*map(TracedArray, found), axis=0), self.trace)
        parts, start, begin = [], 0, {}
        for source, own in wanted.items():
            begin[source] = start
            parts.append(self._constants(nodes, each, list(own)) if source is None else self._taken(source, list(own)))
            start += len(own)
        whole = lift(ops.concatenate(*map(TracedArray, parts), axis=0), self.trace) if len(parts) > 1 else parts[0]
        return self._taken(whole, [begin[source] + wanted[source][i] for source, i in each])

    def _constants(self, nodes: Sequence[Node], each: Sequence[Element], own: Sequence[int]) -> Node:
        """Return the numbers that are known, which have their own place each."""
        known = {i: leaf_value(node).item() for node, (source, i) in zip(nodes, each, strict=True) if source is None}
        return lift(np.array([known[i] for i in own], nodes[0].type.dtype), self.trace)

    def _element(self, node: Node) -> Element:
        """Return the array in which a number is, and where; no array and a number of its own for one that is known."""
        found = self._found.get(node)
        if found is None:
            found = self._found[node] = self._looked_up(node)
        return found

    def _looked_up(self, node: Node) -> Element:
        views = []
        inner = node
        while inner not in self._place and is_small_view(inner):
            views.append(inner)
            (inner,) = inner.inputs
            if inner.type.size > 1:
                return self._in_array(inner, views[::-1])
        if inner in self._place:
            return self._place[inner]
        if inner.op is LITERAL or inner.op is CAPTURED:
            return None, len(self._found)
        return self._as_row(self._value(inner)), 0

    def _in_array(self, array: Node, views: list[Node]) -> tuple[Node, int]:
        """Return an array, and the place of the element that views show."""
        while not isinstance(array.op, Leaf) and array.op.memory.views and not isinstance(
            array.inputs[0].type, TupleType
        ):  # fmt: skip
            views.insert(0, array)
            (array,) = array.inputs
        whole = self._memory.get(array)
        if whole is None:
            whole = self._memory[array] = np.empty(array.type.shape, np.int8)
        part = whole
        for view in views:
            part = view.op.numpy(part, **dict(view.params))
        if not np.may_share_memory(part, whole):
            return self._as_row(self._value(views[-1])), 0
        begin = whole.__array_interface__["data"][0]
        return self._as_row(self._value(array)), part.__array_interface__["data"][0] - begin

    def _as_row(self, node: Node) -> Node:
        """Return an array with one axis."""
        if node.type.ndim == 1:
            return node
        found = self._flat.get(node)
        if found is None:
            found = self._flat[node] = lift(ops.reshape(TracedArray(node), shape=(node.type.size,)), self.trace)
        return found

    def _taken(self, source: Node, places: Sequence[int]) -> Node:
        """Return elements of an array with one axis: all of it, a slice, or gathered ones."""
        first, step = places[0], places[1] - places[0] if len(places) > 1 else 1
        if step > 0 and list(places) == list(range(first, first + step * len(places), step)):
            if len(places) == source.type.size:
                return source
            stop = first + step * (len(places) - 1) + 1
            return lift(ops.slice_(TracedArray(source), start=(first,), stop=(stop,), step=(step,)), self.trace)
        at = TracedArray(lift(np.array(places, np.int64), self.trace))
        return lift(ops.gather(TracedArray(source), at, axis=0, batch=0), self.trace)


def _pieces(each: Sequence[Element]) -> list[tuple[Node | None, list[int]]]:
    """Return elements as pieces of arrays in which one follows on the other, and of known numbers."""
    found: list[tuple[Node | None, list[int]]] = []
    for source, i in each:
        if found and found[-1][0] is source and (source is None or found[-1][1][-1] + 1 == i):
            found[-1][1].append(i)
        else:
            found.append((source, [i]))
    return found
