"""Planned programs: what a program becomes that runs in stages or in tiles, and the interpreter that runs it.

A planned program is a program whose ops are called. Each computes what a program of primitives computes, by what has
been chosen to run that: steps, tiles along an axis, or another planned program. Planned ops are a dialect of their own,
which no law, rule or lowering knows. They run in the order in which they were chosen, since some write into the memory
of arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import CAPTURED, LITERAL, Node, Params, Trace, leaf_value
from primad.ir.program import Program
from primad.ir.replay import rebuild, replay
from primad.ops.record.fields import Laws, Programs
from primad.ops.record.primitive import project
from primad.runtime.cost_model import Machine, Prediction
from primad.runtime.executors.executor import Donated, Executable
from primad.runtime.plan.blocking import beside_tiles
from primad.runtime.plan.donation import own_results, settle


class PlannedOp:
    """An op of planned programs, made for one application.

    Attributes:
        name: its name in program texts.
        by: what runs it.
        types: the types of its results.
        kept_bytes: memory that it leaves taken until the planned program ends.
    """

    laws = Laws()
    programs = Programs(names=("by",))  # so nothing remembers the op when its program is gone
    inferred: ClassVar[Mapping[int, Any]] = MappingProxyType({})  # one of all these ops, which hold nothing in it

    def __init__(self, name: str, by: Executable, types: TupleType, kept_bytes: int) -> None:
        self.name = name
        self.by = by
        self.types = types
        self.kept_bytes = kept_bytes

    def infer(self, *types: ArrayType, **params: Any) -> TupleType:
        """Return the types of the results."""
        return self.types

    def rewrite(self, trace: Trace, inputs: tuple[Node, ...], params: Params) -> None:
        """No law applies."""


class Planning:
    """A planned program while its ops are chosen.

    Args:
        program: what it is to compute.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._trace = Trace()
        self._inputs = [self._trace.input(node.type) for node in program.inputs]
        self._became = dict(zip(program.inputs, self._inputs, strict=True))

    def apply(
        self, name: str, by: Executable, inputs: Sequence[Node], results: Sequence[Node], kept: int = 0
    ) -> list[Node]:
        """Have values of the program computed next; return the results in the planned program.

        Args:
            name: of the op.
            by: what computes them.
            inputs: values that are known.
            results: the values that it gives.
            kept: bytes that stay beside the results, or none of theirs, which lie in the memory of inputs.
        """
        types = TupleType(tuple([node.type for node in results]))
        op = PlannedOp(name, by, types, types.nbytes + kept)
        applied = self._trace.place(op, tuple([self._became[node] for node in inputs]), ())
        found = [self._trace.place(project, (applied,), (("index", i),)) for i in range(len(results))]
        self._became.update(zip(results, found, strict=True))
        return found

    def use(self, planned: Program, copied: Sequence[Node]) -> list[Node]:
        """Have another planned program run; return its results in this one.

        Args:
            planned: that one. Its first inputs are those of the program.
            copied: what its further inputs are: some of the program's again, or constants.
        """
        further = [self._became.get(node) or rebuild(node, {}, self._trace) for node in copied]
        mapping = dict(zip(planned.inputs, [*self._inputs, *further], strict=True))
        replay(planned.nodes, mapping, self._trace, copy=True)
        return [mapping[node] for node in planned.outputs]

    def planned(self, results: Sequence[Node] | None = None) -> Program:
        """Return the planned program.

        Args:
            results: its results, if they are not the values of the program's.
        """
        program = self._program
        outputs = [self._became[node] for node in program.outputs] if results is None else results
        self._trace.close()
        return Program(self._trace, self._inputs, outputs, names=lambda: program.names)


class Step(NamedTuple):
    """An op with what it takes and gives."""

    op: PlannedOp
    operands: Sequence[Node]
    results: list[Node]


class PlannedProgram(Executable):
    """A planned program, ready to run.

    Args:
        program: what it computes.
        planned: how.
        steps: its ops in order.
        donated: outputs that take the memory of inputs.
        why: what made it so, in words.
        tiles: what runs in tiles, if that is one op.

    Attributes:
        planned: how.
        steps: its ops in order.
        donated: outputs that take the memory of inputs.
        why: what made it so, in words.
    """

    def __init__(
        self, program: Program, planned: Program, donated: Donated = (), why: str = "", tiles: Executable | None = None
    ) -> None:
        self.program = program
        self.planned = planned
        self.why = why
        self.tiles = tiles
        self.donated = donated
        self._within = beside_tiles(program)
        self._constants: dict[Node, Any] = {}
        self.steps: list[Step] = []
        for node in planned.nodes:
            if isinstance(node.op, PlannedOp):
                self.steps.append(Step(node.op, node.inputs, [node] * len(node.op.types.types)))
            elif node.op is project:
                self.steps[-1].results[node.params[0][1]] = node
            elif node.op is LITERAL or node.op is CAPTURED:
                self._constants[node] = leaf_value(node)
        self.is_tiled = any(part.is_tiled for part, _ in self.parts)

    @property
    def parts(self) -> Sequence[tuple[Executable, int]]:
        """What runs its ops."""
        return [(step.op.by, 1) for step in self.steps]

    @property
    def peak_bytes(self) -> int:
        """Memory of the arrays that a run makes, when it is most, an op with what earlier ones gave."""
        before = most = 0
        for op, _, _ in self.steps:
            most = max(most, before + op.by.peak_bytes)
            before += op.kept_bytes
        return most

    @property
    def flops(self) -> int:
        """Flops of all ops."""
        return sum(part.flops for part, _ in self.parts)

    @property
    def summary(self) -> str:
        """How it runs, in a line."""
        return ": ".join(filter(None, [self.why, self.tiles.summary if self.tiles else ""]))

    @property
    def details(self) -> list[str]:
        """The planned program, and how each op runs."""
        nodes = [node for node in self.planned.nodes if isinstance(node.op, PlannedOp) or node.op is CAPTURED]
        found = []
        for node, line in zip(nodes, self.planned.text().splitlines()[1:], strict=False):
            found.append(line.strip())
            if isinstance(node.op, PlannedOp):
                by = node.op.by
                how = by.details if by is self.tiles else [by.summary, *by.details]
                found += [f"  {line}" for line in how]
        return found

    def predicted(self, machine: Machine) -> Prediction:
        """Predict how long a run takes."""
        return sum([part.predicted(machine) for part, _ in self.parts], Prediction())

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the outputs."""
        found: list[Any] = self._within(partial(self._run, arguments))
        return found

    def _run(self, arguments: Sequence[Any]) -> list[Any]:
        known: dict[Node, Any] = {**self._constants, **dict(zip(self.planned.inputs, arguments, strict=True))}
        for op, operands, results in self.steps:
            known.update(zip(results, op.by.run(list(map(known.__getitem__, operands))), strict=True))
        found = own_results(self.planned.outputs, self.planned.inputs, known)
        return settle(found, arguments, self.donated) if self.donated else found
