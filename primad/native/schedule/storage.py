"""Where the values of a program lie: views of other values are index arithmetic, parts of a joined array its slices.

An array that only loops over elements read, as a rolled one in a sum of neighbours, need not lie anywhere: the loops
run over boxes, in each of which it is one of its parts.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from primad import ops
from primad.ir.axes import Labels, Strided
from primad.ir.node import Node
from primad.native.llvm.strided_views import View, contiguous
from primad.transforms.dimensions import axis_map

VIEWS = frozenset((ops.broadcast, ops.permute, ops.slice_, ops.flip, ops.reshape, ops.stop_gradient, ops.barrier))


class Splat(Struct, frozen=True):
    """A value whose elements are all the same literal."""

    value: Any
    dtype: np.dtype[Any]


class Joined(Struct, frozen=True):
    """A value that is read from its parts, which lie side by side along an axis.

    Attributes:
        axis: which.
        edges: where parts begin and end along it.
        parts: where they lie.
    """

    axis: int
    edges: tuple[int, ...]
    parts: tuple[View | Splat, ...]


Place = View | Splat | Joined
Box = tuple[tuple[int, int], ...]
"""From where to where along each axis."""


def joined_in(node: Node) -> tuple[int, tuple[int, ...], tuple[int | None, ...]] | None:
    """Return how an array is joined of parts: the axis, the edges, and which operands they are, None for zeros.

    None if it is not, as one with zeros around it along several axes.
    """
    params = dict(node.params)
    if node.op is ops.concatenate:
        axis = params["axis"]
        lengths = [x.type.shape[axis] for x in node.inputs]
        return axis, tuple(itertools.accumulate(lengths, initial=0)), tuple(range(len(lengths)))
    if node.op is not ops.pad or any(params["interior"]):
        return None
    around = [i for i, widths in enumerate(zip(params["low"], params["high"], strict=True)) if any(widths)]
    if len(around) != 1:
        return None
    (axis,) = around
    low, n = params["low"][axis], node.type.shape[axis]
    return axis, (0, low, n - params["high"][axis], n), (None, 0, None)


def boxes(places: Sequence[Place], shape: tuple[int, ...]) -> Iterator[Box]:
    """Yield boxes that cover an array, none of them empty, in each of which every joined place is one of its parts."""
    yield from itertools.product(*[list(itertools.pairwise(sorted(found))) for found in _edges(places, shape)])


def count_of_boxes(places: Sequence[Place], shape: tuple[int, ...]) -> int:
    """Return how many boxes there are, which may be very many."""
    return math.prod([len(found) - 1 for found in _edges(places, shape)])


def _edges(places: Sequence[Place], shape: tuple[int, ...]) -> list[set[int]]:
    """Return where boxes begin and end along each axis."""
    edges = [{0, n} for n in shape]
    for place in places:
        if isinstance(place, Joined):
            edges[place.axis].update(place.edges)
    return edges


def within(place: Place, box: Box) -> View | Splat:
    """Return where the part of a value in a box lies."""
    if isinstance(place, Joined):
        first, last = box[place.axis]
        which = bisect_right(place.edges, first) - 1
        moved = (first - place.edges[which], last - place.edges[which])
        return within(place.parts[which], (*box[: place.axis], moved, *box[place.axis + 1 :]))
    if isinstance(place, Splat):
        return place
    offset = place.offset + sum(first * step for (first, _), step in zip(box, place.strides, strict=True))
    return View(place.buffer, offset, tuple([b - a for a, b in box]), place.strides, place.dtype)


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
        while old[-1][0] % n and old[-2][1] == old[-1][1] * old[-1][0]:
            length, step = old.pop()
            old[-1] = (old[-1][0] * length, step)
        if old[-1][0] % n:
            return None
        length, step = old.pop()
        strides.append(step)
        if length != n:
            old.append((length // n, step * n))
    return tuple(reversed(strides))


def splits_axes(node: Node) -> bool:
    """Say whether a value is another one whose first axes became one, or with axes of length 1 added or taken away."""
    if node.op is not ops.reshape:
        return False
    (operand,) = node.inputs
    old, new = ([n for n in x.type.shape if n != 1] for x in (operand, node))
    return old == new or (len(old) > len(new) > 0 and old[len(old) - len(new) + 1 :] == new[1:])


def part_of(node: Node, position: int, whole: View) -> View:
    """Return the place of an operand inside the array that pads it, joins it with others or gives it axes of 1."""
    shape = node.inputs[position].type.shape
    if node.op is ops.reshape:
        strides = _reshaped(whole, shape)
        assert strides is not None
        return View(whole.buffer, whole.offset, shape, strides, whole.dtype)
    found = axis_map(node)
    return _within(whole, found.results[0], shape, found.operands[position])


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
