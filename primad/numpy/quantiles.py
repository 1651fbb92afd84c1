"""NumPy's quantiles, and how variables vary together."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from primad import ops
from primad.errors import DomainError, ShapeError, TracingError
from primad.numpy.elementwise import clip, maximum, sqrt, where
from primad.numpy.indexing import take, take_along_axis
from primad.numpy.logic import isnan
from primad.numpy.nans import without_nan
from primad.numpy.order import sort
from primad.numpy.products import diagonal, dot
from primad.numpy.promotion import (
    as_float,
    as_traced,
    convert,
    implements,
    keep_axes,
    normalize_axes,
    normalize_axis,
    refuse_out,
    traced_operands,
)
from primad.numpy.reductions import average, mean, refuse_integers, sum
from primad.numpy.shaping import atleast_2d, concatenate, moveaxis, ravel, reshape, squeeze, transpose
from primad.trace import TracedArray
from primad.types import is_float

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
    middle = where(isnan(ordered[n - 1]), math.nan, middle)  # NaNs are sorted last
    return keep_axes(middle, x, (place,), keepdims)


def _mean_of_two(low: Any, high: Any) -> Any:
    """Return the mean, not by the difference: that of equal infinities is one. Half precision is summed in single."""
    wide = convert(low, np.float32) + convert(high, np.float32) if low.dtype == np.float16 else low + high
    return convert(0.5 * wide, low.dtype)


# -- quantiles ---------------------------------------------------------------------------------------------------------


def _rows(x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the elements over some axes, sorted, along a first axis; and the lengths of the others with them kept."""
    axes = normalize_axes("quantile", axis, x.ndim)
    kept = [i for i in range(x.ndim) if i not in axes]
    flat = transpose(x, (*axes, *kept)) if x.ndim else x
    rows = sort(reshape(flat, (math.prod([x.shape[i] for i in axes]), *[x.shape[i] for i in kept])), 0)
    if not rows.shape[0]:
        raise ShapeError("quantile: no elements")
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
        raise DomainError(f"quantiles lie between 0 and 1, percentiles between 0 and 100, got {q!r}")
    return fraction, type(q) in (int, float)


_DISCRETE = ("closest_observation", "higher", "inverted_cdf", "lower", "nearest")
"""Methods that give an element, and never what lies between two."""


def _position(method: str, count: int, fraction: Any) -> Any:
    """Return where quantiles lie among sorted elements, from 0 to count − 1."""
    if method == "linear":
        return (count - 1) * fraction
    try:
        found = np.quantile(np.arange(float(count)), fraction, method=method)  # type: ignore[call-overload]
    except ValueError as error:
        raise ShapeError(f"quantile: {error}") from None
    return np.asarray(found).astype(fraction.dtype)


def _quantile(x: Any, q: Any, scale: float, axis: Any, method: str, keepdims: bool) -> Any:
    fraction, weak = _order_of(q, scale)
    rows, shape = _rows(x, axis)
    position = _position(method, rows.shape[0], fraction)
    if method in _DISCRETE:
        found = take(rows, position.astype(int), 0)
    else:
        below = np.floor(position).astype(int)
        part = position - below
        part = float(part) if weak else part.reshape(part.shape + (1,) * (rows.ndim - 1))
        low, high = (take(rows, np.minimum(i, rows.shape[0] - 1), 0) for i in (below, below + 1))
        found = _between(low, high, part)
    if is_float(x.dtype):
        found = where(isnan(rows[-1]), rows[-1], found).astype(found.dtype)
    return reshape(found, np.shape(fraction) + shape) if keepdims else found


@implements(np.quantile)
def quantile(
    x: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """np.quantile, by every method; q must not be traced."""
    refuse_out("quantile", out)
    return _quantile(x, q, 1.0, axis, method, keepdims)


@implements(np.percentile)
def percentile(
    x: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """np.percentile, as quantile."""
    refuse_out("percentile", out)
    return _quantile(x, q, 100.0, axis, method, keepdims)


def _of_nothing(function: Any, x: Any, *args: Any, **options: Any) -> Any:
    """Return what NumPy's function makes of an array without elements, which is NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return as_traced(function(np.empty(x.shape, x.dtype), *args, **options), x)


def _nan_quantile(x: Any, q: Any, scale: float, axis: Any, method: str, keepdims: bool) -> Any:
    """Of the numbers only; how many there are is known when the program runs."""
    if method != "linear":
        raise TracingError(f"nanquantile by method={method!r} is not supported on traced arrays", fix="use 'linear'.")
    fraction, weak = _order_of(q, scale)
    if not x.size:
        return _of_nothing(np.nanquantile, x, fraction, axis=axis, keepdims=keepdims)
    rows, shape = _rows(x, axis)
    count = sum((~isnan(rows)).astype(np.int64), 0, keepdims=True)
    flat = np.reshape(fraction, (-1,) + (1,) * (rows.ndim - 1))
    position = maximum(count - 1, 0) * flat.astype(np.float64)
    below = position.astype(np.int64)
    part = (position - below).astype(x.dtype if weak else np.result_type(x.dtype, fraction.dtype))
    above = ops.minimum(below + 1, maximum(count - 1, 0) + 0 * below)
    found = _between(take_along_axis(rows, below, 0), take_along_axis(rows, above, 0), part)
    found = reshape(found, np.shape(fraction) + rows.shape[1:])
    return reshape(found, np.shape(fraction) + shape) if keepdims else found


@without_nan(np.nanquantile, quantile)
def nanquantile(
    x: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """np.nanquantile, by method 'linear'; NaN where there is no number."""
    refuse_out("nanquantile", out)
    return _nan_quantile(x, q, 1.0, axis, method, keepdims)


@without_nan(np.nanpercentile, percentile)
def nanpercentile(
    x: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """np.nanpercentile, as nanquantile."""
    refuse_out("nanpercentile", out)
    return _nan_quantile(x, q, 100.0, axis, method, keepdims)


@without_nan(np.nanmedian, median)
def nanmedian(x: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """np.nanmedian: of the numbers; NaN where there are none."""
    refuse_out("nanmedian", out)
    if not x.size:
        return _of_nothing(np.nanmedian, x, axis=axis, keepdims=keepdims)
    rows, shape = _rows(x, axis)
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
        raise ShapeError("cov: more than two axes")
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
            raise ShapeError(f"cov: {variables.shape[1]} observations leave no degrees of freedom with ddof={ddof}")
    else:
        total = sum(weights)
        total = total - (ddof if aweights is None else ddof * sum(weights * aweights) / total)
        total = maximum(total, 0.0)  # no degrees of freedom: as NumPy, infinities
    variables = variables - average(variables, 1, weights)[:, None]
    weighted = variables if weights is None else variables * weights
    return squeeze(dot(variables, transpose(weighted)) * (1.0 / total))


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
    spread = sqrt(diagonal(found))
    return clip(found / spread[:, None] / spread[None, :], -1, 1)
