"""Values that conditions give unknowns at points of a grid, at the start and at ends."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ProblemError
from primad.functional.derivatives.first_order import jvp
from primad.pde.fields.given_fields import GivenField, Take
from primad.pde.fields.named_fields import FieldAt
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import space_of
from primad.pde.geometry.point_arguments import Place, as_normal
from primad.pde.problem.conditions import Condition, Dirichlet, Initial
from primad.pde.problem.named_arguments import by_name
from primad.pde.problem.used_arguments import depends
from primad.recording import tree

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

Numbers = Mapping[str, Any]


def residuals_at(
    function: Callable[[Mapping[str, Any]], Any],
    unknowns: Sequence[str],
    domain: Domain,
    points: Any,
    take: Take,
    numbers: Numbers,
) -> list[Any]:
    """Return what is to be zero at points where unknowns and their derivatives are given, an array over points each.

    Args:
        function: of what is known by name.
        unknowns: their names.
        domain: whose coordinates there are.
        points: one a row.
        take: gives values and derivatives of unknowns, by their name and the coordinates.
        numbers: coefficients, constants and what else there is by name.
    """
    names, shape = domain.names, np.shape(points)[:-1]

    def given(name: str, along: tuple[str, ...]) -> Any:
        return take(name, along) if name else points[..., names.index(along[0])]

    fields = {name: GivenField(name, domain, given, shape) for name in unknowns}
    known = ChainMap({**numbers, **fields, "points": points}, Place(names, points))  # type: ignore[arg-type]
    leaves = tree.leaves(tree.map(lambda leaf: leaf.value if isinstance(leaf, FieldAt) else leaf, function(known)))
    return [leaf if np.ndim(leaf) else np.broadcast_to(leaf, shape) for leaf in leaves]


class GivenValue:
    """The values that a condition gives an unknown at points.

    Args:
        problem: whose condition it is.
        condition: Dirichlet's, an initial one, or one's own that is linear in the values of one unknown.
        name: of the unknown.
        part: of the boundary, whose outward normal is along one coordinate.
        numbers: coefficients and constants by name, for the check.
        method: what the grid method is called.

    Raises:
        ProblemError: if the condition gives no values.
    """

    def __init__(
        self, problem: Problem, condition: Condition, name: str, part: str, numbers: Numbers, method: str
    ) -> None:
        self.domain, self.condition, self.name, self.part = problem.domain, condition, name, part
        self._method = method
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
        own = {
            **numbers,
            self.name: field,
            "points": points,
            "n": as_normal(normal, self.domain.names, space_of(self.domain)),
        }
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
            f"{self._method}: {self.condition.what}, which should give {self.name} on the part {self.part!r}, {how}",
            why="A condition of one's own gives the values of one unknown on a grid.",
            fix=f"write pde.Condition(lambda {self.name}, …: {self.name}.value - …, on={self.part!r}); where waves "
            f"leave the domain, pde.Free({self.name!r}, on={self.part!r}).",
        )
