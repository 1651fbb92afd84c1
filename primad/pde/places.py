"""Points as what functions of coordinates get: numbers by name, or all in one array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from primad.numpy.shaping import stack

Point = Mapping[str, Any]
"""The coordinates of one point, by name; traced, where a network is differentiated."""
FEW = 10
"""Coordinates up to which functions get each in an argument of its own; more are one array."""


class Place(Mapping[str, Any]):
    """A point, or points, whose coordinates are the last axis of one array, by name.

    Attributes:
        names: of the coordinates.
        vector: the array.
    """

    def __init__(self, names: tuple[str, ...], vector: Any) -> None:
        self.names, self.vector = names, vector

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            raise KeyError(name)
        return self.vector[..., self.names.index(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def as_vector(point: Point, names: tuple[str, ...]) -> Any:
    """Return coordinates of a point as one array."""
    if isinstance(point, Place) and point.names == names:
        return point.vector
    return stack([point[name] for name in names])
