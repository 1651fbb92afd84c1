"""Walks of graphs: what results are computed of, what depends on a value, what uses it. None of them recurs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter

from primad.ir.array_types import TupleType
from primad.ir.node import Node, Trace

NODE_BYTES = 800
"""Bytes of a node with its entry in its trace and what notes how it was asked for. Measured by tracemalloc."""


def reachable(outputs: Iterable[Node], trace: Trace) -> tuple[list[Node], list[Node]]:
    """Walk back from `outputs` without recursion.

    Returns:
        the nodes of `trace` in an order where inputs come first, and the captured nodes of other traces. The results
        of an op that has several follow it at once, in their order, whenever they were asked for.
    """
    inside: list[Node] = []
    captured: list[Node] = []
    stack = list(dict.fromkeys(outputs))
    seen = set(stack)
    while stack:
        node = stack.pop()
        if node.trace is not trace:
            captured.append(node)
            continue
        inside.append(node)
        for operand in node.inputs:
            if operand not in seen:
                seen.add(operand)
                stack.append(operand)
    inside.sort(key=_place if trace.several else attrgetter("index"))
    captured.sort(key=lambda node: (node.trace.age, node.index))
    return inside, captured


def _place(node: Node) -> tuple[int, int]:
    """Return where a node stands in a program whose ops may have several results."""
    if len(node.inputs) == 1 and isinstance(node.inputs[0].type, TupleType):
        return node.inputs[0].index, 1 + int(node.params[0][1])
    return node.index, 0


def needed_between(inputs: Collection[Node], outputs: Sequence[Node]) -> set[Node]:
    """Return the nodes that are needed to compute some nodes when others are known, with both."""
    stop = set(inputs)
    needed: set[Node] = set()
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            if node not in stop:
                stack.extend(node.inputs)
    return needed


def dependents(nodes: Sequence[Node], starts: Iterable[Node]) -> set[Node]:
    """Return some values and what depends on them, among nodes in order."""
    found = set(starts)
    for node in nodes:
        if not found.isdisjoint(node.inputs):
            found.add(node)
    return found


def users_of(nodes: Iterable[Node]) -> dict[Node, list[Node]]:
    """Return for each operand of some nodes which of them take it, in their order; twice where they take it twice."""
    found: dict[Node, list[Node]] = {}
    for node in nodes:
        for operand in node.inputs:
            found.setdefault(operand, []).append(node)
    return found
