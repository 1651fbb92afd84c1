"""What of a problem volumes take, and the one error of what they do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from primad.errors import ProblemError
from primad.pde.geometry.intervals import Interval, Time, factors_of, space_of, time_of
from primad.pde.problem.boundary_checks import concerned
from primad.pde.problem.conditions import Condition

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

KINDS = (
    "Dirichlet condition",
    "Neumann condition",
    "initial condition",
    "periodic condition",
    "freedom",
    "condition",
)


def check_supported(problem: Problem) -> None:
    """Raise if a problem is none that volumes solve, whatever its equations say.

    Raises:
        ProblemError: if it is not.
    """
    domain, time = problem.domain, time_of(problem.domain)
    if problem.complex:
        _refuse("a complex unknown", "real ones")
    if problem.family:
        _refuse("a family", "one problem at a time")
    factors = factors_of(domain)
    if time is None or not space_of(domain) or not all(type(factor) in (Interval, Time) for factor in factors):
        _refuse(f"the domain {domain!r}", "intervals and boxes, times an interval of time")
    ends = {f"{name}{end}" for name in space_of(domain) for end in "-+"} | {"initial"}
    if set(domain.parts) != ends:
        _refuse(f"the parts {', '.join(domain.parts)} of the boundary", f"whole faces: {', '.join(sorted(ends))}")
    for equation in problem.statement.equations:
        if equation.domain is not domain:
            _refuse("an equation in a part of the domain", "those that hold in all of it")
        asked = problem.asked[equation.name].values()
        order = max((len(names) for derivatives in asked for names in derivatives), default=0)
        if order > 1:
            _refuse(f"an equation of order {order}", "those of order 1")
    for condition in problem.statement.conditions:
        if condition.kind not in KINDS:
            _refuse(f"a condition of the kind {condition.kind!r}", ", ".join(f"{kind}s" for kind in KINDS))


def _refuse(what: str, taken: str) -> None:
    raise ProblemError(
        f"volumes: the problem has {what}",
        why=f"Volumes take {taken}.",
        fix='solve it with a network: method="network", or state the part that volumes take as a problem of its own.',
    )


def conditions_of(problem: Problem) -> Mapping[tuple[str, str], Condition]:
    """Return the condition of each unknown on each part of the boundary.

    Raises:
        ProblemError: if there is none, or two, or an unknown is given together with another one.
    """
    found: dict[tuple[str, str], Condition] = {}
    resting = [one for one in problem.statement.conditions if one.kind == "freedom" and one.on is None]
    listed = [one for one in problem.statement.conditions if one not in resting]
    for condition in [*listed, *resting]:
        names = concerned(condition, problem.statement)
        if condition.kind == "condition" and len(names) != 1:
            _refuse(f"{condition.what} on {' and '.join(names)}", "conditions of one unknown each")
        for name in names:
            for part in condition.parts(problem.domain):
                if condition in resting and (name, part) in found:
                    continue
                if (name, part) in found:
                    _refuse(f"two conditions of {name} on the part {part!r}", "one")
                found[name, part] = condition
    for name in problem.unknowns:
        for part in problem.domain.parts:
            said = found.get((name, part))
            if said is None or (part == "initial" and said.kind not in ("initial condition", "condition")):
                _refuse(f"no value of {name} on the part {part!r}", "one condition of each unknown on each part")
    return found
