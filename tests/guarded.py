"""Running native code within guarded memory, and what tests of native code share."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import primad
from primad.native.emit.emit_context import FAILURE_BYTES
from primad.native.emit.op_table import failing_in, reason, stays_in_registers
from primad.native.llvm import compiler as native
from primad.native.llvm.builder import module
from primad.native.llvm.scratch_memory import ALIGNMENT
from primad.native.module.outlined_text import bodies_of
from primad.native.module.program_text import ProgramWriter, kernel_of
from primad.native.schedule.layout import layout_of
from primad.native.unrolled.straight_line import straight_function
from primad.runtime.executors.dispatch import REFERENCE
from primad.runtime.executors.executor import PLAIN
from primad.simplify import simplify

needs_llvm = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")
quick = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def drawn(function: Any) -> Any:
    """Make a test of what hypothesis draws, for both ends of arrays and every width of vectors."""
    return quick(given(data=st.data(), at_end=st.booleans())(function))


_libc = ctypes.CDLL(None, use_errno=True)
PAGE = mmap.PAGESIZE


class Guarded:
    """Memory between two pages that nobody may touch, at the end or at the start of what lies between."""

    def __init__(self, size: int, at_end: bool) -> None:
        pages = -(-max(size, 1) // PAGE)
        self._map = mmap.mmap(-1, (pages + 2) * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        for page in (0, pages + 1):
            assert _libc.mprotect(ctypes.c_void_p(start + page * PAGE), PAGE, 0) == 0
        self.address = start + PAGE + (pages * PAGE - size if at_end else 0)
        self.bytes = (ctypes.c_char * size).from_address(self.address)

    def array(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return np.frombuffer(self.bytes, dtype).reshape(shape) if len(self.bytes) else np.empty(shape, dtype)


def written(program: Any) -> Any:
    """Write a program as one native function with loops; None if an op of it, or of a loop's body, has no loop."""
    bodies = bodies_of(program)
    layout = None if bodies is None else layout_of(program, bodies=bodies)
    return None if layout is None else ProgramWriter(layout).write()


def run_natively(program: Any, arguments: list[Any], at_end: bool) -> list[Any]:
    """Run a program as one native function whose arrays all lie beside guarded pages."""
    text = written(program)
    assert text is not None, [reason(node) for node in program.nodes]
    return run_text(program, kernel_of(text), text.scratch, arguments, at_end)


def run_in_registers(program: Any, arguments: list[Any], at_end: bool) -> list[Any]:
    """Run a program as straight-line code in the same way."""
    functions, declared = straight_function(program)
    size = FAILURE_BYTES * len(failing_in(program))
    return run_text(program, module([functions], declared.values()), size, arguments, at_end)


def run_text(program: Any, text: str, size: int, arguments: list[Any], at_end: bool) -> list[Any]:
    """Compile a text and run it, with so many bytes of scratch memory."""
    (kernel,) = native.compiler().kernels([text])
    held, table = [], []
    results = []
    for array in map(np.asarray, arguments):
        memory = Guarded(array.nbytes, at_end)
        memory.array(array.shape, array.dtype)[...] = array
        held.append(memory)
        table.append(memory.address)
    for node in program.outputs:
        memory = Guarded(node.type.nbytes, at_end)
        held.append(memory)
        table.append(memory.address)
        results.append(memory.array(node.type.shape, node.type.dtype))
    scratch = Guarded(-(-size // ALIGNMENT) * ALIGNMENT, at_end)
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(kernel.address)
    assert function((ctypes.c_void_p * len(table))(*table), scratch.address) == 0
    return [np.array(result) for result in results]


def agree(program: Any, arguments: list[Any], at_end: bool = True, exact: bool = False) -> None:
    """Hold native code, in loops and, of small arrays, in registers, against the interpreter."""
    ways = [run_natively, *([run_in_registers] if stays_in_registers(program) else [])]
    with np.errstate(all="ignore"):
        found = [result for way in ways for result in way(program, arguments, at_end)]
        wanted = REFERENCE.prepare(program, PLAIN).run(arguments) * len(ways)
    for got, want in zip(found, wanted, strict=True):
        want = np.asarray(want)
        assert got.dtype == want.dtype and got.shape == want.shape
        if exact or want.dtype.kind != "f":
            np.testing.assert_array_equal(got, want, err_msg=str(program))
        else:
            eps = np.finfo(want.dtype).eps
            scale = max(1.0, float(np.max(np.abs(want[np.isfinite(want)]), initial=0)))
            np.testing.assert_allclose(got, want, rtol=100 * eps, atol=100 * eps * scale, err_msg=str(program))


def check(function: Any, *arguments: Any, at_end: bool = True, exact: bool = False) -> None:
    with np.errstate(all="ignore"):
        agree(simplify(primad.trace(function)(*arguments)), list(arguments), at_end, exact)
