"""How many rows a panel should have: what it takes in memory, and what it computes that others compute too."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from primad import ops
from primad.ir.node import Node
from primad.native.emit.emit_context import Pointwise
from primad.native.emit.op_table import way_of
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
    """

    bytes_around: int
    bytes_each: int
    elements_around: int
    elements_each: int

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
    small, large = (_held(cut, each) for each in needed)
    first, second = (each.elements for each in needed)
    return PanelSizes(2 * small - large, (large - small) // rows, 2 * first - second, (second - first) // rows)


def _held(cut: Sequence[Node], needed: NeededRows) -> int:
    """Return the bytes of the values that lie in memory at a time, with those of the rows that are read and written."""
    last: dict[Node, int] = {}
    lying: set[Node] = {*needed.own}
    roots: dict[Node, tuple[Node, ...]] = {}
    for i, node in enumerate(cut):
        read = {x: roots.get(x, ()) for x in node.inputs}
        if node.op in PASSING:
            roots[node] = tuple(dict.fromkeys([root for found in read.values() for root in found]))
            continue
        roots[node] = (node,)
        moves = not isinstance(way_of(node), Pointwise)
        for x, found in read.items():
            last.update(dict.fromkeys(found, i))
            if moves or found != (x,):
                lying.update(found)
    sizes = {node: _bytes_of(node, needed.inside[node]) for node in lying}
    dying: dict[int, int] = {}
    for node, size in sizes.items():
        if node not in needed.own:
            dying[last.get(node, len(cut))] = dying.get(last.get(node, len(cut)), 0) + size
    now = most = 0
    for i, node in enumerate(cut):
        now += sizes.get(node, 0)
        most = max(most, now)
        now -= dying.get(i, 0)
    return most + sum([_bytes_of(node, [rows]) for node, rows in needed.outside.items()])


def _bytes_of(node: Node, intervals: Sequence[tuple[int, int]]) -> int:
    return sum([b - a for a, b in intervals]) * (node.type.nbytes // max(node.type.shape[0], 1))
