"""A solution by finite volumes, which is asked as every other one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.sampling import Array
from primad.pde.solve.grid_answers import GridAnswers

if TYPE_CHECKING:
    from primad.pde.volumes.finite_volumes import Volumes

__all__ = ["VolumeSolution"]


class VolumeSolution(GridAnswers):
    """What finite volumes found: `solution.u(x, t)`, `at`, `error`, `plot`, as of a `Solution`.

    Between the centres of cells, and the times that are kept, values are linear in each coordinate.

    Attributes:
        problem: the problem.
        volumes: the cells and steps.
        states: the averages over cells at all times that are kept, along the first axis, by unknown.
    """

    def __init__(self, volumes: Volumes, states: Mapping[str, Array]) -> None:
        self.problem, self.volumes, self.states = volumes.problem, volumes, states

    def on_grid(self, unknown: str, derivative: str) -> tuple[Sequence[str], Sequence[Array], Array]:
        """Return times and places, with one cell more beyond each end, and the averages there."""
        if derivative:
            raise ProblemError(
                f"volumes: the derivative {derivative!r} of {unknown} is asked for",
                why="Volumes know averages over cells, between which there may be jumps.",
                fix="take differences of solution.states; or solve with a network.",
            )
        grid, values = [self.volumes.times], self.states[unknown]
        place = self.unknowns.index(unknown)
        for axis, (centers, ends) in enumerate(zip(self.volumes.centers, self.volumes.ends, strict=True)):
            width = [(0, 0)] * values.ndim
            width[axis + 1] = (1, 1)
            values = np.pad(values, width, mode="wrap" if ends[0].periodic[place] else "edge")
            step = centers[1] - centers[0]
            grid.append(np.concatenate([[centers[0] - step], centers, [centers[-1] + step]]))
        return (self.volumes.clock.names[0], *self.volumes.space), grid, values

    def __repr__(self) -> str:
        return f"<solution of {', '.join(self.unknowns)}: {self.volumes.size}>"
