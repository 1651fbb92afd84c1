"""What of a problem elements take, and the one error of what they do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from primad.errors import ProblemError
from primad.pde.elements.weak_forms import WeakForm
from primad.pde.geometry.intervals import time_of
from primad.pde.problem.box_statements import ELSEWHERE
from primad.pde.problem.condition_checks import concerned
from primad.pde.problem.conditions import Condition, Neumann

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem


def weak_form(problem: Problem) -> WeakForm:
    """Return the weak form of a problem's equation.

    Raises:
        ProblemError: if the problem is none that elements solve.
    """
    statement, listed = problem.statement, [one.kind for one in problem.statement.conditions]
    equations = [
        label for name, term in problem.terms.items() if term.kind == "equation" for label in problem.labels[name]
    ]
    time = time_of(problem.domain)
    if problem.complex:
        _refuse("a complex unknown", "real ones")
    if (len(problem.unknowns), len(equations)) != (1, 1):
        _refuse(f"{len(equations)} equations for {len(problem.unknowns)} unknowns", "one equation for one unknown")
    if problem.family:
        _refuse("a family", "one problem at a time")
    if problem.integrals | problem.elsewhere:
        _refuse(ELSEWHERE, "values and derivatives at points")
    if time is not None:
        _refuse(f"the time {time}", "problems in space")
    (equation,) = statement.equations
    if equation.domain is not problem.domain:
        _refuse("an equation in a part of the domain", "one that holds in all of it")
    for kind in listed:
        if kind in ("data", "integral", "interface condition", "periodic condition", "freedom"):
            _refuse(f"a condition of the kind {kind!r}", "Dirichlet, Neumann and Robin conditions, and those on ∂u/∂n")
    orders = [len(names) for names in problem.asked[equation.name][problem.unknowns[0]]]
    if max(orders, default=0) != 2:
        _refuse(f"an equation of order {max(orders, default=0)}", "those of order 2")
    form = WeakForm(equation.function, problem.unknowns[0], problem.domain, equation.name)
    form.check({**statement.constants, **statement.coefficients})
    return form


def _refuse(what: str, taken: str) -> None:
    raise ProblemError(
        f"elements: the problem has {what}",
        why=f"Elements take {taken}.",
        fix='solve it with a network: method="network", or state the part that elements take as a problem of its own.',
    )


def boundary_conditions(problem: Problem) -> Iterator[tuple[Condition, str]]:
    """Yield each condition with each part of the boundary that it is on.

    Raises:
        ProblemError: if a part has two, or none of them says where the level of the unknown is.
    """
    said: dict[str, Condition] = {}
    (name,) = problem.unknowns
    for condition in problem.statement.conditions:
        if name not in concerned(condition, problem.statement):
            continue
        for part in condition.parts(problem.domain):
            if part in said:
                raise ProblemError(
                    f"elements: the part {part!r} of the boundary has two conditions, {said[part].what} and "
                    f"{condition.what}",
                    why="An equation of second order has one solution with one.",
                    fix="leave one of them out.",
                )
            said[part] = condition
            yield condition, part
    if all(isinstance(condition, Neumann) for condition in said.values()) and not _in_equation(problem):
        raise ProblemError(
            f"elements: the equation and its conditions say how {name} changes, and nowhere what it is",
            why=f"With {name} every {name} + c is a solution.",
            fix=f"give {name} on a part of the boundary: pde.Dirichlet({name}=0, on={problem.domain.parts[0]!r}).",
        )


def _in_equation(problem: Problem) -> bool:
    (equation,), (name,) = problem.statement.equations, problem.unknowns
    return () in problem.asked[equation.name][name]
