"""A problem on finite volumes: averages over cells, their change in time, and the steps that follow it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ProblemError, StepsError
from primad.functional.control.user_loops import scan
from primad.functional.control.while_loops import while_loop
from primad.functional.jit import jit
from primad.pde.geometry.intervals import clock, space_of
from primad.pde.problem.box_statements import GridMethod, check_box, conditions_of, refuse
from primad.pde.problem.given_values import GivenValue
from primad.pde.volumes.boundary_cells import End
from primad.pde.volumes.conservation_laws import ConservationLaw
from primad.pde.volumes.reconstruction import ORDERS, face_states
from primad.pde.volumes.riemann_fluxes import FLUXES, through_faces
from primad.pde.volumes.volume_solution import VolumeSolution
from primad.recording.traced_array import is_traced

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

__all__ = ["Volumes"]

Array = np.ndarray[Any, Any]
Numbers = Mapping[str, Any]
KINDS = ("Dirichlet condition", "Neumann condition", "initial condition", "periodic condition", "freedom", "condition")
"""Of conditions that volumes take."""
NODES = 3
"""Points of Gauss's quadrature along each side of a cell, for averages at the start: they are of sixth order."""
FLAT = 1e-12
"""Square of the difference of neighbours, relative to the largest value of an unknown squared, below which it counts as
constant: far below what a grid resolves, and far above rounding, of which weights would be made otherwise."""
STATES = 64
"""States of a run at which flux and speeds are checked: some of the cells at the start, and means of pairs."""
RUNGE_KUTTA = (np.array([1.0, 0.25, 2.0 / 3.0]), np.array([0.0, 0.75, 1.0 / 3.0]), np.array([0.0, 1.0, 0.5]))
"""Of each stage the share of the Euler step, that of the state before the step, and the time at its beginning in steps
(C.-W. Shu & S. Osher, J. Comput. Phys. 77 (1988) 439)."""


class Volumes(GridMethod):
    """A problem on finite volumes: a conservation law ∂u/∂t + ∇·f(u) = s on equal cells of a box, differentiated.

    The flux is what `primad.pde.flux_divergence` states, or is integrated from terms A(u) ∂u/∂x. Values at faces are
    reconstructed from averages over cells (WENO), states left and right of a face give its flux, and steps of Runge
    and Kutta's method of order 3 follow (those that keep what a step of Euler's keeps). Steps are chosen at first, for
    the constants of the problem, so that waves cross at most the share `cfl` of a cell: `values` is then one function
    of numbers, with exact derivatives.

    Args:
        problem: with equations of first order, on an interval or a box times an interval of time; with conditions that
            are Dirichlet, Neumann (0), periodic, initial, free, or one's own linear in the values of one unknown.
        cells: how many along each coordinate of space; one number for all.
        flux: through a face between two states: "hll" or "rusanov". Of one unknown, "hll" of order 1 is upwind.
        order: of the reconstruction: 5 (WENO) or 1 (constants). With a flux that is not linear in several coordinates,
            or with sources, the whole is of order 2 where the solution is smooth, and of order 1 in the last cells
            before a free end.
        cfl: how much of a cell waves cross in a step at most; less than 1.
        frames: how many states are kept besides the first, at equal times.

    Raises:
        ProblemError: for what volumes do not do, which the error names.

    Example:
        >>> import numpy as np, primad
        >>> from primad import pde
        >>> p = pde.Problem(
        ...     lambda u, c: u.t + c * u.x,
        ...     pde.Interval(0, 1) * pde.Time(0, 0.25),
        ...     [pde.Periodic("x"), pde.Initial(u=lambda x: np.sin(2 * np.pi * x))],
        ...     constants={"c": 1.0},
        ... )
        >>> volumes = pde.Volumes(p, cells=40)
        >>> def moment(c):
        ...     return np.mean(volumes.values(c=c)["u"] * volumes.centers[0])
        >>> print(f"{moment(1.0):.4f} {primad.grad(moment)(1.0):.4f}")
        -0.0000 0.2500
    """

    method = "volumes"

    def __init__(
        self,
        problem: Problem,
        cells: int | Sequence[int] = 100,
        flux: str = "hll",
        order: int = 5,
        cfl: float = 0.4,
        frames: int = 50,
    ) -> None:
        check_box(problem, "volumes", KINDS)
        asked = [one for row in problem.asked.values() for names in row.values() for one in names]
        if max(map(len, asked), default=0) > 1:
            refuse("volumes", f"derivatives of order {max(map(len, asked))}", "those of order 1")
        self.problem, self.kind, self.order, self.cfl, self.frames = problem, flux, order, cfl, frames
        self.space, self.clock = space_of(problem.domain), clock(problem.domain)
        self.cells = _checked(cells, len(self.space), flux, order, cfl, frames)
        where = [problem.domain.bounds[problem.domain.names.index(name)] for name in self.space]
        edges = [np.linspace(low, high, count + 1) for (low, high), count in zip(where, self.cells, strict=True)]
        self.edges: tuple[Array, ...] = tuple(edges)
        self.centers: tuple[Array, ...] = tuple([0.5 * (edge[1:] + edge[:-1]) for edge in edges])
        self.widths = [float(high - low) / count for (low, high), count in zip(where, self.cells, strict=True)]
        self.times: Array = np.linspace(self.clock.low, self.clock.high, frames + 1)
        numbers, given = self.numbers({}, partly=True), conditions_of(problem, "volumes")
        self.ends = [
            [End(problem, {name: given[name, part] for name in problem.unknowns}, part, numbers) for part in pair]
            for pair in [(f"{name}-", f"{name}+") for name in self.space]
        ]
        self._initial = [
            GivenValue(problem, given[name, "initial"], name, "initial", numbers, "volumes")
            for name in problem.unknowns
        ]
        first = np.asarray(self._start(numbers))
        self.law = ConservationLaw(problem, numbers, _some(first.reshape(len(first), -1)))
        self._plan(first, numbers)
        self._compiled = jit(self._run)

    # -- what is known -------------------------------------------------------------------------------------------------

    def _rows(self, places: Sequence[Any], time: Any) -> Any:
        """Return the points of a grid of space at a time, one a row."""
        grid = dict(zip(self.space, np.meshgrid(*places, indexing="ij"), strict=True))
        count = next(iter(grid.values())).size
        columns = [grid[name].ravel() if name in grid else pnp.broadcast_to(time, (count,)) for name in self._names]
        return pnp.stack(columns, axis=1)

    @property
    def _names(self) -> tuple[str, ...]:
        return self.problem.domain.names

    def _start(self, numbers: Numbers) -> Any:
        """Return averages over cells at the start, of all unknowns."""
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        total: list[Any] = [0.0] * len(self._initial)
        for chosen in product(range(NODES), repeat=len(self.space)):
            places = [
                middle + 0.5 * width * nodes[i]
                for middle, width, i in zip(self.centers, self.widths, chosen, strict=True)
            ]
            share, rows = float(np.prod(0.5 * weights[list(chosen)])), self._rows(places, self.clock.low)
            total = [old + share * one.at(rows, numbers) for old, one in zip(total, self._initial, strict=True)]
        return pnp.stack([pnp.reshape(one, self.cells) for one in total])

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _rate(self, state: Any, time: Any, numbers: Numbers, order: int) -> tuple[Any, Any]:
        """Return the rate of change of averages, and how many cells waves cross in a unit of time at most."""
        change = self.law.source(self._rows(self.centers, time), state, numbers)
        crossed = 0.0
        for place, width in enumerate(self.widths):
            axis = place + 1
            outside = []
            for end, edge in zip(self.ends[place], self.edges[place][[0, -1]], strict=True):
                across = [*self.centers[:place], np.array([edge]), *self.centers[place + 1 :]]
                outside.append(end.cells(state, axis, self._rows(across, time), numbers))
            padded = pnp.concatenate([pnp.flip(outside[0], axis), state, outside[1]], axis=axis)
            left, right = face_states(padded, axis, order, self._floor)
            along = partial(self.law.flux, place, numbers=numbers)
            found, speed = through_faces(along, left, right, self.kind)
            count = self.cells[place]
            change = change - (_cut(found, axis, 1, count + 1) - _cut(found, axis, 0, count)) / width
            crossed = crossed + np.max(speed) / width
        return change, crossed

    def _plan(self, first: Array, numbers: Numbers) -> None:
        """Choose the steps, by a run of first order whose steps follow the speeds."""
        end = self.clock.high
        self._floor = np.ones((len(first), *[1] * len(self.space)))

        def step(carry: Any) -> Any:
            state, time, most, largest = carry
            change, crossed = self._rate(state, time, numbers, 1)
            size = (end - time) / np.maximum(1.0, crossed * (end - time) / self.cfl)
            largest = np.maximum(largest, np.max(np.abs(state), axis=tuple(range(1, np.ndim(state)))))
            return state + size * change, time + size, np.maximum(most, crossed), largest

        def run(first: Any) -> Any:
            return while_loop(lambda carry: carry[1] < end, step, (first, self.clock.low, 0.0, np.zeros(len(first))))

        try:
            state, _, most, largest = jit(run)(first)
        except StepsError:
            raise DomainError(
                "volumes: waves are so fast that there would be more than 100 000 steps",
                why=f"A step takes them through a share cfl={self.cfl:g} of a cell at most; times may also be so large "
                "that a step is lost in their rounding.",
                fix="take fewer cells, a shorter time that begins at 0, or units in which waves are slower.",
            ) from None
        if not np.all(np.isfinite(state)) or not np.isfinite(most):
            raise _infinite(self.cfl)
        sizes = np.where(largest > 0, largest, 1.0)
        self._floor = (FLAT * sizes**2).reshape(self._floor.shape)
        self._each = max(1, ceil(self.clock.measure * float(most) / self.cfl / self.frames))

    @property
    def step(self) -> float:
        """The length of a step in time."""
        return self.clock.measure / (self.frames * self._each)

    def _run(self, first: Any, numbers: Numbers) -> tuple[Any, Any]:
        """Return the states at all times after the first, and how much of a cell waves cross in a step at most."""
        step = self.step

        def stage(carry: Any, row: Any) -> Any:
            before, state, most, start = carry
            share, kept, begins = row
            change, crossed = self._rate(state, start + begins * step, numbers, self.order)
            state = kept * before + share * (state + step * change)
            return (before, state, np.maximum(most, crossed), start), None

        def advance(carry: Any, time: Any) -> Any:
            state, most = carry
            (_, state, most, _), _ = scan(stage, (state, state, most, time), RUNGE_KUTTA)
            return (state, most), None

        def frame(carry: Any, times: Any) -> Any:
            carry, _ = scan(advance, carry, times)
            return carry, carry[0]

        times = self.clock.low + step * np.arange(self.frames * self._each)
        (_, most), states = scan(frame, (first, 0.0), times.reshape(self.frames, self._each))
        return states, most * step

    # -- results -------------------------------------------------------------------------------------------------------

    def states(self, *, start: Mapping[str, Any] | None = None, **numbers: Any) -> dict[str, Any]:
        """Return the averages over cells at all `times`, along the first axis, of each unknown by name.

        Args:
            start: averages at the start, by name, of unknowns whose initial condition they replace.
            **numbers: coefficients, all of them, and constants where they are other than stated.

        Raises:
            ProblemError: if a coefficient is missing or not known, or averages have another shape.
            DomainError: if values are not finite, or waves are so fast that steps are too long.
        """
        known = self.numbers(numbers)
        first = self._start(known)
        if start:
            first = self._replaced(first, start)
        found, crossed = self._compiled(first, known)
        if not is_traced(crossed):
            self._check_run(np.asarray(found), float(crossed))
        every = pnp.concatenate([first[None], found])
        return {name: every[:, place] for place, name in enumerate(self.problem.unknowns)}

    def values(self, *, start: Mapping[str, Any] | None = None, **numbers: Any) -> dict[str, Any]:
        """Return the averages over cells at the end, of each unknown by name, as `states` does at all times."""
        return {name: states[-1] for name, states in self.states(start=start, **numbers).items()}

    def solve(self, *, start: Mapping[str, Any] | None = None, **numbers: Any) -> VolumeSolution:
        """Return the solution, for coefficients and constants as `states` takes them."""
        return VolumeSolution(self, {k: np.asarray(v) for k, v in self.states(start=start, **numbers).items()})

    def _replaced(self, first: Any, start: Mapping[str, Any]) -> Any:
        for name, given in start.items():
            if name not in self.problem.unknowns or pnp.shape(given) != self.cells:
                raise ProblemError(
                    f"volumes: the start has {name!r} of the shape {pnp.shape(given)}",
                    why=f"There are {', '.join(self.problem.unknowns)}, with averages of the shape {self.cells}.",
                    fix="give one number for each cell of an unknown: start={…: averages}.",
                )
        rows = [start.get(name, first[place]) for place, name in enumerate(self.problem.unknowns)]
        return pnp.stack(rows)

    def _check_run(self, found: Array, crossed: float) -> None:
        if not np.all(np.isfinite(found)):
            raise _infinite(self.cfl)
        if crossed > 1.0:
            raise DomainError(
                f"volumes: waves cross {crossed:.2g} cells in a step",
                why="Steps were chosen for the constants of the problem; with these waves are faster.",
                fix="make pde.Volumes of a problem with these constants, or with a smaller cfl.",
            )

    @property
    def size(self) -> str:
        """How many cells and steps there are, in words."""
        return f"{' × '.join(map(str, self.cells))} cells, {self.frames * self._each} steps"


def by_volumes(
    problem: Problem,
    *,
    cells: int | Sequence[int] = 100,
    flux: str = "hll",
    order: int = 5,
    cfl: float = 0.4,
    frames: int = 50,
    start: Mapping[str, Any] | None = None,
    **numbers: Any,
) -> VolumeSolution:
    """Return the solution of a problem by volumes: what `Problem.solve(method="volumes")` takes and returns.

    Args:
        problem: the problem.
        cells: how many along each coordinate.
        flux: through a face between two states.
        order: of the reconstruction.
        cfl: how much of a cell waves cross in a step at most.
        frames: how many states are kept.
        start: averages at the start, by name.
        **numbers: coefficients, and constants where they are other than stated.
    """
    return Volumes(problem, cells, flux, order, cfl, frames).solve(start=start, **numbers)


def _checked(cells: Any, axes: int, flux: str, order: int, cfl: float, frames: int) -> tuple[int, ...]:
    counts = (cells,) * axes if isinstance(cells, (int, np.integer)) else tuple(cells)
    if len(counts) != axes or not all(isinstance(n, (int, np.integer)) and n >= 2 * NODES for n in counts):
        raise ProblemError(
            f"volumes: there are at least {2 * NODES} cells along each of {axes} coordinates, got {cells!r}",
            fix=f"write cells={100 if axes == 1 else (100,) * axes}.",
        )
    if flux not in FLUXES or order not in ORDERS:
        raise ProblemError(
            f"volumes: the flux {flux!r} with the order {order!r}",
            why=f"There are {' and '.join(FLUXES)}, and the orders {' and '.join(map(str, ORDERS))}.",
            fix='write flux="hll", order=5.',
        )
    if not 0 < cfl < 1 or frames < 1:
        raise ProblemError(
            f"volumes: cfl={cfl!r} and frames={frames!r}",
            why="In a step waves cross a part of a cell, and at least the last state is kept.",
            fix="write cfl=0.4, frames=50.",
        )
    return tuple([int(n) for n in counts])


def _some(states: Array) -> Array:
    """Return some of the states, and means of those that are half of them apart."""
    few = states[:, np.linspace(0, states.shape[1] - 1, min(STATES // 2, states.shape[1])).astype(int)]
    return np.concatenate([few, 0.5 * (few + np.roll(few, few.shape[1] // 2, axis=1))], axis=1)


def _cut(values: Any, axis: int, start: int, stop: int) -> Any:
    return values[(*[slice(None)] * axis, slice(start, stop))]


def _infinite(cfl: float) -> DomainError:
    return DomainError(
        f"volumes: values are not finite, with cfl={cfl:g}",
        why="A state outside of what the flux is defined for, a source that is stiff, or an initial state that is not "
        "finite.",
        fix="take a smaller cfl, order=1, or more cells; look at the initial state.",
    )
