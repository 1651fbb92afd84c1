"""Lagrange's elements of degree 1 and 2 on simplices: shapes in barycentric coordinates, nodes, and their matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.pde.geometry.cutting import edges, ends
from primad.pde.geometry.sampling import Array


def shapes(degree: int, at: Array) -> Array:
    """Return the values of the shape functions at barycentric coordinates, one point a row: corners, then edges.

    Those of degree 2 are λᵢ(2λᵢ − 1) and 4λᵢλⱼ (Zienkiewicz & Taylor, The Finite Element Method, §6).
    """
    if degree == 1:
        return at
    first, second = np.triu_indices(at.shape[-1], 1)
    return np.concatenate([at * (2 * at - 1), 4 * at[..., first] * at[..., second]], axis=-1)


def slopes(degree: int, at: Array) -> Array:
    """Return the derivatives of the shape functions by the barycentric coordinates, along a last axis."""
    count = at.shape[-1]
    own = np.broadcast_to(np.eye(count), (*at.shape, count))
    if degree == 1:
        return own
    first, second = np.triu_indices(count, 1)
    between = at[..., first, None] * np.eye(count)[second] + at[..., second, None] * np.eye(count)[first]
    return np.concatenate([own * (4 * at - 1)[..., None], 4 * between], axis=-2)


def curvatures(degree: int, count: int) -> Array:
    """Return the second derivatives of the shape functions, along two last axes; they are the same everywhere."""
    at = np.zeros(count)
    origin = slopes(degree, at)
    return np.stack([slopes(degree, corner) - origin for corner in np.eye(count)], axis=-1)


def quadrature(dimension: int, degree: int) -> tuple[Array, Array]:
    """Return barycentric coordinates and weights that add up to 1, exact for polynomials of twice a degree.

    For degree 1 there is a point near each corner (P. C. Hammer & A. H. Stroud, Math. Tables Aids Comput. 10 (1956)
    137), otherwise Gauss and Jacobi's points of a cube, drawn to a corner (A. H. Stroud, Approximate Calculation of
    Multiple Integrals, 1971, §2.4).
    """
    if not dimension:
        return np.ones((1, 1)), np.ones(1)
    count = dimension + 1
    if degree == 1:
        far = (1 - 1 / np.sqrt(dimension + 2)) / count
        return np.full((count, count), far) + (1 - count * far) * np.eye(count), np.full(count, 1 / count)
    from scipy.special import roots_jacobi  # loads when it is called

    lines = [roots_jacobi(degree + 1, 0, dimension - 1 - axis) for axis in range(dimension)]
    unit = np.stack(np.meshgrid(*[(at + 1) / 2 for at, _ in lines], indexing="ij"), axis=-1).reshape(-1, dimension)
    weights = np.ones(1)
    for _, own in lines:
        weights = np.outer(weights, own / np.sum(own)).ravel()
    left, found = np.ones(len(unit)), []
    for axis in range(dimension):
        found.append(left * (1 - unit[:, axis]))
        left = left * unit[:, axis]
    return np.stack([*found, left], axis=1), weights


@dataclass(frozen=True)
class Nodes:
    """The nodes of elements: the corners of simplices, and for degree 2 the middles of edges.

    Attributes:
        at: the nodes, one a row.
        degree: 1 or 2.
        ends: the corners of each edge that has a node, in their order; none for degree 1.
        corners: how many corners there are.
    """

    at: Array
    degree: int
    ends: Array
    corners: int

    @classmethod
    def of(cls, points: Array, cells: Array, degree: int) -> Nodes:
        """Return the nodes of simplices."""
        found = edges(cells)[0] if degree == 2 else np.zeros((0, 2), int)
        return cls(np.concatenate([points, points[found].mean(axis=1)]), degree, found, len(points))

    def numbers(self, simplices: Array) -> Array:
        """Return the nodes of cells, or of facets, by the numbers of their corners: in the order of the shapes."""
        if self.degree == 1:
            return simplices
        keys, own = (at[..., 0] * self.corners + at[..., 1] for at in (self.ends, ends(simplices)))
        middles = self.corners + np.searchsorted(keys, own)  # ascending, as `edges` returns them
        return np.concatenate([simplices, middles], axis=1)

    def matrix(self, simplices: Array, values: Array) -> Any:
        """Return the sparse matrix that takes values at nodes to values at points of simplices.

        Args:
            simplices: by the numbers of their corners.
            values: of the shape functions: for each simplex, each point in it, each of its nodes.
        """
        from scipy.sparse import csr_array  # loads when it is called

        own = self.numbers(simplices)
        values = np.broadcast_to(values, (len(simplices), *values.shape[-2:]))
        rows = np.arange(values.shape[0] * values.shape[1]).repeat(values.shape[2])
        columns = np.broadcast_to(own[:, None], values.shape).ravel()
        return csr_array((values.ravel(), (rows, columns)), shape=(values.shape[0] * values.shape[1], len(self.at)))


def directions(corners: Array) -> Array:
    """Return the gradients of the barycentric coordinates of simplices: coordinate λ, then coordinate of space."""
    inverse = np.linalg.inv(corners[:, 1:] - corners[:, :1])
    rest = np.swapaxes(inverse, 1, 2)
    return np.concatenate([-np.sum(rest, axis=1, keepdims=True), rest], axis=1)


def measures(corners: Array) -> Array:
    """Return lengths, areas or volumes of simplices, which may lie in a space of more dimensions; of points 1."""
    along = corners[:, 1:] - corners[:, :1]
    if not along.shape[1]:
        return np.ones(len(corners))
    squares = np.linalg.det(along @ np.swapaxes(along, 1, 2))
    return np.asarray(np.sqrt(squares) / math.factorial(along.shape[1]))
