"""Fluxes through the boundary, of conditions on derivatives there.

Conditions T(x, u, ∇u) = 0 that are linear in derivatives give q = n·A∇u, the flux that the weak form asks for, if they
can be solved for the derivatives along the normal: q − Λ T has none of these where Λ C = Q, with the factors of normal
derivatives Q in q and C in T. What is left are values, and derivatives along the boundary, which elements know there.
So Neumann's conditions, Robin's, tractions and oblique ones are one case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ProblemError
from primad.functional.derivatives.first_order import jvp
from primad.pde.elements.weak_forms import Numbers, Residual, State, WeakForm, units_of
from primad.pde.geometry.sampling import Array
from primad.pde.problem.used_arguments import depends

ROUNDED = 1e-8
"""Share of a flux that counts as nothing. Chosen: rounding leaves 1e-15, a condition on something else its own size."""


class BoundaryFlux:
    """The fluxes through a part of the boundary that conditions give.

    Args:
        form: the weak form.
        residuals: of the conditions: of what is known by name.
        equations: whose fluxes are given, each with the unknown that it is solved for.
        at: points of the part.
        normal: the outward normals.
        time: when conditions are checked; None of a problem without time.
        numbers: coefficients and constants by name, for the check.
        what: the conditions in words.

    Raises:
        ProblemError: if the conditions do not give these fluxes.
    """

    def __init__(
        self,
        form: WeakForm,
        residuals: Sequence[Residual],
        equations: Mapping[int, int],
        at: Array,
        normal: Array,
        time: Any,
        numbers: Numbers,
        what: str,
    ) -> None:
        self.form, self.residuals, self.equations = form, tuple(residuals), dict(equations)
        self.at, self.normal, self.what = at, normal, what
        self.tangential = True
        self._check(time, numbers)

    def fluxes(self, u: Any, slopes: Any, rates: Any, time: Any, numbers: Numbers) -> list[Any]:
        """Return the fluxes of the equations, in their order.

        Args:
            u: the values of each unknown.
            slopes: of each unknown the derivatives along each coordinate; None where derivatives along the boundary
                are in no flux.
            rates: the derivative along time of each unknown.
            time: the time.
            numbers: all coefficients and constants by name.
        """
        if slopes is None:
            slopes = tuple([tuple([np.zeros(len(self.at)) for _ in self.form.space]) for _ in u])
        state = State(self.at, time, tuple(u), slopes, tuple(rates))
        flux, across = self.form.normal_flux(state, self.normal, numbers)
        given, own = self._conditions(state, numbers)
        shares = self._shares([across[e] for e in self.equations], own)
        return [
            flux[e] - sum(share * one for share, one in zip(row, given, strict=True))
            for e, row in zip(self.equations, shares, strict=True)
        ]

    def _given(self, state: State, numbers: Numbers) -> list[Any]:
        curves, _ = units_of(len(self.form.seconds), np.shape(state.u[0]))
        return [one for residual in self.residuals for one in self.form.evaluated(residual, state, curves, numbers)]

    def _conditions(self, state: State, numbers: Numbers) -> tuple[list[Any], list[list[Any]]]:
        """Return what conditions say is zero, and the factors in it of each unknown's derivative along the normal."""
        size, columns = len(self.form.space), []
        given: Sequence[Any] = ()
        for k in range(len(self.form.names)):
            along = tuple([
                tuple([self.normal[:, j] * (own == k) for j in range(size)]) for own in range(len(self.form.names))
            ])  # fmt: skip
            given, column = jvp(lambda s: self._given(state._replace(slopes=s), numbers), (state.slopes,), (along,))
            columns.append(column)
        return list(given), [[column[c] for column in columns] for c in range(len(given))]

    def _shares(self, across: list[list[Any]], own: list[list[Any]]) -> list[list[Any]]:
        """Return Λ, a row for each equation: how much of each condition makes its flux free of normal derivatives."""
        places = list(self.equations.values())
        if len(places) == 1:
            (k,) = places
            return [[across[0][k] / own[0][k]]]
        left, right = ([pnp.stack([row[k] for k in places], axis=-1) for row in rows] for rows in (own, across))
        found = np.linalg.solve(
            pnp.swapaxes(pnp.stack(left, axis=-2), -1, -2), pnp.swapaxes(pnp.stack(right, axis=-2), -1, -2)
        )
        return [[found[:, c, e] for c in range(len(own))] for e in range(len(across))]

    # -- what it asks of the conditions --------------------------------------------------------------------------------

    def _check(self, time: Any, numbers: Numbers) -> None:
        size, names, count = len(self.form.space), self.form.names, len(self.at)
        u = tuple([np.linspace(0.3, 0.7, count) + 0.05 * k for k in range(len(names))])
        rates = tuple([np.zeros(count) for _ in names])
        slopes = tuple([tuple([u[k] + 0.1 * i * (k + 1) for i in range(size)]) for k in range(len(names))])
        state = State(self.at, time, u, slopes, rates)

        def factors(slopes: Any) -> Any:
            return self._conditions(state._replace(slopes=slopes), numbers)[1]

        own = np.asarray([[np.asarray(one) for one in row] for row in self._conditions(state, numbers)[1]])
        self._check_solvable(own)
        if any(depends(factors, (slopes,), 0)):
            wrong = f"is not linear in the derivatives of {' and '.join(names)}"
            self._refuse(wrong, "It gives the flux through the boundary only if it is.", 'method="network".')
        along = [sum(one[i] * self.normal[:, i] for i in range(size)) for one in slopes]
        straight = tuple([tuple([one * self.normal[:, i] for i in range(size)]) for one in along])
        if self._changes(state._replace(slopes=straight), numbers):
            others = "the derivative along the normal of an unknown that is given there"
            self._refuse(f"leaves {others} in the flux", "Nothing says what that is.", 'method="network".')
        self.tangential = any(self._changes(state, one) for one in (numbers, *_others(numbers)))

    def _changes(self, state: State, numbers: Numbers) -> bool:
        """Say whether slopes change a flux, by its own size: coefficients may be small."""
        with np.errstate(all="ignore"):
            flat = np.asarray(self.fluxes(state.u, None, state.rates, state.time, numbers))
            found = np.asarray(self.fluxes(state.u, state.slopes, state.rates, state.time, numbers))
            whole = self.form.normal_flux(state, self.normal, numbers)[0]
            sizes = [np.max(np.abs(np.asarray(whole[e])), initial=0.0) for e in self.equations]
            scale = ROUNDED * (np.max(np.abs(flat), axis=1) + sizes)
            return not bool(np.all(np.max(np.abs(found - flat), axis=1) <= scale))  # what is not finite changes

    def _check_solvable(self, own: Array) -> None:
        places = list(self.equations.values())
        names = [self.form.names[k] for k in places]
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
                f"elements: {self.what} does not have ∂{name}/∂n in it everywhere",
                fix=f"where {name} itself is given write pde.Dirichlet({name}=…, on=…).",
            )

    def _refuse(self, how: str, why: str, fix: str) -> None:
        fix = f"solve the problem with a network: {fix}" if fix.startswith("method") else f"give {fix}"
        raise ProblemError(f"elements: {self.what} {how}", why=why, fix=fix)


def _others(numbers: Numbers) -> list[Numbers]:
    """Return other coefficients and constants, with which slopes that cancel for the stated ones do not."""
    found: list[Numbers] = []
    for seed in range(2):
        random = np.random.default_rng(seed)
        found.append({
            name: value * (1 + 0.3 * random.uniform()) + 0.1 * random.uniform()
            if np.asarray(value).dtype.kind == "f"
            else value
            for name, value in numbers.items()
        })  # fmt: skip
    return found
