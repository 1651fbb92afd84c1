"""Colours that repeat along the rows and columns of a grid, which are the fewest for stencils.

On a grid with so many points in a row, point j has column j mod width and row j // width, and the colour
(column + slope · row) mod count. Of the five points of a Laplacian five colours are enough so (A. Curtis, M. Powell and
J. Reid, IMA Journal of Applied Mathematics 13, 1974; T. Coleman and J. Moré, SIAM Journal on Numerical Analysis 20,
1983); colours that are given one after the other are six or seven.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from primad.system.deferred import distinct

if TYPE_CHECKING:
    from primad.native.loops.graph_walk import Array, Neighbours

MOST_POINTS = 64
"""Points of a stencil that colours are sought for. Chosen: stencils have a few dozen at most."""
MOST_WIDTHS = 8
"""Widths of a grid that are tried. Chosen: those that a stencil of five points suggests are six."""
MOST_MORE = 1
"""Colours above the fewest that there can be, up to which some are sought. Chosen: of more, the orders of vertices find
as few."""
SAMPLED = 64
"""Groups all over the grid, those that reach farthest, and those in which colours failed, that are looked at before all
are. Chosen: most colours fail in one of them."""
MOST_FAILED = 4
"""Colours that may fail elsewhere, before none are sought. Chosen: to look at all takes as long as to colour them."""


def grid_colors(members: Neighbours, count: int, most: int) -> Array | None:
    """Return colours from 1 on that repeat on a grid, of which no two members of a group have the same.

    Args:
        members: of each group.
        count: how many vertices there are.
        most: a number of colours that is no gain.

    Returns:
        None where none are found.
    """
    starts, vertices = members
    sizes = np.diff(starts)
    longest = int(np.argmax(sizes))
    if sizes[longest] > MOST_POINTS:
        return None
    group = vertices[starts[longest] : starts[longest + 1]].astype(np.int64)
    apart = distinct(np.abs(group[:, None] - group))
    widths = apart[(apart > 1) & (apart < count)][:MOST_WIDTHS].tolist()
    groups, looked_at = np.repeat(np.arange(len(sizes)), sizes), _sampled(starts, vertices)
    few, failed = _members_of(looked_at, groups, vertices), 0
    numbers = range(len(group), min(most, len(group) + MOST_MORE + 1))
    for colors, width in itertools.product(numbers, widths):
        for slope in range(2, colors):
            if len(_clashing(*few, width, slope, colors)):
                continue
            clashing = _clashing(groups, vertices, width, slope, colors)
            if not len(clashing):
                return _colors(np.arange(count), width, slope, colors) + 1
            failed += 1
            if failed == MOST_FAILED:
                return None
            looked_at[clashing[:SAMPLED]] = True
            few = _members_of(looked_at, groups, vertices)
    return None


def _members_of(looked_at: Array, groups: Array, vertices: Array) -> tuple[Array, Array]:
    some = looked_at[groups]
    return groups[some], vertices[some].astype(np.int64)


def _sampled(starts: Array, vertices: Array) -> Array:
    """Return a mask of the groups that are looked at first."""
    there = np.flatnonzero(np.diff(starts))
    span = vertices[starts[there + 1] - 1] - vertices[starts[there]]
    found = np.zeros(len(starts) - 1, np.bool_)
    found[there[np.linspace(0, len(there) - 1, SAMPLED).astype(np.int64)]] = True
    found[there[np.argpartition(span, -min(SAMPLED, len(span)))[-SAMPLED:]]] = True
    return found


def _colors(vertices: Array, width: int, slope: int, colors: int) -> Array:
    found: Array = (vertices % width + slope * (vertices // width)) % colors
    return found


def _clashing(groups: Array, vertices: Array, width: int, slope: int, colors: int) -> Array:
    """Return the groups of which two members have one colour, each as often as that is."""
    taken = np.sort(groups * colors + _colors(vertices, width, slope, colors))
    found: Array = taken[1:][taken[1:] == taken[:-1]] // colors
    return found
