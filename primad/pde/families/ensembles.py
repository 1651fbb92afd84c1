"""Several solutions of one question as one: their mean, and how far they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError, TracingError
from primad.pde.geometry.sampling import Array
from primad.pde.report.picture_grids import grid
from primad.pde.report.plots import chosen, draw_size
from primad.pde.solve.answers import Answers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Ensemble"]

DEVIATIONS = 2.0
"""Half the width of a band in standard deviations, if not said otherwise: of a normal distribution 95 % lie inside."""


class Ensemble(Answers):
    """The mean of several solutions, with the band in which they lie: `Ensemble([problem.solve(seed=i), …])`.

    Members differ in what is not known: the seed of the search, the noise of data, a coefficient that is measured. What
    is asked of it, `u(x)`, `at`, `error`, `table`, pictures, is the mean's; lines in pictures have the band around
    them, and tables and files its ends, `u.low` and `u.high`. A band says how far members differ, and nothing of an
    error that all of them have.

    Args:
        members: solutions with the same unknowns in the same domain, two at least.
        deviations: half the width of the band, in standard deviations of the members.

    Attributes:
        members: the solutions.
        problem: of the first one.

    Raises:
        ProblemError: if there are not two, or they have other unknowns or another domain.

    Example:
        >>> from primad import pde
        >>> def found(load):
        ...     cable = pde.Problem(
        ...         lambda u: u.xx + load, pde.Interval(0, 1), pde.Dirichlet(u=0), network=pde.MLP(4, 1)
        ...     )
        ...     return cable.solve(steps=30, points=20, progress=False)
        >>> loads = pde.Ensemble([found(load) for load in (1.8, 2.0, 2.2)])
        >>> bool(abs(loads.u(0.5) - 0.25) < 1e-4), bool(abs(loads.spread([[0.5]], "u")[0] - 0.025) < 1e-4)
        (True, True)
    """

    def __init__(self, members: Sequence[Answers], deviations: float = DEVIATIONS) -> None:
        if not isinstance(members, Iterable):
            raise TracingError(
                f"the members of an ensemble are several solutions, got {type(members).__name__}",
                fix="pass a list: pde.Ensemble([problem.solve(seed=seed) for seed in range(5)]).",
            )
        self.members = tuple(members)
        if len(self.members) < 2:
            raise ProblemError(
                f"an ensemble of {len(self.members)} solution{'s' * (len(self.members) != 1)}",
                fix="give two at least: pde.Ensemble([problem.solve(seed=seed) for seed in range(5)]).",
            )
        for one in self.members:
            if not isinstance(one, Answers):
                raise TracingError(
                    f"a member of an ensemble is a solution, got {type(one).__name__}", fix="pass what solve returns."
                )
        if not (isinstance(deviations, (int, float)) and 0 < deviations < np.inf):
            raise ProblemError(
                f"the deviations of a band are a positive number, got {deviations!r}", fix="leave it out."
            )
        first = self.members[0]
        self.problem, self.deviations = first.problem, float(deviations)
        for one in self.members:
            self._check_alike(one.problem, first.problem)
            if getattr(one, "functions", None) is None and one.inputs:
                raise ProblemError(
                    "a member of an ensemble is the solution of a family",
                    fix=f"say of which function: solution.given({one.inputs[0]}=…).",
                )

    @staticmethod
    def _check_alike(one: Any, first: Any) -> None:
        if one.complex:
            raise ProblemError(
                "a member of an ensemble is complex", why="Bands are of real values.", fix="leave it out."
            )
        for what, own, other in (
            ("unknowns", one.unknowns, first.unknowns),
            ("coordinates", one.domain.names, first.domain.names),
            ("bounds", one.domain.bounds.tolist(), first.domain.bounds.tolist()),
        ):
            if own != other:
                raise ProblemError(
                    f"the members of an ensemble have other {what}: {own} and {other}",
                    fix="give solutions of one question.",
                )

    def evaluated(
        self, points: Any, unknown: str, derivative: str, extrapolate: bool, functions: Mapping[str, Any]
    ) -> Any:
        """Return what `at` does: the mean."""
        return np.mean(self._each(points, unknown, derivative, extrapolate), axis=0)

    def recorded(self, points: Any, unknown: str, derivative: str, functions: Mapping[str, Any]) -> Any:
        """Return the mean at points that are recorded."""
        each = [one.recorded(points, unknown, derivative, functions) for one in self.members]
        return sum(each[1:], start=each[0]) / len(each)

    def _each(self, points: Any, unknown: str, derivative: str, extrapolate: bool = False) -> Array:
        return np.stack([one.at(points, unknown, derivative, extrapolate=extrapolate) for one in self.members])

    def spread(self, points: Any, unknown: str, derivative: str = "") -> Array:
        """Return the standard deviation of the members at points, one a row.

        Args:
            points: an array with a column for each coordinate.
            unknown: its name.
            derivative: along which coordinates, `"xxt"` say; none by default.
        """
        return np.asarray(np.std(self._each(points, unknown, derivative), axis=0, ddof=1))

    @property
    def coefficients(self) -> dict[str, Any]:
        """The means of the coefficients that members learned."""
        return {name: np.mean(values, axis=0) for name, values in self._learned().items()}

    @property
    def coefficient_spread(self) -> dict[str, Any]:
        """The standard deviations of the coefficients that members learned."""
        return {name: np.std(values, axis=0, ddof=1) for name, values in self._learned().items()}

    def _learned(self) -> dict[str, Array]:
        each = [getattr(one, "coefficients", {}) for one in self.members]
        return {name: np.stack([one[name] for one in each]) for name in each[0] if all(name in one for one in each)}

    def plot_spread(
        self,
        unknown: str | None = None,
        *,
        axes: Axes | None = None,
        along: Sequence[str] | None = None,
        log: bool = False,
        **fixed: float,
    ) -> Axes:
        """Draw the standard deviation of the members, over one or two coordinates.

        Args:
            unknown: which unknown, or derivative of one, as "u.x"; the first unknown by default.
            axes: matplotlib's axes to draw on; by default those of a new figure.
            along: names of one or two coordinates; by default two, if there are.
            log: whether colours, or the axis, are logarithmic.
            **fixed: values of other coordinates; those that are missing are in the middle.

        Returns:
            the axes.
        """
        name, where = chosen(self, unknown), grid(self, along, fixed)
        values = where.each(self.spread, name)
        drawn: Axes = draw_size(axes, where, values, f"deviation of {name}", log)
        return drawn

    def __repr__(self) -> str:
        return f"<{len(self.members)} solutions of {', '.join(self.unknowns)}>"
