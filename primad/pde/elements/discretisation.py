"""A problem on finite elements: sparse matrices from nodes to points, the residual at the nodes, and its root."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError
from primad.implicit.solver_functions import root
from primad.pde.elements.element_solution import ElementSolution
from primad.pde.elements.lagrange import Nodes, directions, measures, quadrature, shapes, slopes
from primad.pde.elements.location import Location
from primad.pde.elements.supported import boundary_conditions, weak_form
from primad.pde.geometry.sampling import Array, Points
from primad.pde.geometry.triangulations import Triangulation, triangulated
from primad.pde.problem.box_statements import GridMethod
from primad.pde.problem.conditions import Condition, Dirichlet
from primad.pde.problem.named_arguments import by_name, on_points
from primad.pde.problem.terms import normal_of, valued_arrays, valued_residual

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

__all__ = ["Elements"]


@dataclass(frozen=True)
class Edge:
    """Points of a part of the boundary where a condition gives the flux.

    Attributes:
        residual: of the condition: of what is known by name.
        at: the points.
        normal: the outward normals.
        values: the matrix from nodes to points.
        back: its transpose.
        weights: of the points.
    """

    residual: Callable[[Mapping[str, Any]], Any]
    at: Array
    normal: Array
    values: Any
    back: Any
    weights: Array


class Elements(GridMethod):
    """A problem on finite elements (Lagrange's, on intervals, triangles or tetrahedra), solved and differentiated.

    The problem has one equation of second order for one unknown, linear in the second derivatives: it is brought into
    a weak form by its derivatives. Newton's method solves it, with the exact sparse Jacobian.

    Args:
        problem: with Dirichlet, Neumann and Robin conditions, or conditions of one's own that give the flux, on
            intervals, boxes, polygons and meshes.
        size: how long edges are at most: along the axes of a box, the longest ones otherwise.
        degree: of the polynomials on an element: 1 or 2. The error falls with size to the power of degree + 1, where
            the solution is smooth.

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

    def __init__(self, problem: Problem, size: float | None = None, degree: int = 1) -> None:
        if degree not in (1, 2):
            raise ProblemError(f"elements are of degree 1 or 2, got {degree!r}", fix="write degree=2.")
        self.problem, self.degree = problem, degree
        self.form = weak_form(problem)
        self.mesh: Triangulation = triangulated(problem.domain, size)
        self._nodes = Nodes.of(self.mesh.points, self.mesh.cells, degree)
        self.nodes: Array = self._nodes.at
        self._inside()
        self._boundary()

    def _inside(self) -> None:
        """Make the matrices from nodes to values and slopes at the points of a quadrature."""
        cells, dimension = self.mesh.cells, self.problem.domain.dimension
        corners = self.mesh.points[cells]
        place, weights = quadrature(dimension, self.degree)
        self._at = np.einsum("ql,clx->cqx", place, corners).reshape(-1, dimension)
        self._weights = (measures(corners)[:, None] * weights).ravel()
        self._value = self._nodes.matrix(cells, shapes(self.degree, place)[None])
        steps = np.einsum("qbl,clx->xcqb", slopes(self.degree, place), directions(corners))
        self._slopes = [self._nodes.matrix(cells, step) for step in steps]
        self._back = [matrix.T.tocsr() for matrix in (self._value, *self._slopes)]

    def _boundary(self) -> None:
        """Find the nodes whose values are given, and the points where the flux is."""
        self._edges: list[Edge] = []
        held: dict[int, float] = {}
        for condition, part in boundary_conditions(self.problem):
            if isinstance(condition, Dirichlet):
                nodes = np.unique(self._nodes.numbers(self.mesh.facets[part]))
                columns = dict(zip(self.problem.domain.names, self.nodes[nodes].T, strict=True))
                values = on_points(condition.values[self.form.name], columns, len(nodes), condition.what)
                for node, value in zip(nodes.tolist(), values.tolist(), strict=True):
                    held.setdefault(node, value)  # where parts meet, what is stated first holds
            elif len(self.mesh.facets[part]):
                self._edges.append(self._edge(condition, part))
        self._given = np.zeros(len(self.nodes))
        self._given[list(held)] = list(held.values())
        self._free = np.setdiff1d(np.arange(len(self.nodes)), list(held))
        from scipy.sparse import csr_array  # loads when it is called

        ones, places = np.ones(len(self._free)), np.arange(len(self._free))
        self._spread = csr_array((ones, (self._free, places)), shape=(len(self.nodes), len(self._free)))
        self._gather = self._spread.T.tocsr()

    def _edge(self, condition: Condition, part: str) -> Edge:
        facets, domain = self.mesh.facets[part], self.problem.domain
        corners = self.mesh.points[facets]
        place, weights = quadrature(facets.shape[1] - 1, self.degree)
        at = np.einsum("ql,flx->fqx", place, corners).reshape(-1, domain.dimension)
        normal = np.repeat(self.mesh.normals[part], len(weights), axis=0)
        row: dict[str, Array] = {"at": at, "normal": normal}
        if hasattr(condition, "values"):
            row = {**row, **valued_arrays(condition, self.form.name, Points(domain.names, at, normal))}
            valued = valued_residual(condition, self.form.name, domain)
        own = normal_of(row, domain.names)

        def residual(known: Mapping[str, Any]) -> Any:
            if hasattr(condition, "values"):
                return valued(known, row)
            return by_name(condition.residual, ChainMap({"n": own}, known))  # type: ignore[arg-type]

        self.form.check_condition(residual, at, normal, self.numbers({}, partly=True), condition.what)
        matrix = self._nodes.matrix(facets, shapes(self.degree, place)[None])
        return Edge(residual, at, normal, matrix, matrix.T.tocsr(), (measures(corners)[:, None] * weights).ravel())

    def residual(self, values: Any, numbers: Mapping[str, Any]) -> Any:
        """Return the weak form for each node's shape function.

        Args:
            values: of the unknown at the nodes.
            numbers: all coefficients and constants by name.
        """
        steps = tuple([matrix @ values for matrix in self._slopes])
        flux, rest = self.form.terms(self._at, self._value @ values, steps, numbers)
        found = self._back[0] @ (self._weights * rest)
        for matrix, one in zip(self._back[1:], flux, strict=True):
            found = found - matrix @ (self._weights * one)
        for edge in self._edges:
            through, _ = self.form.through(edge.residual, edge.at, edge.normal, edge.values @ values, numbers)
            found = found + edge.back @ (edge.weights * through)
        return found

    def values(self, *, start: Any = 0.0, **numbers: Any) -> Any:
        """Return the unknown at the nodes, as a function of coefficients and constants: it is differentiated by them.

        Args:
            start: where Newton's method begins: a number, or a function of coordinates by name.
            **numbers: coefficients, all of them, and constants where they are other than stated.

        Raises:
            ProblemError: if a coefficient is missing or not known.
            DomainError: if no solution is found.
        """
        known = self.numbers(numbers)
        columns = dict(zip(self.problem.domain.names, self.nodes.T, strict=True))
        begin = on_points(start, columns, len(self.nodes), "the start")[self._free]
        if not begin.size:
            return self._given

        def equation(free: Any, known: Any) -> Any:
            return self._gather @ self.residual(self._given + self._spread @ free, known)

        return self._given + self._spread @ root(equation, begin, known)

    def solve(self, *, start: Any = 0.0, **numbers: Any) -> ElementSolution:
        """Return the solution, for coefficients and constants as `values` takes them."""
        return ElementSolution(self, np.asarray(self.values(start=start, **numbers)))

    def interpolation(self, points: Any, derivative: str = "") -> Any:
        """Return the sparse matrix that takes values at nodes to those at points, or to a derivative there.

        Args:
            points: one a row; of one coordinate also its values.
            derivative: along which coordinates, as often as the degree at most.

        Raises:
            ProblemError: for a derivative of a higher order.
        """
        return self._location.matrix(points, derivative)

    @cached_property
    def _location(self) -> Location:
        return Location(self._nodes, self.mesh, self.problem.domain.names)

    @property
    def size(self) -> str:
        """How many elements and unknowns there are, in words."""
        return f"{len(self.mesh.cells)} elements of degree {self.degree}, {len(self._free)} unknowns"


def by_elements(
    problem: Problem, *, size: float | None = None, degree: int = 1, start: Any = 0.0, **numbers: Any
) -> ElementSolution:
    """Return the solution of a problem by elements: what `Problem.solve(method="elements")` takes and returns.

    Args:
        problem: the problem.
        size: of the elements.
        degree: of the polynomials on them.
        start: where Newton's method begins.
        **numbers: coefficients, and constants where they are other than stated.
    """
    return Elements(problem, size, degree).solve(start=start, **numbers)
