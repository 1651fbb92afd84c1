"""Answers of solutions that are known on a grid of times and places."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primad.pde.geometry.sampling import Array
from primad.pde.solve.answers import Answers


class GridAnswers(Answers):
    """A solution that is known at times and places, between which it is interpolated in each coordinate."""

    degree = 1
    """Of the splines."""

    @abstractmethod
    def on_grid(self, unknown: str, derivative: str) -> tuple[Sequence[str], Sequence[Array], Array]:
        """Return names of coordinates, their values, and those of an unknown, or a derivative, on the grid of these.

        Raises:
            ProblemError: for a derivative that is not known.
        """

    def evaluated(
        self, points: Any, unknown: str, derivative: str, extrapolate: bool, functions: Mapping[str, Any]
    ) -> Any:
        """Return what `at` does."""
        at = self._asked_at(points, unknown, extrapolate)
        names, grid, values = self.on_grid(unknown, derivative)
        columns = np.stack([at[:, self.coordinates.index(name)] for name in names], axis=1)
        return _interpolated(grid, values, columns, self.degree)


def _interpolated(grid: Sequence[Array], values: Array, points: Array, degree: int) -> Array:
    """Return values on a grid at points, by splines along each coordinate.

    `RegularGridInterpolator` solves for its cubic splines to six digits only, also at the points of the grid.
    """
    from scipy.interpolate import NdBSpline, make_interp_spline  # loads when it is called

    knots = []
    for axis, places in enumerate(grid):
        spline = make_interp_spline(places, np.moveaxis(values, axis, 0), degree)
        knots.append(spline.t)
        values = np.moveaxis(spline.c, 0, axis)
    found: Array = NdBSpline(tuple(knots), values, degree)(points)
    return found
