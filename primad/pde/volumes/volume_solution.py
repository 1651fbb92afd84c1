"""A solution by finite volumes, which is asked as every other one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError, suggestion
from primad.pde.geometry.sampling import Array, as_rows
from primad.pde.solve.answers import Answers

if TYPE_CHECKING:
    from primad.pde.volumes.finite_volumes import Volumes

__all__ = ["VolumeSolution"]


class VolumeSolution(Answers):
    """What finite volumes found: `solution.u(x, t)`, `at`, `error`, `plot`, as of a `Solution`.

    Between the centres of cells, and the times that are kept, values are linear in each coordinate.

    Attributes:
        problem: the problem.
        volumes: the cells and steps.
        states: the averages over cells at all times that are kept, along the first axis, by unknown.
    """

    def __init__(self, volumes: Volumes, states: Mapping[str, Array]) -> None:
        self.problem, self.volumes, self.states = volumes.problem, volumes, states

    def evaluated(
        self, points: Any, unknown: str, derivative: str, extrapolate: bool, functions: Mapping[str, Any]
    ) -> Any:
        """Return what `at` does."""
        if unknown not in self.unknowns:
            fix = suggestion(unknown, self.unknowns) or f"there are {', '.join(self.unknowns)}."
            raise ProblemError(f"{unknown!r} is no unknown", fix=fix)
        if derivative:
            raise ProblemError(
                f"volumes: the derivative {derivative!r} of {unknown} is asked for",
                why="Volumes know averages over cells, between which there may be jumps.",
                fix="take differences of solution.states; or solve with a network.",
            )
        at = as_rows(points, self.coordinates)
        if not extrapolate:
            self._check_inside(at, unknown)
        from scipy.interpolate import RegularGridInterpolator  # loads when it is called

        grid, values = self._widened(unknown)
        names = [self.volumes.clock.names[0], *self.volumes.space]
        columns = np.stack([at[:, self.coordinates.index(name)] for name in names], axis=1)
        return RegularGridInterpolator(grid, values, bounds_error=False, fill_value=None)(columns)

    def _widened(self, unknown: str) -> tuple[list[Array], Array]:
        """Return times and places, with one cell more beyond each end, and the averages there."""
        grid, values = [self.volumes.times], self.states[unknown]
        place = self.unknowns.index(unknown)
        for axis, (centers, ends) in enumerate(zip(self.volumes.centers, self.volumes.ends, strict=True)):
            width = [(0, 0)] * values.ndim
            width[axis + 1] = (1, 1)
            values = np.pad(values, width, mode="wrap" if ends[0].periodic[place] else "edge")
            step = centers[1] - centers[0]
            grid.append(np.concatenate([[centers[0] - step], centers, [centers[-1] + step]]))
        return grid, values

    def __repr__(self) -> str:
        return f"<solution of {', '.join(self.unknowns)}: {self.volumes.size}>"
