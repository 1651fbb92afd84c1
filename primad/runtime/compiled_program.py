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
from primad.native.compiler import compiler
from primad.native.cpython_entry import ALIGNMENT, CPythonEntry, builtin, is_plain, write_cpython_entry
from primad.native.layout import layout_of
from primad.native.pointwise import NEEDS
from primad.native.program_text import ProgramWriter, kernel_of
from primad.runtime.checkpoints import without_barriers
from primad.runtime.executor import Executable
from primad.runtime.prediction import Machine, Prediction, as_one_function

MOST_NODES = 600
MOST_LOOPS = 300
"""A program with more nodes and more loops takes too long to compile (a second). A pointwise op counts as an eighth of
a loop: it is an instruction in one that is there."""
MOST_WORK = 4_000_000
"""Elements computed (a function counts as eight, two flops of a product as a quarter): about a millisecond. In larger
programs the interpreter's price does not show, while threads and a tuned BLAS library do."""
MOST_BYTES = 4 * 1024 * 1024
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class CompiledProgram(Executable):
    """A program that runs as one native function.

    Attributes:
        program: what it computes.
    """

    def __init__(
        self, program: Program, signature: Signature | None, text: str, scratch: int, entry: CPythonEntry | None
    ) -> None:
        host = compiler()
        assert host is not None
        self.program = program
        self.signature = signature
        self._scratch = scratch
        self._entry = entry
        texts = [text] if entry is None else [text, entry.text]
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
        self._function(table, -(-scratch.ctypes.data // ALIGNMENT) * ALIGNMENT)
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
    text, scratch, work = found
    types = [node.type for node in program.outputs]
    entry = None if signature is None else write_cpython_entry(signature, types, scratch, work)
    try:
        return CompiledProgram(program, signature, text, scratch, entry)
    except RuntimeError as error:  # what llvmlite raises: a version of LLVM that refuses the text, or no memory
        warnings.warn(f"a program could not be compiled, NumPy runs instead: {error}", RuntimeWarning, stacklevel=2)
        return None


def text_of(program: Program) -> tuple[str, int, int] | None:
    """Write a program as one function of (addresses of inputs, then of outputs; scratch memory).

    Returns:
        the text, the size of the scratch memory, and the work that it is; None if the program is too large, or has an
        op that has no loop.
    """
    work = _work(program)
    if compiler() is None or work is None:
        return None
    layout = layout_of(without_barriers(program))
    if layout is None:
        return None
    text = ProgramWriter(layout).write()
    return kernel_of(text), text.scratch, work


def _work(program: Program) -> int | None:
    """Return a measure of the time that a program takes; None if it is too large."""
    nodes = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    if len(nodes) > MOST_NODES and sum(0.125 if node.op.pointwise else 1.0 for node in nodes) > MOST_LOOPS:
        return None
    work = size = 0
    for node in nodes:
        cost = node.op.cost(node)
        work += cost.matmul_flops // 8 + node.type.size * (8 if node.op.name in NEEDS else 1)
        size += cost.bytes
    return work if work <= MOST_WORK and size <= MOST_BYTES else None
