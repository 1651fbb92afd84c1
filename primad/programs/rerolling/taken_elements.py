"""Elements that the steps of a loop take from outside, more or less of them in each: those of one array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import CAPTURED, LITERAL, Leaf, Node, Trace, leaf_value
from primad.numpy.shapes.shaping import reshape
from primad.programs.rerolling.moved_parts import Move, selected
from primad.programs.rerolling.stacked_rows import Array, views_of
from primad.recording.traced_array import TracedArray, lift
from primad.transforms.dimensions import axis_map

Axes = tuple[int, ...]


class TakenElements(NamedTuple):
    """Elements of an array.

    Attributes:
        source: the array.
        places: which elements these are, in row-major order; -1 where there is none.
    """

    source: Node | Array
    places: Array

    def longest(self) -> Array | None:
        """Return the places of one row of which all others are a part; None if there is none."""
        last = self.places.max(0)
        same = self.places == last
        if not isinstance(self.source, Node):
            bits = np.frombuffer(self.source.tobytes(), f"V{self.source.itemsize}")
            same |= bits[self.places] == bits[last]
        return last if (same | (self.places < 0)).all() else None

    def shifted(self, mapping: Mapping[Node, Node], trace: Trace) -> tuple[Node, Move] | None:
        """Return elements as many as a row has, and how they move on from row to row; None if they do not."""
        if not isinstance(self.source, Node) or self.places.ndim != 2:
            return None
        rows, length = self.places.shape
        begin, shift = int(self.places[0, 0]), int(self.places[1, 0] - self.places[0, 0])
        whole = shift * np.arange(rows)[:, None] + np.arange(length)
        if shift < 1 or not ((self.places - begin == whole) & (whole < length))[self.places >= 0].all():
            return None
        line = begin + np.arange(length)
        found = self.taken(np.where(line < self.source.type.size, line, -1)[None], mapping, trace)
        return reshape(TracedArray(found), line.shape).node, Move(0, (shift,) * rows, 1, length)

    def taken(self, places: Array, mapping: Mapping[Node, Node], trace: Trace, cleared: bool = True) -> Node:
        """Return elements at some of the places; where there is none, zeros if they are cleared, else any number."""
        inside = places >= 0
        if not isinstance(self.source, Node):
            return lift(np.where(inside, self.source[places], self.source.dtype.type(0)), trace)
        line = reshape(TracedArray(mapping.get(self.source, self.source)), (self.source.type.size,))
        found = _rectangle(line, places, inside)
        if found is None:
            found = ops.gather(line, TracedArray(lift(np.where(inside, places, 0), trace)), axis=0, batch=0)
        if cleared and not inside.all():
            found = selected(TracedArray(lift(inside, trace)), found, 0, trace)
        return found.node


def _rectangle(line: TracedArray, places: Array, inside: Array) -> TracedArray | None:
    """Return elements of which each row is a part of one behind the other, and equally far apart; None if they are not.

    They are copied without indices, and so are their derivatives. Where none is wanted there is any.
    """
    if places.ndim != 2 or not inside[:, 0].all():
        return None
    found: TracedArray | None
    if len(places) > 1 and places[1, 0] < places[0, 0]:
        found = _rectangle(line, places[::-1], inside[::-1])
        return None if found is None else ops.flip(found, axes=(0,))
    rows, length = places.shape
    begin = int(places[0, 0])
    jump = int(places[1, 0]) - begin if rows > 1 else length
    whole = begin + jump * np.arange(rows)[:, None] + np.arange(length)
    if jump < length or not (whole == places)[inside].all():
        return None
    end = begin + jump * rows
    taken = ops.slice_(line, start=(begin,), stop=(min(end, line.size),), step=(1,))
    taken = ops.pad(taken, low=(0,), high=(max(0, end - line.size),), interior=(0,))
    found = ops.slice_(reshape(taken, (rows, jump)), start=(0, 0), stop=(rows, length), step=(1, 1))
    return found


def taken_elements(each: Sequence[Node], type: ArrayType) -> TakenElements | None:
    """Return of which array others are more or less elements, in rows of one type; None if there is no such array."""
    if each[0].op is LITERAL or not changing_axes(each):
        return None
    if each[0].op is CAPTURED:
        arrays = [leaf_value(x) for x in each]
        begins = np.cumsum([0, *[x.size for x in arrays]])
        source: Node | Array = np.concatenate([x.ravel() for x in arrays])
        parts = [begin + np.arange(x.size).reshape(x.shape) for begin, x in zip(begins, arrays, strict=False)]
    else:
        chains = [views_of(x) for x in each]
        source = chains[0][0]
        if any(root is not source for root, _ in chains):
            return None
        whole = np.arange(source.type.size).reshape(source.type.shape)
        parts = [_seen(whole, views) for _, views in chains]
    places = np.full((len(each), *type.shape), -1)
    for row, part in zip(places, parts, strict=True):
        row[tuple([slice(n) for n in part.shape])] = part
    return TakenElements(source, places)


def is_repeated(node: Node) -> bool:
    """Say whether a value is what another one is, again and again along further axes."""
    if isinstance(node.op, Leaf) or not node.op.memory.views or node.op.axes.map is None or len(node.inputs) != 1:
        return False
    found = axis_map(node)
    roles = {found.role(label) for label in found.results[0]} if len(found.results) == 1 else {"mixed"}
    return "made" in roles and roles <= {"made", "mapped"}


def _seen(array: Array, views: Sequence[Node]) -> Array:
    """Return what views show of an array."""
    for view in views:
        array = view.op.numpy(array, **dict(view.params))
    return array


def changing_axes(each: Sequence[Node]) -> Axes:
    """Return the axes along which values have other lengths in other steps."""
    first = each[0].type
    if isinstance(first, TupleType) or all(x.type is first or x.type.shape == first.shape for x in each):
        return ()
    return tuple([axis for axis, n in enumerate(first.shape) if any(x.type.shape[axis] != n for x in each)])
