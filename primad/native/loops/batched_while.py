"""One loop of a stack of loops, of which each ends when its own condition does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.law_families import LEFT_OUT
from primad.ir.node import CAPTURED, Leaf, Node, Trace
from primad.ir.program import ClosedProgram, Program, carry_lines
from primad.ir.replay import replay
from primad.ir.walks import dependents
from primad.native.emit.pointwise import is_function
from primad.native.llvm.vectors import lanes_of
from primad.native.loops.body_programs import needed_results, step_program
from primad.system.machine import CORE
from primad.system.process import MOST_KEPT, made_once
from primad.transforms.dimensions import Dimension, Dimensions
from primad.transforms.resizing import resized

AT_ONCE = CORE.latency
"""Vectors of members that take their steps together: instructions of the others run while one's result is awaited, and
their values stay in the nearest cache."""


class Member(Struct, frozen=True):
    """One loop of a stack.

    Attributes:
        program: (carried values, the rest) -> carried values; the first says whether to go on. Of what belongs to a
            member, the first axis has one element.
        operands: which operands of the stack its inputs are.
        results: which carried values of the stack it carries.
        stacked: which inputs belong to a member; the others are the same for all.
        size: how many members there are.
        dtype: of the floats.
    """

    program: Program
    operands: Sequence[int]
    results: Sequence[int]
    stacked: Sequence[bool]
    size: int
    dtype: np.dtype[Any]

    @property
    def lanes(self) -> int:
        """How many members a vector has."""
        return lanes_of(self.dtype)

    @property
    def tile(self) -> int:
        """How many members take their steps together."""
        return AT_ONCE * self.lanes


def member_of(of: ClosedProgram, wanted: tuple[bool, ...]) -> Member | None:
    """Return one loop of a stack; None where members do not stay apart, or floats are not all of one size.

    Args:
        of: the program of a step: (carried values, the rest) -> (carried values, whether to go on).
        wanted: which of the carried values are results; the first says which loops go on.
    """
    return _member_of(of, wanted, LEFT_OUT.get())


@made_once(most=MOST_KEPT)
def _member_of(of: ClosedProgram, wanted: tuple[bool, ...], left_out: frozenset[str]) -> Member | None:
    if len(of.out_types) != len(wanted) + 1:
        return None
    whole = step_program(of)
    results = needed_results(whole, len(wanted), {0, *[i for i, on in enumerate(wanted) if on]})
    outputs = [whole.outputs[i] for i in results]
    used = set(Program(whole.trace, whole.inputs, outputs).nodes)
    operands = [*results, *[i for i in range(len(wanted), len(whole.inputs)) if whole.inputs[i] in used]]
    program = Program(whole.trace, [whole.inputs[i] for i in operands], outputs)
    stack = Dimensions(program).of(program.inputs[0], 0)
    stacked = [node in stack.axis for node in program.inputs]
    leads = all(stack.axis.get(node, 0) == 0 for node in (*program.inputs, *outputs))
    own = all(stacked[: len(results)]) and all(node in stack.axis for node in outputs)
    if not (stack.length and leads and own and _stay_apart(stack)):
        return None
    single = _without_choices(resized(program, program.inputs, outputs, stack.axis, 1)[0])
    dtype = _dtype_of(single)
    return None if dtype is None else Member(single, operands, results, stacked, stack.length, dtype)


def few_of(member: Member) -> str:
    """Say how the loops of a stack run."""
    return f"{member.tile} of {member.size} loops at a time in registers, each until it ends"


def _stay_apart(stack: Dimension) -> bool:
    """Say whether what one member computes depends on nothing of another."""
    held = any(node.op is CAPTURED for node in stack.axis)
    return not (held or stack.twice or stack.mixed or stack.summed or stack.whole)


def _without_choices(program: Program) -> Program:
    """Return a step in which one that is not taken computes what it likes: nothing of it reaches what is carried.

    On whole stacks a loop that has ended computes its first step again, since the tangents of its last one are
    multiplied by zeros. A member's lanes are its own. Functions would take their slow ways for arguments of any size.
    """
    go, trace = program.inputs[0], Trace()
    choices = [node for node in program.nodes if node.op is ops.select and _is_spread(node.inputs[0], go)]
    reached = dependents(program.nodes, choices)
    guarded = all(_guards(node, go) for node in program.outputs if node in reached)
    if not guarded or any(is_function(node) for node in program.nodes if not isinstance(node.op, Leaf)):
        return program
    inside: dict[Node, Node] = {node: trace.input(node.type) for node in program.inputs}
    inputs, outer = list(inside.values()), dict(inside)
    for node in program.nodes:
        if node not in inside:
            replay([node], inside, trace, copy=True)
            outer[node] = inside[node]
            if node in choices:
                inside[node] = inside[node.inputs[1]]
    carry_lines(program, inside, trace)
    found = Program(trace, inputs, [outer[node] for node in program.outputs])
    trace.close()
    return found


def _guards(node: Node, go: Node) -> bool:
    """Say whether a carried value is chosen, or does not hold, where a loop has ended."""
    if node.op is ops.logical_and:
        return go in node.inputs
    return node.op is ops.select and _is_spread(node.inputs[0], go)


def _is_spread(node: Node, go: Node) -> bool:
    """Say whether a condition is that a loop goes on, for each element of a value."""
    return node is go or (node.op is ops.broadcast and node.inputs[0] is go)


def _dtype_of(program: Program) -> np.dtype[Any] | None:
    """Return the dtype of the floats of a program; None where it has several."""
    nodes = [*program.inputs, *[node for node in program.nodes if not isinstance(node.op, Leaf)]]
    floats = {node.type.dtype for node in nodes if isinstance(node.type, ArrayType) and node.type.is_float}
    return None if len(floats) > 1 else next(iter(floats), np.dtype(np.float64))
