"""Products with a symmetric matrix that have its entries after substitution.

In an acyclic colouring the entries between two colours are the edges of trees. A product has at a vertex the sum of its
edges to the other colour: at a leaf one entry, and where what is known is subtracted the next (Coleman and Cai 1986).
An entry that is found so is as exact as the largest that is subtracted.
"""

from __future__ import annotations

import numpy as np

from primad.programs.sparsity.coloring.coloring_orders import fewest_colors
from primad.programs.sparsity.coloring.entries import Array, Entries


class Substitution:
    """Products with a symmetric matrix, and how its entries follow from them.

    Args:
        given: the entries, those of both halves.

    Attributes:
        colors: of each column, which direction it is part of; −1 if of none.
        count: how many directions there are.
    """

    def __init__(self, given: Entries) -> None:
        from primad.native.loops.acyclic_coloring import acyclic_colors, leaves_first

        n, rows, columns = given.shape[0], given.rows, given.columns
        self._off = np.flatnonzero(rows != columns)
        self._diagonal = np.flatnonzero(rows == columns)
        rows_off, columns_off = rows[self._off], columns[self._off].astype(np.int64)
        pairs = np.minimum(rows_off, columns_off) * n + np.maximum(rows_off, columns_off)
        _, edges = np.unique(pairs, return_inverse=True)
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows_off, minlength=n))])
        graph = starts, columns_off
        alone = np.arange(n + 1), np.arange(n)
        colors = fewest_colors(lambda order: acyclic_colors(graph, edges, order), graph, alone, 2 if len(edges) else 1)
        self.colors = np.where(given.counts > 0, colors - 1, -1)
        self.count = int(self.colors.max(initial=-1)) + 1
        self._twins = np.empty(len(edges), np.int64)
        both = np.argsort(edges, kind="stable").reshape(-1, 2)
        self._twins[both] = both[:, ::-1]
        sums, self._groups = np.unique(self.colors[columns_off] * n + rows_off, return_inverse=True)
        self._places = sums, self.colors[rows[self._diagonal]] * n + rows[self._diagonal]
        self._order = leaves_first(self._groups, self._twins, len(sums))
        assert 2 * len(self._order) == len(edges)  # all, since there is no cycle

    @property
    def held(self) -> tuple[Array, ...]:
        """What takes memory."""
        return self.colors, self._off, self._diagonal, self._twins, self._groups, self._order, *self._places

    def data(self, products: Array) -> Array:
        """Return the entries, by the products in a row for each direction, one after the other."""
        from primad.native.loops.acyclic_coloring import substituted

        sums, diagonal = (products[places].astype(np.float64) for places in self._places)
        data = np.empty(len(self._off) + len(self._diagonal), products.dtype)
        data[self._diagonal] = diagonal
        data[self._off] = substituted(sums, self._groups, self._twins, self._order, len(self._off))
        return data
