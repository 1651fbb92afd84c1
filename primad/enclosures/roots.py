"""`roots`: all zeros of a system in a box, each proven to be the only one in its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct

from primad.enclosures.array_bounds import contract_bounds
from primad.enclosures.bounds import Bounds, point
from primad.enclosures.boxes import BatchedFunction, Boxes, joined
from primad.enclosures.enclosing import IntervalArray
from primad.enclosures.interval_arithmetic import add, sub
from primad.errors import ShapeError

MOST = 100_000
"""Boxes that a search looks at, if not said otherwise. Chosen: seconds to a minute."""
GROWN = 0.01
"""By which part of its width a box is grown before a root in it is proven, so that none lies on an edge. Chosen: more
makes boxes wider than they need to be."""
STEPS = 60
"""Steps of Newton's method to a zero that is proven. Chosen: it converges in a few, or at least halves its box."""


class Roots(Struct, frozen=True):
    """The zeros of a system in a box.

    Attributes:
        proven: boxes that hold exactly one zero each, as the arguments that vary, and are parts of the box.
        undecided: parts of the box that may hold some: where the Jacobian is singular, where a zero may be just outside
            of the box, or where the search ended too early.
        boxes: how many boxes were looked at.
    """

    proven: list[tuple[IntervalArray, ...]]
    undecided: list[tuple[IntervalArray, ...]]
    boxes: int

    @property
    def complete(self) -> bool:
        """Whether it is proven that there are no zeros but those in `proven`."""
        return not self.undecided


def roots(function: Callable[..., Any], *box: Any, width: float = 1e-9, most: int = MOST) -> Roots:
    """Return all zeros of a system of as many equations as unknowns in a box, by interval Newton steps.

    A box is thrown away where the bounds of an equation do not hold 0. The Krawczyk operator, with the exact Jacobian,
    throws away, shrinks, or proves that there is exactly one zero (Moore, Kearfott and Cloud 2009, chapter 8); else the
    box is halved.

    Args:
        function: a function of the unknowns that returns as many numbers; it is recorded.
        box: the unknowns, as `IntervalArray`s, and what is known.
        width: how narrow boxes with a proven zero become, and those that stay undecided.
        most: how many boxes may be looked at.

    Returns:
        boxes with exactly one zero each, and boxes that stay undecided; outside of both there is none in the box.

    Raises:
        EnclosureError: for an op without bounds.
        ShapeError: if there are not as many equations as unknowns, or the box is infinite.

    Example:
        >>> import numpy as np
        >>> from primad.enclosures import IntervalArray, roots
        >>> found = roots(lambda x: np.sin(x) - 0.5 * x, IntervalArray(-10.0, 10.0))
        >>> found.complete, [round(float(x.middle), 6) + 0.0 for (x,) in found.proven]
        (True, [-1.895494, 0.0, 1.895494])
    """
    search = _RootSearch(BatchedFunction(function, box), width)
    active = search.function.whole
    with np.errstate(all="ignore"):  # what is not known is NaN
        while len(active.low) and search.boxes < most:
            active = search.step(active)
    search.undecided.append(active)
    return search.result()


class _RootSearch:
    """A search for zeros.

    Attributes:
        function: the system.
        boxes: how many boxes were looked at.
        undecided: boxes that are too narrow to be halved again.
    """

    def __init__(self, function: BatchedFunction, width: float) -> None:
        self.function = function
        self.boxes = 0
        self.undecided: list[Boxes] = []
        self._width = width
        self._proven: list[tuple[Boxes, Boxes]] = []
        self._scale = np.ones(function.whole.low.shape[1])

    def step(self, boxes: Boxes) -> Boxes:
        """Look at boxes, and return what is left of them, halved."""
        self.boxes += len(boxes.low)
        found = _rows(self.function.bounds(boxes, 1))
        if found.low.shape[1] != boxes.low.shape[1]:
            raise ShapeError(
                f"roots: {found.low.shape[1]} equations for {boxes.low.shape[1]} unknowns",
                fix="give as many equations as there are numbers that vary.",
            )
        boxes = boxes.chosen(~np.any((found.low > 0) | (found.high < 0), axis=1))
        if not len(boxes.low):
            return boxes
        # A zero on a common edge of two boxes is inside of neither: it is looked for in boxes that are a little larger.
        grown = Boxes(boxes.low - GROWN * (boxes.high - boxes.low), boxes.high + GROWN * (boxes.high - boxes.low))
        better = self._krawczyk(grown)
        inside = np.all((better.low > grown.low) & (better.high < grown.high), axis=1)
        self._keep(better.chosen(inside), grown.chosen(inside))
        apart = np.any((better.low > boxes.high) | (better.high < boxes.low), axis=1)
        left = boxes.chosen(~inside & ~apart)
        better = better.chosen(~inside & ~apart)
        left = Boxes(np.fmax(left.low, better.low), np.fmin(left.high, better.high))
        narrow = np.all(left.high - left.low <= self._width, axis=1)
        self.undecided.append(left.chosen(narrow))
        return left.chosen(~narrow).halved(self._scale)

    def _krawczyk(self, boxes: Boxes, points: Any = None) -> Boxes:
        """Return m − Y·f(m) + (1 − Y·J(X))·(X − m), which holds all zeros of the box.

        Args:
            boxes: X.
            points: m, a point of each; by default in the middle.
        """
        n = boxes.low.shape[1]
        middle = boxes.middle if points is None else points
        slopes = _matrices(self.function.derivatives(boxes), n)
        inverse = _inverses(0.5 * slopes.low + 0.5 * slopes.high)
        at = _rows(self.function.values(middle))
        moved = sub(Bounds(*boxes), point(middle))
        shift = contract_bounds(point(inverse), at, labels="zab,zb->za")
        rest = sub(
            point(np.broadcast_to(np.eye(n), inverse.shape)),
            contract_bounds(point(inverse), slopes, labels="zab,zbc->zac"),
        )
        found = add(sub(point(middle), shift), contract_bounds(rest, moved, labels="zab,zb->za"))
        return Boxes(*found)

    def _keep(self, boxes: Boxes, regions: Boxes) -> None:
        """Keep boxes with one zero each, as narrow as is asked, unless their zero is known.

        Args:
            boxes: each holds a zero.
            regions: and these around them no other one.
        """
        for _ in range(STEPS):
            if not len(boxes.low) or np.all(boxes.high - boxes.low <= self._width):
                break
            better = self._krawczyk(boxes)
            low, high = np.fmax(boxes.low, better.low), np.fmin(boxes.high, better.high)
            if np.all(high - low >= boxes.high - boxes.low):
                break
            boxes = Boxes(low, high)
        for i in range(len(boxes.low)):
            one, region = boxes.chosen([i]), regions.chosen([i])
            if self._is_known(one):
                continue
            meets = any(np.all((one.low <= x.high) & (one.high >= x.low)) for x, _ in self._proven)
            if meets:
                self.undecided.append(one)  # it may be the zero of another box, or a second one near it
            else:
                self._proven.append((one, region))

    def _is_known(self, one: Boxes) -> bool:
        """Say whether a box has no zero but one that was found: it lies where that is the only one."""
        return any(np.all((one.low >= region.low) & (one.high <= region.high)) for _, region in self._proven)

    def result(self) -> Roots:
        """Return what was found: zeros inside of the box, in the order of their first coordinates."""
        parts = [self._inside(one) for one, _ in self._proven]
        proven = sorted([x for x in parts if x is not None and len(x.low)], key=lambda x: tuple(x.low[0]))
        at_edges = [one for (one, _), part in zip(self._proven, parts, strict=True) if part is None]
        undecided = joined(self.undecided)
        rest = [one for i in range(len(undecided.low)) if not self._is_known(one := undecided.chosen([i]))]
        left = [part for one in (*at_edges, *rest) if len((part := self._cut(one)).low)]
        return Roots([self._arguments(x) for x in proven], [self._arguments(x) for x in left], self.boxes)

    def _cut(self, one: Boxes) -> Boxes:
        """Return the part of a box that is a part of the whole one; none where there is none."""
        whole = self.function.whole
        part = Boxes(np.maximum(one.low, whole.low), np.minimum(one.high, whole.high))
        return part.chosen(np.all(part.low <= part.high, axis=1))

    def _inside(self, one: Boxes) -> Boxes | None:
        """Return the part of the whole box that holds the zero of a box; none of it, or None where that is not known.

        Newton's method from a point on the edge tells on which side of it a zero lies, however near.
        """
        whole = self.function.whole
        for _ in range(STEPS):
            if _within(one, whole):
                return one
            if np.any((one.low > whole.high) | (one.high < whole.low)):
                return one.chosen([])
            edge = np.where(one.low < whole.low, whole.low, np.where(one.high > whole.high, whole.high, one.middle))
            at = _rows(self.function.values(edge))
            if np.all((at.low == 0) & (at.high == 0)):
                return Boxes(edge, edge)
            better = self._krawczyk(one, edge)
            low, high = np.fmax(one.low, better.low), np.fmin(one.high, better.high)
            if np.all(high - low >= one.high - one.low):
                return None
            one = Boxes(low, high)
        return None

    def _arguments(self, boxes: Boxes) -> tuple[IntervalArray, ...]:
        low, high = self.function.split(boxes.low), self.function.split(boxes.high)
        return tuple([IntervalArray(a[0], b[0]) for a, b in zip(low, high, strict=True)])


def _within(one: Boxes, other: Boxes) -> bool:
    return bool(np.all((one.low >= other.low) & (one.high <= other.high)))


def _rows(results: list[Bounds]) -> Bounds:
    """Join the results of each box to one vector."""
    return Bounds(*[np.concatenate([x[end].reshape(len(x[end]), -1) for x in results], axis=1) for end in (0, 1)])


def _matrices(results: list[Bounds], n: int) -> Bounds:
    return Bounds(*[np.concatenate([x[end].reshape(len(x[end]), -1, n) for x in results], axis=1) for end in (0, 1)])


def _inverses(matrices: Any) -> Any:
    """Return inverses, about; of a singular matrix the identity, which proves nothing and is never wrong."""
    found = np.broadcast_to(np.eye(matrices.shape[-1]), matrices.shape).copy()
    for i, matrix in enumerate(matrices):
        if np.all(np.isfinite(matrix)):
            try:
                found[i] = np.linalg.inv(matrix)
            except np.linalg.LinAlgError:
                continue
    return found
