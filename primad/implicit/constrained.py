"""Minima under constraints, as solutions of the conditions of Karush, Kuhn and Tucker.

With multipliers λ of equations h(x) = 0 and μ of inequalities g(x) ≥ 0 the minimum of f has

    ∇f − λ·∇h − μ·∇g = 0,   h(x) = 0,   min(μ, g(x)) = 0.

These are as many equations as unknowns (Nocedal and Wright 2006, section 12.3). The Jacobian has the rows of the
inequalities that hold with equality, so the derivatives are those of the problem with these alone (Fiacco 1976).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad import numpy as pnp
from primad.errors import DomainError
from primad.functional.derivatives.gradients import value_and_grad
from primad.implicit.equations import Array, ImplicitEquation
from primad.recording import tree
from primad.recording.traced_array import settled

NEAR = 1e-6
"""How small a constraint that holds with equality, and a multiplier that is 0, may be, as a share of the largest of
their kind. Chosen: SciPy's solvers are exact to 1e-8 or so, and Newton's steps follow."""


class Constrained(NamedTuple):
    """A function to be least under constraints.

    Attributes:
        value: x -> a number.
        equal: x -> numbers, arrays or trees of them, that are to be 0.
        positive: the same that are not to be negative.
    """

    value: Callable[[Any], Any]
    equal: Callable[[Any], Any]
    positive: Callable[[Any], Any]


def in_a_row(found: Any) -> Any:
    """Return the numbers of a tree as one row; none for None."""
    parts = [settled(pnp.ravel(pnp.array(leaf))) for leaf in tree.leaves(found) if leaf is not None]
    return pnp.concatenate(parts) if parts else np.zeros(0)


def start_of(of: Constrained, x0: Any) -> dict[str, Any]:
    """Return where to start: at x0, with multipliers 0."""
    sizes = {"equal": of.equal(x0), "positive": of.positive(x0)}
    return {"x": x0, **{name: np.zeros(in_a_row(found).shape) for name, found in sizes.items()}}


def conditions(of: Constrained, projected: Callable[[Any, Any], Any] = lambda x, slope: slope) -> Callable[..., Any]:
    """Return the equation of a minimum: unknowns -> (what is 0, the value and the constraints in a row).

    Args:
        of: the problem.
        projected: (x, slope) -> what is 0 where x is within bounds besides.
    """

    def equation(unknown: Any) -> Any:
        def lagrangian(x: Any) -> Any:
            value, equal, positive = of.value(x), in_a_row(of.equal(x)), in_a_row(of.positive(x))
            weighted = value - unknown["equal"] @ equal - unknown["positive"] @ positive
            return weighted, (value, equal, positive)

        (_, (value, equal, positive)), slope = value_and_grad(lagrangian, has_aux=True)(unknown["x"])
        found = projected(unknown["x"], slope), equal, pnp.minimum(unknown["positive"], positive)
        return found, pnp.concatenate([pnp.reshape(value, (1,)), equal, positive])

    return equation


def multipliers(values: Array, slopes: Array, equal: int) -> tuple[Array, Array]:
    """Return multipliers near a minimum: the slopes add up with them, and off its constraint each is 0.

    They make |∇f − λ·∇h − μ·∇g|² + |μ g|² least with μ ≥ 0 (Facchinei, Fischer and Kanzow 1998), so that it need not be
    known how near to its constraints a solver stops.

    Args:
        values: of the function and of the constraints, equations first.
        slopes: their derivatives, a row for each.
        equal: how many equations there are.

    Raises:
        DomainError: if an inequality holds with equality whose multiplier is 0: there is a kink.
    """
    from scipy.optimize import lsq_linear  # loads when it is called

    count, rest = len(values) - 1, values[1 + equal :]
    off = np.zeros((len(rest), count))
    off[np.arange(len(rest)), equal + np.arange(len(rest))] = rest
    lower = np.where(np.arange(count) < equal, -np.inf, 0.0)
    matrix, right = np.concatenate([slopes[1:].T, off]), np.concatenate([slopes[0], np.zeros(len(rest))])
    found = lsq_linear(matrix, right, (lower, np.inf), tol=1e-14).x if matrix.size else np.zeros(count)
    small = NEAR * max(1.0, float(np.abs(found).max(initial=0.0)))
    near = NEAR * max(1.0, float(np.abs(values).max(initial=0.0)))
    twice = (np.abs(found[equal:]) <= small) & (np.abs(rest) <= near)
    if twice.any():
        place = int(np.argmax(twice))
        raise DomainError(
            f"a minimum where inequality {place} holds with equality, and its multiplier is 0",
            why="To one side the constraint is active, to the other it is not: the minimum has a kink there.",
            fix="leave out what is redundant, or change the problem a little.",
        )
    return found[:equal], np.where(found[equal:] < rest, 0.0, found[equal:])


def by_slsqp(of: ImplicitEquation, start: Array, given: Sequence[Array]) -> Array:
    """Return the unknowns that SciPy's sequential quadratic programming finds."""
    from scipy.optimize import minimize  # loads when it is called

    kinds = {name: np.size(of.unknowns(start)[name]) for name in ("equal", "positive")}
    size = len(start) - sum(kinds.values())

    def values(x: Array) -> Array:
        found: Array = of.values(np.concatenate([x, start[size:]]).astype(start.dtype), given)[1]
        return found

    def slopes(x: Array) -> Array:
        found = of.jacobian(np.concatenate([x, start[size:]]).astype(start.dtype), given, 1)[:, :size]
        return np.asarray(found) if isinstance(found, np.ndarray) else np.asarray(found.toarray())

    first, constraints = 1, []
    for kind, count in zip(("eq", "ineq"), kinds.values(), strict=True):
        own = slice(first, first + count)
        if count:
            constraints.append(
                {"type": kind, "fun": lambda x, own=own: values(x)[own], "jac": lambda x, own=own: slopes(x)[own]}
            )
        first += count
    found = minimize(
        lambda x: values(x)[0], start[:size], jac=lambda x: slopes(x)[0], method="SLSQP", constraints=constraints,
        options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    return np.concatenate([found.x, *multipliers(values(found.x), slopes(found.x), kinds["equal"])]).astype(start.dtype)
