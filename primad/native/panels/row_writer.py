"""Rows of values, computed of rows of other values: the nodes of one panel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import LITERAL, Node, Operation, Params, Trace, literal_value, named
from primad.native.panels.needed_rows import NeededRows, Rows, read_by, repeats_rows


class RowWriter:
    """The nodes of one panel.

    Args:
        trace: where they are built.
        needed: which rows of all values it computes.
        rows_of: returns rows of a value that is not computed in panels.
        repeated: returns so many rows of a value that repeats one.
    """

    def __init__(
        self,
        trace: Trace,
        needed: NeededRows,
        rows_of: Callable[[Node, int, int], Node],
        repeated: Callable[[Node, int], Node],
    ) -> None:
        self._trace, self._rows_of, self._repeated = trace, rows_of, repeated
        self._pieces: dict[Node, list[tuple[int, int, Node]]] = {}
        for node, intervals in needed.inside.items():
            self._pieces[node] = [(a, b, self._computed(node, a, b)) for a, b in intervals]

    def read(self, node: Node, a: int, b: int) -> Node:
        """Return rows of a value."""
        if node.op is LITERAL:
            return self._trace.literal(literal_value(node), ArrayType((b - a, *node.type.shape[1:]), node.type.dtype))
        if repeats_rows(node):
            return self._repeated(node, b - a)
        if node not in self._pieces:
            return self._rows_of(node, a, b)
        first, _, piece = next(found for found in self._pieces[node] if found[0] <= a and b <= found[1])
        return rows_from(self._trace, piece, (a - first, b - first))

    def _computed(self, node: Node, a: int, b: int) -> Node:
        params = dict(node.params)
        read = [self.read(x, *rows) for x, rows in read_by(node, a, b) if rows[0] < rows[1]]
        if node.op is ops.slice_:
            start, stop = (0, *params["start"][1:]), (b - a, *params["stop"][1:])
            return _sliced(self._trace, read[0], start, stop, params["step"])
        if node.op is ops.pad:
            return self._padded(node, read, a, b)
        if node.op is ops.concatenate and len(read) == 1:
            return read[0]
        changed = {**params, "shape": (b - a, *node.type.shape[1:])} if node.op is ops.broadcast else params
        return self._made(node.op, tuple(read), tuple(changed.items()))

    def _padded(self, node: Node, read: Sequence[Node], a: int, b: int) -> Node:
        params: dict[str, Any] = dict(node.params)
        if not read:
            return self._trace.literal(0, ArrayType((b - a, *node.type.shape[1:]), node.type.dtype))
        before = max(params["low"][0] - a, 0)
        low = (before, *params["low"][1:])
        high = (b - a - before - read[0].type.shape[0], *params["high"][1:])
        if not any((*low, *high)):
            return read[0]
        return self._made(node.op, tuple(read), named({**params, "low": low, "high": high}))

    def _made(self, op: Operation, inputs: tuple[Node, ...], params: Params) -> Node:
        return self._trace.place(op, inputs, params)


def rows_from(trace: Trace, node: Node, rows: Rows) -> Node:
    """Return rows of a value that is there."""
    shape = node.type.shape
    start, stop = (rows[0], *[0] * (len(shape) - 1)), (rows[1], *shape[1:])
    return _sliced(trace, node, start, stop, (1,) * len(shape))


def _sliced(trace: Trace, node: Node, start: Sequence[int], stop: Sequence[int], step: Sequence[int]) -> Node:
    if not any(start) and tuple(stop) == node.type.shape and set(step) == {1}:
        return node
    return trace.place(ops.slice_, (node,), (("start", tuple(start)), ("step", tuple(step)), ("stop", tuple(stop))))
