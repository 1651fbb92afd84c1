"""A solution by finite elements, which is asked as every other one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.fields.coordinate_names import coordinates
from primad.pde.geometry.sampling import Array
from primad.pde.solve.answers import Answers

if TYPE_CHECKING:
    from primad.pde.elements.discretisation import Elements

__all__ = ["ElementSolution"]

IN_TIME = 3
"""Degree of the splines between the states that are kept."""
BLOCK = 2**22
"""Numbers that are interpolated in time at once, at most."""


class ElementSolution(Answers):
    """What finite elements found: `solution.u(x, y)`, `at`, `error`, `plot`, as of a `Solution`.

    Derivatives are those of the polynomials on each element. In time, values are cubic splines between the states.

    Attributes:
        problem: the problem.
        elements: the elements.
        states: the values at their nodes by unknown, of a problem with time at all times that are kept, along the first
            axis.
    """

    def __init__(self, elements: Elements, states: Mapping[str, Array]) -> None:
        self.problem, self.elements, self.states = elements.problem, elements, dict(states)

    @property
    def nodal(self) -> Array:
        """The values of the first unknown at its nodes, of a problem with time at the end."""
        first = self.states[self.unknowns[0]]
        return first if self.elements.steps is None else first[-1]

    def evaluated(
        self, points: Any, unknown: str, derivative: str, extrapolate: bool, functions: Mapping[str, Any]
    ) -> Any:
        """Return what `at` does."""
        at, time = self._asked_at(points, unknown, extrapolate), self.elements.form.time
        states = self.states[unknown]
        if time is None:
            found = self.elements.interpolation(at, derivative, unknown) @ states
            return np.where(self._there(at, unknown), found, np.nan)
        if derivative and time in coordinates(self.coordinates).split(derivative):
            raise ProblemError(
                f"elements: the derivative {derivative!r} of {unknown} is asked for",
                why="Elements know derivatives in space.",
                fix="take it from the equation.",
            )
        names = self.coordinates
        place = at[:, [names.index(name) for name in self.elements.form.space]]
        when = at[:, names.index(time)]
        found = np.empty(len(at))
        step = max(1, BLOCK // len(states))
        for begin in range(0, len(at), step):
            rows = slice(begin, begin + step)
            there = self.elements.interpolation(place[rows], derivative, unknown) @ states.T
            found[rows] = np.sum(there * _shares(self.elements.times, when[rows]), axis=1)
        return np.where(self._there(place, unknown), found, np.nan)

    def _there(self, at: Array, unknown: str) -> Array:
        """Say where an unknown is: one of a material alone is NaN outside."""
        place, elements = self.unknowns.index(unknown), self.elements
        if len(elements.spaces[place].cells) == len(elements.mesh.cells):
            return np.ones(len(at), bool)
        return elements.location(unknown).holds(at)

    def interior(self, unknown: str, count: int) -> Array:
        """Return points inside of the domain, of those where the unknown is."""
        at, names = self.problem.domain.interior(count).at, self.coordinates
        return at[self._there(at[:, [names.index(name) for name in self.elements.form.space]], unknown)]

    def __repr__(self) -> str:
        return f"<solution of {', '.join(self.unknowns)}: {self.elements.size}>"


def _shares(times: Array, when: Array) -> Array:
    """Return how much of each state there is at some times, by splines: a row for each of these."""
    from scipy.interpolate import make_interp_spline  # loads when it is called

    spline = make_interp_spline(times, np.eye(len(times)), min(IN_TIME, len(times) - 1))
    return np.asarray(spline(when))
