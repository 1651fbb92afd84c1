"""Labels: for each element of a value, which elements of an argument reach it, listed.

A value has some arrays of labels of its own shape. A label is the number of a set of elements of the argument, plus 1;
0 is none. So whatever an op does to the elements of an array it does to its labels, a slice of them is a view, and a
sum over everything is one label however often it is repeated. Paths (`primad.programs.sparsity.paths`) say less of a
value in less memory: they are for a diagonal, which is computed without a list; labels are for listed entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from primad.system.deferred import distinct

Array = np.ndarray[Any, Any]

FEW = 8
"""Labels of an element, up to which each has an array of its own, and above which they are one set. Chosen: a stencil's
stay views; more arrays take longer to compare than a set takes to make."""
MOST_ARRAYS = 24
"""Arrays of labels of a value, above which they become sets. Chosen: more take longer to compare than that."""
MOST_ENTRIES = 2**26
"""Elements of the sets of a value, above which each of its elements is taken to be reached by all of them. Chosen: they
take 0.25 GB."""
SAMPLES = 64
"""Places at which arrays are compared before they are compared as wholes. Chosen: most that differ do so there, and
looking takes no longer than an operation of NumPy's."""


class Sets:
    """Sets of elements of an argument, each of which is a range of one list.

    Of two sets that begin at the same place one is a part of the other, as what has been added up by an index of a
    running sum is a part of what has been by the next: all of them together take the memory of the longest.

    Args:
        starts: where the elements of each begin.
        counts: how many elements each has.
        elements: the list.
    """

    def __init__(self, starts: Array, counts: Array, elements: Array) -> None:
        self.starts, self.counts, self.elements = starts, counts, elements

    @cached_property
    def _has_parts(self) -> bool:
        """Whether some that are not empty begin at the same place."""
        own = np.sort(self.starts[self.counts > 0])
        return bool((own[1:] == own[:-1]).any())

    def of(self, numbers: Array) -> Array:
        """Return the elements of sets of these numbers, one after the other."""
        counts = self.counts[numbers]
        ends = np.cumsum(counts)
        first = np.repeat(self.starts[numbers] - ends + counts, counts)
        found: Array = self.elements[first + np.arange(len(first))]
        return found

    def largest(self, rows: Array, numbers: Array) -> tuple[Array, Array]:
        """Return sets of rows, given by their numbers, without those that are parts of others of the same row."""
        if not self._has_parts:
            return rows, numbers
        starts, counts = self.starts[numbers], self.counts[numbers]
        order = np.lexsort((counts, starts, rows))
        ends = np.ones(len(order), np.bool_)  # whether the next one is of another row, or begins elsewhere
        ends[:-1] = (np.diff(rows[order]) != 0) | (np.diff(starts[order]) != 0)
        return rows[order[ends]], numbers[order[ends]]

    def same(self, other: Sets | None) -> bool:
        """Say whether others are the same sets with the same numbers."""
        return other is self or (
            other is not None
            and np.array_equal(self.starts, other.starts)
            and np.array_equal(self.counts, other.counts)
            and np.array_equal(self.elements, other.elements)
        )


class Labels(NamedTuple):
    """An array of labels.

    Attributes:
        places: of the value's shape.
        sets: what the labels stand for; None if set i has the one element i.
    """

    places: Array
    sets: Sets | None = None


Reached = tuple[Labels, ...]
"""What reaches a value: of each element the union of what its labels stand for."""


def own(shape: Sequence[int]) -> Reached:
    """Return what reaches an argument: each element itself."""
    size = int(np.prod(shape, dtype=np.int64))
    return (Labels(np.arange(1, size + 1, dtype=np.int32).reshape(shape)),)


def union(parts: Iterable[Reached]) -> Reached:
    """Return what reaches a value by several ways; the first itself if the others add nothing."""
    found: list[Labels] = []
    for part in parts:
        for labels in part:
            for i, other in enumerate(found):
                both = _both(other, labels)
                if both is not None:
                    found[i] = both
                    break
            else:
                found.append(labels)
    return tuple(found)


def _both(first: Labels, second: Labels) -> Labels | None:
    """Return labels that stand for those of two arrays, where no element has two that differ."""
    x, y = first.places, second.places
    if first.sets is not second.sets and (first.sets is None or not first.sets.same(second.sets)):
        return None
    if x is y or (x.ctypes.data == y.ctypes.data and x.strides == y.strides):
        return first
    if x.size > SAMPLES:
        some = np.unravel_index(np.linspace(0, x.size - 1, SAMPLES).astype(np.int64), x.shape)
        if _clash(x[some], y[some]):
            return None
    if _clash(x, y):
        return None
    both = np.asarray(np.maximum(x, y))
    return first if np.array_equal(both, x) else Labels(both, first.sets)


def _clash(x: Array, y: Array) -> bool:
    """Say whether an element has two labels that differ."""
    return bool(((x != y) & (x != 0) & (y != 0)).any())


def collected(pairs: Iterable[tuple[Array, Array, Sets | None]], count: int, size: int) -> tuple[Array, Array] | None:
    """Return what reaches so many elements, as starts and elements of sets; None if that is too many.

    Args:
        pairs: numbers of the elements, a label that each has, and what the labels stand for.
        count: how many there are.
        size: how many elements the argument has.
    """
    rows, elements = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    room = MOST_ENTRIES
    for row, label, sets in pairs:
        there = label > 0
        row, number = row[there], label[there] - 1
        if sets is not None:
            once = distinct(row.astype(np.int64) * len(sets.counts) + number)
            row, number = sets.largest(*np.divmod(once, max(1, len(sets.counts))))
        counts = np.ones_like(number) if sets is None else sets.counts[number]
        room -= int(counts.sum(dtype=np.int64))
        if room < 0:
            return None
        if sets is not None:
            row, number = np.repeat(row, counts), sets.of(number)
        rows.append(row)
        elements.append(number)
    return in_rows(np.concatenate(rows), np.concatenate(elements), count, size)


def in_rows(rows: Array, columns: Array, count: int, size: int) -> tuple[Array, Array]:
    """Return places of a matrix, each once and in order, as starts of rows and columns."""
    from scipy.sparse import coo_array  # loads when it is called

    matrix = coo_array((np.ones(len(rows), np.bool_), (rows, columns)), (count, size)).tocsr()
    matrix.sum_duplicates()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)


def gathered(pairs: Sequence[tuple[Array, Array, Sets | None]], count: int, size: int, shape: Sequence[int]) -> Reached:
    """Return what reaches an array of a shape, whose elements have these labels (see `collected`)."""
    found = collected(pairs, count, size)
    if found is None:
        return widened([(Labels(label, sets),) for _, label, sets in pairs], shape)
    starts, elements = found
    return _each_own(Sets(starts[:-1], np.diff(starts), elements), shape)


def _each_own(sets: Sets, shape: Sequence[int]) -> Reached:
    """Return what reaches an array, each element of which has a set of its own."""
    counts, total = sets.counts, len(sets.counts)
    most = int(counts.max(initial=0))
    if most > FEW:
        places = np.where(counts > 0, np.arange(1, total + 1, dtype=np.int32), np.int32(0))
        return (Labels(places.reshape(shape), sets),)
    arrays = []
    for rank in range(most):
        places = np.zeros(total, np.int32)
        there = counts > rank
        places[there] = sets.elements[sets.starts[there] + rank] + 1
        arrays.append(Labels(places.reshape(shape)))
    return tuple(arrays)


def running(reached: Reached, axis: int, reverse: bool) -> Reached:
    """Return what reaches the results of an op that goes along an axis: at each index all that has come so far.

    Args:
        reached: what reaches its operand.
        axis: the axis.
        reverse: whether it goes from the end to the start.
    """
    found: list[tuple[Array, Array, Array]] = []  # lines, indices along them, and elements
    shape: tuple[int, ...] = ()
    for places, sets in reached:
        moved = np.moveaxis(np.flip(places, axis) if reverse else places, axis, -1)
        shape = moved.shape
        line, index = np.nonzero(moved.reshape(-1, shape[-1]))
        number = moved.reshape(-1, shape[-1])[line, index] - 1
        found.append((line, index, number) if sets is None else _new_parts(line, index, number, sets))
    if sum([len(lines) for lines, _, _ in found]) > MOST_ENTRIES:
        return widened([reached], reached[0].places.shape)
    if not found:
        return ()
    line, index, element = (np.concatenate(x) for x in zip(*found, strict=True))
    order = np.lexsort((index, element, line))
    first = np.ones(len(order), np.bool_)  # whether the element has not come in that line before
    first[1:] = (np.diff(line[order]) != 0) | (np.diff(element[order]) != 0)
    order = order[first]
    flat = line[order] * shape[-1] + index[order]
    order, flat = order[np.argsort(flat, kind="stable")], np.sort(flat)
    new = np.bincount(flat, minlength=math.prod(shape)).reshape(-1, shape[-1])
    counts = np.cumsum(new, axis=1)
    starts = np.cumsum(counts[:, -1]) - counts[:, -1]
    sets = Sets(np.repeat(starts, shape[-1]), counts.ravel(), element[order].astype(np.int32))
    turned = [x._replace(places=np.moveaxis(x.places, -1, axis)) for x in _each_own(sets, shape)]
    return tuple([x._replace(places=np.flip(x.places, axis)) if reverse else x for x in turned])


def _new_parts(line: Array, index: Array, number: Array, sets: Sets) -> tuple[Array, Array, Array]:
    """Return the elements of sets along lines: lines, indices and elements, without those that are parts of others.

    Args:
        line: the line in which each set is.
        index: where in the line it is.
        number: which set it is.
        sets: all sets.
    """
    starts = sets.starts[number]
    order = np.lexsort((index, starts, line))
    line, index, starts = line[order], index[order], starts[order]
    ends = starts + sets.counts[number][order]
    begins = np.ones(len(order), np.bool_)  # whether sets of another line, or that begin elsewhere, come from here on
    begins[1:] = (np.diff(line) != 0) | (np.diff(starts) != 0)
    group = np.cumsum(begins) * (len(sets.elements) + 1)
    until = np.maximum.accumulate(group + ends)
    known = np.where(begins, starts, np.roll(until, 1) - group)
    counts = np.maximum(ends - known, 0)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    found = sets.elements[np.repeat(known, counts) + within]
    return np.repeat(line, counts), np.repeat(index, counts), found


def widened(parts: Iterable[Reached], shape: Sequence[int]) -> Reached:
    """Return that each element of an array is reached by all that reaches any element of others."""
    found = [np.zeros(0, np.int32)]
    for labels in (x for part in parts for x in part):
        numbers = distinct(labels.places)
        numbers = numbers[numbers > 0] - 1
        found.append(numbers if labels.sets is None else distinct(labels.sets.of(numbers)))
    elements = distinct(np.concatenate(found))
    if not len(elements):
        return ()
    return (
        Labels(np.broadcast_to(np.int32(1), tuple(shape)), Sets(np.array([0]), np.array([len(elements)]), elements)),
    )


def bounded(reached: Reached, size: int) -> Reached:
    """Return the same in arrays that are not too many, without those that have no label."""
    there = tuple([x for x in reached if x.places.size and x.places.any()])
    if len(there) <= MOST_ARRAYS:
        return there if len(there) < len(reached) else reached
    shape = there[0].places.shape
    return gathered([_pair(x) for x in there], there[0].places.size, size, shape)


def _pair(labels: Labels) -> tuple[Array, Array, Sets | None]:
    flat = labels.places.ravel()
    return np.arange(flat.size, dtype=np.int32), flat, labels.sets


def listed(reached: Reached, count: int, size: int) -> tuple[Array, Array] | None:
    """Return what reaches each element of a value, as starts and elements of sets; None if that is too many."""
    return collected([_pair(x) for x in reached], count, size)


def reduced(reached: Reached, kept: Sequence[int], size: int) -> Reached:
    """Return what reaches the results of an op that keeps some axes, in this order, and takes all of the others."""
    found: list[Reached] = []
    several: list[tuple[Array, Array, Sets | None]] = []
    shape: tuple[int, ...] = ()
    for places, sets in reached:
        index = tuple([0 if axis not in kept and not n else slice(None) for axis, n in enumerate(places.strides)])
        if places.size:
            places = places[tuple([slice(0, 1) if x == 0 else x for x in index])]
        moved = places.transpose([*kept, *[axis for axis in range(places.ndim) if axis not in kept]])
        shape = moved.shape[: len(kept)]
        count = int(np.prod(shape, dtype=np.int64))
        table = moved.reshape((count, moved.size // count if count else 0))
        width = table.shape[1]
        if width * len(reached) <= FEW:
            found.append(tuple([Labels(table[:, i].reshape(shape), sets) for i in range(width)]))
        else:
            several.append((np.repeat(np.arange(count, dtype=np.int32), width), table.ravel(), sets))
    if several:
        count = int(np.prod(shape, dtype=np.int64))
        found.append(gathered(several, count, size, shape))
    return union(found)


def spread(reached: Reached, axes: Sequence[int], shape: Sequence[int]) -> Reached:
    """Return the same for all indices along those axes of an array of a shape that are not among these."""
    own = [n if axis in axes else 1 for axis, n in enumerate(shape)]
    return tuple([Labels(np.broadcast_to(x.places.reshape(own), tuple(shape)), x.sets) for x in reached])


def both_ways(starts: Array, columns: Array, size: int) -> tuple[Array, Array]:
    """Return the entries of a symmetric matrix: where it has no entry one way, it is zero both ways."""
    from scipy.sparse import csr_array  # loads when it is called

    one = csr_array((np.ones(len(columns), np.bool_), columns, starts), (size, size))
    both = one.multiply(one.T.tocsr()).tocsr()
    both.sort_indices()
    return both.indptr, both.indices
