"""What a problem says, checked: nothing missing, nothing unknown, nothing said twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from primad.errors import ProblemError, TracingError
from primad.pde.equations.symbolic_equations import Equation
from primad.pde.families.family import Family, family_of
from primad.pde.families.family_data import FamilyData
from primad.pde.families.input_functions import InputFunctions
from primad.pde.fields.named_fields import FieldAt
from primad.pde.fields.problem_formulas import is_symbolic
from primad.pde.geometry.domains import Domain
from primad.pde.networks.field_networks import Network
from primad.pde.networks.hard_constraints import as_function
from primad.pde.problem.condition_checks import check_boundary, check_condition
from primad.pde.problem.conditions import Condition, Free, Measured, Periodic
from primad.pde.problem.inner_conditions import Data, Integral, Past, Within, computed
from primad.pde.problem.named_arguments import check_arguments
from primad.pde.written_names import names_in
from primad.recording.foreign import plain


class StatedEquation(NamedTuple):
    """An equation of a problem.

    Attributes:
        name: of it.
        function: of what it asks for by name, that returns what is to be zero.
        domain: where it holds.
        weight: of its mean square; None for what is not stated.
        given: as it was given.
    """

    name: str
    function: Callable[..., Any]
    domain: Domain
    weight: float | None
    given: Any


@dataclass(frozen=True)
class Statement:
    """A problem in a checked form.

    Attributes:
        domain: where.
        equations: their names, functions, domains and weights.
        conditions: all of them.
        networks: the network of each unknown.
        groups: unknowns that share a network, and the network.
        coefficients: numbers to learn.
        constants: numbers that are known.
        family: the functions that the problem is given.
    """

    domain: Domain
    equations: tuple[StatedEquation, ...]
    conditions: tuple[Condition, ...]
    networks: dict[str, Network]
    groups: tuple[tuple[tuple[str, ...], Network], ...]
    coefficients: dict[str, Any]
    constants: dict[str, Any]
    family: Family

    def fitted(self) -> list[Condition]:
        """Return the conditions that may have residuals."""
        return [c for c in self.conditions if not isinstance(c, (Free, Periodic))]

    def everything(self) -> dict[str, str]:
        """Return all that functions may ask for."""
        names = [*self.domain.names, *self.networks, *self.coefficients, *self.constants]
        names += [*self.family.inputs, "n", "points"]
        return dict.fromkeys(names, "")

    def past(self, unknowns: Sequence[str]) -> dict[str, Callable[..., Any]]:
        """Return what is known of unknowns before the start, as functions of points."""
        told = [one for one in self.conditions if isinstance(one, Past)]
        return {name: as_function(one.values[name]) for one in told for name in one.values if name in unknowns}

    def periodic(self, unknowns: Sequence[str]) -> list[str]:
        """Return the coordinates in which unknowns repeat."""
        return [
            name
            for condition in self.conditions
            if isinstance(condition, Periodic) and (not condition.unknowns or unknowns[0] in condition.unknowns)
            for name in condition.coordinates
        ]


def stated(
    equations: Any,
    domain: Domain,
    conditions: Sequence[Condition] | Condition,
    unknowns: str | Sequence[str] | Mapping[str, Network],
    network: Network,
    coefficients: Mapping[str, Any],
    constants: Mapping[str, Any],
    family: Mapping[str, InputFunctions] | None,
) -> Statement:
    """Check what a problem says.

    Raises:
        ProblemError: if something is missing, not known, or contradicts something else.
    """
    if not isinstance(domain, Domain):
        order = "" if not isinstance(equations, Domain) else " Equations come first, then the domain."
        raise TracingError(f"a problem needs a domain, got {_called(domain)}", fix=f"pass pde.Box(x=(0, 1), …).{order}")
    for kind, numbers in (("coefficients", coefficients), ("constants", constants)):
        if not isinstance(numbers, Mapping):
            raise TracingError(
                f"the {kind} of a problem are numbers by name, got {_called(numbers)}",
                fix=f'write {kind}={{"k": 1.0}}.',
            )
    if not isinstance(conditions, (Condition, list, tuple)):
        raise TracingError(
            f"the conditions of a problem are a list, got {_called(conditions)}",
            fix="write [pde.Dirichlet(u=0), …].",
        )
    given = (conditions,) if isinstance(conditions, Condition) else tuple(conditions)
    for condition in given:
        if not isinstance(condition, Condition):
            raise TracingError(
                f"a condition of a problem is {_called(condition)}", fix="pass pde.Dirichlet(u=0) and others."
            )
    listed = tuple([computed(condition, domain) for condition in given])
    groups = _groups(unknowns, network)
    networks = {name: one for names, one in groups for name in names}
    numbers = {name: _number(name, value) for name, value in coefficients.items()}
    functions = family_of(domain, family)
    known = _known(domain, networks, numbers, constants, functions.inputs)
    asked = _equations(equations, domain)
    if not asked and not any(isinstance(condition, Measured) for condition in listed):
        raise ProblemError(
            "a problem has an equation, or data",
            fix="write pde.Problem(lambda u: u.xx - 1, domain, conditions); of data alone, "
            "pde.Problem([], domain, pde.Data(x=…, u=…)).",
        )
    found = Statement(domain, asked, listed, networks, groups, numbers, dict(constants), functions)
    for name, function, *_ in found.equations:
        check_arguments(function, known, f"the equation {name!r}")
    _check_used(found)
    for condition in listed:
        check_condition(condition, functions, networks, known)
        if functions and isinstance(condition, (Data, Integral)):
            raise ProblemError(
                f"{condition.what} in a family of problems",
                why="It would have to hold whatever the input functions are, and of which it is is not said.",
                fix="say of which functions data are, pde.FamilyData(…); or solve for one function, without family=.",
            )
    check_boundary(found)
    return found


def _groups(
    unknowns: str | Sequence[str] | Mapping[str, Network], network: Network
) -> tuple[tuple[tuple[str, ...], Network], ...]:
    if isinstance(unknowns, Mapping):
        pairs = [(names_in(names), one) for names, one in unknowns.items()]
    else:
        if not isinstance(unknowns, Sequence):
            raise TracingError(f"unknowns have names, got {unknowns!r}", fix='write unknowns="u v".')
        pairs = [(names_in(unknowns), network)]
    flat = [name for names, _ in pairs for name in names]
    if not flat or not all(isinstance(name, str) and name.isidentifier() for name in flat):
        raise ProblemError(
            f"unknowns need names that can be arguments of functions, got {unknowns!r}",
            fix='write unknowns="u v".',
        )
    if len(set(flat)) < len(flat):
        raise ProblemError(
            f"unknowns need different names, got {', '.join(flat)}",
            fix="name each once.",
        )
    for _, one in pairs:
        if not isinstance(one, Network):
            raise TracingError(
                f"the network of an unknown is {_called(one)}",
                fix="pass pde.MLP() or another pde.Network; one for each unknown is unknowns={'u': pde.MLP(), …}.",
            )
    return tuple(pairs)


def _called(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _number(name: str, value: Any) -> Any:
    found = plain(value, np.float64)
    if not np.all(np.isfinite(found)):
        raise ProblemError(f"the coefficient {name} begins as {value}", fix="begin with a finite number.")
    return np.float64(found) if found.ndim == 0 else found


def _known(
    domain: Domain,
    networks: Mapping[str, Any],
    coefficients: Mapping[str, Any],
    constants: Mapping[str, Any],
    functions: Mapping[str, Any],
) -> dict[str, str]:
    """Return what functions may ask for, and what kind of thing it is."""
    found: dict[str, str] = {"points": "points"}
    kinds = (
        ("coordinates", domain.names),
        ("unknowns", networks),
        ("coefficients", coefficients),
        ("constants", constants),
        ("input functions", functions),
    )
    for kind, names in kinds:
        for name in names:
            if name == "n":
                raise ProblemError(
                    f"the name 'n' among the {kind} is taken: conditions ask for the outward normal by it",
                    fix="choose another name.",
                )
            if name in found:
                raise ProblemError(f"{name!r} is among the {found[name]} and the {kind}", fix="rename one of them.")
            if kind in ("coordinates", "unknowns", "input functions") and hasattr(FieldAt, name):
                raise ProblemError(
                    f"the name {name!r} is taken: fields have an attribute of that name",
                    fix="choose another name.",
                )
            found[name] = kind
    return found


def _equations(equations: Any, domain: Domain) -> tuple[StatedEquation, ...]:
    if isinstance(equations, Mapping):
        named = dict(equations)
    elif isinstance(equations, (list, tuple)):  # of functions, or of SymPy's equations
        named = {f"equation {i}" if len(equations) > 1 else "equation": one for i, one in enumerate(equations)}
    else:
        named = {"equation": equations}
    found = []
    for name, one in named.items():
        where, function, weight = (
            (one.domain, one.equation, one.weight) if isinstance(one, Within) else (domain, one, None)
        )
        if is_symbolic(function):
            function = Equation(function, name=name, coordinates=domain.names)
        if isinstance(function, Equation):
            _check_coordinates(function, domain, name)
        if not callable(function):
            raise TracingError(
                f"the equation {name!r} is a function that returns what is to be zero, got {type(function).__name__}",
                fix="write def equation(u, x): return u.xx + …",
            )
        if where.names != domain.names:
            raise ProblemError(
                f"the equation {name!r} holds in a domain with other coordinates than the problem's",
                fix="make the domain of Within with the names of the problem's coordinates, time included.",
            )
        found.append(StatedEquation(name, function, where, weight, one.equation if isinstance(one, Within) else one))
    return tuple(found)


def _check_coordinates(equation: Equation, domain: Domain, name: str) -> None:
    """Raise if the unknown functions of an equation are functions of something else than coordinates."""
    for symbol in equation.coordinates:
        if str(symbol) not in domain.names:
            raise ProblemError(
                f"the equation {name!r} has unknown functions of {symbol}, which is no coordinate",
                why=f"The coordinates are {', '.join(domain.names)}.",
                fix="name the coordinates of the domain as in the equation.",
            )


def _check_used(statement: Statement) -> None:
    """Raise for an unknown or a coefficient that no function asks for."""
    asked, everything = set[str](), statement.everything()
    for _, function, *_ in statement.equations:
        asked |= set(check_arguments(function, everything, "an equation"))
    for condition in statement.conditions:
        if hasattr(condition, "residual"):
            asked |= set(check_arguments(condition.residual, everything, condition.what))
        if isinstance(condition, Measured):
            asked |= condition.concerned
        if isinstance(condition, FamilyData):  # which says itself that one is missing
            asked |= set(statement.family.inputs)
    for kind, names in (
        ("unknown", statement.networks),
        ("coefficient", statement.coefficients),
        ("input function", statement.family.inputs),
    ):
        for name in [name for name in names if name not in asked]:
            raise ProblemError(
                f"no equation asks for the {kind} {name!r}",
                fix=f"give an equation an argument {name}, or leave it out.",
            )
