"""Paths: where elements of an argument go in a value.

The argument is taken as one row of elements. Where a reshape splits it, its elements are numbered by several *digits*,
such as the row and the column of a grid, and merging them makes one number of them again. An element of an argument
reaches the indices that are affine in its digits along the axes of a value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from primad.programs.sparsity.listed_places import Listed

Array = np.ndarray[Any, Any]


class AffinePlace(NamedTuple):
    """Where a digit goes: to index (factor · digit + shift) / divisor along an axis, if that is whole.

    Attributes:
        axis: an axis of an array, or the label of one.
        factor, shift, divisor: what is said above; the divisor is positive.
    """

    axis: Hashable
    factor: int = 1
    shift: int = 0
    divisor: int = 1

    def along(self, axis: Hashable) -> AffinePlace:
        """Return the same place along another axis."""
        return self._replace(axis=axis)

    def columns(self, count: int, size: int) -> Array:
        """Return the digits that go to the first indices, of so many digits that there are; −1 for none."""
        digits, rest = np.divmod(np.arange(count) * self.divisor - self.shift, self.factor)
        return np.where((rest == 0) & (digits >= 0) & (digits < size), digits, -1)


class AffinePath(NamedTuple):
    """Places of a value that elements of an argument reach.

    Attributes:
        lengths: of the digits that number the elements, the first the outermost.
        places: where each digit goes; None if to all indices of axes that no digit goes to. A place is listed only if
            the digit is all.
    """

    lengths: tuple[int, ...]
    places: tuple[AffinePlace | Listed | None, ...]

    def along(self, axes: Callable[[Any], Any]) -> AffinePath:
        """Return the path to other axes; a digit whose axis becomes None goes anywhere."""
        moved = [None if x is None else (x, axes(x.axis)) for x in self.places]
        return self._replace(places=tuple([None if x is None or x[1] is None else x[0].along(x[1]) for x in moved]))


Paths = frozenset[AffinePath]
NOWHERE: Paths = frozenset()
"""What an element reaches of a value that does not depend on it."""


def everywhere(size: int) -> Paths:
    """Return what says nothing: each of so many elements reaches all of a value."""
    return frozenset([AffinePath((size,), (None,))])
