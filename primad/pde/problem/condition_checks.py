"""Checks of conditions: each is on what the problem has, every unknown has one at each part, and none contradict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError, suggestion
from primad.pde.families.family import Family
from primad.pde.families.family_data import FamilyData
from primad.pde.fields.coordinate_names import coordinates
from primad.pde.fields.field_refusals import likely
from primad.pde.geometry.containment import outside, place_of
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import Interval, factors_of, time_of
from primad.pde.geometry.sampling import Array
from primad.pde.problem.conditions import Condition, Free, Initial, Measured, Neumann, Periodic, Robin
from primad.pde.problem.inner_conditions import Data, Integral, Interface
from primad.pde.problem.named_arguments import check_arguments

if TYPE_CHECKING:
    from primad.pde.problem.statement import Statement


def check_boundary(statement: Statement) -> None:
    """Raise for a part of the boundary without a condition, or with two that contradict each other."""
    domain = statement.domain
    said: dict[tuple[str, str], list[Condition]] = {}
    for condition in sorted(statement.conditions, key=_is_rest):
        if condition.inside:
            continue
        for name in concerned(condition, statement):
            for part in condition.parts(domain):
                before = said.setdefault((name, part), [])
                if not (before and _is_rest(condition)):
                    _check_twice(condition, before, name, part)
    _check_ends(statement, said)
    for part in domain.parts:
        lacking = [name for name in statement.networks if (name, part) not in said and _lives(statement, name, part)]
        if lacking:
            names = ", ".join(lacking)
            raise ProblemError(
                f"nothing is said of {names} on the part {part!r} of the boundary",
                why="Nothing is assumed in silence, neither that it repeats nor that it is free.",
                fix=f"give a condition, Dirichlet({lacking[0]}=0, on={part!r}) for instance; "
                f'or say that it has none: Free("{lacking[0]}", on={part!r}).'
                if part != "initial"
                else f"give Initial({lacking[0]}=…), or say that there is none: Free(\"{lacking[0]}\", on='initial').",
            )


def _lives(statement: Statement, name: str, part: str) -> bool:
    """Say whether an unknown has an equation at a part of the boundary: of two materials each has its own.

    Where there is no equation at all, data alone say what unknowns are.
    """
    everything = statement.everything()
    if not statement.equations:
        return False
    asking = [one.domain for one in statement.equations if name in check_arguments(one.function, everything, "")]
    if not asking or statement.domain in asking:
        return True
    at = statement.domain.boundary(part, 32).at
    return any(bool(np.any(domain.contains(at))) for domain in asking)


def _is_rest(condition: Condition) -> bool:
    """Say whether a condition holds on the parts that other conditions leave."""
    return isinstance(condition, Free) and condition.on is None


def concerned(condition: Condition, statement: Statement) -> Sequence[str]:
    """Return the unknowns that a condition constrains."""
    if condition.unknowns:
        return condition.unknowns
    if isinstance(condition, Periodic):
        return tuple(statement.networks)
    asked = check_arguments(condition.residual, statement.everything(), condition.what)
    return [name for name in statement.networks if name in asked]


def _check_twice(condition: Condition, before: list[Condition], name: str, part: str) -> None:
    """Raise if a condition repeats another one, or contradicts it."""
    for other in before:
        free = isinstance(condition, Free) or isinstance(other, Free)
        if condition.kind == other.kind != "condition" or free:
            what = "is said twice" if condition.kind == other.kind else "contradict each other"
            first = f"a {other.kind} and a {condition.kind}" if condition.kind != other.kind else f"a {condition.kind}"
            raise ProblemError(
                f"{first} of {name} on the part {part!r} of the boundary {what}", fix="leave one of them out."
            )
    before.append(condition)


def _check_ends(statement: Statement, said: Mapping[tuple[str, str], Sequence[Condition]]) -> None:
    """Raise where both ends of a periodic coordinate have a further condition: the ends are one place."""
    for name, coordinate in _repeating(statement):
        ends = [[one for one in said[name, f"{coordinate}{end}"] if not isinstance(one, Periodic)] for end in "-+"]
        if all(ends):
            raise ProblemError(
                f"a periodic condition and a {ends[1][0].kind} of {name} on the part '{coordinate}+' of "
                "the boundary contradict each other",
                why="Both ends are one place, of which something is said at the other one.",
                fix=f"give conditions on '{coordinate}-' alone, or leave Periodic out.",
            )


def _repeating(statement: Statement) -> Iterator[tuple[str, str]]:
    """Yield unknowns, and the coordinates in which they repeat."""
    for condition in statement.conditions:
        if isinstance(condition, Periodic):
            yield from product(concerned(condition, statement), condition.coordinates)


def check_condition(
    condition: Condition, family: Family, networks: Mapping[str, Any], known: Mapping[str, str]
) -> None:
    """Raise for a condition on what the problem does not have."""
    domain = family.domain
    for name in condition.unknowns:
        if name not in networks:
            raise ProblemError(
                f"{condition.what}: {name!r} is no unknown",
                fix=_derivative_meant(condition, name, domain, networks)
                or suggestion(name, networks)
                or f"the unknowns are {', '.join(networks)}.",
            )
    along = isinstance(condition, (Neumann, Robin))
    given = dict.fromkeys(domain.names, "coordinates") | ({"n": "the normal"} if along else {})
    for value in [*getattr(condition, "values", {}).values(), *_robin(condition)]:
        if callable(value):
            check_arguments(value, given, condition.what, _without(domain, networks))
    if hasattr(condition, "residual"):
        check_arguments(condition.residual, {**known, "n": "normal"}, condition.what)
    if isinstance(condition, Initial) and "initial" not in domain.parts:
        raise ProblemError(
            f"{domain!r} has no beginning, and there is {condition.what}",
            fix="multiply the domain with an interval of time: Interval(-1, 1) * Time(0, 1).",
        )
    if isinstance(condition, Measured):
        _check_inside(_places(condition, family, list(networks)), domain)
    elif isinstance(condition, Interface):
        _check_interface(condition, domain)
    elif isinstance(condition, Periodic):
        _check_periodic(condition, domain, networks)
    elif not isinstance(condition, Integral) or condition.on:
        condition.parts(domain)


def _places(condition: Measured, family: Family, unknowns: Sequence[str]) -> Array:
    """Return the points of data, once all that they name is known."""
    if isinstance(condition, FamilyData):
        return condition.arrays(family, unknowns)["at"]
    assert isinstance(condition, Data)
    return condition.split(family.domain.names, unknowns)[0].at


def _derivative_meant(condition: Condition, name: str, domain: Domain, networks: Mapping[str, Any]) -> str:
    """Return what to write for a condition whose unknown is written as a derivative, u_t or du_dx; "" if it is none."""
    for unknown in networks:
        rest = name.removeprefix("d").removeprefix("2").removeprefix(unknown)
        meant = likely(rest.strip("_"), coordinates(domain.names)) if rest != name else ""
        if not meant:
            continue
        if isinstance(condition, Initial) and meant == time_of(domain):
            return f"write Initial({unknown}=…, order=1)."
        slope = f"Neumann({unknown}=…) along the outward normal, or " if len(meant) == 1 else ""
        return f'write {slope}pde.Condition(lambda {unknown}: {unknown}.d("{meant}") - …, on=…).'
    return ""


def _without(domain: Domain, networks: Mapping[str, Any]) -> str:
    """Return what to write where the value of a condition would ask for more than it can."""
    name = next(iter(networks))
    return (
        f"values are functions of {', '.join(domain.names)}, in Neumann and Robin of the normal n too; with unknowns, "
        f"coefficients or constants write pde.Condition(lambda {name}, …: {name}.value - …, on=…)."
    )


def _check_inside(at: Array, domain: Domain) -> None:
    """Raise for points that are further outside of a domain than rounding explains."""
    found = outside(domain, at)
    if found.size:
        raise ProblemError(
            f"the data at place {found[0]} are outside of the domain, at {place_of(domain, at[found[0]])} "
            f"({found.size} such)",
            why=f"The equations hold in {domain!r}: nothing connects what is outside with them.",
            fix=f"leave these rows out: inside = domain.contains(np.stack([{', '.join(domain.names)}], axis=1)), and "
            f"{domain.names[0]}[inside] and so on; or make the domain larger.",
        )


def _robin(condition: Condition) -> tuple[Any, ...]:
    return (condition.a, condition.b) if isinstance(condition, Robin) else ()


def _check_interface(condition: Interface, domain: Domain) -> None:
    if condition.of.names != domain.names:
        raise ProblemError(
            f"the interface is of {condition.of!r}, which has other coordinates than {domain!r}",
            fix="make it with the same names of coordinates, time included.",
        )
    for part in condition.on or ():
        condition.of.check_part(part)


def _check_periodic(condition: Periodic, domain: Domain, networks: Mapping[str, Any]) -> None:
    bounds = dict(zip(domain.names, domain.bounds.tolist(), strict=True))
    whole = [f for f in factors_of(domain) if type(f) is Interval and [f.low, f.high] == bounds[f.names[0]]]
    intervals = {factor.names[0] for factor in whole if set(factor.parts) <= set(domain.parts)}
    for name in condition.coordinates:
        if name not in intervals:
            raise ProblemError(
                f"{name!r} cannot be periodic in {domain!r}",
                fix=f"coordinates of intervals and boxes can: {', '.join(sorted(intervals)) or 'there are none'}.",
            )
    shared = [name for name in networks if name not in condition.unknowns] if condition.unknowns else []
    for name in shared:
        for other in condition.unknowns:
            if networks[name] is networks[other]:
                raise ProblemError(
                    f"{other!r} is periodic and {name!r} is not, but one network computes both",
                    fix='give them networks of their own: unknowns={"u": MLP(), "v": MLP()}.',
                )
