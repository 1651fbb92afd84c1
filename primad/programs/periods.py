"""Periods of a recorded program: a run of nodes that repeats itself, as the steps of a loop in Python leave it.

Nodes stand in the order in which they were made. Two of them match, a period apart, if they are the same op on operands
that match too: the results of nodes a period apart, or the same value from before the run in all steps, or values that
are no results of the run (numbers, rows of an array that was there before). The first step of a loop often differs from
the others (it meets what was there before, and numbers for which laws hold); the run begins where it ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from primad.ir.node import LITERAL, Leaf, Node, literal_value, param_key
from primad.ir.program import Program

FEWEST_NODES = 1000
"""Nodes of a run, below which it stays as it is. Chosen: code for so many is compiled within half a second, and its
equal parts are compiled once."""
FEWEST_STEPS = 8
"""Steps of a run, below which it stays as it is. Chosen: a loop costs what some steps cost."""
WINDOW = 48
"""Nodes that are compared to guess a period. Chosen: longer than what repeats inside of most steps."""
ANCHORS = 8
"""Places around which a run is looked for. Chosen: a run that is a quarter of a program has one of them inside."""
MOST_GUESSES = 24
"""Guesses of a period that are tried. Chosen: parts of a step may be alike (the stages of a method)."""


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


class _Sequence:
    """The nodes of a program in order, and where each stands."""

    def __init__(self, program: Program) -> None:
        ordered = sorted(program.nodes, key=lambda node: node.index)
        outside: set[Node] = set()
        for node in ordered:
            if isinstance(node.op, Leaf) or (node.op.views and outside.issuperset(node.inputs)):
                outside.add(node)
        self.nodes = [node for node in ordered if node not in outside]
        self.place = {node: i for i, node in enumerate(self.nodes)}
        kinds: dict[object, int] = {}
        self.kinds = [
            kinds.setdefault((node.op, tuple([(k, param_key(v)) for k, v in node.params]), node.type), len(kinds))
            for node in self.nodes
        ]

    def match(self, i: int, lag: int) -> tuple[int, ...] | None:
        """Return where the operands were made that a node shares with the one that stands so many places before.

        There is a place for each operand, -1 where the two take values of their own or one from outside. None if the
        two do different things.
        """
        if self.kinds[i] != self.kinds[i - lag]:
            return None
        node, taken = self.nodes[i], []
        for k, (x, y) in enumerate(zip(node.inputs, self.nodes[i - lag].inputs, strict=True)):
            here, there = self.place.get(x), self.place.get(y)
            taken.append(-1 if here is None or x is not y else here)
            if x is y:
                continue
            if here is None and there is None:
                if k in node.op.static_operands or not _alike(x, y):
                    return None
            elif here is None or there is None or here - there != lag:
                return None
        return tuple(taken)


def _alike(x: Node, y: Node) -> bool:
    """Say whether two values from outside can be rows of one array: numbers, or views of the same array."""
    if x.type != y.type:
        return False
    if x.op is LITERAL or y.op is LITERAL:
        return x.op is y.op
    return x.op is y.op and bool(x.inputs) and _root(x) is _root(y)


def _root(node: Node) -> Node:
    while node.inputs:
        node = node.inputs[0]
    return node


def period_of(program: Program) -> Period | None:
    """Return the longest run of equal steps of a program; None if there is none worth a loop."""
    if len(program.nodes) < FEWEST_NODES:
        return None
    sequence = _Sequence(program)
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
    start = _narrowest(sequence, start, end, lag)
    steps = (end - start) // lag
    return Period(nodes, start, lag, steps) if steps >= FEWEST_STEPS else None


def _guesses(kinds: Sequence[int], middle: int) -> list[int]:
    """Return how far from a place what stands there is found again."""
    pattern = kinds[middle : middle + WINDOW]
    found = []
    for i in range(middle + 1, len(kinds) - WINDOW):
        if kinds[i] == pattern[0] and kinds[i : i + WINDOW] == pattern:
            found.append(i - middle)
            if len(found) == MOST_GUESSES:
                break
    return found


def _extent(sequence: _Sequence, middle: int, lag: int) -> tuple[int, int]:
    """Return where the run around a place begins and ends in which nodes match those a period before."""
    shared: dict[int, tuple[int, ...]] = {}

    def equal(i: int) -> bool:
        # A step that takes a value from before the run, where another takes one of a step, is not equal to it.
        taken = sequence.match(i, lag)
        return taken is not None and shared.setdefault(i % lag, taken) == taken

    start = end = middle + lag
    while start > lag and equal(start - 1):
        start -= 1
    while end < len(sequence.nodes) and equal(end):
        end += 1
    # A value that all steps use is from before the first of them.
    return max([start - lag, *[at + 1 for taken in shared.values() for at in taken]]), end


def _narrowest(sequence: _Sequence, start: int, end: int, lag: int) -> int:
    """Return the place within the first period at which the fewest bytes are carried on to the next step.

    What steps use that far back must be there, so it is not before the second period.
    """
    last: dict[int, int] = defaultdict(int)
    for i in range(start, end):
        for x in sequence.nodes[i].inputs:
            at = sequence.place.get(x)
            if at is not None and at >= start:
                last[at] = max(last[at], i)
    crossing = [0] * (lag + 1)
    first = start + lag * ((end - start) // lag // 2)
    for at, use in last.items():
        begin, stop = max(at + 1, first), min(use, first + lag - 1)
        if begin <= stop:
            size = getattr(sequence.nodes[at].type, "nbytes", 1 << 62)
            crossing[begin - first] += size
            crossing[stop - first + 1] -= size
    for i in range(1, lag):
        crossing[i] += crossing[i - 1]
    best = min(range(lag), key=lambda i: crossing[i])
    return start + lag + best


def same_value(x: Node, y: Node) -> bool:
    """Say whether two values from outside of a run are one."""
    return x is y or (x.op is LITERAL and y.op is LITERAL and x.type == y.type and _same_number(x, y))


def _same_number(x: Node, y: Node) -> bool:
    return bool(param_key(literal_value(x)) == param_key(literal_value(y)))
