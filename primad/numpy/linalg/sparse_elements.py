"""Functions of the elements of sparse arrays with traced entries: of each one, and sums and extrema of all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.numpy.linalg.sparse_places import SparsePlaces
from primad.numpy.shapes.creation import array, zeros
from primad.numpy.shapes.index_updates import add_at
from primad.numpy.shapes.indexing import take
from primad.numpy.shapes.shaping import concatenate
from primad.recording.protocols import FUNCTIONS, UFUNCS

ZERO_AT_ZERO = (
    "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "deg2rad", "expm1", "floor", "log1p", "rad2deg", "rint", "sign",
    "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip
"""NumPy's functions of single elements that SciPy's sparse arrays have as methods: they leave zeros as they are."""


def once(of: Any) -> Any:
    """Return a sparse array with one entry at each of its places: those that were there are added."""
    found = of.places.once
    if found is None:
        return of
    places, number = found
    return type(of)(add_at(zeros((len(places.rows),), of.dtype), number, of.entries()), places).asformat(of.format)


def mapped(of: Any, function: Any) -> Any:
    """Return the sparse array of a function's values that is 0 at 0."""
    found = once(of)
    return type(of)(function(found.entries()), found.places)


def by_ufunc(of: Any, name: str) -> Any:
    """Return one of `ZERO_AT_ZERO` of a sparse array."""
    return mapped(of, UFUNCS[getattr(np, name)])


def at_entries(of: Any, factors: Any) -> Any:
    """Return the elements of an array, which may be traced, beside the entries of a sparse one; a number as it is."""
    factors = array(factors)
    if not factors.shape:
        return factors
    own = (1,) * (of.ndim - factors.ndim) + factors.shape
    if len(own) != of.ndim or any(n not in (1, m) for n, m in zip(own, of.shape, strict=True)):
        raise ShapeError(
            f"a sparse array of shape {of.shape} and an array of shape {factors.shape}, element by element",
            fix="A.toarray() * x repeats the dense array; A @ x is the product of a matrix and a vector.",
        )
    places = zip(of.places.coords[-factors.ndim :], factors.shape, strict=True)
    return factors[tuple([x if n > 1 else np.zeros_like(x) for x, n in places])]


def scaled(of: Any, factors: Any) -> Any:
    """Return the product, element by element, of a sparse array and an array of factors, which may be traced."""
    return type(of)(of.entries() * at_entries(of, factors), of.places)


def times(first: Any, second: Any) -> Any:
    """Return the product of two sparse arrays element by element: entries where both have some."""
    if first.shape != second.shape:
        small, large = sorted((first, second), key=lambda x: math.prod(x.shape))
        return scaled(large, small.toarray())
    x, y = once(first), once(second)
    flat, one, other = np.intersect1d(x.places.flat, y.places.flat, assume_unique=True, return_indices=True)
    data = take(x.entries(), one) * take(y.entries(), other)
    return type(first)(data, SparsePlaces.at(flat, first.shape)).asformat(first.format)


def together(first: Any, second: Any, function: Any) -> Any:
    """Return a function of two sparse arrays that is 0 at 0: with entries where either has some."""
    if first.shape != second.shape:
        raise ShapeError(
            f"sparse arrays of shapes {first.shape} and {second.shape} are not compared", fix="give those of one shape."
        )
    x, y = once(first), once(second)
    flat = np.union1d(x.places.flat, y.places.flat)
    parts = []
    for each in (x, y):
        place = np.searchsorted(flat, each.places.flat)
        parts.append(add_at(zeros((len(flat),), each.dtype), place, each.entries()))
    return type(first)(function(*parts), SparsePlaces.at(flat, first.shape)).asformat(first.format)


def axis_of(of: Any, axis: Any, name: str) -> int | None:
    """Return the axis of a matrix along which something is taken; None for all elements."""
    axes = range(of.ndim) if axis is None else [axis] if np.ndim(axis) == 0 else list(axis)
    if any(not isinstance(x, (int, np.integer)) or not -of.ndim <= x < of.ndim for x in axes):
        raise ShapeError(f"{name}: axis {axis!r} of a sparse array of shape {of.shape}", fix="name one of its axes.")
    own = sorted({int(x) % of.ndim for x in axes})
    return None if len(own) == of.ndim else own[0]


def added(of: Any, axis: Any, name: str = "sum") -> Any:
    """Return the sums of the elements along an axis, or of all of them."""
    along, data = axis_of(of, axis, name), of.entries()
    total = FUNCTIONS[np.sum](data)
    if along is None:
        return total
    lines = of.places.columns if along == 0 else of.places.rows
    return add_at(zeros((of.shape[1 - along],), total.dtype), lines, data.astype(total.dtype))


def extremum(of: Any, axis: Any, name: str, explicit: bool = False) -> Any:
    """Return the largest or smallest element, or those of the lines along an axis as a sparse array.

    Args:
        of: a sparse array.
        axis: along which; None for all elements.
        name: 'max', 'min', 'nanmax' or 'nanmin'.
        explicit: whether only elements count that are stored.
    """
    along, found = axis_of(of, axis, name), once(of)
    lines, count, length = np.zeros_like(of.places.rows[: found.nnz]), 1, math.prod(of.shape)
    if along is not None:
        lines = found.places.columns if along == 0 else found.places.rows
        count, length = of.shape[1 - along], of.shape[along]
    if not count * length:
        raise ShapeError(f"{name} of a sparse array of shape {of.shape}", fix="leave empty arrays out.")
    values, numbers = _of_lines(found.entries(), lines, count, name)
    part = np.bincount(lines, minlength=count)[numbers] < length
    if not explicit and part.any():
        pair = UFUNCS[{"max": np.maximum, "min": np.minimum, "nanmax": np.fmax, "nanmin": np.fmin}[name]]
        values = FUNCTIONS[np.where](part, pair(values, np.zeros((), of.dtype)), values)
    if along is None:
        return values[0] if len(numbers) else zeros((), of.dtype)
    return type(of)(values, SparsePlaces(np.zeros_like(numbers), numbers, (count,)))


def _of_lines(data: Any, lines: Any, count: int, name: str) -> tuple[Any, Any]:
    """Return the extrema of the entries of each line that has some, and the numbers of these lines.

    Lines of about the same length are looked at together, so that little is filled up.
    """
    counts = np.bincount(lines, minlength=count)
    order, starts = np.argsort(lines, kind="stable"), np.cumsum(counts) - counts
    kind = data.dtype.kind
    limits = np.iinfo(data.dtype) if kind in "iu" else None
    least, most = (False, True) if kind == "b" else (-np.inf, np.inf) if limits is None else (limits.min, limits.max)
    fill = np.nan if name.startswith("nan") and kind == "f" else least if name.endswith("max") else most
    filled = concatenate([data, np.full(1, fill, data.dtype)])
    parts, numbers, width = [zeros((0,), data.dtype)], [np.zeros(0, np.int64)], 1
    while width < 2 * counts.max(initial=0):
        own = np.flatnonzero((counts > width // 2) & (counts <= width))
        if len(own):
            inside = np.arange(width) < counts[own, None]
            places = np.where(inside, starts[own, None] + np.arange(width), 0)
            table = take(filled, np.where(inside, order[places], len(order)))
            parts.append(FUNCTIONS[getattr(np, name)](table, axis=1))
            numbers.append(own)
        width *= 2
    number = np.concatenate(numbers)
    ranked = np.argsort(number)
    return take(concatenate(parts), ranked), number[ranked]
