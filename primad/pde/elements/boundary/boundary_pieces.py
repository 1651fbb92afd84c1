"""What conditions say on each part of the boundary: values of unknowns, and fluxes."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ProblemError
from primad.pde.elements.boundary.held_values import gives_values
from primad.pde.elements.pairing import Pairing, exchanged
from primad.pde.elements.weak_forms import Numbers, Residual, WeakForm
from primad.pde.geometry.point_arguments import Place, as_normal
from primad.pde.geometry.sampling import Array, Points
from primad.pde.geometry.triangulations import Triangulation, without_time
from primad.pde.problem.condition_checks import concerned
from primad.pde.problem.conditions import Condition, Dirichlet, Neumann, Periodic
from primad.pde.problem.named_arguments import arguments, by_name
from primad.pde.problem.terms import valued_arrays, valued_residual

if TYPE_CHECKING:
    from primad.pde.elements.boundary.between import Tie
    from primad.pde.elements.materials import Material
    from primad.pde.problem.pde_problem import Problem


@dataclass
class BoundaryPiece:
    """What is said on a part of the boundary.

    Attributes:
        part: its name.
        place: what of the triangulation it is: of several materials, what is of one of them.
        form: the weak form of the equations there.
        absent: the unknowns that there are none of.
        held: the conditions that give values, by unknown.
        others: the conditions on derivatives, each with the unknown whose value it is, or None for one's own.
        repeats: the unknowns that go on at the other end.
    """

    part: str
    place: str
    form: WeakForm
    absent: frozenset[int]
    held: dict[int, Condition]
    others: list[tuple[Condition, int | None]]
    repeats: set[int]

    @property
    def what(self) -> str:
        """The conditions on derivatives in words."""
        return " and ".join(dict.fromkeys(condition.what for condition, _ in self.others))

    @property
    def given(self) -> set[int]:
        """The unknowns that need no flux, as they are given, go on at the other end, or are none here."""
        return {*self.held, *self.repeats, *self.absent}


def boundary_pieces(
    problem: Problem,
    form: WeakForm,
    mesh: Triangulation,
    where: Mapping[str, tuple[str, Material]],
    time: Any,
    numbers: Numbers,
) -> list[BoundaryPiece]:
    """Return what is said on each part of the boundary.

    Args:
        problem: the problem.
        form: whose unknowns there are.
        mesh: the triangulation, whose facets are those of one part and one material each.
        where: which part of the boundary of which material they are.
        time: when values are checked; None of a problem without time.
        numbers: coefficients and constants by name, for the check.

    Raises:
        ProblemError: if two values are given.
    """
    pieces = [BoundaryPiece(part, key, one.form, one.absent, {}, [], set()) for key, (part, one) in where.items()]
    for condition in problem.statement.conditions:
        if condition.kind in ("initial condition", "integral", "interface condition"):
            continue
        if isinstance(condition, Periodic):
            unknowns = {form.names.index(name) for name in concerned(condition, problem.statement)}
            parts = [f"{name}{end}" for name in condition.coordinates for end in "-+"]
            for piece in pieces:
                piece.repeats |= unknowns if piece.part in parts else set()
            continue
        parts = list(condition.parts(problem.domain))
        for piece in pieces:
            if piece.part in parts:
                at = mesh.points[mesh.facets[piece.place]].mean(axis=1)
                _enter(piece, condition, problem, form, at, time, numbers)
    return pieces


def pairing_at(pieces: Sequence[BoundaryPiece], problem: Problem, pairing: Pairing) -> Pairing:
    """Return the pairing of equations and unknowns for what is said on the boundary.

    Raises:
        ProblemError: if something is said twice, or an equation with a flux has no condition.
    """
    every = set(range(len(problem.unknowns)))
    given = [every if None in said else said for said in [{k for _, k in piece.others} for piece in pieces]]
    found = exchanged(pairing, [piece.given for piece in pieces], given)  # type: ignore[arg-type]
    for piece in pieces:
        _check_piece(piece, problem, found)
    return found


def _enter(
    piece: BoundaryPiece,
    condition: Condition,
    problem: Problem,
    form: WeakForm,
    at: Array,
    time: Any,
    numbers: Numbers,
) -> None:
    unknowns = [form.names.index(name) for name in concerned(condition, problem.statement)]
    unknowns = [k for k in unknowns if k not in piece.absent]
    if condition.kind == "freedom" or not unknowns:
        return
    if isinstance(condition, Dirichlet):
        given = unknowns
    elif hasattr(condition, "values"):
        piece.others += [(condition, k) for k in unknowns]
        return
    else:
        one = gives_values(form, condition, at, time, numbers) if len(at) else None
        given = [] if one is None else [one]
        if one is None:
            piece.others.append((condition, None))
    for k in given:
        if k in piece.held:
            _two(piece, form.names[k], piece.held[k], condition)
        piece.held[k] = condition


def _two(piece: BoundaryPiece, name: str, first: Condition, second: Condition) -> None:
    raise ProblemError(
        f"elements: the part {piece.part!r} of the boundary has two conditions of {name}, {first.what} and "
        f"{second.what}",
        why="An equation of second order has one solution with one.",
        fix="leave one of them out.",
    )


def _check_piece(piece: BoundaryPiece, problem: Problem, pairing: Pairing) -> None:
    names = problem.unknowns
    tested = {source: k for k, source in enumerate(pairing.through)}
    for condition, k in piece.others:
        if k is not None and tested[k] in piece.held:
            _two(piece, names[k], piece.held[tested[k]], condition)
        if k is not None and not pairing.flows[tested[k]]:
            raise ProblemError(
                f"elements: {condition.what} gives a slope of {names[k]} on the part {piece.part!r}, whose equation "
                "has no second derivatives",
                why="Nothing flows through the boundary that it could give.",
                fix=f'write pde.Free("{names[k]}", on="{piece.part}"), or give {names[k]} itself.',
            )
    said = [k for _, k in piece.others]
    if None not in said and len(set(said)) < len(said):
        k = next(k for k in said if k is not None and said.count(k) > 1)
        first, second = (condition for condition, own in piece.others if own == k)
        _two(piece, names[k], first, second)
    open_ones = [k for k in range(len(names)) if pairing.flows[k] and k not in piece.given]
    lacking = [names[k] for k in open_ones if pairing.through[k] not in said] if None not in said else []
    if lacking:
        raise ProblemError(
            f"elements: nothing is given of {lacking[0]} on the part {piece.part!r} of the boundary: the problem has a "
            "condition of the kind 'freedom' there",
            why="An equation with second derivatives has one solution where the unknown or its flux is given.",
            fix=f'write pde.Neumann({lacking[0]}=0, on="{piece.part}") where nothing flows through, or solve the '
            'problem with a network: method="network".',
        )


def floating(
    pieces: Sequence[BoundaryPiece], problem: Problem, pairing: Pairing, ties: Sequence[Tie], held: Sequence[Any]
) -> list[int]:
    """Return the unknowns to which one constant may be added: those that are tied have the same.

    Args:
        pieces: what is said on the boundary.
        problem: the problem.
        pairing: of equations and unknowns.
        ties: nodes of two unknowns that are one between two materials.
        held: unknowns, and more, whose values are given there.

    Raises:
        ProblemError: if there are several constants, or the problem has time.
    """
    given = {
        k
        for k in range(len(problem.unknowns))
        if pairing.moves[k] or pairing.leveled[k] or any(_says_level(piece, k) for piece in pieces)
    } | {k for k, *_ in held}
    for _ in ties:
        given |= {k for tie in ties if given & set(tie.unknowns) for k in tie.unknowns}
    found = [k for k in range(len(problem.unknowns)) if k not in given]
    group = set(found[:1])
    for _ in ties:
        group |= {k for tie in ties if group & set(tie.unknowns) for k in tie.unknowns}
    if len(found) > len(group) or (found and any(pairing.moves)):
        name = problem.unknowns[found[0]]
        raise ProblemError(
            f"elements: the equation and its conditions say how {name} changes, and nowhere what it is",
            why=f"With {name} every {name} + c is a solution."
            + " Elements choose the level of one unknown, of a problem without time.",
            fix=f"give {name} on a part of the boundary: pde.Dirichlet({name}=0, on={problem.domain.parts[0]!r}); "
            f"of a piece with a name too, domain.named(corner=lambda …: …).",
        )
    return found


def _says_level(piece: BoundaryPiece, k: int) -> bool:
    others = [own for condition, own in piece.others if not isinstance(condition, Neumann)]
    return k in piece.held or k in others or None in others


def flux_residual(form: WeakForm, condition: Condition, k: int | None, at: Array, normal: Array, time: Any) -> Residual:
    """Return a condition at points as a function of what is known by name.

    Args:
        form: whose unknowns there are.
        condition: the condition.
        k: the unknown that it is about; None for one's own.
        at: the points, one a row.
        normal: the outward normals.
        time: when its values are checked; None of a problem without time.
    """
    domain = form.domain
    whole = np.zeros((len(at), len(domain.names)))
    whole[:, [domain.names.index(name) for name in form.space]] = normal
    own = as_normal(whole.T, domain.names, form.space)
    if k is None:
        return lambda known: by_name(condition.residual, ChainMap({"n": own}, known))  # type: ignore[arg-type]
    points = np.asarray(form.points(at, time))
    row: dict[str, Any] = {
        **valued_arrays(condition, form.names[k], Points(domain.names, points, whole)), "normal": normal,
    }  # fmt: skip
    valued = valued_residual(condition, form.names[k], without_time(domain))
    values = {"target": getattr(condition, "values", {})[form.names[k]]}
    values.update({key: getattr(condition, key) for key in "ab" if hasattr(condition, key)})
    moving = {key: value for key, value in values.items() if _changes(value, form, condition)}

    def residual(known: Mapping[str, Any]) -> Any:
        now = known["points"]
        there = ChainMap({"points": now, "n": own}, Place(domain.names, now))  # type: ignore[arg-type]
        found = {key: pnp.broadcast_to(by_name(value, there), (len(at),)) for key, value in moving.items()}
        return valued(known, {**row, **found})

    return residual


def _changes(value: Any, form: WeakForm, condition: Condition) -> bool:
    asked: Sequence[str] = arguments(value, condition.what) if callable(value) else ()
    return form.time is not None and bool({form.time, "points"} & set(asked))
