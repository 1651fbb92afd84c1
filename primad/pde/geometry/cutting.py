"""Domains cut into simplices: boxes along grids, polygons into ever smaller triangles, curved shapes by points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from itertools import pairwise, permutations

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.ball_meshes import balls_of, layered
from primad.pde.geometry.constructive import Combined, Named, made_of
from primad.pde.geometry.domains import Domain, Product
from primad.pde.geometry.intervals import Interval, Parameters, Time
from primad.pde.geometry.meshes import Mesh
from primad.pde.geometry.plane_meshes import triangles
from primad.pde.geometry.sampling import Array, only_used
from primad.pde.geometry.shapes import Ball, Polygon

ACROSS = {1: 100, 2: 32, 3: 8}
"""Cells across the longest side of a domain, unless a size is given, by the dimension. Chosen: a second or less to
solve Poisson's equation, and a picture shows no corners."""
NEAR = 1e-9
"""How far from a straight part of the boundary the middle of a facet of it is, as a share of the domain's size. Chosen:
rounding leaves 1e-15, facets of other parts are further away than 1e-6."""


@singledispatch
def cut(domain: Domain, size: float | None) -> tuple[Array, Array]:
    """Return the corners and the cells of simplices that fill a domain.

    Raises:
        ProblemError: for a domain that is not made of them.
    """
    raise ProblemError(
        f"{domain!r} is not cut into simplices",
        why="Intervals, boxes of up to three coordinates and what is made of them, balls about one centre, meshes, and "
        "shapes in the plane are.",
        fix="fill it with tetrahedra (Gmsh: Merge the surface, Surface Loop, Volume, 3D mesh), and pass the mesh: "
        "pde.Mesh.read(path)."
        if domain.dimension == 3
        else "describe it by a mesh: pde.Mesh(points, cells).",
    )


@cut.register
def _(domain: Interval, size: float | None) -> tuple[Array, Array]:
    return _grid(domain.bounds, size)


@cut.register
def _(domain: Product, size: float | None) -> tuple[Array, Array]:
    if domain.dimension > 3 or not all(_is_of_space(factor) for factor in domain.factors):
        return cut.dispatch(Domain)(domain, size)
    return _grid(domain.bounds, size)


def _is_of_space(domain: Domain) -> bool:
    return isinstance(domain, Interval) and not isinstance(domain, (Time, Parameters))


@cut.register
def _(domain: Polygon, size: float | None) -> tuple[Array, Array]:
    return _refined(*_numbered(domain.triangles), size or _length(domain))


@cut.register(Ball)
@cut.register(Combined)
def _(domain: Ball | Combined, size: float | None) -> tuple[Array, Array]:
    if domain.dimension != 2:
        return cut_along(domain, size, [])
    return triangles(domain, size or _length(domain))


def cut_along(domain: Domain, size: float | None, inner: Sequence[Domain]) -> tuple[Array, Array]:
    """Return the corners and the cells of simplices that fill a domain, none of them in two of what is cut apart.

    Raises:
        ProblemError: for domains that are not cut so.
    """
    whole = domain.domain if isinstance(domain, Named) else domain
    if isinstance(whole, Mesh):
        return cut(whole, size)
    boxes = [_boxes(one) for one in (domain, *inner)]
    known = [one for one in boxes if one is not None]
    if len(known) == len(boxes):
        return _stacked(domain, np.concatenate(known), size)
    balls = [balls_of(one) for one in (domain, *inner)]
    about = [ball for one in balls if one is not None for ball in one]
    if None not in balls and all(np.array_equal(one.center, about[0].center) for one in about):
        return layered(domain, about, size or _length(domain))
    if domain.dimension == 2:
        return triangles(whole, size or _length(domain), inner)
    if not inner:
        return cut.dispatch(Domain)(domain, size)
    raise ProblemError(
        f"{domain!r} is not cut into tetrahedra along the boundaries of {' and '.join(map(repr, inner))}",
        why="Boxes are, balls about one centre, and shapes in the plane.",
        fix="make a mesh that has faces there (Gmsh: Fragment, then the 3D mesh), and pass it: pde.Mesh.read(path).",
    )


def _boxes(domain: Domain) -> Array | None:
    """Return the bounds of the boxes that a domain is made of; None if it is made of others too."""
    every = made_of(domain)
    factors = [factor for one in every for factor in (one.factors if isinstance(one, Product) else [one])]
    return np.stack([one.bounds for one in every]) if all(map(_is_of_space, factors)) else None


def _stacked(domain: Domain, boxes: Array, size: float | None) -> tuple[Array, Array]:
    """Cut a domain that is made of boxes along the faces of all of them, and the pieces into simplices."""
    if domain.dimension > 3:
        return cut.dispatch(Domain)(domain, size)
    wanted, lines = size or _length(domain), []
    for axis, (low, high) in enumerate(domain.bounds):
        ends = np.unique(boxes[:, axis])
        ends = ends[(ends >= low) & (ends <= high)]
        ends = ends[np.append(True, np.diff(ends) > NEAR * (high - low))]
        pieces = [np.linspace(a, b, _count(b - a, wanted), endpoint=False) for a, b in pairwise(ends)]
        lines.append(np.concatenate([*pieces, ends[-1:]]))
    points, cells = _of_lines(lines)
    return only_used(points, cells[domain.inside(points[cells].mean(axis=1))])


def _count(extent: float, wanted: float) -> int:
    return max(1, math.ceil(extent / wanted - NEAR))


@cut.register
def _(domain: Mesh, size: float | None) -> tuple[Array, Array]:
    points, cells = _numbered(domain.cells)
    if size is None:
        return points, cells
    if domain.dimension == 3:
        raise ProblemError(
            "a mesh of tetrahedra is taken as it is, and got a size", fix="leave size out, or read a finer mesh."
        )
    return _refined(points, cells, size)


@cut.register
def _(domain: Named, size: float | None) -> tuple[Array, Array]:
    found: tuple[Array, Array] = cut(domain.domain, size)
    return found


def _length(domain: Domain) -> float:
    """Return how long edges are by default."""
    return float(np.max(np.ptp(domain.bounds, axis=1))) / ACROSS[domain.dimension]


def _grid(bounds: Array, size: float | None) -> tuple[Array, Array]:
    """Cut a box into equal boxes, and each of these into simplices: one for each order of the axes (Kuhn 1960)."""
    extents = np.ptp(bounds, axis=1)
    wanted = size or float(np.max(extents)) / ACROSS[len(bounds)]
    counts = [_count(extent, wanted) for extent in extents]
    return _of_lines([np.linspace(low, high, count + 1) for (low, high), count in zip(bounds, counts, strict=True)])


def _of_lines(lines: Sequence[Array]) -> tuple[Array, Array]:
    """Cut the boxes between lines of a grid into simplices."""
    counts = [len(line) - 1 for line in lines]
    points = np.stack([line.ravel() for line in np.meshgrid(*lines, indexing="ij")], axis=1)
    numbers = np.arange(len(points)).reshape([count + 1 for count in counts])
    lowest = numbers[(slice(-1),) * len(counts)].ravel()
    strides = [stride // numbers.itemsize for stride in numbers.strides]
    paths = [np.cumsum([0, *[strides[axis] for axis in order]]) for order in permutations(range(len(counts)))]
    return points, np.concatenate([lowest[:, None] + path for path in paths])


def _numbered(corners: Array) -> tuple[Array, Array]:
    """Return the different corners of simplices, and their numbers."""
    count, size, dimension = corners.shape
    points, numbers = np.unique(corners.reshape(-1, dimension), axis=0, return_inverse=True)
    return points, numbers.reshape(count, size)


def ends(simplices: Array) -> Array:
    """Return the corners of the edges of simplices (0 1, 0 2, …, 1 2, …), the lower number first, along a last axis."""
    first, second = np.triu_indices(simplices.shape[1], 1)
    found: Array = np.sort(np.stack([simplices[:, first], simplices[:, second]], axis=2), axis=2)
    return found


def edges(cells: Array) -> tuple[Array, Array]:
    """Return the different edges of cells, and the numbers of each cell's edges, in the order of `ends`."""
    of_cells = ends(cells)
    different, numbers = np.unique(of_cells.reshape(-1, 2), axis=0, return_inverse=True)
    return different, numbers.reshape(of_cells.shape[:2])


def _refined(points: Array, cells: Array, size: float) -> tuple[Array, Array]:
    """Cut all triangles into four, and intervals into two, until no edge is longer than asked for."""
    while True:
        ends, numbers = edges(cells)
        if np.max(np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)) <= size * (1 + NEAR):
            return points, cells
        middles = len(points) + numbers.T
        points = np.concatenate([points, points[ends].mean(axis=1)])
        if cells.shape[1] == 2:
            (a, b), (ab,) = cells.T, middles
            pieces = np.stack([(a, ab), (ab, b)])
        else:
            (a, b, c), (ab, ac, bc) = cells.T, middles
            pieces = np.stack([(a, ab, ac), (ab, b, bc), (ac, bc, c), (ab, bc, ac)])
        cells = np.concatenate([*np.swapaxes(pieces, 1, 2)])
