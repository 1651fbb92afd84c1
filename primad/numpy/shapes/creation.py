"""NumPy's functions that make arrays: of traced values, or so that traced values can be written into them.

Outside of a recording, arrays of plain values are NumPy's own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.numpy.axis_arguments import as_shape
from primad.numpy.elementwise.ufuncs import exp, floor, log, power, sign
from primad.numpy.inplace.writable import writable
from primad.numpy.promotion import (
    any_traced,
    as_traced,
    check_layout,
    convert,
    expand,
    first_traced,
    implements,
    joined,
    result_dtype,
    traced_operands,
)
from primad.numpy.shapes.shaping import concatenate, moveaxis, reshape
from primad.recording.traced_array import TracedArray, settled

__all__ = [
    "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "astype", "copy",
    "empty", "empty_like", "eye", "full", "full_like", "geomspace", "identity", "isfortran", "linspace", "logspace",
    "may_share_memory", "ones", "ones_like", "require", "shares_memory", "tri", "zeros", "zeros_like",
]  # fmt: skip
F = TypeVar("F", bound=Callable[..., Any])


def _made(function: F) -> F:
    """Return a function whose results, where they are plain arrays, traced values can be written into."""

    @wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        return found if isinstance(found, TracedArray) else writable(found)

    return cast(F, make)


def array(
    object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    ndmax: int = 0,
) -> Any:  # fmt: skip
    """np.array; nested lists may hold traced values, and the array may be written to.

    Without `copy`, what is returned of a plain array is a plain array: it may share its memory, which has no room for
    traced values. `copy` may be NumPy's own word for it too (`numpy._CopyMode`), as the Array-API's packages give it.

    Example:
        >>> import primad, primad.numpy as np
        >>> primad.grad(lambda x: np.linalg.det(np.array([[x, 1.0], [2.0, x]])))(3.0)
        np.float64(6.0)
    """
    copy = _COPIES.get(copy, copy)
    if isinstance(object, TracedArray) and not copy and (dtype is None or object.dtype == dtype):
        return object[(None,) * (ndmin - object.ndim)] if object.ndim < ndmin else object
    given = settled(object)
    if not any_traced([given]):
        most: dict[str, Any] = {"ndmax": ndmax} if ndmax else {}  # of NumPy 2.4 and later
        found = np.array(given, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin, **most)
        return found if not copy and _may_be_shared(object) else writable(found)
    if copy is False:
        raise ShapeError("array: it cannot be made without a copy", fix="use np.asarray, which copies where it has to.")
    x = joined(given)
    if ndmax and x.ndim > ndmax:
        raise ShapeError(
            f"array: {x.ndim} axes are more than ndmax={ndmax}",
            why="Arrays of arrays are not traced.",
            fix="leave ndmax out.",
        )
    x = x if dtype is None else convert(x, dtype)
    return writable(reshape(x, (1,) * (ndmin - x.ndim) + x.shape))


_COPIES = {np._CopyMode.ALWAYS: True, np._CopyMode.NEVER: False, np._CopyMode.IF_NEEDED: None}


def _may_be_shared(given: Any) -> bool:
    """Say whether an array that is made without a copy may be the memory of what it is made of."""
    return not isinstance(given, (TracedArray, list, tuple, bool, int, float, np.generic))


def asarray(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None) -> Any:
    """np.asarray; nested lists may hold traced values."""
    if isinstance(a, TracedArray) and not copy and (dtype is None or a.dtype == dtype):
        return a
    given = settled(a)
    if any_traced([given]):
        return array(given, dtype)
    found = np.asarray(given, dtype, order, device=device, copy=copy)
    return found if not copy and _may_be_shared(a) else writable(found)


def asanyarray(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None) -> Any:
    """np.asanyarray; nested lists may hold traced values."""
    if not isinstance(a, TracedArray) and not any_traced([a]):
        return np.asanyarray(a, dtype, order, device=device, copy=copy)
    return asarray(a, dtype, order, device=device, copy=copy)


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """np.ascontiguousarray; nested lists may hold traced values."""
    return array(a, dtype, ndmin=1) if any_traced([settled(a)]) else np.ascontiguousarray(a, dtype)


def asfortranarray(a: Any, dtype: Any = None) -> Any:
    """np.asfortranarray; traced arrays have no order in memory, so it converts and makes at least one axis."""
    return array(a, dtype, ndmin=1) if any_traced([settled(a)]) else np.asfortranarray(a, dtype)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """np.asarray_chkfinite, where values are known.

    Raises:
        ShapeError: if an element is not finite.
        TracingError: where values are not known, under `jit`.
    """
    given = settled(a)
    if not any_traced([given]):
        np.asarray_chkfinite(given, dtype, order)
        return asarray(a, dtype, order)
    x = asarray(joined(given), dtype)
    if x.dtype.kind == "f" and not np.isfinite(x._read("whether all elements are finite")).all():
        raise ShapeError("array must not contain infs or NaNs", fix="np.nan_to_num puts numbers in their place.")
    return x


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """np.require; traced arrays meet all requirements on memory, and with "W" may be written to.

    Raises:
        ValueError, KeyError: for requirements that NumPy refuses.
    """
    given = settled(a)
    if not any_traced([given]):
        return np.require(given, dtype, requirements, like=settled(like))
    np.require(np.zeros(1), None, requirements)
    wants = {str(each).upper() for each in requirements or ()}
    return (array if wants & {"W", "WRITEABLE"} else asarray)(given, dtype)


@implements(np.isfortran)
def isfortran(a: Any) -> bool:
    """np.isfortran: traced arrays are not, having no order in memory."""
    return False


@implements(np.may_share_memory)
def may_share_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """np.may_share_memory: what is written into a traced array is seen in it, and in no other."""
    return a is b and a.size > 0


@implements(np.shares_memory)
def shares_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """np.shares_memory: what is written into a traced array is seen in it, and in no other."""
    return a is b and a.size > 0


def zeros(shape: Any, dtype: Any = float, order: Any = "C", *, device: Any = None, like: Any = None) -> Any:
    """np.zeros, which may be written to.

    Example:
        >>> import primad, primad.numpy as np
        >>> def powers(x):
        ...     y = np.zeros(3)
        ...     y[0] = 1.0
        ...     for i in range(2):
        ...         y[i + 1] = x * y[i]
        ...     return y
        >>> primad.jacobian(powers)(3.0)[:]
        array([0., 1., 6.])
    """
    return writable(np.zeros(shape, dtype, order, device=device, like=settled(like)))


def ones(shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None) -> Any:
    """np.ones, which may be written to."""
    return writable(np.ones(shape, dtype, order, device=device, like=settled(like)))


def empty(shape: Any, dtype: Any = float, order: Any = "C", *, device: Any = None, like: Any = None) -> Any:
    """np.empty, which may be written to."""
    return writable(np.empty(shape, dtype, order, device=device, like=settled(like)))


def eye(
    N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: Any = "C", *, device: Any = None, like: Any = None
) -> Any:
    """np.eye, which may be written to."""
    return writable(np.eye(N, M, k, dtype, order, device=device, like=settled(like)))


def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """np.identity, which may be written to."""
    return writable(np.identity(n, dtype, like=settled(like)))


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, like: Any = None) -> Any:
    """np.tri, which may be written to."""
    return writable(np.tri(N, M, k, dtype, like=settled(like)))


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
) -> Any:
    """np.full; the value may be traced, and the array may be written to."""
    value = settled(fill_value)
    if not any_traced([value]):
        return writable(np.full(shape, value, dtype, order, device=device, like=settled(like)))
    x = joined(value)
    return writable(expand(x if dtype is None else convert(x, dtype), as_shape(shape)))


@_made
@implements(np.zeros_like)
def zeros_like(
    x: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """np.zeros_like, which may be written to; the zeros depend on nothing."""
    check_layout("zeros_like", order, device)
    return writable(np.zeros(x.shape if shape is None else shape, dtype or x.dtype, device=device))


@_made
@implements(np.ones_like)
def ones_like(
    x: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """np.ones_like, which may be written to; the ones depend on nothing."""
    check_layout("ones_like", order, device)
    return writable(np.ones(x.shape if shape is None else shape, dtype or x.dtype, device=device))


@_made
@implements(np.empty_like)
def empty_like(
    prototype: Any, /, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """np.empty_like, which may be written to."""
    check_layout("empty_like", order, device)
    own = prototype.shape if shape is None else shape
    return writable(np.empty(own, dtype or prototype.dtype, device=device))


@_made
@implements(np.full_like)
def full_like(
    x: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """np.full_like; the value may be traced, and the array may be written to."""
    check_layout("full_like", order, device)
    like = first_traced([x, fill_value])
    filled = convert(as_traced(fill_value, like), dtype or x.dtype)
    own = x.shape if isinstance(x, TracedArray) else np.shape(x)
    return writable(expand(filled, own if shape is None else as_shape(shape)))


@_made
@implements(np.copy, method="copy")
def copy(x: Any, order: Any = "K", subok: bool = False) -> Any:
    """np.copy; it may be written to, which leaves x as it is."""
    check_layout("copy", order)
    return writable(x)


@implements(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """np.astype."""
    check_layout("astype", device=device)
    return convert(x, dtype)


def _ends(start: Any, stop: Any, num: Any) -> tuple[Any, Any, int, np.dtype[Any]]:
    """Return both ends as floats that are broadcast, the number of values, and the dtype of the result."""
    dtype = result_dtype(start, stop, float(operator.index(num)))
    count = operator.index(num)
    if count < 0:
        raise ShapeError(f"the number of values, {count}, must not be negative", fix="write 0 or more.")
    first, last = (convert(x, dtype) for x in traced_operands(start, stop))
    shape = np.broadcast_shapes(first.shape, last.shape)
    return expand(first, shape), expand(last, shape), count, dtype


def _finished(x: Any, own: np.dtype[Any], dtype: Any, axis: int) -> Any:
    axis = operator.index(axis)
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
    check_layout("linspace", device=device)
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
