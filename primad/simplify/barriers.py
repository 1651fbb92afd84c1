"""Programs without barriers: what a `checkpoint` asked to be computed again is computed once."""

from __future__ import annotations

from primad import ops
from primad.ir.program import Program
from primad.transforms.lowering import rewritten


def without_barriers(program: Program) -> Program:
    """Return the program in which nothing is computed twice."""
    if ops.barrier not in program.ops:
        return program
    return rewritten(program, lambda node, mapping, _: mapping[node.inputs[0]] if node.op is ops.barrier else None)
