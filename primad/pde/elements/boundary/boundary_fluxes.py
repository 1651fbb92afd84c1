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
from primad.functional.derivatives.first_order import jvp
from primad.pde.elements.weak_forms import Numbers, Residual, State, WeakForm, units_of
from primad.pde.geometry.sampling import Array
from primad.pde.problem.used_arguments import all_fixed


class BoundaryFlux:
    """The fluxes through a part of the boundary that conditions give.

    Args:
        form: the weak form.
        residuals: of the conditions: of what is known by name.
        equations: whose fluxes are given, each with the unknown that it is solved for.
        at: points of the part.
        normal: the outward normals.
        what: the conditions in words.
        time: any time; None of a problem without it.
        numbers: all coefficients and constants by name.
    """

    def __init__(
        self,
        form: WeakForm,
        residuals: Sequence[Residual],
        equations: Mapping[int, int],
        at: Array,
        normal: Array,
        what: str,
        time: Any,
        numbers: Numbers,
    ) -> None:
        self.form, self.residuals, self.equations = form, tuple(residuals), dict(equations)
        self.at, self.normal, self.what = at, normal, what
        self._own = self._fixed_factors(time, numbers)

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
        given, own = self.conditions(state, numbers)
        shares = self._shares([across[e] for e in self.equations], own)
        return [
            flux[e] - sum(share * one for share, one in zip(row, given, strict=True))
            for e, row in zip(self.equations, shares, strict=True)
        ]

    def fixed(self, time: Any, numbers: Numbers) -> list[Array] | None:
        """Return the fluxes if they depend on nothing, as those of an edge that is free or pulled are; None otherwise.

        Args:
            time: any time; None of a problem without it.
            numbers: all coefficients and constants by name.
        """
        nothing = tuple([np.zeros(len(self.at)) for _ in self.form.names])

        def fluxes(u: Any, rates: Any, time: Any, numbers: Any) -> Any:
            return tuple(self.fluxes(u, None, rates, time, numbers))

        found = nothing, nothing, 0.0 if time is None else np.float64(time), dict(numbers)
        return all_fixed(fluxes, found)

    def _fixed_factors(self, time: Any, numbers: Numbers) -> list[list[Array]] | None:
        """Return the factors of derivatives along the normal in what conditions say, if they depend on nothing."""
        nothing = tuple([np.zeros(len(self.at)) for _ in self.form.names])
        slopes = tuple([(one,) * len(self.form.space) for one in nothing])

        def factors(*given: Any) -> tuple[Any, ...]:
            time, u, slopes, rates, known = given
            state = State(self.at, None if self.form.time is None else time, u, slopes, rates)
            return tuple([one for row in self._conditions(state, known)[1] for one in row])

        first = np.float64(0.0 if time is None else time)
        fixed, count = all_fixed(factors, (first, nothing, slopes, nothing, dict(numbers))), len(nothing)
        return None if fixed is None else [fixed[i : i + count] for i in range(0, len(fixed), count)]

    def given(self, state: State, numbers: Numbers) -> list[Any]:
        """Return what conditions say is zero."""
        curves, _ = units_of(len(self.form.seconds), np.shape(state.u[0]))
        return [one for residual in self.residuals for one in self.form.evaluated(residual, state, curves, numbers)]

    def conditions(self, state: State, numbers: Numbers) -> tuple[list[Any], list[list[Any]]]:
        """Return what conditions say is zero, and the factors in it of each unknown's derivative along the normal."""
        if self._own is not None:
            return self.given(state, numbers), [list(row) for row in self._own]
        return self._conditions(state, numbers)

    def _conditions(self, state: State, numbers: Numbers) -> tuple[list[Any], list[list[Any]]]:
        size, columns = len(self.form.space), []
        given: Sequence[Any] = ()
        for k in range(len(self.form.names)):
            along = tuple([
                tuple([self.normal[:, j] * (own == k) for j in range(size)]) for own in range(len(self.form.names))
            ])  # fmt: skip
            given, column = jvp(lambda s: self.given(state._replace(slopes=s), numbers), (state.slopes,), (along,))
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
