"""NumPy's reductions that leave NaN out."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from primad.numpy.elementwise import safe_sqrt, where
from primad.numpy.logic import isnan
from primad.numpy.promotion import convert, implements, refuse_out
from primad.numpy.reductions import all, argmax, argmin, max, mean, min, prod, std, sum, var
from primad.numpy.scans import cumprod, cumsum
from primad.types import is_float

__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum",
    "nanvar",
]  # fmt: skip


def without_nan(original: Any, plain: Callable[..., Any]) -> Callable[[Any], Any]:
    """Register a function of float arrays; of others, which have no NaN, it is `plain`."""

    def decorate(function: Any) -> Any:
        @wraps(function)
        def either(x: Any, *args: Any, **kwargs: Any) -> Any:
            return (function if is_float(x.dtype) else plain)(x, *args, **kwargs)

        return implements(original)(either)

    return decorate


def counted(x: Any, axis: Any, keepdims: bool = False) -> Any:
    """Return how many elements are numbers, in the dtype of x."""
    return sum((~isnan(x)).astype(x.dtype), axis, keepdims=keepdims)


@without_nan(np.nansum, sum)
def nansum(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """np.nansum: NaN counts as 0."""
    return sum(where(isnan(x), 0.0, x), axis, dtype, out, keepdims)


@without_nan(np.nanprod, prod)
def nanprod(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """np.nanprod: NaN counts as 1."""
    return prod(where(isnan(x), 1.0, x), axis, dtype, out, keepdims)


@without_nan(np.nancumsum, cumsum)
def nancumsum(x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """np.nancumsum: NaN counts as 0."""
    return cumsum(where(isnan(x), 0.0, x), axis, dtype, out)


@without_nan(np.nancumprod, cumprod)
def nancumprod(x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """np.nancumprod: NaN counts as 1."""
    return cumprod(where(isnan(x), 1.0, x), axis, dtype, out)


def _extremum(x: Any, extremum: Any, worst: float, axis: Any, out: Any, keepdims: bool) -> Any:
    found = extremum(where(isnan(x), worst, x), axis, out, keepdims)
    return where(all(isnan(x), axis, keepdims=keepdims), math.nan, found).astype(x.dtype)


@without_nan(np.nanmax, max)
def nanmax(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """np.nanmax: the largest number; NaN where there is none."""
    return _extremum(x, max, -math.inf, axis, out, keepdims)


@without_nan(np.nanmin, min)
def nanmin(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """np.nanmin: the smallest number; NaN where there is none."""
    return _extremum(x, min, math.inf, axis, out, keepdims)


@without_nan(np.nanargmax, argmax)
def nanargmax(x: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """np.nanargmax; 0 where there is no number, which is not known before the program runs."""
    return argmax(where(isnan(x), -math.inf, x), axis, out, keepdims)


@without_nan(np.nanargmin, argmin)
def nanargmin(x: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """np.nanargmin; 0 where there is no number, which is not known before the program runs."""
    return argmin(where(isnan(x), math.inf, x), axis, out, keepdims)


@without_nan(np.nanmean, mean)
def nanmean(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """np.nanmean: of the numbers; NaN where there are none."""
    refuse_out("nanmean", out)
    x = x if dtype is None else convert(x, dtype)
    return nansum(x, axis, keepdims=keepdims) / counted(x, axis, keepdims)


@without_nan(np.nanvar, var)
def nanvar(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    """np.nanvar: of the numbers; NaN where there are no more than `ddof`."""
    refuse_out("nanvar", out)
    x = x if dtype is None else convert(x, dtype)
    deviation = where(isnan(x), 0.0, x - nanmean(x, axis, keepdims=True))
    left = counted(x, axis, keepdims) - ddof
    found = sum(deviation * deviation, axis, keepdims=keepdims) / where(left > 0, left, 1.0).astype(x.dtype)
    return where(left > 0, found, math.nan).astype(x.dtype)


@without_nan(np.nanstd, std)
def nanstd(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    """np.nanstd: √nanvar; where it is 0, so is its derivative."""
    return safe_sqrt(nanvar(x, axis, dtype, out, ddof, keepdims))
