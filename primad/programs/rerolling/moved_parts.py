"""Elements that move along an axis of an array of one length: shifts, which may be others in each step of a loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.axes import AxisMap, Strided
from primad.ir.node import LITERAL, Leaf, Node, Trace
from primad.ir.node_arrays import Places
from primad.recording.traced_array import TracedArray, lift
from primad.transforms.dimensions import axis_map

Steps = tuple[int, ...]
"""A number for each step."""

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
    starts: Steps
    step: int
    length: int

    @property
    def nothing(self) -> bool:
        """Whether the elements stay where they are."""
        return self.step == 1 and not any(self.starts)

    def end(self, before: Places) -> Places:
        """Return from where on the result is 0 in each step, if the operand is 0 from some places on."""
        starts = np.array(self.starts)
        last = starts // -self.step + 1 if self.step < 0 else -((starts - before) // self.step)
        return np.clip(last, 0, self.length)


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


def moves_elements(map: AxisMap) -> bool:
    """Say whether an op moves elements along an axis."""
    return any(isinstance(label, Strided) for label in (*map.operands[0], *map.results[0]))


def moved(x: TracedArray, moves: Sequence[Move], number: Callable[[Steps], Number], trace: Trace) -> TracedArray:
    """Return the elements that moves along some axes take, zeros where they take none.

    Args:
        x: of which array.
        moves: how they move, along each axis once.
        number: what stands for integers of which there is one for each step.
        trace: that of the step.
    """
    moves = [move for move in moves if not (move.nothing and x.shape[move.axis] == move.length)]
    starts = [number(move.starts) for move in moves]
    alike = [isinstance(start, int) and move.step > 0 for move, start in zip(moves, starts, strict=True)]
    if any(alike):  # what moves along several axes is one part of the array
        x = _moved_alike(x, [move for move, same in zip(moves, alike, strict=True) if same])
    for move, start, same in zip(moves, starts, alike, strict=True):
        if not same:
            x = _moved_apart(x, move, start, trace)
    return x


def _moved_apart(x: TracedArray, move: Move, start: Number, trace: Trace) -> TracedArray:
    """Return what a move takes that is another in each step, or turns the elements around."""
    n, axis = x.shape[move.axis], move.axis
    if n == 1 and move.step == 1 and max(move.starts) <= 0 and min(move.starts) > -move.length:
        found: TracedArray = ops.scatter_add(x, ops.reshape(-start, shape=(1,)), axis=axis, batch=0, size=move.length)
        return found
    at = places(move.length, trace) * move.step + start
    inside = (at >= 0) & (at < n)
    taken = ops.gather(x, ops.select(inside, at, at * 0), axis=axis, batch=0)
    return selected(spread(inside, axis, taken.shape), taken, 0, trace)


def _moved_alike(x: TracedArray, moves: Sequence[Move]) -> TracedArray:
    """Return what moves take that are the same in all steps."""
    low, high, before, after = [0] * x.ndim, list(x.shape), [0] * x.ndim, [0] * x.ndim
    steps = [1] * x.ndim
    for move in moves:
        n, axis, step, start = x.shape[move.axis], move.axis, move.step, move.starts[0]
        first = min(-(start // step) if start < 0 else 0, move.length)
        count = max(0, min(move.length, -(-(n - start) // step)) - first)
        low[axis] = min(start + step * first, n)
        high[axis] = low[axis] + (step * (count - 1) + 1 if count else 0)
        before[axis], after[axis], steps[axis] = first, move.length - first - count, step
    taken = ops.slice_(x, start=tuple(low), stop=tuple(high), step=tuple(steps))
    found: TracedArray = ops.pad(taken, low=tuple(before), high=tuple(after), interior=(0,) * x.ndim)
    return found


def cut(value: TracedArray, type: ArrayType) -> TracedArray:
    """Return what an array of one length holds of a type."""
    if value.shape == type.shape:
        return value
    found: TracedArray = ops.slice_(value, start=(0,) * type.ndim, stop=type.shape, step=(1,) * type.ndim)
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


def on_elements(users: Sequence[Node]) -> bool:
    """Say whether nodes compute on single elements, and read nothing behind the end of what they take."""
    return all(node.op.axes.pointwise for node in users)


def is_made(node: Node, axes: tuple[int, ...]) -> bool:
    """Say whether a value is the same along axes, and so all along a frame."""
    if node.op is LITERAL:
        return True
    if isinstance(node.op, Leaf) or node.op.axes.map is None:
        return False
    found = axis_map(node)
    return all(found.role(found.results[0][axis]) == "made" for axis in axes)


def decisive(
    node: Node, operands: Sequence[Node], axis: int, filled: Sequence[int]
) -> list[tuple[int, tuple[Node, int]]]:
    """Return operands of which a node is 0 along an axis where they are, each with its axis; none if none are known.

    What is the same all along an axis says nothing: it is infinite only where what is before the end is too.
    """
    op = node.op
    if isinstance(op, Leaf) or node.inputs != tuple(operands) or op.axes.map is None:
        return []
    map = axis_map(node)
    label = map.results[0][axis]
    if map.role(label) != "mapped":
        return []
    places = {k: labels.index(label) for k, labels in enumerate(map.operands) if label in labels}
    if op.kind == "linear":
        wanted = [k for k in range(len(operands)) if op.is_linear_in(k)]
        found = wanted if all(k in places for k in wanted) else []
    else:
        found = [k for k, at in places.items() if k not in filled and not is_made(operands[k], (at,))]
        alone = len(found) == 1 and op.is_linear_in(found[0])
        found = found if op.kind == "multilinear" or alone else []
    return [(k, (operands[k], places[k])) for k in found]
