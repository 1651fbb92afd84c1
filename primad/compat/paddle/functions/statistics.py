"""Order and spread: sorting, searching, variances, medians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import primad.numpy as pn
from primad.compat.paddle.eager.operators import Prototype, apply, prototype
from primad.compat.paddle.functions.indexing import take_along_axis
from primad.compat.paddle.functions.manipulation import flatten, lengths
from primad.compat.paddle.functions.math import floating
from primad.compat.paddle.settings.dtypes import as_dtype


def _position(type: str, compute: Callable[..., Any], what: str) -> Callable[..., Any]:
    """Make a function of the position of an element from what computes it."""

    def find(x: Any, *, axis: int, keepdims: bool, flatten: bool, dtype: str) -> Any:
        return compute(x, axis=None if flatten else axis, keepdims=keepdims).astype(dtype)

    record = Prototype(type, find, attributes={"axis": -1, "keepdims": False, "flatten": False, "dtype": "int64"})

    def function(x: Any, axis: int | None = None, keepdim: bool = False, dtype: Any = "int64", name: Any = None) -> Any:
        place, named = -1 if axis is None else axis, as_dtype(dtype).name
        return apply(record, x, axis=place, keepdims=keepdim, flatten=axis is None, dtype=named, name=name)

    function.__name__ = function.__qualname__ = type.replace("_", "")
    function.__doc__ = f"Return the position of the first {what} element along an axis, by default of all of them."
    return function


argmax = _position("arg_max", pn.argmax, "largest")
argmin = _position("arg_min", pn.argmin, "smallest")


@prototype("argsort", axis=-1, descending=False)
def _argsort(x: Any, *, axis: int, descending: bool) -> Any:
    return pn.argsort(-x if descending else x, axis=axis, kind="stable")


def argsort(x: Any, axis: int = -1, descending: bool = False, stable: bool = False, name: Any = None) -> Any:
    """Return the positions that sort a tensor along an axis; equal elements keep their order."""
    return apply(_argsort, x, axis=axis, descending=descending, name=name)


def sort(x: Any, axis: int = -1, descending: bool = False, stable: bool = False, name: Any = None) -> Any:
    """Return the tensor sorted along an axis."""
    return take_along_axis(x, argsort(x, axis, descending), axis, broadcast=False)


def topk(
    x: Any, k: Any, axis: int | None = None, largest: bool = True, sorted: bool = True, name: Any = None
) -> tuple[Any, Any]:
    """Return the k largest (or smallest) elements along an axis, in order, and their positions."""
    place = (-1 if axis is None else axis) % len(x.shape)
    order = argsort(x, place, descending=largest)
    positions = order[(slice(None),) * place + (slice(0, int(k)),)]
    return take_along_axis(x, positions, place, broadcast=False), positions


def _spread(compute: Any) -> Any:
    def spread(x: Any, *, axis: tuple[int, ...], unbiased: bool, keepdim: bool) -> Any:
        return compute(floating(x), axis=axis or None, ddof=int(unbiased), keepdims=keepdim)

    return spread


_var = prototype("var", axis=(), unbiased=True, keepdim=False)(_spread(np.var))
_std = prototype("std", axis=(), unbiased=True, keepdim=False)(_spread(np.std))


def var(x: Any, axis: Any = None, unbiased: bool = True, keepdim: bool = False, name: Any = None) -> Any:
    """Return the variance over axes, by default over all; unbiased divides by n − 1."""
    return apply(_var, x, axis=() if axis is None else lengths(axis), unbiased=unbiased, keepdim=keepdim, name=name)


def std(x: Any, axis: Any = None, unbiased: bool = True, keepdim: bool = False, name: Any = None) -> Any:
    """Return the standard deviation over axes, by default over all; its derivative where it is 0 is 0."""
    return apply(_std, x, axis=() if axis is None else lengths(axis), unbiased=unbiased, keepdim=keepdim, name=name)


@prototype("median", axis=0, keepdim=False)
def _median(x: Any, *, axis: int, keepdim: bool) -> Any:
    return np.median(floating(x), axis=axis, keepdims=keepdim)


def median(x: Any, axis: int | None = None, keepdim: bool = False, mode: str = "avg", name: Any = None) -> Any:
    """Return the middle element along an axis, or the mean of the two middle ones; by default of all elements."""
    return apply(
        _median, flatten(x) if axis is None else x, axis=0 if axis is None else axis, keepdim=keepdim, name=name
    )


__all__ = ["argmax", "argmin", "argsort", "median", "sort", "std", "topk", "var"]
