"""Polynomials on all elements: from values at nodes to values and slopes at points, and integrals back to nodes.

Each is a gather, products with few numbers in each element, and a scatter: so the engine finds the matrices of all
elements at once, and adds them up, as an assembly that is written by hand does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.pde.elements.lagrange import Nodes, directions, measures, quadrature, shapes, slopes
from primad.pde.geometry.sampling import Array
from primad.pde.geometry.triangulations import Triangulation


class ElementSpace:
    """Polynomials of a degree on all elements, at the points of a quadrature.

    Args:
        mesh: the elements.
        degree: of the polynomials.
        exact: the quadrature is exact for polynomials of twice this degree.

    Attributes:
        nodes: whose values say what a polynomial is.
        inside: the polynomials at points inside.
    """

    def __init__(self, mesh: Triangulation, degree: int, exact: int) -> None:
        self.mesh, self.exact, self.nodes = mesh, exact, Nodes.of(mesh.points, mesh.cells, degree)
        place, _ = quadrature(mesh.points.shape[1], exact)
        self.inside = PolynomialsAt(self.nodes, mesh.points, mesh.cells, place)

    def at_facets(self, part: str) -> PolynomialsAt:
        """Return the polynomials at points of a part of the boundary, with their slopes in the cell inside."""
        facets = self.mesh.facets[part]
        place, _ = quadrature(facets.shape[1] - 1, self.exact)
        simplices = np.concatenate([facets, self.mesh.opposite[part][:, None]], axis=1)
        inside = np.concatenate([place, np.zeros((len(place), 1))], axis=1)
        return PolynomialsAt(self.nodes, self.mesh.points, simplices, inside)


class PolynomialsAt:
    """Polynomials at the same points of all simplices, by their values at nodes.

    Args:
        nodes: of the elements.
        points: the corners of simplices, by number.
        simplices: by the numbers of their corners.
        place: the barycentric coordinates of the points, one a row.
    """

    def __init__(self, nodes: Nodes, points: Array, simplices: Array, place: Array) -> None:
        self._numbers, self._count = nodes.numbers(simplices), len(nodes.at)
        self._shapes = shapes(nodes.degree, place)
        steps = slopes(nodes.degree, place)
        steps = steps[:1] if nodes.degree == 1 else steps  # of degree 1 they are the same at all points
        # Barycentric coordinates add up to 1, so one of them says nothing that the others do not.
        self._steps: Array = steps[:, :, 1:] - steps[:, :, :1]
        self._directions = directions(points[simplices])[:, 1:]

    @property
    def count(self) -> int:
        """How many points there are."""
        return len(self._numbers) * len(self._shapes)

    def values(self, given: Any) -> Any:
        """Return the values at all points, in a row, of those at nodes."""
        return pnp.reshape(given[self._numbers] @ self._shapes.T, (self.count,))

    def slopes(self, given: Any) -> tuple[Any, ...]:
        """Return the derivatives along each coordinate at all points, of the values at nodes."""
        own, whole = given[self._numbers], (len(self._numbers), len(self._shapes))
        _, corners, dimension = self._directions.shape
        along = [own @ self._steps[:, :, corner].T for corner in range(corners)]
        return tuple([
            pnp.reshape(pnp.broadcast_to(self._summed(along, axis), whole), (self.count,)) for axis in range(dimension)
        ])  # fmt: skip

    def _summed(self, along: Sequence[Any], axis: int) -> Any:
        return sum(self._directions[:, corner, axis, None] * one for corner, one in enumerate(along))

    def integrals(self, rest: Any, flux: Sequence[Any] = ()) -> Any:
        """Return for the shape function v of each node the sums over all points of rest · v + flux · ∇v.

        Args:
            rest: at all points, in a row, with the weights of the points.
            flux: the same for each coordinate; none are zeros.
        """
        table = (len(self._numbers), len(self._shapes))
        own = pnp.reshape(rest, table) @ self._shapes
        if flux:
            through = [pnp.reshape(one, table) for one in flux]
            if len(self._steps) == 1:
                through = [np.sum(one, axis=1, keepdims=True) for one in through]
            for corner in range(self._directions.shape[1]):
                along = sum(self._directions[:, corner, axis, None] * one for axis, one in enumerate(through))
                own = own + along @ self._steps[:, :, corner]
        return pnp.add_at(np.zeros(self._count), self._numbers.ravel(), pnp.reshape(own, (-1,)))


def points_inside(mesh: Triangulation, exact: int) -> tuple[Array, Array]:
    """Return the points of the quadrature in all elements, and their weights."""
    corners = mesh.points[mesh.cells]
    place, weights = quadrature(corners.shape[2], exact)
    at = np.einsum("ql,clx->cqx", place, corners).reshape(-1, corners.shape[2])
    return at, (measures(corners)[:, None] * weights).ravel()


def points_of_part(mesh: Triangulation, part: str, exact: int) -> tuple[Array, Array, Array]:
    """Return the points of the quadrature on a part of the boundary, the outward normals there, and the weights."""
    corners = mesh.points[mesh.facets[part]]
    place, weights = quadrature(corners.shape[1] - 1, exact)
    at = np.einsum("ql,flx->fqx", place, corners).reshape(-1, corners.shape[2])
    return at, np.repeat(mesh.normals[part], len(weights), axis=0), (measures(corners)[:, None] * weights).ravel()


def at_points(spaces: Sequence[PolynomialsAt], values: Sequence[Any], rates: Sequence[Any] | None) -> Any:
    """Return values, slopes and rates of all unknowns at points; no rates are zeros."""
    pairs = list(zip(spaces, values, strict=True))
    moving = [np.zeros(space.count) for space in spaces]
    if rates is not None:
        moving = [space.values(one) for space, one in zip(spaces, rates, strict=True)]
    return (
        tuple([space.values(one) for space, one in pairs]),
        tuple([space.slopes(one) for space, one in pairs]),
        tuple(moving),
    )
