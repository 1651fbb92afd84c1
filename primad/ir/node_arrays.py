"""The nodes of a program as arrays of numbers, in which thousands of them are compared at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from primad.ir.array_types import TupleType
from primad.ir.node import Leaf, Neutral, Node, params_key
from primad.ir.program import Program

Places = np.ndarray[Any, np.dtype[np.int64]]


class NodeArrays:
    """The nodes of a program, and those of older traces that they take, as arrays of numbers.

    Args:
        program: the program.

    Attributes:
        nodes: its nodes in order, operands first, and behind them those of older traces.
        own: how many of them are its own.
        like: a node of each kind. Nodes are of one kind if they are the same op of as many operands, with equal params
            and a result of the same type; leaves are if their types are equal.
        kinds: the kind of each node.
        count: how many operands each of its own nodes has.
        first: where those of each node begin.
        operands: where these stand, those of all nodes in a row.
    """

    def __init__(self, program: Program) -> None:
        outside = program.captured
        self.nodes = [*program.nodes, *outside]
        self.own = len(program.nodes)
        self._trace, self._neutral = program.trace, program.neutral
        self.like: list[Node] = []
        flat: list[Node] = []
        self.kinds = np.array(self._numbered_kinds(flat), np.int64)
        self.count = np.array([len(node.inputs) for node in self.like], np.int64)[self.kinds[: self.own]]
        self.first = np.cumsum(self.count) - self.count
        self._at = np.full(program.trace.size, -1)
        indices = np.fromiter(map(attrgetter("index"), program.nodes), np.int64, self.own)
        self._at[indices] = np.arange(self.own)
        self._place = self._at.data  # gives a number alone in a third of the time
        self._others = {x: self.own + i for i, x in enumerate(outside)}
        if outside:
            self.operands = np.array(list(map(self.place, flat)), np.int64)
        else:
            self.operands = self._at[np.fromiter(map(attrgetter("index"), flat), np.int64, len(flat))]

    def _numbered_kinds(self, flat: list[Node]) -> list[int]:
        """Return the kinds of all nodes. Most have params and types that others have too, as objects.

        Args:
            flat: where to put the operands of its own nodes.
        """
        kinds: dict[object, int] = {}
        quick: dict[object, int] = {}
        found: list[int] = []
        for nodes, taken in ((self.nodes[: self.own], flat), (self.nodes[self.own :], list[Node]())):
            for node in nodes:
                op, inputs = node.op, node.inputs
                taken += inputs
                same = (op, id(node.params), id(node.type), len(inputs)) if inputs else (op, id(node.type))
                kind = quick.get(same)
                if kind is None:
                    key = op, params_key(node.params) if inputs else None, node.type, len(inputs)
                    kind = quick[same] = kinds.setdefault(key, len(kinds))
                    if kind == len(self.like):
                        self.like.append(node)
                found.append(kind)
        return found

    def place(self, node: Node) -> int:
        """Return where a node stands; -1 if it is no node of the program, and none takes it."""
        if node.trace is not self._trace:
            return self._others.get(node, -1)
        at: int = self._place[node.index]
        return at if at >= 0 and self.nodes[at] is node else -1

    def places(self, nodes: Iterable[Node]) -> Places:
        """Return where nodes of the program stand."""
        found: Places = self._at[np.fromiter(map(attrgetter("index"), nodes), np.int64)]
        return found

    def of_kinds(self, what: Callable[[Node], Any], nothing: Any = False) -> np.ndarray[Any, Any]:
        """Return for each node what a function says of one of its kind, and something else for leaves."""
        said = np.array([nothing if isinstance(node.op, Leaf) else what(node) for node in self.like])
        return said[self.kinds]

    def operands_of(self, nodes: Places) -> Places:
        """Return where the operands of some of its own nodes stand, those of all nodes in a row."""
        count = self.count[nodes]
        begin = self.first[nodes] - (np.cumsum(count) - count)
        found: Places = self.operands[np.repeat(begin, count) + np.arange(count.sum())]
        return found

    @cached_property
    def left_out(self) -> dict[Node, list[Neutral]]:
        """The ops that laws left out while the program was recorded, by what they are."""
        found: dict[Node, list[Neutral]] = {}
        for each in self._neutral:
            found.setdefault(each[-1], []).append(each)
        return found

    @cached_property
    def views(self) -> np.ndarray[Any, Any]:
        """Which of the nodes show elements of an array; those of older traces do not count."""
        found = self.of_kinds(lambda x: bool(x.op.memory.views) and not isinstance(x.inputs[0].type, TupleType))
        found[self.own :] = False
        return found

    @cached_property
    def shown(self) -> Places:
        """Where the array stands whose elements each node shows; of one that is no view it is the node."""
        return self.roots(self.views)

    def roots(self, views: np.ndarray[Any, Any]) -> Places:
        """Return where one comes to from each node as long as there is a view of something.

        Args:
            views: which nodes are views, of their first operand.
        """
        found = np.arange(len(self.nodes))
        own = np.flatnonzero(views)
        found[own] = self.operands[self.first[own]]
        while True:  # twice as far each time
            further = found[found]
            if (further == found).all():
                return further
            found = further
