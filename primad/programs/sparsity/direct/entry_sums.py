"""Which elements of blocks are added up for the entries of a matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.program import Program
from primad.programs.sparsity.direct.block_programs import PointBlocks
from primad.programs.sparsity.labels import Array
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.transforms.lowering import inline

MOST_EACH = 32
"""Elements of blocks for each entry of the matrix, above which products with directions are taken. Chosen: a mesh of
tetrahedra has six or seven for each, twenty where entries of right angles vanish and values are given at the boundary,
and products take ten times as long there."""
MOST_LISTED = 4
"""Elements that are added up for an entry, up to which each has a list of its own, and above which they are added entry
by entry. Chosen: entries of stencils are sums of few."""

MOST_IN_ROW = 64
"""Entries of a point, up to which they are read from the blocks with no list of their places. Chosen: those of a point
of a scene in a picture are two dozen, and each may be a piece of its own, which takes time to compile."""


class ElementRun(NamedTuple):
    """Entries of each point that lie side by side in a block, whose axes are parts, points and elements of a part.

    Attributes:
        block: its number.
        elements: how many there are in a part.
        part: the part.
        start, stop: which of its elements.
    """

    block: int
    elements: int
    part: int
    start: int
    stop: int


class PointRows(NamedTuple):
    """Entries point by point, which are the same elements of blocks at each point.

    Attributes:
        points: how many points there are.
        parts: how often the runs are repeated, each time from the next part of their blocks.
        runs: of the entries of a point, in order.
    """

    points: int
    parts: int
    runs: tuple[ElementRun, ...]


class EntrySums(NamedTuple):
    """Which elements are added up for the entries of a matrix.

    Attributes:
        places: the numbers of elements: lists of them, one element for each entry (that of the 0 at the end where there
            are fewer), or one list of all.
        weights: by which the elements are multiplied; None if by 1.
        entries: the entry to which each element is added; None where there are lists.
        rows: says the same as a single list, where it can be said so.
    """

    places: Array
    weights: Array | None
    entries: Array | None = None
    rows: PointRows | None = None

    @property
    def lists(self) -> list[Array]:
        """What the program of the sums takes of these."""
        if self.rows is not None:
            return []
        if self.entries is not None:
            return [self.places, self.entries, *(() if self.weights is None else [self.weights])]
        return [*self.places, *(() if self.weights is None else self.weights)]

    def by_columns(self, order: Array, blocks: Program) -> EntrySums:
        """Return the same for entries in another order."""
        if self.entries is None:
            weights = None if self.weights is None else np.take(self.weights, order, axis=1)
            return listed(np.take(self.places, order, axis=1), weights, blocks)
        place = np.empty(len(order), self.entries.dtype)
        place[order] = np.arange(len(order))
        return EntrySums(self.places, self.weights, place[self.entries])


def in_shape(sums: EntrySums, data: Array) -> Array:
    """Return a view of an array of the entries in the shape in which the program of the sums gives them."""
    return data if sums.rows is None else data.reshape(sums.rows.points, sums.rows.parts, -1)


def summed(blocks: Program, sums: EntrySums, data: Array) -> Program:
    """Build the program (inputs, lists, array) -> the entries.

    Args:
        blocks: the program of the blocks.
        sums: which of them are added up.
        data: like the array, which is not read, in the shape of the result: its memory is for that.
    """
    inputs, given = len(blocks.inputs), [*sums.lists, data]

    def body(*xs: TracedArray) -> list[TracedArray]:
        if sums.rows is not None:
            return [_point_by_point(inline(blocks, xs[:inputs]), sums.rows)]
        return [added_up(blocks, sums, xs[:inputs], xs[inputs:-1])]

    return program_of([*blocks.in_types, *[ArrayType(x.shape, x.dtype) for x in given]], body)


def added_up(
    blocks: Program, sums: EntrySums, operands: Sequence[TracedArray], lists: Sequence[TracedArray]
) -> TracedArray:
    """Return the entries.

    Args:
        blocks: the program of the blocks.
        sums: which of them are added up.
        operands: inputs of the program.
        lists: those of the sums.
    """
    found = inline(blocks, operands)
    if sums.rows is not None:
        by_points = _point_by_point(found, sums.rows)
        return ops.reshape(by_points, shape=(by_points.size,))  # type: ignore[no-any-return]
    none = TracedArray(found[0].node.trace.capture(np.zeros(1)))  # for lists that have no further element
    values = ops.concatenate(*[ops.reshape(x, shape=(x.size,)) for x in found], none, axis=0)
    total: TracedArray
    if sums.entries is not None:
        places, entries, *weights = lists
        total = ops.gather(values, places, axis=0, batch=0)
        for x in weights:
            total = ops.mul(total, x)
        count = 1 + int(sums.entries.max())  # each entry has an element
        total = ops.scatter_add(total, entries, axis=0, batch=0, size=count)
        return total
    count = len(sums.places)
    terms = [ops.gather(values, own, axis=0, batch=0) for own in lists[:count]]
    for i, weights_of in enumerate(lists[count:]):
        terms[i] = ops.mul(terms[i], weights_of)
    total = terms[0]
    for term in terms[1:]:
        total = ops.add(total, term)
    return total


def _point_by_point(blocks: Sequence[TracedArray], rows: PointRows) -> TracedArray:
    """Return the entries, of shape (points, parts, entries of a point in a part)."""
    found = []
    for run in rows.runs:
        block = blocks[run.block]
        shape = (block.size // (rows.points * run.elements), rows.points, run.elements)
        ends = (run.part + rows.parts, rows.points, run.stop)
        apart = ops.reshape(block, shape=shape)
        found.append(ops.slice_(apart, start=(run.part, 0, run.start), stop=ends, step=(1, 1, 1)))
    joined = ops.concatenate(*found, axis=2) if len(found) > 1 else found[0]
    by_points: TracedArray = ops.permute(joined, order=(1, 0, 2))
    return by_points


def listed(places: Array, weights: Array | None, blocks: Program) -> EntrySums:
    """Return the sums of listed elements; where the lists are elements point by point, they say so.

    Args:
        places: lists of elements, one for each entry.
        weights: by which these are multiplied; None if by 1.
        blocks: the program whose results have the elements.
    """
    rows = _rows(places[0], [x.shape for x in blocks.out_types]) if len(places) == 1 and weights is None else None
    return EntrySums(places, weights, None, rows)


def _rows(places: Array, shapes: Sequence[tuple[int, ...]]) -> PointRows | None:
    """Return what says the same as a list of elements of blocks; any axis of them may be that of the points."""
    starts = np.cumsum([0, *[math.prod(shape) for shape in shapes]])
    if len(places) and places.max() >= starts[-1]:
        return None
    for points in sorted({length for shape in shapes for length in shape}, reverse=True):
        width, rest = divmod(len(places), max(1, points))
        if rest or points < 2 or width > MOST_IN_ROW:
            continue
        table = places.reshape(points, width).astype(np.int64)
        first, elements = table[0], table[1] - table[0]
        if np.array_equal(table, first + elements * np.arange(points)[:, None]):
            return _in_runs(points, first, elements, starts)
    return None


def _in_runs(points: int, first: Array, elements: Array, starts: Array) -> PointRows | None:
    """Return the runs of elements of the first point, from each of which the next point's is so many elements away."""
    runs: list[ElementRun] = []
    for place, each in zip(first.tolist(), elements.tolist(), strict=True):
        block = int(np.searchsorted(starts, place, side="right")) - 1
        size, place = int(starts[block + 1] - starts[block]), place - int(starts[block])
        part, start = divmod(place, points * max(1, each))
        if each < 1 or size % (points * each) or start >= each:
            return None
        last = runs[-1] if runs else None
        if last is not None and last[:3] == (block, each, part) and last.stop == start:
            runs[-1] = last._replace(stop=start + 1)
        else:
            runs.append(ElementRun(block, each, part, start, start + 1))
    return _repeated(points, runs) if runs else None


def _repeated(points: int, runs: Sequence[ElementRun]) -> PointRows:
    """Return the entries of these runs, with runs that differ in the part only said once."""
    parts = 1 + max(run.part for run in runs) - runs[0].part
    once = runs[: len(runs) // parts]
    again = [run._replace(part=run.part + i) for i in range(parts) for run in once]
    return PointRows(points, parts, tuple(once)) if again == list(runs) else PointRows(points, 1, tuple(runs))


def sums_of(
    blocks: PointBlocks, starts: Array, columns: Array, size: int, entries: Array | None = None
) -> EntrySums | None:
    """Return which elements of blocks are added up for each entry of a matrix; None if an entry would have none.

    Args:
        blocks: those that are computed.
        starts: where the entries of each row begin, and the last's end.
        columns: of all, those of a row in order.
        size: how many columns there are.
        entries: for each entry the one whose elements it has; None if its own.
    """
    wanted = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * size + columns
    keys = blocks.rows * size + blocks.columns
    entry = np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)
    kept = np.flatnonzero(wanted[entry] == keys)  # elsewhere it is known to be zero
    if entries is not None:
        kept, entry = _with_mirrored(kept, entry[kept], entries)
    else:
        entry = entry[kept]
    order = np.argsort(entry, kind="stable")
    counts = np.bincount(entry, minlength=len(wanted))
    return _sums(blocks, kept[order], entry[order], counts) if counts.all() else None


def entries_of(blocks: PointBlocks, shape: tuple[int, int]) -> tuple[Array, Array, EntrySums]:
    """Return the entries that blocks have: starts of rows, columns, and which elements are added up for each.

    Args:
        blocks: the blocks, without what is known to be zero.
        shape: of the matrix.
    """
    from scipy.sparse import coo_array  # loads when it is called

    count = len(blocks.numbers)
    order = np.arange(count)
    for lines, length in zip((blocks.columns, blocks.rows), shape[::-1], strict=True):  # sorts in a time that is linear
        apart = coo_array((np.ones(count, np.bool_), (lines[order], np.arange(count))), (length, count)).tocsr()
        order = order[apart.indices]
    rows, columns = blocks.rows[order], blocks.columns[order]
    new = np.ones(count, np.bool_)
    new[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    first = np.flatnonzero(new)
    starts = np.searchsorted(rows[first], np.arange(shape[0] + 1))
    sums = _sums(blocks, order, np.cumsum(new) - 1, np.diff(np.append(first, count)))
    return starts, columns[first].astype(np.int32), sums


def _sums(blocks: PointBlocks, kept: Array, entry: Array, counts: Array) -> EntrySums:
    """Return the sums of elements.

    Args:
        blocks: whose elements they are.
        kept: the elements, entry by entry.
        entry: of each.
        counts: how many each entry has.
    """
    weights = blocks.weights[kept]
    plain = bool(np.all(weights == 1.0))
    most = max(1, int(counts.max(initial=0)))
    index = np.int32 if max(blocks.size, len(counts)) < 2**31 else np.int64
    if most > MOST_LISTED:
        return EntrySums(blocks.numbers[kept].astype(index), None if plain else weights, entry.astype(index))
    rank = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts, counts)
    places, factors = np.full((most, len(counts)), blocks.size, index), np.ones((most, len(counts)))
    places[rank, entry], factors[rank, entry] = blocks.numbers[kept], weights
    return listed(places, None if plain else factors, blocks.program)


def _with_mirrored(elements: Array, entry: Array, entries: Array) -> tuple[Array, Array]:
    """Return elements and the entries that have them, given one entry for each, and for each entry whose it has."""
    own = entries == np.arange(len(entries))
    here = own[entry]
    elements, entry = elements[here], entry[here]
    also = np.full(len(entries), -1)
    also[entries[~own]] = np.flatnonzero(~own)
    twice = also[entry] >= 0
    return np.concatenate([elements, elements[twice]]), np.concatenate([entry, also[entry[twice]]])
