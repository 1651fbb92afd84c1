"""Domains from files of meshes: triangles in the plane, tetrahedra in space, and intervals of a line."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.domains import Domain, Image
from primad.pde.geometry.sampling import Array, Points, in_triangles
from primad.pde.written_names import check_names, names_in
from primad.recording.foreign import plain
from primad.system.optional_packages import needed

__all__ = ["Mesh"]

KINDS = {1: "intervals", 2: "triangles", 3: "tetrahedra"}
"""What a mesh consists of, by the number of coordinates."""
BLOCK = 2**20
"""Pairs of points and cells that are compared at once."""
FLAT = 1e-6
"""By how much triangles in a plane may be off it, as a part of their extent. Chosen: files with single precision round
to less than that."""


class Mesh(Domain):
    """A domain made of triangles in the plane, tetrahedra in space, or intervals of a line.

    Args:
        points: corners, one a row.
        cells: for each triangle, tetrahedron or interval the numbers of its corners.
        names: of the coordinates; x, y and z by default.
        parts: for each named part of the boundary the edges, faces or points that it consists of, by the numbers of
            their corners; what is in none is the part "boundary", which may be given too if it has all the rest.

    Raises:
        ProblemError: if there are no cells, they do not fit the points, or a part is not on the boundary.

    Example:
        >>> from primad import pde
        >>> corners = [(0, 0), (1, 0), (1, 1), (0, 1)]
        >>> square = pde.Mesh(corners, [(0, 1, 2), (0, 2, 3)], parts={"floor": [(0, 1)]})
        >>> print(square.measure, square.parts, square.part_measure("floor"))
        1.0 ('floor', 'boundary') 1.0
    """

    def __init__(
        self,
        points: Any,
        cells: Any,
        names: Sequence[str] | None = None,
        parts: Mapping[str, Any] | None = None,
    ) -> None:
        at, corners = plain(points, np.float64), plain(cells)
        if at.ndim != 2 or at.shape[1] not in KINDS or not np.all(np.isfinite(at)):
            raise ProblemError(
                f"a mesh has points in the plane or in space, or on a line, one a row, got the shape {at.shape}",
                fix="pass an array with a row for each point.",
            )
        size = at.shape[1]
        if corners.ndim != 2 or not corners.size or corners.shape[1] != size + 1 or corners.dtype.kind not in "iu":
            raise ProblemError(
                f"a mesh consists of {KINDS[size]}, got cells of the shape {corners.shape}",
                fix="pass an array with the corners of a cell in each row.",
            )
        check_corners(corners, len(at), "a cell of the mesh", "cells")
        self.names = ("x", "y", "z")[:size] if names is None else names_in(names)
        check_names(self.names)
        if len(self.names) != size:
            raise ProblemError(
                f"a mesh with {size} coordinates got {len(self.names)} names",
                fix="pass a name for each coordinate.",
            )
        self.cells = at[corners]
        self._sizes = np.abs(np.linalg.det(self.cells[:, 1:] - self.cells[:, :1])) / math.factorial(size)
        if not np.all(self._sizes > 0):
            raise ProblemError(
                f"cell {int(np.argmin(self._sizes))} of the mesh is flat",
                fix="leave it out: the corners lie on a line, or in a plane.",
            )
        self.measure, self.spread = float(np.sum(self._sizes)), size + 1
        used = at[np.unique(corners)]
        self.bounds = np.stack([used.min(axis=0), used.max(axis=0)], axis=1)
        self._inverse = np.linalg.inv(self.cells[:, 1:] - self.cells[:, :1])
        self.facets = self._named_facets(at, corners, parts or {})
        self.parts = tuple(self.facets)

    def _named_facets(self, at: Array, corners: Array, parts: Mapping[str, Any]) -> dict[str, tuple[Array, Array]]:
        """Return for each part its edges or faces, and their outward normals."""
        size = at.shape[1]
        without = [np.delete(corners, i, axis=1) for i in range(size + 1)]
        facets, opposite = np.concatenate(without), np.concatenate([corners[:, i] for i in range(size + 1)])
        ordered = np.sort(facets, axis=1)
        _, first, times = np.unique(ordered, axis=0, return_index=True, return_counts=True)
        left = {tuple(ordered[i].tolist()): (facets[i], opposite[i]) for i in first[times == 1]}
        pieces: dict[str, list[tuple[Array, Array]]] = {}
        for name, own in parts.items():
            pieces[name] = []
            for facet in own:
                key = tuple(sorted(int(i) for i in facet))
                if key not in left:
                    raise ProblemError(
                        f"the part {name!r} of the mesh has corners {key}: no piece of the boundary that is left",
                        fix="give each edge, or face, of the boundary to one part, once.",
                    )
                pieces[name].append(left.pop(key))
            if not pieces[name]:
                raise ProblemError(
                    f"the part {name!r} of the mesh has no piece of the boundary",
                    fix="give it edges, or faces, by the numbers of their corners; or leave it out.",
                )
        if left and "boundary" in pieces:
            raise ProblemError(
                f"the part 'boundary' of the mesh is not all of it: {len(left)} pieces are in no part",
                why="What is in no part has that name.",
                fix="give the part another name, or all pieces.",
            )
        if left:
            pieces["boundary"] = list(left.values())
        found = {}
        for name, own in pieces.items():
            ends = at[np.array([facet for facet, _ in own])]
            found[name] = (ends, _normals(ends, at[np.array([other for _, other in own])]))
        return found

    @classmethod
    def read(cls, path: str | os.PathLike[str], names: Sequence[str] | None = None) -> Mesh:
        """Read a mesh from a file that `meshio` understands (Gmsh, VTK, Abaqus, …), which `primad[mesh]` brings.

        Groups of edges or faces with names in the file (physical groups of Gmsh) are parts of the boundary.

        Args:
            path: the file.
            names: of the coordinates.

        Raises:
            ProblemError: if the file cannot be read, has no triangles or tetrahedra, or those of a surface in space.
            ImportError: if meshio is missing.
        """
        found = read_file(path)
        kinds = {"tetra": ("triangle", 3), "triangle": ("line", 2)}
        for kind, (facet, size) in kinds.items():
            cells = [block.data for block in found.cells if block.type == kind]
            if cells:
                points, corners = np.asarray(found.points), np.concatenate(cells)
                _check_plane(os.fspath(path), points[corners], size)
                return cls(points[:, :size], corners, names, _groups(found, facet))
        have = ", ".join(sorted({block.type for block in found.cells})) or "none"
        raise ProblemError(
            f"the mesh {os.fspath(path)} has no triangles or tetrahedra",
            why=f"Its cells are {have}.",
            fix="export the cells of the area or volume, not of its boundary alone.",
        )

    def __repr__(self) -> str:
        return f"Mesh of {len(self.cells)} cells"

    def inside(self, at: Array) -> Array:
        """Say which points lie in a cell."""
        found = np.zeros(len(at), bool)
        step = max(1, BLOCK // len(self.cells))
        for start in range(0, len(at), step):
            moved = at[start : start + step, None] - self.cells[:, 0]
            s = np.einsum("pci,cij->pcj", moved, self._inverse)
            inside = np.all(s >= -1e-12, axis=2) & (np.sum(s, axis=2) <= 1 + 1e-12)
            found[start : start + step] = np.any(inside, axis=1)
        return found

    def inner(self, unit: Array) -> Image:
        """Map a cube to the cells, each with its share."""
        which = chosen_by_size(self._sizes, unit[:, 0])
        return Image(in_simplices(self.cells[which], unit[:, 1:]))

    def edge(self, part: str, unit: Array) -> Image:
        """Map a cube to the edges or faces of a part, each with its share."""
        ends, normals = self.facets[part]
        which = chosen_by_size(sizes_of(ends), unit[:, 0])
        return Image(in_simplices(ends[which], unit[:, 1:]), normals[which])

    def quadrature(self, order: int = 20) -> Points:
        """Return the points and weights of Gauss and Legendre in each triangle; Sobol's points in space."""
        if self.dimension != 2:
            return super().quadrature(order)
        at, weights = in_triangles(self.cells, max(2, math.ceil(order / math.sqrt(len(self.cells)))))
        return Points(self.names, at, None, weights)

    def edge_spread(self, part: str) -> int:
        """Return the dimension of the cube that is mapped to a part of the boundary."""
        return self.dimension

    def part_measure(self, part: str) -> float:
        """Return the length or area of a part of the boundary."""
        return float(np.sum(sizes_of(self.facets[part][0])))


def read_file(path: str | os.PathLike[str]) -> Any:
    """Return what meshio reads from a file.

    Raises:
        ProblemError: if it cannot be read.
        ImportError: if meshio is missing.
    """
    meshio = needed("meshio", "mesh", "files of meshes")
    try:
        with np.errstate(over="ignore"):  # letters at the head of a text are read as a number, to see what it is
            return meshio.read(path)
    except (OSError, ValueError, KeyError, SystemExit, meshio.ReadError) as error:
        raise ProblemError(
            f"the mesh {os.fspath(path)} cannot be read: {error}",
            fix="write it by meshio, meshio.read(path) says what it takes, or pass the arrays: Mesh(points, cells).",
        ) from None


def check_corners(corners: Array, count: int, one: str, all_of_them: str) -> None:
    """Raise for the number of a corner that none of so many points has.

    Raises:
        ProblemError: if there is one.
    """
    unknown = corners[(corners < 0) | (corners >= count)]
    if unknown.size:
        raise ProblemError(
            f"{one} has the corner {unknown[0]}, and there are {count} points",
            fix=f"corners are counted from 0: pass {all_of_them} - 1 where yours begin with 1.",
        )


def _check_plane(path: str, cells: Array, size: int) -> None:
    """Raise for triangles of a surface in space: without its last coordinate it would be another domain.

    Raises:
        ProblemError: if they are that.
    """
    beyond = cells[..., size:]
    if beyond.size and np.max(np.ptp(beyond, axis=(0, 1))) > FLAT * np.max(np.ptp(cells, axis=(0, 1))):
        raise ProblemError(
            f"the triangles of the mesh {path} do not lie in a plane of constant z: they are a surface in space",
            why="That is the boundary of a volume, as an STL file has it, and no domain without what is inside.",
            fix="read what it encloses, pde.Solid.read(path); or fill it with tetrahedra (Gmsh: Merge, Surface Loop, "
            "Volume, 3D mesh), and read that file.",
        )


def _groups(mesh: Any, facet: str) -> dict[str, Any]:
    """Return the named groups of edges or faces of a file."""
    found: dict[str, list[Any]] = {}
    for name, cells in mesh.cell_sets_dict.items():
        if facet in cells and not name.startswith("gmsh:"):
            whole = mesh.cells_dict[facet]
            found[name] = whole[cells[facet]].tolist()
    tags = mesh.cell_data_dict.get("gmsh:physical", {}).get(facet)
    for name, (number, dimension) in (mesh.field_data or {}).items():
        if tags is not None and name not in found and dimension == (1 if facet == "line" else 2):
            found[name] = mesh.cells_dict[facet][tags == number].tolist()
    return {name: facets for name, facets in found.items() if facets}


def chosen_by_size(sizes: Array, unit: Array) -> Array:
    """Return which piece each number of the unit interval falls into, with a chance like the sizes."""
    shares = np.cumsum(sizes) / np.sum(sizes)
    found: Array = np.minimum(np.searchsorted(shares, unit, side="right"), len(sizes) - 1)
    return found


def in_simplices(corners: Array, unit: Array) -> Array:
    """Map points of a cube to a line, triangle or tetrahedron each, evenly: by gaps between powers of the numbers."""
    size = corners.shape[1] - 1
    powers = unit[:, :size] ** (1 / np.arange(size, 0, -1))
    rest, weights = np.ones(len(unit)), []
    for i in range(size):
        weights.append(rest * (1 - powers[:, i]))
        rest = rest * powers[:, i]
    return np.asarray(np.einsum("kp,pki->pi", np.stack([*weights, rest]), corners))


def sizes_of(ends: Array) -> Array:
    """Return lengths of edges, or areas of faces; of points 1."""
    if ends.shape[1] == 1:
        return np.ones(len(ends))
    if ends.shape[1] == 2:
        return np.asarray(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1))
    return np.asarray(np.linalg.norm(np.cross(ends[:, 1] - ends[:, 0], ends[:, 2] - ends[:, 0]), axis=1) / 2)


def _normals(ends: Array, inside: Array) -> Array:
    """Return unit normals of edges, faces or points that point away from corners inside."""
    if ends.shape[1] == 1:
        return np.asarray(np.sign(ends[:, 0] - inside))
    along = ends[:, 1] - ends[:, 0]
    if ends.shape[1] == 2:
        normal = np.stack([along[:, 1], -along[:, 0]], axis=1)
    else:
        normal = np.cross(along, ends[:, 2] - ends[:, 0])
    away = np.sum(normal * (ends[:, 0] - inside), axis=1, keepdims=True)
    return np.asarray(np.sign(away) * normal / np.linalg.norm(normal, axis=1, keepdims=True))
