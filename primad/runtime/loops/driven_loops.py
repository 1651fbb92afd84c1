"""Steps of loops, and loops of a compiled program: one native function takes the steps, and calls that of a step."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from primad.ir.program import Program
from primad.native.cpython.object_layout import data_address
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.compiler import compiler
from primad.native.llvm.scratch_memory import ALIGNMENT, aligned
from primad.native.loops.body_programs import most_work
from primad.native.loops.step_driver import driver_text
from primad.runtime.plan.compiled_program import CompiledProgram

UNINTERRUPTED = BUDGET.uninterrupted
"""Instructions of a loop between two moments at which Python sees an interrupt."""
Shape = tuple[int, int, bool, bool]
"""How many values a loop carries, how many inputs are rows, whether the last row comes first, and whether the body says
if there is a further step."""


class Steps(ABC):
    """A body, ready to be taken step by step.

    Attributes:
        program: the body: (carried values, rows, the rest) -> (carried values, whether to go on, results).
        summary: how it runs, in words.
        takes_views: whether rows may lie in any order: what is copied of them at once is not all.
    """

    program: Program
    summary: str
    takes_views = False

    @abstractmethod
    def run(self, state: list[Any], rows: list[Any], fixed: list[Any], results: list[Any], steps: int) -> int:
        """Take steps, and return how many were taken; minus that where the condition still holds.

        Args:
            state: the carried values, arrays of one's own: what is in them at the end are those after the last step.
            rows: stacked arrays.
            fixed: what is the same in all steps.
            results: stacked results, to be written.
            steps: how many steps to take at most.
        """

    @property
    @abstractmethod
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""


_DRIVER = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 5, *[ctypes.c_int64] * 4, *[ctypes.c_void_p] * 2)


class DrivenLoop(Steps):
    """A loop of a compiled program, in one native function that calls it."""

    summary = "one native function, which calls that of a step"

    def __init__(self, compiled: CompiledProgram, shape: Shape) -> None:
        host = compiler()
        assert host is not None
        self.program = program = compiled.program
        self._compiled = compiled
        self._kernels = host.kernels([driver_text()])
        self._function = _DRIVER(self._kernels[0].address)
        self._carry, self._stacked, self._reverse, self._ends = shape
        self._at_once = max(1, UNINTERRUPTED // max(1, most_work(program)))

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self._compiled, self._kernels

    def run(self, state: list[Any], rows: list[Any], fixed: list[Any], results: list[Any], steps: int) -> int:
        """Take steps, and return how many; see `Steps`."""
        return self.take(state, rows, fixed, results, steps)

    def take(
        self,
        state: Sequence[Any],
        rows: Sequence[Any],
        fixed: Sequence[Any],
        results: Sequence[Any],
        steps: int,
        stopped: Sequence[bool] = (),
    ) -> int:
        """Take steps, as `run` does, until something is in `stopped`."""
        carry, count = self._carry, len(self.program.inputs)
        types = self.program.in_types[carry:]
        rest = [_in_order(np.asarray(x, type.dtype)) for x, type in zip(rows, types, strict=False)]
        rest += [np.ascontiguousarray(x, type.dtype) for x, type in zip(fixed, types[len(rows) :], strict=True)]
        other = [np.empty_like(x) for x in state]
        go = np.ones(1, np.bool_)
        first = steps - 1 if self._reverse else 0
        moved = [*rest[: len(rows)], *results]
        places = [
            *range(carry, carry + len(rows)),
            *range(count + carry + self._ends, count + carry + self._ends + len(results)),
        ]
        strides = [-x.strides[0] if self._reverse else x.strides[0] for x in moved]
        starts = [data_address(x) + first * x.strides[0] for x in moved]
        inputs = [
            *(data_address(x) for x in state),
            *starts[: len(rows)],
            *(data_address(x) for x in rest[len(rows) :]),
        ]
        outputs = [*(data_address(x) for x in other), *[data_address(go)] * self._ends, *starts[len(rows) :]]
        table = (ctypes.c_void_p * (count + len(outputs)))(*inputs, *outputs)
        places_, strides_ = ((ctypes.c_int64 * max(1, len(moved)))(*x) for x in (places, strides))
        scratch = np.empty(self._compiled.scratch + ALIGNMENT, np.uint8)
        start, taken = aligned(scratch.ctypes.data), ctypes.c_int64(0)
        address, done = self._compiled.address, 0
        own = [data_address(x) for x in state]
        while done < steps and go[0] and not stopped:
            at_once = min(steps - done, self._at_once)
            status = self._function(
                address, table, start, places_, strides_, len(moved), carry, count, at_once,
                data_address(go), ctypes.addressof(taken),
            )  # fmt: skip
            if status:
                raise self._compiled.failure(status, start)
            done += taken.value
        for i, (x, y) in enumerate(zip(state, other, strict=True)):
            if table[i] != own[i]:
                x[...] = y
        return -done if self._ends and go[0] else done


def _in_order(rows: Any) -> Any:
    """Return rows of which each lies in order, whatever lies between them."""
    return rows if rows[0].flags.c_contiguous else np.ascontiguousarray(rows)
