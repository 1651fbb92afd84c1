"""Entries of matrices whose zeros are known, products that have them, and where in these they are read."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

Array = np.ndarray[Any, Any]

MOST_COUNTED = 16
"""Elements of products for each entry of a matrix, up to which the entries in each are counted, and above which the
entries are sorted. Chosen: so many take as long."""


class Entries(Struct, frozen=True):
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

    def is_mirrored(self, transposed: Entries) -> bool:
        """Say whether the transposed matrix has entries at the same places, so that it has the same colours."""
        same = np.array_equal(self.starts, transposed.starts)
        return same and np.array_equal(self.columns, transposed.columns)


class Sweep(Struct, frozen=True):
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
        if not first and count >= self._last:  # later ones may be of colours from which no entry is read
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


def are_alone(places: Array, count: int) -> Array:
    """Return which of some places, of so many that there are, no other one is the same as."""
    if count <= MOST_COUNTED * len(places):
        found: Array = np.bincount(places)[places] == 1
        return found
    _, back, times = np.unique(places, return_inverse=True, return_counts=True)
    return np.asarray(times[back] == 1)
