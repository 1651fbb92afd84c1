"""Colours of the columns and rows of a matrix whose zeros are known, by which few products have all of its entries.

The columns of one colour are one direction. Where a row has one entry in the columns of a colour, the product with that
direction is this entry there (Curtis, Powell and Reid 1974). Rows with many entries ask for many colours: they are
taken apart, and pulled back. Of a symmetric matrix an entry is found if it is alone in its row or in its column, so
that fewer colours will do (Coleman and Moré 1984), and a row with many entries is a column with a colour of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from primad.programs.sparsity.coloring.bicoloring import bicolored, needed_colors
from primad.programs.sparsity.coloring.coloring_orders import fewest_first_colors, fewest_star_colors
from primad.programs.sparsity.coloring.entries import Array, Entries, Sweep, are_alone

UNEVEN = 2
"""How many times as many directions as there are entries for each row, or column, the products one way may take before
both ways together are tried. Chosen: fewer are seldom saved by that."""

Costs = Callable[[], tuple[float, float]]
"""Gives what a product with a matrix costs, and what one with its transpose does."""


def sweeps(given: Entries, symmetric: bool = False, costs: Costs = lambda: (1.0, 1.0)) -> list[Sweep]:
    """Return products that have all entries of a matrix, as cheap ones as are found.

    Args:
        given: the entries.
        symmetric: whether the matrix is symmetric.
        costs: what products cost; asked where the fewest are not all with the matrix, which mostly cost less.
    """
    if not len(given.columns):
        return []
    if symmetric:
        return [_symmetric(given)]
    other = given.transposed()
    ways = [(_apart(given).total, given, other, False), (_apart(other).total, other, given, True)]
    if ways[1][0] < ways[0][0]:  # else what costs less as a rule is taken
        push, pull = costs()
        ways.sort(key=lambda way: way[0] * (pull if way[-1] else push))
    choices = [_swept(*ways[0][1:])]
    if not given.is_mirrored(other) and (_directions(choices[0]) > ways[1][0] or ways[0][-1]):
        choices.append(_swept(*ways[1][1:]))
    if min(map(_directions, choices)) * max(given.shape) > UNEVEN * len(given.columns):
        choices.append(bicolored(given, other))
    fewest = min(choices, key=_directions)
    if len(choices) == 1 or not any(sweep.pulled for sweep in fewest):
        return fewest
    push, pull = costs()
    return min(choices, key=lambda found: sum([x.count * (pull if x.pulled else push) for x in found]))


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
    colors = fewest_first_colors((other.starts, other.columns), (given.starts, given.columns)) - 1
    colors[other.counts == 0] = -1
    return Sweep(colors, int(colors.max()) + 1, pulled, given)


def _symmetric(given: Entries) -> Sweep:
    """Return products with columns of a symmetric matrix, of which an entry is found in its row or in its column."""
    n, apart = given.shape[0], _apart(given).rows
    rows, columns = given.rows, given.columns
    graph = given.where((rows != columns) & ~apart[rows] & ~apart[columns])
    bound = -(-(len(columns) + n) // (2 * n))  # half of the entries, and the diagonal, have so many in a row
    colors = fewest_star_colors((graph.starts, graph.columns), bound) - 1
    colors[(given.counts == 0) | apart] = -1
    first, more = int(colors.max(initial=-1)) + 1, int(apart.sum())
    colors[apart] = np.arange(first, first + more)
    count = first + more
    own = np.where(are_alone(colors[columns] * n + rows, count * n), colors[columns], -1)
    other = np.where(are_alone(colors[rows] * n + columns, count * n) & (rows != columns), colors[rows], -1)
    kept = needed_colors(np.stack([own, other]), count)
    numbers = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)  # the last is of what has no colour
    return Sweep(numbers[colors], int(kept.sum()), False, given, (own < 0) | ~kept[own])
