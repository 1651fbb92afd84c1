"""Long loops in chunks: reverse mode keeps what is carried where a chunk begins, and computes the rest again.

A chunk is a checkpoint in a loop over chunks, so rules, orders and modes are those of loops and checkpoints. With n
steps in chunks of about √n, all steps are taken once more than without, and memory grows with √n. Where that is too
much too, the loops over chunks and within chunks are cut again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from primad import ops
from primad.ir.program import ClosedProgram, Program
from primad.primitive import as_tuple
from primad.programs.checkpoint import checkpoint
from primad.programs.stepping import Body
from primad.programs.stepping_apart import Apart
from primad.recording import program_of
from primad.trace import TracedArray
from primad.transforms.lowering import apply_program_op

BUDGET = 200_000_000
"""Bytes that a loop keeps of its steps for reverse mode, at most, if it can be cut."""


def chunk_length(apart: Apart, body: Body, length: int) -> int:
    """Return how many steps make a chunk, so that chunks and what is kept within one take least; 0 if all fits.

    Args:
        apart: the loop as two.
        body: of the loop.
        length: how many steps it takes.
    """
    row = apart.kept_bytes
    if row * length <= BUDGET or length < 4:
        return 0
    start = max(1, sum(type.nbytes for type in body.program.in_types[: body.carry]))
    return min(max(2, math.isqrt(length * start // row + 1)), length // 2)


def chunked(body: Body, types: Sequence[Any], chunk: int, scan: Any, form: Any) -> Program:
    """Return the program of a loop, of the same operands, as a loop over chunks and what is left over.

    Args:
        body: of the loop.
        types: types of the operands.
        chunk: how many steps make a chunk.
        scan: the op.
        form: its other params.
    """
    count = form.length // chunk
    cut, results = count * chunk, body.results

    def part(inputs: Sequence[Any], length: int) -> Any:
        own = form._replace(length=length)
        return as_tuple(apply_program_op(scan, ClosedProgram(body.program), inputs, **own._asdict()))

    def steps(*inputs: TracedArray) -> list[Any]:
        return list(part(inputs, chunk))

    inner = ClosedProgram(program_of(body.operand_types(chunk), steps))

    def kept(*inputs: TracedArray) -> list[Any]:
        return list(as_tuple(apply_program_op(checkpoint, inner, inputs)))

    outer = ClosedProgram(program_of(body.operand_types(chunk), kept))

    def whole(*operands: TracedArray) -> list[Any]:
        carried, rows, fixed = body.parts(operands)
        folded = [ops.reshape(_rows(x, 0, cut), shape=(count, chunk, *x.shape[1:])) for x in rows]
        last = [_rows(x, cut, form.length) for x in rows]
        stacks: list[list[Any]] = [[], []]
        for is_last in (True, False) if form.reverse else (False, True):
            if is_last and cut < form.length:
                found = part([*carried, *last, *fixed], form.length - cut)
            elif is_last:
                continue
            else:
                own = form._replace(length=count)
                found = as_tuple(apply_program_op(scan, outer, [*carried, *folded, *fixed], **own._asdict()))
            carried, ys = list(found[: body.carry]), found[body.carry :]
            shape = (form.length - cut if is_last else cut,)
            shift = 1 if is_last else 2
            stacks[is_last] = [ops.reshape(y, shape=(*shape, *y.shape[shift:])) for y in ys]
        joined = [ops.concatenate(x, y, axis=0) for x, y in zip(*stacks, strict=True)] if stacks[1] else stacks[0]
        return [*carried, *joined[:results]]

    return program_of(types, whole)


def _rows(x: TracedArray, start: int, stop: int) -> Any:
    return ops.slice_(x, start=(start, *[0] * (x.ndim - 1)), stop=(stop, *x.shape[1:]), step=(1,) * x.ndim)
