"""A problem on a grid of points: a system of ordinary differential equations, integrated and differentiated."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ProblemError
from primad.functional.derivatives.first_order import jvp
from primad.integrate.ivp import solve_ivp
from primad.pde.fields.given_fields import GivenField
from primad.pde.fields.named_fields import FieldAt
from primad.pde.geometry.intervals import clock, space_of
from primad.pde.geometry.point_arguments import Place
from primad.pde.lines.grid_derivatives import Differences, Spectral
from primad.pde.lines.line_ends import LineEnd
from primad.pde.lines.line_solution import LineSolution
from primad.pde.problem.box_statements import GridMethod, check_box, conditions_of
from primad.pde.problem.given_values import GivenValue
from primad.pde.problem.named_arguments import by_name
from primad.pde.problem.used_arguments import depends
from primad.recording import tree
from primad.recording.traced_array import is_traced

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

__all__ = ["Lines"]

Array = np.ndarray[Any, Any]
Numbers = Mapping[str, Any]
ORDERS = (2, 4, 6)
"""Orders of differences that there are."""
DENSE = 400
"""Unknowns on a grid up to which steps solve with a matrix that couples all of them; with more, steps are explicit."""
KINDS = (
    "Dirichlet condition",
    "Neumann condition",
    "Robin condition",
    "initial condition",
    "periodic condition",
    "freedom",
    "condition",
)
"""Of conditions that the method takes."""


class Lines(GridMethod):
    """A problem by the method of lines: differences, or Fourier transforms, on a grid of points, and steps in time.

    Equations are of first order in time, ∂u/∂t = N(x, t, u, ∂u/∂x, …), of any order in space. At ends with a condition
    the values there are what it says; where unknowns are free the equation holds.

    Args:
        problem: on an interval or a box, times an interval of time; with Dirichlet, Neumann, Robin, periodic, initial
            and free conditions, or values by conditions of one's own.
        points: how many along each coordinate; one number for all. Both ends are points, of a periodic one the lower.
        derivatives: "differences", or "spectral" where all coordinates are periodic.
        order: of the errors of differences, by the distance of points: 2, 4 or 6.
        frames: how many states are kept besides the first, at equal times.
        steps: a method of `primad.integrate.solve_ivp`; by default "RODAS4", for stiff systems, if there are
            derivatives in space of second order or more, and "DOP853" otherwise.
        tolerance: of the steps, relative to values and absolute.

    Raises:
        ProblemError: for what the method does not do, which the error names.

    Example:
        >>> import numpy as np, primad
        >>> from primad import pde
        >>> p = pde.Problem(
        ...     lambda u, k: u.t - k * u.xx,
        ...     pde.Interval(0, 1) * pde.Time(0, 0.1),
        ...     [pde.Dirichlet(u=0), pde.Initial(u=lambda x: np.sin(np.pi * x))],
        ...     constants={"k": 1.0},
        ... )
        >>> lines = pde.Lines(p, points=21, order=4)
        >>> def middle(k):
        ...     return lines.values(k=k)["u"][10]
        >>> print(f"{middle(1.0):.4f} {primad.grad(middle)(1.0):.4f}")
        0.3727 -0.3678
    """

    method = "lines"

    def __init__(
        self,
        problem: Problem,
        points: int | Sequence[int] = 101,
        derivatives: str = "differences",
        order: int = 4,
        frames: int = 50,
        steps: str | None = None,
        tolerance: float = 1e-8,
    ) -> None:
        check_box(problem, "lines", KINDS)
        self.problem, self.space, interval = problem, space_of(problem.domain), clock(problem.domain)
        self.time, self.tolerance = interval.names[0], tolerance
        given = conditions_of(problem, "lines")
        self.counts = (points,) * len(self.space) if isinstance(points, (int, np.integer)) else tuple(points)
        self.periodic = [self._repeats(given, name) for name in self.space]
        self._check_grid(derivatives, order, frames)
        bounds = [problem.domain.bounds[problem.domain.names.index(name)] for name in self.space]
        self.places: tuple[Array, ...] = tuple(
            np.linspace(low, high, count, endpoint=not periodic)
            for (low, high), count, periodic in zip(bounds, self.counts, self.periodic, strict=True)
        )
        self.times: Array = np.linspace(interval.low, interval.high, frames + 1)
        widths = tuple([float(place[1] - place[0]) for place in self.places])
        differences = Differences(self.counts, widths, self.periodic, order)
        self.derivative = Spectral(self.counts, widths) if derivatives == "spectral" else differences
        self._kind = f"differences of order {order}" if derivatives == "differences" else derivatives
        numbers = self.numbers({}, partly=True)
        self._initial = [
            GivenValue(problem, given[name, "initial"], name, "initial", numbers, "lines") for name in problem.unknowns
        ]
        self._ends = [
            LineEnd(problem, given[name, f"{axis}{end}"], name, f"{axis}{end}", differences, self.space, numbers)
            for name in problem.unknowns
            for axis, periodic in zip(self.space, self.periodic, strict=True)
            for end in "-+"
            if not periodic
        ]
        held = np.zeros((len(problem.unknowns), *self.counts), np.bool_)
        for one in self._ends:
            one.mark(held)
        held = held.reshape(len(held), -1)
        # Where conditions hold all values the equations are not asked: there they may have none, as u.x / x at 0.
        self._moving: Array = np.flatnonzero(~held.all(axis=0))
        self._moves: Array = ~held[:, self._moving]
        self._check_equations(numbers)
        self.steps = steps or self._chosen_steps(derivatives)

    def _repeats(self, given: Mapping[tuple[str, str], Any], axis: str) -> bool:
        found: set[bool] = {given[name, f"{axis}-"].kind == "periodic condition" for name in self.problem.unknowns}
        if len(found) > 1:
            raise ProblemError(
                f"lines: some unknowns repeat in {axis}, and others do not",
                why="They are values at the same points, which are others where the ends are one place.",
                fix="let all of them repeat: pde.Periodic without unknowns=.",
            )
        return found.pop()

    def _check_grid(self, derivatives: str, order: int, frames: int) -> None:
        highest = max((len(names) for names in self._asked()), default=0)
        least = 2 * (highest + max(order, 2) if order in ORDERS else 2)
        whole = all(isinstance(count, (int, np.integer)) and count >= least for count in self.counts)
        if order not in ORDERS or derivatives not in ("differences", "spectral") or frames < 3:
            raise ProblemError(
                f"lines: derivatives={derivatives!r}, order={order!r}, frames={frames!r}",
                why='There are "differences" of the orders 2, 4 and 6, and "spectral"; three states are kept at least.',
                fix='write derivatives="differences", order=4, frames=50.',
            )
        if len(self.counts) != len(self.space) or not whole:
            raise ProblemError(
                f"lines: there are at least {least} points along each of {', '.join(self.space)}, got {self.counts}",
                fix=f"write points={101 if len(self.space) == 1 else (51,) * len(self.space)}.",
            )
        if derivatives == "spectral" and not all(self.periodic):
            raise ProblemError(
                "lines: spectral derivatives of a problem that is not periodic in all coordinates",
                why="Waves of Fourier's series repeat.",
                fix='write derivatives="differences", or pde.Periodic.',
            )

    def _asked(self) -> list[tuple[str, ...]]:
        """Return all derivatives that equations ask for."""
        asked = [self.problem.asked[one.name].values() for one in self.problem.statement.equations]
        return [names for row in asked for derivatives in row for names in derivatives]

    def _chosen_steps(self, derivatives: str) -> str:
        diffuses = any(len(names) > 1 for names in self._asked())
        size = len(self.problem.unknowns) * int(np.prod(self.counts))
        return "RODAS4" if diffuses and (derivatives == "differences" or size <= DENSE) else "DOP853"

    # -- equations at points -------------------------------------------------------------------------------------------

    def _points(self, time: Any) -> Any:
        grid = dict(zip(self.space, np.meshgrid(*self.places, indexing="ij"), strict=True))
        count = int(np.prod(self.counts))
        names = self.problem.domain.names
        return pnp.stack(
            [grid[name].ravel() if name in grid else pnp.broadcast_to(time, (count,)) for name in names], axis=1
        )

    def _residual(self, time: Any, state: Any, rates: Any, numbers: Numbers) -> Any:
        """Return what the equations say is zero, a row for each, at the points that are not held.

        Args:
            time: the time.
            state: values at all points.
            rates: of change, at the points that are not held.
            numbers: coefficients and constants by name.
        """
        moving = self._moving
        at, domain, names = self._points(time)[moving], self.problem.domain, self.problem.unknowns

        def take(name: str, along: tuple[str, ...]) -> Any:
            if not name:
                return at[:, domain.names.index(along[0])]
            if self.time in along:
                return rates[names.index(name)]
            return self.derivative(state[names.index(name)], tuple([along.count(axis) for axis in self.space]))[moving]

        fields = {name: GivenField(name, domain, take, (at.shape[0],)) for name in names}
        known = ChainMap({**numbers, **fields, "points": at}, Place(domain.names, at))  # type: ignore[arg-type]
        found = [by_name(equation.function, known) for equation in self.problem.statement.equations]
        leaves = tree.leaves(tree.map(lambda leaf: leaf.value if isinstance(leaf, FieldAt) else leaf, found))
        return pnp.stack([pnp.broadcast_to(leaf, (at.shape[0],)) for leaf in leaves])

    def _check_equations(self, numbers: Numbers) -> None:
        """Raise unless the equations give the derivatives in time, with factors that are constants."""
        for names in self._asked():
            if self.time in names and names != (self.time,):
                self._refuse(f"the derivative {' '.join(names)}", f"those of first order in {self.time}")
        count, shape = len(self.problem.unknowns), (len(self.problem.unknowns), len(self._moving))
        start, nothing = np.asarray(self._start(numbers)), np.zeros(shape)
        units = [np.eye(count)[place][:, None] * np.ones(shape) for place in range(count)]

        def factors(state: Any, rates: Any, numbers: Any) -> Any:
            return [
                jvp(lambda r: self._residual(self.times[0], state, r, numbers), (rates,), (unit,))[1] for unit in units
            ]

        columns = [np.asarray(column) for column in factors(start, nothing, numbers)]
        mass = np.stack([column[:, 0] for column in columns], axis=1)
        if any(any(depends(factors, (start, nothing, dict(numbers)), place)) for place in range(3)):
            self._refuse(
                f"other factors of derivatives along {self.time}",
                "those in which these are plain numbers: divide the equation by others",
            )
        if any(np.ptp(column, axis=1).any() for column in columns):
            self._refuse(f"factors of derivatives along {self.time} that differ between points", "plain numbers")
        if mass.shape != (count, count) or np.linalg.matrix_rank(mass) != count:
            self._refuse(f"no derivative along {self.time} of each unknown", "as many equations with these")
        self._inverse = np.linalg.inv(mass)

    @staticmethod
    def _refuse(what: str, taken: str) -> None:
        raise ProblemError(
            f"lines: the equations have {what}",
            why=f"The method of lines takes {taken}.",
            fix="write an equation of higher order in time as a system of first order; or solve it with a network: "
            'method="network".',
        )

    # -- results -------------------------------------------------------------------------------------------------------

    @property
    def size(self) -> str:
        """How many points there are, in words, and what derivatives are."""
        return f"{' × '.join(map(str, self.counts))} points, {self._kind}"

    def _start(self, numbers: Numbers) -> Any:
        at = self._points(self.times[0])
        return pnp.stack([one.at(at, numbers) for one in self._initial])

    def _held(self, state: Any, time: Any, numbers: Numbers) -> Any:
        """Return values at all points, of which those at ends are what conditions say."""
        rows = [pnp.reshape(state[place], self.counts) for place in range(len(self.problem.unknowns))]
        at = pnp.reshape(self._points(time), (*self.counts, -1))
        for end in self._ends:
            rows[end.place] = end.held(rows[end.place], at, numbers)
        return pnp.stack([pnp.reshape(row, (-1,)) for row in rows])

    def states(self, **numbers: Any) -> dict[str, Any]:
        """Return the values on the grid at all `times`, along the first axis, of each unknown by name.

        Args:
            **numbers: coefficients, all of them, and constants where they are other than stated.

        Raises:
            ProblemError: if a coefficient is missing or not known.
            DomainError: if the steps come to no end.
        """
        known, shape = self.numbers(numbers), (len(self.problem.unknowns), -1)

        def slope(time: Any, y: Any) -> Any:
            state = self._held(pnp.reshape(y, shape), time, known)
            found = self._inverse @ self._residual(time, state, np.zeros(self._moves.shape), known)
            rates = pnp.where(self._moves, -found, 0.0)
            return pnp.reshape(pnp.add_at(np.zeros(np.shape(state)), (slice(None), self._moving), rates), (-1,))

        first, span = pnp.reshape(self._start(known), (-1,)), (self.times[0], self.times[-1])
        rtol = atol = self.tolerance
        found = solve_ivp(slope, span, first, self.steps, t_eval=self.times, rtol=rtol, atol=atol)
        if not is_traced(found.y) and not (found.y.shape[1] == len(self.times) and np.all(np.isfinite(found.y))):
            raise DomainError(
                f"lines: steps of {self.steps} end before {self.time} = {self.times[-1]:g}",
                why=str(found.message),
                fix=('take steps="RODAS4" for stiff equations, ' if self.steps != "RODAS4" else "take ")
                + "more points, or a lower order; jumps want volumes.",
            )
        every = [
            self._held(pnp.reshape(found.y[:, place], shape), time, known) for place, time in enumerate(self.times)
        ]
        return {
            name: pnp.stack([pnp.reshape(state[place], self.counts) for state in every])
            for place, name in enumerate(self.problem.unknowns)
        }

    def values(self, **numbers: Any) -> dict[str, Any]:
        """Return the values on the grid at the end, of each unknown by name, as `states` does at all times."""
        return {name: states[-1] for name, states in self.states(**numbers).items()}

    def solve(self, **numbers: Any) -> LineSolution:
        """Return the solution, for coefficients and constants as `states` takes them."""
        return LineSolution(self, {name: np.asarray(one) for name, one in self.states(**numbers).items()})


def by_lines(
    problem: Problem,
    derivatives: str,
    *,
    points: int | Sequence[int] = 101,
    order: int = 4,
    frames: int = 50,
    steps: str | None = None,
    tolerance: float = 1e-8,
    **numbers: Any,
) -> LineSolution:
    """Return the solution by the method of lines: what `Problem.solve` takes and returns for two of its methods.

    Args:
        problem: the problem.
        derivatives: "differences" or "spectral".
        points: how many along each coordinate.
        order: of differences.
        frames: how many states are kept.
        steps: a method of `primad.integrate.solve_ivp`.
        tolerance: of the steps.
        **numbers: coefficients, and constants where they are other than stated.
    """
    return Lines(problem, points, derivatives, order, frames, steps, tolerance).solve(**numbers)
