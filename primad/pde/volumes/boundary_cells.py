"""Cells beyond the ends of a box, whose averages say what holds at its boundary; and values at the start."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ProblemError
from primad.functional.derivatives.first_order import jvp
from primad.pde.elements.weak_forms import depends
from primad.pde.fields.given_fields import GivenField
from primad.pde.fields.named_fields import FieldAt
from primad.pde.geometry.point_arguments import Place, as_normal
from primad.pde.problem.conditions import Condition, Dirichlet, Initial, Neumann, Periodic
from primad.pde.problem.named_arguments import by_name
from primad.pde.volumes.reconstruction import GHOSTS

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

Numbers = Mapping[str, Any]


class GivenValue:
    """The values that a condition gives an unknown at points.

    Args:
        problem: whose condition it is.
        condition: Dirichlet's, an initial one, or one's own that is linear in the values of one unknown.
        name: of the unknown.
        part: of the boundary, whose outward normal is along one coordinate.
        numbers: coefficients and constants by name, for the check.

    Raises:
        ProblemError: if the condition gives no values.
    """

    def __init__(self, problem: Problem, condition: Condition, name: str, part: str, numbers: Numbers) -> None:
        self.domain, self.condition, self.name, self.part = problem.domain, condition, name, part
        self.unknowns = problem.unknowns
        if not isinstance(condition, (Dirichlet, Initial)):
            self._check(numbers)

    def at(self, points: Any, numbers: Numbers) -> Any:
        """Return the values at points, one a row."""
        if isinstance(self.condition, (Dirichlet, Initial)):
            value = self.condition.values[self.name]
            if callable(value):
                known = ChainMap({"points": points}, Place(self.domain.names, points))  # type: ignore[arg-type]
                value = by_name(value, known)
            return pnp.broadcast_to(value, (points.shape[0],))
        nothing = np.zeros(points.shape[0])
        level, slope = self._linear(points, nothing, numbers)
        return -level / slope

    def _linear(self, points: Any, u: Any, numbers: Numbers) -> tuple[Any, Any]:
        level, slope = jvp(lambda u: self._residual(points, u, numbers), (u,), (np.ones(points.shape[0]),))
        return level, slope

    def _residual(self, points: Any, u: Any, numbers: Numbers) -> Any:
        def take(name: str, along: tuple[str, ...]) -> Any:
            if not name:
                return points[:, self.domain.names.index(along[0])]
            if along:
                self._refuse(f"has the derivative of {name} along {' and '.join(along)} in it")
            return u

        field = GivenField(self.name, self.domain, take, (points.shape[0],))
        normal = [np.zeros(points.shape[0]) for _ in self.domain.names]
        if self.part != "initial":
            normal[self.domain.names.index(self.part[:-1])] += 1.0 if self.part[-1] == "+" else -1.0
        own = {**numbers, self.name: field, "points": points, "n": as_normal(normal, self.domain.names)}
        found = by_name(
            self.condition.residual,
            ChainMap(own, Place(self.domain.names, points)),  # type: ignore[arg-type]
        )
        found = found.value if isinstance(found, FieldAt) else found
        return pnp.broadcast_to(found, (points.shape[0],))

    def _check(self, numbers: Numbers) -> None:
        points = self.domain.boundary(self.part, 3).at
        drawn = np.linspace(0.3, 0.7, len(points))
        if any(depends(lambda u: self._linear(points, u, numbers)[1], (drawn,), 0)):
            self._refuse("is not linear in it")
        if not np.all(np.asarray(self._linear(points, drawn, numbers)[1])):
            self._refuse("does not have it in it everywhere")

    def _refuse(self, how: str) -> None:
        raise ProblemError(
            f"volumes: {self.condition.what}, which should give {self.name} on the part {self.part!r}, {how}",
            why="Volumes take values of unknowns at the start and at ends, and derivatives of 0 at ends.",
            fix=f"write pde.Condition(lambda {self.name}, …: {self.name}.value - …, on={self.part!r}); where waves "
            f"leave the domain, pde.Free({self.name!r}, on={self.part!r}).",
        )


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
            self.values.append(GivenValue(problem, condition, name, part, numbers) if valued else None)
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
