"""Cells beyond the ends of a box, whose averages say what holds at its boundary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ProblemError
from primad.pde.problem.conditions import Condition, Neumann, Periodic
from primad.pde.problem.given_values import GivenValue
from primad.pde.volumes.reconstruction import GHOSTS

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

Numbers = Mapping[str, Any]


class End:
    """What holds at an end of a coordinate of a box.

    A wave that arrives finds the given state outside, where all unknowns are given; where only some are, the cells
    outside mirror those inside, with the given values between them: a wall.

    Args:
        problem: whose end it is.
        conditions: of each unknown there.
        part: the part of the boundary.
        numbers: coefficients and constants by name, for checks.

    Raises:
        ProblemError: if a condition is none that volumes take.
    """

    def __init__(self, problem: Problem, conditions: Mapping[str, Condition], part: str, numbers: Numbers) -> None:
        self.upper = part.endswith("+")
        self.periodic = [isinstance(one, Periodic) for one in conditions.values()]
        self.values: list[GivenValue | None] = []
        self.free: list[bool] = []
        for name, condition in conditions.items():
            if isinstance(condition, Neumann):
                given = condition.values[name]
                if callable(given) or given != 0:
                    raise ProblemError(
                        f"volumes: {condition.what} is of a slope that is not 0",
                        why="Cells outside mirror those inside, with no slope at the end.",
                        fix=f'write Neumann({name}=0, on={part!r}); or solve with a network: method="network".',
                    )
            valued = condition.kind in ("Dirichlet condition", "condition")
            self.values.append(GivenValue(problem, condition, name, part, numbers, "volumes") if valued else None)
            self.free.append(condition.kind == "freedom")
        self.outside = all(value is not None for value in self.values)

    def cells(self, inside: Any, axis: int, points: Any, numbers: Numbers) -> Any:
        """Return the averages over the cells outside, from the inside to the outside.

        Args:
            inside: averages of all unknowns, along their first axis.
            axis: of the array, across the end.
            points: on the end, a row for each of its cells.
            numbers: coefficients and constants by name.
        """
        found = []
        for row, value in enumerate(self.values):
            own = inside[row]
            if self.periodic[row]:
                found.append(_first(own, axis - 1, not self.upper))
                continue
            mirrored = _first(own, axis - 1, self.upper)
            if self.free[row]:
                found.append(pnp.broadcast_to(_first(own, axis - 1, self.upper, 1), mirrored.shape))
            elif value is None:
                found.append(mirrored)
            else:
                shape = [1 if place == axis - 1 else size for place, size in enumerate(own.shape)]
                level = pnp.reshape(value.at(points, numbers), tuple(shape))
                found.append(pnp.broadcast_to(level, mirrored.shape) if self.outside else 2.0 * level - mirrored)
        return pnp.stack(found)


def _first(values: Any, axis: int, upper: bool, count: int = GHOSTS) -> Any:
    """Return the cells nearest to an end of an axis, the nearest first."""
    place: list[Any] = [slice(None)] * np.ndim(values)
    place[axis] = slice(None, -count - 1, -1) if upper else slice(0, count)
    return values[tuple(place)]
