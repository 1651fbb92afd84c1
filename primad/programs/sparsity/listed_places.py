"""Places that are listed: for each index along an axis, the one element of an argument that reaches it there.

Rows that are taken at known indices are no affine function of the elements. Where several elements reach an index, as
where rows are added at indices, there are as many lists.
"""

from __future__ import annotations

import hashlib
import weakref
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Listed:
    """A list of elements, one for each index along an axis.

    Attributes:
        axis: the axis, or the label of one.
        elements: the element that reaches each index; −1 where none does.
    """

    __slots__ = ("_key", "axis", "elements")

    def __init__(self, axis: Any, elements: Array, key: bytes | None = None) -> None:
        self.axis = axis
        self.elements = np.ascontiguousarray(elements, np.int32)
        self._key = hashlib.sha256(self.elements.data).digest() if key is None else key

    def __hash__(self) -> int:
        return hash((self.axis, self._key))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listed) and (self.axis, self._key) == (other.axis, other._key)

    def along(self, axis: Any) -> Listed:
        """Return the same list along another axis."""
        return Listed(axis, self.elements, self._key)

    def columns(self, count: int, size: int) -> Array:
        """Return the elements that reach the first indices, of so many elements that there are."""
        return self.elements[:count].astype(np.int64)

    def taken(self, axis: Any, indices: Array) -> Listed:
        """Return the list of the elements that reach others of these indices; −1 is none of them."""
        inside = (indices >= 0) & (indices < len(self.elements))
        return Listed(axis, np.where(inside, self.elements[np.where(inside, indices, 0)], -1))


class Known:
    """Arrays of integers whose values are known, by the input of a program that they are.

    It is part of keys of programs, and does not keep the arrays, which may be large, from being freed.
    """

    __slots__ = ("_key", "_values")

    def __init__(self, values: dict[int, Array]) -> None:
        self._values = {i: weakref.ref(x) for i, x in values.items()}
        self._key = tuple(
            [(i, x.shape, hashlib.sha256(np.ascontiguousarray(x).data).digest()) for i, x in values.items()]
        )

    @property
    def values(self) -> dict[int, Array]:
        """The arrays that are still there, by position."""
        found = {i: reference() for i, reference in self._values.items()}
        return {i: x for i, x in found.items() if x is not None}

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and self._key == other._key


def through_gather(listed: Listed, indices: Array, axis: int) -> list[Listed]:
    """Return the places of rows that are taken, each of those that the last axis of the indices tells apart."""
    rows = indices.reshape(len(indices), -1)
    return [listed.taken(axis, rows[:, i]) for i in range(rows.shape[1])]


def through_scatter(listed: Listed, indices: Array, axis: int, length: int, most: int) -> list[Listed | None]:
    """Return the places that rows reach where they are added at indices: as many as come to one index, at most.

    Args:
        listed: the elements that reach the rows.
        indices: where each row is added.
        axis: the axis of the result.
        length: its length.
        most: of more lists than these none is returned, but that of any place.
    """
    order = np.argsort(indices, kind="stable")
    there = indices[order]
    starts = np.searchsorted(there, there)  # where the rows of the same index begin
    rank = np.arange(len(there)) - starts
    if rank.max(initial=-1) >= most:
        return [None]
    found: list[Listed | None] = []
    for number in range(int(rank.max(initial=-1)) + 1):
        elements = np.full(length, -1, np.int32)
        own = rank == number
        elements[there[own]] = listed.elements[order[own]]
        found.append(Listed(axis, elements))
    return found
