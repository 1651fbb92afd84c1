"""Where the values of a program lie: views of other values are index arithmetic, parts of a joined array its slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from primad import ops
from primad.ir.node import Node
from primad.native.loops import View, contiguous

VIEWS = frozenset((ops.broadcast, ops.permute, ops.slice_, ops.flip, ops.reshape, ops.stop_gradient))


@dataclass(frozen=True)
class Splat:
    """A value whose elements are all the same literal."""

    value: Any
    dtype: np.dtype[Any]


Place = View | Splat


def view_of(node: Node, source: View) -> View | None:
    """Return where the elements of a view of another value lie; None if the op is no view, or needs a copy."""
    params = dict(node.params)
    shape, strides = list(node.type.shape), list(source.strides)
    offset = source.offset
    if node.op is ops.broadcast:
        remaining = iter(source.strides)
        strides = [0 if axis in params["axes"] else next(remaining) for axis in range(len(shape))]
    elif node.op is ops.permute:
        strides = [source.strides[axis] for axis in params["order"]]
    elif node.op is ops.slice_:
        offset += sum(a * s for a, s in zip(params["start"], source.strides, strict=True))
        strides = [s * step for s, step in zip(source.strides, params["step"], strict=True)]
    elif node.op is ops.flip:
        for axis in params["axes"]:
            offset += (shape[axis] - 1) * source.strides[axis]
            strides[axis] = -strides[axis]
    elif node.op is ops.reshape:
        found = _reshaped(source, tuple(shape))
        if found is None:
            return None
        strides = list(found)
    elif node.op is not ops.stop_gradient:
        return None
    return View(source.buffer, offset, tuple(shape), tuple(strides), source.dtype)


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
    operand, params = node.inputs[position], dict(node.params)
    offset, strides = whole.offset, whole.strides
    if node.op is ops.pad:
        offset += sum(low * step for low, step in zip(params["low"], strides, strict=True))
        strides = tuple([step * (gap + 1) for step, gap in zip(strides, params["interior"], strict=True)])
    else:
        axis = params["axis"]
        offset += strides[axis] * sum(x.type.shape[axis] for x in node.inputs[:position])
    return View(whole.buffer, offset, operand.type.shape, strides, whole.dtype)
