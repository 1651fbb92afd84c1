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
from primad.recording.traced_array import is_traced


class ElementSpace:
    """Polynomials of a degree on all elements, at the points of a quadrature.

    Args:
        mesh: the elements.
        degree: of the polynomials.
        exact: the quadrature is exact for polynomials of twice this degree.
        cells: those on which the polynomials are, by number; None for all.

    Attributes:
        nodes: whose values say what a polynomial is.
        inside: the polynomials at points inside.
    """

    def __init__(self, mesh: Triangulation, degree: int, exact: int, cells: Array | None = None) -> None:
        self.mesh, self.exact = mesh, exact
        self.cells: Array = mesh.cells if cells is None else mesh.cells[cells]
        self.nodes = Nodes.of(mesh.points, self.cells, degree)
        self.inside = self.at_cells(self.cells)

    def at_cells(self, cells: Array) -> PolynomialsAt:
        """Return the polynomials at points inside of cells."""
        place, _ = quadrature(cells.shape[1] - 1, self.exact)
        return PolynomialsAt(self.nodes, self.mesh.points, cells, place)

    def at_facets(self, facets: Array, opposite: Array) -> PolynomialsAt:
        """Return the polynomials at points of facets, with their slopes in the cells inside.

        Args:
            facets: by the numbers of their corners.
            opposite: the other corners of these cells.
        """
        place, _ = quadrature(facets.shape[1] - 1, self.exact)
        simplices = np.concatenate([facets, opposite[:, None]], axis=1)
        inside = np.concatenate([place, np.zeros((len(place), 1))], axis=1)
        return PolynomialsAt(self.nodes, self.mesh.points, simplices, inside)

    @property
    def unused(self) -> Array:
        """Corners of the mesh that are none of the cells, as nodes."""
        used = np.zeros(len(self.nodes.at), bool)
        used[self.nodes.numbers(self.cells)] = True
        return np.flatnonzero(~used)


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
        self._steps: Array = steps[:1] if nodes.degree == 1 else steps  # of degree 1 they are the same at all points
        self._directions = directions(points[simplices])

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
            flux: the same for each coordinate; none are zeros, and so is the number 0.
        """
        table = (len(self._numbers), len(self._shapes))
        found = [] if _is_nothing(rest) else [pnp.reshape(rest, table) @ self._shapes]
        through = {axis: pnp.reshape(one, table) for axis, one in enumerate(flux) if not _is_nothing(one)}
        if len(self._steps) == 1:
            through = {axis: np.sum(one, axis=1, keepdims=True) for axis, one in through.items()}
        for corner in range(self._directions.shape[1] if through else 0):
            along = sum(self._directions[:, corner, axis, None] * one for axis, one in through.items())
            found.append(along @ self._steps[:, :, corner])
        if not found:
            return np.zeros(self._count)
        return pnp.add_at(np.zeros(self._count), self._numbers.ravel(), pnp.reshape(sum(found[1:], found[0]), (-1,)))


def _is_nothing(values: Any) -> bool:
    """Say whether values are known to be zeros."""
    return not is_traced(values) and not np.any(values)


def points_inside(mesh: Triangulation, cells: Array, exact: int) -> tuple[Array, Array]:
    """Return the points of the quadrature in cells, and their weights."""
    corners = mesh.points[cells]
    place, weights = quadrature(corners.shape[2], exact)
    at = np.einsum("ql,clx->cqx", place, corners).reshape(-1, corners.shape[2])
    return at, (measures(corners)[:, None] * weights).ravel()


def points_of_facets(corners: Array, normals: Array, exact: int) -> tuple[Array, Array, Array]:
    """Return the points of the quadrature on facets, the normals there, and the weights.

    Args:
        corners: of each facet.
        normals: of each facet.
        exact: the quadrature is exact for polynomials of twice this degree.
    """
    place, weights = quadrature(corners.shape[1] - 1, exact)
    at = np.einsum("ql,flx->fqx", place, corners).reshape(-1, corners.shape[2])
    return at, np.repeat(normals, len(weights), axis=0), (measures(corners)[:, None] * weights).ravel()


def at_points(
    spaces: Sequence[PolynomialsAt | None], values: Sequence[Any], rates: Sequence[Any] | None, shape: tuple[int, int]
) -> Any:
    """Return values, slopes and rates of all unknowns at points.

    Args:
        spaces: the polynomials of each unknown; None where there is none of it, and so zeros.
        values: of each at its nodes.
        rates: the derivatives of the values along time; None are zeros.
        shape: how many points there are, and coordinates.
    """
    zeros = np.zeros(shape[0])
    pairs = list(zip(spaces, values, strict=True))
    moving = [zeros for _ in spaces]
    if rates is not None:
        moving = [zeros if x is None else x.values(one) for x, one in zip(spaces, rates, strict=True)]
    return (
        tuple([zeros if x is None else x.values(one) for x, one in pairs]),
        tuple([(zeros,) * shape[1] if x is None else x.slopes(one) for x, one in pairs]),
        tuple(moving),
    )
