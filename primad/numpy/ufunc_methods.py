"""The methods of NumPy's ufuncs on traced arrays: reduce, accumulate, reduceat, outer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad.errors import IndexShapeError, ShapeError
from primad.ir.array_types import check_dtype
from primad.numpy.axis_arguments import keep_axes, normalize_axes
from primad.numpy.elementwise.logic import logical_and, logical_or
from primad.numpy.elementwise.ufuncs import where as where_
from primad.numpy.promotion import convert, expand, refuse_out, traced_operands
from primad.numpy.reduce.largest import max, min
from primad.numpy.reduce.reductions import all, any, prod, sum
from primad.numpy.reduce.scans import cumprod, cumsum, scanned
from primad.numpy.shapes.shaping import concatenate, moveaxis, reshape, stack
from primad.ops.record.primitive import full
from primad.recording.protocols import METHODS, UFUNCS

__all__: list[str] = []


def _asked(ufunc: np.ufunc, method: str, x: Any, *args: Any, **options: Any) -> np.dtype[Any]:
    """Return the dtype that NumPy gives, which it is asked for with a small array; raise where it refuses."""
    sample = np.ones(np.minimum(x.shape, 2).astype(int), x.dtype)
    try:
        with np.errstate(all="ignore"):
            found = getattr(ufunc, method)(sample, *args, **options)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"np.{ufunc.__name__}.{method}: {error}", fix="leave out what NumPy refuses.") from None
    return check_dtype(found.dtype)


def _reduce(ufunc: np.ufunc, reduction: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reduction as NumPy's method, of a function of an array of the result's dtype and of axes."""

    def reduce(
        x: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = np._NoValue,
        where: Any = True,
    ) -> Any:  # fmt: skip
        refuse_out("reduce", out)
        options = {} if initial is np._NoValue else {"initial": initial}
        said: dict[str, Any] = {key: None if value is None else 1 for key, value in options.items()}
        said |= {} if where is True else {"where": np.ones((), np.bool_)}
        x = convert(x, _asked(ufunc, "reduce", x, axis, dtype=dtype, **said))
        axes = normalize_axes("reduce", axis, x.ndim) if x.ndim else ()
        return reduction(x, axes, keepdims=keepdims, where=where, **options)

    return reduce


def _reorderable(ufunc: np.ufunc) -> bool:
    """Say whether NumPy takes the elements in any order, as it must to reduce several axes at once."""
    try:
        ufunc.reduce(np.ones((1, 1), ufunc.types[0][0]), (0, 1))
    except (TypeError, ValueError):
        return False
    return True


def _halved(function: Callable[..., Any], rows: Any) -> Any:
    """Return what a function of two operands, which takes elements in any order, makes of rows."""
    while len(rows) > 1:
        half = len(rows) // 2
        pairs = function(rows[:half], rows[half : 2 * half])
        rows = concatenate([pairs, rows[2 * half :]]) if len(rows) % 2 else pairs
    return rows[0]


def _one_by_one(function: Callable[..., Any], first: Any, rows: Any, chosen: Any) -> Any:
    """Return what a function of two operands makes of the rows that are chosen, one after the other."""
    found = rows[0] if first is None else first
    for i in range(1 if first is None else 0, len(rows)):
        if chosen is None:
            found = function(found, rows[i])
        else:
            row = where_(chosen[i], rows[i], full(1, rows[i]))
            found = where_(chosen[i], function(found, row), found)
    return found


def _logical(reduction: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: Any, axes: Any, keepdims: bool, where: Any, initial: Any = None) -> Any:
        found = reduction(x, axes, keepdims=keepdims, where=where)
        return found if initial is None else function(found, initial)

    return reduce


def _folded(ufunc: np.ufunc, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reduction by a function of two operands."""
    any_order = _reorderable(ufunc)

    def reduce(x: Any, axes: Any, keepdims: bool, where: Any, initial: Any = np._NoValue) -> Any:
        kept = tuple([n for i, n in enumerate(x.shape) if i not in axes])
        count = math.prod([x.shape[i] for i in axes])

        def in_rows(each: Any) -> Any:
            return reshape(moveaxis(each, axes, tuple(range(len(axes)))), (count, *kept))

        chosen = None if where is True else in_rows(expand(traced_operands(where, x)[0], x.shape))
        if initial is np._NoValue:
            initial = ufunc.identity if count < 2 or chosen is not None else None
        first = None if initial is None else expand(convert(traced_operands(initial, x)[0], x.dtype), kept)
        if any_order and chosen is None and count > 1:
            found = _halved(function, in_rows(x))
            found = found if first is None else function(first, found)
        else:
            found = _one_by_one(function, first, in_rows(x), chosen)
        return keep_axes(found, x, axes, keepdims)

    return reduce


def _accumulate(ufunc: np.ufunc, scan: Callable[..., Any]) -> Callable[..., Any]:
    """Return the partial reductions, by a function of an array, one axis and a dtype."""

    def accumulate(x: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        refuse_out("accumulate", out)
        found = _asked(ufunc, "accumulate", x, axis, dtype=dtype)
        (place,) = normalize_axes("accumulate", axis, x.ndim)
        return scan(convert(x, found), place, found)

    return accumulate


def _chained(ufunc: np.ufunc, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the partial results of a function of two operands."""
    any_order = _reorderable(ufunc)

    def scan(x: Any, axis: int, dtype: Any) -> Any:
        x = convert(x, dtype)
        if any_order:
            return scanned(function, x, axis)
        parts = list(itertools.accumulate(moveaxis(x, axis, 0), function))
        return stack(parts, axis) if parts else x

    return scan


def _parts(ufunc: np.ufunc, reduce: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reductions of parts, which begin at given places."""

    def reduceat(x: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        refuse_out("reduceat", out)
        found = _asked(ufunc, "reduceat", x, [], axis, dtype=dtype)
        (place,) = normalize_axes("reduceat", axis, x.ndim)
        rows, starts = moveaxis(x, place, 0), np.asarray(indices).astype(np.intp)
        ends = [*starts[1:], rows.shape[0]][: len(starts)]
        if starts.ndim != 1 or (starts < 0).any() or (starts >= rows.shape[0]).any():
            raise IndexShapeError(
                f"reduceat: indices {indices} for an axis of length {rows.shape[0]}",
                fix="give a vector of places inside of it.",
            )
        pairs = zip(starts.tolist(), ends, strict=True)
        parts = [reduce(rows[a:b], 0, dtype) if b > a + 1 else convert(rows[a], found) for a, b in pairs]
        return stack(parts, place) if parts else convert(moveaxis(rows[:0], 0, place), found)

    return reduceat


def _outer(function: Callable[..., Any]) -> Callable[..., Any]:
    def outer(x: Any, y: Any) -> Any:
        x, y = traced_operands(x, y)
        return function(reshape(x, x.shape + (1,) * y.ndim), y)

    return outer


_REDUCTIONS = {
    "add": sum, "multiply": prod, "maximum": max, "minimum": min, "logical_and": _logical(all, logical_and),
    "logical_or": _logical(any, logical_or),
}  # fmt: skip
_SCANS = {"add": cumsum, "multiply": cumprod}


def register() -> None:
    """Register the methods of all ufuncs of two operands; the modules that register the ufuncs are imported by then."""
    for ufunc, function in UFUNCS.items():
        if isinstance(ufunc, np.ufunc) and ufunc.nin == 2 and ufunc.signature is None:
            name = ufunc.__name__
            METHODS[f"{name}.outer"] = _outer(function)
            if ufunc.nout == 1:
                reduction = _reduce(ufunc, _REDUCTIONS.get(name) or _folded(ufunc, function))
                METHODS[f"{name}.reduce"] = reduction
                METHODS[f"{name}.accumulate"] = _accumulate(ufunc, _SCANS.get(name) or _chained(ufunc, function))
                METHODS[f"{name}.reduceat"] = _parts(ufunc, reduction)
