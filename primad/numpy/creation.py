"""NumPy's functions that make arrays, where they are given traced values; of others they are NumPy's own."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.numpy.elementwise import exp, floor, log, power, sign
from primad.numpy.promotion import (
    any_traced,
    as_shape,
    convert,
    expand,
    implements,
    joined,
    result_dtype,
    traced_operands,
)
from primad.numpy.shaping import concatenate, moveaxis, reshape

__all__ = [
    "array", "asanyarray", "asarray", "ascontiguousarray", "astype", "full", "geomspace", "linspace", "logspace",
]  # fmt: skip


def array(
    object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0
) -> Any:
    """np.array; nested lists may hold traced values.

    Example:
        >>> import primad, primad.numpy as np
        >>> primad.grad(lambda x: np.linalg.det(np.array([[x, 1.0], [2.0, x]])))(3.0)
        np.float64(6.0)
    """
    if not any_traced([object]):
        return np.array(object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin)
    x = joined(object)
    x = x if dtype is None else convert(x, dtype)
    return reshape(x, (1,) * (ndmin - x.ndim) + x.shape)


def asarray(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None) -> Any:
    """np.asarray; nested lists may hold traced values."""
    if not any_traced([a]):
        return np.asarray(a, dtype, order, device=device, copy=copy)
    return array(a, dtype)


def asanyarray(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None) -> Any:
    """np.asanyarray; nested lists may hold traced values."""
    return array(a, dtype) if any_traced([a]) else np.asanyarray(a, dtype, order, device=device, copy=copy)


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """np.ascontiguousarray; nested lists may hold traced values."""
    return array(a, dtype, ndmin=1) if any_traced([a]) else np.ascontiguousarray(a, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None) -> Any:
    """np.full; the value may be traced."""
    if not any_traced([fill_value]):
        return np.full(shape, fill_value, dtype, order, device=device)
    x = joined(fill_value)
    return expand(x if dtype is None else convert(x, dtype), as_shape(shape))


@implements(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """np.astype."""
    return convert(x, dtype)


def _ends(start: Any, stop: Any, num: Any) -> tuple[Any, Any, int, np.dtype[Any]]:
    """Return both ends as floats that are broadcast, the number of values, and the dtype of the result."""
    dtype = result_dtype(start, stop, float(operator.index(num)))
    count = operator.index(num)
    if count < 0:
        raise ShapeError(f"the number of values, {count}, must not be negative")
    first, last = (convert(x, dtype) for x in traced_operands(start, stop))
    shape = np.broadcast_shapes(first.shape, last.shape)
    return expand(first, shape), expand(last, shape), count, dtype


def _finished(x: Any, own: np.dtype[Any], dtype: Any, axis: int) -> Any:
    return moveaxis(convert(x, own if dtype is None else dtype), 0, axis) if axis else convert(x, dtype or own)


def _spaced(start: Any, stop: Any, count: int, endpoint: bool) -> tuple[Any, Any]:
    """Return values along a first axis, the ends exact, and the step."""
    parts = count - 1 if endpoint else count
    step = (stop - start) / float(parts) if parts > 0 else (stop - start) * math.nan
    numbers = np.arange(count, dtype=start.dtype).reshape((-1,) + (1,) * start.ndim)
    inner = numbers * step + start if parts > 0 else numbers * (stop - start) + start
    if endpoint and count > 1:
        inner = concatenate([inner[:-1], stop[None]])
    return inner, step


@implements(np.linspace)
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """np.linspace."""
    first, last, count, own = _ends(start, stop, num)
    found, step = _spaced(first, last, count, endpoint)
    if dtype is not None and np.dtype(dtype).kind in "iu":
        found = floor(found)
    found = _finished(found, own, dtype, axis)
    return (found, step) if retstep else found


@implements(np.logspace)
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """np.logspace, with one base."""
    if np.ndim(base):
        raise TracingError("np.logspace with several bases is not supported on traced arrays", fix="use np.linspace.")
    first, last, count, own = _ends(start, stop, num)
    found = power(base, _spaced(first, last, count, endpoint)[0])
    return moveaxis(found, 0, axis) if dtype is None else _finished(found, own, dtype, axis)


@implements(np.geomspace)
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """np.geomspace of ends of one sign."""
    first, last, count, own = _ends(start, stop, num)
    own = np.result_type(own, np.float64)
    first, last = convert(first, own), convert(last, own)
    side = sign(first)
    found = side * exp(_spaced(log(first / side), log(last / side), count, endpoint)[0])
    inner = found[1:-1] if endpoint else found[1:]
    first, last = first / side * side, last / side * side  # NaN where the sign is
    parts = [first[None], inner, *([last[None]] if endpoint else [])] if count > 1 else [first[None]][:count]
    return _finished(concatenate(parts) if parts else found, own, dtype, axis)
