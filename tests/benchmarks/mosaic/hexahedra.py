"""Finite elements with one density per hexahedron, whose stiffness is that of the density's cube (SIMP)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse as plain_sparse

from primad import numpy as pnp
from primad.scipy import sparse

WEAKEST = 1e-3
"""Stiffness of an empty cell, by that of a full one. Mosaic's."""
POWER = 3.0
"""The power of the density that stiffness goes with. Mosaic's."""
RATIO = 0.3
"""Poisson's ratio. Mosaic's."""
KEPT = 4
"""Meshes whose matrices are kept. Chosen: a benchmark calls with one at a time."""

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])
"""The corners of the unit cube, in the order of a cell's nodes."""
FACES = np.array([[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [2, 3, 7, 6], [0, 4, 7, 3], [1, 2, 6, 5]])
"""The corners of each face of a cell, one after the other around it."""
GAUSS = 0.5 + np.array([-0.5, 0.5]) / np.sqrt(3.0)
"""Gauss's two points of the unit interval, with weights of a half: exact for cubic polynomials."""


def _shapes(at: Any, corners: Any) -> tuple[Any, Any]:
    """Return the multilinear functions of corners at points, and their slopes along the last axis."""
    factors = np.where(corners == 1, at[:, None, :], 1.0 - at[:, None, :])
    signs = np.where(corners == 1, 1.0, -1.0)
    others = [np.prod(np.delete(factors, axis, -1), -1) for axis in range(corners.shape[1])]
    return np.prod(factors, -1), np.stack(others, -1) * signs


def _points(dimension: int) -> Any:
    return np.stack(np.meshgrid(*[GAUSS] * dimension, indexing="ij"), -1).reshape(-1, dimension)


def gradients(corners: Any) -> tuple[Any, Any]:
    """Return slopes of the nodes' functions in space (cells, points, nodes, axes), and weights (cells, points)."""
    slopes = _shapes(_points(3), CORNERS)[1]
    jacobians = np.einsum("qna,cnx->cqxa", slopes, corners)
    return np.einsum("qna,cqax->cqnx", slopes, np.linalg.inv(jacobians)), np.linalg.det(jacobians) / 8


@dataclass(frozen=True)
class System:
    """The equations of a mesh: stiffness in the densities, loads, and what is held.

    Attributes:
        assembly: the sparse matrix from the cells' stiffness to the stored entries of the matrix of free unknowns.
        pattern: that matrix, with any entries, by columns.
        held: the loads of what is held, from the cells' stiffness: a sparse matrix.
        loads: of the boundary, one number per unknown.
        free: numbers of the unknowns that are not held.
        values: of all unknowns, 0 where they are free.
        shares: the sparse matrix from sources in cells to loads.
    """

    assembly: Any
    pattern: Any
    held: Any
    loads: Any
    free: Any
    values: Any
    shares: Any

    def solve(self, densities: Any, source: Any = None) -> Any:
        """Return all unknowns for densities in [0, 1], and sources in cells."""
        stiffness = WEAKEST + (1.0 - WEAKEST) * densities**POWER
        entries, pattern = self.assembly @ stiffness, self.pattern
        matrix = sparse.csc_array((entries, pattern.indices, pattern.indptr), shape=pattern.shape)
        loads = self.loads if source is None else self.loads + self.shares @ source
        found = sparse.linalg.spsolve(matrix, loads[self.free] - self.held @ stiffness)
        return pnp.set_at(self.values, self.free, found)


def element_matrices(slopes: Any, weights: Any, kind: str, of_solid: float) -> Any:
    """Return the matrices of full cells: of conduction, or of elasticity, whose unknowns are three per node."""
    laplace = np.einsum("cqax,cqbx,cq->cab", slopes, slopes, weights)
    if kind == "conduction":
        return of_solid * laplace
    first, second = of_solid * RATIO / ((1 + RATIO) * (1 - 2 * RATIO)), of_solid / (2 * (1 + RATIO))
    mixed = np.einsum("cqax,cqby,cq->caxby", slopes, slopes, weights)
    whole = first * mixed + second * mixed.transpose(0, 1, 4, 3, 2)
    whole += second * np.einsum("cab,xy->caxby", laplace, np.eye(3))
    return whole.reshape(len(whole), 24, 24)


def _boundary_loads(points: Any, cells: Any, groups: Any, values: Any) -> Any:
    """Return the integrals of what flows through faces of the boundary all of whose nodes are in one group."""
    faces = cells[:, FACES].reshape(-1, 4)
    _, which, counts = np.unique(np.sort(faces, 1), axis=0, return_inverse=True, return_counts=True)
    faces = faces[counts[which.ravel()] == 1]
    loads = np.zeros((len(points), values.shape[1]))
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    shapes, slopes = _shapes(_points(2), corners)
    for group, value in enumerate(values, 1):
        marked = faces[np.all(groups[faces] == group, axis=1)]
        along = np.einsum("qna,fnx->fqax", slopes, points[marked])
        areas = np.linalg.norm(np.cross(along[:, :, 0], along[:, :, 1]), axis=-1) / 4
        np.add.at(loads, marked, np.einsum("qn,fq->fn", shapes, areas)[..., None] * value)
    return loads.ravel()


def system(mesh: Any, conditions: Any, kind: str, of_solid: float) -> System:
    """Return the equations of a mesh and its conditions, as Mosaic's inputs have them.

    Args:
        mesh: with `points`, `faces` (of cells: the numbers of eight nodes), `n_points` and `n_faces`.
        conditions: with `dirichlet` and `neumann`, each a number of a group per node (0: none) and values per group.
        kind: 'conduction' or 'elasticity'.
        of_solid: conductivity, or Young's modulus, of a full cell.
    """
    count = int(mesh["n_points"])
    given = [np.asarray(mesh["points"], float)[:count], np.asarray(mesh["faces"], np.int64)[: int(mesh["n_faces"])]]
    width = 1 if kind == "conduction" else 3
    for name in ("dirichlet", "neumann"):
        condition = conditions[name] or {"mask": [], "values": None}
        groups, mask = np.zeros(count, np.int64), np.asarray(condition["mask"], np.int64)[:count]
        groups[: len(mask)] = mask
        values = condition["values"]
        given += [groups, np.zeros((groups.max(), width)) if values is None else np.asarray(values, float)]
    return _made(*[_Keyed(each) for each in given], kind, of_solid)


class _Keyed:
    """An array as a key of what is kept."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self._bytes = (array.shape, array.tobytes())

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and self._bytes == other._bytes


@lru_cache(KEPT)
def _made(
    points: _Keyed, cells: _Keyed, held: _Keyed, at: _Keyed, open_to: _Keyed, flows: _Keyed, kind: str, of_solid: float
) -> System:
    nodes, corners, width = points.array, cells.array, flows.array.shape[1]
    slopes, weights = gradients(nodes[corners])
    matrices = element_matrices(slopes, weights, kind, of_solid)
    unknowns = (corners[..., None] * width + np.arange(width)).reshape(len(corners), -1).astype(np.intc)
    values, is_held = np.zeros(len(nodes) * width), np.repeat(held.array > 0, width)
    values[is_held] = at.array[held.array[held.array > 0] - 1].ravel()
    free = np.flatnonzero(~is_held)
    place = np.cumsum(~is_held, dtype=np.intc) - 1
    rows, columns = (np.broadcast_to(u, matrices.shape).ravel() for u in (unknowns[:, :, None], unknowns[:, None, :]))
    of_cell = np.repeat(np.arange(len(corners), dtype=np.intc), matrices[0].size)
    inside, beside = ~is_held[rows] & ~is_held[columns], ~is_held[rows] & is_held[columns]
    keys = place[columns[inside]].astype(np.int64) * len(free) + place[rows[inside]]
    keys, entry = np.unique(keys, return_inverse=True)
    where = (keys % len(free)).astype(np.intc), (keys // len(free)).astype(np.intc)
    pattern = plain_sparse.csc_array((np.ones(len(keys)), where), shape=(len(free), len(free)))
    flat = matrices.ravel()
    shape = len(keys), len(corners)
    assembly = plain_sparse.csr_array((flat[inside], (entry.ravel().astype(np.intc), of_cell[inside])), shape=shape)
    moved = flat[beside] * values[columns[beside]]
    shape = len(free), len(corners)
    return System(
        assembly,
        pattern,
        plain_sparse.csr_array((moved, (place[rows[beside]], of_cell[beside])), shape=shape),
        _boundary_loads(nodes, corners, open_to.array, flows.array),
        free,
        values,
        _shares(corners, weights, len(nodes)),
    )


def _shares(cells: Any, weights: Any, count: int) -> Any:
    """Return the sparse matrix from a constant source in each cell to the loads of nodes."""
    parts = np.einsum("qn,cq->cn", _shapes(_points(3), CORNERS)[0], weights)
    columns = np.repeat(np.arange(len(cells)), 8)
    return plain_sparse.csr_array((parts.ravel(), (cells.ravel(), columns)), shape=(count, len(cells)))
