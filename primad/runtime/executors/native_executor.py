"""The executor that plans programs and compiles what can be native code."""

from __future__ import annotations

from primad import ops
from primad.ir.node import Leaf
from primad.ir.program import Program
from primad.ir.signature import Signature
from primad.runtime.executors.executor import PLAIN, Executable, Executor, Options
from primad.runtime.plan.interpreter import Plan
from primad.system.machine import CALL_ELEMENTS, WORTHWHILE_BYTES


class NativeExecutor(Executor):
    """Small programs as native functions, large ones in tiles, others step by step with native kernels."""

    name = "native"

    compiles = (
        "primad.runtime.program_cache", "primad.runtime.plan.native_calls", "primad.runtime.tiling.complex_plans",
        "primad.runtime.tiling.middle_programs",
    )  # fmt: skip

    def load(self) -> None:
        """Import what plans, writes and reads programs, which takes as long as compiling a small one.

        Where nothing on the disk says what processor this is, LLVM is asked on a thread meanwhile.
        """
        from primad.native.llvm.compiler import start_compiler

        start_compiler()
        super().load()

    def prepare(self, program: Program, options: Options) -> Executable:
        """Return a plan."""
        if is_small(program, options):
            return Plan(program, donated=options.donated)
        from primad.runtime.tiling.complex_plans import complex_plan
        from primad.runtime.tiling.middle_programs import middle_plan
        from primad.runtime.tiling.tiled_plan import make_plan

        return middle_plan(program, options) or complex_plan(program, options) or make_plan(program, *options)

    def as_function(self, program: Program, signature: Signature | None, options: Options = PLAIN) -> Executable | None:
        """Return the program as one native function, or as several with what has no native code between them."""
        from primad.native.llvm.compiler import start_llvm
        from primad.runtime.plan.compiled_program import compiled_program
        from primad.runtime.plan.native_regions import partitioned
        from primad.runtime.tiling.middle_programs import tiles_hold_loops

        start_llvm()  # while the text is written
        function = compiled_program(program, signature, options.memory)
        if function is None and options == PLAIN and tiles_hold_loops(program):
            return None
        return function or partitioned(program, options)


def is_small(program: Program, options: Options = PLAIN) -> bool:
    """Say whether any planner would run a program step by step: then none is asked, and no native code is loaded.

    An eager gradient of a few numbers is such a program, and runs once.
    """
    if options.along is not None or options.memory is not None or options.inner:
        return False
    nbytes = 0
    for node in program.nodes:
        if node.type.size >= CALL_ELEMENTS or node.type.is_complex:
            return False
        if not isinstance(node.op, Leaf) and (node.op.programs.called or node.op in _PLANNED):
            return False
        nbytes += node.type.nbytes
    return nbytes < WORTHWHILE_BYTES


_PLANNED = frozenset([ops.barrier, ops.windows])
"""Ops that planners look at in programs of any size: what must not move, and what BLAS would be given copies of."""

EXECUTOR = NativeExecutor()
