"""Whether conditions are as many as the derivatives of the equations, and the coefficients, ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError, TracingError, warn
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import clock, space_of, time_of
from primad.pde.problem.condition_checks import concerned
from primad.pde.problem.conditions import Condition, Dirichlet, Free, Initial, Measured, Periodic
from primad.pde.problem.inner_conditions import Data, Past

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

TRIED = 8
"""Points of a part of the boundary that tell whether it is one at a time."""


def check_posed(problem: Problem) -> None:
    """Refuse too few conditions in time, and warn of too few in space, and of constants and coefficients left open.

    Where data, integrals, or freedom that is stated, may stand for a condition, nothing is said.

    Raises:
        ProblemError: if an unknown has fewer conditions in time than its equations have derivatives in time, or an
            unknown or a coefficient is in no equation.
    """
    _check_there(problem)
    _check_equations(problem)
    _check_coefficients(problem)
    for name in problem.unknowns:
        said = _of(problem, name)
        tell = [one for one in said if one.inside]
        free = [one for one in said if isinstance(one, Free)]
        if tell:
            if not free and all(isinstance(one, Data) and name not in one.columns for one in tell):
                _check_constant(problem, name)  # derivatives were measured, which do not tell it
            continue
        if not any(one.on for one in free):
            _check_ends(problem, name)
        if not free:
            _check_time(problem, name)
            _check_edges(problem, name)
            _check_constant(problem, name)


def check_windows(problem: Any, start: Any) -> None:
    """Raise unless a march has a function that makes the problem of a window, and what begins by name.

    Raises:
        TracingError: with what to write.
    """
    if not callable(problem):
        raise TracingError(
            f"march: the problem is a function that returns that of a window, got {type(problem).__name__}",
            why="Each window has a time and a start of its own.",
            fix="write march(lambda time, start: pde.Problem(…, pde.Interval(0, 1) * time, [pde.Initial(**start), …]), "
            "{'u': lambda x: …}, times).",
        )
    if not isinstance(start, Mapping):
        raise TracingError(
            f"march: the start has a function for each unknown by name, got {type(start).__name__}",
            fix="pass a dict: {'u': lambda x: …}.",
        )


def check_handed_on(problem: Problem) -> None:
    """Raise if an unknown needs more than values at the start, which are all that a march hands on.

    Raises:
        ProblemError: if an unknown is differentiated twice in time, or has an initial velocity, or the problem is a
            family.
    """
    if problem.family:
        raise ProblemError(
            "march: the problem of a window is a family",
            why="A window begins with what one solution is at the end of the one before.",
            fix="solve the family over the whole time, or march for one function, without family=.",
        )
    time = clock(problem.domain).names[0]
    if any(isinstance(one, Past) for one in problem.statement.conditions):
        raise ProblemError(
            "march: the problem of a window has a past",
            why="A window hands on what unknowns are at its end, and delays ask for what they were before.",
            fix="solve over the whole time at once, or make a problem for each window whose pde.Past is the solution "
            "before: pde.Past(u=before.u).",
        )
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


def _tells_more(problem: Problem) -> bool:
    """Say whether something else than equations and conditions at the boundary tells what unknowns are."""
    return any(one.inside for one in problem.statement.conditions)


def _can_be_counted(problem: Problem) -> bool:
    """Say whether conditions can be counted: those of one's own may say several things, and data anything."""
    return not _tells_more(problem) and all(one.kind != "condition" for one in problem.statement.conditions)


def _check_there(problem: Problem) -> None:
    """Raise for an unknown or a coefficient that functions take, and do nothing with."""
    there = {name for asked in problem.asked.values() for name, derivatives in asked.items() if derivatives}
    for kind, names, found in (
        ("unknown", problem.unknowns, there),
        ("coefficient", problem.coefficients, problem.learned),
    ):
        for name in names:
            if name not in found:
                raise ProblemError(
                    f"the {kind} {name!r} is in no equation and no condition",
                    why="A function takes it as an argument, and does nothing with it: nothing tells what it is.",
                    fix="use it in an equation, or leave it out: of the arguments, and of the problem.",
                )


def _check_equations(problem: Problem) -> None:
    """Warn if no choice gives each unknown an equation of its own."""
    if not _can_be_counted(problem):
        return
    rows = [
        [name for name in problem.unknowns if problem.asked[term.name][name]]
        for term in problem.terms.values()
        for _ in problem.labels[term.name]
        if term.kind == "equation"
    ]
    owner: dict[str, int] = {}

    def given(row: int, tried: set[str]) -> bool:
        """Give an equation an unknown, if need be by giving others another one."""
        for name in rows[row]:
            if name not in tried:
                tried.add(name)
                if name not in owner or given(owner[name], tried):
                    owner[name] = row
                    return True
        return False

    for row in range(len(rows)):
        given(row, set())
    lacking = [name for name in problem.unknowns if name not in owner]
    if lacking:
        warn(
            f"no equation is left for {', '.join(lacking)}: those of {len(problem.unknowns)} unknowns are {len(rows)}, "
            "or several are of the same ones, and many functions hold all of this. Return a tuple with an equation for "
            "each unknown, or a dict of them; or give pde.Data, pde.Integral or a pde.Condition that tells what it is."
        )


def _check_coefficients(problem: Problem) -> None:
    """Warn of coefficients where conditions are only as many as derivatives: each value has a solution then."""
    count = sum(len(problem.labels[term.name]) for term in problem.terms.values() if term.kind == "equation")
    if not problem.coefficients or count > len(problem.unknowns) or not _can_be_counted(problem):
        return
    free = any(isinstance(one, Free) and not one.on for one in problem.statement.conditions)
    if free or any(_has_one_more(problem, name) for name in problem.unknowns):
        return
    names, first = ", ".join(problem.coefficients), problem.unknowns[0]
    value = next(iter(np.ravel(problem.statement.coefficients[problem.coefficients[0]])))
    warn(
        f"nothing tells the value of {names}: the conditions are as many as the equations need, whatever it is, and "
        f"the loss is low at any. Give pde.Data, pde.Integral(lambda {first}: …, value), or one condition more, "
        f'pde.Neumann({first}=…) besides pde.Dirichlet({first}=…); or make it known: constants={{"'
        f'{problem.coefficients[0]}": {value:g}}}; or say that it is meant: pde.Free("{first}").'
    )


def _has_one_more(problem: Problem, name: str) -> bool:
    """Say whether an unknown has more conditions anywhere than its equations have derivatives there."""
    domain, parts = problem.domain, _held(problem, name)
    space, time = space_of(domain), time_of(domain)
    repeated = problem.statement.periodic([name])
    rest = set(parts)
    for coordinate in domain.names:
        ends = {f"{coordinate}-", f"{coordinate}+", *(["initial"] if coordinate == time else [])}
        rest -= ends
        needed = 0 if coordinate in repeated else _order(problem, name, coordinate)
        if sum(part in ends for part in parts) > needed:
            return True
    return any(parts.count(part) > _order_in(problem, name, space) / 2 for part in rest)


def _of(problem: Problem, name: str) -> list[Condition]:
    """Return the conditions that say something of an unknown."""
    return [one for one in problem.statement.conditions if name in _names(problem, one)]


def _names(problem: Problem, condition: Condition) -> tuple[str, ...]:
    if isinstance(condition, Measured):
        return tuple(name for name in problem.unknowns if name in condition.concerned)
    return tuple(concerned(condition, problem.statement))


def _order(problem: Problem, name: str, coordinate: str) -> int:
    """Return how often equations differentiate an unknown along a coordinate."""
    asked = [problem.asked[term.name][name] for term in problem.terms.values() if term.kind == "equation"]
    return max([along.count(coordinate) for each in asked for along in each], default=0)


def _order_in(problem: Problem, name: str, space: Sequence[str]) -> int:
    """Return the order of an unknown's equations in several coordinates together."""
    asked = [problem.asked[term.name][name] for term in problem.terms.values() if term.kind == "equation"]
    return max([sum(each in space for each in along) for found in asked for along in found], default=0)


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
    if None in found or sum(one in range(order) for one in found) >= order:
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
    return bool(np.ptp(domain.boundary(part, TRIED).at[:, domain.names.index(time)]) == 0)


def _held(problem: Problem, name: str) -> list[str]:
    """Return the parts of the boundary with a condition on an unknown, as often as they have one."""
    given = [one for one in _of(problem, name) if not isinstance(one, (Periodic, Free))]
    return [part for one in given for part in one.parts(problem.domain)]


def _says_several(problem: Problem, name: str) -> bool:
    """Say whether an unknown has a condition of one's own, which may say several things."""
    return any(one.kind == "condition" for one in _of(problem, name))


def _check_ends(problem: Problem, name: str) -> None:
    """Warn of ends of a coordinate with fewer conditions than the order of an equation along it.

    Of second order each end has one, unless one of both is left to a `Free` that names no part. An interval that is
    meant as time is so: both conditions are at its beginning.
    """
    domain, parts = problem.domain, _held(problem, name)
    if _says_several(problem, name):
        return
    is_free = any(isinstance(one, Free) for one in _of(problem, name))
    repeated = problem.statement.periodic([name])
    for coordinate in domain.names:
        ends = [part for part in domain.parts if part in (f"{coordinate}-", f"{coordinate}+")]
        order = _order(problem, name, coordinate)
        left = [end for end in ends if end not in parts]
        count = sum(parts.count(end) for end in ends)
        asked = order > 1 and len(left) == 1 and not _tells_more(problem) if left else order > 2 and not is_free
        if not asked or len(ends) != 2 or coordinate in repeated or count >= order:
            continue
        held = [end for end in ends if end not in left] if left else ends[order % 2 :]  # of odd order one end has more
        at = f', on="{held[0]}"' if len(held) == 1 else ""
        meant = f'pde.Free("{name}", on="{left[0]}")' if left else f'pde.Free("{name}")'
        curved = f'pde.Condition(lambda {name}: {name}.d({f"{coordinate} {coordinate}"!r}), on="{ends[0]}")'
        warn(
            f"{name} is of order {order} in {coordinate}, and has {count} condition{'s' * (count != 1)} at both "
            f"ends together: many functions hold all of this. Give {order}: pde.Neumann({name}=0{at}) besides "
            f"pde.Dirichlet({name}=0{at}){f', or {curved}' * (order > 3)}; or say that it is meant: {meant}."
        )


def _check_edges(problem: Problem, name: str) -> None:
    """Warn of an edge, of a disk or a polygon, with fewer conditions than half the order of an equation in space."""
    domain, parts = problem.domain, _held(problem, name)
    if _says_several(problem, name):
        return
    order = _order_in(problem, name, space_of(domain))
    ends = [f"{coordinate}{end}" for coordinate in domain.names for end in "-+"]
    for part in domain.parts:
        count = parts.count(part)
        if order < 4 or part in ends or count >= order // 2 or _is_in_time(domain, part):
            continue
        warn(
            f"{name} is of order {order} in space, and has {count} condition{'s' * (count != 1)} on {part!r}: many "
            f"functions hold all of this. Give {order // 2}: pde.Neumann({name}=0) besides pde.Dirichlet({name}=0), or "
            f'pde.Condition(lambda {name}: pde.laplacian({name}), on="{part}"); or say that it is meant: '
            f'pde.Free("{name}").'
        )
        return


def _is_in_time(domain: Domain, part: str) -> bool:
    time = time_of(domain)
    return time is not None and _is_at_a_time(domain, part, time)


def _check_constant(problem: Problem, name: str) -> None:
    """Warn if a constant may be added to an unknown."""
    asked = [found[name] for found in problem.asked.values()]
    held = any(isinstance(one, Dirichlet) or (isinstance(one, Initial) and not one.order) for one in _of(problem, name))
    if not held and not any(() in each for each in asked):
        warn(
            f"a constant may be added to {name}: only derivatives of it occur, and no condition gives it a value. Give "
            f"pde.Integral(lambda {name}: {name}.value, 0), or a value somewhere; or say that it is meant: "
            f'pde.Free("{name}").'
        )
