"""Bounds of what moves, joins, adds up and multiplies whole arrays.

A sum of n numbers in any order, with or without fused products, is off by at most γ(n) times the sum of their sizes
(Higham 2002, section 4.2). Products of matrices are those of the middles, off by what the radii let them be (Rump 1999,
"Fast and parallel interval arithmetic"), so that BLAS does the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad import ops
from primad.enclosures.bounds import TINY, Bounds, absolute_most, relative_error, signed, up
from primad.enclosures.interval_arithmetic import square
from primad.errors import EnclosureError
from primad.ops.arrays.contraction import split
from primad.ops.record.primitive import Primitive
from primad.system.deferred import loaded

BoundsOf = Callable[..., Bounds]


def at_both_ends(op: Primitive) -> BoundsOf:
    """Return bounds of an op that is exact and grows with every operand, by its definition: views, joins, extrema."""

    def bounds(*operands: Bounds, **params: Any) -> Bounds:
        function = loaded(op.numpy)
        return Bounds(*[function(*[x[end] for x in operands], **params) for end in (0, 1)])

    return bounds


def at_places(op: Primitive) -> BoundsOf:
    """Return bounds of an op that takes or adds elements at indices, which are known."""

    def bounds(x: Bounds, indices: Bounds, **params: Any) -> Bounds:
        if not indices.is_point:
            raise EnclosureError(
                f"{op.name}: an index depends on where in the box a point lies",
                fix="divide the box where the index changes, or take elements by primad.numpy.where.",
            )
        function, places = loaded(op.numpy), indices.low.astype(np.int64)
        if op is ops.gather:
            return Bounds(*[function(end, places, **params) for end in x])
        return added(lambda end: function(end, places, **params), x, places.size)

    return bounds


def added(total: Callable[[Any], Any], x: Bounds, count: int) -> Bounds:
    """Return bounds of sums of at most so many elements each.

    Args:
        total: what sums elements of an array.
        x: the array.
        count: how many there are in a sum at most.
    """
    with np.errstate(invalid="ignore"):
        size = total(absolute_most(x))
        error = relative_error(count) * up(size, count)
    low, high = total(x.low) - error, total(x.high) + error
    nothing = size == 0
    low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    return Bounds(np.where(nothing, 0.0, low), np.where(nothing, 0.0, high))


def sum_bounds(x: Bounds, *, axes: tuple[int, ...]) -> Bounds:
    """Bounds of a sum along axes."""
    count = math.prod([x.low.shape[axis] for axis in axes])
    found = added(lambda a: np.sum(a, axes), x, count)
    return signed(found, np.min(x.low, axes, initial=0.0) >= 0, np.max(x.high, axes, initial=0.0) <= 0)


def cumsum_bounds(x: Bounds, *, axis: int, reverse: bool) -> Bounds:
    """Bounds of running sums."""
    count = x.low.shape[axis] if x.low.ndim else 1
    return added(lambda a: loaded(ops.cumsum.numpy)(a, axis=axis, reverse=reverse), x, count)


def overlap_add_bounds(y: Bounds, **params: Any) -> Bounds:
    """Bounds of windows that are added where they lie."""
    return added(lambda a: loaded(ops.overlap_add.numpy)(a, **params), y, y.low.size)


def contract_bounds(x: Bounds, y: Bounds, *, labels: str) -> Bounds:
    """Bounds of sums of products of two arrays."""
    left, right, result = split(labels)
    lengths = dict(zip(left + right, x.low.shape + y.low.shape, strict=True))
    count = math.prod([n for letter, n in lengths.items() if letter not in result]) + 1

    def product(a: Any, b: Any) -> Any:
        return loaded(ops.contract.numpy)(a, b, labels=labels)

    (middle_x, radius_x), (middle_y, radius_y) = _disc(x), _disc(y)
    size_x, size_y = np.abs(middle_x), np.abs(middle_y)
    spread: Any = 0.0
    if not y.is_point:
        spread = product(size_x, radius_y)
    if not x.is_point:
        spread = spread + product(radius_x, size_y if y.is_point else up(size_y + radius_y))
    # Each of three sums loses half of the smallest number with each of its products at most, where these vanish.
    error = (spread + relative_error(count) * product(size_x, size_y)) * (1.0 + relative_error(count + 4))
    error = up(error + 2 * count * TINY)
    middle = product(middle_x, middle_y)
    found = Bounds(np.nextafter(middle - error, -np.inf), np.nextafter(middle + error, np.inf))
    signs = np.min(x.low, initial=0.0) >= 0 and np.min(y.low, initial=0.0) >= 0
    return signed(found, np.asarray(signs), np.asarray(False))


def _disc(x: Bounds) -> tuple[Any, Any]:
    """Return a middle and a radius of which the bounds are a part."""
    if x.is_point:
        return x.low, np.zeros_like(x.low)
    middle = x.low + 0.5 * (x.high - x.low)
    return middle, up(np.maximum(x.high - middle, middle - x.low))


def square_sum_bounds(x: Bounds, *, labels: str) -> Bounds:
    """Bounds of sums of products of an array with itself, element by element."""
    left, _, result = split(labels)
    axes = tuple([i for i, letter in enumerate(left) if letter not in result])
    found = sum_bounds(square(x), axes=axes)
    kept = [letter for letter in left if letter in result]
    order = [kept.index(letter) for letter in result]
    return Bounds(*[np.transpose(end, order) for end in found])
