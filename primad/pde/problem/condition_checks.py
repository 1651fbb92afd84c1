"""Checks of the conditions on each part of a boundary: every unknown needs one, and no two may contradict another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from primad.errors import ProblemError
from primad.pde.problem.conditions import Condition, Data, Free, Periodic
from primad.pde.problem.inner_conditions import Integral, Interface
from primad.pde.problem.named_arguments import check_arguments

if TYPE_CHECKING:
    from primad.pde.problem.statement import Statement


def check_boundary(statement: Statement) -> None:
    """Raise for a part of the boundary without a condition, or with two that contradict each other."""
    domain = statement.domain
    said: dict[tuple[str, str], list[Condition]] = {}
    for condition in sorted(statement.conditions, key=_is_rest):
        if isinstance(condition, (Data, Integral, Interface)):
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
    """Say whether an unknown has an equation at a part of the boundary: of two materials each has its own."""
    everything = statement.everything()
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
