"""The last step of a run, of which laws left something out: what the loop computes once more and nobody uses.

A sign in front of what steps leave, as in -x, goes through the sum that is taken of it, so that the last step has one
op less than all others. It is a step of the loop nevertheless, if what is left out is arithmetic or a view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from primad.ir.node import LITERAL, Node, params_key
from primad.programs.rerolling.node_sequences import same_value

MOST_LEFT_OUT = 0.25
"""Part of a step's nodes that may be left out. Chosen: else a loop computes more than it spares."""


class LastStep:
    """The nodes after a run that do what those of its last step do, and new ones for what is left out among them.

    Args:
        nodes: those among which the run was found.
        start, end: where its steps begin and end; there are two at least.
        length: nodes of a step.
        alike: whether two values from outside can be rows of one array.
        place: returns where a node of the steps stands; None for others.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        start: int,
        end: int,
        length: int,
        alike: Callable[[Node, Node], bool],
        place: Callable[[Node], int | None],
    ) -> None:
        self._nodes, self._start, self._end, self._length, self._alike = nodes, start, end, length, alike
        self._place = place
        self._left: dict[object, list[Node]] = {}
        for node in nodes[end : end + 2 * length]:
            self._left.setdefault((node.op, node.type), []).append(node)
        self._made: list[Node] = []
        self._found: set[Node] = set()

    def among(self) -> list[Node] | None:
        """Return the nodes with the run one step longer; None if there is no such step."""
        length = self._length
        for place in range(self._end - length, self._end):
            node = self._nodes[place]
            found = next(self._counterparts(node, place), None)
            if found is not None:
                self._found.add(found)
            elif node.op.work.cheap or node.op.memory.views:
                # nobody uses it: for a row from outside that is not there, any stands
                operands = tuple([self._later(node, place, k) or x for k, x in enumerate(node.inputs)])
                found = Node(node.op, operands, node.params, node.type, node.trace, node.index)
            else:
                return None
            self._made.append(found)
        has_loop = any(node.op.programs.called for node in self._found)  # beside which cheap ops are nothing
        if len(self._found) < (1 - MOST_LEFT_OUT) * length and not has_loop:
            return None
        return [*self._nodes[: self._end], *self._made, *[x for x in self._nodes[self._end :] if x not in self._found]]

    def _later(self, node: Node, place: int, k: int) -> Node | None:
        """Return what an operand is one step later; None for one from outside that differs from step to step."""
        x = node.inputs[k]
        at = self._place(x)
        if at is None:
            steps = self._nodes[self._start + (place - self._start) % self._length : place : self._length]
            others = [other.inputs[k] for other in steps if other.inputs[k] is not x]
            return x if all(same_value(x, other) for other in others) else None
        at += self._length
        return self._nodes[at] if at < self._end else self._made[at - self._end]

    def _counterparts(self, node: Node, place: int) -> Iterator[Node]:
        """Yield the nodes after the run that do what a node of the last step does, one step later."""
        wanted = [self._later(node, place, k) for k in range(len(node.inputs))]
        for other in self._left.get((node.op, node.type), ()):
            if other in self._found or params_key(other.params) != params_key(node.params):
                continue
            if len(other.inputs) == len(wanted) and all(
                self._is_row(node, k, y) if then is None else same_value(y, then)
                for k, (y, then) in enumerate(zip(other.inputs, wanted, strict=True))
            ):
                yield other

    def _is_row(self, node: Node, k: int, y: Node) -> bool:
        """Say whether a value from outside can be that of one step more."""
        x = node.inputs[k]
        number = k in node.op.static_operands and LITERAL in (x.op, y.op)  # rules look at it
        return self._place(y) is None and not number and self._alike(x, y)
