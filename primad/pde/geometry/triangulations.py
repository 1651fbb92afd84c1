"""Domains cut into simplices (intervals, triangles, tetrahedra), and the parts that their outer facets lie on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from itertools import permutations

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.constructive import Combined, Named
from primad.pde.geometry.domains import Domain, Product
from primad.pde.geometry.intervals import Interval, Parameters, Time, time_of
from primad.pde.geometry.meshes import Mesh
from primad.pde.geometry.plane_meshes import boundary_points, triangles
from primad.pde.geometry.sampling import Array
from primad.pde.geometry.shapes import Ball, Polygon

ACROSS = {1: 100, 2: 32, 3: 8}
"""Cells across the longest side of a domain, unless a size is given, by the dimension. Chosen: a second or less to
solve Poisson's equation, and a picture shows no corners."""
NEAR = 1e-9
"""How far from a straight part of the boundary the middle of a facet of it is, as a share of the domain's size. Chosen:
rounding leaves 1e-15, facets of other parts are further away than 1e-6."""

FINE = 2000
"""Points across the longest side of a domain, by which parts of a curved boundary are told apart. Chosen: facets are
longer."""


@dataclass(frozen=True)
class Triangulation:
    """Simplices that fill a domain.

    Attributes:
        points: corners, one a row.
        cells: for each simplex the numbers of its corners.
        facets: for each part of the boundary its edges, faces or points, by the numbers of their corners.
        normals: for each part the outward unit normals of its facets.
        opposite: for each part the corner of its facets' cells that is none of theirs.
    """

    points: Array
    cells: Array
    facets: dict[str, Array]
    normals: dict[str, Array]
    opposite: dict[str, Array]


def triangulated(domain: Domain, size: float | None = None) -> Triangulation:
    """Cut a domain into simplices.

    Args:
        domain: of one to three coordinates: intervals, their products, polygons, meshes, and those with named pieces;
            of two also disks, and unions, differences and intersections.
        size: the longest edge, along the axes where the domain is a box; by default a part of the longest side, and a
            mesh as it is.

    Raises:
        ProblemError: for another domain.
    """
    if size is not None and not (isinstance(size, (int, float, np.number)) and 0 < size < np.inf):
        raise ProblemError(f"the size of cells is a positive number, got {size!r}", fix="write size=0.05.")
    points, cells = cut(domain, size)
    facets, opposite = outer_facets(cells)
    normals = _normals(points[facets], points[opposite])
    part = parts_at(domain, points[facets].mean(axis=1), normals)
    where = {name: np.flatnonzero(part == name) for name in domain.parts}
    return Triangulation(
        points,
        cells,
        {name: facets[rows] for name, rows in where.items()},
        {name: normals[rows] for name, rows in where.items()},
        {name: opposite[rows] for name, rows in where.items()},
    )


def outer_facets(cells: Array) -> tuple[Array, Array]:
    """Return the facets that belong to one cell alone, and the corner of it that lies opposite of each."""
    count = cells.shape[1]
    facets = np.concatenate([np.delete(cells, i, axis=1) for i in range(count)])
    opposite = np.concatenate([cells[:, i] for i in range(count)])
    _, first, times = np.unique(np.sort(facets, axis=1), axis=0, return_index=True, return_counts=True)
    outer = first[times == 1]
    return facets[outer], opposite[outer]


def _normals(facets: Array, opposite: Array) -> Array:
    """Return the outward unit normals of facets: what of the way from an opposite corner is not along the facet."""
    away = facets[:, 0] - opposite
    along = facets[:, 1:] - facets[:, :1]
    for i in range(along.shape[1]):  # Gram and Schmidt
        direction = along[:, i] / np.linalg.norm(along[:, i], axis=1, keepdims=True)
        rest = along[:, i + 1 :]
        along[:, i + 1 :] = rest - np.sum(rest * direction[:, None], axis=2, keepdims=True) * direction[:, None]
        away = away - np.sum(away * direction, axis=1, keepdims=True) * direction
    found: Array = away / np.linalg.norm(away, axis=1, keepdims=True)
    return found


def without_time(domain: Domain) -> Domain:
    """Return the domain of space of which, with an interval of time, a domain is the product."""
    if time_of(domain) is None:
        return domain
    if isinstance(domain, Named):
        return domain.over(without_time(domain.domain))
    if not isinstance(domain, Product):
        return cut(domain, None)  # type: ignore[return-value]  # raises
    factors = [factor for factor in domain.factors if not isinstance(factor, Time)]
    return factors[0] if len(factors) == 1 else Product(factors)


@singledispatch
def cut(domain: Domain, size: float | None) -> tuple[Array, Array]:
    """Return the corners and the cells of simplices that fill a domain.

    Raises:
        ProblemError: for a domain that is not made of them.
    """
    raise ProblemError(
        f"{domain!r} is not cut into simplices",
        why="Intervals, boxes of up to three coordinates, meshes, and shapes in the plane are.",
        fix="describe it by a polygon with many corners, pde.Polygon(…), or by a mesh, pde.Mesh(points, cells).",
    )


@singledispatch
def parts_at(domain: Domain, at: Array, normals: Array) -> Array:
    """Return the part of the boundary that each point of it lies on, given the outward normals."""
    raise NotImplementedError


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
        return cut.dispatch(Domain)(domain, size)
    return triangles(domain, size or _length(domain))


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
    counts = [max(1, math.ceil(extent / wanted - NEAR)) for extent in extents]
    lines = [np.linspace(low, high, count + 1) for (low, high), count in zip(bounds, counts, strict=True)]
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


@parts_at.register(Interval)
@parts_at.register(Product)
def _(domain: Interval | Product, at: Array, normals: Array) -> Array:
    axis = np.argmax(np.abs(normals), axis=1)
    above = normals[np.arange(len(at)), axis] > 0
    found: Array = np.array(domain.parts, dtype=object)[2 * axis + above]
    return found


@parts_at.register
def _(domain: Polygon, at: Array, normals: Array) -> Array:
    return _nearest({part: np.stack(domain.ends(part))[None] for part in domain.parts}, domain, at)


@parts_at.register
def _(domain: Mesh, at: Array, normals: Array) -> Array:
    return _nearest({part: ends for part, (ends, _) in domain.facets.items()}, domain, at)


@parts_at.register(Ball)
@parts_at.register(Combined)
def _(domain: Ball | Combined, at: Array, normals: Array) -> Array:
    """Return the part of the nearest of many points on the boundary, since middles of facets are not on it."""
    from scipy.spatial import cKDTree  # loads when it is called

    closest = float(np.max(np.ptp(domain.bounds, axis=1))) / FINE
    pieces = [(part, piece) for part, own in boundary_points(domain, closest).items() for piece in own]
    owner = np.repeat(np.array([part for part, _ in pieces], dtype=object), [len(piece) for _, piece in pieces])
    found: Array = owner[cKDTree(np.concatenate([piece for _, piece in pieces])).query(at)[1]]
    return found


@parts_at.register
def _(domain: Named, at: Array, normals: Array) -> Array:
    own = domain.piece(at)
    found: Array = np.where(own == "", parts_at(domain.domain, at, normals), own)
    return found


def _nearest(pieces: dict[str, Array], domain: Domain, at: Array) -> Array:
    """Return the part that has an edge, or a face, on which a point lies."""
    found = np.full(len(at), "", dtype=object)
    near = NEAR * float(np.max(np.ptp(domain.bounds, axis=1)))
    for part, ends in pieces.items():
        for corners in ends:
            along = corners[1:] - corners[0]
            shares = (at - corners[0]) @ np.linalg.pinv(along)
            off = np.linalg.norm(at - corners[0] - shares @ along, axis=1)
            inside = np.all(shares > -NEAR, axis=1) & (np.sum(shares, axis=1) < 1 + NEAR)
            found[(off <= near) & inside] = part
    return found
