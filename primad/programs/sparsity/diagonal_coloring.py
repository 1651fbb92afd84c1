"""Colours of the elements of an argument: those of one colour are one direction together.

A matrix of derivatives times the sum of the directions of one colour has, in a row, the sum of its entries in the
columns of that colour. So one of them is found if all others of that row are zero: no two columns that reach the row
have the colour of the one that is wanted (Curtis, Powell and Reid, 1974). Which reach it is known from paths
(`primad.programs.sparsity.reach`), so that a diagonal of a matrix with k diagonals takes about k directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from primad.programs.sparsity.listed_places import Listed
from primad.programs.sparsity.paths import AffinePlace, Paths
from primad.system.deferred import distinct

MOST_COLORS = 1024
"""Colours, above which each column has its own. Chosen: more directions than that take as long to run as all of them
on the arrays for which that would be little."""
MOST_ROUNDS = 40
"""Rounds in which columns get another colour by chance where two meet. Chosen: with some more colours than columns that
meet, half of the pairs come apart in each, which is enough for 10¹² pairs."""

Array = np.ndarray[Any, Any]


class Wanted(Struct, frozen=True):
    """The column that is wanted of each row: start + step · row, of so many rows.

    Attributes:
        start, step, count: what is said above.
    """

    start: int
    step: int
    count: int

    def columns(self, rows: Any) -> Any:
        """Return the columns that are wanted of rows."""
        return rows * self.step + self.start


class ColumnColors(Struct, frozen=True):
    """Colours of columns.

    Attributes:
        count: how many there are.
        listed: the colour of each column; None if it is the remainder of the column's number by the count.
    """

    count: int
    listed: Array | None = None


def coloring(paths: Paths, size: int, wanted: Wanted) -> ColumnColors:
    """Return colours by which the wanted entry of each row is alone; with one for each column if no fewer are found.

    Args:
        paths: what an element of the argument, taken as one row, reaches of the result, taken as one row.
        size: how many elements the argument has.
        wanted: which entries are wanted.
    """
    places = [path.places[0] for path in paths if path.lengths == (size,)]
    known = [place for place in places if place is not None]
    found = None
    if len(known) == len(paths):
        found = _by_remainder(known, size, wanted) or _by_chance(known, size, wanted)
    return found or ColumnColors(max(1, size))


def _by_remainder(places: Sequence[AffinePlace | Listed], size: int, wanted: Wanted) -> ColumnColors | None:
    """Return the least number that divides no distance of a column from the one that is wanted of the same row.

    None where the distances are not the same in all rows.
    """
    apart = set()
    for place in places:
        if isinstance(place, Listed) or (place.factor, place.divisor, wanted.step) != (1, 1, 1):
            return None
        apart.add(place.shift + wanted.start)
    numbers = np.array([*(apart - {0})], np.int64)
    for count in range(1, min(size, MOST_COLORS + 1)):
        if (numbers % count).all():
            return ColumnColors(count)
    return None


def _by_chance(places: Sequence[AffinePlace | Listed], size: int, wanted: Wanted) -> ColumnColors | None:
    """Return colours drawn until no two columns that may not have the same do, from few colours on to more."""
    first, second = _meeting(places, size, wanted)
    rng = np.random.default_rng(0)
    count = max(2, len(places) // 2)
    while count <= min(MOST_COLORS, size // 2):
        colors = rng.integers(0, count, size, np.int32)
        for _ in range(MOST_ROUNDS):
            meet = colors[first] == colors[second]
            if not meet.any():
                return ColumnColors(count, colors)
            again = distinct(np.where(rng.integers(0, 2, np.count_nonzero(meet)) == 0, first[meet], second[meet]))
            colors[again] = rng.integers(0, count, len(again), np.int32)
        count *= 2
    return None


def _meeting(places: Iterable[AffinePlace | Listed], size: int, wanted: Wanted) -> tuple[Array, Array]:
    """Return pairs of columns that reach the same row, of which the first is wanted there."""
    rows = np.arange(wanted.count)
    own = wanted.columns(rows)
    pairs = []
    for place in places:
        columns = place.columns(wanted.count, size)
        there = (columns >= 0) & (columns != own)
        pairs.append((own[there], columns[there]))
    first, second = (np.concatenate(part) for part in zip(*pairs, strict=True))
    return first, second
