"""What a problem says, checked: nothing missing, nothing unknown, nothing said twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from primad.errors import ProblemError, TracingError, suggestion
from primad.pde.equations.symbolic_equations import Equation
from primad.pde.families.family import Family, family_of
from primad.pde.families.input_functions import InputFunctions
from primad.pde.fields.coordinate_names import coordinates
from primad.pde.fields.field_refusals import likely
from primad.pde.fields.named_fields import FieldAt
from primad.pde.fields.problem_formulas import is_symbolic
from primad.pde.geometry.containment import outside, place_of
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import Interval, factors_of, time_of
from primad.pde.geometry.sampling import Array
from primad.pde.networks.field_networks import Network
from primad.pde.networks.hard_constraints import as_function
from primad.pde.problem.boundary_checks import check_boundary
from primad.pde.problem.conditions import Condition, Data, Free, Initial, Neumann, Periodic, Robin
from primad.pde.problem.inner_conditions import Integral, Interface, Past, Within, computed
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
    found = Statement(domain, asked, listed, networks, groups, numbers, dict(constants), functions)
    for name, function, *_ in found.equations:
        check_arguments(function, known, f"the equation {name!r}")
    _check_used(found)
    for condition in listed:
        _check_condition(condition, domain, networks, known)
        if functions and isinstance(condition, (Data, Integral)):
            raise ProblemError(
                f"{condition.what} in a family of problems",
                why="It would have to hold whatever the input functions are, and of which it is is not said.",
                fix="leave it out, or solve the problem for one function: without family=.",
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
                f"the network of an unknown is {_called(one)}", fix="pass pde.MLP() or another pde.Network."
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
    if not found:
        raise ProblemError(
            "a problem has at least one equation",
            fix="write pde.Problem(lambda u: u.xx - 1, domain, conditions).",
        )
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
        if isinstance(condition, Data):
            asked |= condition.concerned
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


def _check_condition(
    condition: Condition, domain: Domain, networks: Mapping[str, Any], known: Mapping[str, str]
) -> None:
    """Raise for a condition on what the problem does not have."""
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
    if isinstance(condition, Data):
        _check_inside(condition.split(domain.names, list(networks))[0].at, domain)
    elif isinstance(condition, Interface):
        _check_interface(condition, domain)
    elif isinstance(condition, Periodic):
        _check_periodic(condition, domain, networks)
    elif not isinstance(condition, Integral) or condition.on:
        condition.parts(domain)


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
