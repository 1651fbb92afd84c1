"""Polynomials on all elements: the sparse matrices from values at nodes to values and slopes at points."""

from __future__ import annotations

from typing import Any

import numpy as np

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
        value: the matrix from nodes to points inside.
        slopes: those to the derivatives along each coordinate.
        back: the transposes of `value` and `slopes`.
    """

    def __init__(self, mesh: Triangulation, degree: int, exact: int) -> None:
        self.mesh, self.exact, self.nodes = mesh, exact, Nodes.of(mesh.points, mesh.cells, degree)
        corners = mesh.points[mesh.cells]
        place, _ = quadrature(corners.shape[2], exact)
        self.value, self.slopes = self._matrices(mesh.cells, place)
        self.back = [matrix.T.tocsr() for matrix in (self.value, *self.slopes)]

    def _matrices(self, simplices: Array, place: Array) -> tuple[Any, list[Any]]:
        degree, corners = self.nodes.degree, self.mesh.points[simplices]
        steps = np.einsum("qbl,clx->xcqb", slopes(degree, place), directions(corners))
        value = self.nodes.matrix(simplices, shapes(degree, place)[None])
        return value, [self.nodes.matrix(simplices, step) for step in steps]

    def at_facets(self, part: str) -> tuple[Any, list[Any]]:
        """Return the matrices to values, and to slopes in the cell inside, at points of a part of the boundary."""
        facets = self.mesh.facets[part]
        place, _ = quadrature(facets.shape[1] - 1, self.exact)
        simplices = np.concatenate([facets, self.mesh.opposite[part][:, None]], axis=1)
        return self._matrices(simplices, np.concatenate([place, np.zeros((len(place), 1))], axis=1))


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
