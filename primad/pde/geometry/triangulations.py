"""Domains cut into simplices (intervals, triangles, tetrahedra), and the parts that their outer facets lie on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.ball_meshes import balls_of
from primad.pde.geometry.constructive import Combined, Named
from primad.pde.geometry.cutting import NEAR, cut, cut_along
from primad.pde.geometry.domains import Domain, Product
from primad.pde.geometry.intervals import Interval, Time, time_of
from primad.pde.geometry.meshes import Mesh
from primad.pde.geometry.plane_meshes import boundary_points
from primad.pde.geometry.sampling import Array
from primad.pde.geometry.shapes import Ball, Polygon

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
        owners: for each part the numbers of these cells.
    """

    points: Array
    cells: Array
    facets: dict[str, Array]
    normals: dict[str, Array]
    opposite: dict[str, Array]
    owners: dict[str, Array]


class InnerFacets(NamedTuple):
    """Facets between cells of two parts of a domain.

    Attributes:
        corners: of each facet, by number.
        opposite: the other corners of the cells on the first side, and on the second.
        normals: out of the first side.
        owners: the numbers of the cells on both sides.
    """

    corners: Array
    opposite: tuple[Array, Array]
    normals: Array
    owners: tuple[Array, Array]

    def only(self, rows: Array) -> InnerFacets:
        """Return some of the facets."""
        both = [tuple([one[rows] for one in pair]) for pair in (self.opposite, self.owners)]
        return InnerFacets(self.corners[rows], both[0], self.normals[rows], both[1])  # type: ignore[arg-type]


def inner_facets(mesh: Triangulation, inside: Array) -> InnerFacets:
    """Return the facets between some cells, the first side, and others.

    Args:
        mesh: the cells.
        inside: which cells are on the first side.
    """
    facets, opposite, owners = _all_facets(mesh.cells)
    order = np.lexsort(np.sort(facets, axis=1).T)
    same = np.flatnonzero(np.all(np.diff(np.sort(facets[order], axis=1), axis=0) == 0, axis=1))
    pairs = np.stack([order[same], order[same + 1]])
    sides = inside[owners[pairs]]
    pairs = pairs[:, sides[0] != sides[1]]
    pairs = np.where(inside[owners[pairs[0]]], pairs, pairs[::-1])
    corners = facets[pairs[0]]
    normals = normals_of(mesh.points[corners], mesh.points[opposite[pairs[0]]])
    return InnerFacets(corners, (opposite[pairs[0]], opposite[pairs[1]]), normals, (owners[pairs[0]], owners[pairs[1]]))


def triangulated(domain: Domain, size: float | None = None, inner: Sequence[Domain] = ()) -> Triangulation:
    """Cut a domain into simplices.

    Args:
        domain: of one to three coordinates: intervals, their products, polygons, meshes, and those with named pieces;
            of two also disks, and unions, differences and intersections.
        size: the longest edge, along the axes where the domain is a box; by default a part of the longest side, and a
            mesh as it is.
        inner: other domains, along whose boundaries there are facets too; a mesh of the user's has them.

    Raises:
        ProblemError: for another domain.
    """
    if size is not None and not (isinstance(size, (int, float, np.number)) and 0 < size < np.inf):
        raise ProblemError(f"the size of cells is a positive number, got {size!r}", fix="write size=0.05.")
    points, cells = cut_along(domain, size, inner) if inner else cut(domain, size)
    facets, opposite, owners = outer_facets(cells)
    normals = normals_of(points[facets], points[opposite])
    part = parts_at(domain, points[facets].mean(axis=1), normals)
    where = {name: np.flatnonzero(part == name) for name in domain.parts}
    return Triangulation(
        points,
        cells,
        {name: facets[rows] for name, rows in where.items()},
        {name: normals[rows] for name, rows in where.items()},
        {name: opposite[rows] for name, rows in where.items()},
        {name: owners[rows] for name, rows in where.items()},
    )


def outer_facets(cells: Array) -> tuple[Array, Array, Array]:
    """Return the facets that belong to one cell alone, the corner of it that lies opposite of each, and its number."""
    facets, opposite, owners = _all_facets(cells)
    _, first, times = np.unique(np.sort(facets, axis=1), axis=0, return_index=True, return_counts=True)
    outer = first[times == 1]
    return facets[outer], opposite[outer], owners[outer]


def _all_facets(cells: Array) -> tuple[Array, Array, Array]:
    """Return the facets of all cells, the corner of the cell opposite of each, and the cell's number."""
    count = cells.shape[1]
    facets = np.concatenate([np.delete(cells, i, axis=1) for i in range(count)])
    return facets, cells.T.ravel(), np.tile(np.arange(len(cells)), count)


def normals_of(facets: Array, opposite: Array) -> Array:
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
def parts_at(domain: Domain, at: Array, normals: Array) -> Array:
    """Return the part of the boundary that each point of it lies on, given the outward normals."""
    raise NotImplementedError


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
    if isinstance(domain, Ball) and domain.dimension != 2:
        return np.full(len(at), domain.parts[0], dtype=object)
    if isinstance(domain, Combined) and domain.dimension != 2:
        return _faces_at(domain, at, normals)
    from scipy.spatial import cKDTree  # loads when it is called

    closest = float(np.max(np.ptp(domain.bounds, axis=1))) / FINE
    pieces = [(part, piece) for part, own in boundary_points(domain, closest).items() for piece in own]
    owner = np.repeat(np.array([part for part, _ in pieces], dtype=object), [len(piece) for _, piece in pieces])
    found: Array = owner[cKDTree(np.concatenate([piece for _, piece in pieces])).query(at)[1]]
    return found


def _faces_at(domain: Combined, at: Array, normals: Array) -> Array:
    """Return the part of what is made of boxes, or of balls about one centre, that has the face with a point on it."""
    if balls_of(domain) is not None:
        owners = [domain.owner(part)[0] for part in domain.parts]
        which = np.argmin([_off(one, at) for one in owners], axis=0)
        return np.asarray(np.array(domain.parts, dtype=object)[which])
    found, near = np.full(len(at), "", dtype=object), NEAR * float(np.max(np.ptp(domain.bounds, axis=1)))
    for part in domain.parts:
        owner, own = domain.owner(part)
        while isinstance(owner, Combined):
            owner, own = owner.owner(own)
        axis, end = owner.names.index(own[:-1]), "-+".index(own[-1])
        off = np.abs(at[:, axis] - owner.bounds[axis, end]) <= near
        low, high = owner.bounds.T
        found[off & (np.abs(normals[:, axis]) > 0.5) & np.all((at >= low - near) & (at <= high + near), axis=1)] = part
    return found


def _off(domain: Domain, at: Array) -> Array:
    """Return how far points are from the nearest sphere of a domain."""
    far = [np.abs(np.linalg.norm(at - one.center, axis=1) - one.radius) for one in balls_of(domain) or ()]
    return np.asarray(np.min(far, axis=0))


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
