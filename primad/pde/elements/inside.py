"""The inner points of elements of one material: what its equations say there, for the nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from primad.pde.elements.element_spaces import ElementSpace, PolynomialsAt, at_points, points_inside
from primad.pde.elements.materials import Material
from primad.pde.elements.pairing import Pairing
from primad.pde.elements.weak_forms import State, WeakForm
from primad.pde.geometry.sampling import Array
from primad.pde.geometry.triangulations import Triangulation


@dataclass(frozen=True)
class Inside:
    """Points inside of the elements of a material.

    Attributes:
        form: the weak form there.
        spaces: the polynomials of each unknown; None where there is none of it.
        at: the points, one a row.
        weights: of the points.
    """

    form: WeakForm
    spaces: Sequence[PolynomialsAt | None]
    at: Array
    weights: Array

    @classmethod
    def of(cls, material: Material, spaces: Sequence[ElementSpace], mesh: Triangulation, exact: int) -> Inside:
        """Return those of a material.

        Args:
            material: the material.
            spaces: the polynomials of each unknown.
            mesh: the elements.
            exact: the quadrature is exact for polynomials of twice this degree.
        """
        cells = mesh.cells[material.cells]
        at, weights = points_inside(mesh, cells, exact)
        whole = len(cells) == len(mesh.cells)
        own = [
            None if k in material.absent else one.inside if whole else one.at_cells(cells)
            for k, one in enumerate(spaces)
        ]
        return cls(material.form, own, at, weights)

    def state(self, values: Sequence[Any], rates: Sequence[Any] | None = None, time: Any = None) -> State:
        """Return what there is at the points, of each unknown's values at nodes, and rates there."""
        return State(self.at, time, *at_points(self.spaces, values, rates, self.at.shape))

    def residuals(
        self,
        pairing: Pairing,
        values: Sequence[Any],
        rates: Sequence[Any] | None,
        time: Any,
        numbers: Mapping[str, Any],
    ) -> Iterator[tuple[int, Any]]:
        """Give for each unknown the weak form for the shape function of each node, of the equation for it.

        Args:
            pairing: of equations and unknowns.
            values: of each unknown at its nodes.
            rates: the derivatives of the values along time; None are zeros.
            time: the time.
            numbers: all coefficients and constants by name.
        """
        flux, rest = self.form.terms(self.state(values, rates, time), numbers)
        for k, (space, flows, e) in enumerate(zip(self.spaces, pairing.flows, pairing.equations, strict=True)):
            if space is not None:
                through = [0.0 if isinstance(one, float) else -self.weights * one for one in flux[e]] if flows else ()
                yield k, space.integrals(self.weights * rest[e], through)
