"""A small program as one native function, for calls whose price is otherwise the interpreter's."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from primad.ir.node import Leaf, Node
from primad.ir.program import ClosedProgram, Program
from primad.ir.signature import Signature
from primad.native.complex_numbers.realify import in_parts
from primad.native.cpython.entry_point import builtin, is_plain, write_cpython_entry
from primad.native.cpython.object_layout import data_address
from primad.native.emit.op_table import runs_apart, short_length
from primad.native.emit.pointwise import work_of_element
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.compiler import compiled, compiler
from primad.native.llvm.scratch_memory import ALIGNMENT, aligned
from primad.native.loops.batched_while import few_of, member_of
from primad.native.loops.body_programs import (
    bodies_in,
    counts_steps,
    form_of,
    has_body,
    is_loop,
    may_be_long,
    most_work_of,
    nodes_within,
    step_program,
)
from primad.native.module.outlined_text import text_of
from primad.native.module.program_text import ProgramText, kernel_of
from primad.native.schedule.inner_loops import with_inner_loops
from primad.native.schedule.joined_slices import with_slices_of_parts
from primad.native.schedule.shared_pads import with_shared_pads
from primad.native.schedule.stencil_split import in_boxes
from primad.recording import tree
from primad.runtime.cost_model import Machine, Prediction, as_one_function
from primad.runtime.executors.executor import Executable
from primad.runtime.failure import failure_of
from primad.simplify.barriers import without_barriers
from primad.system.machine import ALONE_WORK, THREAD_WORK, WORTHWHILE_BYTES
from primad.system.process import MOST_KEPT
from primad.system.quantities import several

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


class CompiledProgram(Executable):
    """A program that runs as one native function.

    Args:
        program: what it computes.
        written: what its text computes: the same in parts of complex numbers, where there are such.
        signature: how Python calls it, if it does.
        text: its text.
        work: a measure of the time that it takes.

    Attributes:
        program, written: as given.
        work: a measure of the time that it takes.
        failing: the ops that can fail.
        kernels: its function, and that which Python calls, if there is one.
    """

    def __init__(
        self, program: Program, written: Program, signature: Signature | None, text: ProgramText, work: int
    ) -> None:
        host = compiler()
        assert host is not None
        self.program = program
        self.written = written
        self.signature = signature
        self.work = work
        self.failing = text.failing
        self._scratch = text.scratch
        self._lines = text.lines
        types = [node.type for node in program.outputs]
        self._entry = None if signature is None else write_cpython_entry(signature, types, text.scratch, work)
        texts = [kernel_of(text)] if self._entry is None else [kernel_of(text), self._entry.text]
        self.kernels = host.kernels(texts)
        self._function = _FUNCTION(self.kernels[0].address)

    @property
    def peak_bytes(self) -> int:
        """Memory of the arrays that a run makes."""
        return self._scratch + sum(node.type.nbytes for node in self.program.outputs)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self.program, self.kernels

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the outputs; each is an array of its own."""
        given = [
            np.ascontiguousarray(x, node.type.dtype) for x, node in zip(arguments, self.program.inputs, strict=True)
        ]
        results = [np.empty(node.type.shape, node.type.dtype) for node in self.program.outputs]
        scratch = np.empty(self._scratch + ALIGNMENT, np.uint8)
        table = (ctypes.c_void_p * (len(given) + len(results)))(*[data_address(x) for x in (*given, *results)])
        start = aligned(data_address(scratch))
        status = self._function(table, start)
        if status:
            raise self.failure(status, start)
        return [x if x.ndim else x[()] for x in results]

    @property
    def address(self) -> int:
        """Where the function of a table of addresses of inputs and outputs, and of scratch memory, is."""
        return self.kernels[0].address

    @property
    def scratch(self) -> int:
        """Bytes of scratch memory."""
        return self._scratch

    def failure(self, status: int, scratch: int) -> Exception:
        """Return the error for what the function returned, with its scratch memory at an address."""
        place, value = (ctypes.c_int64 * 2).from_address(scratch)
        return failure_of(status, place, value, self.failing, self._lines).error()

    @property
    def summary(self) -> str:
        """How it runs, in a line."""
        return "one native function"

    @property
    def details(self) -> list[str]:
        """The loops in it."""
        return loops_in_words(self.written)

    def predicted(self, machine: Machine) -> Prediction:
        """Predict how long a run takes."""
        return as_one_function(self.written, machine)

    def entry(self, constants: Sequence[Any]) -> Callable[..., Any] | None:
        """Return the program as a built-in function, or such a one whose flat result is rebuilt as a tree."""
        if self._entry is None:
            return None
        body, entry = self.kernels
        arrays = [np.ascontiguousarray(x) for x in constants]
        function: Callable[..., Any] = builtin(entry.address, body.address, arrays, self._entry, self.kernels)
        assert self.signature is not None
        results = self.signature.results
        return function if is_plain(results) else _rebuilding(function, results)


def loops_in_words(program: Program) -> list[str]:
    """Say how the loops of a program run that is one native function."""
    found = []
    for node in program.nodes:
        if is_loop(node):
            form = form_of(node)
            most = "at most " if form.lead else ""
            member = member_of(form.of, (True,) * form.carry) if runs_apart(form) else None
            short = short_length(step_program(form.of)) is not None
            how = "its carried values in registers" if short else "which calls its step"
            how = how if member is None else few_of(member)
            found.append(f"a loop of {most}{several(form.length, 'step')}: in the same native function, {how}")
    return list(dict.fromkeys(found))


def _rebuilding(entry: Callable[..., Any], out_tree: Any) -> Callable[..., Any]:
    """Return a native function whose flat result is rebuilt as a tree."""

    def rebuilt(*args: Any) -> Any:
        found = entry(*args)
        return found if found is NotImplemented else tree.unflatten(out_tree, found)

    return rebuilt


def compiled_program(
    program: Program, signature: Signature | None, memory: int | None = None
) -> CompiledProgram | None:
    """Return a plan that runs a lowered program as one native function; None where that does not pay or cannot be.

    Args:
        program: what to compute.
        signature: how Python calls it, if it does.
        memory: bytes that its arrays may take, if that is limited: plans hold only some rows of loops then.
    """
    if memory is not None and bodies_in(program):
        return None
    written = None if compiler() is None else in_parts(program)
    work = None if written is None else work_of([node for node in written.nodes if not isinstance(node.op, Leaf)])
    if written is None or work is None:
        return None
    if any(may_be_long(form_of(node)) for node in nodes_within(written) if has_body(node)):
        work = max(work, THREAD_WORK)  # other threads need not wait for its end
    text = text_of(written_program(written))
    if text is None:
        return None
    return compiled("a program", lambda: CompiledProgram(program, written, signature, text, work))


def written_program(program: Program) -> Program:
    """Return the program that is written for one to be a native function."""
    return in_boxes(with_inner_loops(with_slices_of_parts(with_shared_pads(without_barriers(program)))))


def work_of(nodes: Iterable[Node]) -> int | None:
    """Return a measure of the time that steps take; None if it is too large for programs that run as a whole."""
    work = size = most = 0
    for node in nodes:
        cost = node.op.cost(node)
        form = form_of(node) if has_body(node) else None
        told = form is not None and counts_steps(form)  # stacks are memory only where a step writes them
        work += cost.matmul_flops // 8 + node.type.size * work_of_element(node)
        if form is not None:
            most += most_work_of(form)
            called = 0 if is_loop(node) else _work_of_called(form.of)
            if called is None:
                return None
            work += called
        if form is not None and runs_apart(form):  # its members stay in registers
            work += cost.flops
            size += node.type.nbytes
        elif form is not None and is_loop(node):  # its steps compute in the same memory
            work += max(0, cost.flops - cost.matmul_flops)
            size += (0 if told else node.type.nbytes) + form.of.program.cost().bytes
        else:
            size += cost.bytes
        if work > ALONE_WORK or size > WORTHWHILE_BYTES or most > BUDGET.uninterrupted:
            return None
    return work


@lru_cache(maxsize=MOST_KEPT)
def _work_of_called(of: ClosedProgram) -> int | None:
    """Return the same measure for a program that is called."""
    return work_of([node for node in step_program(of).nodes if not isinstance(node.op, Leaf)])
