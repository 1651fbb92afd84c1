"""Stacks of loops of which each ends when its own condition does not hold: some members at a time, on threads."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.ir.node import CAPTURED
from primad.ir.program import ClosedProgram, Program
from primad.native.bodies import step_program
from primad.native.budget import BUDGET
from primad.native.compiler import compiler
from primad.native.separate import AT_ONCE, lanes_for, separate_text
from primad.native.straight import length_of
from primad.runtime.cache import EXECUTABLES
from primad.runtime.chunks import run_on_threads
from primad.runtime.loops import UNINTERRUPTED
from primad.runtime.tile_partition import TilePartition
from primad.runtime.tileable_axes import as_tileable, hindrances
from primad.transforms.dimensions import Dimensions

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * 3)
PIECE = 100_000
"""Instructions of a step for which it is worth to hand members to a thread. Chosen: with a few steps they take longer
than Python takes to call the function."""
MOST_PIECES = 64
"""Pieces that members are cut into, at most. Chosen: the number of steps differs from piece to piece, and so many keep
threads busy to the end."""


@dataclass(frozen=True)
class _Member:
    """One loop of a stack.

    Attributes:
        program: (carried values, the rest) -> carried values. Of what belongs to a member, the first axis has one
            element.
        operands: which operands of the stack its inputs are.
        results: which carried values of the stack it carries.
        stacked: which inputs belong to a member; the others are the same for all.
    """

    program: Program
    operands: Sequence[int]
    results: Sequence[int]
    stacked: Sequence[bool]


class SeparateLoops:
    """A stack of loops as one native function.

    Attributes:
        summary: how it runs, in words.

    Args:
        member: one of them.
        wanted: which carried values of the stack are results.
        size: how many members there are.
        lanes: how many a vector has.
        length: instructions of a step of one member.
    """

    def __init__(self, member: _Member, wanted: Sequence[bool], size: int, lanes: int, length: int) -> None:
        host = compiler()
        assert host is not None
        self._member, self._size, self._wanted = member, size, wanted
        self._types, self._carry = member.program.in_types, len(member.results)
        self._unwanted = [(k, self._types[k].nbytes) for k, i in enumerate(member.results) if not wanted[i]]
        self._kernels = host.kernels([separate_text(member.program, self._carry, member.stacked, lanes)])
        self._function = _FUNCTION(self._kernels[0].address)
        tile = AT_ONCE * lanes
        piece = max(PIECE // max(1, length), -(-size // MOST_PIECES))
        self._piece = min(-(-piece // tile) * tile, size)
        self._at_once = max(1, UNINTERRUPTED // (self._piece * max(1, length)))
        self.summary = f"one native function, {tile} of {size} loops at a time in registers, each until it ends"

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self._member.program, self._kernels

    def run(self, operands: Sequence[Any], most: int) -> tuple[int, list[Any]]:
        """Take steps until no loop goes on.

        Args:
            operands: the carried values before the first step, and what is the same in all steps.
            most: how many steps each loop may take, one at least.

        Returns:
            the largest number of steps, minus that where a loop would go on; and the carried values after the last,
            None for what is not wanted.
        """
        chosen = zip(self._member.operands, self._types, self._member.stacked, strict=True)
        given = [_in_order(np.asarray(operands[i], type.dtype), on) for i, type, on in chosen]
        results = self._member.results
        made = {i: np.empty(x.shape, x.dtype) for i, x in zip(results, given, strict=False) if self._wanted[i]}
        moves = [x.strides[0] if on else 0 for x, on in zip(given, self._member.stacked, strict=True)]
        places = [(x.ctypes.data, move) for x, move in zip(given, moves, strict=True)]
        places += [(made[i].ctypes.data, made[i].strides[0]) if i in made else (0, 0) for i in results]
        steps = [move // x.itemsize for x, move in zip(given, moves, strict=True)]
        counts: list[int] = []
        waiting = iter(range(0, self._size, self._piece))  # threads take the next piece; its `next` is atomic
        stopped: list[bool] = []

        def work() -> None:
            # What is not wanted is written into memory of the thread's own, so that no page is touched for it.
            own = [np.empty(self._piece * size, np.uint8) for _, size in self._unwanted]
            for start in waiting:
                table = [first + start * move for first, move in places]
                for (k, _), memory in zip(self._unwanted, own, strict=True):
                    table[len(given) + k] = memory.ctypes.data
                counts.append(self._taken([*table, *steps], min(self._piece, self._size - start), most, stopped))

        if self._size <= self._piece:
            work()
        else:
            run_on_threads(work, -(-self._size // self._piece), lambda: stopped.append(True), joins=True)
        taken = max(map(abs, counts), default=0)
        return taken if min(counts, default=0) >= 0 else -taken, [made.get(i) for i in range(len(self._wanted))]

    def _taken(self, table: list[int], count: int, most: int, stopped: Sequence[bool]) -> int:
        """Take the steps of some members; return the largest number, minus that where one would go on."""
        taken, goes, inputs = 0, True, len(self._types)
        while goes and taken < most and not stopped:
            words = (ctypes.c_int64 * len(table))(*table)
            turns = self._function(words, 0, count, min(most - taken, self._at_once))
            taken, goes = taken + abs(turns), turns < 0
            table[: self._carry] = table[inputs : inputs + self._carry]
            first = inputs + self._carry
            table[first : first + self._carry] = [type.size for type in self._types[: self._carry]]
        return -taken if goes else taken


def _in_order(x: Any, stacked: bool) -> Any:
    """Return an array that lies in order; of members each does, whatever lies between them."""
    lies = stacked and x.strides[0] % x.itemsize == 0 and x[0].flags.c_contiguous
    return x if lies else np.ascontiguousarray(x)


def separate_loops(of: ClosedProgram, carry: int, wanted: Sequence[bool] | None = None) -> SeparateLoops | None:
    """Return what runs a stack of loops, made if it is not there; None where its members are not taken one by one.

    Args:
        of: the program of a step: (carried values, the rest) -> (carried values, whether to go on).
        carry: how many values are carried; the first says which loops go on.
        wanted: which of them are results, if not all.
    """
    used = tuple(wanted or [True] * carry)
    found: SeparateLoops | None = EXECUTABLES.get(("separate loops", of.key, used), lambda: _made(of, used))
    return found


def _made(of: ClosedProgram, wanted: Sequence[bool]) -> SeparateLoops | None:
    carry = len(wanted)
    if compiler() is None or len(of.out_types) != carry + 1:
        return None
    whole = step_program(of)
    member = _member(whole, _needed(whole, wanted), carry)
    if member is None:
        return None
    length, lanes = length_of(member.program), lanes_for(member.program)
    if length is None or lanes is None or AT_ONCE * length > BUDGET.instructions:
        return None
    try:
        return SeparateLoops(member, wanted, whole.in_types[0].shape[0], lanes, length)
    except RuntimeError as error:  # what llvmlite raises: a version of LLVM that refuses the text, or no memory
        warnings.warn(f"a loop could not be compiled, NumPy runs instead: {error}", RuntimeWarning, stacklevel=2)
        return None


def _needed(program: Program, wanted: Sequence[bool]) -> list[int]:
    """Return the places of the carried values that results need, in some step, and of the condition."""
    found = {0, *[i for i, on in enumerate(wanted) if on]}
    while True:
        used = set(Program(program.trace, program.inputs, [program.outputs[i] for i in sorted(found)]).nodes)
        used.update(program.outputs[i] for i in found)
        more = {i for i in range(len(wanted)) if program.inputs[i] in used} - found
        if not more:
            return sorted(found)
        found |= more


def _member(whole: Program, results: Sequence[int], carry: int) -> _Member | None:
    """Return one loop of a stack that carries some of its values; None where its members do not stay apart."""
    outputs = [whole.outputs[i] for i in results]
    used = set(Program(whole.trace, whole.inputs, outputs).nodes)
    operands = [*results, *[i for i in range(carry, len(whole.inputs)) if whole.inputs[i] in used]]
    program = Program(whole.trace, [whole.inputs[i] for i in operands], outputs)
    stack = Dimensions(program).of(program.inputs[0], 0)
    stacked = [node in stack.axis for node in program.inputs]
    captured = any(node.op is CAPTURED for node in stack.axis)
    leads = all(stack.axis.get(node, 0) == 0 for node in (*program.inputs, *outputs))
    own = all(stacked[: len(results)]) and all(node in stack.axis for node in outputs)
    if length_of(program) is None or not (stack.length and leads and own):
        return None
    if hindrances(stack) or stack.whole or stack.summed or captured:
        return None
    part = TilePartition(
        program=program, dimension=as_tileable(stack), before=frozenset(), after=frozenset(), inputs=program.inputs,
        totals=(), sums=(), total_of=(), sliced=outputs, into=[None] * len(outputs),
    )  # fmt: skip
    return _Member(part.tile(1)[0], operands, results, stacked)
