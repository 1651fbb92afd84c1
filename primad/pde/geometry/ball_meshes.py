"""Tetrahedra in balls and in shells of balls about one centre: layers of an icosahedron, drawn out to spheres."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, permutations, product

import numpy as np

from primad.pde.geometry.constructive import made_of
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.sampling import Array, only_used
from primad.pde.geometry.shapes import Ball

LONGEST = 2.0
"""The longest edge, by the thickness of layers. Computed: 1.05 for one layer, 1.88 for four and 1.95 for sixteen."""


def balls_of(domain: Domain) -> list[Ball] | None:
    """Return the balls in space that a domain is made of; None if they have several centres, or others are among it."""
    every = made_of(domain)
    found = [one for one in every if isinstance(one, Ball) and one.dimension == 3]
    return found if len(found) == len(every) and len({tuple(one.center) for one in found}) == 1 else None


def layered(domain: Domain, balls: Sequence[Ball], size: float) -> tuple[Array, Array]:
    """Return the corners and the cells of tetrahedra that fill a domain, up to the bulge of its spheres.

    Args:
        domain: made of balls about one centre.
        balls: these, and others, at whose spheres layers end.
        size: how long edges are at most.
    """
    ends = np.unique([0.0, *[one.radius for one in balls]])
    lines = [np.linspace(a, b, max(1, math.ceil(LONGEST * (b - a) / size)), endpoint=False) for a, b in pairwise(ends)]
    count = max(sum(len(line) for line in lines), math.ceil(LONGEST * ends[-1] / size))
    radii = np.concatenate([*lines, ends[-1:]])
    while len(radii) <= count:  # thin shells have more layers than their thickness asks for
        widest = int(np.argmax(np.diff(radii)))
        radii = np.insert(radii, widest + 1, (radii[widest] + radii[widest + 1]) / 2)
    points, cells, layer = _in_layers(len(radii) - 1)
    middle = np.mean(points[cells], axis=1)
    middle *= ((radii[layer - 1] + radii[layer]) / 2 / np.linalg.norm(middle, axis=1))[:, None]
    level = np.rint(np.linalg.norm(points, axis=1)).astype(int)
    with np.errstate(invalid="ignore"):
        places = np.where(level[:, None] > 0, points * (radii[level] / level)[:, None], 0.0)
    center = balls[0].center
    return only_used(center + places, cells[domain.inside(center + middle)])


def _in_layers(count: int) -> tuple[Array, Array, Array]:
    """Return points on spheres of the radii 0, 1, …, tetrahedra between these, and the outer sphere of each.

    The pyramids from the centre to the faces of an icosahedron are cut as a box is, of which each is a sixth
    (Freudenthal 1942): along numbers count ≥ i ≥ j ≥ k ≥ 0, of the layer and in it. Corners of a face are in one order
    for all faces, so that cells of neighbours fit.
    """
    golden = (1 + math.sqrt(5)) / 2
    corners = np.array([np.roll([0, a, b * golden], turn) for turn in range(3) for a, b in product((-1, 1), repeat=2)])
    far = np.linalg.norm(corners[:, None] - corners, axis=2)
    near = (far > 0) & (far < 2.1)
    faces = np.array([
        (a, b, c)
        for a in range(12)
        for b in range(a + 1, 12)
        for c in range(b + 1, 12)
        if near[a, b] and near[b, c] and near[a, c]
    ])  # fmt: skip
    grid = np.stack(np.meshgrid(*[np.arange(count + 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    inside = (grid[:, 0] >= grid[:, 1]) & (grid[:, 1] >= grid[:, 2])
    number = np.where(inside, np.cumsum(inside) - 1, -1).reshape([count + 1] * 3)
    own = grid[inside]
    lowest = own[np.all(own < count, axis=1)]
    units = np.eye(3, dtype=int)
    steps = [np.cumsum([[0, 0, 0], *units[list(order)]], axis=0) for order in permutations(range(3))]
    paths = np.concatenate([number[tuple(np.moveaxis(lowest[:, None] + path, -1, 0))] for path in steps])
    paths = paths[np.all(paths >= 0, axis=1)]
    a, b, c = np.moveaxis(corners[faces], 1, 0)
    flat = (
        own[:, 0, None] * a[:, None]
        + own[:, 1, None] * (b - a)[:, None]
        + own[:, 2, None] * (c - b)[:, None]
    )  # fmt: skip
    with np.errstate(invalid="ignore"):
        drawn = flat * (own[:, 0] / np.linalg.norm(flat, axis=2))[..., None]
    every = np.where(own[:, 0, None] > 0, drawn, 0.0).reshape(-1, 3)
    cells = (np.arange(len(faces))[:, None, None] * len(own) + paths).reshape(-1, 4)
    _, first, numbers = np.unique(np.round(every, 6), axis=0, return_index=True, return_inverse=True)
    layer = np.tile(own[paths, 0].max(axis=1), len(faces))
    return every[first], numbers.ravel()[cells], layer
