"""Elements in time: M ∂u/∂t + r(t, u) = 0 for the values at nodes, by steps of a method for stiff systems.

M is the derivative of the weak form by the derivatives along time: it is found as the tangent is. Values that are given
move as their conditions say; unknowns of whose equations none has a derivative along time are solved for at the start.

A constraint, as ∇·u = 0 is, has none of the unknowns that do not move, such as a pressure: it says by its derivative
along time, ∂g/∂t + C ∂u/∂t = 0, what they are. That is what steps take. They keep linear invariants, so the constraint
holds at the end of each step as it does at the start (E. Hairer & G. Wanner, Solving Ordinary Differential Equations
II, §VII.2), for which the values nearest to the given ones are taken that it holds for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError, ProblemError
from primad.functional.derivatives.first_order import jvp
from primad.functional.derivatives.lazy_matrices import jacobian
from primad.implicit.solver_functions import root
from primad.integrate.ivp import solve_ivp
from primad.pde.elements.supported import is_constraint
from primad.pde.geometry.intervals import Interval
from primad.pde.geometry.sampling import Array
from primad.pde.problem.condition_checks import concerned
from primad.pde.problem.given_values import GivenValue
from primad.recording.traced_array import is_traced

if TYPE_CHECKING:
    from primad.pde.elements.discretisation import Elements

Numbers = Mapping[str, Any]
METHOD = "RODAS4"
"""The method in time: of order 4, L-stable, and with equations that have no derivative along time."""


class ElementSteps:
    """The states of elements at equal times.

    Args:
        elements: the elements.
        interval: of time.
        frames: how many states are kept besides the first.
        tolerance: of the steps, relative to values and absolute.

    Raises:
        ProblemError: if an unknown that moves has no value at the start, or the equations without a derivative along
            time cannot be solved for the unknowns without one.
    """

    def __init__(self, elements: Elements, interval: Interval, frames: int, tolerance: float) -> None:
        if frames < 3:
            raise ProblemError(
                f"elements: frames={frames!r}", why="At least three states are kept.", fix="write frames=50."
            )
        self.elements, self.tolerance = elements, tolerance
        self.times: Array = np.linspace(interval.low, interval.high, frames + 1)
        pairing = elements.pairing
        owner = np.searchsorted(elements.offsets, elements.free, side="right") - 1
        self._moves: Array = np.asarray(pairing.moves)[owner]
        self._still: Array = np.asarray(pairing.rests)[owner]
        self._late: Array = np.isin(owner, self._constrained())
        self._initial = [self._initial_of(k) for k in range(len(elements.spaces))]

    def _constrained(self) -> list[int]:
        """Return the unknowns that do not move, and that equations at one time do not determine.

        Raises:
            ProblemError: if their equations are no constraints, or there are not as many without rates as unknowns.
        """
        elements, pairing = self.elements, self.elements.pairing
        unknowns = range(len(elements.problem.unknowns))
        resting = [k for k in unknowns if not pairing.moves[k]]
        late = [k for k in resting if not pairing.at_once[k]]
        known = elements.numbers({}, partly=True)
        wrong = [k for k in late if not is_constraint(elements.form, pairing.equations[k], resting, known)]
        if wrong or np.sum(~self._moves) != np.sum(self._still):
            self._refuse(next(iter(wrong), 0))
        return late

    def _refuse(self, k: int) -> None:
        name, time = self.elements.problem.unknowns[k], self.elements.form.time
        raise ProblemError(
            f"elements: of the equations without a derivative along {time}, none can be solved for {name}, which has "
            "none either",
            why="Steps in time solve these equations at each time, or take their derivatives along it where they are "
            "linear, with constant factors, in unknowns that have rates, as ∇·u = 0 is.",
            fix=f"let {name} follow at once, by a small factor ε of its own rate: ε * {name}.{time} + … (artificial "
            'compressibility); or solve the problem with a network: method="network".',
        )

    def _initial_of(self, k: int) -> GivenValue | None:
        problem, name = self.elements.problem, self.elements.problem.unknowns[k]
        known = self.elements.numbers({}, partly=True)
        said = [
            one
            for one in problem.statement.conditions
            if "initial" in one.parts(problem.domain) and name in concerned(one, problem.statement)
        ]
        given = [one for one in said if one.kind in ("initial condition", "condition") and not getattr(one, "order", 0)]
        if given:
            return GivenValue(problem, given[0], name, "initial", known, "elements")
        if self.elements.pairing.moves[k]:
            raise ProblemError(
                f"elements: no value of {name} at the start",
                why=f"Its rate is in the equations, and says how {name} goes on.",
                fix=f"write pde.Initial({name}=…).",
            )
        return None

    def _start(self, known: Numbers, start: Array) -> Any:
        """Return the values at the start, of unknowns that do not move as far as they are known."""
        elements = self.elements
        offsets, rows = elements.offsets, []
        for k, (space, given) in enumerate(zip(elements.spaces, self._initial, strict=True)):
            if given is None:
                rows.append(start[offsets[k] : offsets[k + 1]])
            else:
                rows.append(given.at(elements.form.points(space.nodes.at, self.times[0]), known))
        first = (pnp.concatenate(rows) if len(rows) > 1 else rows[0])[elements.free]
        if np.all(self._moves):
            return first
        if np.any(self._late):
            guess = np.zeros(len(first)) if is_traced(first) else np.where(self._moves, np.asarray(first), 0.0)
            first = pnp.where(self._moves, root(self._nearest, guess, first, known), first)
            return pnp.where(self._moves, first, root(self._balance, np.zeros(len(self._late)), first, known))
        resting, still = np.flatnonzero(~self._moves), np.flatnonzero(self._still)
        guess = np.zeros(len(resting)) if is_traced(first) else np.asarray(first)[resting]

        def equation(unknown: Any, first: Any, known: Any) -> Any:
            free = pnp.add_at(first, resting, unknown - first[resting])
            return self._forces(self.times[0], free, known)[still]

        return pnp.add_at(first, resting, root(equation, guess, first, known) - first[resting])

    def _nearest(self, unknown: Any, first: Any, known: Numbers) -> Any:
        """Return what is zero for the values nearest to the given ones, in the mean, for which constraints hold.

        Args:
            unknown: of what moves these values; elsewhere multipliers of the constraints.
            first: the values that are given.
            known: all coefficients and constants by name.
        """
        start, zeros = self.times[0], np.zeros(len(self._late))
        along = ~self._moves * unknown, self._moves * (unknown - first)
        _, weighted = jvp(lambda free, rates: self._rows(start, free, rates, known), (first, zeros), along)
        constraints = self._rows(start, pnp.where(self._moves, unknown, first), zeros, known)
        return pnp.where(self._late, constraints, weighted)

    def _balance(self, unknown: Any, first: Any, known: Numbers) -> Any:
        """Return what is zero at the start, of rates of what moves, and of values of what does not, in one row."""
        start, rates = self.times[0], self._moves * unknown
        values = pnp.where(self._moves, first, unknown)
        rows = self._rows(start, values, rates, known)
        return pnp.where(self._late, self._along(start, values, rates, known), rows)

    def _rows(self, time: Any, free: Any, rates: Any, known: Numbers) -> Any:
        """Return the residual at free nodes, of values and rates there."""
        elements = self.elements
        held, moving = self._held(time, known)
        still = np.zeros(len(elements.held.places)) if moving is None else moving
        whole = elements.spread(rates, still)
        return elements.gathered(elements.residual(elements.whole(free, held), known, whole, time))

    def _along(self, time: Any, free: Any, rates: Any, known: Numbers) -> Any:
        """Return the derivative along time of the residual, where it has no rates; None are zeros."""
        elements, time = self.elements, pnp.asarray(time, dtype=float)

        def residual(time: Any, free: Any = free) -> Any:
            whole = elements.whole(free, elements.held.at(time, known))
            return elements.gathered(elements.residual(whole, known, None, time))

        one = np.float64(1.0)
        if rates is None:
            return jvp(residual, (time,), (one,))[1]
        return jvp(residual, (time, free), (one, rates))[1]

    def _held(self, time: Any, known: Numbers) -> tuple[Any, Any]:
        """Return the values that are given, and their derivatives along time."""
        held = self.elements.held
        if held.fixed:
            return held.at(time, known), None
        value, rate = jvp(lambda t: held.at(t, known), (pnp.asarray(time, dtype=float),), (np.float64(1.0),))
        return value, rate

    def _forces(self, time: Any, free: Any, known: Numbers) -> Any:
        rows = self._rows(time, free, np.zeros(len(self._late)), known)
        if np.any(self._late):
            rows = pnp.where(self._late, self._along(time, free, None, known), rows)
        return -rows

    def _mass(self, known: Numbers) -> Any:
        """Return M, a sparse matrix; of constraints it has the factors of what moves."""
        start, nothing = self.times[0], np.zeros(len(self._late))

        def along(rates: Any) -> Any:
            rows = self._rows(start, nothing, rates, known)
            if np.any(self._late):
                rows = pnp.where(self._late, self._along(start, nothing, rates, known), rows)
            return rows

        return jacobian(along)(nothing).sparse("csc")

    def states(self, known: Numbers, start: Array) -> Any:
        """Return the values at all nodes at all times, along the first axis.

        Args:
            known: all coefficients and constants by name.
            start: where the search for unknowns without a derivative along time begins, at all nodes.

        Raises:
            DomainError: if the steps come to no end.
        """
        elements = self.elements
        first, span = self._start(known, start), (self.times[0], self.times[-1])
        found = solve_ivp(
            lambda time, free: self._forces(time, free, known),
            span,
            first,
            METHOD,
            t_eval=self.times,
            rtol=self.tolerance,
            atol=self.tolerance,
            mass=self._mass(known),
        )
        if not is_traced(found.y) and not (found.y.shape[1] == len(self.times) and np.all(np.isfinite(found.y))):
            raise DomainError(
                f"elements: steps of {METHOD} end before {elements.form.time} = {self.times[-1]:g}",
                why=str(found.message),
                fix="look whether the equations have a solution for so long; take smaller elements, or a larger "
                "tolerance.",
            )
        every = [elements.whole(found.y[:, place], self._held(time, known)[0]) for place, time in enumerate(self.times)]
        return pnp.stack(every)
