"""Periods of a recorded program: a run of nodes that repeats itself, as the steps of a loop in Python leave it.

Nodes stand in the order in which they were made. Two of them match, a period apart, if they are the same op on operands
that match too: the results of nodes a period apart, or the same value from before the run in all steps, or values that
are no results of the run (numbers, captured arrays, rows of an array that was there before). The first step of a loop
often differs from the others (it meets what was there before, and numbers for which laws hold); the run begins where it
ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from primad.ir.array_types import TupleType
from primad.ir.node import CAPTURED, LITERAL, Leaf, Node, literal_value, param_key, params_key
from primad.ir.program import Program
from primad.programs.loops.first_steps import FirstSteps

FEWEST_NODES = 250
"""Nodes of a run, below which it stays as it is. Tuned: with 200 steps of two products of matrices a call of the loop
takes a seventh of the time of the steps one by one, which NumPy runs; code of fewer scalars is compiled in 20 ms."""
FEWEST_STEPS = 8
"""Steps of a run, below which it stays as it is. Chosen: a loop costs what some steps cost."""
WINDOW = 48
"""Nodes that are compared to guess a period. Chosen: longer than what repeats inside of most steps."""
ANCHORS = 8
"""Places around which a run is looked for. Chosen: a run that is a quarter of a program has one of them inside."""
MOST_GUESSES = 24
"""Guesses of a period that are tried. Chosen: parts of a step may be alike (the stages of a method)."""
HARDLY_MORE = 1.25
"""Times the fewest bytes that could be carried, with which a run still begins as early as it can. Chosen: steps beside
the loop are compiled and called one by one."""
FIRST_LOOK = 256
"""Nodes that are compared at once; four times as many each time that all are equal. Chosen: wrong guesses end early."""

Places = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Period:
    """A run of steps.

    Attributes:
        nodes: the nodes that are neither leaves nor rows of them, in the order in which they were made.
        start: where the first step begins.
        length: nodes of a step.
        steps: how many there are.
    """

    nodes: Sequence[Node]
    start: int
    length: int
    steps: int

    @property
    def end(self) -> int:
        """Where what comes after the run begins."""
        return self.start + self.length * self.steps


class _Numbers(dict[Node, int]):
    """The numbers of nodes; others get negative ones when they are first asked for."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        super().__init__(zip(nodes, range(len(nodes)), strict=True))
        self.others: list[Node] = []

    def __missing__(self, node: Node) -> int:
        self.others.append(node)
        number = self[node] = -len(self.others)
        return number


class _Sequence:
    """The nodes of a program in order, in arrays of numbers.

    Args:
        nodes: those that are neither leaves nor rows of them or of the sources.

    Attributes:
        nodes: the same.
        kinds: the same number for the same op of as many operands, with equal params and a result of the same type.
        count: how many operands each has.
        operands: where these were made, a negative number for one from outside; those of all nodes in a row.
        first: where those of each node begin.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.kinds = np.array(_kinds(self.nodes), np.int64)
        self.count = np.array([len(node.inputs) for node in self.nodes], np.int64)
        self.first = np.cumsum(self.count) - self.count
        self._numbers = _Numbers(self.nodes)
        flat = [self._numbers[x] for node in self.nodes for x in node.inputs]
        self.operands = np.array(flat, np.int64)

    def taken(self, i: int) -> list[int]:
        """Return where the operands of a node were made."""
        found: list[int] = self.operands[self.first[i] : self.first[i] + self.count[i]].tolist()
        return found

    def node(self, number: int) -> Node:
        """Return the node that has a number."""
        return self.nodes[number] if number >= 0 else self._numbers.others[-1 - number]

    def are_rows(self, i: int, k: int, x: int, y: int) -> bool:
        """Say whether two values from outside are one, or can be rows of what a node takes as an operand."""
        if x == y:
            return True
        given = k in self.nodes[i].op.static_operands
        return max(x, y) < 0 and not given and _alike(self.node(x), self.node(y))

    def equal(self, at: Places, lag: int, anchor: int) -> Any:
        """Say of nodes whether each does the same as the one that stands so many places before.

        Each node is also compared with its counterpart in the period that begins at the anchor: an operand must be
        invariant of the loop in both or in neither.
        """
        like = anchor + (at - anchor) % lag
        found = (self.kinds[at] == self.kinds[at - lag]) & (self.kinds[at] == self.kinds[like])
        for k in range(int(self.count[at].max(initial=0))):
            i = np.flatnonzero(found & (self.count[at] > k))
            here, there = (self.operands[self.first[nodes] + k] for nodes in (at[i], at[i] - lag))
            other, before = (self.operands[self.first[nodes] + k] for nodes in (like[i], like[i] - lag))
            good = (here == there) | ((here >= 0) & (there >= 0) & (here - there == lag))
            for j in np.flatnonzero((here < 0) & (there < 0) & ~good).tolist():
                good[j] = self.are_rows(int(at[i[j]]), k, int(here[j]), int(there[j]))
            shared = np.where((here >= 0) & (here == there), here, -1)
            good &= shared == np.where((other >= 0) & (other == before), other, -1)
            found[i[~good]] = False
        return found

    def count_equal(self, begin: int, end: int, lag: int, anchor: int) -> int:
        """Count the nodes that are equal (see `equal`) one after the other, from a place towards another."""
        direction, total = (1, end - begin) if end > begin else (-1, begin - end)
        done, look = 0, FIRST_LOOK
        while done < total:
            at = begin + direction * np.arange(done, min(done + look, total))
            equal = self.equal(at, lag, anchor)
            if not equal.all():
                return done + int(np.argmin(equal))
            done, look = done + len(at), 4 * look
        return total


def _own_nodes(program: Program, sources: Collection[Node]) -> list[Node]:
    """Return the nodes of a program in order that are neither leaves nor rows of them or of computed sources."""
    outside, found = set(sources), list[Node]()
    for node in sorted(program.nodes, key=attrgetter("index")):
        if isinstance(node.op, Leaf) or (node.op.memory.views and outside.issuperset(node.inputs)):
            outside.add(node)
        else:
            found.append(node)
    return found


def _kinds(nodes: Sequence[Node]) -> list[int]:
    """Return the kinds of nodes (see `_Sequence`). Most have params and types that another one has too, as objects."""
    kinds: dict[object, int] = {}
    quick: dict[object, int] = {}
    found = []
    for node in nodes:
        same = node.op, id(node.params), id(node.type), len(node.inputs)
        kind = quick.get(same)
        if kind is None:
            key = node.op, params_key(node.params), node.type, len(node.inputs)
            kind = quick[same] = kinds.setdefault(key, len(kinds))
        found.append(kind)
    return found


def _alike(x: Node, y: Node) -> bool:
    """Say whether two values from outside can be rows of one array: numbers, captured arrays, or views of one array."""
    if x.type != y.type:
        return False
    if x.op in (LITERAL, CAPTURED) or y.op in (LITERAL, CAPTURED):
        return x.op is y.op
    return x.op is y.op and bool(x.inputs) and root_of(x) is root_of(y)


def root_of(node: Node) -> Node:
    """Return the array whose elements a value shows."""
    while not isinstance(node.op, Leaf) and node.op.memory.views and not isinstance(node.inputs[0].type, TupleType):
        (node,) = node.inputs
    return node


def period_of(program: Program) -> Period | None:
    """Return the longest run of equal steps of a program; None if there is none worth a loop."""
    if len(program.nodes) < FEWEST_NODES:
        return None
    sources = _sources(program)
    while True:
        found = _longest_run(program, sources)
        if not sources:
            return found
        if found is None:
            sources = set()
            continue
        before = set(found.nodes[: found.start])
        if sources <= before:
            return found
        sources &= before


def _sources(program: Program) -> set[Node]:
    """Return the computed arrays whose rows are used often enough, and far enough apart, to be those of steps."""
    first: dict[Node, int] = {}
    later: Counter[Node] = Counter()
    far = FEWEST_NODES // 2
    for node in program.nodes:
        if not isinstance(node.op, Leaf) and not node.op.memory.views:
            for x in node.inputs:
                root = root_of(x)
                if (
                    root is not x
                    and not isinstance(root.op, Leaf)
                    and node.index - first.setdefault(root, node.index) > far
                ):
                    later[root] += 1
    return {root for root, count in later.items() if count >= FEWEST_STEPS // 2}


def _longest_run(program: Program, sources: Collection[Node]) -> Period | None:
    sequence = _Sequence(_own_nodes(program, sources))
    nodes = sequence.nodes
    best = 0, 0, 1
    for middle in sorted(range(0, len(nodes), max(1, len(nodes) // ANCHORS)), key=lambda i: abs(2 * i - len(nodes))):
        if best[1] - best[0] > len(nodes) // 2 or best[0] <= middle < best[1]:
            continue
        for lag in _guesses(sequence.kinds, middle):
            start, end = _extent(sequence, middle, lag)
            steps = (end - start) // lag
            if steps > FEWEST_STEPS and steps * lag >= FEWEST_NODES and end - start > best[1] - best[0]:
                best = start, end, lag
                break
    start, end, lag = best
    if end == 0:
        return None
    start += lag  # what steps use that far back must be there
    ops = sorted([node for node in program.nodes if not isinstance(node.op, Leaf)], key=attrgetter("index"))
    found = _with_first_steps(sequence, ops, start, end, lag)
    turned = _joins_early(sequence, start, end, lag)
    if turned is not None:
        place = dict(zip(turned, sorted([node.index for node in turned]), strict=True))
        ops.sort(key=lambda node: place.get(node, node.index))
        again, stop = _Sequence(turned), end - (end - start) % lag
        stop += again.count_equal(stop, len(turned), lag, stop - lag)
        other = _with_first_steps(again, ops, start, stop, lag)
        if other.steps > found.steps:
            found = other
    return None if found.steps < FEWEST_STEPS else found


def _with_first_steps(sequence: _Sequence, ops: Sequence[Node], start: int, end: int, lag: int) -> Period:
    """Return a run with the first steps that belong to it, and begun where little is carried."""
    nodes = sequence.nodes
    first = FirstSteps(nodes, start, end, lag, _alike, same_value).among(ops)
    carried = _carried_bytes(sequence, start, end, lag)
    at = -len(first) % lag
    # What is beside a loop is compiled and run apart: it begins as early as it can if hardly more is carried there.
    late = 0 if carried[at] <= HARDLY_MORE * carried.min() else (int(np.argmin(carried)) - at) % lag
    own = set(first)
    alone = [node for node in nodes[:start] if node not in own]
    steps = (len(first) - late + end - start) // lag
    return Period([*alone, *first, *nodes[start:]], len(alone) + late, lag, steps)


def _joins_early(sequence: _Sequence, start: int, end: int, lag: int) -> list[Node] | None:
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


def _guesses(kinds: Places, middle: int) -> list[int]:
    """Return how far from a place what stands there is found again."""
    places = np.arange(middle + 1, len(kinds) - WINDOW)
    for ahead in range(WINDOW):
        if not places.size:
            break
        places = places[kinds[places + ahead] == kinds[middle + ahead]]
    found: list[int] = (places[:MOST_GUESSES] - middle).tolist()
    return found


def _extent(sequence: _Sequence, middle: int, lag: int) -> tuple[int, int]:
    """Return where the run around a place begins and ends in which nodes match those a period before."""
    start = end = middle + lag
    start -= sequence.count_equal(start - 1, lag - 1, lag, middle)
    anchor = max(start, middle)
    end += sequence.count_equal(end, len(sequence.nodes), lag, anchor)
    # A value that all steps use is from before the first of them.
    shared = [
        x
        for i in range(anchor, min(anchor + lag, end))
        for x, y in zip(sequence.taken(i), sequence.taken(i - lag), strict=True)
        if x == y
    ]
    return max([start - lag, *[x + 1 for x in shared]]), end


def _carried_bytes(sequence: _Sequence, start: int, end: int, lag: int) -> Places:
    """Return for each place of the first period how many bytes are carried on to the next step if a step begins there.

    They are those of a step in the middle of the run.
    """
    users = np.repeat(np.arange(start, end), sequence.count[start:end])
    operands = sequence.operands[sequence.first[start] :][: len(users)]
    last = np.full(end, -1)
    last[operands[operands >= start]] = users[operands >= start]  # of several users the last in order
    first = start + lag * ((end - start) // lag // 2)
    used = np.flatnonzero(last >= 0)
    begin, stop = np.maximum(used + 1, first), np.minimum(last[used], first + lag - 1)
    crosses = begin <= stop
    sizes = np.array([sequence.nodes[i].type.nbytes for i in used[crosses].tolist()], np.int64)
    crossing = np.zeros(lag + 1, np.int64)
    np.add.at(crossing, begin[crosses] - first, sizes)
    np.subtract.at(crossing, stop[crosses] - first + 1, sizes)
    found = np.cumsum(crossing)[:lag]
    twice: dict[int, Places] = {}  # where a part of a joined array is carried beside it: it is not carried then
    for i in range(first - lag, first + lag):
        parts = sequence.taken(i) if is_joined(sequence.nodes[i]) else []
        while parts:
            part = parts.pop()
            if part >= start:
                until = min(last[i], last[part])
                twice.setdefault(part, np.zeros(lag, bool))[max(i + 1 - first, 0) : max(until + 1 - first, 0)] = True
                parts += sequence.taken(part) if is_joined(sequence.nodes[part]) else []
    for part, at in twice.items():
        found -= np.where(at, sequence.nodes[part].type.nbytes, 0)
    return found


def is_joined(node: Node) -> bool:
    """Say whether a value is some operands one behind the other."""
    return not isinstance(node.op, Leaf) and node.op.indexing.joins


def same_value(x: Node, y: Node) -> bool:
    """Say whether two values from outside of a run are one."""
    return x is y or (x.op is LITERAL and y.op is LITERAL and x.type == y.type and _same_number(x, y))


def _same_number(x: Node, y: Node) -> bool:
    return bool(param_key(literal_value(x)) == param_key(literal_value(y)))
