"""What every solution answers, however it was found: values and derivatives at points, errors, pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError, TracingError, no_attribute, suggestion
from primad.pde.deepxde_names import ANSWERS
from primad.pde.geometry.containment import outside, place_of
from primad.pde.geometry.point_arguments import Place
from primad.pde.geometry.sampling import as_rows
from primad.pde.problem.named_arguments import by_name, check_exact
from primad.pde.report import animations, exports, plots
from primad.pde.solve.unknown_functions import Unknown

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

Array = np.ndarray[Any, Any]


class Answers(ABC):
    """A solution as its unknowns, functions of coordinates: `solution.u(x, t)`, `solution.u.d("xx")(x, t)`.

    Attributes:
        problem: the problem.
        inputs: names of the input functions of a family.
        deviations: half the width of the band around it, in standard deviations; 0 of what has none.
    """

    problem: Problem
    inputs: tuple[str, ...] = ()
    deviations: float = 0.0

    @property
    def unknowns(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        return self.problem.unknowns

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates, in order."""
        return self.problem.domain.names

    def __getattr__(self, name: str) -> Unknown:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.unknowns:
            return Unknown(self, name)
        known = (*dir(self), *self.unknowns)
        fix = f"write {ANSWERS[name]}." if name in ANSWERS else suggestion(name, known)
        raise no_attribute("a solution", name, known, fix or f"its unknowns are {', '.join(self.unknowns)}.")

    def at(self, points: Array, unknown: str, derivative: str = "", *, extrapolate: bool = False) -> Array:
        """Return an unknown, or a derivative of it, at points, one a row.

        Args:
            points: an array with a column for each coordinate.
            unknown: its name.
            derivative: along which coordinates, `"xxt"` say; none by default.
            extrapolate: whether points may lie outside of the domain, where no equation holds, and networks return
                anything.

        Raises:
            ShapeError: if points have other columns.
            ProblemError: if there is no such unknown, a point is outside of the domain, or the solution is that of a
                family and not given an input function.
        """
        found: Array = self.evaluated(points, unknown, derivative, extrapolate, {})
        return found

    def spread(self, points: Array, unknown: str, derivative: str = "") -> Array:
        """Return the standard deviation at points, one a row, of what several solutions tell: of a single one 0.

        Args:
            points: an array with a column for each coordinate.
            unknown: its name.
            derivative: along which coordinates, `"xxt"` say; none by default.
        """
        return np.zeros(len(as_rows(points, self.coordinates)))

    @abstractmethod
    def evaluated(
        self, points: Any, unknown: str, derivative: str, extrapolate: bool, functions: Mapping[str, Any]
    ) -> Any:
        """Return what `at` does, for input functions by name as a user gives them; several of them are a first axis."""

    def recorded(self, points: Any, unknown: str, derivative: str, functions: Mapping[str, Any]) -> Any:
        """Return what `evaluated` does at points that are recorded, as a part of the program.

        Raises:
            TracingError: if the solution is none of a network.
        """
        raise TracingError(
            f"{unknown} of a solution on a grid is recorded, as in primad.grad(solution.{unknown})",
            why="It is interpolated by SciPy, and no part of a program: a derivative of it would be lost.",
            fix=f'its derivatives have names: solution.{unknown}.d("{self.coordinates[0]}"); a network that solves the '
            "problem, problem.solve(), is recorded.",
        )

    def _asked_at(self, points: Any, unknown: str, extrapolate: bool) -> Array:
        """Return points, one a row, at which an unknown is asked, if there is one of this name, and they are inside."""
        if unknown not in self.unknowns:
            fix = suggestion(unknown, self.unknowns) or f"there are {', '.join(self.unknowns)}."
            raise ProblemError(f"{unknown!r} is no unknown", fix=fix)
        at = as_rows(points, self.coordinates)
        if not extrapolate:
            self._check_inside(at, unknown)
        return at

    def _check_inside(self, points: Array, unknown: str) -> None:
        """Raise for points outside of the domain; NaN and infinity are handed on."""
        domain, points = self.problem.domain, points[np.all(np.isfinite(points), axis=1)]
        found = outside(domain, points)
        if found.size:
            names = ", ".join(domain.names)
            raise ProblemError(
                f"{unknown} is asked outside of the domain, at {place_of(domain, points[found[0]])} "
                f"({found.size} such of {len(points)} points)",
                why=f"The equations hold in {domain!r}: outside, a network returns anything.",
                fix=f"ask inside, where domain.contains(np.stack([{names}], axis=1)) is true; or take what the network "
                f"returns: solution.{unknown}({names}, extrapolate=True).",
            )

    def error(self, points: int | Array = 10_000, **exact: Callable[..., Any]) -> float:
        """Return the relative L2 error of an unknown: `solution.error(u=lambda x, t: …)`.

        Args:
            points: how many, or the points themselves, one a row.
            **exact: the unknown, and a function of coordinates by name.

        Raises:
            ProblemError: if there is not one unknown, or the function asks for something else than coordinates.
        """
        if len(exact) != 1 or callable(points):
            raise ProblemError(
                f"the error is that of one unknown, got {', '.join(exact) or 'none'}",
                fix=f"write error({self.unknowns[0]}=lambda {', '.join(self.coordinates)}: …).",
            )
        ((name, function),) = exact.items()
        names = self.coordinates
        check_exact(function, name, names)
        at = self.interior(name, points) if isinstance(points, int) else as_rows(points, names)
        known = ChainMap({"points": at}, Place(names, at))  # type: ignore[arg-type]
        right = np.broadcast_to(by_name(function, known), len(at))
        return float(np.linalg.norm(self.at(at, name) - right) / np.linalg.norm(right))

    def interior(self, unknown: str, count: int) -> Array:
        """Return about so many points at which an unknown is compared: inside of the domain."""
        return self.problem.domain.interior(count).at

    plot, plot_error, plot_slices = plots.plot, plots.plot_error, plots.plot_slices
    plot_surface, animate = plots.plot_surface, animations.animate
    table, save_csv, save_vtk = exports.table, exports.save_csv, exports.save_vtk
