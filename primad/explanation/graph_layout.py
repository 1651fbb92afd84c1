"""Placing the nodes of a program: layers from left to right, near to what they are connected with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from primad.ir.node import INPUT, LITERAL, Node
from primad.ir.program import Program

SWEEPS = 24


class Layered:
    """A program's nodes on a plane.

    Attributes:
        nodes: those that are shown: literals are not.
        edges: (operand, node).
        layer: the layer of each node.
        layers: how many there are.
    """

    def __init__(self, program: Program) -> None:
        self.nodes = [node for node in program.nodes if node.op is not LITERAL]
        shown = set(self.nodes)
        self._operands = {node: [x for x in dict.fromkeys(node.inputs) if x in shown] for node in self.nodes}
        self._users: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for operand in self._operands[node]:
                self._users[operand].append(node)
        self.edges = [(operand, node) for node in self.nodes for operand in self._operands[node]]
        self.layer = self._assign_layers()
        self.layers = 1 + max(self.layer.values(), default=0)

    def _assign_layers(self) -> dict[Node, int]:
        """Count the longest path to each node; what waits for nothing but inputs stands just before its first use."""
        layer: dict[Node, int] = {}
        for node in self.nodes:
            layer[node] = 1 + max([layer[x] for x in self._operands[node]], default=-1)
        sources: set[Node] = set()
        for node in self.nodes:
            if node.op is INPUT or all(x in sources for x in self._operands[node]):
                sources.add(node)
        for node in reversed(self.nodes):
            if node in sources and self._users[node]:
                layer[node] = max(0, min(layer[user] for user in self._users[node]) - 1)
        return layer

    def heights(self, radius: Mapping[Node, float], gap: float) -> dict[Node, float]:
        """Return the height of each node, 0 in the middle: near to its neighbours', without overlap.

        Args:
            radius: of each node.
            gap: least distance between two nodes of a layer.
        """
        room = {node: radius[node] + gap / 2 for node in self.nodes}
        columns: list[list[Node]] = [[] for _ in range(self.layers)]
        for node in self.nodes:
            columns[self.layer[node]].append(node)
        y: dict[Node, float] = {}
        for column in columns:
            _spread(column, dict.fromkeys(column, 0.0), room, y)
        for sweep in range(SWEEPS):
            forward = sweep % 2 == 0
            near = self._operands if forward else self._users
            for column in columns if forward else reversed(columns):
                wanted = {node: self._wanted(node, near[node], y) for node in column}
                _spread(column, wanted, room, y)
        return y

    def _wanted(self, node: Node, near: Sequence[Node], y: Mapping[Node, float]) -> float:
        """Return the mean height of a node's neighbours, the nearest layers counting most, drawn a little to 0."""
        weights = [(1.0 / (1 + abs(self.layer[x] - self.layer[node])), y[x]) for x in near]
        total = sum(weight for weight, _ in weights)
        return 0.97 * sum(weight * at for weight, at in weights) / total if total else 0.97 * y[node]


def _spread(
    column: Sequence[Node], wanted: Mapping[Node, float], room: Mapping[Node, float], y: dict[Node, float]
) -> None:
    """Place a layer's nodes in the order of where they want to be, without overlap, around their mean."""
    ordered = sorted(column, key=lambda node: wanted[node])
    free = float("-inf")
    for node in ordered:
        y[node] = max(wanted[node], free + room[node])
        free = y[node] + room[node]
    shift = sum(wanted[node] - y[node] for node in ordered) / max(1, len(ordered))
    for node in ordered:
        y[node] += shift
