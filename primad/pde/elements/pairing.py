"""Which equation is solved for which unknown, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primad.pde.elements.supported import drawn
from primad.pde.elements.weak_forms import Numbers, WeakForm
from primad.pde.geometry.sampling import Array
from primad.pde.problem.used_arguments import depends

STRAIGHT, BENT, OCCURS, LISTED = 1000, 100, 10, 1
"""How much speaks for solving an equation for an unknown: each second derivative along one coordinate, another one, the
unknown at all, and that both have the same place in their lists. Chosen: each outweighs all that follow."""


@dataclass(frozen=True)
class Pairing:
    """Which equation is solved for which unknown: where an unknown is given, its equation does not hold.

    Attributes:
        equations: the equation of each unknown.
        through: for each unknown the one whose flux its equation has: itself, but for `exchanged` equations.
        flows: whether the equation of each unknown has second derivatives: it needs a condition at the boundary.
        multiplies: whether each unknown is in its own equation neither itself nor by its slopes, as a pressure is not
            in ∇·u = 0.
        moves: whether the derivative along time of each unknown is in some equation.
        rests: whether the equation of each unknown has no derivative along time.
        leveled: whether each unknown itself is in some equation, and not its derivatives alone.
        at_once: whether each unknown that does not move can be found by an equation without derivatives along time.
    """

    equations: tuple[int, ...]
    through: tuple[int, ...]
    flows: tuple[bool, ...]
    multiplies: tuple[bool, ...]
    moves: tuple[bool, ...]
    rests: tuple[bool, ...]
    leveled: tuple[bool, ...]
    at_once: tuple[bool, ...]


def paired(form: WeakForm, numbers: Numbers) -> Pairing:
    """Return the pairing of a form's equations and unknowns, read off what each equation depends on."""
    from scipy.optimize import linear_sum_assignment  # loads when it is called

    state, count = drawn(form), len(form.names)
    curves = tuple([state.u[0] + i for i in range(len(form.seconds))])
    arrays = (state.u, tuple([one for row in state.slopes for one in row]), state.rates, curves)

    def equation(place: int) -> list[Array]:
        def own(u: Any, slopes: Any, rates: Any, curves: Any) -> Any:
            size = len(form.space)
            rows = tuple([tuple(slopes[k * size : (k + 1) * size]) for k in range(count)])
            at = state._replace(u=u, slopes=rows, rates=rates)
            return form.evaluated(form.equations, at, curves, numbers)[place]

        return [np.asarray(depends(own, arrays, which)) for which in range(len(arrays))]

    found = [equation(e) for e in range(count)]
    u, flat, rates, bends = [np.stack([row[which] for row in found]).astype(np.bool_) for which in range(len(arrays))]
    slopes = np.logical_or.reduce(flat.reshape(count, count, -1), axis=2)
    scores: Array = np.eye(count) * LISTED + OCCURS * (u | slopes | rates)
    for (k, i, j), column in zip(form.seconds, bends.T, strict=True):
        scores[:, k] += (STRAIGHT if i == j else BENT) * column
    there: Array = u | slopes | (scores >= BENT)
    moves, still = np.logical_or.reduce(rates, axis=0), ~np.logical_or.reduce(rates, axis=1)
    unknowns = np.arange(count)
    rows = linear_sum_assignment(scores.T, maximize=True)[1]
    flags = (
        np.logical_or.reduce(bends[rows], axis=1),
        ~there[rows, unknowns],
        moves,
        still[rows],
        np.logical_or.reduce(u, axis=0),
        _matched(there[still] & ~moves),
    )
    equations = tuple([int(row) for row in rows])
    return Pairing(equations, tuple(range(count)), *[tuple([bool(one) for one in flag]) for flag in flags])


def exchanged(pairing: Pairing, held: Sequence[set[int]], given: Sequence[set[int]]) -> Pairing:
    """Return the pairing in which each equation has what it needs at the boundary: its flux, or its unknown.

    Of a clamped plate, Δw = m and Δm = f, the deflection w has both conditions and the moment m none. So the flux of
    the first equation is known, which holds up to the boundary, as one for m; the second one is solved for w (P. G.
    Ciarlet & P.-A. Raviart, A mixed finite element method for the biharmonic equation, 1974).

    Args:
        pairing: the one read off the equations, which is kept where it serves, and where none does.
        held: for each part of the boundary the unknowns that are given there, or go on at the other end.
        given: for each part the unknowns whose fluxes are given there.
    """
    from scipy.optimize import linear_sum_assignment  # loads when it is called

    count = len(pairing.equations)
    lacking = [
        [
            sum(own not in known and flux not in fluxes for known, fluxes in zip(held, given, strict=True))
            if pairing.flows[flux]
            else 0
            for flux in range(count)
        ]
        for own in range(count)
    ]
    order = linear_sum_assignment((1 + count) * np.array(lacking) - np.eye(count))[1].tolist()
    if any(lacking[own][flux] for own, flux in enumerate(order)):
        return pairing
    return replace(
        pairing,
        equations=tuple([pairing.equations[k] for k in order]),
        through=tuple(order),
        flows=tuple([pairing.flows[k] for k in order]),
        rests=tuple([pairing.rests[k] for k in order]),
    )


def _matched(there: Array) -> Array:
    """Return which unknowns can each have an equation of its own that it is in."""
    from scipy.optimize import linear_sum_assignment  # loads when it is called

    found = np.zeros(there.shape[1], bool)
    rows, columns = linear_sum_assignment(there, maximize=True)
    found[columns[there[rows, columns]]] = True
    return found
