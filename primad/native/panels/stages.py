"""Programs in panels of rows, stage by stage where panels of the whole compute too much twice.

Each shift along the rows makes a panel read a row more of what comes before it. A step of a method of Runge and Kutta
with its gradient reads so many that panels of a cache's size compute most rows again. So it is cut where the fewest
bytes are handed on, and each stage is computed in panels of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from msgspec import Struct

from primad.ir.array_types import TupleType
from primad.ir.node import Leaf, Node, Trace
from primad.ir.program import Program, carry_lines, subprogram
from primad.ir.replay import replay
from primad.native.emit.op_table import failing_in
from primad.native.llvm.compile_limits import BUDGET
from primad.native.panels.panel_memory import PASSING
from primad.native.panels.row_panels import CutProgram, NotInPanelsError
from primad.system.machine import CORE, SECOND_CACHE

MIDDLE = 3, 10
"""The share of a program's steps, at least, that stands before and after the place where it is cut. Chosen: parts of
about the same length are few."""


def in_panels(program: Program, held: int) -> Program | None:
    """Return a program that computes the same a panel of rows at a time; None where it cannot be, or does not pay.

    Args:
        program: what to compute.
        held: bytes of memory that it takes beside its inputs and outputs as it stands.
    """
    if any(node.type.is_complex or isinstance(node.type, TupleType) for node in program.nodes):
        return None
    if failing_in(program) or held <= CORE.near * SECOND_CACHE.size:  # an error tells the place in the whole array
        return None
    found = _in_panels(program)
    return _StagedProgram(program).program() if found is None else found


def _in_panels(program: Program) -> Program | None:
    try:
        source = CutProgram(program)
        return source.in_panels(source.rows())
    except NotInPanelsError:
        return None


class _Stage(Struct, frozen=True):
    """A part of a program.

    Attributes:
        program: the part.
        inputs: the values of the whole that are its inputs.
        outputs: and those that it computes for others.
        in_panels: whether it is computed in panels.
    """

    program: Program
    inputs: Sequence[Node]
    outputs: Sequence[Node]
    in_panels: bool


class _StagedProgram:
    """A program on its way to be computed stage by stage.

    Views, and what is joined or padded, are made again wherever they are read: what is handed on is what they show.

    Args:
        program: the program.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._roots: dict[Node, tuple[Node, ...]] = {}
        self._steps: list[Node] = []
        self._given = set(program.inputs)
        self._last: dict[Node, int] = {}
        for node in program.nodes:
            read = dict.fromkeys([root for x in node.inputs for root in self._roots[x]])
            if isinstance(node.op, Leaf) or node.op in PASSING:
                self._roots[node] = (node,) if node in self._given else tuple(read)
                continue
            self._last.update(dict.fromkeys(read, len(self._steps)))
            self._steps.append(node)
            self._roots[node] = (node,)
        self._place = {node: i for i, node in enumerate(self._steps)}
        for node in program.outputs:
            self._last.update(dict.fromkeys(self._roots.get(node, ()), len(self._steps)))
        change = [0] * (len(self._steps) + 2)
        for node, place in self._place.items():
            change[place + 1] += node.type.nbytes
            change[max(self._last.get(node, place), place) + 1] -= node.type.nbytes
        self._crossing = list(accumulate(change))  # bytes that are made before a step and read from there on

    def program(self) -> Program | None:
        """Return it; None where no stage is computed in panels."""
        stages = self._stages()
        if not any(stage.in_panels for stage in stages):
            return None
        trace = Trace()
        source = self._program
        inputs = [trace.input(node.type) for node in source.inputs]
        mapping = dict(zip(source.inputs, inputs, strict=True))
        for stage in stages:
            own = dict(zip(stage.program.inputs, [mapping[node] for node in stage.inputs], strict=True))
            replay(stage.program.nodes, own, trace, copy=True)
            results = zip(stage.outputs, stage.program.outputs, strict=True)
            mapping.update({node: own[made] for node, made in results})
        views = [node for node in source.nodes if node not in mapping and self._is_seen_of(node, mapping)]
        replay(views, mapping, trace, copy=True)
        carry_lines(source, mapping, trace)
        found = Program(trace, inputs, [mapping[node] for node in source.outputs], names=source.names)
        trace.close()
        return found

    def _is_seen_of(self, node: Node, known: Mapping[Node, Node]) -> bool:
        return all(root in known for root in self._roots[node])

    def _stages(self) -> list[_Stage]:
        """Return the stages, in order."""
        waiting, found = [(0, len(self._steps))], []
        while waiting:
            start, stop = waiting.pop()
            stage = self._stage(start, stop)
            if stage.in_panels or stop - start <= BUDGET.shortest_stage:
                found.append(stage)
                continue
            least = (stop - start) * MIDDLE[0] // MIDDLE[1]
            middle = range(start + max(least, 1), stop - least + 1)
            cut = min(middle, key=lambda i: (self._crossing[i], abs(2 * i - start - stop)))
            waiting += [(cut, stop), (start, cut)]
        return found

    def _stage(self, start: int, stop: int) -> _Stage:
        """Return the stage of some steps, in panels if it can be."""
        steps = self._steps[start:stop]
        roots = dict.fromkeys([root for node in steps for x in node.inputs for root in self._roots[x]])
        inputs = [root for root in roots if self._place.get(root, -1) < start]
        outputs = [node for node in steps if self._last.get(node, -1) >= stop]
        part = subprogram(self._program, inputs, outputs)
        panels = _in_panels(part)
        return _Stage(panels or part, inputs, outputs, panels is not None)
