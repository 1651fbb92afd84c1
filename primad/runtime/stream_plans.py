"""Which results of loops a plan passes as streams: those that nothing but loops take, where all would not fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from primad.ir.node import Node
from primad.primitive import application
from primad.quantities import several, size
from primad.runtime.large_steps import takes
from primad.runtime.native_steps import NativeStep
from primad.runtime.schedules import cut
from primad.types import TupleType

BUDGET = 200_000_000
"""Bytes that the rows of loops may take which are kept for other loops, where no limit is given. Chosen: what one can
spare on any machine."""


def budget_of(memory: int | None) -> int:
    """Return the bytes that rows may take where so many are allowed for all arrays."""
    return BUDGET if memory is None else memory


class Streams(NamedTuple):
    """The streams of a plan.

    Attributes:
        of: for each loop, which of its stacked results are streams.
        values: the nodes whose values are streams.
    """

    of: dict[Node, tuple[int, ...]]
    values: set[Node]

    @property
    def nbytes(self) -> int:
        """Bytes that the streams would take as arrays."""
        return sum(node.type.nbytes for node in self.values)


def streams_of(steps: Sequence[Node | NativeStep], outputs: Sequence[Node], inner: int = 0) -> Streams:
    """Return the results that can be streams.

    Args:
        steps: what runs.
        outputs: the values that are results of the whole.
        inner: how many of these, the last ones, may be streams.
    """
    loops = [node for node in steps if isinstance(node, Node) and node.op.loop is not None]
    made: dict[Node, tuple[Node, int]] = {}
    for node in [*loops, *(x for x in steps if isinstance(x, Node) and isinstance(application(x)[0].type, TupleType))]:
        loop, index = application(node)
        if loop.op.loop is not None and not isinstance(node.type, TupleType):
            place = index - loop.op.loop(loop).first_stack
            if place >= 0:
                made[node] = loop, place
    kept = set(outputs[: len(outputs) - inner])
    for step in steps:
        taken = step.op.loop(step).row_operands if isinstance(step, Node) and step.op.loop is not None else range(0)
        kept.update(x for i, x in enumerate(step.inputs) if i not in taken)
    values = {node for node in made if node not in kept}
    of: dict[Node, tuple[int, ...]] = {}
    for loop, place in sorted([made[node] for node in values], key=lambda each: each[1]):
        of[loop] = (*of.get(loop, ()), place)
    return Streams(of, values)


class KeptStreams(NamedTuple):
    """What a plan holds of streams.

    Attributes:
        of: for each loop, which of its stacked results are streams.
        budget: bytes that all may take.
        memory: bytes that arrays of the whole may take, if that is limited.
    """

    of: dict[Node, tuple[int, ...]]
    budget: int
    memory: int | None

    @property
    def nbytes(self) -> int:
        """Bytes of what is held."""
        return self.budget if self.of else 0

    def wanted(self, node: Node, function: Any) -> dict[str, Any]:
        """Return the arguments that tell an op's definition what may be held."""
        found: dict[str, Any] = {}
        if node in self.of:
            found = {"streams": self.of[node], "budget": self._share}
        if self.memory is not None and takes(function, "memory"):
            found["memory"] = self.memory
        return found

    @property
    def _share(self) -> int:
        return self.budget // len(self.of)

    def in_words(self, node: Node) -> str:
        """Say what is held of a loop's rows, as long as that is planned for the most steps; '' where all is."""
        if node not in self.of or node.op.loop is None:
            return ""
        types = node.type.types if isinstance(node.type, TupleType) else (node.type,)
        first = node.op.loop(node).first_stack
        steps, row = types[first].shape[0], sum(type.nbytes for type in types[first:])
        if sum(types[first + i].nbytes for i in self.of[node]) <= self._share:
            return ""
        held = cut(steps, row // steps, sum(type.nbytes for type in types[:first]), self._share)
        again = f"and computed again from {several(held.states, 'state')} that are kept"
        return f"; of {size(row)} for other loops what {several(held.block, 'step')} make is held at once, {again}"
