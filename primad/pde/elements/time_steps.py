"""Elements in time: M ∂u/∂t + r(t, u) = 0 for the values at nodes, by steps of a method for stiff systems.

M is the derivative of the weak form by the derivatives along time: it is found as the tangent is. Values that are given
move as their conditions say; unknowns of whose equations none has a derivative along time are solved for at the start.
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
        pairing, offsets, free = elements.pairing, elements.offsets, elements.free
        owner = np.searchsorted(offsets, free, side="right") - 1
        self._resting = np.flatnonzero(~np.asarray(pairing.moves)[owner])
        self._still = np.flatnonzero(np.asarray(pairing.rests)[owner])
        self._check_index()
        self._initial = [self._initial_of(k) for k in range(len(elements.spaces))]

    def _check_index(self) -> None:
        pairing, names = self.elements.pairing, self.elements.problem.unknowns
        wrong = [k for k in range(len(names)) if not (pairing.moves[k] or pairing.at_once[k])]
        if wrong or len(self._resting) != len(self._still):
            name, time = names[next(iter(wrong), 0)], self.elements.form.time
            raise ProblemError(
                f"elements: of the equations without a derivative along {time}, none can be solved for {name}, which "
                "has none either",
                why="Steps in time solve these equations at each time for these unknowns, as a pressure's cannot be.",
                fix=f"let {name} follow at once, by a small factor ε of its own rate: ε * {name}.{time} + … ("
                "artificial "
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
        if not self._resting.size:
            return first
        resting, still = self._resting, self._still
        guess = np.zeros(len(resting)) if is_traced(first) else np.asarray(first)[resting]

        def equation(unknown: Any, first: Any, known: Any) -> Any:
            free = pnp.add_at(first, resting, unknown - first[resting])
            return self._forces(self.times[0], free, known)[still]

        return pnp.add_at(first, resting, root(equation, guess, first, known) - first[resting])

    def _held(self, time: Any, known: Numbers) -> tuple[Any, Any]:
        """Return the values that are given, and their derivatives along time."""
        held = self.elements.held
        if held.fixed:
            return held.at(time, known), None
        value, rate = jvp(lambda t: held.at(t, known), (pnp.asarray(time, dtype=float),), (np.float64(1.0),))
        return value, rate

    def _forces(self, time: Any, free: Any, known: Numbers) -> Any:
        elements = self.elements
        held, rate = self._held(time, known)
        rates = None if rate is None else elements.whole(np.zeros(len(elements.free)), rate)
        return -elements.gathered(elements.residual(elements.whole(free, held), known, rates, time))

    def _mass(self, known: Numbers) -> Any:
        """Return M, a sparse matrix."""
        elements = self.elements
        nothing = np.zeros(len(elements.free))
        held = np.zeros(len(elements.held.places))
        whole = elements.whole(nothing, held)

        def along(rates: Any) -> Any:
            return elements.gathered(elements.residual(whole, known, elements.whole(rates, held), self.times[0]))

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
