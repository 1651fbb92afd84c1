"""Which equation is solved for which unknown, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
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
        flows: whether the equation of each unknown has second derivatives: it needs a condition at the boundary.
        multiplies: whether each unknown is in its own equation neither itself nor by its slopes, as a pressure is not
            in ∇·u = 0.
        moves: whether the derivative along time of each unknown is in some equation.
        rests: whether the equation of each unknown has no derivative along time.
        leveled: whether each unknown itself is in some equation, and not its derivatives alone.
        at_once: whether each unknown that does not move can be found by an equation without derivatives along time.
    """

    equations: tuple[int, ...]
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
    return Pairing(tuple([int(row) for row in rows]), *[tuple([bool(one) for one in flag]) for flag in flags])


def _matched(there: Array) -> Array:
    """Return which unknowns can each have an equation of its own that it is in."""
    from scipy.optimize import linear_sum_assignment  # loads when it is called

    found = np.zeros(there.shape[1], bool)
    rows, columns = linear_sum_assignment(there, maximize=True)
    found[columns[there[rows, columns]]] = True
    return found
