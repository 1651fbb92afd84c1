"""The methods of NumPy's ufuncs on traced arrays: reduce, accumulate, reduceat, outer."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from primad import ops
from primad.errors import IndexShapeError, ShapeError
from primad.numpy.promotion import normalize_axis, refuse_out, traced_operands
from primad.numpy.reductions import all, any, max, min, prod, sum
from primad.numpy.scans import cumprod, cumsum, scanned
from primad.numpy.shaping import expand_dims, moveaxis, reshape, stack
from primad.protocols import METHODS, UFUNCS

__all__: list[str] = []


def _reduce(reduction: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(
        x: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any
    ) -> Any:
        refuse_out("reduce", out)
        options |= {} if dtype is None else {"dtype": dtype}
        return reduction(x, axis, keepdims=keepdims, **options)

    return reduce


def _accumulate(scan: Callable[..., Any]) -> Callable[..., Any]:
    def accumulate(x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        refuse_out("accumulate", out)
        return scan(x, axis, dtype)

    return accumulate


def _extremes(extremum: Any) -> Callable[..., Any]:
    def scan(x: Any, axis: int, dtype: Any) -> Any:
        x = x if dtype is None else x.astype(dtype)
        return scanned(extremum, x, normalize_axis("accumulate", axis, x.ndim))

    return scan


def _folded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reduction by a function of two operands, one element after the other."""

    def reduce(x: Any, axis: Any = 0, out: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
        if isinstance(axis, tuple) and len(axis) == 1:
            axis = axis[0]
        if axis is None and x.ndim == 1:
            axis = 0
        place = normalize_axis("reduce", axis, x.ndim)
        parts = [*([] if initial is None else [initial]), *moveaxis(x, place, 0)]
        if not parts:
            raise ShapeError("reduce: there are no elements")
        found = functools.reduce(function, parts)
        return expand_dims(found, place) if keepdims else found

    return _reduce(reduce)


def _chained(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the partial results of a reduction, one element after the other."""

    def scan(x: Any, axis: int, dtype: Any) -> Any:
        x = x if dtype is None else x.astype(dtype)
        place = normalize_axis("accumulate", axis, x.ndim)
        parts = list(itertools.accumulate(moveaxis(x, place, 0), function))
        return stack(parts, place) if parts else x

    return scan


def _parts(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reductions of parts, which begin at given places."""

    def reduceat(x: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        refuse_out("reduceat", out)
        place = normalize_axis("reduceat", axis, x.ndim)
        rows, starts = moveaxis(x, place, 0), np.asarray(indices)
        ends = [*starts[1:], rows.shape[0]]
        if starts.ndim != 1 or (starts < 0).any() or (starts >= rows.shape[0]).any():
            raise IndexShapeError(f"reduceat: indices {indices} for an axis of length {rows.shape[0]}")
        pairs = zip(starts.tolist(), ends, strict=True)
        found = [reduce(rows[a : b if b > a else a + 1], 0, dtype) for a, b in pairs]
        return stack(found, place) if found else rows[:0]

    return reduceat


def _outer(function: Callable[..., Any]) -> Callable[..., Any]:
    def outer(x: Any, y: Any) -> Any:
        x, y = traced_operands(x, y)
        return function(reshape(x, x.shape + (1,) * y.ndim), y)

    return outer


_REDUCTIONS = {"add": sum, "multiply": prod, "maximum": max, "minimum": min, "logical_and": all, "logical_or": any}
_SCANS = {
    "add": cumsum,
    "multiply": cumprod,
    "maximum": _extremes(ops.maximum),
    "minimum": _extremes(ops.minimum),
}
METHODS |= {f"{name}.reduce": _reduce(reduction) for name, reduction in _REDUCTIONS.items()}
METHODS |= {f"{name}.accumulate": _accumulate(scan) for name, scan in _SCANS.items()}
for _ufunc, _function in UFUNCS.items():
    if isinstance(_ufunc, np.ufunc) and _ufunc.nin == 2 and _ufunc.signature is None:
        _name = _ufunc.__name__
        METHODS[f"{_name}.outer"] = _outer(_function)
        if _ufunc.nout == 1:
            METHODS.setdefault(f"{_name}.reduce", _folded(_function))
            METHODS.setdefault(f"{_name}.accumulate", _accumulate(_chained(_function)))
            METHODS[f"{_name}.reduceat"] = _parts(METHODS[f"{_name}.reduce"])
