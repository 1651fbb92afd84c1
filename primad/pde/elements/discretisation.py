"""A problem on finite elements: its unknowns at nodes, the residual there, and its root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ProblemError
from primad.functional.jit import jit
from primad.implicit.solver_functions import root
from primad.pde.elements.boundary.boundary_pieces import BoundaryPiece, boundary_pieces, floating, pairing_at
from primad.pde.elements.boundary.edges import Edges
from primad.pde.elements.boundary.held_values import HeldValues, given_values
from primad.pde.elements.boundary.interfaces import Interfaces
from primad.pde.elements.element_solution import ElementSolution
from primad.pde.elements.element_spaces import ElementSpace
from primad.pde.elements.inside import Inside
from primad.pde.elements.joins import joined, same_places
from primad.pde.elements.levels import Level
from primad.pde.elements.location import Location
from primad.pde.elements.materials import Material, inner_domains, materials_of, parted, slots_of
from primad.pde.elements.pairing import paired
from primad.pde.elements.supported import check_problem, weak_form
from primad.pde.elements.time_steps import ElementSteps
from primad.pde.geometry.intervals import clock
from primad.pde.geometry.sampling import Array
from primad.pde.geometry.triangulations import Triangulation, triangulated, without_time
from primad.pde.problem.box_statements import GridMethod, refuse
from primad.pde.problem.inner_conditions import Integral
from primad.pde.problem.named_arguments import on_points

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

__all__ = ["Elements"]


class Elements(GridMethod):
    """A problem on finite elements (Lagrange's, on intervals, triangles or tetrahedra), solved and differentiated.

    The problem has an equation of second order for each unknown, or of first, linear in the second derivatives: they
    are brought into a weak form by their derivatives. Newton's method solves it, with the exact sparse Jacobian; in
    time the method RODAS takes steps. An unknown that is in its own equation neither itself nor by its slopes, as
    pressure is not in ∇·u = 0, has polynomials of a degree less (Taylor & Hood 1973).

    Args:
        problem: with Dirichlet, Neumann, Robin, periodic and initial conditions, or conditions of one's own that give
            values or the flux, on intervals, boxes, meshes, and shapes in the plane, times an interval of time or not.
        size: how long edges are at most: along the axes of a box, the longest ones otherwise.
        degree: of the polynomials on an element: 1 or 2. The error falls with size to the power of degree + 1, where
            the solution is smooth.
        frames: how many states are kept besides the first, at equal times, of a problem with time.
        tolerance: of the steps in time, relative to values and absolute.

    Raises:
        ProblemError: for what elements do not do, which the error names.

    Example:
        >>> import numpy as np, primad
        >>> from primad import pde
        >>> p = pde.Problem(lambda u, k: k * u.xx + 1, pde.Interval(0, 1), [pde.Dirichlet(u=0)], constants={"k": 1.0})
        >>> elements = pde.Elements(p, size=0.1, degree=2)
        >>> def largest(k):
        ...     return np.max(elements.values(k=k))
        >>> print(f"{largest(2.0):.6f} {primad.grad(largest)(2.0):.6f}")
        0.062500 -0.031250
    """

    method = "elements"

    def __init__(
        self,
        problem: Problem,
        size: float | None = None,
        degree: int = 1,
        frames: int = 50,
        tolerance: float = 1e-6,
    ) -> None:
        if degree not in (1, 2):
            raise ProblemError(f"elements are of degree 1 or 2, got {degree!r}", fix="write degree=2.")
        self.problem, self.degree = problem, degree
        check_problem(problem)
        self.form = weak_form(problem, [slot[0] for slot in slots_of(problem)])
        known = self.numbers({}, partly=True)
        pairing = paired(self.form, known)
        self._degrees = [degree - one for one in pairing.multiplies]
        self._check_degree()
        interval = None if self.form.time is None else clock(problem.domain)
        self.begin = None if interval is None else float(interval.low)
        self.mesh: Triangulation = triangulated(without_time(problem.domain), size, inner_domains(problem))
        materials = materials_of(problem, self.form, self.mesh)
        self.spaces = self._spaces(materials)
        self.nodes: Array = self.spaces[self._degrees.index(degree)].nodes.at
        self.offsets: Array = np.cumsum([0, *[len(space.nodes.at) for space in self.spaces]])
        self.inside = [Inside.of(one, self.spaces, self.mesh, degree) for one in materials]
        self.facets, where = parted(self.mesh, materials)
        pieces = boundary_pieces(problem, self.form, self.facets, where, self.begin, known)
        self.pairing = pairing_at(pieces, problem, pairing)
        self.between = Interfaces(self, materials, known)
        self.held = self._held(pieces, known)
        self.edges = Edges(self, pieces, known)
        ties = self.between.ties
        tied = [(one.first, one.second, one.jump, one.factor) for one in ties]
        self._joins = joined(int(self.offsets[-1]), [*self._repeated(pieces), *tied], self.held.places)
        own, same = np.arange(self.offsets[-1]), self._joins.same
        self.free: Array = np.setdiff1d(own[same == own], self.held.places)
        order = np.concatenate([self.free, self.held.places])
        self._place: Array = np.argsort(order)[np.searchsorted(np.sort(order), same)]
        self._open: Array = np.flatnonzero(self._place < len(self.free))
        self._level = self._level_of(floating(pieces, problem, self.pairing, ties, self.between.held))
        self.steps = None if interval is None else ElementSteps(self, interval, frames, tolerance)

    def _spaces(self, materials: Sequence[Material]) -> list[ElementSpace]:
        """Return the polynomials of each unknown, on the cells of the materials that it is in."""
        found: dict[tuple[int, frozenset[int]], ElementSpace] = {}
        asked = [
            (degree, frozenset(i for i, one in enumerate(materials) if k not in one.absent))
            for k, degree in enumerate(self._degrees)
        ]
        for degree, own in asked:
            if (degree, own) not in found:
                whole = len(own) == len(materials)
                cells = None if whole else np.concatenate([materials[i].cells for i in sorted(own)])
                found[degree, own] = ElementSpace(self.mesh, degree, self.degree, cells)
        return [found[one] for one in asked]

    def _check_degree(self) -> None:
        if 0 in self._degrees:
            name = self.problem.unknowns[self._degrees.index(0)]
            raise ProblemError(
                f"elements: {name} is in none of the equations that could be solved for it, as a pressure is",
                why="It has polynomials of a degree less than other unknowns: of equal degree, it would oscillate.",
                fix="write degree=2.",
            )

    def _repeated(self, pieces: Sequence[BoundaryPiece]) -> list[tuple[Array, Array, Array, float]]:
        """Return nodes at the lower and at the upper ends of periodic coordinates, which are one, as `joined` does."""
        found: list[tuple[Array, Array, Array, float]] = []
        bounds = np.stack([self.mesh.points.min(axis=0), self.mesh.points.max(axis=0)])
        for k, (space, offset) in enumerate(zip(self.spaces, self.offsets, strict=False)):
            around = {piece.part[:-1] for piece in pieces if k in piece.repeats}
            axes = [self.form.space.index(name) for name in around]
            at = space.nodes.at.copy()
            at[:, axes] = np.where(at[:, axes] == bounds[1, axes], bounds[0, axes], at[:, axes])
            upper = np.flatnonzero(np.any(at != space.nodes.at, axis=1))
            if len(upper):
                lower = same_places(at[upper], space.nodes.at)
                found.append((offset + lower, offset + upper, np.zeros(len(upper)), 1.0))
        return found

    def _level_of(self, unknowns: Sequence[int]) -> Level | None:
        """Return the level of unknowns to which a constant may be added.

        Raises:
            ProblemError: for integrals that give none.
        """
        given = [one for one in self.problem.statement.conditions if isinstance(one, Integral)]
        if len(given) > bool(unknowns):
            refuse(
                "elements",
                f"{given[-1].what}, an integral" if not unknowns else "several integrals",
                "an integral where it says which constant is added to an unknown that conditions do not give",
            )
        return Level(self, unknowns, given[0] if given else None) if unknowns else None

    def _held(self, pieces: Sequence[BoundaryPiece], known: Mapping[str, Any]) -> HeldValues:
        """Return the nodes whose values are given: those of conditions that are stated first, first."""
        stated = self.problem.statement.conditions
        given = [
            (k, condition, self.facets.facets[piece.place]) for piece in pieces for k, condition in piece.held.items()
        ]
        found = []
        for k, condition, facets in [*given, *self.between.held]:
            nodes = self.spaces[k].nodes
            rows = np.unique(nodes.numbers(facets))
            if len(rows):
                values = given_values(self.form, condition, k, nodes.at[rows], self.begin, known)
                found.append((stated.index(condition), (self.offsets[k] + rows, *values)))
        for space, offset in zip(self.spaces, self.offsets, strict=False):
            if len(space.unused):
                found.append((len(stated), (offset + space.unused, _zeros(len(space.unused)), True)))
        return HeldValues([one for _, one in sorted(found, key=lambda pair: pair[0])])

    # -- the equations -------------------------------------------------------------------------------------------------

    def parts(self, values: Any) -> list[Any]:
        """Return the values of each unknown, of those of all in a row."""
        if len(self.spaces) == 1:
            return [values]
        return [values[start:stop] for start, stop in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    def residual(self, values: Any, numbers: Mapping[str, Any], rates: Any = None, time: Any = None) -> Any:
        """Return the weak form for the shape function of each node, of the equation for each unknown.

        Args:
            values: of the unknowns at the nodes, one unknown after the other.
            numbers: all coefficients and constants by name.
            rates: the derivatives of the values along time; none are zeros.
            time: the time.
        """
        parts, moving = self.parts(values), None if rates is None else self.parts(rates)
        found = [0.0 for _ in parts]
        for inside in self.inside:
            for k, rows in inside.residuals(self.pairing, parts, moving, time, numbers):
                found[k] = found[k] + rows
        found = self.edges.added(found, parts, moving, time, numbers)
        for k, rows in self.between.added(parts, moving, time, numbers):
            found[k] = found[k] + rows
        return found[0] if len(found) == 1 else pnp.concatenate(found)

    def spread(self, free: Any, held: Any) -> Any:
        """Return what there is at all nodes, of what there is at those that are free and those that are held."""
        return pnp.concatenate([free, held])[self._place]

    def whole(self, free: Any, held: Any) -> Any:
        """Return values at all nodes, of those that are free and those that are held."""
        found = self.spread(free, held)
        return found + self._joins.jumps if np.any(self._joins.jumps) else found

    def gathered(self, rows: Any) -> Any:
        """Return the residual for free nodes, of that at all: those that are one are added."""
        factors, own = self._joins.factors[self._open], rows[self._open]
        own = own if np.all(factors == 1) else factors * own
        return pnp.add_at(np.zeros(len(self.free)), self._place[self._open], own)

    def values(self, *, start: Any = 0.0, **numbers: Any) -> Any:
        """Return the unknown at the nodes, as a function of coefficients and constants: it is differentiated by them.

        Of several unknowns it is a dict by name; of a problem with time these are the values at its end.

        Args:
            start: where Newton's method begins: a number, a function of coordinates by name, or a dict of such by
                the names of unknowns.
            **numbers: coefficients, all of them, and constants where they are other than stated.

        Raises:
            ProblemError: if a coefficient is missing or not known.
            DomainError: if no solution is found.
        """
        known = self.numbers(numbers)
        if self.steps is not None:
            return self._by_name(self.steps.states(known, self.started(start))[-1])
        begin = self.started(start)[self.free]
        held = self.held.at(None, known)
        if not begin.size:
            return self._by_name(self.whole(begin, held))
        if self._level is None:
            return self._by_name(self._solved(begin, held, known))
        begin[self._level.place] = 0.0
        found, missing = self._solved(begin, held, known)
        self._level.check(found, missing, known)
        return self._by_name(found)

    @cached_property
    def _solved(self) -> Any:
        """What gives values at all nodes, of the start at free ones, of held ones and numbers; it is recorded once."""
        level = self._level

        def equation(free: Any, held: Any, known: Any) -> Any:
            if level is None:
                return self.gathered(self.residual(self.whole(free, held), known))
            own, missing = level.parts(free)
            return level.balanced(self.gathered(self.residual(self.whole(own, held), known)), missing)

        def solved(begin: Any, held: Any, known: Any) -> Any:
            free = root(equation, begin, held, known)
            if level is None:
                return self.whole(free, held)
            own, missing = level.parts(free)
            return level.set(self.whole(own, held), known), missing

        return jit(solved)

    def started(self, start: Any) -> Array:
        """Return what a search begins with, at the nodes of all unknowns in a row."""
        found = []
        for name, space in zip(self.problem.unknowns, self.spaces, strict=True):
            at = np.asarray(self.form.points(space.nodes.at, self.begin))
            columns = dict(zip(self.problem.domain.names, at.T, strict=True))
            own = start.get(name, 0.0) if isinstance(start, Mapping) else start
            found.append(on_points(own, columns, len(at), "the start"))
        return np.concatenate(found)

    def _by_name(self, values: Any) -> Any:
        if len(self.spaces) == 1:
            return values
        starts = zip(self.problem.unknowns, self.offsets[:-1], self.offsets[1:], strict=True)
        return {name: values[..., start:stop] for name, start, stop in starts}

    def states(self, *, start: Any = 0.0, **numbers: Any) -> Any:
        """Return the values at the nodes at all `times`, along the first axis, as `values` does at the end.

        Args:
            start: where the search for unknowns without a derivative along time begins.
            **numbers: coefficients, all of them, and constants where they are other than stated.

        Raises:
            ProblemError: if a coefficient is missing or not known, or the problem has no time.
            DomainError: if the steps come to no end.
        """
        if self.steps is None:
            raise ProblemError("elements: the problem has no time, and one state", fix="ask for elements.values(…).")
        return self._by_name(self.steps.states(self.numbers(numbers), self.started(start)))

    @property
    def times(self) -> Array:
        """The times at which `states` are kept."""
        return np.zeros(0) if self.steps is None else self.steps.times

    def solve(self, *, start: Any = 0.0, **numbers: Any) -> ElementSolution:
        """Return the solution, for coefficients and constants as `values` takes them."""
        asked = self.values if self.steps is None else self.states
        found = asked(start=start, **numbers)
        named = found if len(self.spaces) > 1 else {self.problem.unknowns[0]: found}
        return ElementSolution(self, {name: np.asarray(one) for name, one in named.items()})

    def interpolation(self, points: Any, derivative: str = "", unknown: str | None = None) -> Any:
        """Return the sparse matrix that takes values at nodes to those at points, or to a derivative there.

        Args:
            points: one a row, of the coordinates of space; of one coordinate also its values.
            derivative: along which coordinates, as often as the degree at most.
            unknown: the name of the unknown; by default the first one.

        Raises:
            ProblemError: for a derivative of a higher order.
        """
        return self.location(unknown).matrix(points, derivative)

    def location(self, unknown: str | None = None) -> Location:
        """Return the cells that an unknown is in, by the points in them; by default those of the first one."""
        return self._locations[self.spaces[0 if unknown is None else self.problem.unknowns.index(unknown)]]

    @cached_property
    def _locations(self) -> dict[ElementSpace, Location]:
        return {
            one: Location(one.nodes, replace(self.mesh, cells=one.cells), self.form.space)
            for one in dict.fromkeys(self.spaces)
        }

    @property
    def size(self) -> str:
        """How many elements and unknowns there are, in words."""
        return f"{len(self.mesh.cells)} elements of degree {self.degree}, {len(self.free)} unknowns"


def _zeros(count: int) -> Any:
    return lambda time, numbers: np.zeros(count)


def by_elements(
    problem: Problem,
    *,
    size: float | None = None,
    degree: int = 1,
    frames: int = 50,
    tolerance: float = 1e-6,
    start: Any = 0.0,
    **numbers: Any,
) -> ElementSolution:
    """Return the solution of a problem by elements: what `Problem.solve(method="elements")` takes and returns.

    Args:
        problem: the problem.
        size: of the elements.
        degree: of the polynomials on them.
        frames: how many states are kept, of a problem with time.
        tolerance: of the steps in time.
        start: where Newton's method begins.
        **numbers: coefficients, and constants where they are other than stated.
    """
    return Elements(problem, size, degree, frames, tolerance).solve(start=start, **numbers)
