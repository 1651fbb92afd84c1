"""Plans of large programs of complex numbers: in tiles of their parts, with SciPy's and NumPy's steps between them.

What is written in parts takes and gives complex arrays as they lie in memory. Where something has no native code in
parts, as a Fourier transform, the program is cut there: all between two such steps is a program of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import CAPTURED, INPUT, Leaf, Node, leaf_value
from primad.ir.program import Program, subprogram
from primad.native.complex_numbers.realify import in_parts, interleaved, is_complex, reason_in_parts
from primad.native.emit.pointwise import work_of_element
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.compiler import compiler
from primad.native.loops.body_programs import has_body
from primad.native.schedule.storage import VIEWS
from primad.ops.record.primitive import application
from primad.runtime.cost_model import Machine, Prediction
from primad.runtime.executors.executor import PLAIN, Executable, Options
from primad.runtime.plan.native_regions import alternating_runs
from primad.runtime.plan.planned_program import PlannedProgram, Planning
from primad.runtime.tiling.tile_choice import LARGEST_MATRIX, blas_is_as_wide
from primad.runtime.tiling.tiled_plan import make_plan
from primad.simplify.barriers import without_barriers
from primad.system.machine import SHARED_FLOPS, WORTHWHILE_BYTES
from primad.transforms.dimensions import axis_map

BETWEEN = "what complex numbers have no native code for lies between stages"
"""Why programs are planned in stages."""


def complex_plan(program: Program, options: Options) -> Executable | None:
    """Return a plan of a program of complex numbers that runs in tiles of their parts; None where there is none.

    Args:
        program: what to compute.
        options: how it is to run.
    """
    if compiler() is None or not is_complex(program):
        return None
    asked = options.along is not None or options.memory is not None
    whole = _in_tiles(program, options) if asked or not any(map(_is_for_blas, program.nodes)) else None
    if whole is not None or asked:
        return whole
    return _in_stages(without_barriers(program), options)


def _in_tiles(program: Program, options: Options = PLAIN) -> Executable | None:
    """Return a plan in tiles of parts; None where the program has no tiles, or loops."""
    if any(map(has_body, program.nodes)):
        return None
    written = in_parts(program.hoisted(scalars=False))  # what is captured would be copied in each run
    plan = None if written is None else make_plan(written, *options)
    return PlanInParts(program, plan) if plan is not None and plan.is_tiled else None


def _in_stages(program: Program, options: Options) -> Executable | None:
    """Return a plan of stages, of which some run in tiles of parts; None where none does."""
    steps = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    leaves = any(isinstance(node.op, Leaf) and node.op is not INPUT for node in program.outputs)
    if leaves or sum(node.type.nbytes for node in steps) < WORTHWHILE_BYTES:
        return None
    native = {node for node in steps if _is_native(application(node)[0])}  # results stay with their op
    free = {node for node in native if node.op in VIEWS and node not in program.outputs}

    def root(node: Node) -> Node:
        while node in free:
            (node,) = node.inputs
        return node

    ordered = [node for node in steps if node not in free]
    among = set(ordered)
    needs = {node: dict.fromkeys(map(root, node.inputs)) for node in ordered}
    before = {node: [x for x in found if x in among] for node, found in needs.items()}
    worthwhile = {node for run in alternating_runs(before, native) if run[0] in native and _pays(run) for node in run}
    runs = alternating_runs(before, worthwhile)
    number = {node: i for i, run in enumerate(runs) for node in run}
    outside = {*program.outputs}
    outside.update([x for node in ordered for x in needs[node] if number.get(x) != number[node]])
    stages = []
    for run in runs:
        inputs = [x for x in dict.fromkeys([x for node in run for x in needs[node]]) if x not in {*run}]
        inputs = [x for x in inputs if x.op is INPUT or not isinstance(x.op, Leaf)]
        results = [node for node in run if node in outside]
        part = subprogram(program, inputs, results)
        found = _in_tiles(part) if run[0] in worthwhile and is_complex(part) else None
        stages.append((found, part, inputs, results))
    if not any(found for found, *_ in stages):
        return None
    planning = Planning(program)
    for found, part, inputs, results in stages:
        stage = found or make_plan(part)
        planning.apply("stage", stage, inputs, results, 0 if found else stage.peak_bytes)
    return PlannedProgram(program, planning.planned(), options.donated, BETWEEN)


class PlanInParts(Executable):
    """A plan that takes and gives complex arrays as pairs of real numbers, as they lie in memory.

    Args:
        program: what it computes.
        plan: what computes it in parts.
    """

    def __init__(self, program: Program, plan: Executable) -> None:
        self.program = program
        self._plan = plan
        captured = [node for node in program.sources if node.op is CAPTURED]
        self._constants = [_numbers(leaf_value(node), node.type) for node in captured]
        self.is_tiled = plan.is_tiled
        self.tiles = plan.tiles

    @property
    def peak_bytes(self) -> int:
        """Memory of the arrays that a run makes, when it is most."""
        return self._plan.peak_bytes

    @property
    def parts(self) -> Sequence[tuple[Executable, int]]:
        """What runs it."""
        return [(self._plan, 1)]

    @property
    def summary(self) -> str:
        """How it runs, in a line."""
        return self._plan.summary

    @property
    def details(self) -> list[str]:
        """What it consists of, line by line."""
        return self._plan.details

    def predicted(self, machine: Machine) -> Prediction:
        """Predict how long a run takes."""
        return self._plan.predicted(machine)

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the outputs."""
        given = [_numbers(x, node.type) for x, node in zip(arguments, self.program.inputs, strict=True)]
        found = self._plan.run([*given, *self._constants])
        return [_whole(x, node.type) for x, node in zip(found, self.program.outputs, strict=True)]


def _numbers(x: Any, type: ArrayType) -> Any:
    """Return a complex argument as an array of pairs of real numbers, as they lie in memory."""
    if not type.is_complex:
        return x
    inner = interleaved(type)
    return np.ascontiguousarray(x, type.dtype).view(inner.dtype).reshape(inner.shape)


def _whole(x: Any, type: ArrayType) -> Any:
    """Return an array of pairs of real numbers as the complex numbers that they are in memory."""
    return np.ascontiguousarray(x).view(type.dtype).reshape(type.shape)[()] if type.is_complex else x


def _pays(run: Sequence[Node]) -> bool:
    """Say whether tiles gain more than what a stage costs: its results are new arrays."""
    if len(run) >= BUDGET.worth_a_region or any(work_of_element(node) > 1 for node in run):
        return True
    inside = {*run}
    between = dict.fromkeys([x for node in run for x in node.inputs if x in inside])
    return sum([node.type.nbytes for node in between]) >= WORTHWHILE_BYTES


def _is_native(node: Node) -> bool:
    """Say whether an op can be in a stage that runs in tiles of parts."""
    return not has_body(node) and not reason_in_parts(node) and not _mixes_all(node) and not _is_for_blas(node)


def _is_for_blas(node: Node) -> bool:
    """Say whether an op is a product of large complex matrices, which is one whole, and of parts four.

    A whole one is the faster from a tenth of the flops on that threads share. Measured from 128 to 1024 rows.
    """
    if node.op is not ops.contract or not node.type.is_complex or node.op.cost(node).flops < SHARED_FLOPS / 10:
        return False
    return min(operand.type.nbytes for operand in node.inputs) > LARGEST_MATRIX and blas_is_as_wide()


def _mixes_all(node: Node) -> bool:
    """Say whether an op leaves no axis along which there could be tiles."""
    if not isinstance(node.type, ArrayType) or not node.type.shape:
        return False
    found = axis_map(node)
    return all(found.role(label) == "mixed" for label in found.results[0])
