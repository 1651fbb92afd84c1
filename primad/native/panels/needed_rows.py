"""Which rows of all values the rows of some results are computed of, and how far these may be moved on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from primad import ops
from primad.ir.array_types import TupleType
from primad.ir.node import Leaf, Node
from primad.native.emit.emit_context import Pointwise
from primad.native.emit.op_table import way_of
from primad.native.schedule.stencil_split import SHORTEST

Rows = tuple[int, int]
"""From which row to which."""


def goes_by_rows(node: Node, reads_cut: bool) -> bool:
    """Say whether rows of a value are computed of rows of its operands, and it is large or one of these is.

    Args:
        node: the value.
        reads_cut: whether an operand is computed in panels.
    """
    if isinstance(node.type, TupleType) or isinstance(node.op, Leaf) or repeats_rows(node) or not node.type.shape:
        return False
    params = dict(node.params)
    if node.op is ops.slice_ and params["step"][0] != 1:
        return False
    if not reads_cut and node.type.size < SHORTEST:
        return False
    if node.op is ops.pad:
        return not any(params["interior"])
    if node.op is ops.sum:
        return 0 not in params["axes"]
    return node.op in (ops.concatenate, ops.broadcast, ops.slice_) or isinstance(way_of(node), Pointwise)


def rows_within(node: Node, place: int, count: int) -> Rows:
    """Return those of so many rows from a place on that a value has."""
    n = node.type.shape[0]
    return min(place, n), min(place + count, n)


def repeats_rows(node: Node) -> bool:
    """Say whether all rows of a value are the same by a broadcast."""
    return node.op is ops.broadcast and 0 in dict(node.params)["axes"]


def read_by(node: Node, a: int, b: int) -> Iterator[tuple[Node, Rows]]:
    """Yield the operands of which rows of a value are computed, and which of their rows, which may be none.

    Args:
        node: the value.
        a: the first row.
        b: the row behind the last.
    """
    params = dict(node.params)
    if node.op is ops.slice_:
        start = params["start"][0]
        yield node.inputs[0], (a + start, b + start)
    elif node.op is ops.pad:
        low, n = params["low"][0], node.inputs[0].type.shape[0]
        yield node.inputs[0], (max(a - low, 0), min(b - low, n))
    elif node.op is ops.concatenate and params["axis"] == 0:
        place = 0
        for x in node.inputs:
            yield x, (max(a - place, 0), min(b - place, x.type.shape[0]))
            place += x.type.shape[0]
    else:
        for x in node.inputs:
            yield x, (a, b)


class NeededRows:
    """The rows of all values that rows of some results need.

    Attributes:
        inside: those of each value that is computed in panels, what meets together.
        outside: those of each other value, from the first to the last.
        own: the rows of results.
        elements: how many elements are computed.

    Args:
        cut: the values that are computed in panels, operands first.
        own: the rows of results.
    """

    def __init__(self, cut: Sequence[Node], own: Mapping[Node, Rows]) -> None:
        needed: dict[Node, list[Rows]] = {node: [rows] for node, rows in own.items()}
        known = set(cut)
        self.own = own
        self.outside: dict[Node, Rows] = {}
        self.elements = 0
        for node in reversed(cut):
            needed[node] = _joined(needed.get(node, ()))
            for a, b in needed[node]:
                if node.op is not ops.slice_:
                    self.elements += (b - a) * (node.type.size // node.type.shape[0])
                read = list(read_by(node, a, b))
                for x, rows in [each for each in read if each[0] in known]:
                    needed.setdefault(x, []).append(rows)
                for x, (first, last) in [each for each in read if each[0] not in known and each[1][0] < each[1][1]]:
                    before = self.outside.get(x, (first, last))
                    self.outside[x] = min(first, before[0]), max(last, before[1])
        self.inside = {node: needed[node] for node in cut}

    def further(self, rows: int) -> int:
        """Return how many times all of them may be moved on by so many rows, so that the same is computed.

        What rows of a joined or padded array are computed of changes where one of its parts begins or ends.
        """
        found = None
        for node, intervals in self.inside.items():
            edges = _edges(node)
            for a, b in intervals:
                for edge in edges:
                    if a < edge:
                        moves = 0 if edge < b else (edge - b) // rows
                        found = moves if found is None else min(found, moves)
        return 0 if found is None else found


def _edges(node: Node) -> list[int]:
    """Return where the formula of a value changes along its rows, and where they end."""
    params, n = dict(node.params), node.type.shape[0]
    if node.op is ops.pad:
        return [params["low"][0], n - params["high"][0], n]
    if node.op is ops.concatenate and params["axis"] == 0:
        return list(accumulate([x.type.shape[0] for x in node.inputs]))
    return [n]


def _joined(rows: Sequence[Rows]) -> list[Rows]:
    """Return the same rows, those that meet together."""
    found: list[Rows] = []
    for a, b in sorted(rows):
        if found and a < b and a <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], b)
        elif a < b:
            found.append((a, b))
    return found
