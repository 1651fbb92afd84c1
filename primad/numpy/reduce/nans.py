"""NumPy's reductions that leave NaN out."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import is_complex, is_float, real_dtype
from primad.numpy.elementwise.complex_numbers import real, squares
from primad.numpy.elementwise.logic import isnan
from primad.numpy.elementwise.rounding import fmax, fmin
from primad.numpy.elementwise.square_roots import safe_sqrt
from primad.numpy.elementwise.ufuncs import defined_where, where
from primad.numpy.promotion import convert, implements, refuse_out
from primad.numpy.reduce.largest import argmax, argmin, max, min
from primad.numpy.reduce.largest import extremum as extremum_of
from primad.numpy.reduce.reductions import all, corrected, mean, prod, refuse_integers, std, sum, var
from primad.numpy.reduce.scans import cumprod, cumsum

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


def counted(x: Any, axis: Any, keepdims: bool = False, where: Any = True) -> Any:
    """Return how many elements are numbers, in the dtype of x."""
    return sum((~isnan(x)).astype(x.dtype), axis, keepdims=keepdims, where=where)


@without_nan(np.nansum, sum)
def nansum(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """np.nansum: NaN counts as 0."""
    return sum(_filled(x, 0.0), axis, dtype, out, keepdims, initial, where)


@without_nan(np.nanprod, prod)
def nanprod(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """np.nanprod: NaN counts as 1."""
    return prod(_filled(x, 1.0), axis, dtype, out, keepdims, initial, where)


@without_nan(np.nancumsum, cumsum)
def nancumsum(x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """np.nancumsum: NaN counts as 0."""
    return cumsum(_filled(x, 0.0), axis, dtype, out)


@without_nan(np.nancumprod, cumprod)
def nancumprod(x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """np.nancumprod: NaN counts as 1."""
    return cumprod(_filled(x, 1.0), axis, dtype, out)


def _filled(x: Any, number: float) -> Any:
    """Return an array with a number in place of each NaN."""
    return where(isnan(x), number, x)


_largest_number = extremum_of(ops.reduce_max, fmax, "nanmax", numbers_only=True)
_smallest_number = extremum_of(ops.reduce_min, fmin, "nanmin", numbers_only=True)


def _extremum(
    x: Any, extremum: Any, worst: float, axis: Any, out: Any, keepdims: bool, initial: Any, chosen: Any
) -> Any:
    if is_complex(x.dtype):
        return (_largest_number if extremum is max else _smallest_number)(x, axis, out, keepdims, initial, chosen)
    found = extremum(_filled(x, worst), axis, out, keepdims, initial, chosen)
    if initial is not None:
        return found
    return where(all(isnan(x), axis, keepdims=keepdims), math.nan, found).astype(x.dtype)


@without_nan(np.nanmax, max)
def nanmax(
    x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """np.nanmax: the largest number; NaN where there is none."""
    return _extremum(x, max, -math.inf, axis, out, keepdims, initial, where)


@without_nan(np.nanmin, min)
def nanmin(
    x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """np.nanmin: the smallest number; NaN where there is none."""
    return _extremum(x, min, math.inf, axis, out, keepdims, initial, where)


@without_nan(np.nanargmax, argmax)
def nanargmax(x: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """np.nanargmax; 0 where there is no number, which is not known before the program runs."""
    return argmax(_filled(x, -math.inf), axis, out, keepdims)


@without_nan(np.nanargmin, argmin)
def nanargmin(x: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """np.nanargmin; 0 where there is no number, which is not known before the program runs."""
    return argmin(_filled(x, math.inf), axis, out, keepdims)


@without_nan(np.nanmean, mean)
def nanmean(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Any:
    """np.nanmean: of the numbers; NaN where there are none."""
    refuse_out("nanmean", out)
    refuse_integers("nanmean", dtype)
    x = x if dtype is None else convert(x, dtype)
    return nansum(x, axis, keepdims=keepdims, where=where) / counted(x, axis, keepdims, where)


def _variance(
    x: Any, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: bool, chosen: Any, middle: Any, correction: Any
) -> Any:
    refuse_out("nanvar", out)
    refuse_integers("nanvar", dtype)
    x = x if dtype is None else convert(x, dtype)
    middle = nanmean(x, axis, keepdims=True, where=chosen) if middle is None else middle
    deviation = where(isnan(x), 0.0, x - middle)
    dtype = real_dtype(x.dtype)
    left = real(counted(x, axis, keepdims, chosen)) - corrected(ddof, correction)
    total = sum(squares(deviation), axis, keepdims=keepdims, where=chosen)
    return defined_where(left > 0, total / where(left > 0, left, 1.0).astype(dtype)).astype(dtype)


@without_nan(np.nanvar, var)
def nanvar(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """np.nanvar: of the numbers; NaN where there are no more than `ddof`."""
    return _variance(x, axis, dtype, out, ddof, keepdims, where, mean, correction)


@without_nan(np.nanstd, std)
def nanstd(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """np.nanstd: √nanvar; where it is 0, so is its derivative."""
    return safe_sqrt(_variance(x, axis, dtype, out, ddof, keepdims, where, mean, correction))
