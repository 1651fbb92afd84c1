"""Products with a matrix and with its transpose that have all of its entries between them, directly.

Rows and columns are the vertices of a graph whose edges are the entries. In a star colouring of it each entry is alone
in its row with the colour of its column, or in its column with that of its row (Coleman and Verma 1998; Hossain and
Steihaug 1998; Gebremedhin, Manne and Pothen 2005, section 7). Colours that have no entry of their own are left out.
"""

from __future__ import annotations

import numpy as np

from primad.programs.sparsity.coloring.coloring_orders import fewest_star_colors
from primad.programs.sparsity.coloring.entries import Array, Entries, Sweep, are_alone


def bicolored(given: Entries, other: Entries) -> list[Sweep]:
    """Return products with a matrix, and with its transpose, that have all of its entries.

    Args:
        given: entries of the matrix.
        other: of the transposed matrix.
    """
    m, n = given.shape
    starts = np.concatenate([other.starts, other.starts[-1] + given.starts[1:]])
    colors = fewest_star_colors((starts, np.concatenate([other.columns + n, given.columns])), 2) - 1
    of_columns, of_rows = colors[:n], colors[n:]
    rows, columns = given.rows, given.columns
    count = int(colors.max(initial=-1)) + 1
    pushed = np.where(are_alone(of_columns[columns] * m + rows, count * m), of_columns[columns], -1)
    pulled = np.where(are_alone(of_rows[rows] * n + columns, count * n), count + of_rows[rows], -1)
    kept = needed_colors(np.stack([pushed, pulled]), 2 * count)
    by_push = (pushed >= 0) & kept[pushed]
    found = [
        _sweep(of_columns, kept[:count], False, given.where(by_push)),
        _sweep(of_rows, kept[count:], True, given.where(~by_push).transposed()),
    ]
    return [sweep for sweep in found if sweep.count]


def needed_colors(ways: Array, count: int) -> Array:
    """Return which colours are needed, where each entry has up to two of them; −1 is none.

    The colour of the fewest entries that have another one is left out first.

    Args:
        ways: two rows, of the colours of each entry, which are different ones.
        count: of colours.

    Returns:
        a mask of them.
    """
    kept = np.ones(count, np.bool_)
    only = np.zeros(count, np.bool_)
    for own, other in (ways, ways[::-1]):
        only[own[(own >= 0) & (other < 0)]] = True
    counts = np.bincount(ways[ways >= 0], minlength=count)
    for color in np.argsort(counts, kind="stable"):
        if not only[color]:
            kept[color] = False
            there = (ways == color).any(axis=0)
            left = ways[:, there]
            only[left[left != color]] = True
            ways = np.where(ways == color, -1, ways)
    return kept


def _sweep(colors: Array, kept: Array, pulled: bool, given: Entries) -> Sweep:
    """Return products with the colours that are kept, numbered anew."""
    numbers = np.where(kept, np.cumsum(kept) - 1, -1)
    used = np.zeros(int(kept.sum()) + 1, np.bool_)
    found = numbers[colors]
    used[found] = True
    again = np.append(np.cumsum(used[:-1]) - 1, -1)
    return Sweep(again[found], int(used[:-1].sum()), pulled, given)
