"""The parts of the boundary where conditions give fluxes: what these add to the equations for nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.pde.elements.boundary.boundary_fluxes import BoundaryFlux
from primad.pde.elements.boundary.boundary_pieces import BoundaryPiece, flux_residual
from primad.pde.elements.boundary.flux_checks import checked_flux
from primad.pde.elements.element_spaces import PolynomialsAt, at_points, points_of_facets
from primad.pde.geometry.sampling import Array

if TYPE_CHECKING:
    from primad.pde.elements.discretisation import Elements

Numbers = Mapping[str, Any]


@dataclass(frozen=True)
class Edge:
    """Points of a part of the boundary where conditions give fluxes.

    Attributes:
        fluxes: what they give.
        unknowns: those whose equations the fluxes belong to.
        spaces: the polynomials of each unknown there.
        weights: of the points.
        tangential: whether derivatives along the boundary are in a flux.
        fixed: the fluxes where they depend on nothing; None elsewhere.
    """

    fluxes: BoundaryFlux
    unknowns: Sequence[int]
    spaces: Sequence[PolynomialsAt | None]
    weights: Array
    tangential: bool
    fixed: Sequence[Array] | None

    def integrals(self, k: int, flux: Any) -> Any:
        """Return the integrals of a flux times the shape functions of an unknown."""
        space = self.spaces[k]
        assert space is not None  # a flux is given of unknowns that there are
        return space.integrals(self.weights * flux)


class Edges:
    """All parts of the boundary where conditions give fluxes.

    Args:
        elements: whose boundary it is.
        pieces: what conditions say on each part.
        known: all coefficients and constants by name, for checks.

    Raises:
        ProblemError: for conditions that do not give the fluxes.
    """

    def __init__(self, elements: Elements, pieces: Sequence[BoundaryPiece], known: Numbers) -> None:
        self._elements = elements
        there = [piece for piece in pieces if piece.others and len(elements.facets.facets[piece.place])]
        alike: dict[Any, list[BoundaryPiece]] = {}
        for piece in there:
            others = tuple([(id(condition), k) for condition, k in piece.others])
            alike.setdefault((id(piece.form), frozenset(piece.held), piece.absent, others), []).append(piece)
        self._edges = [self._edge(one, known) for one in alike.values()]

    def _edge(self, pieces: Sequence[BoundaryPiece], known: Numbers) -> Edge:
        """Return what parts of the boundary of which the same is said are together."""
        elements, piece = self._elements, pieces[0]
        pairing, begin, mesh = elements.pairing, elements.begin, elements.facets
        facets, opposite, normals = [
            np.concatenate([rows[one.place] for one in pieces]) for rows in (mesh.facets, mesh.opposite, mesh.normals)
        ]
        form = piece.form
        at, normal, weights = points_of_facets(elements.mesh.points[facets], normals, elements.degree)
        residuals = [flux_residual(form, condition, k, at, normal, begin) for condition, k in piece.others]
        unknowns = [
            k for k, flows in enumerate(pairing.flows) if flows and k not in piece.held and k not in piece.absent
        ]
        equations = {pairing.equations[k]: pairing.through[k] for k in unknowns}
        fluxes = BoundaryFlux(form, residuals, equations, at, normal, piece.what, begin, known)
        tangential = checked_flux(fluxes, pairing, begin, known)
        fixed = None if tangential else fluxes.fixed(begin, known)
        spaces = [
            None if k in piece.absent else space.at_facets(facets, opposite) for k, space in enumerate(elements.spaces)
        ]
        return Edge(fluxes, unknowns, spaces, weights, tangential, fixed)

    @cached_property
    def _pulls(self) -> list[Array]:
        """The integrals of all fluxes that depend on nothing, for each unknown."""
        found = [np.zeros(len(space.nodes.at)) for space in self._elements.spaces]
        for edge in self._edges:
            for k, one in zip(edge.unknowns, edge.fixed or (), strict=False):
                found[k] += np.asarray(edge.integrals(k, one))
        return found

    def added(
        self, rows: Sequence[Any], values: Sequence[Any], rates: Sequence[Any] | None, time: Any, numbers: Numbers
    ) -> list[Any]:
        """Return the residuals of all unknowns with the integrals over the boundary.

        Args:
            rows: the residuals, one for each unknown.
            values: of each unknown at its nodes.
            rates: the derivatives of the values along time; None are zeros.
            time: the time.
            numbers: all coefficients and constants by name.
        """
        found = [one + pull if np.any(pull) else one for one, pull in zip(rows, self._pulls, strict=True)]
        for edge, given in self._given(values, rates, time, numbers):
            if edge.fixed is None:
                for k, one in zip(edge.unknowns, given, strict=True):
                    found[k] = found[k] + edge.integrals(k, one)
        return found

    def size(self, values: Sequence[Any], k: int, numbers: Numbers) -> float:
        """Return the integral of the size of the flux through the boundary, of the equation for an unknown."""
        return sum([
            float(np.sum(edge.weights * np.abs(given[edge.unknowns.index(k)])))
            for edge, given in self._given(values, None, None, numbers)
            if k in edge.unknowns
        ])  # fmt: skip

    def _given(
        self, values: Sequence[Any], rates: Sequence[Any] | None, time: Any, numbers: Numbers
    ) -> Iterator[tuple[Edge, Sequence[Any]]]:
        """Give the edges, and the fluxes through each."""
        for edge in self._edges:
            if edge.fixed is not None:
                yield edge, edge.fixed
                continue
            u, slopes, rate = at_points(edge.spaces, values, rates, edge.fluxes.at.shape)
            yield edge, edge.fluxes.fluxes(u, slopes if edge.tangential else None, rate, time, numbers)
