"""A small program as one native function, for calls whose price is otherwise the interpreter's."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import tree
from primad.ir.node import Leaf
from primad.ir.program import Program
from primad.ir.signature import Signature
from primad.native.calls import text_of_calls
from primad.native.compiler import compiler
from primad.native.cpython_entry import CPythonEntry, builtin, is_plain, write_cpython_entry
from primad.native.layout import layout_of
from primad.native.memory import ALIGNMENT, aligned
from primad.native.parts import PartedProgram
from primad.native.pointwise import NEEDS
from primad.native.program_text import ProgramText, ProgramWriter, kernel_of
from primad.native.storage import VIEWS
from primad.native.table import reason
from primad.runtime.checkpoints import without_barriers
from primad.runtime.executor import Executable
from primad.runtime.failure import failure_of
from primad.runtime.prediction import Machine, Prediction, as_one_function

POINTWISE_SECONDS, LOOP_SECONDS = 0.15e-3, 0.5e-3
"""How long compiling takes for a pointwise op, which is an instruction of a loop, and for any other."""
WORTH_CUTTING = 0.05
"""Seconds of compiling, from which it is tried to find equal parts,"""
WORTHWHILE_SHARE = 0.6
"""which pays where compiling takes at most such a share of the time then."""
LONG_PROGRAM = 0.4
"""Seconds of compiling, from which a program is cut in any case: one function takes longer than its parts together."""
MOST_SECONDS = 4.0
"""Seconds of compiling that a program may take: what takes longer saves too little for them in a thousand calls."""
MOST_WORK = 4_000_000
"""Elements computed (a function counts as eight, two flops of a product as a quarter): about a millisecond. In larger
programs the interpreter's price does not show, while threads and a tuned BLAS library do."""
MOST_BYTES = 4 * 1024 * 1024
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


class CompiledProgram(Executable):
    """A program that runs as one native function.

    Attributes:
        program: what it computes.
    """

    def __init__(
        self, program: Program, signature: Signature | None, text: ProgramText, entry: CPythonEntry | None
    ) -> None:
        host = compiler()
        assert host is not None
        self.program = program
        self.signature = signature
        self._scratch = text.scratch
        self._failing = text.failing, text.lines
        self._entry = entry
        texts = [kernel_of(text)] if entry is None else [kernel_of(text), entry.text]
        self._kernels = host.kernels(texts)
        self._function = _FUNCTION(self._kernels[0].address)

    @property
    def peak_bytes(self) -> int:
        """Memory of the arrays that a run makes."""
        return self._scratch + sum(node.type.nbytes for node in self.program.outputs)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self.program, self._kernels

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the outputs; each is an array of its own."""
        given = [
            np.ascontiguousarray(x, node.type.dtype) for x, node in zip(arguments, self.program.inputs, strict=True)
        ]
        results = [np.empty(node.type.shape, node.type.dtype) for node in self.program.outputs]
        scratch = np.empty(self._scratch + ALIGNMENT, np.uint8)
        table = (ctypes.c_void_p * (len(given) + len(results)))(*[x.ctypes.data for x in (*given, *results)])
        start = aligned(scratch.ctypes.data)
        status = self._function(table, start)
        if status:
            place, value = (ctypes.c_int64 * 2).from_address(start)
            raise failure_of(status, place, value, *self._failing).error()
        return [x if x.ndim else x[()] for x in results]

    @property
    def summary(self) -> str:
        """How it runs, in a line."""
        return "one native function"

    def predicted(self, machine: Machine) -> Prediction:
        """Predict how long a run takes."""
        return as_one_function(self.program, machine)

    def entry(self, constants: Sequence[Any]) -> Callable[..., Any] | None:
        """Return the program as a built-in function, or such a one whose flat result is rebuilt as a tree."""
        if self._entry is None or self.signature is None:
            return None
        body, entry = self._kernels
        arrays = [np.ascontiguousarray(x) for x in constants]
        function: Callable[..., Any] = builtin(entry.address, body.address, arrays, [self._kernels, *self._entry.kept])
        results = self.signature.results
        return function if is_plain(results) else _rebuilding(function, results)


def _rebuilding(entry: Callable[..., Any], out_tree: Any) -> Callable[..., Any]:
    """Return a native function whose flat result is rebuilt as a tree."""

    def rebuilt(*args: Any) -> Any:
        found = entry(*args)
        return found if found is NotImplemented else tree.unflatten(out_tree, found)

    return rebuilt


def compiled_program(program: Program, signature: Signature | None) -> CompiledProgram | None:
    """Return a plan that runs a lowered program as one native function; None where that does not pay or cannot be.

    Args:
        program: what to compute.
        signature: how Python calls it, if it does.
    """
    found = text_of(program)
    if found is None:
        return None
    text, work = found
    types = [node.type for node in program.outputs]
    entry = None if signature is None else write_cpython_entry(signature, types, text.scratch, work)
    try:
        return CompiledProgram(program, signature, text, entry)
    except RuntimeError as error:  # what llvmlite raises: a version of LLVM that refuses the text, or no memory
        warnings.warn(f"a program could not be compiled, NumPy runs instead: {error}", RuntimeWarning, stacklevel=2)
        return None


def text_of(program: Program) -> tuple[ProgramText, int] | None:
    """Write a program as one function of (addresses of inputs, then of outputs; scratch memory).

    Returns:
        the text and the work that it is; None if the program is too large, or has an op that has no loop.
    """
    work = _work(program)
    if compiler() is None or work is None:
        return None
    program = without_barriers(program)
    text = None if any(map(reason, program.nodes)) else _text(program)
    return None if text is None else (text, work)


def _text(program: Program) -> ProgramText | None:
    """Write a program, in parts where it is long or repeats itself; None where an op has no loop, or it is too long."""
    whole = _compile_seconds(program)
    if whole > WORTH_CUTTING:
        parted = PartedProgram(program)
        seconds = sum(_compile_seconds(part.program) for part in parted.parts)
        if seconds > MOST_SECONDS:
            return None
        if whole > LONG_PROGRAM or seconds < WORTHWHILE_SHARE * whole:
            return text_of_calls(parted)
    layout = layout_of(program)
    return None if layout is None else ProgramWriter(layout).write()


def _compile_seconds(program: Program) -> float:
    """Predict how long a program takes to compile as one part."""
    nodes = [node for node in program.nodes if not isinstance(node.op, Leaf) and node.op not in VIEWS]
    return sum(POINTWISE_SECONDS if node.op.pointwise else LOOP_SECONDS for node in nodes)


def _work(program: Program) -> int | None:
    """Return a measure of the time that a program takes; None if it is too large."""
    nodes = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    work = size = 0
    for node in nodes:
        cost = node.op.cost(node)
        work += cost.matmul_flops // 8 + node.type.size * (8 if node.op.name in NEEDS else 1)
        size += cost.bytes
    return work if work <= MOST_WORK and size <= MOST_BYTES else None
