"""Nodes whose values conditions give."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ProblemError
from primad.functional.derivatives.first_order import jvp
from primad.pde.elements.weak_forms import Numbers, State, WeakForm, units_of
from primad.pde.geometry.point_arguments import Place
from primad.pde.geometry.sampling import Array
from primad.pde.problem.conditions import Condition, Dirichlet
from primad.pde.problem.named_arguments import arguments, by_name, on_points
from primad.pde.problem.used_arguments import depends

Values = Callable[[Any, Numbers], Any]
"""A function of the time, and of coefficients and constants by name, to values at nodes."""


class HeldValues:
    """Values that conditions give at nodes; where parts of the boundary meet, what is stated first holds.

    Attributes:
        places: the nodes, among those of all unknowns in a row.
        fixed: whether the values change neither with time nor with coefficients and constants.
    """

    def __init__(self, pieces: Sequence[tuple[Array, Values, bool]]) -> None:
        self._values = [values for _, values, _ in pieces]
        listed = np.concatenate([np.zeros(0, int), *[places for places, _, _ in pieces]])
        self.places, self._first = np.unique(listed, return_index=True)
        self.fixed = all(fixed for *_, fixed in pieces)

    def at(self, time: Any, numbers: Numbers) -> Any:
        """Return the values at `places`."""
        if not self._values:
            return np.zeros(0)
        return pnp.concatenate([values(time, numbers) for values in self._values])[self._first]


def given_values(
    form: WeakForm, condition: Condition, k: int, at: Array, time: Any, numbers: Numbers
) -> tuple[Values, bool]:
    """Return the values that a condition gives an unknown at points, and whether they are always the same.

    Args:
        form: whose unknowns there are.
        condition: Dirichlet's, or one's own that `gives_values`.
        k: the unknown.
        at: the points, one a row.
        time: when values are checked; None of a problem without time.
        numbers: coefficients and constants by name, for the check.

    Raises:
        ProblemError: if they are not finite, or the condition is not linear in the values.
    """
    if not isinstance(condition, Dirichlet):
        _check_linear(form, condition, k, at, time, numbers)
        return lambda time, numbers: _solved(form, condition, k, at, time, numbers), False
    value, points = condition.values[form.names[k]], form.points(at, time)
    columns = dict(zip(form.domain.names, np.asarray(points).T, strict=True))
    start = on_points(value, {**columns, "points": points}, len(at), condition.what)
    if form.time is None or not (callable(value) and {form.time, "points"} & set(arguments(value, condition.what))):
        return lambda time, numbers: start, True

    def values(time: Any, numbers: Numbers) -> Any:
        points = form.points(at, time)
        known = ChainMap({"points": points}, Place(form.domain.names, points))  # type: ignore[arg-type]
        return pnp.broadcast_to(by_name(value, known), (len(at),))

    return values, False


def gives_values(form: WeakForm, condition: Condition, at: Array, time: Any, numbers: Numbers) -> int | None:
    """Return the one unknown that a condition of one's own has the values of, and no derivatives; None otherwise."""
    if hasattr(condition, "values") or "n" in arguments(condition.residual, condition.what):
        return None
    state = drawn_at(form, at, time)

    def given(u: Any, slopes: Any, rates: Any) -> Any:
        return tuple(_residuals(form, condition, state._replace(u=u, slopes=slopes, rates=rates), numbers))

    if len(given(state.u, state.slopes, state.rates)) != 1:
        return None
    asked = [depends(given, (state.u, state.slopes, state.rates), place) for place in range(3)]
    return asked[0].index(True) if sum(asked[0]) == 1 and not any(asked[1] + asked[2]) else None


def _residuals(form: WeakForm, condition: Condition, state: State, numbers: Numbers) -> list[Any]:
    curves, _ = units_of(len(form.seconds), np.shape(state.u[0]))
    return form.evaluated(lambda known: by_name(condition.residual, known), state, curves, numbers)


def drawn_at(form: WeakForm, at: Array, time: Any, shift: float = 0.0) -> State:
    """Return a state at points, at which conditions are looked at.

    Args:
        form: whose unknowns there are.
        at: the points, one a row.
        time: the time; None of a problem without time.
        shift: of all values.
    """
    u = tuple([np.linspace(0.3, 0.7, len(at)) + shift for _ in form.names])
    slopes = tuple([tuple([one + 0.1 * i for i in range(len(form.space))]) for one in u])
    return State(at, time, u, slopes, u)


def _line(form: WeakForm, condition: Condition, k: int, state: State, numbers: Numbers) -> tuple[Any, Any]:
    """Return what a condition says is zero, and its factor of the values of an unknown."""

    def given(u: Any) -> Any:
        return _residuals(form, condition, state._replace(u=(*state.u[:k], u, *state.u[k + 1 :])), numbers)[0]

    level, slope = jvp(given, (state.u[k],), (np.ones(np.shape(state.u[k])),))
    return level, slope


def _solved(form: WeakForm, condition: Condition, k: int, at: Array, time: Any, numbers: Numbers) -> Any:
    nothing = tuple([np.zeros(len(at)) for _ in form.names])
    state = drawn_at(form, at, time)._replace(u=nothing)
    level, slope = _line(form, condition, k, state, numbers)
    return -level / slope


def _check_linear(form: WeakForm, condition: Condition, k: int, at: Array, time: Any, numbers: Numbers) -> None:
    name, state = form.names[k], drawn_at(form, at, time)

    def slope(u: Any) -> Any:
        return _line(form, condition, k, state._replace(u=u), numbers)[1]

    fix = f"where {name} is given write pde.Dirichlet({name}=…, on=…)."
    if any(depends(slope, (state.u,), 0)):
        raise ProblemError(
            f"elements: {condition.what} is not linear in {name}",
            why="A condition without derivatives gives the values at nodes.",
            fix=fix,
        )
    if not np.all(np.asarray(slope(state.u))):
        raise ProblemError(f"elements: {condition.what} does not have {name} in it everywhere", fix=fix)
