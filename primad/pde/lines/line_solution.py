"""A solution by the method of lines, which is asked as every other one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from primad.errors import ProblemError
from primad.pde.fields.coordinate_names import coordinates
from primad.pde.geometry.sampling import Array
from primad.pde.lines.grid_derivatives import Spectral
from primad.pde.solve.grid_answers import GridAnswers

if TYPE_CHECKING:
    from primad.pde.lines.method_of_lines import Lines

__all__ = ["LineSolution"]


class LineSolution(GridAnswers):
    """What the method of lines found: `solution.u(x, t)`, `solution.u.d("xx")(x, t)`, `error`, `plot`.

    Between points of the grid, and the times that are kept, values are cubic splines; of the spectral method, between
    eight times as many points, at which they are sums of its waves. Derivatives in space are those of the method.

    Attributes:
        problem: the problem.
        lines: the grid.
        states: the values on the grid at all times that are kept, along the first axis, by unknown.
    """

    degree = 3

    def __init__(self, lines: Lines, states: Mapping[str, Array]) -> None:
        self.problem, self.lines, self.states = lines.problem, lines, states

    def on_grid(self, unknown: str, derivative: str) -> tuple[Sequence[str], Sequence[Array], Array]:
        """Return times and places, the ends of periodic coordinates included, and values there."""
        lines, values = self.lines, self.states[unknown]
        along = coordinates(self.coordinates).split(derivative) if derivative else ()
        if lines.time in along:
            raise ProblemError(
                f"lines: the derivative {derivative!r} of {unknown} is asked for",
                why="The method of lines knows derivatives in space.",
                fix="take them from the equation.",
            )
        if along:
            orders = tuple([along.count(name) for name in lines.space])
            rows = [np.asarray(lines.derivative(state.ravel(), orders)) for state in values]
            values = np.stack(rows).reshape(values.shape)
        grid = [lines.times]
        for axis, (places, periodic) in enumerate(zip(lines.places, lines.periodic, strict=True)):
            if isinstance(lines.derivative, Spectral):
                places, values = _finer(places, values, axis + 1)
            elif periodic:
                places = np.append(places, 2 * places[-1] - places[-2])
                values = np.concatenate([values, np.take(values, [0], axis + 1)], axis=axis + 1)
            grid.append(places)
        return (lines.time, *lines.space), grid, values

    def __repr__(self) -> str:
        return f"<solution of {', '.join(self.unknowns)}: {self.lines.size}>"


def _finer(places: Array, values: Array, axis: int) -> tuple[Array, Array]:
    """Return eight times as many places of a periodic coordinate, and the values of the sums of waves there.

    They go on for some places beyond both ends, where a spline is less exact.
    """
    from scipy.signal import resample  # loads when it is called

    finer, count = 8, 8 * len(places)
    around = np.arange(-finer, count + finer + 1)
    found = np.take(resample(values, count, axis=axis), around % count, axis)
    return places[0] + (places[1] - places[0]) / finer * around, found
