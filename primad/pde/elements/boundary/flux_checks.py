"""What is asked of conditions that give fluxes through the boundary: that they do, at all times and for all values."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.functional.derivatives.first_order import jvp
from primad.pde.elements.boundary.boundary_fluxes import BoundaryFlux
from primad.pde.elements.pairing import Pairing
from primad.pde.elements.supported import slopes_of
from primad.pde.elements.weak_forms import Numbers, State
from primad.pde.geometry.intervals import clock
from primad.pde.geometry.sampling import Array
from primad.pde.problem.used_arguments import depends, is_analytic_in

ROUNDED = 1e-8
"""Share of a flux that counts as nothing. Chosen: rounding leaves 1e-15, a condition on something else its own size."""
DRAWN = 2
"""States, times and coefficients at random for which slopes are looked for in a flux, besides the stated ones. Chosen:
one finds nearly all that are there, as an analytic factor is zero nearly nowhere."""


def checked_flux(flux: BoundaryFlux, pairing: Pairing, time: Any, numbers: Numbers) -> bool:
    """Check that conditions give the fluxes; say whether derivatives along the boundary are in these.

    Args:
        flux: the fluxes.
        pairing: of equations and unknowns.
        time: when states are looked at first; None of a problem without time.
        numbers: coefficients and constants by name.

    Raises:
        ProblemError: if the conditions do not give these fluxes.
    """
    return _FluxCheck(flux, pairing, time, numbers).is_tangential()


class _FluxCheck:
    def __init__(self, flux: BoundaryFlux, pairing: Pairing, time: Any, numbers: Numbers) -> None:
        self._flux, self._form, self._pairing, self._numbers = flux, flux.form, pairing, numbers
        self._state = self._drawn(np.linspace(0.3, 0.7, len(flux.at)), time)
        others = [np.random.default_rng(seed) for seed in range(DRAWN)]
        self._cases = [(self._state, numbers)] + [(self._other(one), other_numbers(numbers, one)) for one in others]

    def _drawn(self, level: Array, time: Any) -> State:
        size, names = len(self._form.space), self._form.names
        u = tuple([level + 0.05 * k for k in range(len(names))])
        slopes = tuple([tuple([u[k] + 0.1 * i * (k + 1) for i in range(size)]) for k in range(len(names))])
        return State(self._flux.at, time, u, slopes, tuple([np.zeros(len(level)) for _ in names]))

    def _other(self, random: np.random.Generator) -> State:
        """Return a state at random, at another time."""
        interval = None if self._form.time is None else clock(self._form.domain)
        time = None if interval is None else np.float64(random.uniform(interval.low, interval.high))
        return self._drawn(random.uniform(0.1, 2.0, len(self._flux.at)), time)

    def is_tangential(self) -> bool:
        """Check everything; say whether derivatives along the boundary are in a flux."""
        self._check_linear()
        if self._form.time is not None:
            self._check_rates()
        for place, (state, _) in enumerate(self._cases):
            along = [sum(x * self._flux.normal[:, i] for i, x in enumerate(one)) for one in state.slopes]
            axes = range(len(self._form.space))
            straight = tuple([tuple([one * self._flux.normal[:, i] for i in axes]) for one in along])
            if self._changes(state._replace(slopes=straight), self._numbers, unknown=place == 0):
                others = "the derivative along the normal of an unknown that is given there"
                self._refuse(f"leaves {others} in the flux", "Nothing says what that is.", 'method="network".')
        found = any(self._changes(state, numbers, unknown=True) for state, numbers in self._cases)
        return found or not self._slopes_are_analytic()

    def _changes(self, state: State, numbers: Numbers, unknown: bool) -> bool:
        """Say whether slopes change a flux, by its own size: coefficients may be small; `unknown` where it is none."""
        flux = self._flux
        with np.errstate(all="ignore"):
            flat = np.asarray(flux.fluxes(state.u, None, state.rates, state.time, numbers))
            found = np.asarray(flux.fluxes(state.u, state.slopes, state.rates, state.time, numbers))
            whole = self._form.normal_flux(state, flux.normal, numbers)[0]
            sizes = [np.max(np.abs(np.asarray(whole[e])), initial=0.0) for e in flux.equations]
            change, scale = np.max(np.abs(found - flat), axis=1), ROUNDED * (np.max(np.abs(flat), axis=1) + sizes)
        if not np.all(np.isfinite(change)):
            return unknown
        return not bool(np.all(change <= scale))

    def _slopes_are_analytic(self) -> bool:
        """Say whether factors of slopes are analytic: those that are not may be zero for all that is drawn."""
        state = self._state
        floats = {name: one for name, one in self._numbers.items() if np.asarray(one).dtype.kind == "f"}

        def factors(u: Any, rates: Any, time: Any, floats: Any) -> Any:
            numbers = {**self._numbers, **floats}

            def fluxes(slopes: Any) -> Any:
                return tuple(self._flux.fluxes(u, slopes, rates, time, numbers))

            return jvp(fluxes, (state.slopes,), (state.slopes,))[1]

        time = np.float64(0.0 if state.time is None else state.time)
        return is_analytic_in(factors, (state.u, state.rates, time, floats))

    # -- what conditions are not to be ---------------------------------------------------------------------------------

    def _check_linear(self) -> None:
        state, names = self._state, self._form.names

        def factors(slopes: Any) -> Any:
            return self._flux.conditions(state._replace(slopes=slopes), self._numbers)[1]

        own = np.asarray([[np.asarray(one) for one in row] for row in factors(state.slopes)])
        self._check_solvable(own)
        if any(depends(factors, (state.slopes,), 0)):
            wrong = f"is not linear in the derivatives of {' and '.join(names)}"
            self._refuse(wrong, "It gives the flux through the boundary only if it is.", 'method="network".')

    def _check_rates(self) -> None:
        """Raise unless the flux has rates as equations may have them: so M is the same at all times."""
        state, time, pairing = self._state, self._form.time, self._pairing
        for place, e in enumerate(self._flux.equations):

            def one(u: Any, slopes: Any, rates: Any, time: Any, place: int = place) -> Any:
                return self._flux.fluxes(u, slopes, rates, time, self._numbers)[place]

            every = (state.u, state.slopes, state.rates, np.float64(state.time))
            used = [k for k, there in enumerate(depends(one, every, 2)) if there]
            if not used:
                continue

            def masses(u: Any, slopes: Any, rates: Any, time: Any, one: Any = one) -> Any:
                return slopes_of(lambda rates: [one(u, slopes, rates, time)], rates)

            if any(any(depends(masses, every, which)) for which in range(len(every))):
                self._refuse(
                    f"leaves derivatives along {time} in the flux, with factors that change with {time} or an unknown",
                    "Steps in time take those that are functions of space, coefficients and constants.",
                    'method="network".',
                )
            lost = used if pairing.rests[pairing.equations.index(e)] else [k for k in used if not pairing.moves[k]]
            if lost:
                name = self._form.names[lost[0]]
                self._refuse(
                    f"says how {name} changes with {time}, and the equation in the domain does not",
                    "A state at the start says nothing there that could go on.",
                    'method="network".',
                )

    def _check_solvable(self, own: Array) -> None:
        places = list(self._flux.equations.values())
        names = [self._form.names[k] for k in places]
        if len(own) != len(places):
            self._refuse(
                f"says {len(own)} things of {' and '.join(names) or 'unknowns that are given'}",
                f"There are {len(places)} fluxes through this part of the boundary.",
                "one for each unknown that is not given there.",
            )
        matrix = np.moveaxis(own[:, places], -1, 0)
        with np.errstate(all="ignore"):  # a row of zeros has no size
            rows = matrix / np.max(np.abs(matrix), axis=2, keepdims=True)
            regular = np.abs(np.linalg.det(rows)) > ROUNDED
        if not np.all(regular):
            name = names[0]
            raise ProblemError(
                f"elements: {self._flux.what} does not have ∂{name}/∂n in it everywhere",
                fix=f"where {name} itself is given write pde.Dirichlet({name}=…, on=…).",
            )

    def _refuse(self, how: str, why: str, fix: str) -> None:
        fix = f"solve the problem with a network: {fix}" if fix.startswith("method") else f"give {fix}"
        raise ProblemError(f"elements: {self._flux.what} {how}", why=why, fix=fix)


def other_numbers(numbers: Numbers, random: np.random.Generator) -> Numbers:
    """Return other coefficients and constants, with which slopes that cancel for the stated ones do not."""
    return {
        name: value * (1 + 0.3 * random.uniform()) + 0.1 * random.uniform()
        if np.asarray(value).dtype.kind == "f"
        else value
        for name, value in numbers.items()
    }
