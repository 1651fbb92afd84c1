"""Runs of a recorded program that come again: the loops inside of a loop, as those along the rows of a table.

The steps of such a loop take what those of the loop before computed, a row above, so that nothing but numbers would be
carried from row to row if the rows were unrolled. All runs of one period are found at once. When they are loops, the
rows are short steps, which may be a loop themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from primad.ir.node import Node
from primad.ir.program import Program
from primad.programs.loop_sizes import FEWEST_STEPS
from primad.programs.rerolling import repeated_runs
from primad.programs.rerolling.first_steps import begun
from primad.programs.rerolling.last_step import LastStep
from primad.programs.rerolling.node_sequences import NodeSequence
from primad.programs.rerolling.repeated_runs import (
    Period,
    Sequences,
    shared_values,
)

LONGEST_STEPS = 96
"""Nodes of a step of a loop inside of a loop, up to which all lengths are looked at. Chosen: each is compared with all
nodes at once, some thousand in a microsecond."""
MOST_TRIED = 4
"""Lengths of a step that are tried, of those after which ops come again. Chosen: nearly always the first is right."""


def runs_in_rows(program: Program, of_loops: bool = False, known: Sequences | None = None) -> list[Period]:
    """Return runs of equal steps, many of them one after the other, in order; none if they are few.

    Args:
        program: the program.
        of_loops: whether steps that have loops of their own are worth one however few nodes they are.
        known: its sequences; they are made if there are none.
    """
    if len(program.nodes) < repeated_runs.FEWEST_NODES and not of_loops:
        return []
    known = known or Sequences(program, of_loops)
    outside = set(known.sources)
    while True:
        found = _runs(known.ops, known.of(outside).looking(FEWEST_STEPS), of_loops)
        if not found or not outside:
            return found
        before = set(found[0].nodes[: found[0].start])
        if outside <= before:
            return found
        outside &= before


def _runs(ops: Sequence[Node], sequence: NodeSequence, of_loops: bool) -> list[Period]:
    """Return the runs among nodes; none if they are not most of these. `ops` are all of the program, in order."""
    lag, equal = _shortest(sequence)
    if len(equal) < FEWEST_STEPS:
        return []
    rows = _Rows(ops, sequence, lag)
    takers, taken = sequence.taken_from_afar(lag)
    nodes: list[Node] = []
    runs: list[tuple[int, int]] = []
    done = 0
    for start, end in equal:
        start += max(0, -((start - done) // lag)) * lag
        if end - start < FEWEST_STEPS * lag:
            continue
        own, begin, steps = rows.begun(done, start, end)
        inside = set(own[begin:])
        afar = taken[np.searchsorted(takers, start + lag) : np.searchsorted(takers, end)]
        alone = inside.isdisjoint([sequence.nodes[i] for i in afar.tolist()])
        if alone and runs and steps == runs[-1][1] - 1:
            own, end, steps = _with_last_step(sequence, own, range(begin, begin + steps * lag), end, lag)
        if alone and steps >= FEWEST_STEPS:
            runs.append((len(nodes) + begin, steps))
        nodes += own
        done = end
    lengths = Counter([steps for _, steps in runs])
    if 2 * max(lengths.values(), default=0) < len(runs):  # loops of so many lengths are no steps of a loop
        return []
    total = sum(steps for _, steps in runs) * lag
    long = any(node.op.programs.called for node in nodes[-lag:]) if of_loops else False
    fewest = 0 if long else repeated_runs.FEWEST_NODES
    if len(runs) < FEWEST_STEPS or total < max(fewest, len(sequence.nodes) // 2):
        return []
    nodes += sequence.nodes[done:]
    return [Period(nodes, start, lag, steps) for start, steps in runs]


class _Rows:
    """Runs with the first steps that belong to each, which are looked for once of all that do the same.

    Args:
        ops: all nodes of the program, in order.
        sequence: those among which the runs are.
        lag: nodes of a step.
    """

    def __init__(self, ops: Sequence[Node], sequence: NodeSequence, lag: int) -> None:
        self._ops, self._sequence, self._lag = ops, sequence, lag
        self._order = sequence.arrays.places(ops)
        self._rank = np.full(len(sequence.arrays.nodes), -1)
        self._rank[self._order] = np.arange(len(ops))
        kinds: dict[object, int] = {}
        like = sequence.arrays.like
        self._types = np.array([-1 - kinds.setdefault((node.op, node.type), len(kinds)) for node in like])
        self._kinds = self._types.copy()  # views of others are none of the sequence's nodes whatever they show
        self._kinds[sequence.kinds] = sequence.kinds
        self._known: dict[Any, tuple[list[int], int, int]] = {}

    def begun(self, done: int, start: int, end: int) -> tuple[list[Node], int, int]:
        """Return a run with its first steps (see `begun`).

        Args:
            done: where the nodes begin among which these are.
            start: where steps begin that are known to be equal.
            end: where they end.
        """
        first, last = (int(self._rank[self._sequence.own[i]]) for i in (done, end - 1))
        between = self._ops[first : last + 1]
        key = start - done, *self._form(first, last + 1, done)
        found = self._known.get(key)
        if found is None:
            own, begin, steps = begun(self._sequence, between, range(done, end), start, end, self._lag, _is_alike)
            places = (self._rank[self._sequence.arrays.places(own)] - first).tolist()
            self._known[key] = places, begin, steps
            return own, begin, steps
        places, begin, steps = found
        return [between[i] for i in places], begin, steps

    def _form(self, first: int, stop: int, done: int) -> tuple[bytes, ...]:
        """Return what is equal of nodes that do the same: their kinds, and which of their operands are one value."""
        arrays, own = self._sequence.arrays, self._order[first:stop]
        operands = arrays.operands_of(own)
        inside = self._rank[operands] - first
        outside = np.flatnonzero(inside < 0)
        others = operands[outside]
        _, before, which = np.unique(others, return_index=True, return_inverse=True)
        inside[outside] = -1 - before[which]  # the place of the first that takes it
        at = np.maximum(self._sequence.at[own] - done, -1)
        kinds = self._kinds[arrays.kinds[own]], self._types[arrays.kinds[others]]
        return tuple([each.tobytes() for each in (*kinds, inside, at)])


def _with_last_step(
    sequence: NodeSequence, own: Sequence[Node], run: range, end: int, lag: int
) -> tuple[list[Node], int, int]:
    """Return a run with its last step, which lacks what nobody uses, as in the last of many rows.

    Args:
        sequence: the nodes.
        own: the nodes of the run, and those around it.
        run: which of them are those of the run.
        end: where what comes after them begins.
        lag: nodes of a step.

    Returns:
        The nodes, with those of the last step; where what comes after them begins; and how many steps there are.
    """
    behind = [*own[run.stop :], *sequence.nodes[end : end + 2 * lag]]
    later = set(behind)

    def alike(x: Node, y: Node) -> bool:
        return _is_alike(x, y) and y not in later

    place = {own[i]: i for i in run}
    found = LastStep([*own[: run.stop], *behind], run.start, run.stop, lag, alike, place.get).among()
    if found is None:
        return list(own), end, len(run) // lag
    last = set(found[run.stop : run.stop + lag])
    taken = max(len(own) - run.stop, 1 + max([i for i, node in enumerate(behind) if node in last]))
    nodes = [*found[: run.stop + lag], *[node for node in behind[:taken] if node not in last]]
    return nodes, end + taken - len(own) + run.stop, len(run) // lag + 1


def _shortest(sequence: NodeSequence) -> tuple[int, list[tuple[int, int]]]:
    """Return the length of the shortest steps that are most of the nodes, and where runs of them begin and end."""
    kinds, tried = sequence.kinds, 0
    for lag in range(1, min(LONGEST_STEPS, len(kinds) // FEWEST_STEPS)):
        same = kinds[lag:] == kinds[:-lag]
        if 2 * np.count_nonzero(same) < len(kinds):
            continue
        if 2 * sum(stop - start for start, stop in _stretches(same, lag)) < len(kinds):
            continue
        found = _equal(sequence, lag)
        if 2 * sum(stop - start for start, stop in found) >= len(kinds):
            return lag, found
        tried += 1
        if tried == MOST_TRIED:
            break
    return 0, []


def _stretches(same: np.ndarray[Any, Any], lag: int) -> list[list[int]]:
    """Return where nodes begin and end that are equal to those before them, some steps one after the other."""
    edges = np.flatnonzero(np.diff(same.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    found: list[list[int]] = edges[edges[:, 1] - edges[:, 0] >= (FEWEST_STEPS - 1) * lag].tolist()
    return found


def _equal(sequence: NodeSequence, lag: int) -> list[tuple[int, int]]:
    """Return where steps begin and end that are equal to those before them, which are none of them."""
    stretches = _stretches(sequence.equal(np.arange(lag, len(sequence.nodes)), lag), lag)
    if len(stretches) < FEWEST_STEPS:
        return [(start + lag, end + lag) for start, end in stretches]
    nodes = np.concatenate([np.arange(start, end) for start, end in stretches]) + lag
    middles = [start + lag + (end - start - lag) // 2 for start, end in stretches]
    same = sequence.equal(nodes, lag, np.repeat(middles, [end - start for start, end in stretches]))
    found, done = [], 0
    for (start, end), middle in zip(stretches, middles, strict=True):
        at = middle - start  # in the stretch, a period behind the middle
        own = same[done : done + end - start]
        done += end - start
        before, after = np.flatnonzero(~own[:at]), np.flatnonzero(~own[at:])
        begin = start + lag + (int(before[-1]) + 1 if before.size else 0)
        stop = middle + lag + (int(after[0]) if after.size else end - start - at)
        found.append(
            (max([begin, *[x + 1 + lag for x in shared_values(sequence, max(begin, middle), stop, lag)]]), stop)
        )
    return found


def _is_alike(x: Node, y: Node) -> bool:
    """Say whether two values from before a run can be rows of one array: whatever they are, they are stacked."""
    return x.type == y.type
