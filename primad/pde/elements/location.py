"""Where points lie in a triangulation, and what elements are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.elements.lagrange import Nodes, curvatures, directions, shapes, slopes
from primad.pde.fields.coordinate_names import coordinates
from primad.pde.geometry.sampling import Array, as_rows
from primad.pde.geometry.triangulations import Triangulation

NEAREST = 8
"""Cells whose middles are nearest to a point that are looked at first. Chosen: of cells of one form the right one
is among these."""
SLACK = 1e-9
"""How far outside of a cell, in barycentric coordinates, a point may be by rounding."""
BULGE = 0.1
"""The same, of cells at a curved boundary. Chosen: a circle is as far off an edge of 45° of it."""
BLOCK = 2**20
"""Pairs of points and cells that are compared at once."""


class Location:
    """Cells of a triangulation, by the points in them.

    Args:
        nodes: of the elements.
        mesh: the triangulation.
        names: of the coordinates.
    """

    def __init__(self, nodes: Nodes, mesh: Triangulation, names: Sequence[str]) -> None:
        from scipy.spatial import cKDTree  # loads when it is called

        self._nodes, self._mesh, self._names = nodes, mesh, tuple(names)
        corners = mesh.points[mesh.cells]
        self._first, self._directions = corners[:, 0], directions(corners)
        self._tree = cKDTree(corners.mean(axis=1))

    def _barycentric(self, at: Array, cells: Array) -> Array:
        """Return the barycentric coordinates of points in several cells each."""
        found: Array = np.einsum("pkx,pklx->pkl", at[:, None] - self._first[cells], self._directions[cells])
        found[..., 0] += 1
        return found

    def cells(self, at: Array) -> tuple[Array, Array]:
        """Return for each point the cell that it is in, or the nearest one, and its barycentric coordinates."""
        count = len(self._mesh.cells)
        near = self._tree.query(at, min(NEAREST, count))[1].reshape(len(at), -1)
        cell, place = self._best(at, near)
        left = np.flatnonzero(np.min(place, axis=1) < -SLACK)
        step = max(1, BLOCK // count)
        for begin in range(0, len(left), step):
            rows = left[begin : begin + step]
            cell[rows], place[rows] = self._best(at[rows], np.broadcast_to(np.arange(count), (len(rows), count)))
        return cell, place

    def holds(self, points: Any) -> Array:
        """Say which points lie in a cell, up to rounding, and the bulge of a curved boundary."""
        place = self.cells(as_rows(points, self._names))[1]
        return np.asarray(np.min(place, axis=1) >= -BULGE)

    def _best(self, at: Array, cells: Array) -> tuple[Array, Array]:
        place = self._barycentric(at, cells)
        best = np.argmax(np.min(place, axis=2), axis=1)
        rows = np.arange(len(at))
        return cells[rows, best], place[rows, best]

    def matrix(self, points: Any, derivative: str) -> Any:
        """Return the sparse matrix from values at nodes to values, or a derivative, at points."""
        at = as_rows(points, self._names)
        along = [self._names.index(name) for name in coordinates(self._names).split(derivative)] if derivative else []
        degree = self._nodes.degree
        if len(along) > degree:
            raise ProblemError(
                f"elements of degree {degree} have no derivative {derivative!r}: it is of order {len(along)}",
                fix="take degree=2 for second derivatives; elements have none of a higher order.",
            )
        cell, place = self.cells(at)
        steps = [self._directions[cell][:, :, axis] for axis in along]
        if not along:
            values = shapes(degree, place)
        elif len(along) == 1:
            values = np.einsum("pbl,pl->pb", slopes(degree, place), steps[0])
        else:
            values = np.einsum("blm,pl,pm->pb", curvatures(degree, place.shape[1]), *steps)
        return self._nodes.matrix(self._mesh.cells[cell], values[:, None])
