"""Periods of a recorded program: a run of nodes that repeats itself, as the steps of a loop in Python leave it.

Nodes stand in the order in which they were made. Two of them match, a period apart, if they are the same op on operands
that match too: the results of nodes a period apart, or the same value from before the run in all steps, or values that
are no results of the run (numbers, captured arrays, rows of an array that was there before). The first step of a loop
often differs from the others (it meets what was there before, and numbers for which laws hold); the run begins where it
ends.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from msgspec import Struct

from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import Leaf, Node, params_key
from primad.ir.node_arrays import NodeArrays, Places
from primad.ir.program import Program
from primad.programs import loop_sizes
from primad.programs.loop_sizes import FEWEST_STEPS
from primad.programs.rerolling.first_steps import begun
from primad.programs.rerolling.last_step import LastStep
from primad.programs.rerolling.node_sequences import NodeSequence, is_gathered, is_joined
from primad.system.machine import ASSUMED, CORE
from primad.transforms.lowering import repeated

FEWEST_NODES = loop_sizes.FEWEST_NODES
"""Nodes of a run, below which it stays as it is."""
LONG_BYTES = 2 * ASSUMED[1].size
"""Bytes of an operand of a product, from which steps are worth a loop however few nodes they have. Tuned: 12 to 50
products of matrices of 64 to 72 kB with vectors take as long either way, and of larger ones two to three times as long
one by one."""
WINDOW = 48
"""Nodes that are compared to guess a period. Chosen: longer than what repeats inside of most steps."""
ANCHORS = 8
"""Places around which a run is looked for. Chosen: a run that is a quarter of a program has one of them inside."""
MOST_GUESSES = 24
"""Guesses of a period that are tried. Chosen: parts of a step may be alike (the stages of a method)."""


class Period(Struct, frozen=True):
    """A run of steps.

    Attributes:
        nodes: the nodes that are neither leaves nor rows of them, in the order in which they were made.
        start: where the first step begins.
        length: nodes of a step.
        steps: how many there are.
        changing: whether lengths and params of integers may change from step to step.
    """

    nodes: Sequence[Node]
    start: int
    length: int
    steps: int
    changing: bool = False

    @property
    def end(self) -> int:
        """Where what comes after the run begins."""
        return self.start + self.length * self.steps

    @property
    def is_most(self) -> bool:
        """Whether its steps are most of the nodes."""
        return 2 * self.length * self.steps > len(self.nodes)


class Sequences:
    """The nodes of a program as sequences, by what is outside of them; each is made once.

    Args:
        program: the program.
        of_loops: whether rows that are gathered are left out too.
        mixed: whether values from outside of one type are rows of one array whatever they are.

    Attributes:
        ops: all nodes but the leaves, in order.
        arrays: the nodes.
    """

    def __init__(self, program: Program, of_loops: bool = False, mixed: bool = False) -> None:
        self.arrays = arrays = NodeArrays(program)
        self._leaves = np.array([isinstance(node.op, Leaf) for node in arrays.like])[arrays.kinds]
        self._views = arrays.views
        self._order = np.flatnonzero(~self._leaves[: arrays.own])
        if program.trace.several:  # else the nodes of a program stand in the order in which they were made
            index = np.array([arrays.nodes[i].index for i in self._order.tolist()], np.int64)
            self._order = self._order[np.argsort(index, kind="stable")]
        self.ops = [arrays.nodes[i] for i in self._order.tolist()]
        self._of_loops, self._mixed = of_loops, mixed
        self._before = _before_loops(self.ops) if of_loops else {}
        self._gathered = _gathered_of(self.ops) if of_loops else set()
        self._known: dict[Any, NodeSequence] = {}

    @cached_property
    def sources(self) -> frozenset[Node]:
        """The computed arrays whose rows are used often enough, and far enough apart, to be those of steps."""
        arrays = self.arrays
        users = np.flatnonzero(~self._views[: arrays.own])
        index = np.fromiter([arrays.nodes[i].index for i in users.tolist()], np.int64)
        taken, index = arrays.operands_of(users), np.repeat(index, arrays.count[users])
        rows = self._views[taken]
        root, index = arrays.shown[taken[rows]], index[rows]
        roots, first, which = np.unique(root, return_index=True, return_inverse=True)
        later = np.bincount(which[index - index[first][which] > FEWEST_NODES // 2], minlength=len(roots))
        often = roots[later >= FEWEST_STEPS // 2].tolist()
        return frozenset([arrays.nodes[i] for i in often if arrays.nodes[i].inputs])

    def of(self, sources: Collection[Node], changing: bool = False) -> NodeSequence:
        """Return the nodes that are no rows of computed sources either.

        Args:
            sources: the computed arrays.
            changing: whether lengths and params of integers may change from step to step.
        """
        outside = frozenset(sources), changing
        if outside not in self._known:
            own = self._own(outside[0])
            self._known[outside] = NodeSequence(self.arrays, own, changing, self._before, self._mixed)
        return self._known[outside]

    def among(self, nodes: Sequence[Node], left: Mapping[Node, int]) -> NodeSequence:
        """Return some of the nodes (see `NodeSequence`)."""
        return NodeSequence(self.arrays, self.arrays.places(nodes), False, left)

    def _own(self, sources: Collection[Node]) -> Places:
        """Return where the nodes stand, in order, that are neither leaves nor rows of them or of sources."""
        arrays, rows = self.arrays, self._views
        if self._of_loops:
            rows = rows.copy()
            rows[[arrays.place(node) for node in self.ops if is_gathered(node)]] = True
        ends = self._leaves.copy()
        ends[[i for i in map(arrays.place, (*sources, *self._before, *self._gathered)) if i >= 0]] = True
        roots = arrays.roots(rows & ~ends)
        own = np.ones(len(rows), bool)
        views = np.flatnonzero(rows)
        own[views] = ~ends[roots[arrays.operands[arrays.first[views]]]]
        own[list(map(arrays.place, self._before))] = False
        return self._order[own[self._order]]

    def reorder(self, moved: Sequence[tuple[Node, Node]]) -> None:
        """Take ops right behind others, as far as these do not need them: of each the one behind which it stands."""
        place: dict[Node, tuple[int, ...]] = {node: (i,) for i, node in enumerate(self.ops)}
        for node, before in moved:
            place[node] = (*place[before], 1)
        order: dict[Node, None] = {}
        for node in sorted(self.ops, key=place.__getitem__):
            stack = [node]
            while stack:
                missing = [x for x in stack[-1].inputs if x not in order and x in place]
                if missing:
                    stack += missing
                else:
                    order[stack.pop()] = None
        self.ops = list(order)
        self._order = self.arrays.places(self.ops)
        self._known = {}


def _before_loops(ops: Sequence[Node]) -> dict[Node, int]:
    """Return what many loops take from before the first of them, a value of one kind each, with a number of the kind.

    As the ends of a table's rows, they are rows of one array for a loop around the loops.
    """
    loops = [i for i, node in enumerate(ops) if node.op.programs.called]
    if len(loops) < FEWEST_STEPS:
        return {}
    early = {x for node in ops[: loops[1]] if not (node.op.memory.views or is_joined(node)) for x in node.inputs}
    late = {x for node in ops[loops[1] :] for x in node.inputs} - early
    of: dict[object, list[Node]] = {}
    for node in ops[: loops[0]]:
        if node in late and not node.op.memory.views and not isinstance(node.type, TupleType):
            of.setdefault((node.op, params_key(node.params)), []).append(node)
    return {node: kind for kind, nodes in enumerate(of.values()) if len(nodes) >= FEWEST_STEPS for node in nodes}


def _gathered_of(ops: Sequence[Node]) -> set[Node]:
    """Return the arrays from before the first loop of which rows are gathered: the same by several steps, perhaps."""
    first = next((node.index for node in ops if node.op.programs.called), 0)
    return {node.inputs[0] for node in ops if is_gathered(node) and node.inputs[0].index < first}


def takes_long(node: Node) -> bool:
    """Say whether an op moves a long array, and computes little with it: not element by element, nor to sum it up.

    Or whether Python calls it in each step of a run, and it is part of the native code of a loop, as solutions are.
    The gradient of a loop takes one product for all its steps' products of a matrix and a vector. Shifted arrays that
    no second cache holds go out to memory and come back for each op, where one function for all steps is too long:
    sixteen steps of a heat equation with a product take three to seven times as long one by one, others as long.
    """
    op = node.op
    if isinstance(op, Leaf) or op.axes.pointwise or op.memory.views or not isinstance(node.type, ArrayType):
        return False
    if repeated(node, within=True) is not None:
        return True
    if op.kind == "linear":
        return op.indexing.running is None and node.type.nbytes >= ASSUMED[2].size
    longest = max(map(_held_bytes, node.inputs), default=0)
    if longest < max(LONG_BYTES, 2 * node.type.nbytes):  # no matrix and a vector
        return False
    return bool(0 < op.cost(node).matmul_flops < CORE.flops_of_byte * longest)


def _held_bytes(node: Node) -> int:
    """Return how many bytes an array takes in memory: of windows, no more than what they show."""
    found: int = node.type.nbytes
    while not isinstance(node.op, Leaf) and node.op.memory.views:
        node = node.inputs[0]
        found = min(found, node.type.nbytes)
    return found


def is_short(nodes: Sequence[Node]) -> bool:
    """Say whether nodes are too few for a run among them to be worth a loop."""
    return len(nodes) < FEWEST_NODES and not any(map(takes_long, nodes))


def period_of(
    program: Program, changing: bool = False, of_loops: bool = False, known: Sequences | None = None
) -> Period | None:
    """Return the longest run of equal steps of a program; None if there is none worth a loop.

    Args:
        program: the program.
        changing: whether lengths and params of integers may change from step to step.
        of_loops: whether steps that have loops of their own are worth one however few nodes they are.
        known: its sequences; they are made if there are none.
    """
    if is_short(program.nodes) and not of_loops:
        return None
    known = known or Sequences(program, of_loops)
    outside = set(known.sources)
    while True:
        found = _longest_of(known.of(outside, changing), known.ops, of_loops)
        if not outside:
            return found
        if found is None:
            outside = set()
            continue
        before = set(found.nodes[: found.start])
        if outside <= before:
            return found
        outside &= before


def run_after(known: Sequences, runs: Sequence[Period]) -> Period | None:
    """Return the longest run of equal steps behind others, whose results are rows for it; None if there is none.

    Args:
        known: the sequences of the program.
        runs: those before, in order, which have their nodes in one order.
    """
    nodes, end = runs[-1].nodes, runs[-1].end
    rest = sorted(nodes[end:], key=attrgetter("index"))
    if len(rest) < FEWEST_NODES:
        return None
    left: dict[Node, int] = {}
    for run in runs:
        places = [*range(run.start, run.start + run.length)] * run.steps
        left.update(zip(nodes[run.start : run.end], places, strict=True))
    done = set(nodes[:end])
    ops = [node for node in known.ops if node.index >= rest[0].index and node not in done]
    ops.sort(key=attrgetter("index"))
    found = _longest_of(known.among(rest, left), ops, of_loops=False)
    if found is None:
        return None
    return Period([*nodes[:end], *found.nodes], end + found.start, found.length, found.steps)


def _longest_of(sequence: NodeSequence, ops: Sequence[Node], of_loops: bool) -> Period | None:
    """Return the longest run among nodes; `ops` are all of the program among which these are, in order."""
    nodes = sequence.nodes
    best = 0, 0, 1
    for middle in sorted(range(0, len(nodes), max(1, len(nodes) // ANCHORS)), key=lambda i: abs(2 * i - len(nodes))):
        if best[1] - best[0] > len(nodes) // 2 or best[0] <= middle < best[1]:
            continue
        for lag in guesses(sequence.kinds, middle):
            if all(node.op.memory.views for node in nodes[middle : middle + lag]):
                continue  # a loop of views computes nothing
            start, end = extent(sequence, middle, lag)
            steps = (end - start) // lag
            short = steps * lag < FEWEST_NODES and not any(map(takes_long, nodes[start : start + lag]))
            if short and of_loops:
                short = not any(node.op.programs.called for node in nodes[start : start + lag])
            if steps > FEWEST_STEPS and not short and end - start > best[1] - best[0]:
                best = start, end, lag
                break
    start, end, lag = best
    if end == 0:
        return None
    start += lag  # what steps use that far back must be there
    found = _with_first_steps(sequence, ops, start, end, lag)
    turned = None if sequence.changing else _joins_early(sequence, start, end, lag)
    if turned is not None:
        place = dict(zip(turned, sorted([node.index for node in turned]), strict=True))
        ops = sorted(ops, key=lambda node: place.get(node, node.index))
        again, stop = sequence.reordered(turned), end - (end - start) % lag
        stop += again.count_equal(stop, len(turned), lag, stop - lag)
        other = _with_first_steps(again, ops, start, stop, lag)
        if other.steps > found.steps:
            found = other
    return None if found.steps < FEWEST_STEPS else found


def _with_first_steps(sequence: NodeSequence, ops: Sequence[Node], start: int, end: int, lag: int) -> Period:
    """Return a run with the first and last steps that belong to it, and begun where little is carried."""
    every, begin, steps = begun(sequence, ops, range(len(sequence.nodes)), start, end, lag, sequence.alike)
    run = range(begin, begin + steps * lag)
    first = {every[i]: i for i in range(begin, len(every) - (end - start))}
    later = len(every) - end  # by how much the others stand elsewhere now

    def place(node: Node) -> int | None:
        if node in first:
            return first[node]
        at = sequence.place(node)
        return later + at if start <= at and later + at in run else None

    every += sequence.nodes[end:]
    few = sequence.changing or steps < FEWEST_STEPS
    longer = None if few else LastStep(every, run.start, run.stop, lag, sequence.alike, place).among()
    return Period(longer or every, begin, lag, steps + (longer is not None), sequence.changing)


def _joins_early(sequence: NodeSequence, start: int, end: int, lag: int) -> list[Node] | None:
    """Return nodes with what whole steps join where it can be; None if all is there already.

    Python reads an array that was written into when it is first computed with, which may be in the middle of a step.
    What the first step reads is there before: it does the same only if the others join it before all else.
    """
    nodes, begin = sequence.nodes, start + lag * ((end - start) // lag // 2)
    early = [r for r in range(lag) if is_joined(nodes[begin + r]) and max(sequence.taken(begin + r)) >= start]
    needs = {r: {x - begin for x in sequence.taken(begin + r) if x >= begin} for r in early}
    users: dict[int, list[int]] = {}
    for r in early:
        for x in needs[r]:
            users.setdefault(x, []).append(r)
    order: dict[int, None] = {}
    for first in (*[r for r in early if not needs[r]], *[r for r in range(lag) if r not in needs]):
        ready = [first]
        while ready:
            r = ready.pop()
            order[r] = None
            for user in users.get(r, ()):
                needs[user].discard(r)
                ready += [] if needs[user] else [user]
    if list(order) == sorted(order):
        return None
    stop = end - (end - start) % lag
    places = [step + r for step in range(start - lag, stop, lag) for r in order]  # from one before on they are alike
    return [*nodes[: start - lag], *[nodes[i] for i in places], *nodes[stop:]]


def guesses(kinds: Places, middle: int) -> list[int]:
    """Return how far from a place what stands there is found again."""
    window = min(WINDOW, len(kinds) // 4)
    places = np.arange(middle + 1, len(kinds) - window)
    for ahead in range(window):
        if not places.size:
            break
        places = places[kinds[places + ahead] == kinds[middle + ahead]]
    found: list[int] = (places[:MOST_GUESSES] - middle).tolist()
    return found


def extent(sequence: NodeSequence, middle: int, lag: int) -> tuple[int, int]:
    """Return where the run around a place begins and ends in which nodes match those a period before."""
    start = end = middle + lag
    start -= sequence.count_equal(start - 1, lag - 1, lag, middle)
    anchor = max(start, middle)
    end += sequence.count_equal(end, len(sequence.nodes), lag, anchor)
    return max([start - lag, *[x + 1 for x in shared_values(sequence, anchor, end, lag)]]), end


def shared_values(sequence: NodeSequence, anchor: int, end: int, lag: int) -> list[int]:
    """Return where values were made that all steps use, which are from before the first of them.

    Args:
        sequence: the nodes.
        anchor: where a step begins.
        end: where the steps end.
        lag: nodes of a step.
    """
    return [
        x
        for i in range(anchor, min(anchor + lag, end))
        for x, y in zip(sequence.taken(i), sequence.taken(i - lag), strict=True)
        if x == y
    ]
