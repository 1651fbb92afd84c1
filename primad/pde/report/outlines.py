"""Edges of domains in pictures: where grid lines cross them, and the curves through these points."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from primad.pde.geometry.sampling import Array

BISECTIONS = 40
"""How often the piece of a grid line that an edge crosses is halved: to a number's last digits."""
Inside = Callable[[Array], Array]
"""Says which points, one a row, of the coordinates that are shown lie in a domain."""


def crossings(inside: Inside, within: Array, without: Array) -> Array:
    """Return the points, last ones inside, where lines from points within a domain to points without leave it."""
    for _ in range(BISECTIONS):
        middle = (within + without) / 2
        hit = inside(middle)[:, None]
        within, without = np.where(hit, middle, within), np.where(hit, without, middle)
    return within


def moved_to_edge(inside: Inside, lines: Sequence[Array], mask: Array) -> tuple[list[Array], Array]:
    """Return a grid, the points of which just outside of a domain are moved to its edge, and which of them are in it.

    Every cell of the grid with a point inside is in the domain then, up to chords of the edge.

    Args:
        inside: says what is in the domain.
        lines: values of the coordinates along the grid.
        mask: which points of the grid are in the domain.
    """
    grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)
    shown, padded = mask.copy(), np.pad(mask, 1)
    steps = sorted(itertools.product((-1, 0, 1), repeat=mask.ndim), key=lambda step: sum(map(abs, step)))
    for step in steps[1:]:  # straight neighbours first
        beside = padded[tuple([slice(1 + s, 1 + s + n) for s, n in zip(step, mask.shape, strict=True)])]
        places = np.argwhere(beside & ~shown)
        if len(places):
            grid[tuple(places.T)] = crossings(inside, grid[tuple((places + step).T)], grid[tuple(places.T)])
            shown[tuple(places.T)] = True
    return [grid[..., i] for i in range(len(lines))], shown


def outline(inside: Inside, lines: Sequence[Array], mask: Array) -> list[Array]:
    """Return closed curves around a domain in the plane, which have it at their left: a row for each point.

    Each cell of the grid with some corners in the domain is crossed by a piece of the edge, from one side to another.

    Args:
        inside: says what is in the domain.
        lines: values of the two coordinates along the grid.
        mask: which points of the grid are in the domain.
    """
    padded = np.pad(mask, 1)
    x, y = (np.concatenate([line[:1], line, line[-1:]]) for line in lines)
    following: dict[tuple[int, int, int], tuple[int, int, int]] = {}
    some = padded[1:, 1:].astype(int) + padded[:-1, 1:] + padded[1:, :-1] + padded[:-1, :-1]
    for i, j in np.argwhere((some > 0) & (some < 4)).tolist():
        # The corners, left around, and the sides between each and the next: (direction, i, j) of their lower end.
        corners = [padded[i, j], padded[i + 1, j], padded[i + 1, j + 1], padded[i, j + 1]]
        sides = [(0, i, j), (1, i + 1, j), (0, i, j + 1), (1, i, j)]
        out = [sides[k] for k in range(4) if corners[k] and not corners[(k + 1) % 4]]
        back = [sides[k] for k in range(4) if not corners[k] and corners[(k + 1) % 4]]
        # From where the boundary of the cell leaves the domain, its edge leads to where it last came in.
        first = sides.index(out[0])
        back.sort(key=lambda side: (first - sides.index(side)) % 4)
        following.update(zip(out, back if len(out) == 1 else [back[0], back[1]], strict=True))
    at = _side_crossings(inside, x, y, padded, [*following])
    found = []
    while following:
        start, here = (side := next(iter(following))), [at[side]]
        while (side := following.pop(side)) != start:
            here.append(at[side])
        found.append(np.array(here))
    return found


def _side_crossings(
    inside: Inside, x: Array, y: Array, padded: Array, sides: Sequence[tuple[int, int, int]]
) -> dict[tuple[int, int, int], Array]:
    """Return where sides of cells are crossed by the edge of a domain."""
    if not sides:
        return {}
    direction, i, j = np.array(sides).T
    low = np.stack([x[i], y[j]], axis=1)
    high = np.stack([x[i + (direction == 0)], y[j + (direction == 1)]], axis=1)
    first = padded[i, j][:, None]
    points = crossings(inside, np.where(first, low, high), np.where(first, high, low))
    return dict(zip(sides, points, strict=True))
