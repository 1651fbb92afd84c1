"""The executor that plans programs and compiles what can be native code."""

from __future__ import annotations

from primad.ir.program import Program
from primad.ir.signature import Signature
from primad.runtime.executors.executor import PLAIN, Executable, Executor, Options
from primad.runtime.plan.compiled_program import compiled_program
from primad.runtime.plan.native_regions import partitioned
from primad.runtime.tiling.complex_plans import complex_plan
from primad.runtime.tiling.middle_programs import middle_plan
from primad.runtime.tiling.tiled_plan import make_plan


class NativeExecutor(Executor):
    """Small programs as native functions, large ones in tiles, others step by step with native kernels."""

    name = "native"

    def prepare(self, program: Program, options: Options) -> Executable:
        """Return a plan."""
        return middle_plan(program, options) or complex_plan(program, options) or make_plan(program, *options)

    def as_function(self, program: Program, signature: Signature | None, options: Options = PLAIN) -> Executable | None:
        """Return the program as one native function, or as several with what has no native code between them."""
        return compiled_program(program, signature, options.memory) or partitioned(program, options)


EXECUTOR = NativeExecutor()
