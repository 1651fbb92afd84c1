"""An unknown whose derivatives are given one by one: as symbols, or as arrays at points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primad.pde.fields.field_refusals import called
from primad.pde.fields.named_fields import TIME, Field, FieldAt
from primad.pde.fields.values_elsewhere import columns_elsewhere
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import space_of, time_of

Take = Callable[[str, tuple[str, ...]], Any]
"""A function of the name of an unknown and the coordinates along which it is differentiated, in their order; of no name
and one coordinate, the values of that coordinate."""


class GivenField(FieldAt):
    """An unknown whose derivatives are given one by one.

    Args:
        name: of the unknown.
        of: the domain whose coordinates there are.
        take: gives the derivatives.
        shape: of the points.
        elsewhere: returns what gives the derivatives at a place, a mapping of coordinates; None where they are not
            known elsewhere.
    """

    def __init__(
        self,
        name: str,
        of: Domain,
        take: Take,
        shape: tuple[int, ...] = (),
        elsewhere: Callable[[Mapping[str, Any]], Take] | None = None,
    ) -> None:
        self._of, self._elsewhere = of, elsewhere
        self.field = Field(lambda *point: point[0], of.names, space=space_of(of), time=time_of(of) or TIME)
        self.component, self.shape_of_points, self._name, self._take = None, shape, name, take
        self._known = {}

    def __call__(self, *arguments: Any, **named: Any) -> FieldAt:
        """Return the unknown elsewhere, or raise where it is not known there."""
        if self._elsewhere is None:
            raise called()
        place = columns_elsewhere(self, arguments, named)
        return GivenField(self._name, self._of, self._elsewhere(place), self.shape_of_points, self._elsewhere)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the points."""
        return self.shape_of_points

    @property
    def dtype(self) -> Any:
        """Double precision."""
        return np.dtype(np.float64)

    @property
    def _has_components(self) -> bool:
        return False

    def _derivative(self, names: tuple[str, ...]) -> Any:
        return self._take(self._name, tuple(sorted(names, key=self.field.coordinates.names.index)))

    def combination(self, terms: Sequence[tuple[float, Sequence[str]]]) -> Any:
        """Return a sum of derivatives, each times a number."""
        return sum(number * self._derivative(tuple(names)) for number, names in terms)

    def coordinate(self, name: str) -> Any:
        """Return the values of a coordinate at the points."""
        return self._take("", (name,))
