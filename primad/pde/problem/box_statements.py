"""What of a problem grid methods on boxes take, and the errors of what they do not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from primad.errors import ProblemError, suggestion
from primad.pde.geometry.intervals import Interval, Time, factors_of, space_of, time_of
from primad.pde.problem.condition_checks import concerned
from primad.pde.problem.conditions import Condition

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

ELSEWHERE = "an integral in an equation, or an unknown at another place"
"""What no grid method takes."""


def check_box(problem: Problem, method: str, kinds: Collection[str]) -> None:
    """Raise if a problem is none that a grid method solves on a box, whatever its equations say.

    Args:
        problem: the problem.
        method: what the method is called, "volumes" for instance.
        kinds: of conditions that it takes.

    Raises:
        ProblemError: if it is none.
    """
    domain, time = problem.domain, time_of(problem.domain)
    if problem.complex:
        refuse(method, "a complex unknown", "real ones")
    if problem.family:
        refuse(method, "a family", "one problem at a time")
    if problem.integrals | problem.elsewhere:
        refuse(method, ELSEWHERE, "values and derivatives at points")
    factors = factors_of(domain)
    if time is None:
        raise ProblemError(
            f"{method}: the problem has the domain {domain!r}, without an interval of time",
            why=f"{method.capitalize()} take steps in time.",
            fix='solve it by elements, problem.solve(method="elements"), or with a network: method="network".',
        )
    if not space_of(domain) or not all(type(factor) in (Interval, Time) for factor in factors):
        refuse(method, f"the domain {domain!r}", "intervals and boxes, times an interval of time")
    ends = {f"{name}{end}" for name in space_of(domain) for end in "-+"} | {"initial"}
    if set(domain.parts) != ends:
        refuse(
            method, f"the parts {', '.join(domain.parts)} of the boundary", f"whole faces: {', '.join(sorted(ends))}"
        )
    for equation in problem.statement.equations:
        if equation.domain is not domain:
            refuse(method, "an equation in a part of the domain", "those that hold in all of it")
    for condition in problem.statement.conditions:
        if condition.kind not in kinds:
            refuse(method, f"a condition of the kind {condition.kind!r}", ", ".join(f"{kind}s" for kind in kinds))


def refuse(method: str, what: str, taken: str) -> None:
    """Raise for what a grid method does not take.

    Raises:
        ProblemError: always.
    """
    raise ProblemError(
        f"{method}: the problem has {what}",
        why=f"{method.capitalize()} take {taken}.",
        fix=f'solve it with a network: method="network", or state the part that {method} take as a problem of its own.',
    )


def conditions_of(problem: Problem, method: str) -> Mapping[tuple[str, str], Condition]:
    """Return the condition of each unknown on each part of the boundary.

    Args:
        problem: the problem.
        method: what the grid method is called.

    Raises:
        ProblemError: if there is none, or two, or an unknown is given together with another one.
    """
    found: dict[tuple[str, str], Condition] = {}
    resting = [one for one in problem.statement.conditions if one.kind == "freedom" and one.on is None]
    listed = [one for one in problem.statement.conditions if one not in resting]
    for condition in [*listed, *resting]:
        names = concerned(condition, problem.statement)
        if condition.kind == "condition" and len(names) != 1:
            refuse(method, f"{condition.what} on {' and '.join(names)}", "conditions of one unknown each")
        for name in names:
            for part in condition.parts(problem.domain):
                if condition in resting and (name, part) in found:
                    continue
                if (name, part) in found:
                    refuse(method, f"two conditions of {name} on the part {part!r}", "one")
                found[name, part] = condition
    for name in problem.unknowns:
        for part in problem.domain.parts:
            said = found.get((name, part))
            if said is None or (part == "initial" and said.kind not in ("initial condition", "condition")):
                refuse(method, f"no value of {name} on the part {part!r}", "one condition of each unknown on each part")
    return found


class GridMethod(ABC):
    """A problem that a method solves on a grid, for given coefficients.

    Attributes:
        method: what the method is called.
        problem: the problem.
    """

    method: ClassVar[str]
    problem: Problem

    @property
    @abstractmethod
    def size(self) -> str:
        """How large the grid is, in words."""

    def numbers(self, given: Mapping[str, Any], partly: bool = False) -> dict[str, Any]:
        """Return all coefficients and constants by name.

        Args:
            given: those that are stated.
            partly: whether coefficients that are not stated are what a search would begin with.

        Raises:
            ProblemError: for a name that there is none of, or a coefficient that is not stated.
        """
        statement, made = self.problem.statement, f"pde.{type(self).__name__}"
        known = {**statement.constants, **statement.coefficients}
        for name in given:
            if name not in known:
                raise ProblemError(
                    f"{self.method}: the problem has no coefficient {name!r}",
                    why=f"What is no setting of {made} is a coefficient or a constant of the problem.",
                    fix=suggestion(name, known)
                    or (
                        f"it has {', '.join(known)}."
                        if known
                        else f"leave {name}= out: help({made}) tells the settings."
                    ),
                )
        lacking = [name for name in statement.coefficients if name not in given]
        if lacking and not partly:
            raise ProblemError(
                f"{self.method}: the coefficient {lacking[0]!r} has no value",
                why=f"A search learns it from data; {self.method} solve for given coefficients, and are differentiated "
                "by them.",
                fix=f"state it: {made}(problem).solve({lacking[0]}=…).",
            )
        return {**known, **given}

    def __repr__(self) -> str:
        return f"<{self.size}>"
