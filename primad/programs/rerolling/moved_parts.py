"""Elements that move along an axis of an array of one length: shifts, which may be others in each step of a loop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from msgspec import Struct

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.axes import Strided
from primad.ir.node import Trace
from primad.recording.traced_array import TracedArray, lift

Number = int | TracedArray
"""A number that is the same in all steps, or an element of those that differ."""


class Move(Struct, frozen=True):
    """What moves along an axis: element i of the result is element start + step · i of the operand, or 0.

    Attributes:
        axis: the axis.
        starts: where it starts, in each step.
        step: how far apart the elements lie.
        length: how many there are in the result.
    """

    axis: int
    starts: tuple[int, ...]
    step: int
    length: int

    @property
    def nothing(self) -> bool:
        """Whether the elements stay where they are."""
        return self.step == 1 and not any(self.starts)


def start_and_step(operand: Any, result: Any) -> tuple[int, int] | None:
    """Return which elements of an operand's axis are those of the result's; None if they go elsewhere, or apart.

    Args:
        operand: the label of the operand's axis.
        result: that of the result's.
    """
    if isinstance(result, Strided) and result.name == operand:
        return result.start, result.step
    if isinstance(operand, Strided) and operand.name == result and operand.step == 1:
        return -operand.start, 1
    return None if operand is None or operand != result else (0, 1)


def moved(x: TracedArray, move: Move, start: Number, trace: Trace) -> TracedArray:
    """Return the elements that a move takes, zeros where it takes none."""
    n, axis = x.shape[move.axis], move.axis
    if isinstance(start, int) and move.step > 0:
        return _moved_by(x, move, start)
    if n == 1 and move.step == 1 and max(move.starts) <= 0 and min(move.starts) > -move.length:
        found: TracedArray = ops.scatter_add(x, ops.reshape(-start, shape=(1,)), axis=axis, batch=0, size=move.length)
        return found
    at = places(move.length, trace) * move.step + start
    inside = (at >= 0) & (at < n)
    taken = ops.gather(x, ops.select(inside, at, at * 0), axis=axis, batch=0)
    return selected(spread(inside, axis, taken.shape), taken, 0, trace)


def _moved_by(x: TracedArray, move: Move, start: int) -> TracedArray:
    """Return what a move takes that is the same in all steps."""
    n, axis, step = x.shape[move.axis], move.axis, move.step
    first = -(start // step) if start < 0 else 0
    count = max(0, min(move.length, -(-(n - start) // step)) - first)
    low, high, before, after = [0] * x.ndim, list(x.shape), [0] * x.ndim, [0] * x.ndim
    low[axis] = min(start + step * first, n)
    high[axis] = low[axis] + (step * (count - 1) + 1 if count else 0)
    before[axis], after[axis] = min(first, move.length), move.length - min(first, move.length) - count
    steps = tuple([step if i == axis else 1 for i in range(x.ndim)])
    taken = ops.slice_(x, start=tuple(low), stop=tuple(high), step=steps)
    found: TracedArray = ops.pad(taken, low=tuple(before), high=tuple(after), interior=(0,) * x.ndim)
    return found


def lengthened(x: TracedArray, type: ArrayType) -> TracedArray:
    """Return an array with zeros behind its elements, so that it has a type."""
    if x.shape == type.shape:
        return x
    high = tuple([n - own for n, own in zip(type.shape, x.shape, strict=True)])
    found: TracedArray = ops.pad(x, low=(0,) * x.ndim, high=high, interior=(0,) * x.ndim)
    return found


def places(length: int, trace: Trace) -> TracedArray:
    """Return the numbers of the elements along an axis."""
    return TracedArray(lift(np.arange(length), trace))


def spread(x: TracedArray, axis: int, shape: tuple[int, ...]) -> TracedArray:
    """Return an array along an axis, the same along all others."""
    found: TracedArray = ops.broadcast(x, shape=shape, axes=tuple([i for i in range(len(shape)) if i != axis]))
    return found


def selected(condition: TracedArray, x: TracedArray, other: float, trace: Trace) -> TracedArray:
    """Return elements where a condition holds, a number elsewhere: of integers the next above it."""
    number = x.dtype.type(other if x.dtype.kind in "fc" else math.ceil(other)).item()
    found: TracedArray = ops.select(condition, x, TracedArray(trace.literal(number, x.node.type)))
    return found
