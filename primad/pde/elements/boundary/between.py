"""Conditions between two materials: what values of unknowns on both sides are to each other, and what flows through.

Where a condition says what u − v is, nodes of both are one, and their equations are added up. Then a condition on
derivatives says what is left of the fluxes on both sides, ∮ w (q_u + s q_v). With a factor s of the other equation no
derivative along the normal is: of 8 ∂u/∂n = ∂v/∂n between Δu = 0 and Δv = 0 it is 1/8. Where no condition is on values,
as at a contact that resists, two are on derivatives, and give the fluxes on both sides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from primad import numpy as pnp
from primad.errors import ProblemError
from primad.functional.derivatives.first_order import jvp
from primad.pde.elements.boundary.boundary_fluxes import BoundaryFlux
from primad.pde.elements.boundary.boundary_pieces import flux_residual
from primad.pde.elements.boundary.flux_checks import ROUNDED, other_numbers
from primad.pde.elements.boundary.held_values import drawn_at
from primad.pde.elements.element_spaces import PolynomialsAt, at_points, points_of_facets
from primad.pde.elements.joins import same_places
from primad.pde.elements.materials import Material
from primad.pde.elements.weak_forms import State, WeakForm
from primad.pde.geometry.sampling import Array
from primad.pde.geometry.triangulations import InnerFacets
from primad.pde.problem.inner_conditions import Interface
from primad.pde.problem.used_arguments import which_depend

if TYPE_CHECKING:
    from primad.pde.elements.discretisation import Elements

Numbers = Mapping[str, Any]
Said = Sequence[tuple[Interface, float]]
"""Conditions, each with 1, or -1 where its domain is on the second side."""


@dataclass(frozen=True)
class Tie:
    """Nodes of two unknowns at the same places, whose values differ by what is known.

    Attributes:
        first, second: the nodes, among those of all unknowns in a row.
        jump: by how much values of the second are larger.
        factor: of the equations for the second, which are added to those for the first.
        unknowns: the two.
    """

    first: Array
    second: Array
    jump: Array
    factor: float
    unknowns: tuple[int, int]


class Between:
    """The facets between two materials, and what conditions say there.

    Args:
        elements: whose facets they are.
        conditions: the conditions.
        facets: the facets.
        sides: both materials.
        held: unknowns whose values are given.
        known: all coefficients and constants by name, for checks.

    Raises:
        ProblemError: for conditions that say too much or too little, or what elements do not take.
    """

    def __init__(
        self,
        elements: Elements,
        conditions: Said,
        facets: InnerFacets,
        sides: tuple[Material, Material],
        held: Collection[int],
        known: Numbers,
    ) -> None:
        self._elements, self._sides, self._known = elements, sides, known
        self._what = " and ".join(dict.fromkeys(one.what for one, _ in conditions)) or "nothing"
        count = len(elements.spaces)
        corners = elements.mesh.points[facets.corners]
        self.at, self.normal, self.weights = points_of_facets(corners, facets.normals, elements.degree)
        self.spaces: list[PolynomialsAt | None] = []
        for k, space in enumerate(elements.spaces):
            there = [i for i, side in enumerate(sides) if k not in side.absent]
            opposite = facets.opposite[there[0]] if there else None
            self.spaces.append(None if opposite is None else space.at_facets(facets.corners, opposite))
        flows = elements.pairing.flows
        first, second = ([k for k in range(count) if k not in side.absent] for side in sides)
        self._first = [k for k in first if k not in {*second, *held} and flows[k]]
        self._second = [k for k in second if k not in {*first, *held} and flows[k]]
        form = elements.form
        residuals = [
            flux_residual(form, one, None, self.at, way * self.normal, elements.begin) for one, way in conditions
        ]
        self._flux = BoundaryFlux(form, residuals, {}, self.at, self.normal, self._what, elements.begin, known)
        self._on_slopes = self._rows_on_slopes()
        self._check_linear()
        self.ties = self._ties(conditions, facets) if not all(self._on_slopes) else []
        self._check_counts()
        self._check_normal()
        self._tangential = self._has_slopes()

    def _refuse(self, how: str, why: str, fix: str) -> NoReturn:
        raise ProblemError(f"elements: {self._what} {how}", why=why, fix=fix)

    # -- what conditions are -------------------------------------------------------------------------------------------

    def _drawn(self, shift: float = 0.0) -> State:
        return drawn_at(self._elements.form, self.at, self._elements.begin, shift)

    def _rows_on_slopes(self) -> list[bool]:
        """Return of each thing that is said whether it is about derivatives."""
        state = self._drawn()

        def rows(slopes: Any, rates: Any) -> Any:
            return tuple(self._flux.given(state._replace(slopes=slopes, rates=rates), self._known))

        return which_depend(rows, (state.slopes, state.rates))

    def _ties(self, conditions: Said, facets: InnerFacets) -> list[Tie]:
        """Return what conditions on values alone say."""
        elements, found = self._elements, []
        for place in np.flatnonzero(~np.asarray(self._on_slopes)):
            used = [k for k in range(len(elements.spaces)) if self._asks_for(int(place), k)]
            pair = [k for k in used if k in self._first], [k for k in used if k in self._second]
            if len(used) != 2 or len(pair[0]) != 1 or len(pair[1]) != 1:
                self._refuse(
                    "says of values another thing than how one unknown on one side differs from one on the other",
                    "Elements make one of both values.",
                    "write (u - v, …), or (u - v - jump, …), and what flows through as a condition on derivatives; "
                    "what gives the value of one unknown is a condition of its own.",
                )
            (u,), (v,) = pair
            rows = [np.unique(elements.spaces[k].nodes.numbers(facets.corners)) for k in (u, v)]
            at = elements.spaces[u].nodes.at[rows[0]]
            order = same_places(at, elements.spaces[v].nodes.at[rows[1]])
            jump = self._jump(conditions, int(place), (u, v), at)
            nodes = elements.offsets[u] + rows[0], elements.offsets[v] + rows[1][order]
            found.append(Tie(*nodes, jump, 1.0, (u, v)))
        factors = self._factors(found)
        return [Tie(one.first, one.second, one.jump, s, one.unknowns) for one, s in zip(found, factors, strict=True)]

    def _asks_for(self, place: int, k: int) -> bool:
        state = self._drawn()

        def row(own: Any) -> Any:
            return (self._flux.given(state._replace(u=(*state.u[:k], own, *state.u[k + 1 :])), self._known)[place],)

        return which_depend(row, (state.u[k],))[0]

    def _jump(self, conditions: Said, place: int, pair: tuple[int, int], at: Array) -> Array:
        """Return by how much the second unknown is larger at points."""
        elements, form = self._elements, self._elements.form
        normal = np.zeros(at.shape)
        residuals = [flux_residual(form, one, None, at, normal, elements.begin) for one, _ in conditions]
        flux = BoundaryFlux(form, residuals, {}, at, normal, self._what, elements.begin, self._known)
        cases = []
        for shift, numbers in self._cases():
            state = drawn_at(form, at, elements.begin, shift)

            def row(own: Any, state: State = state, numbers: Numbers = numbers) -> Any:
                u = tuple([own[pair.index(k)] if k in pair else x for k, x in enumerate(state.u)])
                return flux.given(state._replace(u=u), numbers)[place]

            here = state.u[pair[0]], state.u[pair[1]]
            zeros, ones = np.zeros(len(at)), np.ones(len(at))
            level, first = jvp(row, (here,), ((ones, zeros),))
            _, second = jvp(row, (here,), ((zeros, ones),))
            jump = (np.asarray(level) - first * here[0] - second * here[1]) / np.asarray(first)
            cases.append(np.stack([jump, np.asarray(second) / np.asarray(first)]))
        jump, ratio = cases[0]
        if not np.allclose(ratio, -1, atol=ROUNDED) or not np.allclose(cases, cases[0], atol=ROUNDED):
            self._refuse(
                "does not say that values on both sides differ by what is a number, or a function of space",
                "Elements make one of both values.",
                "write (u - v, …) or (u - v - jump, …); what depends on values of derivatives is a condition on these.",
            )
        return np.asarray(jump)

    def _cases(self) -> list[tuple[float, Numbers]]:
        """Return what is drawn, and numbers: the stated ones, and others."""
        random = np.random.default_rng(0)
        return [(0.0, self._known), (0.4, other_numbers(self._known, random))]

    def _factors(self, ties: Sequence[Tie]) -> list[float]:
        """Return the factors of the equations on the second side, with which no derivative along the normal is left."""
        us, vs = ([one.unknowns[i] for one in ties] for i in range(2))
        if sum(self._on_slopes) != len(ties) or set(us) != set(self._first) or set(vs) != set(self._second):
            return [1.0 for _ in ties]  # which `_check_counts` refuses
        found = []
        for shift, numbers in self._cases():
            state = self._drawn(shift)
            own, across = self._conditions(state, numbers), self._across(state, numbers)
            left, right = _table(own, us), _table(across[0], us, self._equations(us))
            with np.errstate(all="ignore"):
                shares = right @ np.linalg.pinv(left)
                factors = shares @ _table(own, vs) @ np.linalg.pinv(_table(across[1], vs, self._equations(vs)))
            found.append(factors)
        first = np.diagonal(found[0], axis1=1, axis2=2)[0]
        if not np.allclose(found, np.diag(first), rtol=ROUNDED, atol=ROUNDED * np.max(np.abs(first))) or not all(first):
            self._refuse(
                "does not say what flows through in terms of what both equations say flows",
                "Of Δu on one side and Δv on the other, what flows is ∂u/∂n and ∂v/∂n, with one factor everywhere.",
                "multiply the equations so that the condition is on what they say flows: 8 * Δu and Δv with 8 * ∂u/∂n "
                "- ∂v/∂n.",
            )
        return [float(one) for one in first]

    def _check_counts(self) -> None:
        said, wanted = len(self._on_slopes), len(self._first) + len(self._second)
        ties = len(self.ties)
        if said != wanted or (ties and not ties == len(self._first) == len(self._second)):
            names = [self._elements.problem.unknowns[k] for k in (*self._first, *self._second)]
            self._refuse(
                f"says {ties} things of values and {said - ties} of derivatives, of {' and '.join(names) or 'no'} "
                "unknowns that are on one side only",
                "Each of them needs one: how values on both sides differ, and as many on what flows, or what flows on "
                "both sides.",
                "write (u - v, k * u.x * n.x - …) for two materials in contact.",
            )

    def _check_linear(self) -> None:
        state = self._drawn()

        def factors(slopes: Any) -> Any:
            return tuple([one for row in self._conditions(state._replace(slopes=slopes), self._known) for one in row])

        if any(which_depend(factors, (state.slopes,))):
            self._refuse("is not linear in derivatives", "It gives what flows only if it is.", 'take method="network".')

    def _check_normal(self) -> None:
        state = self._drawn()
        own = _table(self._conditions(state, self._known), [*self._first, *self._second])

        with np.errstate(all="ignore"):
            regular = np.linalg.svd(own, compute_uv=False) if own.size else np.ones((1, 1))
        if own.size and not np.all(regular[:, -1] > ROUNDED * regular[:, 0]):
            self._refuse(
                "does not have derivatives along the normal of unknowns on both sides in it everywhere",
                "They are what flows.",
                "write u.x * n.x + u.y * n.y for ∂u/∂n.",
            )

    def _has_slopes(self) -> bool:
        """Say whether derivatives along the facets are in what is given."""
        found = False
        for shift, numbers in self._cases():
            state = self._drawn(shift)
            values = [np.asarray(x) for _, x in self._given(state, numbers)]
            flat = state._replace(slopes=tuple([tuple([0.0 * x for x in row]) for row in state.slopes]))
            others = [np.asarray(x) for _, x in self._given(flat, numbers)]
            size = max([1.0, *[float(np.max(np.abs(x))) for x in others]])
            found |= any(np.max(np.abs(x - y)) > ROUNDED * size for x, y in zip(values, others, strict=True))
        return found

    # -- what flows ----------------------------------------------------------------------------------------------------

    def _equations(self, unknowns: Sequence[int]) -> list[int]:
        return [self._elements.pairing.equations[k] for k in unknowns]

    def _conditions(self, state: State, numbers: Numbers) -> list[list[Any]]:
        """Return the factors of the derivatives along the normal of all unknowns, of conditions on derivatives."""
        rows = self._flux.conditions(state, numbers)[1]
        return [row for row, there in zip(rows, self._on_slopes, strict=True) if there]

    def _across(self, state: State, numbers: Numbers) -> list[list[list[Any]]]:
        return [
            [[sign * one for one in row] for row in form.normal_flux(state, self.normal, numbers)[1]]
            for form, sign in self._forms()
        ]

    def _forms(self) -> list[tuple[WeakForm, float]]:
        return [(self._sides[0].form, 1.0), (self._sides[1].form, -1.0)]

    def _given(self, state: State, numbers: Numbers) -> Iterator[tuple[int, Any]]:
        """Give unknowns, and what flows that their equations have not: of values, and of derivatives along facets."""
        fluxes, across = [], []
        for form, sign in self._forms():
            flux, own = form.normal_flux(state, self.normal, numbers)
            fluxes.append([sign * one for one in flux])
            across.append([[sign * one for one in row] for row in own])
        rows, own = self._flux.conditions(state, numbers)
        said = [(row, factors) for row, factors, there in zip(rows, own, self._on_slopes, strict=True) if there]
        asked = [(0, k) for k in self._first] + ([] if self.ties else [(1, k) for k in self._second])
        unknowns, pairing = [k for _, k in asked], self._elements.pairing.equations
        if not asked:
            return
        left = _table([factors for _, factors in said], unknowns)
        nothing = np.zeros(len(self.at))
        rows_of = [
            [across[side][pairing[k]][j] if (side, j) in asked else nothing for j in range(len(state.u))]
            for side, k in asked
        ]
        right = _table(rows_of, unknowns)
        shares = pnp.swapaxes(np.linalg.solve(pnp.swapaxes(left, -1, -2), pnp.swapaxes(right, -1, -2)), -1, -2)
        tied = {one.unknowns[0]: one for one in self.ties}
        for place, (side, k) in enumerate(asked):
            total = fluxes[side][pairing[k]]
            if k in tied:
                total = total + tied[k].factor * fluxes[1][pairing[tied[k].unknowns[1]]]
            yield k, total - sum(shares[:, place, c] * row for c, (row, _) in enumerate(said))

    def added(self, values: Sequence[Any], rates: Any, time: Any, numbers: Numbers) -> Iterator[tuple[int, Any]]:
        """Give unknowns, and what is added to the residuals for their nodes.

        Args:
            values: of each unknown at its nodes.
            rates: the derivatives of the values along time; None are zeros.
            time: the time.
            numbers: all coefficients and constants by name.
        """
        u, slopes, rate = at_points(self.spaces, values, rates, self.at.shape)
        if not self._tangential:
            slopes = tuple([(np.zeros(len(self.at)),) * self.at.shape[1] for _ in u])
        for k, flux in self._given(State(self.at, time, u, slopes, rate), numbers):
            space = self.spaces[k]
            assert space is not None  # what flows is that of unknowns that there are
            yield k, space.integrals(self.weights * flux)


def _table(rows: Sequence[Sequence[Any]], columns: Sequence[int], chosen: Sequence[int] | None = None) -> Any:
    """Return a matrix for each point, of some columns and rows of lists of arrays."""
    own = rows if chosen is None else [rows[e] for e in chosen]
    if not own or not columns:
        return np.zeros((0, 0))
    return pnp.stack([pnp.stack([row[k] for k in columns], axis=-1) for row in own], axis=-2)
