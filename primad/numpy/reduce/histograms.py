"""NumPy's histograms: counts, or sums of weights, which have derivatives, as have bins that follow the data."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from primad.errors import DomainError, ShapeError, TracingError
from primad.ir.array_types import is_complex, is_float
from primad.numpy.elementwise.ufuncs import where
from primad.numpy.promotion import any_traced, convert, first_traced, implements, joined, result_dtype, traced_operands
from primad.numpy.reduce.largest import max, min
from primad.numpy.reduce.reductions import sum
from primad.numpy.reduce.signals import diff
from primad.numpy.shapes.creation import linspace
from primad.numpy.shapes.index_updates import add_at
from primad.numpy.shapes.ordering import searchsorted, values_of
from primad.numpy.shapes.shaping import ravel, reshape, stack
from primad.recording.traced_array import TracedArray

__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


def _refuse_where_known(x: Any, wrong: Any, said: str) -> None:
    """Raise if values that are known are wrong."""
    with suppress(TracingError):
        if np.any(wrong(values_of(x, "values"))):
            raise DomainError(said, fix="give rising numbers without NaN.")


def _ends(x: Any, range: Any) -> tuple[Any, Any]:
    """Return the outer edges of the bins: those given, or the smallest and largest element."""
    if range is None and not x.size:
        return 0, 1
    low, high = (min(x), max(x)) if range is None else range
    for end in (low, high):
        _refuse_where_known(end, lambda e: ~np.isfinite(e), f"histogram: a range that ends at {end} is not finite")
    if not any_traced([low, high]):
        if low > high:
            raise DomainError(f"histogram: the range {range} falls", fix="write the smaller end first.")
        return (low - 0.5, high + 0.5) if low == high else (low, high)
    if x.dtype.kind == "u":
        low, high = (convert(each, np.float64) for each in traced_operands(low, high))
    return where(low == high, low - 0.5, low), where(low == high, high + 0.5, high)


def _edges(x: Any, bins: Any, range: Any, weights: Any = None, dtype: Any = None) -> Any:
    """Return the edges of the bins of an array of one axis."""
    if isinstance(bins, str):
        if weights is not None:
            raise ShapeError(
                f"histogram: bins={bins!r} with weights",
                why="NumPy has no estimate for weighted data.",
                fix="write a number of bins, or their edges.",
            )
        bins = np.histogram_bin_edges(values_of(x, f"the bins {bins!r} of a histogram"), bins, range).size - 1
    bins = joined(bins)
    if np.ndim(bins) > 1:
        raise ShapeError(
            f"histogram: the edges of bins must be a vector, got shape {np.shape(bins)}",
            fix="write a number of bins, or a vector of their edges.",
        )
    if np.ndim(bins):
        bins = bins if isinstance(bins, TracedArray) else np.asarray(bins)
        _refuse_where_known(bins, lambda e: e[:-1] > e[1:], "histogram: the edges of bins must rise")
        return bins
    count = operator.index(bins)
    if count < 1:
        raise DomainError(f"histogram: needs a bin, got bins={bins}", fix="write 1 or more.")
    low, high = _ends(x, range)
    return linspace(low, high, count + 1, dtype=dtype)


def _bins_of(x: Any, edges: Any) -> Any:
    """Return the bin of each element, counted from 1: 0 and the number of edges are those of no bin."""
    return searchsorted(edges, x, "right") - convert(x == edges[-1], np.int64)


def _counts(places: Any, size: int, weights: Any, dtype: Any) -> Any:
    """Return how many elements, or which sum of weights, each place has."""
    wide = np.result_type(dtype, np.float64) if is_float(dtype) else dtype
    each = np.ones((), wide) if weights is None else convert(weights, wide)
    return convert(add_at(convert(traced_operands(np.zeros(size, wide), places)[0], wide), places, each), dtype)


def _array(x: Any, like: TracedArray) -> TracedArray:
    """Return an array as traced; booleans as bytes."""
    found = traced_operands(x, like)[0]
    return convert(found, np.uint8) if found.dtype.kind == "b" else found


def _uniform_dtype(x: Any, bins: Any, range: Any) -> Any:
    """Return the dtype of edges that are computed."""
    found = result_dtype(x, *(range if range is not None else ()))
    return found if is_float(found) else np.dtype(np.float64)


def _sample(a: Any, weights: Any, *others: Any) -> tuple[Any, Any]:
    """Return an array and its weights in one axis."""
    like = first_traced([a, weights, *others])
    a = _array(a, like)
    if weights is not None:
        weights = traced_operands(weights, like)[0]
        if weights.shape != a.shape:
            raise ShapeError(
                f"histogram: weights of shape {weights.shape} for an array of shape {a.shape}",
                fix="give a weight for each element.",
            )
        weights = ravel(weights)
    return ravel(a), weights


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """np.histogram_bin_edges: with the derivatives of the smallest and the largest element, where those are the ends.

    Where `bins` is the name of an estimate, values must be known.
    """
    x, weights = _sample(a, weights, bins, range)
    return _edges(x, bins, range, weights, _uniform_dtype(x, bins, range))


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> tuple[Any, Any]:
    """np.histogram: counts have no derivative, sums of weights and edges that are computed have theirs.

    Where `bins` is the name of an estimate, values must be known.
    """
    x, weights = _sample(a, weights, bins, range)
    edges = _edges(x, bins, range, weights, _uniform_dtype(x, bins, range))
    count = edges.shape[0] - 1
    found = _counts(_bins_of(x, edges), count + 2, weights, np.dtype(np.int64) if weights is None else weights.dtype)
    found = found[1:-1]
    if density:
        found = found / convert(diff(traced_operands(edges, x)[0]), np.float64) / sum(found)
    return found, edges


@implements(np.histogramdd, of_arrays=True)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, list[Any]]:
    """np.histogramdd, as histogram."""
    if isinstance(sample, (list, tuple)):
        columns = [ravel(x) for x in traced_operands(*sample, first_traced([*sample, bins, weights]))[:-1]]
        sample = stack([convert(x, result_dtype(*columns)) for x in columns], -1)
    sample = _array(sample, first_traced([sample, bins, weights]))
    if sample.ndim != 2:
        raise ShapeError(
            f"histogramdd: needs points as rows, got shape {sample.shape}",
            fix="give an array of shape (points, coordinates): np.stack([x, y], 1).",
        )
    columns = [sample[:, i] for i in np.arange(sample.shape[1]).tolist()]
    count = len(columns)
    bins = list(bins) if isinstance(bins, (list, tuple)) or np.ndim(bins) else [bins] * count
    ranges = [None] * count if range is None else list(range)
    if len(bins) != count or len(ranges) != count:
        raise ShapeError(
            f"histogramdd: {len(bins)} bins and {len(ranges)} ranges for points of {count} coordinates",
            fix="give one of both for each coordinate.",
        )
    edges = [_edges(*each) for each in zip(columns, bins, ranges, strict=True)]
    lengths = [each.shape[0] + 1 for each in edges]
    places: Any = 0
    for column, edge, length in zip(columns, edges, lengths, strict=True):
        places = places * length + _bins_of(column, edge)
    if weights is not None:
        weights = traced_operands(weights, sample)[0]
    found = reshape(_counts(places, math.prod(lengths), weights, np.dtype(np.float64)), tuple(lengths))
    found = found[(slice(1, -1),) * count]
    if density:
        total = sum(found)
        for axis, edge in enumerate(edges):
            width = diff(traced_operands(edge, sample)[0])
            width = convert(width, np.complex128 if is_complex(width.dtype) else np.float64)
            found = found / reshape(width, (-1,) + (1,) * (count - axis - 1))
        found = found / total
    return found, edges


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any, Any]:
    """np.histogram2d, as histogram."""
    if np.shape(x)[0] != np.shape(y)[0]:
        raise ShapeError(f"histogram2d: {np.shape(x)[0]} and {np.shape(y)[0]} coordinates", fix="give as many x as y.")
    several: Sequence[Any] | None = bins if isinstance(bins, (list, tuple)) or np.ndim(bins) else None
    if several is not None and len(several) not in (1, 2):
        bins = [bins, bins]
    found, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return found, first, second
