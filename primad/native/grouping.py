"""Which pointwise steps of a program can share a loop.

Steps with equal shape and float type belong together when no other step lies between them. Counting, for each step, how
often a path to it changes from group work to other work and back gives that at once: every edge that leaves a group
leads to a larger count, so groups of equal counts never wait for each other in a circle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from primad.ir.node import LITERAL, Node

Key = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape and float type of a pointwise step."""


def components(steps: Sequence[Node], keys: dict[Node, Key]) -> Iterator[list[Node]]:
    """Yield the groups: steps of equal key and count that are connected by values or by operands that they share."""
    numbers: dict[Key, int] = {}
    kind = {node: numbers.setdefault(key, len(numbers)) for node, key in keys.items()}
    count: dict[Node, int] = {}
    parent = {node: node for node in kind}
    readers: dict[tuple[Node, int, int], Node] = {}

    def root(node: Node) -> Node:
        while parent[node] is not node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for node in steps:
        own = kind.get(node)
        # Only the edges out of a group count: what comes after them can never lead back into it.
        level = 0
        for x in node.inputs:
            if x in count:
                level = max(level, count[x] + (x in kind and kind[x] != own))
        count[node] = level
        if own is None:
            continue
        for x in node.inputs:
            if x.op is not LITERAL:
                inside = kind.get(x) == own and count[x] == level
                other = x if inside else readers.setdefault((x, own, level), node)
                parent[root(other)] = node  # which nothing has joined yet, so that it stands for itself
    found: dict[Node, list[Node]] = {}
    for node in steps:
        if node in kind:
            found.setdefault(root(node), []).append(node)
    yield from found.values()
