"""Which pointwise steps of a program can share a loop, and in what order groups of steps run.

Steps with equal shape and size of numbers belong together when no other step lies between them. Counting, for each
step, how often a path to it changes from group work to other work and back gives that at once: every edge that leaves a
group leads to a larger count, so groups of equal counts never wait for each other in a circle.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from primad.ir.node import FLOAT64, LITERAL, Node
from primad.native.llvm.vectors import BOOL, BY_SIZE

Key = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape of a pointwise step, and a dtype of the size of its largest numbers, by which the lanes of a vector follow."""


def key_of(node: Node, keys: Mapping[Node, Key]) -> Key | None:
    """Return the key of a pointwise step; None for one of truth values that come from no step with a key.

    Args:
        node: the step.
        keys: those of steps before.
    """
    size = 0
    for x in (node, *node.inputs):
        dtype = x.type.dtype
        if dtype != BOOL and dtype.itemsize > size:
            size = dtype.itemsize
    if size:
        return node.type.shape, BY_SIZE[size]
    inherited = [keys[x][1] for x in node.inputs if x in keys]
    return (node.type.shape, inherited[0]) if inherited else None


def keys_of(steps: Iterable[Node]) -> dict[Node, Key]:
    """Return the keys of pointwise steps; truth values that come from no step with a key have that of numbers."""
    keys: dict[Node, Key] = {}
    for node in steps:
        keys[node] = key_of(node, keys) or (node.type.shape, FLOAT64)
    return keys


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


def in_order(before: Sequence[Collection[int]], rank: Sequence[int]) -> Iterator[int]:
    """Yield numbers, each after those that it waits for, and otherwise those of the lowest rank first.

    Args:
        before: for each number, those that it waits for, in no circle.
        rank: their ranks, all different.
    """
    waiting = [set(others) for others in before]
    users: list[list[int]] = [[] for _ in before]
    for i, others in enumerate(waiting):
        for other in others:
            users[other].append(i)
    ready = [(rank[i], i) for i, others in enumerate(waiting) if not others]
    heapq.heapify(ready)
    while ready:
        _, i = heapq.heappop(ready)
        yield i
        for user in users[i]:
            waiting[user].discard(i)
            if not waiting[user]:
                heapq.heappush(ready, (rank[user], user))
