"""How many rows a panel should have: what it takes in memory, and what it computes that others compute too."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

from primad import ops
from primad.ir.node import Node
from primad.native.emit.emit_context import Pointwise
from primad.native.emit.op_table import way_of
from primad.native.emit.pointwise import work_of_element
from primad.native.panels.needed_rows import NeededRows, rows_within
from primad.native.schedule.storage import VIEWS

PASSING = VIEWS | {ops.pad, ops.concatenate}
"""Ops whose values are read where those lie that they are made of."""


class PanelSizes(Struct, frozen=True):
    """What a panel takes far from all edges, in terms of its rows.

    Attributes:
        bytes_around: bytes of the rows that it reads or computes beside its own, at the time when it holds most.
        bytes_each: and for each row of its own.
        elements_around: elements that it computes in rows beside its own.
        elements_each: and for each row of its own.
        price: values that lie in memory for an op of arithmetic: what is not in a second cache takes the longer for it.
    """

    bytes_around: int
    bytes_each: int
    elements_around: int
    elements_each: int
    price: float

    def rows_within(self, nbytes: int) -> int:
        """Return how many rows a panel may have that takes so many bytes."""
        return (nbytes - self.bytes_around) // max(self.bytes_each, 1)

    def rows_for(self, again: float) -> int:
        """Return how many rows a panel must have that computes so many times what is its own."""
        return -int(-self.elements_around // ((again - 1) * max(self.elements_each, 1)))

    def held(self, rows: int) -> int:
        """Return the bytes that a panel of so many rows takes."""
        return self.bytes_around + rows * self.bytes_each


def sizes_of(cut: Sequence[Node], ends: Sequence[Node]) -> PanelSizes | None:
    """Return what a panel takes; None where there are too few rows to tell.

    Args:
        cut: the values that are computed in panels, operands first.
        ends: the results.
    """
    longest = max([node.type.shape[0] for node in ends])
    rows = longest // 8
    if not rows:
        return None
    needed = [
        NeededRows(cut, {node: rows_within(node, longest // 2, count) for node in ends}) for count in (rows, 2 * rows)
    ]
    values = _Values(cut, ends)
    small, large = map(values.held, needed)
    first, second = (each.elements for each in needed)
    sizes = 2 * small - large, (large - small) // rows, 2 * first - second, (second - first) // rows
    return PanelSizes(*sizes, values.price())


class _Values:
    """The values of a program, and which of them lie in memory: those that are not read in the loop that makes them.

    Args:
        cut: the values that are computed in panels, operands first.
        ends: the results.
    """

    def __init__(self, cut: Sequence[Node], ends: Sequence[Node]) -> None:
        self._cut = cut
        self._lying = dict.fromkeys(ends)
        self._last: dict[Node, int] = dict.fromkeys(ends, len(cut))
        roots: dict[Node, tuple[Node, ...]] = {}
        for i, node in enumerate(cut):
            read = {x: roots.get(x, ()) for x in node.inputs}
            if node.op in PASSING:
                roots[node] = tuple(dict.fromkeys([root for found in read.values() for root in found]))
                continue
            roots[node] = (node,)
            moves = not isinstance(way_of(node), Pointwise)
            for x, found in read.items():
                self._last.update({root: max(i, self._last.get(root, i)) for root in found})
                if moves or found != (x,):
                    self._lying.update(dict.fromkeys(found))

    def price(self) -> float:
        """Return how many values lie in memory for an op of arithmetic."""
        steps = [node for node in self._cut if node.op not in PASSING]
        work = sum(node.type.size * work_of_element(node) for node in steps)
        return sum(node.type.size for node in self._lying) / max(work, 1)

    def held(self, needed: NeededRows) -> int:
        """Return the bytes of what lies in memory at a time, with those of the rows that are read and written."""
        sizes = {node: _bytes_of(node, needed.inside[node]) for node in self._lying}
        change = [0] * (len(self._cut) + 1)
        for i, node in enumerate(self._cut):
            if node in sizes:
                change[i] += sizes[node]
                change[min(self._last.get(node, i) + 1, len(self._cut))] -= sizes[node]
        return max(accumulate(change)) + sum([_bytes_of(node, [rows]) for node, rows in needed.outside.items()])


def _bytes_of(node: Node, intervals: Sequence[tuple[int, int]]) -> int:
    return sum([b - a for a, b in intervals]) * (node.type.nbytes // max(node.type.shape[0], 1))
