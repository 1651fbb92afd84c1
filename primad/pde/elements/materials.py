"""Parts of a domain in which other equations hold, as of several materials: their equations, and their cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.elements.supported import weak_form_of
from primad.pde.elements.weak_forms import WeakForm
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.sampling import Array
from primad.pde.geometry.triangulations import Triangulation, without_time
from primad.pde.problem.named_arguments import arguments
from primad.pde.problem.statement import StatedEquation

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem


@dataclass(frozen=True)
class Material:
    """A part of the domain in which the same equations hold.

    Attributes:
        name: of its equations.
        form: their weak form; those of other parts say nothing in it.
        cells: the cells, by number.
        absent: the unknowns that there are none of in it.
    """

    name: str
    form: WeakForm
    cells: Array
    absent: frozenset[int]


def stated_equations(problem: Problem) -> list[StatedEquation]:
    """Return the equations without those that say in a part of the domain what another one says everywhere."""
    every = problem.statement.equations
    whole = [one.function for one in every if one.domain is problem.domain]
    return [one for one in every if one.domain is problem.domain or one.function not in whole]


def inner_domains(problem: Problem) -> list[Domain]:
    """Return the domains of space along whose boundaries elements end: those of equations, and of interfaces."""
    others = [one.domain for one in stated_equations(problem) if one.domain is not problem.domain]
    others += [one.of for one in problem.statement.conditions if one.kind == "interface condition"]  # type: ignore[attr-defined]
    return [without_time(one) for one in dict.fromkeys(others)]


def slots_of(problem: Problem) -> list[list[StatedEquation]]:
    """Return the equations, of which those that are about the same unknowns in parts without a common point are one."""
    found: list[list[StatedEquation]] = []
    for one in stated_equations(problem):
        for slot in found:
            if _about(problem, one) == _about(problem, slot[0]) and all(_apart(one, other) for other in slot):
                slot.append(one)
                break
        else:
            found.append([one])
    return found


def _about(problem: Problem, one: StatedEquation) -> tuple[set[str], int]:
    """Return what unknowns an equation asks for, and how many things it says."""
    return set(arguments(one.function, one.name)) & set(problem.unknowns), len(problem.labels[one.name])


def _apart(one: StatedEquation, other: StatedEquation) -> bool:
    first, second = one.domain, other.domain
    return not (np.any(second.inside(first.interior(64).at)) or np.any(first.inside(second.interior(64).at)))


def materials_of(problem: Problem, form: WeakForm, mesh: Triangulation) -> list[Material]:
    """Return the parts of the domain in which the same equations hold.

    Args:
        problem: the problem.
        form: the weak form of its equations, the first of each slot.
        mesh: the triangulation, no cell of which lies in two parts.

    Raises:
        ProblemError: if there are more or fewer equations in a part than unknowns.
    """
    slots = slots_of(problem)
    middles = mesh.points[mesh.cells].mean(axis=1)
    every = [one for slot in slots for one in slot]
    masks = np.stack([
        np.ones(len(middles), bool) if one.domain is problem.domain else without_time(one.domain).inside(middles)
        for one in every
    ])  # fmt: skip
    kinds, number = np.unique(masks, axis=1, return_inverse=True)
    return [
        _material(problem, form, slots, [one for one, there in zip(every, kinds[:, i], strict=True) if there], cells)
        for i in range(kinds.shape[1])
        for cells in [np.flatnonzero(number.ravel() == i)]
    ]


def _material(
    problem: Problem,
    form: WeakForm,
    slots: Sequence[Sequence[StatedEquation]],
    own: Sequence[StatedEquation],
    cells: Array,
) -> Material:
    name = " and ".join(one.name for one in own)
    there = {x for one in own for x in _about(problem, one)[0]}
    counts = sum(len(problem.labels[one.name]) for one in own), len(there)
    if counts[0] != counts[1] or not own:
        raise ProblemError(
            f"elements: {counts[0]} equations for {counts[1]} unknowns in a part of the domain, where "
            f"{name or 'none'} holds",
            why="There is one equation for each unknown in each part.",
            fix="state the parts so that they fill the domain and have no point in common.",
        )
    functions = [
        next((one.function for one in slot if one in own), _silence(len(problem.labels[slot[0].name])))
        for slot in slots
    ]
    if functions != list(form.functions):
        form = weak_form_of(problem, functions, name)
    return Material(name, form, cells, frozenset(k for k, x in enumerate(problem.unknowns) if x not in there))


def _silence(count: int) -> Callable[[], Any]:
    """Return an equation that says nothing, so many times."""
    return lambda: (0.0,) * count


def owners(mesh: Triangulation, materials: Sequence[Material]) -> Array:
    """Return of which material each cell is, by number."""
    found = np.zeros(len(mesh.cells), np.int64)
    for i, material in enumerate(materials):
        found[material.cells] = i
    return found


def parted(mesh: Triangulation, materials: Sequence[Material]) -> tuple[Triangulation, dict[str, tuple[str, Material]]]:
    """Return a triangulation in which each part of the boundary is of one material, and what part of which it is.

    Args:
        mesh: the triangulation.
        materials: of all its cells.
    """
    if len(materials) == 1:
        return mesh, {part: (part, materials[0]) for part in mesh.facets}
    owner, where = owners(mesh, materials), {}
    fields: dict[str, dict[str, Array]] = {"facets": {}, "normals": {}, "opposite": {}, "owners": {}}
    for part in mesh.facets:
        number = owner[mesh.owners[part]]
        for i in np.unique(number):
            key = f"{part} of {materials[i].name}"
            where[key] = part, materials[i]
            for name, found in fields.items():
                found[key] = getattr(mesh, name)[part][number == i]
    return Triangulation(mesh.points, mesh.cells, **fields), where
