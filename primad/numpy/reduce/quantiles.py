"""NumPy's quantiles, and how variables vary together."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from primad import ops
from primad.errors import DomainError, ShapeError, TracingError
from primad.ir.array_types import is_complex, is_float
from primad.numpy.axis_arguments import keep_axes, normalize_axes, normalize_axis
from primad.numpy.elementwise.complex_numbers import conjugated, imag, real
from primad.numpy.elementwise.logic import isnan
from primad.numpy.elementwise.rounding import rint
from primad.numpy.elementwise.ufuncs import ceil, clip, defined_where, floor, maximum, minimum, sqrt, where
from primad.numpy.linalg.diagonals import diagonal
from primad.numpy.linalg.products import dot
from primad.numpy.promotion import as_float, as_traced, convert, implements, refuse_out, traced_operands
from primad.numpy.reduce.nans import without_nan
from primad.numpy.reduce.reductions import average, mean, refuse_integers, sum
from primad.numpy.reduce.scans import cumsum
from primad.numpy.shapes.indexing import take, take_along_axis
from primad.numpy.shapes.shaping import (
    atleast_2d,
    broadcast_to,
    concatenate,
    moveaxis,
    ravel,
    reshape,
    squeeze,
    transpose,
)
from primad.numpy.shapes.sorting import sort
from primad.ops.record.operand_types import refuse_complex
from primad.recording.traced_array import TracedArray

__all__ = ["corrcoef", "cov", "median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]


# -- medians -----------------------------------------------------------------------------------------------------------


@implements(np.median)
def median(x: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """np.median: the middle of the sorted elements, or the mean of the two middle ones."""
    refuse_out("median", out)
    if axis is None:
        result = median(ravel(x), 0)
        return keep_axes(result, x, tuple(range(x.ndim)), keepdims)
    if isinstance(axis, (tuple, list)):
        axes = normalize_axes("median", axis, x.ndim)
        kept = [i for i in range(x.ndim) if i not in axes]
        flat = ops.permute(x, order=(*kept, *axes))
        flat = ops.reshape(flat, shape=(*(x.shape[i] for i in kept), math.prod([x.shape[i] for i in axes])))
        return keep_axes(median(flat, -1), x, axes, keepdims)
    place = normalize_axis("median", axis, x.ndim)
    n = x.shape[place]
    if n == 0:
        return mean(x, axis, keepdims=keepdims)  # NaN
    ordered = moveaxis(sort(as_float(x), place), place, 0)
    middle = ordered[n // 2] if n % 2 else _mean_of_two(ordered[n // 2 - 1], ordered[n // 2])
    middle = defined_where(~isnan(ordered[n - 1]), middle)  # NaNs are sorted last
    return keep_axes(middle, x, (place,), keepdims)


def _mean_of_two(low: Any, high: Any) -> Any:
    """Return the mean, not by the difference: that of equal infinities is one. Half precision is summed in single."""
    wide = convert(low, np.float32) + convert(high, np.float32) if low.dtype == np.float16 else low + high
    return convert(0.5 * wide, low.dtype)


# -- quantiles ---------------------------------------------------------------------------------------------------------


def _rows(x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the elements over some axes along a first axis; and the lengths of the others with them kept."""
    axes = normalize_axes("quantile", axis, x.ndim)
    kept = [i for i in range(x.ndim) if i not in axes]
    flat = transpose(x, (*axes, *kept)) if x.ndim else x
    rows = reshape(flat, (math.prod([x.shape[i] for i in axes]), *[x.shape[i] for i in kept]))
    if not rows.shape[0]:
        raise ShapeError("quantile: no elements", fix="give one element at least.")
    return rows, tuple([1 if i in axes else n for i, n in enumerate(x.shape)])


def _between(low: Any, high: Any, part: Any) -> Any:
    """Interpolate from the nearer end, as NumPy does."""
    step = high - low
    return where(part >= 0.5, high - step * (1 - part), low + step * part)


def _order_of(q: Any, scale: float) -> tuple[Any, Any]:
    """Return q as a fraction, and as NumPy's promotion sees it."""
    if isinstance(q, TracedArray):
        raise TracingError(
            "quantiles at a traced q are not supported", fix="np.interp of the sorted values has a derivative there."
        )
    fraction = np.true_divide(q, scale) if scale != 1.0 else np.asanyarray(q)
    if np.any(fraction < 0) or np.any(fraction > 1) or np.any(np.isnan(fraction)):
        raise DomainError(
            f"quantiles lie between 0 and 1, percentiles between 0 and 100, got {q!r}",
            fix="divide percentages by 100 for np.quantile, or call np.percentile.",
        )
    return fraction, type(q) in (int, float)


_PLOTTING = {
    "interpolated_inverted_cdf": (0, 1), "hazen": (0.5, 0.5), "weibull": (0, 0), "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
"""Methods that interpolate, and α and β of their positions (Hyndman and Fan, 1996)."""
_ROUNDED = {"lower": floor, "higher": ceil, "nearest": rint}
"""Methods that give the element which a position is rounded to."""
_METHODS = (*_PLOTTING, *_ROUNDED, "averaged_inverted_cdf", "closest_observation", "inverted_cdf", "linear", "midpoint")


def _element(method: str, n: Any, fraction: Any) -> Any:
    """Return which of n sorted elements a quantile is, by the methods that give an element; None by the others."""
    if method in _ROUNDED:
        return _ROUNDED[method]((n - 1) * fraction)
    if method == "inverted_cdf":
        return maximum(ceil(n * fraction - 1), 0)
    if method == "closest_observation":  # of two as near the even one, counted from 1
        position = n * fraction - 1.5
        low = floor(position)
        return maximum(where((position == low) & (low % 2 == 1), low, low + 1), 0)
    if method == "linear" and fraction.dtype.kind in "iu":  # the ends, which may be infinite
        return (n - 1) * fraction
    return None


def _position(method: str, n: Any, fraction: Any) -> tuple[Any, Any]:
    """Return where quantiles lie among n sorted elements, and how far they are from the element before."""
    if method in _PLOTTING:
        alpha, beta = _PLOTTING[method]
        position = n * fraction + (alpha + fraction * (1 - alpha - beta)) - 1
    elif method == "averaged_inverted_cdf":
        position = n * fraction - 1
    else:
        position = (n - 1) * fraction
    if method == "midpoint":
        position = 0.5 * (floor(position) + ceil(position))
    part = position - floor(position)
    if method == "averaged_inverted_cdf":
        part = where(part == 0, 0.5, 1.0)
    return position, part


def _of_rows(rows: Any, n: Any, method: str, fraction: Any, weak: bool) -> Any:
    """Return quantiles of the first n elements of sorted rows; n is plain, or has a value for each row.

    Raises:
        ShapeError: if there is no such method.
    """
    if method not in _METHODS:
        raise ShapeError(
            f"quantile: {method!r} is no method; there are {', '.join(sorted(_METHODS))}",
            fix="leave it out for 'linear'.",
        )
    each = isinstance(n, TracedArray)
    pick = take_along_axis if each else take
    at = _element(method, n, fraction)
    if at is not None:
        return pick(rows, at.astype(np.int64), 0)
    position, part = _position(method, n, fraction)
    last = n - 1
    below = floor(position)
    low = maximum(where(position >= last, last, below), 0).astype(np.int64)
    high = maximum(where(position >= last, last, where(position < 0, 0, below + 1)), 0).astype(np.int64)
    if each:
        part = part.astype(rows.dtype if weak else np.result_type(rows.dtype, fraction.dtype))
    else:
        part = part.astype(position.dtype)
        part = float(part) if weak else part.reshape(part.shape + (1,) * (rows.ndim - 1))
    return _between(pick(rows, low, 0), pick(rows, high, 0), part)


def _weighed(x: Any, weights: Any, axis: Any, method: str) -> Any:
    """Return weights as they stand beside the elements, in rows.

    Raises:
        ShapeError: if they do not fit, or the method knows no weights.
        DomainError: if values of theirs that are known cannot be weights.
    """
    if method != "inverted_cdf":
        raise ShapeError("quantile: only the method 'inverted_cdf' knows weights", fix="write method='inverted_cdf'.")
    weights = weights if isinstance(weights, TracedArray) else np.asarray(weights)
    if weights.shape != x.shape:
        if axis is None:
            raise ShapeError(
                "quantile: weights of another shape need axis=", fix="name the axis that the weights lie along."
            )
        given = [normalize_axis("quantile", each, x.ndim) for each in (axis if np.ndim(axis) else (axis,))]
        if weights.shape != tuple([x.shape[each] for each in given]):
            raise ShapeError(
                f"quantile: weights of shape {weights.shape} for axes {given} of shape {x.shape}",
                fix="give weights of the shape of the array, or of these axes.",
            )
        weights = transpose(weights, np.argsort(given).tolist())
        weights = reshape(weights, tuple([n if i in given else 1 for i, n in enumerate(x.shape)]))
    if not isinstance(weights, TracedArray) and np.any(weights < 0):
        raise DomainError("quantile: weights must not be negative", fix="leave out the elements, or weigh them by 0.")
    return _rows(broadcast_to(as_traced(weights, x), x.shape), axis)[0]


def _of_weighted(rows: Any, weights: Any, n: Any, fraction: Any) -> Any:
    """Return the first elements up to which the weights are a fraction; NaN where the weights have no sum.

    Elements from the n-th on have no weight.
    """
    order = ops.argsort(rows, axis=0)
    rows = take_along_axis(rows, order, 0)
    weights = convert(ops.stop_gradient(take_along_axis(weights, order, 0)), np.float64)
    weights = where(np.arange(rows.shape[0]).reshape((-1,) + (1,) * (rows.ndim - 1)) < n, weights, 0.0)
    reached = cumsum(weights, 0)
    total = reached[-1:]
    reached = reached / total
    if is_float(fraction.dtype):
        reached = convert(reached, fraction.dtype)
    reached = where(reached == 0, -1.0, reached)  # for q = 0 the first element that has a weight
    wanted = np.reshape(fraction, (-1, *(1,) * rows.ndim))
    at = sum(convert(reached[None] < wanted, np.int64), 1)
    found = take_along_axis(rows, minimum(at, maximum(n - 1, 0)), 0)
    if is_float(rows.dtype):
        found = defined_where((total > 0) & (total < math.inf), found)
    return reshape(found, np.shape(fraction) + rows.shape[1:])


def _check_real(x: Any) -> None:
    if is_complex(x.dtype):
        raise refuse_complex("np.quantile")


def _quantile(x: Any, q: Any, scale: float, axis: Any, method: str, keepdims: bool, weights: Any) -> Any:
    _check_real(x)
    fraction, weak = _order_of(q, scale)
    rows, shape = _rows(x, axis)
    ordered = sort(rows, 0)
    if weights is None:
        found = _of_rows(ordered, rows.shape[0], method, fraction, weak)
    else:
        found = _of_weighted(rows, _weighed(x, weights, axis, method), rows.shape[0], fraction)
    if is_float(x.dtype):
        found = defined_where(~isnan(ordered[-1]), found)
    return reshape(found, np.shape(fraction) + shape) if keepdims else found


@implements(np.quantile)
def quantile(
    x: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False, *, weights: Any = None,
) -> Any:  # fmt: skip
    """np.quantile, by every method; neither q, which must not be traced, nor weights have a derivative."""
    refuse_out("quantile", out)
    return _quantile(x, q, 1.0, axis, method, keepdims, weights)


@implements(np.percentile)
def percentile(
    x: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False, *, weights: Any = None,
) -> Any:  # fmt: skip
    """np.percentile, as quantile."""
    refuse_out("percentile", out)
    return _quantile(x, q, 100.0, axis, method, keepdims, weights)


def _of_nothing(function: Any, x: Any, *args: Any, **options: Any) -> Any:
    """Return what NumPy's function makes of an array without elements, which is NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return as_traced(function(np.empty(x.shape, x.dtype), *args, **options), x)


def _nan_quantile(x: Any, q: Any, scale: float, axis: Any, method: str, keepdims: bool, weights: Any) -> Any:
    """Of the numbers only; how many there are is known when the program runs."""
    _check_real(x)
    fraction, weak = _order_of(q, scale)
    if not x.size:
        return _of_nothing(np.nanquantile, x, fraction, axis=axis, keepdims=keepdims)
    rows, shape = _rows(x, axis)
    count = sum((~isnan(rows)).astype(np.int64), 0, keepdims=True)
    if weights is None:
        flat = np.reshape(fraction, (-1,) + (1,) * (rows.ndim - 1))
        each = maximum(count, 1) + np.zeros(flat.shape, int)
        each = convert(each, np.result_type(fraction.dtype, np.int8))  # as NumPy, which has a number of Python's there
        found = _of_rows(sort(rows, 0), each, method, flat, weak)
        found = reshape(found, np.shape(fraction) + rows.shape[1:])
    else:
        found = _of_weighted(rows, _weighed(x, weights, axis, method), count, fraction)
    return reshape(found, np.shape(fraction) + shape) if keepdims else found


@without_nan(np.nanquantile, quantile)
def nanquantile(
    x: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False, *, weights: Any = None,
) -> Any:  # fmt: skip
    """np.nanquantile, by every method; NaN where there is no number."""
    refuse_out("nanquantile", out)
    return _nan_quantile(x, q, 1.0, axis, method, keepdims, weights)


@without_nan(np.nanpercentile, percentile)
def nanpercentile(
    x: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False, *, weights: Any = None,
) -> Any:  # fmt: skip
    """np.nanpercentile, as nanquantile."""
    refuse_out("nanpercentile", out)
    return _nan_quantile(x, q, 100.0, axis, method, keepdims, weights)


@without_nan(np.nanmedian, median)
def nanmedian(x: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """np.nanmedian: of the numbers; NaN where there are none."""
    refuse_out("nanmedian", out)
    if not x.size:
        return _of_nothing(np.nanmedian, x, axis=axis, keepdims=keepdims)
    rows, shape = _rows(x, axis)
    rows = sort(rows, 0)
    count = sum((~isnan(rows)).astype(np.int64), 0, keepdims=True)
    low, high = [take_along_axis(rows, place // 2, 0) for place in (maximum(count - 1, 0), count)]
    middle = where(count % 2 == 1, low, _mean_of_two(low, high))
    return reshape(middle, shape if keepdims else rows.shape[1:])


# -- how variables vary together ---------------------------------------------------------------------------------------


@implements(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """np.cov."""
    refuse_integers("cov", dtype)
    named = {"m": m, "y": y, "fweights": fweights, "aweights": aweights}
    named = {key: value for key, value in named.items() if value is not None}
    operands = dict(zip(named, traced_operands(*named.values()), strict=True))
    given = [operands[key] for key in ("m", "y") if key in operands]
    if max(x.ndim for x in given) > 2:
        raise ShapeError("cov: more than two axes", fix="reshape it to variables and observations.")
    dtype = np.result_type(*[x.dtype for x in given], np.float64) if dtype is None else dtype
    variables = concatenate([_variables(convert(x, dtype), rowvar) for x in given])
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights: Any = None
    for key in ("fweights", "aweights"):
        if key in operands:
            some = convert(operands[key], np.float64)
            weights = some if weights is None else weights * some
    if weights is None:
        total: Any = variables.shape[1] - ddof
        if total <= 0:
            raise ShapeError(
                f"cov: {variables.shape[1]} observations leave no degrees of freedom with ddof={ddof}",
                fix="give more observations, or ddof=0.",
            )
    else:
        total = sum(weights)
        total = total - (ddof if aweights is None else ddof * sum(weights * aweights) / total)
        total = maximum(total, 0.0)  # no degrees of freedom: as NumPy, infinities
    variables = variables - average(variables, 1, weights)[:, None]
    weighted = variables if weights is None else variables * weights
    return squeeze(dot(variables, transpose(conjugated(weighted))) * (1.0 / total))


def _variables(x: Any, rowvar: bool) -> Any:
    vector = x.ndim < 2
    x = atleast_2d(x)
    return x if rowvar or vector else transpose(x)


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """np.corrcoef."""
    found = cov(x, y, rowvar, dtype=dtype)
    if not found.ndim:
        return found / found
    spread = sqrt(real(diagonal(found)))
    scaled = found / spread[:, None] / spread[None, :]
    if is_complex(scaled.dtype):
        return ops.complex_of(clip(real(scaled), -1, 1), clip(imag(scaled), -1, 1))
    return clip(scaled, -1, 1)
