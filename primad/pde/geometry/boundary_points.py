"""Points of one's own on boundaries: which part they lie on, and the outward normals there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.constructive import Combined, Named
from primad.pde.geometry.containment import place_of
from primad.pde.geometry.domains import Domain, Product
from primad.pde.geometry.intervals import Interval
from primad.pde.geometry.meshes import Mesh
from primad.pde.geometry.sampling import Array, Points
from primad.pde.geometry.shapes import Ball, Polygon
from primad.pde.geometry.solids import Solid

ON = 1e-6
"""How far from a boundary points on it may be, relative to the domain's size. Chosen: single precision has them so."""
AT_ONCE = 2**20
"""Distances of points from pieces of a boundary that are computed together. Chosen: a few megabytes each."""


def on_parts(domain: Domain, parts: Sequence[str], at: Array) -> Points:
    """Return those of some points that lie on parts of a domain's boundary, with the outward normals.

    A corner has the normal of the first part that it lies on.

    Args:
        domain: any.
        parts: of its boundary.
        at: the points, one a row.

    Raises:
        ProblemError: if the domain is of a kind that has no normals at given points.
    """
    some, outward = np.zeros(len(at), bool), np.zeros_like(at)
    for part in parts:
        found, normals = _normals(domain, part, at)
        outward = np.where((found & ~some)[:, None], normals, outward)
        some |= found
    return Points(domain.names, at[some], outward[some])


def check_on_boundary(domains: Sequence[Domain], at: Array) -> None:
    """Raise unless all points lie on the boundary of a domain.

    Args:
        domains: that of a problem, and those inside of it that have conditions on their boundaries.
        at: the points, one a row.

    Raises:
        ProblemError: if one does not.
    """
    some = np.zeros(len(at), bool)
    for domain in domains:
        for part in domain.parts:
            some |= _normals(domain, part, at)[0]
    if not np.all(some):
        raise ProblemError(
            f"{np.sum(~some)} of {len(at)} points given for conditions are not on the boundary, one at "
            f"{place_of(domains[0], at[np.argmin(some)])}",
            why=f"Conditions hold on that of {domains[0]!r}.",
            fix="give points on it, as of domain.boundary(count=100).at; values that are known inside are pde.Data.",
        )


@singledispatch
def _normals(domain: Domain, part: str, at: Array) -> tuple[Array, Array]:
    """Return which points lie on a part of a boundary, and the normals there."""
    raise ProblemError(
        f"the normals of {domain!r} at given points are not known",
        fix="say how many points conditions have: boundary_points=100.",
    )


def _near(distance: Array, domain: Domain) -> Array:
    found: Array = np.abs(distance) <= ON * float(np.max(np.ptp(domain.bounds, axis=1)))
    return found


@_normals.register
def _of_interval(domain: Interval, part: str, at: Array) -> tuple[Array, Array]:
    end = domain.edge(part, np.zeros((1, 0)))
    return _near(at[:, 0] - end.at[0, 0], domain), np.broadcast_to(np.asarray(end.normals), at.shape)


@_normals.register
def _of_product(domain: Product, part: str, at: Array) -> tuple[Array, Array]:
    found, normals, start = np.ones(len(at), bool), np.zeros_like(at), 0
    for place, factor in enumerate(domain.factors):
        own = slice(start, start + factor.dimension)
        if place == domain.owner(part):
            on, normals[:, own] = _normals(factor, part, at[:, own])
        else:
            on = factor.inside(at[:, own])
            for end in factor.parts:
                on = on | _normals(factor, end, at[:, own])[0]
        found &= on
        start = own.stop
    return found, normals


@_normals.register
def _of_ball(domain: Ball, part: str, at: Array) -> tuple[Array, Array]:
    moved = at - domain.center
    length = np.linalg.norm(moved, axis=1)
    return _near(length - domain.radius, domain), moved / np.where(length == 0, 1.0, length)[:, None]


@_normals.register
def _of_polygon(domain: Polygon, part: str, at: Array) -> tuple[Array, Array]:
    ends = np.stack(domain.ends(part))[None]
    return _on_facets(domain, ends, np.asarray(domain.edge(part, np.zeros((1, 1))).normals), at)


@_normals.register
def _of_mesh(domain: Mesh, part: str, at: Array) -> tuple[Array, Array]:
    return _on_facets(domain, *domain.facets[part], at)


@_normals.register
def _of_solid(domain: Solid, part: str, at: Array) -> tuple[Array, Array]:
    return _on_facets(domain, domain.ends, domain.normals, at)


@_normals.register
def _of_combined(domain: Combined, part: str, at: Array) -> tuple[Array, Array]:
    owner, own = domain.owner(part)
    found, normals = _normals(owner, own, at)
    image = domain.separating(owner, at, normals)
    return found & image.keeps, np.asarray(image.normals)


@_normals.register
def _of_named(domain: Named, part: str, at: Array) -> tuple[Array, Array]:
    found, normals = np.zeros(len(at), bool), np.zeros_like(at)
    for one in domain.whole_parts(part):
        on, outward = _normals(domain.domain, one, at)
        on = on & ~found
        normals[on] = outward[on]
        found |= on
    return found & domain.lies_in(part, at), normals


def _on_facets(domain: Domain, ends: Array, normals: Array, at: Array) -> tuple[Array, Array]:
    """Return which points lie on pieces of lines or planes, of which the corners are given, and the normals there."""
    nearest, place = np.full(len(at), np.inf), np.zeros(len(at), int)
    step = max(1, AT_ONCE // max(1, len(at)))
    for first in range(0, len(ends), step):
        distances = _distances(ends[first : first + step], at)
        here = np.argmin(distances, axis=1)
        least = distances[np.arange(len(at)), here]
        place = np.where(least < nearest, first + here, place)
        nearest = np.minimum(least, nearest)
    return _near(nearest, domain), normals[place]


def _distances(ends: Array, at: Array) -> Array:
    """Return how far points are from the plane of each piece, or beyond its edges: (points, pieces)."""
    along = ends[:, 1:] - ends[:, :1]  # (pieces, axes of a piece, coordinates)
    inverse = np.linalg.pinv(along)
    moved = at[:, None] - ends[:, 0]
    shares = np.einsum("pfc,fca->pfa", moved, inverse)
    off = np.linalg.norm(moved - np.einsum("pfa,fac->pfc", shares, along), axis=2)
    beyond = np.maximum(np.max(-shares, axis=2), np.sum(shares, axis=2) - 1)
    size = np.max(np.linalg.norm(along, axis=2), axis=1)
    found: Array = np.maximum(off, beyond * size)
    return found
