"""Points as what functions of coordinates get: numbers by name, or all in one array."""

from __future__ import annotations

from collections import ChainMap, namedtuple
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.numpy.shapes.shaping import stack
from primad.recording.foreign import plain

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


@dataclass(frozen=True)
class ConstantValue:
    """A function of a point that is a number: equal to others of the same number."""

    value: float | complex

    def __call__(self, point: Point) -> float | complex:
        """Return the number."""
        return self.value


def numbers(value: Any) -> Any:
    """Return a number, or an array of them, as an array in double precision, real or complex.

    Raises:
        TracingError: for what is more than its elements, and for what are no numbers.
    """
    found = plain(value)
    return plain(found, np.complex128 if found.dtype.kind == "c" else np.float64)


def number(value: Any) -> float | complex:
    """Return one number in double precision, real or complex."""
    found: float | complex = numbers(value).item()
    return found


def as_normal(components: Any, names: Sequence[str], space: Sequence[str] | None = None) -> Any:
    """Return the components of a normal by number, and by the names of the coordinates; n @ v is their sum with v's.

    Args:
        components: one for each coordinate.
        names: the coordinates.
        space: those of space, which the last axis of v may stand for; by default all.
    """
    places = [names.index(name) for name in (names if space is None else space)]

    def along(normal: Sequence[Any], other: Any) -> Any:
        own = places if np.shape(other)[-1] == len(places) else range(len(normal))
        return sum(normal[place] * other[..., i] for i, place in enumerate(own))

    return type("Normal", (namedtuple("Normal", names),), {"__matmul__": along})(
        *[components[i] for i in range(len(names))]
    )


def moved(point: Point, name: str, value: Any) -> Point:
    """Return a point with another value of one coordinate; nothing is computed of the others."""
    return ChainMap({name: value}, point)  # type: ignore[arg-type]


def as_vector(point: Point, names: tuple[str, ...]) -> Any:
    """Return coordinates of a point as one array."""
    if isinstance(point, Place):
        start = point.names.index(names[0])
        if point.names[start : start + len(names)] == names:
            whole = len(names) == len(point.names)
            return point.vector if whole else point.vector[..., start : start + len(names)]
    return stack([point[name] for name in names])
