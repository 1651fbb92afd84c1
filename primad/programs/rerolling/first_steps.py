"""The first steps of a run, which differ from the others in what they take: values from before the loop.

A run is found by what repeats. Its first step takes initial values where the others take results of the step
before; else it does the same, and belongs to the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from primad.ir.node import LITERAL, Leaf, Node, params_key


class FirstSteps:
    """The nodes before a run that do what those of its last step do, if values from before stand for earlier results.

    Args:
        nodes: those among which the run was found.
        start, end: where it begins and ends; it is known to repeat itself from a period before `start` on.
        length: nodes of a step.
        alike: whether two values from outside can be rows of one array.
        equal: whether two values from outside are one.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        start: int,
        end: int,
        length: int,
        alike: Callable[[Node, Node], bool],
        equal: Callable[[Node, Node], bool],
    ) -> None:
        self._nodes, self._start, self._length = nodes, start, length
        self._steps = (end - start) // length
        self._alike, self._equal = alike, equal
        self._place = {node: i for i, node in enumerate(nodes) if i >= start}
        self._stands: dict[int, Node] = {}  # for what would be at a place before the run
        self._places: dict[Node, set[int]] = {}  # those for which each value stands
        self._outside: set[Node] = set()  # what has to stay before it
        while self._take_from_before(range(start, start + length)):
            start += length

    def _take_from_before(self, step: range) -> bool:
        """Note which values from before the run a step takes where the last takes results; say whether it takes any."""
        ahead = self._length * (self._steps - 1) - (step.start - self._start)
        found = False
        for i in step:
            for x, y in zip(self._nodes[i].inputs, self._nodes[i + ahead].inputs, strict=True):
                if y in self._place and x not in self._place:
                    self._stand(x, self._place[y] - ahead)
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
        every, before = set(self._nodes), ops[: ops.index(self._nodes[self._start])]
        self._outside.update(x for node in ops[len(before) :] if node not in every for x in node.inputs)
        known = set(self._nodes[: self._start])
        found: list[Node] = []
        for node in reversed(before):
            place = self._start - len(found) - 1
            if self._belongs(node, place):
                self._place[node] = place
                found.append(node)
            elif node in known:
                break
            else:
                self._outside.update(node.inputs)
        return found[::-1]

    def _belongs(self, node: Node, place: int) -> bool:
        """Say whether a node does at its place what the one of the last step does, and note what this asks for."""
        at = self._start + self._length * (self._steps - 1) + (place - self._start) % self._length
        ahead, last, other = at - place, self._nodes[at], self._nodes[at - self._length]
        elsewhere = self._places.get(node, {place}) != {place}
        if elsewhere or node in self._outside or self._stands.get(place, node) is not node or not _same_op(node, last):
            return False
        outside, stands = set[Node](), dict[int, Node]()
        for k, (x, before, y) in enumerate(zip(node.inputs, other.inputs, last.inputs, strict=True)):
            made = self._place.get(y)
            if made is None:
                fixed = k in node.op.static_operands and LITERAL in (x.op, y.op)
                alike = x is y or (before is not y and not fixed and self._alike(x, y))
                if x in self._place or not (alike or (before is not y and self._equal(x, y))):
                    return False
                outside.add(x)
                continue
            from_ = made - ahead
            if from_ >= place or x in self._place:
                if self._place.get(x) != from_:
                    return False
                continue
            given = stands.get(from_, self._stands.get(from_, x))
            if x.type != y.type or not (x is given or self._equal(x, given)):
                return False
            stands[from_] = given
        for at, x in stands.items():
            self._stand(x, at)
        self._outside |= {x for x in outside if not isinstance(x.op, Leaf)}
        return True


def _same_op(x: Node, y: Node) -> bool:
    return (
        x.op is y.op
        and len(x.inputs) == len(y.inputs)
        and x.type == y.type
        and (x.params is y.params or params_key(x.params) == params_key(y.params))
    )
