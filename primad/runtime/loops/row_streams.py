"""Which results of loops a plan passes as streams: those that nothing but loops take, where all would not fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import Node
from primad.ops.record.primitive import application
from primad.runtime.loops.binomial_schedule import Cut, cut
from primad.runtime.plan.native_steps import NativeStep
from primad.system.machine import SPARE_BYTES
from primad.system.quantities import several, size


def budget_of(memory: int | None) -> int:
    """Return the bytes that rows may take where so many are allowed for all arrays."""
    return SPARE_BYTES if memory is None else memory


class Streams(NamedTuple):
    """The row streams of a plan.

    Attributes:
        of: for each loop, which of its stacked results are row streams.
        values: the nodes whose values are row streams.
        partly: for each loop that may take fewer steps than there are rows, which of its stacked results nothing but
            loops take, if anything does: where no step was taken, their rows are never read.
    """

    of: dict[Node, tuple[int, ...]]
    values: set[Node]
    partly: dict[Node, tuple[int, ...]]

    @property
    def nbytes(self) -> int:
        """Bytes that the row streams would take as arrays."""
        return sum(node.type.nbytes for node in self.values)


def streams_of(steps: Sequence[Node | NativeStep], outputs: Sequence[Node], inner: int = 0) -> Streams:
    """Return the results that can be row streams.

    Args:
        steps: what runs.
        outputs: the values that are results of the whole.
        inner: how many of these, the last ones, may be row streams.
    """
    loops = [node for node in steps if isinstance(node, Node) and node.op.programs.loop is not None]
    made: dict[Node, tuple[Node, int]] = {}
    for node in [*loops, *(x for x in steps if isinstance(x, Node) and isinstance(application(x)[0].type, TupleType))]:
        loop, index = application(node)
        if loop.op.programs.loop is not None and not isinstance(node.type, TupleType):
            place = index - loop.op.programs.loop(loop).first_stack
            if place >= 0:
                made[node] = loop, place
    kept = set(outputs[: len(outputs) - inner])
    for step in steps:
        form = step.op.programs.loop if isinstance(step, Node) else None
        taken = range(0) if form is None else form(step).row_operands
        kept.update(x for i, x in enumerate(step.inputs) if i not in taken)
    values = {node for node in made if node not in kept}
    of: dict[Node, tuple[int, ...]] = {}
    for loop, place in sorted([made[node] for node in values], key=lambda each: each[1]):
        of[loop] = (*of.get(loop, ()), place)
    read = {made[node] for node in made if node in kept}
    partly = {loop: tuple([i for i in range(len(_stacks(loop))) if (loop, i) not in read]) for loop in loops}
    partly = {loop: places for loop, places in partly.items() if places and loop.op.programs.loop(loop).lead}
    return Streams(of, values, partly)


class KeptStreams(NamedTuple):
    """What a plan holds of row streams.

    Attributes:
        of: for each loop, which of its stacked results are row streams.
        budget: bytes that all may take.
        memory: bytes that arrays of the whole may take, if that is limited.
        partly: as those of `Streams`.
    """

    of: dict[Node, tuple[int, ...]]
    budget: int
    memory: int | None
    partly: dict[Node, tuple[int, ...]]

    @property
    def nbytes(self) -> int:
        """Bytes of what is held."""
        return self.budget if self.of else 0

    def arguments(self, node: Node) -> dict[str, Any]:
        """Return the arguments that tell an op's definition what may be held."""
        found: dict[str, Any] = {}
        if node in self.of:
            found = {"streams": self.of[node], "budget": self._share}
        elif node in self.partly and isinstance(node.type, TupleType):
            found = {"streams": self.partly[node], "budget": node.type.nbytes}
        if self.memory is not None and node.op.memory.limit:
            found["memory"] = self.memory
        return found

    @property
    def _share(self) -> int:
        return self.budget // len(self.of)

    def in_words(self, node: Node) -> str:
        """Say what is held of a loop's rows, as long as that is planned for the most steps; '' where all is."""
        held = self._held(node)
        if held is None:
            return ""
        _, rows = _rows(node)
        again = f"and computed again from {several(held.states, 'state')} that are kept"
        return f"; of {size(rows)} for other loops what {several(held.block, 'step')} make is held at once, {again}"

    def times(self, node: Node) -> float:
        """Return how often the steps of a loop are taken, those that are taken again included; of other ops 1."""
        held = self._held(node)
        return 1.0 if held is None else 1.0 + held.again / _rows(node)[0]

    def _held(self, node: Node) -> Cut | None:
        """Return how a loop is gone back through whose rows are not all held; None for others."""
        if node not in self.of:
            return None
        types = _types(node)
        first = node.op.programs.loop(node).first_stack
        if sum(types[first + i].nbytes for i in self.of[node]) <= self._share:
            return None
        steps, rows = _rows(node)
        return cut(steps, rows // steps, sum(type.nbytes for type in types[:first]), self._share)


def _types(node: Node) -> tuple[ArrayType, ...]:
    return node.type.types if isinstance(node.type, TupleType) else (node.type,)


def _rows(node: Node) -> tuple[int, int]:
    """Return how many rows a loop's stacked results have, and the bytes of all."""
    stacked = _stacks(node)
    return stacked[0].shape[0], sum(type.nbytes for type in stacked)


def _stacks(node: Node) -> tuple[ArrayType, ...]:
    """Return the types of a loop's stacked results."""
    assert node.op.programs.loop is not None
    return _types(node)[node.op.programs.loop(node).first_stack :]
