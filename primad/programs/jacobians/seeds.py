"""Stacks of cotangents, one for each basis element of a value; an axis may stand for both element and point."""

from __future__ import annotations

import math
from itertools import count
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import is_literal
from primad.ops.arrays.contraction import ALPHABET, letters
from primad.ops.record.rules import tangent_sum
from primad.recording.traced_array import TracedArray


class Index(Struct, frozen=True):
    """One of the indices that number basis elements.

    Attributes:
        length: its length.
        place: the axis of the value that stands for it too: the cotangents are zero off this diagonal. None if stacked.
        rank: its place among the stacked indices, which lead the array, flattened to one axis. None if not stacked.
    """

    length: int
    place: int | None = None
    rank: int | None = None


class Regrouped(Struct, frozen=True):
    """Rows were of these lengths, in the same order."""

    lengths: tuple[int, ...]

    def restore(self, rows: Any, tail: int) -> Any:
        """Return the rows over the indices that there were before."""
        return ops.reshape(rows, shape=(*self.lengths, *rows.shape[rows.ndim - tail :]))


class Part(Struct, frozen=True):
    """Index i of a stack is element start + step · i, the rows of all others are zero."""

    axis: int
    start: int
    step: int
    total: int

    def restore(self, rows: Any, tail: int) -> Any:
        """Return the rows over the indices that there were before."""
        step, start, count = abs(self.step), self.start, rows.shape[self.axis]
        if self.step < 0:
            rows, start = ops.flip(rows, axes=(self.axis,)), start - step * (count - 1)
        high = self.total - start - ((count - 1) * step + 1)
        sides = [[n if axis == self.axis else 0 for axis in range(rows.ndim)] for n in (start, high, step - 1)]
        return ops.pad(rows, **{key: tuple(n) for key, n in zip(("low", "high", "interior"), sides, strict=True)})


class Padded(Struct, frozen=True):
    """Row i was at start + step · i of a padded index, whose other rows are none."""

    axis: int
    start: int
    step: int
    count: int

    def restore(self, rows: Any, tail: int) -> Any:
        """Return the rows over the indices that there were before."""
        bounds = [(0, n, 1) for n in rows.shape]
        bounds[self.axis] = (self.start, self.start + (self.count - 1) * self.step + 1, self.step)
        start, stop, step = zip(*bounds, strict=True)
        return ops.slice_(rows, start=start, stop=stop, step=step)


Step = Regrouped | Part | Padded


class Seeds(Struct, frozen=True):
    """The basis elements that an array of cotangents belongs to.

    Attributes:
        indices: what numbers them, the first the outermost.
        undo: what leads back, last to first, to the axes of the value where the walk began.
    """

    indices: tuple[Index, ...]
    undo: tuple[Step, ...] = ()

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the indices."""
        return tuple([index.length for index in self.indices])

    @property
    def stacked(self) -> list[Index]:
        """The stacked indices, in the order in which they lead the array."""
        ranked = [(index.rank, index) for index in self.indices if index.rank is not None]
        return [index for _, index in sorted(ranked, key=lambda pair: pair[0])]

    @property
    def rows(self) -> int:
        """How many cotangents the array is a stack of."""
        return math.prod([index.length for index in self.stacked])

    @property
    def lead(self) -> int:
        """How many leading axes the array has for the stack."""
        return 1 if any(index.rank is not None for index in self.indices) else 0

    @property
    def apart(self) -> bool:
        """Whether an axis of the value stands for an index."""
        return any(index.place is not None for index in self.indices)


Pieces = dict[Seeds, TracedArray]
"""Cotangents of a value: their sum, over different sets of basis elements."""


def begin(type: ArrayType) -> Seeds:
    """Return the seeds of all elements of an array: each axis stands for itself."""
    indices = tuple([Index(n, place=axis) for axis, n in enumerate(type.shape) if n != 1])
    return Seeds(indices, (Regrouped(type.shape),))


def spread(seeds: Seeds, value: TracedArray, number: int) -> tuple[Seeds, TracedArray]:
    """Stack the cotangents of an index that an axis stands for: each is zero off its own place.

    Of a padded index only the rows that are none of the padding are stacked.
    """
    index = seeds.indices[number]
    assert index.place is not None
    padded, undo = _padding(seeds, number)
    lead, n = seeds.lead, index.length if padded is None else padded.count
    shape = (*value.shape[:lead], n, *value.shape[lead:])
    wide = ops.broadcast(value, shape=shape, axes=(lead,))
    own = TracedArray(value.node.trace.build(ops.eye, (), (("dtype", "bool"), ("n", n))))
    if padded is not None:
        behind = index.length - padded.start - (n - 1) * padded.step - 1
        own = ops.pad(own, low=(0, padded.start), high=(0, behind), interior=(0, padded.step - 1))
    others = tuple([axis for axis in range(len(shape)) if axis not in (lead, lead + 1 + index.place)])
    apart = ops.mask(ops.broadcast(own, shape=shape, axes=others), wide)
    new = Index(n, rank=len(seeds.stacked))
    indices = (*seeds.indices[:number], new, *seeds.indices[number + 1 :])
    return Seeds(indices, undo), ops.reshape(apart, shape=(seeds.rows * n, *value.shape[lead:]))


def _padding(seeds: Seeds, number: int) -> tuple[Padded | None, tuple[Step, ...]]:
    """Return how an index was padded at last, and what leads back from the index before; None if it was not padded."""
    for place in range(len(seeds.undo) - 1, -1, -1):
        step = seeds.undo[place]
        if isinstance(step, Regrouped):
            break
        if step.axis == number:
            if isinstance(step, Padded):
                return step, (*seeds.undo[:place], *seeds.undo[place + 1 :])
            break
    return None, seeds.undo


def add_piece(pieces: Pieces, seeds: Seeds, value: TracedArray) -> None:
    """Add cotangents to those of the same basis elements."""
    if not is_literal(value.node, 0):
        pieces[seeds] = pieces[seeds] + value if seeds in pieces else value


def through_rows(seeds: Seeds, value: TracedArray, rows: TracedArray) -> tuple[Seeds, TracedArray]:
    """Return cotangents times what an output is for every basis element of their value, and what they belong to then.

    Args:
        seeds: the basis elements that the cotangents belong to.
        value: the cotangents.
        rows: an axis for each of the value's, and one for the elements of the output.

    Returns:
        the seeds, all stacked, and a stack of the output's elements.
    """
    lead, ndim, size = value.shape[: seeds.lead], rows.ndim - 1, rows.shape[-1]
    kept = [index.place for index in seeds.indices if index.place is not None]
    rest = [axis for axis in range(ndim) if axis not in kept]
    lengths = [rows.shape[axis] for axis in kept]
    if all(rows.shape[axis] == 1 for axis in rest):  # pointwise: a mask of the cotangents is one of the rows
        wide = (*lead, *lengths, size)
        first = ops.permute(value, order=(*range(seeds.lead), *[seeds.lead + axis for axis in (*kept, *rest)]))
        second = ops.reshape(ops.permute(rows, order=(*kept, *rest, ndim)), shape=(*lengths, size))
        first = ops.broadcast(ops.reshape(first, shape=wide[:-1]), shape=wide, axes=(len(wide) - 1,))
        product = first * ops.broadcast(second, shape=wide, axes=tuple(range(seeds.lead)))
    else:
        stack, element, own = ALPHABET[: seeds.lead], ALPHABET[1], ALPHABET[2 : 2 + ndim]
        result = stack + "".join([own[axis] for axis in kept]) + element
        product = ops.contract(value, rows, labels=letters(stack + own, own + element, result))
    ranks = count(len(seeds.stacked))
    indices = [index if index.place is None else Index(index.length, rank=next(ranks)) for index in seeds.indices]
    stacked = replace(seeds, indices=tuple(indices))
    return stacked, ops.reshape(product, shape=(stacked.rows,) * stacked.lead + (size,))


# -- rows of all basis elements out of those of some -------------------------------------------------------------------


def in_order(seeds: Seeds, value: TracedArray) -> TracedArray:
    """Return rows with an axis for each index."""
    tail = value.shape[seeds.lead :]
    stacked = seeds.stacked
    rows = ops.reshape(value, shape=(*[index.length for index in stacked], *tail))
    order = [stacked.index(index) for index in seeds.indices]
    moved: TracedArray = ops.permute(rows, order=(*order, *range(len(order), rows.ndim)))
    return moved


def restored(pieces: Pieces, tail: int) -> TracedArray:
    """Return the sum of rows, each over some indices, over the axes of the value where the walk began.

    Args:
        pieces: with all indices as axes in front.
        tail: how many axes follow.
    """
    parts: dict[tuple[int, int], list[tuple[Part, TracedArray]]] = {}
    terms: list[TracedArray] = []
    for seeds, rows in pieces.items():
        part = seeds.undo[1] if len(seeds.undo) > 1 else None
        joined = isinstance(part, Part) and part.step == 1
        for step in reversed(seeds.undo[2 if joined else 1 :]):
            rows = step.restore(rows, tail)
        if isinstance(part, Part) and joined:
            parts.setdefault((part.axis, part.total), []).append((part, rows))
        else:
            terms.append(rows)
    for found in parts.values():
        terms.extend(_joined(found, tail))
    (first, *_) = pieces
    restored: TracedArray = first.undo[0].restore(tangent_sum(terms), tail)
    return restored


def _joined(parts: list[tuple[Part, TracedArray]], tail: int) -> list[TracedArray]:
    """Return rows of parts of an index as rows of all of it, one after the other; as terms of a sum if some overlap."""
    alike: dict[tuple[Part, int], TracedArray] = {}
    for part, rows in parts:
        key = part, rows.shape[part.axis]
        alike[key] = alike[key] + rows if key in alike else rows
    ordered = [(part, rows) for (part, _), rows in sorted(alike.items(), key=lambda item: item[0][0].start)]
    arrays: list[TracedArray] = []
    end = 0
    for part, rows in ordered:
        if part.start < end:
            return [part.restore(rows, tail) for part, rows in ordered]
        arrays += [*_gap(rows, part, part.start - end), rows]
        end = part.start + rows.shape[part.axis]
    last, rows = ordered[-1]
    return [ops.concatenate(*arrays, *_gap(rows, last, last.total - end), axis=last.axis)]


def _gap(like: TracedArray, part: Part, length: int) -> list[TracedArray]:
    shape = tuple([length if axis == part.axis else n for axis, n in enumerate(like.shape)])
    return [TracedArray(like.node.trace.literal(0, ArrayType(shape, like.dtype)))] if length else []
