"""Triangles in domains of the plane with curved edges: points on the boundary, points inside, Delaunay's triangles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.sampling import Array

PROBES = 2**12
"""Points at which it is looked how far a part of the boundary goes. Chosen: what is left between them is a cut of a
thousandth of the part, which no element resolves."""
HALVINGS = 50
"""Bisections by which an end of a piece is found. Chosen: rounding errors are left."""
FREE = 0.75
"""How near points inside may be to ones of the boundary, by the length of edges. Chosen: circles about edges of the
boundary, with half their length, hold no point then, so that each edge is one of Delaunay's (Gabriel & Sokal 1969)."""
SAME = 1e-5
"""How far apart ends of pieces that meet may be, as a share of the domain's size. Chosen: in or out is told by points
1e-7 from the boundary, and ends at an angle of a degree are known to 1e-5."""
FLAT = 1e-6
"""Area of a triangle, by that of a square on an edge, which has three points of a straight edge. Chosen: others have a
tenth."""


STEP = 1e-6
"""How far from a curve it is looked what lies on its sides, as a share of the domain's size. Chosen: ten times as far
as domains look themselves, and far less than edges are long."""

Sides = Callable[[Array], Array]
"""A function of values of a parameter along a curve to numbers of what lies on its sides there; -1 for what is none."""


def boundary_points(domain: Domain, size: float, inner: Sequence[Domain] = ()) -> dict[str, list[Array]]:
    """Return for each part of the boundary its pieces, by points at equal distances along them, both ends included.

    Args:
        domain: of the plane.
        size: how far apart points are at most.
        inner: other domains: where one of these begins or ends, so does a piece.
    """
    step = STEP * float(np.max(np.ptp(domain.bounds, axis=1)))

    def sides(part: str, at: Array) -> Array:
        image = domain.edge(part, at[:, None])
        behind = np.asarray(image.at) - step * np.asarray(image.normals)
        return np.where(np.asarray(image.keeps), _numbered(inner, behind), -1)

    return {
        part: [_divided(domain, part, *ends, size) for ends in _runs(partial(sides, part))] for part in domain.parts
    }


def inner_points(domain: Domain, size: float, inner: Sequence[Domain]) -> list[Array]:
    """Return the pieces of the boundaries of other domains that lie inside of a domain, each once, as points."""
    step, found = STEP * float(np.max(np.ptp(domain.bounds, axis=1))), []
    for count, own in enumerate(inner):

        def sides(part: str, at: Array, own: Domain = own, count: int = count) -> Array:
            image = own.edge(part, at[:, None])
            away = step * np.asarray(image.normals)
            ends = np.asarray(image.at) - away, np.asarray(image.at) + away
            before, after = (_numbered(inner[:count], end) for end in ends)
            kept = np.asarray(image.keeps) & domain.inside(ends[0]) & domain.inside(ends[1]) & (before == after)
            both = np.stack([_numbered(inner, end) for end in ends]) * [[1], [2 ** len(inner)]]
            return np.where(kept, np.sum(both, axis=0), -1)

        for part in own.parts:
            found += [_divided(own, part, *ends, size) for ends in _runs(partial(sides, part))]
    return found


def _numbered(domains: Sequence[Domain], at: Array) -> Array:
    """Return numbers that tell in which of several domains points lie: Python's, with a bit for each of any count."""
    found = np.zeros(len(at), object)
    for i, one in enumerate(domains):
        found += 2**i * one.inside(at).astype(object)
    return found


def triangles(domain: Domain, size: float, inner: Sequence[Domain] = ()) -> tuple[Array, Array]:
    """Return the corners and the cells of triangles that fill a domain of the plane, up to a curved boundary's bulge.

    Args:
        domain: whose boundary is of curves.
        size: how long edges of the boundary are at most, and about how long those inside are.
        inner: other domains, along whose boundaries there are edges too.

    Raises:
        ProblemError: if edges are too long for the domain.
    """
    from scipy.spatial import Delaunay, cKDTree  # loads when it is called

    outer = [piece for own in boundary_points(domain, size, inner).values() for piece in own]
    pieces = [*outer, *inner_points(domain, size, inner)]
    near = SAME * float(np.max(np.ptp(domain.bounds, axis=1)))
    ends = np.array([[0.0], [1.0]])
    corners = np.concatenate([np.asarray(one.edge(part, ends).at) for one in (domain, *inner) for part in one.parts])
    merged, first = _merged(np.concatenate([corners, *pieces]), near)  # of points that are one, a corner is exact
    used, first = np.unique(first[len(corners) :], return_inverse=True)
    edge, numbers = merged[used], np.split(first, np.cumsum([len(piece) for piece in pieces])[:-1])
    lines = [np.sort(np.stack([own[:-1], own[1:]], axis=1), axis=1) for own in numbers]
    wanted = np.concatenate(lines[: len(outer)])
    inside = _lattice(domain.bounds, size)
    inside = inside[domain.inside(inside)]
    inside = inside[cKDTree(edge).query(inside)[0] > FREE * size] if len(inside) else inside
    points = np.concatenate([edge, inside])
    cells = Delaunay(points).simplices.astype(np.int64)
    shapes = points[cells]
    area = np.abs(np.linalg.det(shapes[:, 1:] - shapes[:, :1])) / 2
    cells = cells[(area > FLAT * size**2) & domain.inside(shapes.mean(axis=1))]
    sides = np.sort(np.concatenate([cells[:, [0, 1]], cells[:, [1, 2]], cells[:, [0, 2]]]), axis=1)
    different, times = np.unique(sides, axis=0, return_counts=True)
    there = np.unique(np.concatenate([different, *lines]), axis=0)
    if not np.array_equal(different[times == 1], np.unique(wanted, axis=0)) or len(there) > len(different):
        raise ProblemError(
            f"{domain!r} is not cut into triangles with edges of {size:.3g}",
            why="The boundary bends, or comes near to itself, within the length of an edge.",
            fix=f"take smaller ones: size={size / 2:.2g}.",
        )
    return points, cells


def _runs(sides: Sides) -> list[tuple[float, float]]:
    """Return from where to where, along a parameter, the same lies on the sides of a curve."""
    at = (np.arange(PROBES) + 0.5) / PROBES
    own = sides(at)
    changes = np.flatnonzero(own[1:] != own[:-1])
    low, high, after = at[changes], at[changes + 1], own[changes + 1]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        later = sides(middle) == after if len(middle) else after
        low, high = np.where(later, low, middle), np.where(later, middle, high)
    ends = [0.0, *((low + high) / 2).tolist(), 1.0]
    kept = own[[0, *(changes + 1)]] >= 0
    return [pair for pair, there in zip(pairwise(ends), kept, strict=True) if there]


def _divided(domain: Domain, part: str, begin: float, end: float, size: float) -> Array:
    """Return points at equal distances on a piece of the boundary."""
    fine = np.linspace(begin, end, PROBES + 1)
    along = np.linalg.norm(np.diff(np.asarray(domain.edge(part, fine[:, None]).at), axis=0), axis=1)
    length = np.concatenate([[0.0], np.cumsum(along)])
    least = 3 if np.allclose(*np.asarray(domain.edge(part, fine[[0, -1], None]).at)) else 1  # a closed curve
    count = max(least, math.ceil(length[-1] / size - 1e-9))
    at = np.interp(np.linspace(0, length[-1], count + 1), length, fine)
    return np.asarray(domain.edge(part, at[:, None]).at)


def _merged(points: Array, near: float) -> tuple[Array, Array]:
    """Return points without those that others are near to, and the number there of each."""
    from scipy.spatial import cKDTree  # loads when it is called

    pairs = cKDTree(points).query_pairs(near, output_type="ndarray")
    first = np.arange(len(points))
    np.minimum.at(first, pairs[:, 1], pairs[:, 0])
    kept, numbers = np.unique(first, return_inverse=True)
    return points[kept], numbers


def _lattice(bounds: Array, size: float) -> Array:
    """Return points of equilateral triangles that cover a rectangle."""
    (left, right), (low, high) = bounds
    rows = np.arange(low, high, size * math.sqrt(3) / 2)
    row = np.arange(left - size, right + size, size)
    shifts = np.where(np.arange(len(rows)) % 2, size / 2, 0.0)
    return np.stack([(row + shifts[:, None]).ravel(), np.repeat(rows, len(row))], axis=1)
