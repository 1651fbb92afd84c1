"""Disks, balls in any dimension, and polygons."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.domains import Domain, Image
from primad.pde.geometry.point_arguments import Point, as_vector
from primad.pde.geometry.sampling import Array, Points, in_triangles
from primad.pde.written_names import check_names, names_in
from primad.recording.foreign import plain

__all__ = ["Ball", "Disk", "Polygon"]


class Ball(Domain):
    """A ball of any dimension; its boundary is one part, "boundary".

    Args:
        center: its centre.
        radius: its radius.
        names: of the coordinates; by default x, y, z, or x0, x1, … for more than three.

    Raises:
        ProblemError: if the radius is not positive, or there is a name too few or too many.

    Example:
        >>> from primad import pde
        >>> ball = pde.Ball((0, 0, 0), 2)
        >>> print(ball.names, f"{ball.measure:.3f}")
        ('x', 'y', 'z') 33.510
    """

    parts = ("boundary",)
    vanishes_alone = True

    def __init__(self, center: Sequence[float], radius: float = 1, names: Sequence[str] | None = None) -> None:
        self.center, self.radius = plain(center, np.float64), float(radius)
        if self.center.ndim != 1 or not self.center.size or not np.all(np.isfinite(self.center)):
            raise ProblemError(
                f"the centre of a ball is a point, got {center!r}",
                fix=f"write {type(self).__name__}((0, 0), radius=1), with a coordinate for each dimension.",
            )
        if not (self.radius > 0 and math.isfinite(self.radius)):
            raise ProblemError(f"a ball of radius {radius} is empty", fix="give it a positive radius.")
        size = self.center.size
        default = ("x", "y", "z")[:size] if size <= 3 else tuple([f"x{i}" for i in range(size)])
        self.names = default if names is None else names_in(names)
        check_names(self.names)
        if len(self.names) != size:
            raise ProblemError(
                f"a ball in {size} dimensions has {size} coordinates, got {len(self.names)} names",
                fix="pass a name for each coordinate.",
            )
        self.bounds = np.stack([self.center - self.radius, self.center + self.radius], axis=1)
        log = size / 2 * math.log(math.pi) - math.lgamma(size / 2 + 1) + size * math.log(self.radius)
        self.measure = math.exp(log)  # a ball of many dimensions is too small for a number: 0
        self.spread = 2 if size == 2 else size + 1 if size > 1 else 1

    def __repr__(self) -> str:
        center = ", ".join(f"{part:g}" for part in self.center[:4]) + (", …" if self.dimension > 4 else "")
        return f"{type(self).__name__}(({center}), {self.radius:g})"

    def inside(self, at: Array) -> Array:
        """Say which points are no further from the centre than the radius."""
        found: Array = np.sum((at - self.center) ** 2, axis=1) <= self.radius**2 * (1 + 1e-14)
        return found

    def inner(self, unit: Array) -> Image:
        """Map a cube to the ball: a direction, and a radius so that volumes stay in proportion."""
        if self.dimension == 1:
            return Image(self.center + self.radius * (2 * unit - 1))
        return Image(self.center + self.radius * unit[:, :1] ** (1 / self.dimension) * self._directions(unit[:, 1:]))

    def edge(self, part: str, unit: Array) -> Image:
        """Map a cube to the sphere."""
        directions = np.where(unit < 0.5, -1.0, 1.0) if self.dimension == 1 else self._directions(unit)
        return Image(self.center + self.radius * directions, directions)

    def edge_spread(self, part: str) -> int:
        """Return the dimension of the cube that is mapped to the sphere."""
        return max(1, self.spread - 1)

    def _directions(self, unit: Array) -> Array:
        if self.dimension == 2:
            angle = 2 * np.pi * unit[:, 0]
            return np.stack([np.cos(angle), np.sin(angle)], axis=1)
        from scipy.special import ndtri  # loads when a ball is sampled

        normal = ndtri(np.clip(unit, 1e-15, 1 - 1e-15))
        normal[np.all(normal == 0, axis=1)] = 1.0  # the middle of the cube has no direction
        found: Array = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        return found

    def part_measure(self, part: str) -> float:
        """Return the area of the sphere."""
        return self.dimension * self.measure / self.radius

    def quadrature(self, order: int = 20) -> Points:
        """Return Gauss points of the radius on equally many rays in a disk; Sobol's points in other dimensions."""
        if self.dimension != 2:
            return super().quadrature(order)
        nodes, weights = np.polynomial.legendre.leggauss(order)
        radius, angle = self.radius * (nodes + 1) / 2, 2 * np.pi * np.arange(2 * order) / (2 * order)
        r, a = (grid.ravel() for grid in np.meshgrid(radius, angle, indexing="ij"))
        each = np.repeat(weights * radius * self.radius / 2, 2 * order) * np.pi / order
        return Points(self.names, self.center + np.stack([r * np.cos(a), r * np.sin(a)], axis=1), None, each)

    def vanishing(self, parts: Collection[str], point: Point) -> Any:
        """Return 1 − r²/R², which is a paraboloid."""
        moved = as_vector(point, self.names) - self.center
        return 1.0 - (moved @ moved) / self.radius**2 if parts else 1.0


class Disk(Ball):
    """A disk; its boundary is one part, "boundary".

    Args:
        center: its centre.
        radius: its radius.
        names: of the two coordinates.
    """

    def __init__(self, center: Sequence[float] = (0, 0), radius: float = 1, names: Sequence[str] = ("x", "y")) -> None:
        super().__init__(center, radius, names)
        if self.dimension != 2:
            raise ProblemError(f"a disk has two coordinates, got {self.dimension}", fix="use Ball.")


class Polygon(Domain):
    """A polygon without crossing edges; the parts of its boundary are "edge 0", "edge 1", …, from corner to corner.

    Args:
        corners: the corners in order, either way round; the first one may be repeated at the end.
        names: of the two coordinates.

    Raises:
        ProblemError: if there are fewer than three corners, edges cross, or the area is 0.

    Example:
        >>> from primad import pde
        >>> l_shape = pde.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
        >>> print(l_shape.measure, len(l_shape.parts))
        3.0 6
    """

    spread = 3

    def __init__(
        self, corners: Sequence[Sequence[float]], names: Sequence[str] = ("x", "y"), *more: Sequence[float]
    ) -> None:
        at = plain(corners, np.float64)
        if more or at.ndim != 2 or at.shape[1] != 2 or len(at) < 3 or not np.all(np.isfinite(at)):
            raise ProblemError(
                f"a polygon has three corners (x, y) or more, in one list, got an array of shape {at.shape}"
                + f" and {1 + len(more)} further arguments" * bool(more),
                fix="write Polygon([(0, 0), (1, 0), (0, 1)]).",
            )
        names = names_in(names)
        check_names(names)
        if np.array_equal(at[0], at[-1]):  # as closed rings are written
            at = at[:-1]
        area = 0.5 * float(np.sum(at[:, 0] * np.roll(at[:, 1], -1) - np.roll(at[:, 0], -1) * at[:, 1]))
        if not area:
            raise ProblemError(
                "the corners of a polygon lie on a line: it is empty",
                fix="give corners that go around an area.",
            )
        self.names, self.measure = names, abs(area)
        self.parts = tuple([f"edge {i}" for i in range(len(at))])
        way = int(np.sign(area))  # 1 if the corners turn left
        *inner, last = range(len(at))
        self.corners, self._order = at[::way], [*inner[::way], last]
        self.bounds = np.stack([at.min(axis=0), at.max(axis=0)], axis=1)
        _check_simple(self.corners)
        self.triangles = _triangulated(self.corners)
        sides = self.triangles[:, 1:] - self.triangles[:, :1]
        self._areas = 0.5 * np.abs(sides[:, 0, 0] * sides[:, 1, 1] - sides[:, 0, 1] * sides[:, 1, 0])

    def __repr__(self) -> str:
        return f"Polygon of {len(self.corners)} corners"

    def inside(self, at: Array) -> Array:
        """Say which points lie inside or on an edge."""
        a, b = self.corners, np.roll(self.corners, -1, axis=0)
        x, y = at[:, :1], at[:, 1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = a[:, 0] + (y - a[:, 1]) * (b[:, 0] - a[:, 0]) / (b[:, 1] - a[:, 1])
        hit = ((a[:, 1] > y) != (b[:, 1] > y)) & (x < crossing)
        found: Array = (np.sum(hit, axis=1) % 2 == 1) | np.any(self._on_edges(at), axis=1)
        return found

    def _on_edges(self, at: Array) -> Array:
        a, b = self.corners, np.roll(self.corners, -1, axis=0)
        along, length = b - a, np.linalg.norm(b - a, axis=1)
        moved = at[:, None] - a
        s = np.clip(np.sum(moved * along, axis=2) / length**2, 0, 1)
        found: Array = np.linalg.norm(moved - s[..., None] * along, axis=2) <= 1e-12 * np.ptp(self.bounds)
        return found

    def inner(self, unit: Array) -> Image:
        """Map a cube to the triangles, each with its share."""
        shares = np.cumsum(self._areas) / np.sum(self._areas)
        which = np.minimum(np.searchsorted(shares, unit[:, 0], side="right"), len(shares) - 1)
        a, b, c = self.triangles[which].transpose(1, 0, 2)
        s, t = np.sqrt(unit[:, 1:2]), unit[:, 2:3]
        return Image((1 - s) * a + s * (1 - t) * b + s * t * c)

    def edge(self, part: str, unit: Array) -> Image:
        """Map the unit interval to an edge."""
        a, b = self.ends(part)
        normal = np.array([b[1] - a[1], a[0] - b[0]]) / np.linalg.norm(b - a)
        return Image(a + unit * (b - a), np.broadcast_to(normal, (len(unit), 2)).copy())

    def quadrature(self, order: int = 20) -> Points:
        """Return the points and weights of Gauss and Legendre in each triangle."""
        at, weights = in_triangles(self.triangles, max(3, math.ceil(order / math.sqrt(len(self.triangles)))))
        return Points(self.names, at, None, weights)

    def edge_spread(self, part: str) -> int:
        """Return 1."""
        return 1

    def part_measure(self, part: str) -> float:
        """Return the length of an edge."""
        a, b = self.ends(part)
        return float(np.linalg.norm(b - a))

    def ends(self, part: str) -> tuple[Array, Array]:
        """Return the corners at which an edge begins and ends."""
        i = list(self._order).index(self.parts.index(part))
        return self.corners[i], self.corners[(i + 1) % len(self.corners)]

    def vanishing(self, parts: Collection[str], point: Point) -> Any:
        """Return the product of the distances from the lines through the edges, if the polygon is convex.

        Edges on one line have one distance between them, which vanishes on all of them or on none.
        """
        if not _convex(self.corners):
            return None
        found: Any = 1.0
        for part in parts:
            a, b = self.ends(part)
            together = [other for other in self.parts if _on_line(a, b, self.ends(other))]
            if not set(together) <= set(parts):
                return None
            if part != together[0]:
                continue
            normal, size = np.array([a[1] - b[1], b[0] - a[0]]), float(np.ptp(self.bounds, axis=1).max())
            normal = normal / (np.linalg.norm(normal) * size)
            x, y = (point[name] for name in self.names)
            found = found * (float(normal[0]) * (x - a[0]) + float(normal[1]) * (y - a[1]))
        return found


def _cross(a: Array, b: Array, c: Array) -> float:
    """Return twice the area of a triangle, positive if it turns left."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _on_line(a: Array, b: Array, edge: tuple[Array, Array]) -> bool:
    """Say whether an edge lies on the line through two points."""
    return all(abs(_cross(a, b, end)) <= 1e-12 * float(np.sum((b - a) ** 2)) for end in edge)


def _convex(corners: Array) -> bool:
    return all(_cross(corners[i - 2], corners[i - 1], corners[i]) >= 0 for i in range(len(corners)))


def _check_simple(corners: Array) -> None:
    """Raise if two edges of a polygon cross."""
    count = len(corners)
    edges = [(corners[i], corners[(i + 1) % count]) for i in range(count)]
    for i, (a, b) in enumerate(edges):
        for c, d in edges[i + 1 :]:
            turns = _cross(a, b, c) * _cross(a, b, d), _cross(c, d, a) * _cross(c, d, b)
            if turns[0] < 0 and turns[1] < 0:
                raise ProblemError("two edges of a polygon cross", fix="give the corners in order, one way round.")


def _triangulated(corners: Array) -> Array:
    """Cut a polygon, whose corners turn left, into triangles by cutting off ears."""
    left, found = list(range(len(corners))), []
    while left[2:]:
        for i in range(len(left)):
            a, b, c = (corners[left[j % len(left)]] for j in (i - 1, i, i + 1))
            area = _cross(a, b, c)
            others = [corners[k] for k in left if not any(np.array_equal(corners[k], v) for v in (a, b, c))]
            inside = any(_cross(a, b, p) >= 0 and _cross(b, c, p) >= 0 and _cross(c, a, p) >= 0 for p in others)
            if not inside if area > 0 else not area:
                found += [[a, b, c]] * (area > 0)
                del left[i]
                break
        else:
            raise ProblemError(
                "a polygon touches itself and cannot be cut into triangles",
                fix="give the corners in the order in which the edge runs, each once.",
            )
    return np.array(found)
