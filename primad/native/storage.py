"""Where the values of a program lie: views of other values are index arithmetic, parts of a joined array its slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from primad import ops
from primad.axes import Labels, Strided
from primad.ir.node import Node
from primad.native.loops import View, contiguous
from primad.transforms.dimensions import axis_map

VIEWS = frozenset((ops.broadcast, ops.permute, ops.slice_, ops.flip, ops.reshape, ops.stop_gradient, ops.barrier))


@dataclass(frozen=True)
class Splat:
    """A value whose elements are all the same literal."""

    value: Any
    dtype: np.dtype[Any]


Place = View | Splat


def view_of(node: Node, source: View) -> View | None:
    """Return where the elements of a view of another value lie; None if they must be moved to lie like this."""
    shape = node.type.shape
    if node.op is ops.reshape:
        strides = _reshaped(source, shape)
        return None if strides is None else View(source.buffer, source.offset, shape, strides, source.dtype)
    found = axis_map(node)
    return _within(source, found.operands[0], shape, found.results[0])


def _reshaped(source: View, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the strides of a reshaped view; None if its elements must move."""
    if 0 in shape:
        return contiguous(shape)
    old = [(n, s) for n, s in zip(source.shape, source.strides, strict=True) if n != 1]
    strides: list[int] = []
    for n in reversed(shape):
        if n == 1:
            strides.append(0)
            continue
        # Split the new axis off the end of the last old one, after joining old axes that lie behind one another.
        while old and old[-1][0] % n and len(old) > 1 and old[-2][1] == old[-1][1] * old[-1][0]:
            length, step = old.pop()
            old[-1] = (old[-1][0] * length, step)
        if not old or old[-1][0] % n:
            return None
        length, step = old.pop()
        strides.append(step)
        if length != n:
            old.append((length // n, step * n))
    return tuple(reversed(strides))


def part_of(node: Node, position: int, whole: View) -> View:
    """Return the place of an operand inside the array that pads it or joins it with others."""
    found = axis_map(node)
    return _within(whole, found.results[0], node.inputs[position].type.shape, found.operands[position])


def _within(whole: View, names: Labels, shape: tuple[int, ...], labels: Labels) -> View:
    """Return the place of an array whose axes are those of another, or strided parts of them, or repeat it."""
    step_of = dict(zip(names, whole.strides, strict=True))
    offset, strides = whole.offset, []
    for label in labels:
        if isinstance(label, Strided):
            offset += label.start * step_of[label.name]
            strides.append(label.step * step_of[label.name])
        else:
            strides.append(step_of.get(label, 0))
    return View(whole.buffer, offset, shape, tuple(strides), whole.dtype)
