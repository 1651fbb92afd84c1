"""All conditions between materials: which facets they are on, and that unknowns end nowhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.elements.boundary.between import Between, Tie
from primad.pde.elements.boundary.held_values import gives_values
from primad.pde.elements.materials import Material, owners
from primad.pde.geometry.sampling import Array
from primad.pde.geometry.triangulations import InnerFacets, Triangulation, inner_facets, parts_at, without_time
from primad.pde.problem.inner_conditions import Interface

if TYPE_CHECKING:
    from primad.pde.elements.discretisation import Elements

Numbers = Mapping[str, Any]
_Groups = dict[tuple[frozenset[int], bytes], tuple[tuple[int, int], InnerFacets, list[tuple[Interface, float]]]]
"""Of the materials on both sides and of the facets: the first and the second, the facets, and what is said there."""


class Interfaces:
    """All conditions between materials.

    Args:
        elements: whose materials there are.
        materials: the materials.
        known: all coefficients and constants by name, for checks.

    Attributes:
        held: unknowns whose values are given, the conditions that give them, and the facets where.

    Raises:
        ProblemError: for conditions that elements do not take, and unknowns that nothing couples.
    """

    held: list[tuple[int, Interface, Array]]

    def __init__(self, elements: Elements, materials: Sequence[Material], known: Numbers) -> None:
        stated = [one for one in elements.problem.statement.conditions if isinstance(one, Interface)]
        owner = owners(elements.mesh, materials)
        groups: _Groups = {}
        for condition in stated:
            facets = _of(condition, elements.mesh)
            pairs = np.stack([owner[one] for one in facets.owners], axis=1)
            for first, second in np.unique(pairs, axis=0).tolist():
                own = facets.only(np.all(pairs == [first, second], axis=1))
                key = frozenset([first, second]), np.unique(np.sort(own.corners, axis=1), axis=0).tobytes()
                pair, _, said = groups.setdefault(key, ((first, second), own, []))
                said.append((condition, 1.0 if pair == (first, second) else -1.0))
        self._between, self.held = [], []
        for pair, facets, said in groups.values():
            rest, given = [], dict[int, Interface]()
            for condition, way in said:
                k = self._given(elements, condition, facets, known)
                if k is None:
                    rest.append((condition, way))
                else:
                    given[k] = condition
                    self.held.append((k, condition, facets.corners))
            sides = materials[pair[0]], materials[pair[1]]
            self._between.append(Between(elements, rest, facets, sides, given, known))
        self._check_open(elements, materials, owner, groups)

    @staticmethod
    def _given(elements: Elements, condition: Interface, facets: InnerFacets, known: Numbers) -> int | None:
        """Return the one unknown that a condition gives the value of; None of one that says something else."""
        middles = elements.mesh.points[facets.corners].mean(axis=1)
        return gives_values(elements.form, condition, middles, elements.begin, known)

    @staticmethod
    def _check_open(elements: Elements, materials: Sequence[Material], owner: Array, groups: _Groups) -> None:
        """Raise for unknowns that end between two materials where nothing is said."""
        counted: Counter[frozenset[int]] = Counter()
        for (pair, _), (_, own, _) in groups.items():
            counted[pair] += len(own.corners)
        for i, one in enumerate(materials[:-1]):  # of two each pair is seen from one
            facets = inner_facets(elements.mesh, owner == i)
            for j in np.unique(owner[facets.owners[1]]).tolist():
                ends = [k for k in {*one.absent, *materials[j].absent} if elements.pairing.flows[k]]
                ends = [k for k in ends if not (k in one.absent and k in materials[j].absent)]
                if ends and counted[frozenset([i, j])] < np.sum(owner[facets.owners[1]] == j):
                    name = elements.problem.unknowns[ends[0]]
                    raise ProblemError(
                        f"elements: nothing is said of {name} between {one.name} and {materials[j].name}",
                        why=f"There {name} ends, and its equation needs what flows through.",
                        fix="write pde.Interface(lambda u, v, n: …, of=one of both domains), with as many things as "
                        "there are unknowns on both sides.",
                    )

    @property
    def ties(self) -> list[Tie]:
        """The nodes that are one."""
        return [tie for one in self._between for tie in one.ties]

    def added(self, values: Sequence[Any], rates: Any, time: Any, numbers: Numbers) -> Iterator[tuple[int, Any]]:
        """Give what all conditions add, as `Between.added` does of one."""
        for one in self._between:
            yield from one.added(values, rates, time, numbers)


def _of(condition: Interface, mesh: Triangulation) -> InnerFacets:
    """Return the facets of a condition.

    Raises:
        ProblemError: if there are none inside of the domain.
    """
    of = without_time(condition.of)
    found = inner_facets(mesh, np.asarray(of.inside(mesh.points[mesh.cells].mean(axis=1))))
    if condition.on is not None:
        parts = parts_at(of, mesh.points[found.corners].mean(axis=1), found.normals)
        found = found.only(np.isin(parts.astype(str), list(condition.on)))
    if not len(found.corners):
        raise ProblemError(
            f"elements: {condition.what} is on no boundary inside of the domain",
            fix="name the part of the other domain's boundary that lies inside: on=…",
        )
    return found
