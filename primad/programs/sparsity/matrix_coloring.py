"""Colours of the columns and rows of a matrix whose zeros are known, by which few products have all of its entries.

The columns of one colour are one direction. Where a row has one entry in the columns of a colour, the product with that
direction is this entry there (Curtis, Powell and Reid 1974). Rows with many entries ask for many colours: they are
taken apart, and pulled back. Of a symmetric matrix an entry is found if it is alone in its row or in its column, so
that fewer colours will do (Coleman and Moré 1984), and a row with many entries is a column with a colour of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

MOST_COUNTED = 16
"""Elements of products for each entry of a matrix, up to which the entries in each are counted, and above which the
entries are sorted. Chosen: so many take as long."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Entries:
    """Places of a matrix that may not be zero, row by row.

    Attributes:
        shape: of the matrix.
        starts: where those of each row begin, and the last's end.
        columns: of all.
        numbers: what the entries are called.
    """

    shape: tuple[int, int]
    starts: Array
    columns: Array
    numbers: Array

    @property
    def counts(self) -> Array:
        """How many each row has."""
        return np.diff(self.starts)

    @property
    def rows(self) -> Array:
        """The row of each."""
        return np.repeat(np.arange(self.shape[0]), self.counts)

    def where(self, kept: Array) -> Entries:
        """Return those that a mask has."""
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return Entries(self.shape, starts, self.columns[kept], self.numbers[kept])

    def transposed(self) -> Entries:
        """Return the same of the transposed matrix."""
        from scipy.sparse import csr_array  # loads when it is called

        found = csr_array((self.numbers, self.columns, self.starts), self.shape).tocsc()
        return Entries(self.shape[::-1], found.indptr, found.indices, found.data)


@dataclass(frozen=True)
class Sweep:
    """Products of a matrix with directions, and the entries that they have.

    Attributes:
        colors: of each column, or of each row, which direction it is part of; −1 if of none.
        count: how many directions there are.
        pulled: whether the rows have colours.
        given: the entries that are found.
        turned: those of them that are found in the row of their column, of a symmetric matrix; None of others.
    """

    colors: Array
    count: int
    pulled: bool
    given: Entries
    turned: Array | None = None

    @property
    def entries(self) -> Array:
        """The numbers of the entries."""
        return self.given.numbers

    @property
    def places(self) -> Array:
        """Where each of them is in the products, one row for each direction."""
        rows, columns = self.given.rows, self.given.columns
        if self.turned is not None:
            rows, columns = np.where(self.turned, (columns, rows), (rows, columns))
        return self.colors[columns] * self.given.shape[0] + rows


class Reading:
    """Where entries are read from products, in the order in which they are wanted.

    Args:
        targets: the place of each among all entries of the matrix.
        places: where each is in the products, one row for each direction.
    """

    def __init__(self, targets: Array, places: Array) -> None:
        order = np.argsort(targets)
        self.targets, self.places = targets[order], places[order]
        self._last = int(places.max(initial=-1)) + 1

    def within(self, first: int, count: int) -> tuple[Array, Array]:
        """Return where entries are in some products, and their places among all.

        Args:
            first: the number of the first of them, of all elements of products.
            count: of elements.
        """
        if not first and count >= self._last:
            return self.places, self.targets
        there = (self.places >= first) & (self.places < first + count)
        return self.places[there] - first, self.targets[there]

    def take(self, products: Array, first: int, data: Array) -> None:
        """Put the entries that products have in their places."""
        places, targets = self.within(first, len(products))
        if len(targets) == len(data):  # all of them, in order
            np.take(products, places, out=data, mode="clip")
        else:
            data[targets] = products[places]


def sweeps(given: Entries, symmetric: bool = False) -> list[Sweep]:
    """Return products that have all entries of a matrix, of as few directions as are found."""
    if not len(given.columns):
        return []
    if symmetric:
        return [_symmetric(given)]
    other = given.transposed()
    ways = [(_apart(given).total, False, given, other), (_apart(other).total, True, other, given)]
    ways.sort(key=lambda way: way[0])
    found = _swept(*ways[0][2:], pulled=ways[0][1])
    if _directions(found) > ways[1][0]:
        found = min(found, _swept(*ways[1][2:], pulled=ways[1][1]), key=_directions)
    return found


def one_way_sweeps(given: Entries, pulled: bool) -> list[Sweep]:
    """Return products that have all entries, all with the transposed matrix, or with the matrix."""
    other = given.transposed()
    pair = (other, given) if pulled else (given, other)
    return [_by_columns(*pair, pulled)] if len(given.columns) else []


def _directions(found: Sequence[Sweep]) -> int:
    return sum([sweep.count for sweep in found])


class _Apart(NamedTuple):
    """Rows with so many entries that they are directions of their own.

    Attributes:
        rows: a mask of them.
        total: how many directions there are at least with them.
    """

    rows: Array
    total: int


def _apart(given: Entries) -> _Apart:
    order = np.argsort(-given.counts, kind="stable")
    total = np.append(given.counts[order], 0) + np.arange(len(order) + 1)
    count = int(np.argmin(total))
    rows = np.zeros(len(order), np.bool_)
    rows[order[:count]] = True
    return _Apart(rows, int(total[count]))


def _swept(given: Entries, other: Entries, pulled: bool) -> list[Sweep]:
    """Return products by colours of the columns, and of rows with many entries.

    Args:
        given: entries of the matrix.
        other: of the transposed matrix.
        pulled: whether it is the matrix that is transposed.
    """
    apart = _apart(given).rows
    if not apart.any():
        return [_by_columns(given, other, pulled)]
    there = apart[given.rows]
    rows, rest = given.where(there), given.where(~there)
    found = [_by_columns(rows.transposed(), rows, not pulled)]
    return found if there.all() else [_by_columns(rest, rest.transposed(), pulled), *found]


def _by_columns(given: Entries, other: Entries, pulled: bool) -> Sweep:
    from primad.native.loops.graph_coloring import first_colors

    colors = first_colors((other.starts, other.columns), (given.starts, given.columns)) - 1
    colors[other.counts == 0] = -1
    return Sweep(colors, int(colors.max()) + 1, pulled, given)


def _symmetric(given: Entries) -> Sweep:
    """Return products with columns of a symmetric matrix, of which an entry is found in its row or in its column."""
    from primad.native.loops.graph_coloring import star_colors

    n, apart = given.shape[0], _apart(given).rows
    rows, columns = given.rows, given.columns
    graph = given.where((rows != columns) & ~apart[rows] & ~apart[columns])
    colors = star_colors((graph.starts, graph.columns)) - 1
    colors[(given.counts == 0) | apart] = -1
    first, more = int(colors.max(initial=-1)) + 1, int(apart.sum())
    colors[apart] = np.arange(first, first + more)
    count = first + more
    own = colors[columns] * n + rows
    if count * n <= MOST_COUNTED * len(own):
        single = np.bincount(own)[own] == 1
    else:
        _, back, times = np.unique(own, return_inverse=True, return_counts=True)
        single = times[back] == 1
    return Sweep(colors, count, False, given, ~single)
