"""Checkpoints: programs whose inner values are computed again in reverse mode instead of being kept.

A checkpoint is its program wherever it is lowered. It is differentiated as all program ops are, and what makes it one
is what its residuals are: its operands and nothing else. They are read from the far side of barriers, which keep equal
values apart, so that what the tangents need of the program is computed again. Where nothing is transposed, nothing is
kept either: then a checkpoint gives values and tangents, and is one again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad import ops
from primad.ir.program import ClosedProgram
from primad.ops.record.primitive import Primitive, one_or_all
from primad.programs.derived_programs import active_in, batched, linear_part, pulled, pushed_together
from primad.programs.program_ops import program_op


def _push(tangents: Sequence[Any], *operands: Any, residuals: bool, of: ClosedProgram) -> tuple[Any, Any]:
    if not residuals:
        found: tuple[Any, Any] = pushed_together(checkpoint, of, operands, tangents)
        return found
    active, moving = active_in(tangents)
    again = [ops.barrier(x) if x.type.is_float else x for x in operands]
    return checkpoint(*operands, of=of), one_or_all(linear_part(of, active).in_place([*again, *moving]))


checkpoint: Primitive = program_op(
    "checkpoint",
    build=lambda program: program,
    out_types=lambda of: of.out_types,
    linearize=_push,
    transpose=lambda *args, of: pulled(checkpoint, *args, of=of),
    batch=lambda *args, of: batched(checkpoint, *args, of=of),
    doc="The program; a mark that its inner values may be computed again instead of being kept.",
)
