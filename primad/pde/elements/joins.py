"""Nodes that are one: at both ends of periodic coordinates, and of two unknowns between materials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from primad.pde.geometry.sampling import Array


class NodeJoins(NamedTuple):
    """What nodes have in common.

    Attributes:
        same: for each node the one that it has its value from, itself for most.
        jumps: by how much each value is larger than there.
        factors: of the equation for each node, which is added to that one's.
    """

    same: Array
    jumps: Array
    factors: Array


def same_places(first: Array, second: Array) -> Array:
    """Return for each of some points which of others it is."""
    from scipy.spatial import cKDTree  # loads when it is called

    return np.asarray(cKDTree(second).query(first)[1])


def joined(count: int, pairs: Sequence[tuple[Array, Array, Array, float]], held: Array) -> NodeJoins:
    """Return what nodes have in common.

    Args:
        count: how many nodes there are.
        pairs: nodes that are one: the first ones, the second ones, by how much these are larger, and the factor of
            their equations.
        held: nodes whose values are given, which have these.
    """
    from scipy.sparse import coo_array  # loads when it is called
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    same, jumps, factors = np.arange(count), np.zeros(count), np.ones(count)
    if not pairs:
        return NodeJoins(same, jumps, factors)
    first, second = (np.concatenate([pair[i] for pair in pairs]) for i in range(2))
    steps = np.concatenate([pair[2] for pair in pairs])
    ratios = np.concatenate([np.full(len(pair[0]), pair[3]) for pair in pairs])
    ends_of = zip(first.tolist(), second.tolist(), strict=True)
    ways = dict(zip(ends_of, zip(steps.tolist(), ratios.tolist(), strict=True), strict=True))
    nodes = np.unique(np.concatenate([first, second]))
    graph = coo_array((np.ones(len(first)), (first, second)), shape=(count, count))
    number = connected_components(graph, directed=False)[1][nodes]
    given = np.isin(nodes, held)
    lone = ~np.isin(number, number[given])
    begins = np.unique(number[lone], return_index=True)[1]
    roots = np.concatenate([nodes[given], nodes[lone][begins]])
    ends = np.concatenate([first, np.full(len(roots), count)]), np.concatenate([second, roots])
    whole = coo_array((np.ones(len(ends[0])), ends), shape=(count + 1, count + 1)).tocsr()
    order, before = breadth_first_order(whole, count, directed=False)
    for node in order[1 + len(roots) :].tolist():
        last = int(before[node])
        step, ratio = ways[last, node] if (last, node) in ways else _back(ways[node, last])
        same[node], jumps[node], factors[node] = same[last], jumps[last] + step, factors[last] * ratio
    return NodeJoins(same, jumps, factors)


def _back(way: tuple[float, float]) -> tuple[float, float]:
    return -way[0], 1 / way[1]
