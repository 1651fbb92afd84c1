"""Which elements of blocks are added up for the entries of a matrix."""

from __future__ import annotations

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

MOST_EACH = 8
"""Elements of blocks for each entry of the matrix, above which products with directions are taken. Chosen: a mesh of
tetrahedra has six or seven for each."""
MOST_LISTED = 4
"""Elements that are added up for an entry, up to which each has a list of its own, and above which they are added entry
by entry. Chosen: entries of stencils are sums of few."""


class EntrySums(NamedTuple):
    """Which elements are added up for the entries of a matrix.

    Attributes:
        places: the numbers of elements: lists of them, one element for each entry (that of the 0 at the end where there
            are fewer), or one list of all.
        weights: by which the elements are multiplied; None if by 1.
        entries: the entry to which each element is added; None where there are lists.
    """

    places: Array
    weights: Array | None
    entries: Array | None = None

    @property
    def lists(self) -> list[Array]:
        """All of these."""
        if self.entries is not None:
            return [self.places, self.entries, *(() if self.weights is None else [self.weights])]
        return [*self.places, *(() if self.weights is None else self.weights)]

    def by_columns(self, order: Array) -> EntrySums:
        """Return the same for entries in another order."""
        if self.entries is None:
            weights = None if self.weights is None else np.take(self.weights, order, axis=1)
            return EntrySums(np.take(self.places, order, axis=1), weights)
        place = np.empty(len(order), self.entries.dtype)
        place[order] = np.arange(len(order))
        return EntrySums(self.places, self.weights, place[self.entries])


def summed(blocks: Program, sums: EntrySums, data: Array) -> Program:
    """Build the program (inputs, lists, array) -> the entries.

    Args:
        blocks: the program of the blocks.
        sums: which of them are added up.
        data: like the array, which is not read: its memory is for the result.
    """
    inputs, given = len(blocks.inputs), [*sums.lists, data]

    def body(*xs: TracedArray) -> list[TracedArray]:
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


def sums_of(blocks: PointBlocks, starts: Array, columns: Array, size: int) -> EntrySums | None:
    """Return which elements of blocks are added up for each entry of a matrix; None if an entry would have none.

    Args:
        blocks: all of them.
        starts: where the entries of each row begin, and the last's end.
        columns: of all, those of a row in order.
        size: how many columns there are.
    """
    wanted = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * size + columns
    keys = blocks.rows * size + blocks.columns
    entry = np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)
    kept = np.flatnonzero(wanted[entry] == keys)  # elsewhere it is known to be zero
    kept = kept[np.argsort(entry[kept], kind="stable")]
    entry, weights = entry[kept], blocks.weights[kept]
    plain = bool(np.all(weights == 1.0))
    counts = np.bincount(entry, minlength=len(wanted))
    if not counts.all():
        return None
    most = max(1, int(counts.max(initial=0)))
    index = np.int32 if max(blocks.size, len(wanted)) < 2**31 else np.int64
    if most > MOST_LISTED:
        return EntrySums(blocks.numbers[kept].astype(index), None if plain else weights, entry.astype(index))
    rank = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts, counts)
    places, factors = np.full((most, len(wanted)), blocks.size, index), np.ones((most, len(wanted)))
    places[rank, entry], factors[rank, entry] = blocks.numbers[kept], weights
    return EntrySums(places, None if plain else factors)
