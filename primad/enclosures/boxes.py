"""Many boxes at once: parts of one box, their bounds, and how they are halved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from primad.enclosures.bounds import Bounds, middle_of
from primad.enclosures.enclosing import RecordedFunction
from primad.errors import ShapeError

AT_ONCE = (32, 512)
"""Boxes in one run of a program: of few, and of many. Measured: of 128, 512 and 2048 boxes of a small network's second
derivatives 512 take the least time for each."""


class Boxes(NamedTuple):
    """Boxes as rows: the ends of all coordinates that vary, as one vector.

    Attributes:
        low: the lower ends, float64[n, d].
        high: the upper ends.
    """

    low: Any
    high: Any

    def chosen(self, which: Any) -> Boxes:
        """Return some of them."""
        return Boxes(self.low[which], self.high[which])

    def halved(self, scale: Any) -> Boxes:
        """Return both halves of each, cut across the axis in which it is widest for the scale of that axis."""
        wide = np.argmax((self.high - self.low) / scale, axis=1)
        rows = np.arange(len(wide))
        middle = self.middle[rows, wide]
        low, high = np.concatenate([self.low, self.low]), np.concatenate([self.high, self.high])
        high[rows, wide], low[rows + len(wide), wide] = middle, middle
        return Boxes(low, high)

    @property
    def middle(self) -> Any:
        """A point of each."""
        return middle_of(Bounds(*self))


Rows = TypeVar("Rows", Bounds, Boxes)


def joined(rows: Sequence[Rows]) -> Rows:
    """Return all rows of several pairs of ends."""
    return type(rows[0])(*[np.concatenate(ends) for ends in zip(*rows, strict=True)])


class BatchedFunction:
    """A function whose bounds are computed for many boxes at once.

    Args:
        function: the function.
        box: its arguments; the coordinates of those that are intervals vary.

    Attributes:
        whole: the box, as the only row.

    Raises:
        ShapeError: if nothing varies, or without end.
    """

    def __init__(self, function: Callable[..., Any], box: Sequence[Any]) -> None:
        self._recorded = {size: RecordedFunction(function, box, size) for size in AT_ONCE}
        start, varying = self._recorded[AT_ONCE[0]].start, self._recorded[AT_ONCE[0]].varying
        if not varying or not sum(start[i].low.size for i in varying):
            raise ShapeError("nothing varies in the box", fix="pass an IntervalArray for at least one argument.")
        self.whole = Boxes(*[np.concatenate([start[i][end].ravel() for i in varying])[None] for end in (0, 1)])
        if not np.all(np.isfinite(self.whole)):
            raise ShapeError(
                "the box is infinite, so it cannot be halved",
                fix="pass finite ends; enclose takes infinite ones.",
            )
        self._start, self._varying = start, varying
        self._shapes = [start[i].low.shape for i in varying]

    def bounds(self, boxes: Boxes, order: int) -> list[Bounds]:
        """Return bounds of the results on each box, as rows; NaN where a value is not proven to exist."""
        return self._by_parts(boxes, lambda function, box: function.bounds(box, order))

    def values(self, points: Any) -> list[Bounds]:
        """Return bounds of the results at points, as rows."""
        return self.bounds(Boxes(points, points), 0)

    def derivatives(self, boxes: Boxes) -> list[Bounds]:
        """Return bounds of the Jacobians on each box, as rows; NaN where the function may jump."""
        return self._by_parts(boxes, RecordedFunction.derivatives)

    def split(self, rows: Any) -> list[Any]:
        """Return the arguments that vary, of coordinates as rows."""
        found, start = [], 0
        for shape in self._shapes:
            size = int(np.prod(shape, dtype=int))
            found.append(rows[:, start : start + size].reshape(len(rows), *shape))
            start += size
        return found

    def _by_parts(
        self, boxes: Boxes, run: Callable[[RecordedFunction, Sequence[Bounds]], list[Bounds]]
    ) -> list[Bounds]:
        parts = []
        for start in range(0, len(boxes.low), AT_ONCE[-1]):
            part = boxes.chosen(slice(start, start + AT_ONCE[-1]))
            count = len(part.low)
            size = next(size for size in AT_ONCE if count <= size)
            filled = np.minimum(np.arange(size), count - 1)  # the last one again, up to the length of a run
            given = list(self._start)
            ends = self.split(part.low[filled]), self.split(part.high[filled])
            for i, low, high in zip(self._varying, *ends, strict=True):
                given[i] = Bounds(low, high)
            parts.append([Bounds(x.low[:count], x.high[:count]) for x in run(self._recorded[size], given)])
        return [joined(found) for found in zip(*parts, strict=True)]
