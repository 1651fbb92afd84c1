"""Points in a unit cube, in the orders that fill it evenly, and points of a domain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.errors import ProblemError, ShapeError, suggestion
from primad.recording.foreign import plain

__all__ = ["Points"]

Array = np.ndarray[Any, Any]
Sequences = ("sobol", "latin", "uniform", "grid")
SOBOL_MOST = 21201
"""Dimensions for which SciPy has directions of Sobol's sequence."""


@dataclass(frozen=True)
class Points:
    """Points of a domain or of its boundary; where an array is wanted, their coordinates, one point a row.

    Attributes:
        names: of the coordinates.
        at: the points, one a row.
        normals: outward unit normals of boundary points, one a row.
        weights: of a sum over the points that approximates the integral; None if the points are not for that.

    Example:
        >>> from primad import pde
        >>> points = pde.Box(x=(0, 1), y=(0, 2)).interior(100)
        >>> points["y"].shape, len(points)
        ((100,), 100)
    """

    names: tuple[str, ...]
    at: Array
    normals: Array | None = None
    weights: Array | None = None

    def __len__(self) -> int:
        return len(self.at)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.at, dtype) if copy else np.asarray(self.at, dtype)

    def __getitem__(self, name: Any) -> Array:
        if not isinstance(name, str):
            return np.asarray(self.at[name])
        if name not in self.names:
            raise ProblemError(
                f"points with the coordinates {', '.join(self.names)} have no coordinate {name!r}",
                fix=suggestion(name, self.names),
            )
        return self.at[:, self.names.index(name)]

    def chosen(self, which: Array) -> Points:
        """Return some of the points, by a mask or indices."""
        normals = None if self.normals is None else self.normals[which]
        return Points(self.names, self.at[which], normals, None if self.weights is None else self.weights[which])


def as_rows(points: Any, names: Sequence[str]) -> Array:
    """Return points as an array, one a row; of one coordinate its values are taken, too.

    Raises:
        ShapeError: if they have other columns than the coordinates.
    """
    rows: Array = plain(points, np.float64)
    if rows.ndim == len(names) == 1:
        return rows[:, None]
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise ShapeError(
            f"points of shape {rows.shape}, where each row is one of {', '.join(names)}",
            fix=f"pass np.stack([{', '.join(names)}], axis=1), of arrays of one axis.",
        )
    return rows


def most_points(given: Any) -> int:
    """Return how many points an equation has at most, of which some may be given: a number, rows, or a dict of such."""
    if isinstance(given, Mapping):
        return max(most_points(one) for one in given.values())
    return int(given) if isinstance(given, (int, np.integer)) else len(given)


def joined(parts: Sequence[Points]) -> Points:
    """Return several sets of points as one."""
    normals = [part.normals for part in parts if part.normals is not None]
    weights = [part.weights for part in parts if part.weights is not None]
    return Points(
        parts[0].names,
        np.concatenate([part.at for part in parts]),
        np.concatenate(normals) if len(normals) == len(parts) else None,
        np.concatenate(weights) if len(weights) == len(parts) else None,
    )


def generator(*seed: int) -> np.random.Generator:
    """Return the generator that belongs to some integers."""
    return np.random.default_rng([int(part) % 2**63 for part in seed])


def unit_points(how: str, count: int, dimension: int, rng: np.random.Generator) -> Array:
    """Return points of the unit cube, one a row.

    Args:
        how: "sobol" (scrambled), "latin" (a Latin hypercube), "uniform" (independent draws) or "grid" (the middles of
            equal cells, of which there are at least as many as asked for).
        count: how many.
        dimension: of the cube; in dimension 0 the cube is a point.
        rng: for what is random.

    Raises:
        ProblemError: for no points, or another order.
    """
    if count < 1:
        raise ProblemError(
            f"a sample has at least one point, got {count}",
            fix="ask for one or more.",
        )
    if dimension == 0:
        return np.zeros((1 if how == "grid" else count, 0))
    if how == "uniform" or (how == "sobol" and dimension > SOBOL_MOST):
        return rng.random((count, dimension))
    if how == "grid":
        each = math.ceil(count ** (1 / dimension) - 1e-9)
        axes = np.meshgrid(*[(np.arange(each) + 0.5) / each] * dimension, indexing="ij")
        return np.stack([axis.ravel() for axis in axes], axis=1)
    from scipy.stats import qmc  # loads when points are drawn

    if how == "sobol":
        found: Array = qmc.Sobol(dimension, seed=rng).random_base2(math.ceil(math.log2(count)))[:count]
        return found
    if how == "latin":
        found = qmc.LatinHypercube(dimension, seed=rng).random(count)
        return found
    raise ProblemError(f"points cannot be drawn in the order {how!r}", fix=suggestion(how, Sequences) or _orders())


def gauss(order: int, dimension: int) -> tuple[Array, Array]:
    """Return points of the unit cube, one a row, and weights that add up to 1: products of Gauss and Legendre's."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    points = np.meshgrid(*[(nodes + 1) / 2] * dimension, indexing="ij")
    shares = np.meshgrid(*[weights / 2] * dimension, indexing="ij")
    at = np.stack([axis.ravel() for axis in points], axis=1) if dimension else np.zeros((1, 0))
    return at, np.prod([share.ravel() for share in shares], axis=0) if dimension else np.ones(1)


def in_triangles(corners: Array, order: int) -> tuple[Array, Array]:
    """Return points and weights for integrals over triangles: Gauss and Legendre's, with an edge drawn to a corner."""
    unit, weights = gauss(order, 2)
    s, t = unit[:, :1], unit[:, 1:]
    a, b, c = (corners[:, None, i] for i in range(3))
    at = a + s * (b - a) + s * t * (c - b)
    area = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])) / 2
    return at.reshape(-1, 2), (area[:, None] * 2 * unit[:, 0] * weights).ravel()


def only_used(points: Array, cells: Array) -> tuple[Array, Array]:
    """Return those of some points that cells have for corners, and the cells with the numbers of these."""
    used, numbers = np.unique(cells, return_inverse=True)
    return points[used], numbers.reshape(cells.shape)


def _orders() -> str:
    return "choose " + ", ".join(repr(name) for name in Sequences) + "."
