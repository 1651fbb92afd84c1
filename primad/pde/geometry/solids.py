"""Domains from surfaces of triangles: what a closed one in space encloses, as files of STL have it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.domains import Domain, Image
from primad.pde.geometry.meshes import FLAT, check_corners, chosen_by_size, in_simplices, read_file, sizes_of
from primad.pde.geometry.sampling import Array
from primad.pde.written_names import check_names, names_in
from primad.recording.foreign import plain

__all__ = ["Solid"]

PAIRS = 2**18
"""Pairs of points and triangles that are compared at once. Chosen: some arrays of that size fit into caches."""
ON_SURFACE = 1e-9
"""How far from a triangle a point is on it, as a part of the extent. Chosen: far above rounding of coordinates, and far
below what is to be seen."""


class Solid(Domain):
    """What a closed surface of triangles encloses: `Solid.read("part.stl")`.

    A point lies inside where the triangles, as seen from it, cover the whole sphere (the winding number of the surface,
    by the solid angles of A. van Oosterom & J. Strackee, IEEE Trans. Biomed. Eng. 30 (1983) 125–126). Conditions are
    fitted at points of the boundary, whose normals point out; `named` gives pieces of it names.

    Args:
        points: corners, one a row.
        triangles: for each triangle the numbers of its corners. All turn alike, as seen from outside.
        names: of the coordinates; x, y and z by default.

    Raises:
        ProblemError: if the surface has a hole, triangles that turn otherwise than their neighbours, or encloses
            nothing.

    Example:
        >>> from primad import pde
        >>> corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
        >>> corner = pde.Solid(corners, [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
        >>> round(corner.measure, 6), corner.contains([(0.1, 0.1, 0.1), (0.9, 0.9, 0.9)]).tolist()
        (0.166667, [True, False])
    """

    spread = 3
    parts = ("boundary",)

    def __init__(self, points: Any, triangles: Any, names: Sequence[str] | None = None) -> None:
        at, corners = plain(points, np.float64), plain(triangles)
        if at.ndim != 2 or at.shape[1] != 3 or not np.all(np.isfinite(at)):
            raise ProblemError(
                f"a surface has points in space, one a row, got the shape {at.shape}",
                fix="pass an array with x, y and z of a point in each row; in the plane, pde.Mesh or pde.Polygon.",
            )
        if corners.ndim != 2 or not corners.size or corners.shape[1] != 3 or corners.dtype.kind not in "iu":
            raise ProblemError(
                f"a surface consists of triangles, got the shape {corners.shape}",
                fix="pass an array with the numbers of three corners in each row.",
            )
        check_corners(corners, len(at), "a triangle of the surface", "triangles")
        self.names = ("x", "y", "z") if names is None else names_in(names)
        check_names(self.names)
        if len(self.names) != 3:
            raise ProblemError(f"a solid with 3 coordinates got {len(self.names)} names", fix="pass three.")
        ends = at[corners]
        self.bounds = np.stack([ends.min(axis=(0, 1)), ends.max(axis=(0, 1))], axis=1)
        self._extent = float(np.max(np.ptp(self.bounds, axis=1)))
        _check_closed(ends, self._extent)
        ends = ends[sizes_of(ends) > 0]  # a flat triangle has no area, and no normal
        volume = float(np.sum(np.linalg.det(ends - np.mean(self.bounds, axis=1)))) / 6
        if not abs(volume) > FLAT * self._extent**3:
            raise ProblemError(
                "the surface encloses nothing",
                why=f"Its volume is {volume:.3g}.",
                fix="pass the surface of a volume, with its triangles turning alike as seen from outside.",
            )
        self.ends = ends if volume > 0 else ends[:, ::-1]
        self.measure = abs(volume)
        across = np.cross(self.ends[:, 1] - self.ends[:, 0], self.ends[:, 2] - self.ends[:, 0])
        self.normals = across / np.linalg.norm(across, axis=1, keepdims=True)

    @classmethod
    def read(cls, path: str | os.PathLike[str], names: Sequence[str] | None = None) -> Solid:
        """Read a surface from a file that `meshio` understands (STL, PLY, OBJ, OFF, VTK, …), with `primad[mesh]`.

        Args:
            path: the file.
            names: of the coordinates.

        Raises:
            ProblemError: if the file cannot be read, has no triangles, or the surface is none that encloses a volume.
            ImportError: if meshio is missing.
        """
        found = read_file(path)
        cells = [block.data for block in found.cells if block.type == "triangle"]
        if not cells:
            have = ", ".join(sorted({block.type for block in found.cells})) or "none"
            raise ProblemError(
                f"the surface {os.fspath(path)} has no triangles",
                why=f"Its cells are {have}.",
                fix="export it as triangles.",
            )
        return cls(np.asarray(found.points, np.float64), np.concatenate(cells), names)

    def __repr__(self) -> str:
        return f"Solid of {len(self.ends)} triangles"

    def inside(self, at: Array) -> Array:
        """Say which points the surface encloses, or lie on it."""
        low, high = self.bounds.T
        slack = ON_SURFACE * self._extent
        near = np.flatnonzero(np.all((at >= low - slack) & (at <= high + slack), axis=1))
        found, step = np.zeros(len(at), bool), max(1, PAIRS // len(self.ends))
        for start in range(0, len(near), step):
            some = near[start : start + step]
            found[some] = self._enclosed(at[some])
        return found

    def _enclosed(self, at: Array) -> Array:
        a, b, c = (self.ends[None, :, i] - at[:, None] for i in range(3))
        la, lb, lc = (np.linalg.norm(side, axis=2) for side in (a, b, c))
        volume = np.sum(a * np.cross(b, c), axis=2)
        below = la * lb * lc + np.sum(a * b, axis=2) * lc + np.sum(b * c, axis=2) * la + np.sum(c * a, axis=2) * lb
        turns = np.sum(np.arctan2(volume, below), axis=1) / (2 * np.pi)
        # A point on a triangle sees it as half of the sphere: there the volume is 0, and what is below negative.
        height = np.sum(a * self.normals, axis=2)
        on = np.any((np.abs(height) <= ON_SURFACE * self._extent) & self._over(a, b, c), axis=1)
        inside: Array = (turns > 0.5) | on
        return inside

    def _over(self, a: Array, b: Array, c: Array) -> Array:
        """Say which points lie over which triangles, along their normals: on the inner side of all edges."""
        slack = -ON_SURFACE * self._extent**2
        sides = [np.sum(self.normals * np.cross(one, other), axis=2) for one, other in ((a, b), (b, c), (c, a))]
        found: Array = np.all(np.stack(sides) >= slack, axis=0)
        return found

    def inner(self, unit: Array) -> Image:
        """Map a cube to the box around the solid, and keep what is in this one."""
        at = self.bounds[:, 0] + unit * np.ptp(self.bounds, axis=1)
        return Image(at, None, self.inside(at))

    def edge(self, part: str, unit: Array) -> Image:
        """Map a cube to the triangles, each with its share."""
        which = chosen_by_size(sizes_of(self.ends), unit[:, 0])
        return Image(in_simplices(self.ends[which], unit[:, 1:]), self.normals[which])

    def edge_spread(self, part: str) -> int:
        """Return the dimension of the cube that is mapped to the boundary."""
        return 3

    def part_measure(self, part: str) -> float:
        """Return the area of the surface."""
        return float(np.sum(sizes_of(self.ends)))


def _check_closed(ends: Array, extent: float) -> None:
    """Raise unless each edge is gone through once in each direction; files of STL have each corner several times.

    Raises:
        ProblemError: if not.
    """
    corners = ends.reshape(-1, 3)
    rounded = np.round((corners - np.min(corners, axis=0)) / (FLAT * extent)).astype(np.int64)
    _, number = np.unique(rounded, axis=0, return_inverse=True)
    corners = number.reshape(-1, 3)
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]
    pairs, there = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    times = np.bincount(there.ravel(), minlength=len(pairs))
    turned = np.bincount(there.ravel(), np.sign(edges[:, 1] - edges[:, 0]), minlength=len(pairs))
    if np.any(times % 2):
        raise ProblemError(
            f"the surface is not closed: {int(np.sum(times % 2))} edges belong to an odd number of triangles",
            why="Through a hole the inside and the outside are one.",
            fix="mend it where it was made (in Blender: 3D Print, Make Manifold), or fill the hole with triangles.",
        )
    if np.any(turned):
        raise ProblemError(
            f"triangles of the surface turn otherwise than their neighbours, at {int(np.count_nonzero(turned))} edges",
            why="The side that is outside is told by the order of corners.",
            fix="let the program that made it recalculate normals, or swap two corners of these triangles.",
        )
