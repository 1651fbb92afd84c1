"""Running loops: small bodies as one native function, loop and all; others by their own executable, step by step."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from primad.ir.key import Key
from primad.ir.law_families import LEFT_OUT
from primad.ir.node import Node
from primad.ir.program import ClosedProgram, Program
from primad.native.complex_numbers.realify import in_parts, reason_in_parts
from primad.native.cpython.object_layout import data_address
from primad.native.emit.op_table import failing_in, short_length
from primad.native.llvm.compiler import Kernel, compiled, compiler
from primad.native.loops.body_programs import most_work, step_program
from primad.native.loops.step_driver import driver_text
from primad.native.module.outlined_text import text_of
from primad.native.unrolled.straight_line import loop_text
from primad.parallel.threads import thread_count
from primad.runtime.cache import EXECUTABLES
from primad.runtime.executors.dispatch import prepared_call
from primad.runtime.executors.executor import Executable
from primad.runtime.failure import failure_of
from primad.runtime.loops.driven_loops import UNINTERRUPTED, DrivenLoop, Shape, Steps
from primad.runtime.loops.loops_ahead import AHEAD
from primad.runtime.loops.needed_parts import needed_part
from primad.runtime.loops.shared_loops import shared_loop
from primad.runtime.plan.compiled_program import CompiledProgram
from primad.runtime.plan.interpreter import Plan, wanted_of
from primad.runtime.plan.native_steps import NativePart

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)


class _NativeLoop(Steps):
    """A loop that is one native function."""

    summary = "one native function, its carried values in registers"

    def __init__(self, program: Program, written: Program, shape: Shape, length: int) -> None:
        host = compiler()
        assert host is not None
        self.program = program
        self._kernels: list[Kernel] = host.kernels([loop_text(written, *shape)])
        self._function = _FUNCTION(self._kernels[0].address)
        self._carry, self._stacked, self._reverse, self._ends = shape
        self._at_once = max(1, UNINTERRUPTED // max(1, length))
        self._failing, self._lines = failing_in(written), written.lines

    @property
    def held(self) -> tuple[Any, ...]:
        return self.program, self._kernels

    def run(self, state: list[Any], rows: list[Any], fixed: list[Any], results: list[Any], steps: int) -> int:
        types = self.program.in_types
        given = [*rows, *fixed]
        rest = [np.ascontiguousarray(x, type.dtype) for x, type in zip(given, types[self._carry :], strict=True)]
        rows, fixed = rest[: len(rows)], rest[len(rows) :]
        said = np.zeros((len(self._failing), 2), np.int64)
        taken = 0
        while taken < steps:
            count = min(steps - taken, self._at_once)
            place = steps - 1 - taken if self._reverse else taken
            own = [data_address(x) for x in state]
            moving = [data_address(x) + place * x.strides[0] for x in rows]
            out = [data_address(x) + place * x.strides[0] for x in results]
            table = [*own, *moving, *[data_address(x) for x in fixed], *own, *out, data_address(said)]
            found: int = self._function((ctypes.c_void_p * len(table))(*table), count)
            self._raise(said)
            taken += abs(found)
            if self._ends and found > 0:
                return taken
        return -taken if self._ends else taken

    def _raise(self, said: np.ndarray[Any, Any]) -> None:
        """Raise the error of the first op that says something, if one does."""
        for i, (place, value) in enumerate(said.tolist(), 1):
            if place:
                raise failure_of(i, place, value, self._failing, self._lines).error()


class _OneByOne(Steps):
    """A loop whose body is run by its own executable, from Python."""

    def __init__(self, executable: Executable, shape: Shape) -> None:
        self._executable = executable
        self.program = self._executable.program
        missing = next(filter(None, map(reason_in_parts, self.program.nodes)), "its steps are large")
        self.summary = f"step by step from Python, each {executable.summary} ({missing})"
        self._carry, _, self._reverse, self._ends = shape

    @property
    def held(self) -> tuple[Any, ...]:
        return (self._executable,)

    def run(self, state: list[Any], rows: list[Any], fixed: list[Any], results: list[Any], steps: int) -> int:
        values, found = list(state), []
        after = self._carry + self._ends
        taken = 0
        for i in reversed(range(steps)) if self._reverse else range(steps):
            found = self._executable.run([*values, *(x[i] for x in rows), *fixed])
            values = found[: self._carry]
            for result, value in zip(results, found[after:], strict=True):
                result[i] = value
            taken += 1
            if self._ends and not found[self._carry]:
                break
        for place, value in zip(state, values, strict=True):
            place[...] = value
        return -taken if self._ends and found[self._carry] else taken


class LoopKey(NamedTuple):
    """What the steps of a loop depend on: see `steps_of`."""

    of: Key
    carry: int
    stacked: int
    reverse: bool
    ends: bool
    memory: int | None
    left_out: frozenset[str]
    kind: str = "loop"


def steps_of(
    of: ClosedProgram, carry: int, stacked: int, reverse: bool, ends: bool, memory: int | None = None
) -> Steps:
    """Return what takes the steps of a loop, made if it is not there."""
    key, make = _maker(of, (carry, stacked, reverse, ends), memory)
    AHEAD.wait(key)
    found: Steps = EXECUTABLES.get(key, make)
    return found


def _maker(of: ClosedProgram, shape: Shape, memory: int | None) -> tuple[LoopKey, Callable[[], Steps]]:
    return LoopKey(of.key, *shape, memory, LEFT_OUT.get()), lambda: _made(of, shape, memory)


def begin_loops(steps: Sequence[Node], program: Program, memory: int | None) -> None:
    """Begin to make the loops among steps of a program on another thread, if there may be one.

    Args:
        steps: what is run one by one.
        program: of which they are steps.
        memory: bytes that arrays within a step may take.
    """
    makers: dict[Hashable, Callable[[], Any]] = {}
    for node in steps if thread_count() > 1 else ():
        form = node.op.programs.loop(node) if node.op.programs.loop is not None else None
        if form is None or form.separate:
            continue
        wanted = wanted_of(node, program.nodes).get("wanted", ())
        part = None if form.ends else needed_part(form.of, form.carry, form.stacked, wanted)
        of, carry, stacked = (form if part is None else part)[:3]
        key, make = _maker(of, (carry, stacked, form.reverse, form.ends), memory)
        if EXECUTABLES.find(key) is None:
            makers[key] = partial(EXECUTABLES.get, key, make)
    host = compiler()
    if makers and host is not None:
        driver = driver_text()  # which all may need: later it would wait for what LLVM has begun
        AHEAD.begin({driver: partial(host.kernels, [driver]), **makers})


def _made(of: ClosedProgram, shape: Shape, memory: int | None) -> Steps:
    program = step_program(of)
    written = None if compiler() is None else in_parts(program)
    length = None if written is None else short_length(written)
    if written is not None and length is not None:
        loop = compiled("a loop", lambda: _NativeLoop(program, written, shape, length))
        if loop is not None:
            return loop
    shared = shared_loop(of, shape, lambda: _whole(of, shape)) if memory is None else None
    return shared or _whole(of, shape, memory)


def _whole(of: ClosedProgram, shape: Shape, memory: int | None = None) -> Steps:
    """Return what takes the steps of all members of a loop together."""
    executable = prepared_call(of, memory)
    function = _one_function(executable) if memory is None else None
    return _OneByOne(executable, shape) if function is None else DrivenLoop(function, shape)


def _one_function(executable: Executable) -> CompiledProgram | None:
    """Return what runs a step as a function that a native loop calls; None where it is no such function.

    A step that is too large for a function that Python calls may be one native part all the same.
    """
    if isinstance(executable, CompiledProgram):
        return executable
    if not isinstance(executable, Plan) or [type(unit) for unit in executable.units] != [NativePart]:
        return None
    program = executable.program
    text = text_of(program)
    if text is None:
        return None
    return compiled("a step", lambda: CompiledProgram(program, program, None, text, most_work(program)))
