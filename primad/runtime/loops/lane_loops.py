"""Stacks of loops of which each ends when its own condition does not hold: some members at a time, on threads."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from primad.ir.key import Key
from primad.ir.law_families import LEFT_OUT
from primad.ir.program import ClosedProgram
from primad.native.emit.op_table import one_loop_of
from primad.native.llvm.compiler import compiled, compiler
from primad.native.loops.batched_while import Member, few_of
from primad.native.loops.while_lanes import lanes_text
from primad.parallel.threads import MOST_CHUNKS, run_on_threads
from primad.runtime.cache import EXECUTABLES
from primad.runtime.loops.driven_loops import UNINTERRUPTED
from primad.system.machine import THREAD_WORK

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * 3)
PIECE = THREAD_WORK // MOST_CHUNKS
"""Instructions of a step for which it is worth to hand members to a thread, which takes some ten steps or more."""
MOST_PIECES = 4 * MOST_CHUNKS
"""Pieces that members are cut into, at most: the number of steps differs from piece to piece, and a few for each chunk
keep threads busy to the end."""


class LaneLoops:
    """A stack of loops as one native function.

    Attributes:
        summary: how it runs, in words.

    Args:
        member: one of them.
        wanted: which carried values of the stack are results.
        length: instructions of a step of one member.
    """

    def __init__(self, member: Member, wanted: Sequence[bool], length: int) -> None:
        host = compiler()
        assert host is not None
        self._member, self._size, self._wanted = member, member.size, wanted
        self._types, self._carry = member.program.in_types, len(member.results)
        self._unwanted = [(k, self._types[k].nbytes) for k, i in enumerate(member.results) if not wanted[i]]
        self._kernels = host.kernels([lanes_text(member)])
        self._function = _FUNCTION(self._kernels[0].address)
        tile, size = member.tile, member.size
        piece = max(PIECE // max(1, length), -(-size // MOST_PIECES))
        self._piece = min(-(-piece // tile) * tile, size)
        self._at_once = max(1, UNINTERRUPTED // (self._piece * max(1, length)))
        self.summary = f"one native function, {few_of(member)}"

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


class LanesKey(NamedTuple):
    """What runs a stack of loops depends on: the program of a step, and which carried values are results."""

    of: Key
    wanted: tuple[bool, ...]
    left_out: frozenset[str]
    kind: str = "lanes"


def in_lanes(of: ClosedProgram, carry: int, wanted: Sequence[bool] | None = None) -> LaneLoops | None:
    """Return what runs a stack of loops, made if it is not there; None where its members are not taken one by one.

    Args:
        of: the program of a step: (carried values, the rest) -> (carried values, whether to go on).
        carry: how many values are carried; the first says which loops go on.
        wanted: which of them are results, if not all.
    """
    used = tuple(wanted or [True] * carry)
    found: LaneLoops | None = EXECUTABLES.get(LanesKey(of.key, used, LEFT_OUT.get()), lambda: _made(of, used))
    return found


def _made(of: ClosedProgram, wanted: tuple[bool, ...]) -> LaneLoops | None:
    found = None if compiler() is None else one_loop_of(of, wanted)
    return None if found is None else compiled("a loop", lambda: LaneLoops(found[0], wanted, found[1]))
