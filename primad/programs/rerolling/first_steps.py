"""The first steps of a run, which differ from the others in what they take: values from before the loop.

A run is found by what repeats. Its first step takes initial values where the others take results of the step
before; else it does the same, and belongs to the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from primad.ir.array_types import TupleType
from primad.ir.node import LITERAL, Leaf, Node, params_key
from primad.ir.node_arrays import Places
from primad.programs.rerolling.node_sequences import NodeSequence, is_joined, same_value

SEVERAL_RESULTS = 2**40
"""Bytes that several results of an op count for where a step might begin. Chosen: more than any array, since no loop
carries them before they are taken apart."""
HARDLY_MORE = 1.25
"""Times the fewest bytes that could be carried, with which a run still begins as early as it can. Chosen: steps beside
the loop are compiled and called one by one."""


class FirstSteps:
    """The nodes before a run that do what those of its last step do, if values from before stand for earlier results.

    Args:
        sequence: the nodes.
        among: places of those among which the run was found.
        start, end: where it begins and ends; it is known to repeat itself from a period before `start` on.
        length: nodes of a step.
        alike: whether two values from outside can be rows of one array.
    """

    def __init__(
        self,
        sequence: NodeSequence,
        among: range,
        start: int,
        end: int,
        length: int,
        alike: Callable[[Node, Node], bool],
    ) -> None:
        self._sequence, self._among, self._alike = sequence, among, alike
        self._nodes, self._start, self._length = sequence.nodes, start, length
        self._steps = (end - start) // length
        self._first: dict[Node, int] = {}  # where those of the first steps stand
        self._stands: dict[int, Node] = {}  # for what would be at a place before the run
        self._places: dict[Node, set[int]] = {}  # those for which each value stands
        self._outside: set[Node] = set()  # what has to stay before it
        self._found: list[Node] = []  # from the last on
        while self._take_from_before(range(start, start + length)):
            start += length

    def _place(self, node: Node) -> int | None:
        """Return where a node of the run, or of the first steps, stands; None for others."""
        if node in self._first:
            return self._first[node]
        at = self._sequence.place(node)
        return at if self._start <= at < self._among.stop else None

    def _take_from_before(self, step: range) -> bool:
        """Note which values from before the run a step takes where the last takes results; say whether it takes any."""
        ahead = self._length * (self._steps - 1) - (step.start - self._start)
        found = False
        for i in step:
            for x, y in zip(self._nodes[i].inputs, self._nodes[i + ahead].inputs, strict=True):
                made = self._place(y)
                if made is not None and self._place(x) is None:
                    self._stand(x, made - ahead)
                    found = True
        return found

    def _stand(self, x: Node, place: int) -> None:
        """Note that a value stands for what would be at a place before the run."""
        self._stands[place] = x
        self._places.setdefault(x, set()).add(place)

    def among(self, ops: Sequence[Node]) -> list[Node]:
        """Return them, in order; `ops` are all of the program in order, rows of inputs and captured arrays among them.

        Rows that are made later, of what would belong to the loop, are not in it and take what is before it.
        """
        before = ops[: ops.index(self._nodes[self._start])]
        beside = self._sequence.others(ops[len(before) :], self._among)
        self._outside.update(x for node in beside for x in node.inputs)
        for node in reversed(before):
            if self._takes(node):
                continue
            if self._among.start <= self._sequence.place(node) < self._start:
                break
            self._outside.update(node.inputs)
        else:
            while self._puts_back(self._start - len(self._found) - 1):
                pass
        return self._found[::-1]

    def _takes(self, node: Node) -> bool:
        """Say whether a node is the last of those before what is found, but for ops that laws left out, and note it."""
        while not self._belongs(node, place := self._start - len(self._found) - 1):
            if not self._puts_back(place):
                return False
        self._first[node] = place
        self._found.append(node)
        return True

    def _puts_back(self, place: int) -> bool:
        """Say whether a law left out, as x + 0 is x, an op that does what that of the last step does, and note it."""
        x = self._stands.get(place)
        if x is None:
            return False
        for _, op, operands, params, _ in self._sequence.left_out.get(x, ()):
            made = Node(op, operands, params, x.type, x.trace, x.index)
            del self._stands[place]
            self._places[x].discard(place)
            if self._belongs(made, place):
                self._first[made] = place
                self._found.append(made)
                return True
            self._stand(x, place)
        return False

    def _belongs(self, node: Node, place: int) -> bool:
        """Say whether a node does at its place what the one of the last step does, and note what this asks for."""
        at = self._start + self._length * (self._steps - 1) + (place - self._start) % self._length
        ahead, last = at - place, self._nodes[at]
        elsewhere = self._places.get(node, {place}) != {place}
        if elsewhere or node in self._outside or self._stands.get(place, node) is not node or not _same_op(node, last):
            return False
        outside, stands = set[Node](), dict[int, Node]()
        for k, (x, y) in enumerate(zip(node.inputs, last.inputs, strict=True)):
            made, place_of_x = self._place(y), self._place(x)
            if made is None:
                fixed = k in node.op.static_operands and LITERAL in (x.op, y.op)
                may_be = same_value(x, y) or (not fixed and self._alike(x, y))
                if place_of_x is not None or not (x is y or (may_be and self._varies(at, k))):
                    return False
                outside.add(x)
                continue
            from_ = made - ahead
            if from_ >= place or place_of_x is not None:
                if place_of_x != from_:
                    return False
                continue
            given = stands.get(from_, self._stands.get(from_, x))
            if x.type != y.type or not (x is given or same_value(x, given)):
                return False
            stands[from_] = given
        for at, x in stands.items():
            self._stand(x, at)
        self._outside |= {x for x in outside if not isinstance(x.op, Leaf)}
        return True

    def _varies(self, at: int, k: int) -> bool:
        """Say whether an operand of a node of the last step is another one in any of the steps."""
        steps = self._nodes[at - self._length * (self._steps - 1) : at : self._length]
        return any(node.inputs[k] is not self._nodes[at].inputs[k] for node in reversed(steps))


def begun(
    sequence: NodeSequence,
    ops: Sequence[Node],
    among: range,
    start: int,
    end: int,
    lag: int,
    alike: Callable[[Node, Node], bool],
) -> tuple[list[Node], int, int]:
    """Return a run with the first steps that belong to it, and begun where little is carried.

    Args:
        sequence: the nodes.
        ops: those of the program `among` these in order, with rows of inputs and captured arrays.
        among: places of the nodes among which first steps are looked for, which end with or behind the run.
        start: where steps begin that are known to be equal.
        end: where they end.
        lag: nodes of a step.
        alike: whether two values from outside can be rows of one array.

    Returns:
        The nodes from the first of these to `end`, those of the first steps behind the others; which of them begins
        the run; and how many steps it has.
    """
    nodes = sequence.nodes
    changing = sequence.changing  # of such a run, what comes before the steps that are equal stays before the loop
    known = None if changing else FirstSteps(sequence, among, start, end, lag, alike)
    first = [] if known is None else known.among(ops)
    carried, values = _carried(sequence, start, end, lag)
    at = -len(first) % lag
    # What is beside a loop is compiled and run apart: it begins as early as it can if hardly more is carried there.
    # What changing steps carry is cleared behind its end, each value by itself, and so is what moves: they begin where
    # something moves, or behind what joins an array and what comes to its end.
    few = carried <= HARDLY_MORE * carried.min()
    fewest = np.flatnonzero(few & (values == values[few].min())).tolist()
    moves = [r for r in fewest if not nodes[start + r].op.axes.pointwise]
    late = (moves or fewest)[0] if changing else 0 if few[at] else (int(np.argmin(carried)) - at) % lag
    own = set(first)
    alone = [node for node in nodes[among.start : start] if node not in own]
    steps = (len(first) - late + end - start) // lag
    return [*alone, *first, *nodes[start:end]], len(alone) + late, steps


def _carried(sequence: NodeSequence, start: int, end: int, lag: int) -> tuple[Places, Places]:
    """Return for each place of the first period what is carried on to the next step if a step begins there.

    It is how many bytes, and how many values, those of a step in the middle of the run.
    """
    users = np.repeat(np.arange(start, end), sequence.count[start:end])
    operands = sequence.operands[sequence.first[start] :][: len(users)]
    last = np.full(end, -1)
    last[operands[operands >= start]] = users[operands >= start]  # of several users the last in order
    first = start + lag * ((end - start) // lag // 2)
    used = np.flatnonzero(last >= 0)
    begin, stop = np.maximum(used + 1, first), np.minimum(last[used], first + lag - 1)
    crosses = begin <= stop
    types = [sequence.nodes[i].type for i in used[crosses].tolist()]
    sizes = np.array([SEVERAL_RESULTS if isinstance(type, TupleType) else type.nbytes for type in types], np.int64)
    crossing = np.zeros((2, lag + 1), np.int64)
    for total, each in zip(crossing, (sizes, np.ones_like(sizes)), strict=True):
        np.add.at(total, begin[crosses] - first, each)
        np.subtract.at(total, stop[crosses] - first + 1, each)
    found, values = np.cumsum(crossing, axis=1)[:, :lag]
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
    return found, values


def _same_op(x: Node, y: Node) -> bool:
    return (
        x.op is y.op
        and len(x.inputs) == len(y.inputs)
        and x.type == y.type
        and (x.params is y.params or params_key(x.params) == params_key(y.params))
    )
