"""Whether conditions are as many as the derivatives of the equations ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from primad.errors import ProblemError, warn
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import time_of
from primad.pde.problem.boundary_checks import concerned
from primad.pde.problem.conditions import Condition, Data, Dirichlet, Free, Initial, Periodic
from primad.pde.problem.inner_conditions import Integral, Interface

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

TRIED = 8
"""Points of a part of the boundary that tell whether it is one at a time."""


def check_posed(problem: Problem) -> None:
    """Refuse too few conditions in time, and warn of too few in space, and of constants left open.

    Where data, integrals, or freedom that is stated, may stand for a condition, nothing is said.

    Raises:
        ProblemError: if an unknown has fewer conditions in time than its equations have derivatives in time.
    """
    for name in problem.unknowns:
        if not any(isinstance(one, (Data, Free, Integral, Interface)) for one in _of(problem, name)):
            _check_time(problem, name)
            _check_space(problem, name)
            _check_constant(problem, name)


def check_handed_on(problem: Problem) -> None:
    """Raise if an unknown needs more than values at the start, which are all that a march hands on.

    Raises:
        ProblemError: if an unknown is differentiated twice in time, or has an initial velocity.
    """
    time = time_of(problem.domain) or ""
    for name in problem.unknowns:
        order = _order(problem, name, time)
        if order > 1 or any(isinstance(one, Initial) and one.order for one in _of(problem, name)):
            raise ProblemError(
                f"march: {name} is of order {max(order, 2)} in {time}",
                why="A window hands on what unknowns are at its end, and not how fast they change: the next one would "
                "begin with the velocity of the first.",
                fix=f'write it as a system of first order: unknowns "{name} v", equations {name}.{time} - v and '
                f"v.{time} - …, with values of both for `start`.",
            )


def _of(problem: Problem, name: str) -> list[Condition]:
    """Return the conditions that say something of an unknown."""
    return [one for one in problem.statement.conditions if name in _names(problem, one)]


def _names(problem: Problem, condition: Condition) -> tuple[str, ...]:
    if isinstance(condition, Data):
        return tuple(name for name in problem.unknowns if name in condition.columns)
    return tuple(concerned(condition, problem.statement))


def _order(problem: Problem, name: str, coordinate: str) -> int:
    """Return how often equations differentiate an unknown along a coordinate."""
    asked = [problem.asked[term.name][name] for term in problem.terms.values() if term.kind == "equation"]
    return max([along.count(coordinate) for each in asked for along in each], default=0)


def _check_time(problem: Problem, name: str) -> None:
    """Raise for fewer conditions in time than derivatives."""
    time = time_of(problem.domain)
    if time is None:
        return
    order, found = _order(problem, name, time), list[int | None]()
    for one in _of(problem, name):
        known = one.order if isinstance(one, Initial) else 0 if isinstance(one, Dirichlet) else None
        found += [known for part in one.parts(problem.domain) if _is_at_a_time(problem.domain, part, time)]
    # A condition of one's own may say several things.
    if None in found or len([one for one in found if one is not None and one < order]) >= order:
        return
    missing = 0 if 0 not in found else 1 if 1 not in found else order - 1
    derivative = " ".join([time] * missing)
    fix = (
        f"pde.Initial({name}=…{', order=1' * missing})"
        if missing < 2
        else f"pde.Condition(lambda {name}: {name}.d({derivative!r}) - …, on='initial')"
    )
    count = f"{len(found) or 'no'} condition{'s' * (len(found) != 1)}"
    raise ProblemError(
        f"{name} is of order {order} in {time}, and has {count} in {time}",
        why="Many functions hold all of this, and nothing is assumed in silence.",
        fix=f'add {fix}; or say that nothing is known: pde.Free("{name}").',
    )


def _is_at_a_time(domain: Domain, part: str, time: str) -> bool:
    """Say whether a part of the boundary is at one time."""
    return part == "initial" or bool(np.ptp(domain.boundary(part, TRIED).at[:, domain.names.index(time)]) == 0)


def _check_space(problem: Problem, name: str) -> None:
    """Warn of ends with fewer conditions than an equation of fourth order, or of a higher one, asks for."""
    domain, said = problem.domain, _of(problem, name)
    if any(one.kind == "condition" for one in said):  # which may say several things
        return
    parts = [part for one in said if not isinstance(one, Periodic) for part in one.parts(domain)]
    repeated = problem.statement.periodic([name])
    for coordinate in domain.names:
        ends = [part for part in domain.parts if part in (f"{coordinate}-", f"{coordinate}+")]
        order = _order(problem, name, coordinate)
        count = sum(parts.count(end) for end in ends)
        if order > 3 and len(ends) == 2 and coordinate not in repeated and count < order:
            warn(
                f"{name} is of order {order} in {coordinate}, and has {count} condition{'s' * (count != 1)} at both "
                f"ends together: many functions hold all of this. Give {order}: pde.Neumann({name}=0) besides "
                f"pde.Dirichlet({name}=0), or pde.Condition(lambda {name}: {name}.d({f'{coordinate} {coordinate}'!r}), "
                f'on="{coordinate}-"); or say that it is meant: pde.Free("{name}").'
            )


def _check_constant(problem: Problem, name: str) -> None:
    """Warn if a constant may be added to an unknown."""
    asked = [found[name] for found in problem.asked.values()]
    held = any(isinstance(one, Dirichlet) or (isinstance(one, Initial) and not one.order) for one in _of(problem, name))
    if any(asked) and not held and not any(() in each for each in asked):
        warn(
            f"a constant may be added to {name}: only derivatives of it occur, and no condition gives it a value. Give "
            f"pde.Integral(lambda {name}: {name}.value, 0), or a value somewhere; or say that it is meant: "
            f'pde.Free("{name}").'
        )
