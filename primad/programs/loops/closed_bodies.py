"""The program of a loop's step as an op holds it, and what it closes over."""

from __future__ import annotations

from typing import Any

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import LITERAL, Leaf, Node, literal_value
from primad.ir.program import ClosedProgram, Program
from primad.programs.compacting import packed
from primad.programs.derived_programs import cost
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.transforms.lowering import SHORT_STEP, calls, inline, without_calls

SHORT_ON_NUMBERS = SHORT_STEP // 4
"""Elements that a step computes, at most, for derivatives of it to be short steps too. Chosen: they take a few times as
many."""
LEAST_SHORTER = 2
"""Times that a short step has to be longer than on arrays to be computed on these. Tuned: a sweep over 64 numbers, each
computed of those before it, is 465 nodes on arrays instead of 288 on numbers, and its loop takes ten times as long,
since what is gathered goes through memory, and numbers stay in registers."""


def with_scalars(program: Program) -> tuple[ClosedProgram, list[Node]]:
    """Return the program of a step and what it closes over; numbers have no axes, whatever shape they have there."""
    program = _on_arrays(_with_short_calls_in_place(program))
    sources = list(program.sources)
    wide = [i for i, node in enumerate(sources) if node.op is LITERAL and node.type.shape]
    if not wide:
        return ClosedProgram(program), sources
    count = len(program.inputs)
    small = list(sources)
    for i in wide:
        small[i] = program.trace.literal(literal_value(sources[i]), ArrayType((), sources[i].type.dtype))

    def step(*operands: TracedArray) -> list[Any]:
        given = list(operands)
        for i in wide:
            shape = sources[i].type.shape
            given[count + i] = ops.broadcast(operands[count + i], shape=shape, axes=tuple(range(len(shape))))
        return inline(program.hoisted(), given)

    made = program_of([*program.in_types, *(node.type for node in small)], step)
    made.label = program.label
    return ClosedProgram(made), small


def _with_short_calls_in_place(program: Program) -> Program:
    """Return the program of a step without calls, if it is short then.

    It is one function in which all stays in registers, and what reverse mode keeps of it is chosen over the whole.
    """
    called = [of for node in calls(program) if node.op.lower is not None for of in node.op.held(node.params)]
    if not called or sum(cost(of).nodes for of in called) > SHORT_STEP:
        return program
    found = without_calls(program)
    return found if sum(node.type.size for node in found.nodes) <= SHORT_STEP else program


def _on_arrays(program: Program) -> Program:
    """Return the program of a step with ops on arrays, where they make it shorter, or it is long."""
    made = packed(program)
    if sum(node.type.size for node in program.nodes) > SHORT_ON_NUMBERS:
        return made
    count = sum(not isinstance(node.op, Leaf) and not node.op.memory.views for node in program.nodes)
    return program if LEAST_SHORTER * len(made.nodes) > count else made
