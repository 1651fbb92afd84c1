"""NumPy's largest and smallest elements, and where they are; of complex numbers in NumPy's order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad import ops
from primad.errors import TracingError
from primad.ir.array_types import is_complex, is_float
from primad.numpy.axis_arguments import keep_axes, normalize_axis, reduced_axes
from primad.numpy.elementwise.logic import isnan
from primad.numpy.elementwise.ufuncs import maximum, minimum, where
from primad.numpy.promotion import any_traced, implements, refuse_out
from primad.numpy.reduce.reductions import begun, chosen, initial_value
from primad.numpy.shapes.shaping import ravel
from primad.ops.record.primitive import Primitive, full

__all__ = ["amax", "amin", "argmax", "argmin", "max", "min", "ptp"]


def _over(x: Any, reduced: Any, axis: int) -> Any:
    return ops.broadcast(reduced, shape=x.shape, axes=(axis,))


def _attained(record: Primitive, x: Any, axis: int, numbers_only: bool) -> Any:
    """Say which elements are the extreme one, or NaN where there is one, unless numbers alone are asked for."""
    if not is_complex(x.dtype):
        found = ops.equal(x, _over(x, record(x, axes=(axis,)), axis))
        return found | isnan(x) if is_float(x.dtype) else found
    worst = full(-math.inf if record is ops.reduce_max else math.inf, real := ops.real_part(x))
    missing = isnan(x)
    found = ~missing
    for part in (real, ops.imaginary_part(x)):
        found = found & ops.equal(part, _over(x, record(ops.select(found, part, worst), axes=(axis,)), axis))
    if numbers_only:
        return found
    some = ops.reduce_max(ops.truncate(missing, dtype="int64"), axes=(axis,))
    return ops.select(_over(x, some, axis) > 0, missing, found)


def _first(record: Primitive, x: Any, axis: int, numbers_only: bool = False) -> Any:
    """Return the place of the first extreme element along an axis; 0 where there is none."""
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    positions = np.broadcast_to(np.arange(x.shape[axis]).reshape(shape), x.shape)
    attained = _attained(record, x, axis, numbers_only)
    first = ops.reduce_min(where(attained, positions, x.shape[axis]), axes=(axis,))
    return where(first < x.shape[axis], first, 0) if numbers_only else first


def _first_over(record: Primitive, x: Any, axes: tuple[int, ...], numbers_only: bool = False) -> Any:
    """Return the first of the extreme complex numbers over axes, in NumPy's order.

    Args:
        record: `ops.reduce_max` or `ops.reduce_min`.
        x: complex numbers.
        axes: over which axes.
        numbers_only: whether those with NaN are passed over where there are others; else they come before others.
    """
    if not axes:
        return x
    if 0 in [x.shape[axis] for axis in axes]:
        return record(ops.real_part(x), axes=axes)  # an error that says so
    kept = tuple([axis for axis in range(x.ndim) if axis not in axes])
    rest = tuple([x.shape[axis] for axis in kept])
    rows = ops.reshape(ops.permute(x, order=(*kept, *axes)), shape=(*rest, math.prod([x.shape[a] for a in axes])))
    place = ops.reshape(_first(record, rows, len(rest), numbers_only), shape=(*rest, 1))
    return ops.reshape(ops.gather(rows, place, axis=len(rest), batch=len(rest)), shape=rest)


def extremum(record: Primitive, combine: Callable[[Any, Any], Any], name: str, numbers_only: bool = False) -> Any:
    """Return a function that takes what `np.max` does.

    Args:
        record: `ops.reduce_max` or `ops.reduce_min`.
        combine: the function of two arrays, for `initial`.
        name: its name.
        numbers_only: whether complex numbers with NaN are passed over.
    """

    def function(
        x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        refuse_out(name, out)
        axes = reduced_axes(name, axis, x.ndim)
        if where is not True:
            if initial is None or any_traced([initial]) or np.ndim(initial):
                raise TracingError(f"np.{name} with where= needs a plain number for initial=", fix="use np.where.")
            x = chosen(x, where, initial)
        if initial is not None and not math.prod([x.shape[i] for i in axes]):
            found = initial_value(initial, x, tuple([n for i, n in enumerate(x.shape) if i not in axes]))
            return keep_axes(found, x, axes, keepdims)
        found = _first_over(record, x, axes, numbers_only) if is_complex(x.dtype) else record(x, axes=axes)
        return begun(combine, keep_axes(found, x, axes, keepdims), initial)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"np.{name}: {record.doc} Of complex numbers, one of the first in NumPy's order."
    return function


max = amax = implements(np.max, np.amax, method="max")(extremum(ops.reduce_max, maximum, "max"))
min = amin = implements(np.min, np.amin, method="min")(extremum(ops.reduce_min, minimum, "min"))


@implements(np.ptp)
def ptp(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """np.ptp: largest minus smallest element."""
    return max(x, axis, out, keepdims) - min(x, axis, out, keepdims)


def _arg_extremum(name: str, record: Primitive) -> Any:
    def function(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        refuse_out(name, out)
        if axis is None or (x.ndim == 0 and not isinstance(axis, tuple) and axis in (0, -1)):
            return keep_axes(function(ravel(x), 0), x, tuple(range(x.ndim)), keepdims)
        place = normalize_axis(name, axis, x.ndim)
        return keep_axes(_first(record, x, place), x, (place,), keepdims)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"np.{name}: index of the first extreme element; it has no derivative."
    return function


argmax = implements(np.argmax, method="argmax")(_arg_extremum("argmax", ops.reduce_max))
argmin = implements(np.argmin, method="argmin")(_arg_extremum("argmin", ops.reduce_min))
