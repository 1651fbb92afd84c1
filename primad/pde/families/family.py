"""The input functions of a family of problems: at points as fields, for networks as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.errors import ProblemError, TracingError, suggestion
from primad.numpy.shapes.shaping import concatenate, reshape
from primad.pde.families.input_functions import InputFunctions, generated, spline
from primad.pde.fields.named_fields import Field, FieldAt
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.point_arguments import Place
from primad.pde.geometry.sampling import Array
from primad.recording.foreign import plain
from primad.recording.traced_array import is_traced

Row = Mapping[str, Any]
OF_EACH = "of each function "
"""What the arrays of a term begin with that have a value for each function at each point."""


@dataclass(frozen=True)
class Family:
    """The functions that a problem is over.

    In the arrays of a term, those of a function are its values at the sensors, a function a row.

    Attributes:
        domain: of the problem.
        inputs: how functions are drawn, by name.
    """

    domain: Domain
    inputs: Mapping[str, InputFunctions]

    def __bool__(self) -> bool:
        return bool(self.inputs)

    @property
    def size(self) -> int:
        """How many numbers a network gets of the functions."""
        return sum(one.sensors for one in self.inputs.values())

    def _grid(self, name: str) -> Array:
        one = self.inputs[name]
        low, high = self.domain.bounds[self.domain.names.index(one.coordinate)]
        return np.linspace(low, high, one.sensors)

    def drawn(self, seed: Sequence[int], most: int | None = None) -> dict[str, Array]:
        """Return functions that belong to some integers: arrays of a term.

        Args:
            seed: the integers.
            most: how many of them; None for all.
        """
        found = [generated(one, self._grid(name), (*seed, i)) for i, (name, one) in enumerate(self.inputs.items())]
        return {key(name): values[:most] for name, values in zip(self.inputs, found, strict=True)}

    def members(self, row: Row) -> int:
        """Return how many functions the arrays of a term have; 1 where there is no family."""
        return len(row[key(next(iter(self.inputs)))]) if self.inputs else 1

    def numbers(self, row: Row) -> Any:
        """Return what networks get of the functions in the arrays of a term, a function a row; None of no family."""
        parts = [row[key(name)] / one.scale for name, one in self.inputs.items()]
        return concatenate(parts, axis=1) if parts else None

    def at(self, row: Row) -> dict[str, FieldAt]:
        """Return the functions at the points of a term."""
        place, found = Place(self.domain.names, row["at"]), {}
        for name, one in self.inputs.items():
            function = spline(self._grid(name), row[key(name)])
            found[name] = Field(function, one.coordinate, family=True, space=one.coordinate)(place[one.coordinate])
        return found

    def rows(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """Return functions that a user gives as arrays of a term, and whether they are several.

        Args:
            given: for each name a function of the coordinate, a number, the values at the sensors, or several rows of
                these.

        Raises:
            ProblemError: if one is missing, or has other values than one at each sensor.
        """
        if set(given) != set(self.inputs):
            wrong = [name for name in given if name not in self.inputs]
            call = ", ".join(f"{name}=…" for name in self.inputs)
            raise ProblemError(
                f"there is no input function {wrong[0]!r}" if wrong else "the solution is that of a family of problems",
                why="" if wrong else f"It depends on {', '.join(self.inputs)}.",
                fix=(wrong and suggestion(wrong[0], self.inputs))
                or f"say of which function: solution.u(x, {call}), or solution.given({call}) for pictures and errors.",
            )
        found = {name: self._values(name, value) for name, value in given.items()}
        counts = {len(values) for values, several in found.values() if several}
        if len(counts) > 1:
            raise ProblemError(
                f"of the input functions there are {' and '.join(map(str, sorted(counts)))}",
                fix="give as many of each.",
            )
        many = counts.pop() if counts else 1
        rows = {key(name): v if len(v) == many else concatenate([v] * many) for name, (v, _) in found.items()}
        return rows, any(several for _, several in found.values())

    def _values(self, name: str, given: Any) -> tuple[Any, bool]:
        """Return the values of functions at the sensors, and whether they are several."""
        grid = self._grid(name)
        values = given(grid) if callable(given) else given
        if not is_traced(values):
            values = plain(values, np.float64)
            if not np.all(np.isfinite(values)):
                raise ProblemError(f"a value of the input function {name} is NaN or infinite", fix="mend it.")
        if values.ndim == 0:
            values = values * np.ones(len(grid))
        if values.ndim not in (1, 2) or values.shape[-1] != len(grid):
            coordinate = self.inputs[name].coordinate
            raise ProblemError(
                f"the input function {name} has values of the shape {values.shape}",
                fix=f"pass a function of {coordinate}, or its values at the sensors, "
                f"np.linspace({grid[0]:g}, {grid[-1]:g}, {len(grid)}); of several functions one a row.",
            )
        return (values, True) if values.ndim == 2 else (reshape(values, (1, -1)), False)


def key(name: str) -> str:
    """Return what the values of a function are called in the arrays of a term."""
    return f"function {name}"


def family_of(domain: Domain, given: Mapping[str, InputFunctions] | None) -> Family:
    """Check the input functions of a problem.

    Raises:
        ProblemError: if they have no names, one is none, of no coordinate of the domain, or there are more of one than
            of another.
    """
    if not isinstance(given, Mapping | None):
        raise ProblemError(
            f"a family has its functions by name, got {type(given).__name__}",
            fix='write family={"v": pde.GaussianProcess("x")}, and let the equation ask for v.',
        )
    found = dict(given or {})
    for name, one in found.items():
        if not isinstance(one, InputFunctions):
            got = one.__name__ if isinstance(one, type) else type(one).__name__
            raise TracingError(
                f"the family's {name!r} says how functions are drawn, got {got}",
                fix='pass pde.GaussianProcess("x"); for numbers as inputs multiply the domain with pde.Parameters.',
            )
        if one.coordinate not in domain.names:
            raise ProblemError(
                f"the family's {name!r} are functions of {one.coordinate!r}, which is no coordinate",
                fix=suggestion(one.coordinate, domain.names) or f"the coordinates are {', '.join(domain.names)}.",
            )
    counts = {name: one.count for name, one in found.items()}
    if len(set(counts.values())) > 1:
        raise ProblemError(
            f"a family has as many of each function, got {', '.join(f'{n} of {name}' for name, n in counts.items())}",
            fix="give each the same count=.",
        )
    return Family(domain, found)


def folded(values: Array, points: int) -> Array:
    """Return the mean squares of residuals over the functions of a family, added up over labels: one number a point."""
    return np.asarray(np.sum(np.mean(np.reshape(values, (-1, points, values.shape[1])) ** 2, axis=0), axis=1))


def single(row: Mapping[str, Array], place: int) -> dict[str, Array]:
    """Return the arrays of a term at one residual alone, of one function at one point."""
    points = len(row["at"])
    function, point = divmod(place, points)

    def chosen(name: str) -> int:
        return place if name == "scale" else function if name.startswith((key(""), OF_EACH)) else point

    found = {name: column[chosen(name) : chosen(name) + 1] for name, column in row.items()}
    return {name: x[:, point : point + 1] if name.startswith(OF_EACH) else x for name, x in found.items()}
