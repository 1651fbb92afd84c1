"""Values at the ends of a grid of points, by what conditions say there."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.pde.geometry.point_arguments import Place, as_normal
from primad.pde.geometry.sampling import Array
from primad.pde.lines.grid_derivatives import Differences
from primad.pde.problem.conditions import Condition, Neumann, Robin
from primad.pde.problem.given_values import GivenValue
from primad.pde.problem.named_arguments import by_name

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem


class LineEnd:
    """What holds for an unknown at an end of a coordinate: a·u + b·∂u/∂n = g, or the equation.

    Args:
        problem: whose end it is.
        condition: of the unknown there.
        name: of the unknown.
        part: the part of the boundary.
        differences: that give ∂u/∂n from one side.
        space: the coordinates of space, in their order.
        numbers: coefficients and constants by name, for checks.

    Attributes:
        place: of the unknown among all.
    """

    def __init__(
        self,
        problem: Problem,
        condition: Condition,
        name: str,
        part: str,
        differences: Differences,
        space: Sequence[str],
        numbers: Mapping[str, Any],
    ) -> None:
        self.place, self._name, self._condition = problem.unknowns.index(name), name, condition
        self._axis, self._upper, self._names = space.index(part[:-1]), part.endswith("+"), problem.domain.names
        self._space = space
        self._along = self._names.index(part[:-1])
        self._free = condition.kind == "freedom"
        self._sloped = isinstance(condition, (Neumann, Robin))
        self._value = (
            None if self._free or self._sloped else GivenValue(problem, condition, name, part, numbers, "lines")
        )
        row = differences.line(self._axis, 1)[[-1 if self._upper else 0], :].toarray()[0]
        self._slope = row if self._upper else -row

    def mark(self, held: Array) -> None:
        """Say which values a condition holds.

        Args:
            held: for each unknown and point of the grid, where those of this end become true.
        """
        if not self._free:
            np.moveaxis(held[self.place], self._axis, 0)[-1 if self._upper else 0] = True

    def held(self, values: Any, at: Any, numbers: Mapping[str, Any]) -> Any:
        """Return values on the grid, of which those at the end are what the condition says.

        Args:
            values: on the grid.
            at: its points, their coordinates along a last axis.
            numbers: coefficients and constants by name.
        """
        if self._free:
            return values
        axis, count = self._axis, np.shape(values)[self._axis]
        last = count - 1 if self._upper else 0
        place: list[Any] = [slice(None)] * np.ndim(values)
        place[axis] = slice(last, last + 1)
        edge = values[tuple(place)]
        points = pnp.reshape(at[tuple(place)], (-1, len(self._names)))
        own = self._value
        level = self._from_slope(values, points, last) if own is None else own.at(points, numbers)
        place[axis] = slice(1, None) if last == 0 else slice(0, last)
        rest, level = (
            values[tuple(place)],
            pnp.reshape(pnp.broadcast_to(level, (int(np.prod(np.shape(edge))),)), np.shape(edge)),
        )
        return pnp.concatenate([level, rest] if last == 0 else [rest, level], axis=axis)

    def _from_slope(self, values: Any, points: Any, last: int) -> Any:
        """Return the values at the end for which a·u + b·∂u/∂n, by differences from one side, is what is given."""
        count = np.shape(points)[0]
        normal = [np.zeros(count) for _ in self._names]
        normal[self._along] += 1.0 if self._upper else -1.0
        own = {"n": as_normal(normal, self._names, self._space), "points": points}
        known = ChainMap(own, Place(self._names, points))  # type: ignore[arg-type]
        one: Any = self._condition
        given = [one.values[self._name], *((one.a, one.b) if isinstance(one, Robin) else (0.0, 1.0))]
        target, a, b = (by_name(value, known) if callable(value) else value for value in given)
        others = self._slope.copy()
        others[last] = 0.0
        inner = pnp.reshape(pnp.tensordot(values, others, axes=((self._axis,), (0,))), (-1,))
        return (target - b * inner) / (a + b * self._slope[last])
