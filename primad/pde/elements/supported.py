"""What of a problem elements take, and the one error of what they do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError
from primad.functional.derivatives.first_order import jvp
from primad.pde.elements.weak_forms import Arrays, Numbers, State, WeakForm, units_of
from primad.pde.geometry.intervals import clock, space_of, time_of
from primad.pde.geometry.sampling import Array
from primad.pde.problem.box_statements import ELSEWHERE, refuse
from primad.pde.problem.used_arguments import depends, fixed_results

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem
    from primad.pde.problem.statement import StatedEquation

TAKEN = (
    "Dirichlet condition",
    "Neumann condition",
    "Robin condition",
    "periodic condition",
    "initial condition",
    "condition",
    "freedom",
    "integral",
    "interface condition",
)
"""Kinds of conditions that elements take."""


def check_problem(problem: Problem) -> None:
    """Raise if a problem is none that elements solve, whatever its equations say.

    Raises:
        ProblemError: if it is none.
    """
    if problem.complex:
        _refuse("a complex unknown", "real ones")
    if problem.family:
        _refuse("a family", "one problem at a time")
    if problem.integrals | problem.elsewhere:
        _refuse(ELSEWHERE, "values and derivatives at points")
    for condition in problem.statement.conditions:
        if condition.kind not in TAKEN:
            _refuse(
                f"a condition of the kind {condition.kind!r}",
                "Dirichlet, Neumann, Robin, periodic and initial conditions, and those on ∂u/∂n",
            )


def weak_form(problem: Problem, equations: Sequence[StatedEquation]) -> WeakForm:
    """Return the weak form of a problem's equations.

    Args:
        problem: the problem.
        equations: its equations, of which each stands for those of the same unknowns in other parts of the domain.

    Raises:
        ProblemError: if they are none that elements solve.
    """
    counts = sum(len(problem.labels[one.name]) for one in equations), len(problem.unknowns)
    if counts[0] != counts[1]:
        said = [
            f"{count} {one}{'s' * (count != 1)}" for count, one in zip(counts, ("equation", "unknown"), strict=True)
        ]
        _refuse(" for ".join(said), "one equation for each unknown")
    return weak_form_of(problem, [one.function for one in equations], " and ".join(one.name for one in equations))


def weak_form_of(problem: Problem, functions: Sequence[Callable[..., Any]], name: str) -> WeakForm:
    """Return the weak form of functions that say what is to be zero.

    Args:
        problem: the problem.
        functions: what its equations are in a part of the domain.
        name: what they are called.

    Raises:
        ProblemError: if it is none that elements solve.
    """
    seconds = _seconds(problem)
    for key, term in problem.terms.items():
        orders = [len(along) for asked in problem.asked[term.name].values() for along in asked]
        if term.kind == "boundary" and max(orders, default=0) > 1:
            _refuse(f"derivatives of order {max(orders)} in the {key}", "conditions on values and first derivatives")
    form = WeakForm(functions, problem.unknowns, problem.domain, seconds)
    numbers = {**problem.statement.constants, **problem.statement.coefficients}
    _check(form, name, numbers)
    form.uniform = _uniform(form, numbers)
    return form


def _uniform(form: WeakForm, numbers: Numbers) -> list[list[float | None]]:
    """Return the factors of second derivatives in equations, where they are numbers that depend on nothing."""
    state = drawn(form)

    def factors(*given: Any) -> tuple[Any, ...]:
        at, time, u, slopes, rates, known = given
        own = State(at, None if form.time is None else time, u, slopes, rates)
        return tuple([one for row in form.second(own, known)[0] for one in row])

    given = state._replace(time=np.float64(0.0 if state.time is None else state.time)), dict(numbers)
    found = fixed_results(factors, (*given[0], given[1]))
    numbers_of = [None if one is None or np.ptp(one) else float(np.ravel(one)[0]) for one in found]
    count = len(numbers_of) // max(1, len(form.seconds))
    return [numbers_of[i * count : (i + 1) * count] for i in range(len(form.seconds))]


def _refuse(what: str, taken: str) -> None:
    refuse("elements", what, taken)


def _seconds(problem: Problem) -> list[tuple[int, int, int]]:
    """Return the second derivatives that the equations ask for: the unknown, and the axes of space.

    Raises:
        ProblemError: if there are none, or derivatives of other orders.
    """
    space, time = space_of(problem.domain), time_of(problem.domain)
    asked = [
        (k, along)
        for equation in problem.statement.equations
        for k, name in enumerate(problem.unknowns)
        for along in problem.asked[equation.name][name]
    ]
    for k, along in asked:
        if time in along and along != (time,):
            name = problem.unknowns[k]
            raise ProblemError(
                f"elements: the problem has the derivative of {name} along {' and '.join(along)}",
                why=f"Elements take derivatives along {time} of first order, and of unknowns themselves.",
                fix=f"make ∂{name}/∂{time} an unknown, with the equation {name}.{time} - v: unknowns='{name} v'; or "
                'solve the problem with a network: method="network".',
            )
    in_space = [(k, along) for k, along in asked if along != (time,)]
    order = max((len(along) for _, along in in_space), default=0)
    if order != 2:
        _refuse(f"an equation of order {order}", "those of order 2")
    found = {(k, *sorted(space.index(one) for one in along)) for k, along in in_space if len(along) == 2}
    return sorted(found)  # type: ignore[arg-type]


def drawn(form: WeakForm) -> State:
    """Return a state at some points, at which equations are looked at."""
    at: Array = form.domain.interior(2).at
    u = tuple([np.linspace(0.3, 0.7, len(at)) + 0.05 * k for k in range(len(form.names))])
    slopes = tuple([tuple([one + 0.1 * i for i in range(len(form.space))]) for one in u])
    where = at[:, [form.domain.names.index(name) for name in form.space]]
    time = None if form.time is None else float(clock(form.domain).low)
    return State(where, time, u, slopes, tuple([0.2 * one for one in u]))


def slopes_of(function: Callable[[Arrays], list[Any]], at: Arrays) -> list[list[Any]]:
    """Return the derivatives of several functions by each of several arrays: a list for each array."""
    units = units_of(len(at), np.shape(at[0]))[1] if at else []
    return [list(jvp(lambda one: tuple(function(one)), (at,), (unit,))[1]) for unit in units]


def _check(form: WeakForm, what: str, numbers: Numbers) -> None:
    """Raise unless equations are linear in second derivatives and in those along time, with factors that elements take.

    Raises:
        ProblemError: if they are not.
    """
    state = drawn(form)
    curves = tuple([state.u[0] + i for i in range(len(form.seconds))])

    def factors(curves: Any, slopes: Any, rates: Any) -> Any:
        at = state._replace(slopes=slopes, rates=rates)
        return slopes_of(lambda c: form.evaluated(form.equations, at, c, numbers), curves)

    at_points = (curves, state.slopes, state.rates)
    if any(depends(factors, at_points, 0)):
        _wrong(what, "is not linear in second derivatives")
    if any(depends(factors, at_points, 1)):
        _wrong(what, "has first derivatives in the factors of second ones")
    if form.time is None:
        return
    if any(depends(factors, at_points, 2)):
        _wrong(what, f"has derivatives along {form.time} in the factors of second ones")

    def masses(u: Any, slopes: Any, rates: Any, curves: Any, time: Any) -> Any:
        at = state._replace(u=u, slopes=slopes, time=time)
        return slopes_of(lambda r: form.evaluated(form.equations, at._replace(rates=r), curves, numbers), rates)

    every = (state.u, state.slopes, state.rates, curves, np.float64(state.time))
    if any(any(depends(masses, every, place)) for place in range(len(every))):
        raise ProblemError(
            f"elements: {what} has factors of derivatives along {form.time} that change with {form.time} or an unknown",
            why="Elements take those that are functions of space, coefficients and constants.",
            fix=f"divide the equation by the factor, or take what is differentiated along {form.time} as the unknown.",
        )


def is_constraint(form: WeakForm, place: int, resting: Sequence[int], numbers: Numbers) -> bool:
    """Say whether an equation is linear in unknowns that have rates, with factors of space alone, and has no others.

    Args:
        form: whose equations there are.
        place: the equation's.
        resting: the unknowns without rates.
        numbers: coefficients and constants by name.
    """
    state, size = drawn(form), len(form.space)
    count = len(state.u)
    curves = tuple([state.u[0] + i for i in range(len(form.seconds))])
    every = (*state.u, *[one for row in state.slopes for one in row])

    def equation(own: Any, rates: Any = state.rates, curves: Any = curves, time: Any = state.time) -> Any:
        rows = tuple([tuple(own[count + k * size : count + (k + 1) * size]) for k in range(count)])
        at = state._replace(u=tuple(own[:count]), slopes=rows, rates=rates, time=time)
        return form.evaluated(form.equations, at, curves, numbers)[place]

    def factors(own: Any, time: Any) -> Any:
        return slopes_of(lambda one: [equation(one, time=time)], own)

    asked, *others = [depends(equation, (every, state.rates, curves), argument) for argument in range(3)]
    of_resting = any(asked[k] or any(asked[count + k * size : count + (k + 1) * size]) for k in resting)
    arrays = (every, np.float64(state.time))
    changing = [depends(factors, arrays, argument) for argument in range(2)]
    return not (of_resting or any(any(one) for one in [*others, *changing]))


def _wrong(what: str, how: str) -> None:
    raise ProblemError(
        f"elements: {what} {how}",
        why="Elements take what is A(x, u) : ∇∇u + b(x, u, ∇u) = 0, which has a weak form with a flux A∇u.",
        fix='solve it with a network: method="network".',
    )
