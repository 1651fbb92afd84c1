"""The terms of a problem: residuals at points, one for each equation and each condition that is fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.errors import ProblemError, suggestion
from primad.pde.families.family import Family
from primad.pde.families.family_data import FamilyData
from primad.pde.geometry.boundary_points import check_on_boundary, on_parts
from primad.pde.geometry.containment import outside, place_of
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import clock, space_of
from primad.pde.geometry.point_arguments import as_normal
from primad.pde.geometry.sampling import Array, Points, as_rows, joined, most_points
from primad.pde.networks.hard_constraints import check_parts
from primad.pde.problem.conditions import Condition, Initial, Neumann, Robin
from primad.pde.problem.inner_conditions import Data, Integral, Interface
from primad.pde.problem.named_arguments import by_name, on_points
from primad.recording import tree

Row = Mapping[str, Any]
"""Arrays of a term, whose first axis are its points: `at`, and what else it needs there."""
Known = Mapping[str, Any]
"""What functions may ask for by name."""
PARTS: dict[str, Callable[[Any], Any]] = {", real part": np.real, ", imaginary part": np.imag}
WHOLE: dict[str, Callable[[Any], Any]] = {"": lambda values: values}
"""The parts of complex data, of which each is compared, and what is compared of real ones."""


@dataclass(frozen=True)
class ComplexResidual:
    """A complex residual as the two real ones that it is."""

    real: Any
    imaginary: Any


def real_residuals(residuals: Any) -> Any:
    """Return a tree of residuals in which each complex one is its parts."""
    return tree.map(
        lambda leaf: ComplexResidual(np.real(leaf), np.imag(leaf)) if np.iscomplexobj(leaf) else leaf, residuals
    )


@dataclass(frozen=True)
class Term:
    """Residuals at points.

    Attributes:
        name: of the term.
        draw: a function (how many, seed) of the arrays at its points; of conditions on the boundary also (points, one a
            row, seed).
        residual: a function of what is known at points and of the term's arrays, that returns one or several residuals.
        weight: of the mean square; None for what is not stated.
        fixed: whether its points are always the same.
        kind: "equation", "boundary", "data" or "integral".
        noise: whether residuals are in units of the standard deviation of data.
        domain: where an equation holds; None of others.
        owner: on whose boundary a condition holds, where that is not the problem's domain.
    """

    name: str
    draw: Callable[[Any, Sequence[int]], dict[str, Array]]
    residual: Callable[[Known, Row], Any]
    weight: float | None
    fixed: bool
    kind: str
    noise: bool = False
    domain: Domain | None = None
    owner: Domain | None = None

    def at_points(self, given: Any, boundary: Any, seed: Sequence[int]) -> dict[str, Array]:
        """Return the arrays of the term, at points that are drawn or given.

        Args:
            given: for equations how many points, or these, one a row; or a dict of such by the names of equations.
            boundary: for conditions how many points, or these, one a row, or a dict of such by names; by default a
                fifth of those of equations.
            seed: of those that are drawn.

        Raises:
            ProblemError: if a point that is given is outside of the domain, or none lies where the equation holds.
            ShapeError: if points have other columns than coordinates.
        """
        if self.domain is None:
            own = boundary.get(self.name) if isinstance(boundary, Mapping) else boundary
            if own is None or not (self.kind == "boundary" or isinstance(own, (int, np.integer))):
                own = max(20, most_points(given) // 5)
            return self.draw(own, seed)
        own = given.get(self.name, most_points(given)) if isinstance(given, Mapping) else given
        return (
            self.draw(int(own), seed)
            if isinstance(own, (int, np.integer))
            else {"at": _given_points(own, self.name, self.domain)}
        )


def check_given(given: Any, terms: Mapping[str, Term], domain: Domain) -> None:
    """Raise for points that are given outside of the domain, or for what is no equation.

    Args:
        given: how many points, or these, or a dict of either.
        terms: by name.
        domain: of the problem.

    Raises:
        ProblemError: if one is.
        ShapeError: if points have other columns than coordinates.
    """
    equations = [name for name, term in terms.items() if term.domain is not None]
    for name in given if isinstance(given, Mapping) else ():
        if name not in equations:
            raise ProblemError(
                f"points are given for {name!r}, which is no equation",
                fix=suggestion(name, equations) or f"there are {', '.join(map(repr, equations))}.",
            )
    for one in given.values() if isinstance(given, Mapping) else [given]:
        rows = np.zeros((0, len(domain.names))) if isinstance(one, (int, np.integer)) else as_rows(one, domain.names)
        found = outside(domain, rows) if len(rows) else rows
        if len(found):
            raise ProblemError(
                f"{len(found)} of {len(rows)} points given are outside of the domain, one at "
                f"{place_of(domain, rows[found[0]])}",
                why=f"The equations hold in {domain!r}.",
                fix="leave them out: rows[domain.contains(rows)].",
            )


def check_boundary_given(given: Any, terms: Mapping[str, Term], domain: Domain) -> None:
    """Raise for points that are given for conditions and are not on the boundary, or for what is no such condition.

    Args:
        given: how many points, or these, or a dict of either by the names of terms; or None.
        terms: by name.
        domain: of the problem.

    Raises:
        ProblemError: if one is.
        ShapeError: if points have other columns than coordinates.
    """
    known = [name for name, term in terms.items() if term.kind == "boundary"]
    for name in given if isinstance(given, Mapping) else ():
        if name not in known:
            raise ProblemError(
                f"points are given for {name!r}, which is no condition that is fitted on the boundary",
                why="Those that hold by construction hold everywhere, and need no points (hard=False fits them).",
                fix=suggestion(name, known) or f"there are {', '.join(map(repr, known)) or 'none'}.",
            )
    if given is not None and not isinstance(given, (int, np.integer, Mapping)):
        if not known:
            raise ProblemError(
                "points are given for conditions, and none is fitted on the boundary",
                why="All hold by construction, or are data.",
                fix="leave boundary_points out, or fit conditions: hard=False.",
            )
        inner = [term.owner for term in terms.values() if term.owner is not None]
        check_on_boundary([domain, *inner], as_rows(given, domain.names))


def _given_on(owner: Domain, parts: Sequence[str], given: Any, title: str) -> Points:
    """Return points, one a row, of those given that lie where a condition holds."""
    rows = as_rows(given, owner.names)
    found = on_parts(owner, parts, rows)
    if not len(found):
        raise ProblemError(
            f"none of the {len(rows)} points given for conditions lies where {title!r} holds",
            why=f"It is on {', '.join(map(repr, parts))} of {owner!r}.",
            fix=f"give some there, or say by the names of conditions whose they are: boundary_points={{{title!r}: …}}.",
        )
    return found


def _given_points(given: Any, name: str, domain: Domain) -> Array:
    """Return points, one a row, of those given that lie where an equation holds."""
    rows = as_rows(given, domain.names)
    inside = rows[domain.contains(rows)] if len(rows) else rows
    if not len(inside):
        raise ProblemError(
            f"none of the {len(rows)} points given lies where {name!r} holds, in {domain!r}",
            fix=f"give points inside, a row for each: np.stack([{', '.join(domain.names)}], axis=1).",
        )
    return inside


def equation_term(name: str, function: Callable[..., Any], domain: Domain, weight: float | None, how: str) -> Term:
    """Return the term of an equation inside."""

    def draw(count: int, seed: Sequence[int]) -> dict[str, Array]:
        return {"at": domain.interior(count, how, seed).at}

    return Term(name, draw, lambda known, row: by_name(function, known), weight, False, "equation", domain=domain)


def condition_terms(condition: Condition, family: Family, names: Sequence[str], how: str) -> list[Term]:
    """Return the terms of a condition that is fitted.

    Args:
        condition: the condition.
        family: of the problem, whose domain it knows.
        names: of the unknowns that it is fitted for, of those it gives values to.
        how: the order in which points are drawn.
    """
    domain = family.domain
    if isinstance(condition, Data):
        return [_data_term(condition, domain, names)]
    if isinstance(condition, FamilyData):
        return [_family_term(condition, family, names)]
    if isinstance(condition, Integral):
        return [_integral_term(condition, domain)]
    owner = condition.of if isinstance(condition, Interface) else domain
    parts = condition.parts(owner) if condition.on or not isinstance(condition, Interface) else owner.parts
    label = " and ".join(parts) if condition.on else "boundary"

    def points(count: Any, seed: Sequence[int], title: str) -> Points:
        if not isinstance(count, (int, np.integer)):
            return _given_on(owner, parts, count, title)
        count = int(count)
        if len(parts) == 1:
            return owner.boundary(parts[0], count, how, seed)
        each = max(1, count // len(parts))
        return joined([owner.boundary(part, each, how, (*seed, i)) for i, part in enumerate(parts)])

    if not hasattr(condition, "values"):
        title = condition.name or f"condition on {label}"

        def draw(count: Any, seed: Sequence[int]) -> dict[str, Array]:
            found = points(count, seed, title)
            return {"at": found.at, "normal": np.asarray(found.normals)}

        def residual(known: Known, row: Row) -> Any:
            return by_name(condition.residual, known)

        whose = owner if isinstance(condition, Interface) else None
        return [Term(title, draw, residual, condition.weight, False, "boundary", owner=whose)]
    return [_valued_term(condition, domain, name, points, label) for name in names]


def _valued_term(
    condition: Any, domain: Domain, name: str, points: Callable[[Any, Sequence[int], str], Points], label: str
) -> Term:
    what = f"d{name}/dn" if isinstance(condition, Neumann) else name
    if isinstance(condition, Initial) and condition.order:
        what = f"d{name}/d{_time(domain)}"
    title = f"{what} {'at the start' if label == 'initial' else f'on {label}'}"

    def draw(count: Any, seed: Sequence[int]) -> dict[str, Array]:
        return valued_arrays(condition, name, points(count, seed, title))

    return Term(title, draw, valued_residual(condition, name, domain), condition.weight, False, "boundary")


def valued_arrays(condition: Any, name: str, found: Points) -> dict[str, Array]:
    """Return the arrays at points that the residual of a condition with values takes, for one of its unknowns."""
    columns: dict[str, Any] = {key: found[key] for key in found.names}
    arrays = {"at": found.at}
    if isinstance(condition, (Neumann, Robin)):
        arrays["normal"] = np.asarray(found.normals)
        columns["n"] = normal_of(arrays, found.names)
    arrays["target"] = on_points(condition.values[name], columns, len(found), condition.what)
    if isinstance(condition, Robin):
        arrays["a"] = on_points(condition.a, columns, len(found), condition.what)
        arrays["b"] = on_points(condition.b, columns, len(found), condition.what)
    return arrays


def valued_residual(condition: Any, name: str, domain: Domain) -> Callable[[Known, Row], Any]:
    """Return the residual of a condition with values, for one of its unknowns, as a term has it."""

    def residual(known: Known, row: Row) -> Any:
        u = known[name]
        check_parts(name, u.dtype, row["target"])
        if isinstance(condition, Robin):
            return row["a"] * u.value + row["b"] * _along(u, row["normal"], domain) - row["target"]
        if isinstance(condition, Neumann):
            return _along(u, row["normal"], domain) - row["target"]
        if isinstance(condition, Initial) and condition.order:
            return u.d(_time(domain)) - row["target"]
        return u.value - row["target"]

    return residual


def _time(domain: Domain) -> str:
    return clock(domain).names[0]


def _along(u: Any, normal: Any, domain: Domain) -> Any:
    """Return the derivative along normals, which have no part along time: 0 times what is not finite is not 0."""
    names = [name for name in space_of(domain) if name in _directions(u)]
    return sum(normal[:, domain.names.index(name)] * u.d(name) for name in names)


def _directions(u: Any) -> Any:
    return u.field.coordinates.names


def _data_term(condition: Data, domain: Domain, unknowns: Sequence[str]) -> Term:
    points, values = condition.split(domain.names, unknowns)
    arrays, of = {"at": points.at}, dict[str, tuple[str, Callable[[Any], Any]]]()
    for name, column in values.items():
        for part, function in PARTS.items() if np.iscomplexobj(column) else WHOLE.items():
            of[f"of {name}{part}"] = name, function
            arrays[f"of {name}{part}"] = function(column)

    def residual(known: Known, row: Row) -> Any:
        taken = {}
        for name, column in values.items():
            unknown, _, derivative = name.partition(".")
            check_parts(unknown, known[unknown].dtype, column)
            taken[name] = known[unknown].d(derivative) if derivative else known[unknown].value
        noise = condition.noise or 1.0
        return tuple([(function(taken[name]) - row[key]) / noise for key, (name, function) in of.items()])

    name, noisy = condition.name or "data", condition.noise is not None
    return Term(name, lambda count, seed: dict(arrays), residual, condition.weight, True, "data", noisy)


def _family_term(condition: FamilyData, family: Family, unknowns: Sequence[str]) -> Term:
    arrays = condition.arrays(family, unknowns)

    def residual(known: Known, row: Row) -> Any:
        return condition.differences(lambda name: known[name].value, row)

    name, noisy = condition.name or condition.kind, condition.noise is not None
    fixed = condition.count is None
    return Term(name, lambda _, seed: condition.drawn(arrays, seed), residual, condition.weight, fixed, "data", noisy)


def _integral_term(condition: Integral, domain: Domain) -> Term:
    points = condition.points(domain)
    arrays = {"at": points.at, "weights": np.asarray(points.weights)}
    if points.normals is not None:
        arrays["normal"] = points.normals

    def residual(known: Known, row: Row) -> Any:
        return np.sum(row["weights"] * by_name(condition.residual, known)) - condition.value

    return Term(
        condition.name or "integral", lambda count, seed: dict(arrays), residual, condition.weight, True, "integral"
    )


def normal_of(row: Row, names: Sequence[str], space: Sequence[str] | None = None) -> Any:
    """Return the normals at points, by coordinate, of which those of space are told."""
    return as_normal(row["normal"].T, names, space)
