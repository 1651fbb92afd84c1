"""`range_of`: the range of a function on a box, by subdivision, to a width that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct

from primad.enclosures.bounds import Bounds
from primad.enclosures.boxes import BatchedFunction, Boxes
from primad.enclosures.enclosing import IntervalArray
from primad.errors import EnclosureError, ShapeError

MOST = 100_000
"""Boxes that a search looks at, if not said otherwise. Chosen: seconds to a minute."""


class Range(Struct, frozen=True):
    """What is proven of a function's range on a box.

    Attributes:
        bounds: all values lie within.
        attained: values between these are taken, if the function is continuous.
        lowest: a box in which the least value is taken, or one of those left, as the arguments that vary.
        highest: the same for the largest value.
        boxes: how many boxes were looked at.
        finished: whether the ends of `bounds` and `attained` are as close as was asked.
    """

    bounds: IntervalArray
    attained: IntervalArray
    lowest: tuple[IntervalArray, ...]
    highest: tuple[IntervalArray, ...]
    boxes: int
    finished: bool


def range_of(
    function: Callable[..., Any],
    *box: Any,
    width: float,
    order: int = 1,
    most: int = MOST,
    callback: Callable[[int], Any] | None = None,
) -> Range:
    """Return the range of a function of one result on a box, to a width, proven.

    Boxes that may hold the least or the largest value are halved, many at once, until it is known to the width (branch
    and bound; Hansen and Walster 2004, chapter 12). What is proven is what `enclose` proves.

    Args:
        function: a function with one number as its result; it is recorded.
        box: its arguments, with `IntervalArray` for what varies.
        width: how far the ends may be from values that are taken, in the result's unit.
        order: the order of the Taylor models: 1 or 2 where the function is smooth, 0 where it has many kinks.
        most: how many boxes may be looked at, the whole one in any case; then the result says that it is not finished,
            and is true all the same.
        callback: called with the number of boxes looked at so far, each time that boxes were halved.

    Returns:
        the bounds, what is attained, where, and whether the width was reached.

    Raises:
        EnclosureError: for an op without bounds, and where it is not proven that a value exists.
        ShapeError: if the result is not one number, the width is not positive, nothing varies, or the box is infinite.

    Example:
        >>> import numpy as np
        >>> from primad.enclosures import IntervalArray, range_of
        >>> found = range_of(
        ...     lambda x, y: (1 - x) ** 2 + 100 * (y - x * x) ** 2,
        ...     IntervalArray(-2, 2),
        ...     IntervalArray(-1, 3),
        ...     width=1e-2,
        ... )
        >>> found.finished, bool(found.bounds.low > -0.01), round(float(found.bounds.high))
        (True, True, 2509)
    """
    if not width > 0:
        raise ShapeError(f"range_of: a width is positive, got {width!r}", fix="pass how far the ends may be off.")
    search = _RangeSearch(BatchedFunction(function, box), width, order)
    while search.boxes + 2 <= most and search.step((most - search.boxes) // 2):
        if callback is not None:
            callback(search.boxes)
    return search.result()


class _RangeSearch:
    """A search for both ends of a range.

    Boxes are active while their bounds reach further than the values that are known to be taken, by more than the
    width. What is known of the others is how far they reach at most.
    """

    def __init__(self, function: BatchedFunction, width: float, order: int) -> None:
        self._function, self._width, self._order = function, width, order
        self._scale = np.maximum(function.whole.high - function.whole.low, np.finfo(float).tiny)
        self.boxes = 0
        self._least, self._most = np.inf, -np.inf  # values that are taken are at most, at least so
        self._settled_low, self._settled_high = np.inf, -np.inf
        self._where: list[Boxes] = [function.whole, function.whole]
        self._active = function.whole
        self._bounds = self._looked_at(function.whole)

    def _looked_at(self, boxes: Boxes) -> Bounds:
        found = self._function.bounds(boxes, self._order)
        if len(found) != 1 or found[0].low.ndim != 1:
            raise ShapeError("range_of: the function's result is one number", fix="ask for one component at a time.")
        self.boxes += len(boxes.low)
        (at,) = self._function.values(boxes.middle)
        if not np.all(np.isnan(at.high)):
            lowest, highest = int(np.nanargmin(at.high)), int(np.nanargmax(at.low))
            if at.high[lowest] < self._least:
                self._least = float(at.high[lowest])
                self._where[0] = boxes.chosen([lowest])
            if at.low[highest] > self._most:
                self._most = float(at.low[highest])
                self._where[1] = boxes.chosen([highest])
        low, high = found[0]
        return Bounds(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))

    def step(self, most: int) -> bool:
        """Halve what is active, of more than some those that reach furthest, and say whether something is left."""
        low, high = self._bounds
        active = (high > self._most + self._width) | (low < self._least - self._width)
        if np.count_nonzero(active) > most:
            reach = np.maximum(high - self._most, self._least - low)
            active = np.zeros_like(active)
            active[np.argpartition(-reach, most)[:most]] = True  # what is left would not be enough for all
        self._settled_low = min(self._settled_low, float(np.min(low[~active], initial=np.inf)))
        self._settled_high = max(self._settled_high, float(np.max(high[~active], initial=-np.inf)))
        self._active = self._active.chosen(active)
        self._bounds = Bounds(low[active], high[active])
        if not np.any(active):
            return False
        self._active = self._active.halved(self._scale)
        self._bounds = self._looked_at(self._active)
        return True

    def result(self) -> Range:
        """Return what is known."""
        low = min(self._settled_low, float(np.min(self._bounds.low, initial=np.inf)))
        high = max(self._settled_high, float(np.max(self._bounds.high, initial=-np.inf)))
        if not (np.isfinite(low) and np.isfinite(high)):
            raise EnclosureError(
                f"range_of: it is not proven after {self.boxes} boxes that the function has a value everywhere",
                fix="take a box inside of its domain, or allow more boxes.",
            )
        lowest, highest = [tuple([IntervalArray(*ends) for ends in self._ends(boxes)]) for boxes in self._where]
        finished = high <= self._most + self._width and low >= self._least - self._width
        attained = IntervalArray(self._least, max(self._most, self._least))
        return Range(IntervalArray(low, high), attained, lowest, highest, self.boxes, finished)

    def _ends(self, boxes: Boxes) -> list[Any]:
        low, high = self._function.split(boxes.low), self._function.split(boxes.high)
        return [(a[0], b[0]) for a, b in zip(low, high, strict=True)]
