"""Colourings in the order of vertices that takes the fewest colours, of those of the literature."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from primad.programs.sparsity.coloring.grid_coloring import grid_colors

if TYPE_CHECKING:
    from primad.native.loops.graph_walk import Array, Neighbours

MOST_REORDERED = 2**18
"""Neighbours of all vertices, up to which orders other than the natural one are tried. Chosen: these take a twentieth
of a second."""


def fewest_first_colors(groups: Neighbours, members: Neighbours) -> Array:
    """Return colours from 1 on, of which no two members of a group have the same (see `first_colors`)."""
    from primad.native.loops.graph_coloring import first_colors

    bound, count = int(np.diff(members[0]).max(initial=0)), len(groups[0]) - 1
    return fewest_colors(
        lambda order: first_colors(groups, members, order),
        groups,
        members,
        bound,
        lambda most: grid_colors(members, count, most),
    )


def fewest_star_colors(neighbours: Neighbours, bound: int) -> Array:
    """Return a star colouring of a graph (see `star_colors`).

    Args:
        neighbours: of each vertex.
        bound: a number of colours with which no other order is tried.
    """
    from primad.native.loops.graph_coloring import star_colors

    count = len(neighbours[0]) - 1
    alone = np.arange(count + 1), np.arange(count)  # each vertex is a group of its neighbours
    return fewest_colors(lambda order: star_colors(neighbours, order), neighbours, alone, bound)


def fewest_colors(
    color: Callable[[Array], Array],
    groups: Neighbours,
    members: Neighbours,
    bound: int,
    fewer: Callable[[int], Array | None] = lambda most: None,
) -> Array:
    """Return the colours that are fewest, of those in several orders.

    Args:
        color: order -> colours from 1 on.
        groups: of each vertex.
        members: of each group.
        bound: a number of colours with which no other order is tried.
        fewer: a number of colours -> fewer ones that are given in no order, or None; asked after the natural order.
    """
    best: Array | None = None
    for order in _orders(groups, members):
        found = color(order)
        if best is None:
            on_grid = None if (most := int(found.max(initial=0))) <= bound else fewer(most)
            if on_grid is not None:
                return on_grid
        if best is None or found.max(initial=0) < best.max(initial=0):
            best = found
        if best.max(initial=0) <= bound or len(groups[1]) > MOST_REORDERED:
            break
    assert best is not None
    return best


def _orders(groups: Neighbours, members: Neighbours) -> Iterator[Array]:
    """Give the orders one after the other, each when it is asked for."""
    from primad.native.loops.graph_orders import incidence_degree, largest_first, smallest_last

    yield np.arange(len(groups[0]) - 1)
    yield smallest_last(groups, members)
    yield incidence_degree(groups, members)
    yield largest_first(groups, members)
