"""Loops on stacks of operands: their bodies on all elements at once, and steps that some elements do not take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ops.arrays.broadcasting import widen
from primad.programs.loops.body_transforms import Body, Made, until_stable
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.transforms import batching
from primad.transforms.forward import zero_node
from primad.transforms.lowering import inline


class Batched:
    """The body of a loop on stacks of operands.

    Attributes:
        flags: which inputs have the leading axis in some step.
        results: which results have it.
        made: the body.

    Args:
        body: of the loop.
        wide: which operands have the leading axis.
        size: its length.
        counted: whether not all steps may be taken.
    """

    def __init__(self, body: Body, wide: Sequence[bool], size: int, counted: bool) -> None:
        found = program = body.program
        after: list[bool] = []

        def reached(flags: list[bool]) -> list[bool]:
            nonlocal found, after
            found = batching.vmap(program, flags, size, keep_unbatched=True)
            after = [batching.is_wide(*of) for of in zip(program.outputs, found.outputs, strict=True)]
            return after

        self.flags = until_stable(wide, body.carry, reached)
        self.results = after[body.carry :]

        def step(*operands: TracedArray) -> list[Any]:
            out = inline(found, operands) if operands else []
            return [
                widen(x, size) if on and not has else x
                for x, on, has in zip(out, [*self.flags[: body.carry], *self.results], after, strict=True)
            ]

        self.made = Made(Body(program_of(found.in_types, step), body.carry, body.stacked), counted)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return (self.made,)


def guarded(body: Body) -> Body:
    """Return a step that is taken or not: its last row is its number, its last fixed input how many are taken."""
    number = ArrayType((), np.float64)

    def step(*operands: TracedArray) -> list[Any]:
        carried, rows, fixed = later.parts(operands)
        taken = ops.less(rows.pop(), fixed.pop())
        out = inline(body.program, [*carried, *rows, *fixed])
        old = [*carried, *(TracedArray(zero_node(taken.node.trace, y.type)) for y in out[body.carry :])]
        return [chosen(taken, x, y) for x, y in zip(out, old, strict=True)]

    carried, rows, fixed = body.parts(body.program.in_types)
    later = Body(body.program, body.carry, body.stacked + 1)
    return Body(program_of([*carried, *rows, number, *fixed, number], step), later.carry, later.stacked)


def chosen(condition: TracedArray, x: TracedArray, y: TracedArray) -> Any:
    """Return x where a condition without axes holds, y elsewhere."""
    return ops.select(ops.broadcast(condition, shape=x.shape, axes=tuple(range(x.ndim))), x, y)


def swapped(x: TracedArray) -> Any:
    """Exchange the axis of a stack and that of its rows."""
    return ops.permute(x, order=(1, 0, *range(2, x.ndim)))
