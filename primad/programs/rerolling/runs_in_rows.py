"""Runs of a recorded program that come again: the loops inside of a loop, as those along the rows of a table.

The steps of such a loop take what those of the loop before computed, a row above, so that nothing but numbers would be
carried from row to row if the rows were unrolled. All runs of one period are found at once. When they are loops, the
rows are short steps, which may be a loop themselves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from operator import attrgetter

import numpy as np

from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.programs.rerolling import repeated_runs
from primad.programs.rerolling.node_sequences import NodeSequence, are_alike
from primad.programs.rerolling.repeated_runs import (
    ANCHORS,
    FEWEST_STEPS,
    Period,
    begun,
    extent,
    guesses,
    own_nodes,
    sources,
)


def runs_in_rows(program: Program) -> list[Period]:
    """Return runs of equal steps, many of them one after the other, in order; none if they are few."""
    if len(program.nodes) < repeated_runs.FEWEST_NODES:
        return []
    outside = sources(program)
    while True:
        found = _runs(program, outside)
        if not found or not outside:
            return found
        before = set(found[0].nodes[: found[0].start])
        if outside <= before:
            return found
        outside &= before


def _runs(program: Program, outside: Collection[Node]) -> list[Period]:
    """Return the runs if computed arrays are what rows are taken of; none if they are not most of the nodes."""
    sequence = NodeSequence(own_nodes(program, outside), False)
    lag = _shortest(sequence)
    if lag is None:
        return []
    ops = sorted([node for node in program.nodes if not isinstance(node.op, Leaf)], key=attrgetter("index"))
    places = [node.index for node in ops]
    nodes: list[Node] = []
    runs: list[tuple[int, int]] = []
    for start, end in _equal(sequence, lag):
        done = len(nodes)
        start += max(0, -((start - done) // lag)) * lag
        if end - start < FEWEST_STEPS * lag:
            continue
        between = ops[
            bisect_left(places, sequence.nodes[done].index) : 1 + bisect_left(places, sequence.nodes[end - 1].index)
        ]
        alike = _Alike(sequence, done, lag)
        own, begin, steps = begun(sequence, between, range(done, end), start, end, lag, alike)
        nodes += own
        if steps >= FEWEST_STEPS:
            runs.append((done + begin, steps))
    total = sum(steps for _, steps in runs) * lag
    if len(runs) < FEWEST_STEPS or total < max(repeated_runs.FEWEST_NODES, len(sequence.nodes) // 2):
        return []
    nodes += sequence.nodes[len(nodes) :]
    return [Period(nodes, start, lag, steps) for start, steps in runs]


def _shortest(sequence: NodeSequence) -> int | None:
    """Return the length of the shortest steps that are found around some places."""
    nodes = sequence.nodes
    found = []
    for middle in range(0, len(nodes), max(1, len(nodes) // ANCHORS)):
        for lag in guesses(sequence.kinds, middle):
            start, end = extent(sequence, middle, lag)
            if end - start > FEWEST_STEPS * lag:
                found.append(lag)
                break
    return min(found, default=None)


def _equal(sequence: NodeSequence, lag: int) -> list[tuple[int, int]]:
    """Return where steps begin and end that are equal to those before them, which are none of them."""
    same = sequence.equal(np.arange(lag, len(sequence.nodes)), lag, None)
    edges = np.flatnonzero(np.diff(same.astype(np.int8), prepend=0, append=0)) + lag
    found = []
    for start, end in edges.reshape(-1, 2).tolist():
        if end - start >= FEWEST_STEPS * lag:
            begin, stop = extent(sequence, start + (end - start - lag) // 2, lag)
            found.append((begin + lag, stop))
    return found


class _Alike:
    """Whether two values from outside of a run can be rows of one array: also what steps of a run before it computed.

    Args:
        sequence: the nodes.
        before: where what comes before the run ends.
        lag: nodes of a step.
    """

    def __init__(self, sequence: NodeSequence, before: int, lag: int) -> None:
        self._sequence, self._before, self._lag = sequence, before, lag

    def __call__(self, x: Node, y: Node) -> bool:
        one, other = self._sequence.place(x), self._sequence.place(y)
        if 0 <= one < self._before and 0 <= other < self._before:
            return bool(self._sequence.kinds[one] == self._sequence.kinds[other] and (one - other) % self._lag == 0)
        return are_alike(x, y)
