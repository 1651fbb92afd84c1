"""NumPy's functions that sort; complex numbers by real parts, and by imaginary ones where these are equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.ir.array_types import complex_dtype, is_complex
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.elementwise.logic import isnan
from primad.numpy.promotion import convert, implements, traced_operands
from primad.numpy.shapes.indexing import take_along_axis
from primad.numpy.shapes.shaping import in_a_row, ravel
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive

__all__ = ["argpartition", "argsort", "lexsort", "partition", "sort", "sort_complex"]


def _sort(x: Any, *, axis: int) -> Any:
    """A gather at the (stable) order of the elements."""
    order = (*(i for i in range(x.ndim) if i != axis), axis)
    moved = ops.permute(x, order=order)
    indices = ops.argsort(moved, axis=x.ndim - 1)
    picked = ops.gather(moved, indices, axis=x.ndim - 1, batch=x.ndim - 1)
    return ops.permute(picked, order=tuple([order.index(i) for i in range(x.ndim)]))


sort_: Primitive = composite(
    "sort", numpy=lambda x, *, axis: np.sort(x, axis=axis, kind="stable"), lower=_sort, doc="Sorted copy."
)


def _falling(x: Any, axis: Any) -> Any:
    """Return the order from the largest element down, in which equal ones stay as they are."""
    x, axis = in_a_row(x, axis)
    return np.shape(x)[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, stable=True), axis)


def _plain_argsort(a: Any, axis: Any = -1, *args: Any, descending: bool = False, **options: Any) -> Any:
    return _falling(a, axis) if descending else np.argsort(a, axis, *args, **options)


def _plain_sort(a: Any, axis: Any = -1, *args: Any, descending: bool = False, **options: Any) -> Any:
    found = np.sort(a, axis, *args, **options)
    return np.flip(found, axis or 0) if descending else found


def _check_options(name: str, *args: Any, length: int = 0, **options: Any) -> None:
    """Raise where NumPy refuses options of a sort, which say nothing about values here."""
    if args or set(options.values()) != {None}:
        try:
            getattr(np, name)(np.zeros(length), *args, **options)
        except (TypeError, ValueError) as error:
            raise ShapeError(f"{name}: {error}", fix="leave out what NumPy refuses.") from None


@implements(_plain_argsort, np.argsort, method="argsort")
def argsort(
    x: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False
) -> Any:
    """np.argsort, stable; it has no derivative. `descending` is of the Array-API standard: the largest is first."""
    _check_options("sort", kind=kind, order=order, stable=stable)
    if descending:
        return _falling(x, axis)
    x, axis = in_a_row(x, axis)
    return _order(x, normalize_axis("argsort", axis, x.ndim))


@implements(_plain_sort, np.sort)
def sort(
    x: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False
) -> Any:
    """np.sort: the derivative is the permutation that sorts; equal elements keep their order.

    Complex numbers are in NumPy's order: by real parts, those with equal ones by imaginary parts.
    `descending` is of the Array-API standard: the largest element is first.
    """
    _check_options("sort", kind=kind, order=order, stable=stable)
    if axis is None:
        x, axis = ravel(x), 0
    place = normalize_axis("sort", axis, x.ndim)
    found = take_along_axis(x, _order(x, place), place) if is_complex(x.dtype) else sort_(x, axis=place)
    return np.flip(found, axis) if descending else found


def _along(x: Any, axis: Any) -> int:
    return int(x.size if axis is None else x.shape[normalize_axis("partition", axis, x.ndim)])


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    """np.partition: sorted altogether."""
    _check_options("partition", kth, length=_along(a, axis), kind=kind, order=order)
    return sort(a, axis)


@implements(np.argpartition, method="argpartition")
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    """np.argpartition: of all elements in order."""
    _check_options("partition", kth, length=_along(a, axis), kind=kind, order=order)
    return argsort(a, axis)


@implements(np.lexsort, of_arrays=True)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """np.lexsort: the last key counts first; it has no derivative."""
    keys = traced_operands(*keys)
    return _by_keys(keys, normalize_axis("lexsort", axis, keys[0].ndim))


def _by_keys(keys: Any, axis: int) -> Any:
    """Return the order by several keys, of which the last counts first."""
    order = _order(keys[0], axis)
    for key in keys[1:]:
        order = take_along_axis(order, _order(take_along_axis(key, order, axis), axis), axis)
    return order


def _order(x: Any, axis: int) -> Any:
    """Return the order of elements; NaN comes last, of complex numbers those in which the real part is."""
    if not is_complex(x.dtype):
        return ops.argsort(x, axis=axis)
    real, imaginary = ops.real_part(x), ops.imaginary_part(x)
    missing = 2 * convert(isnan(real), np.int64) + convert(isnan(imaginary), np.int64)
    return _by_keys([imaginary, real, missing], axis)


@implements(np.sort_complex)
def sort_complex(a: Any) -> Any:
    """np.sort_complex: sorted along the last axis, as complex numbers, of short integers in single precision."""
    if is_complex(a.dtype):
        return sort(a)
    real = np.float32 if a.dtype.kind in "iu" and a.dtype.itemsize <= 2 else np.float64
    return sort(convert(a, complex_dtype(np.dtype(real))))


COMPOSITES = [sort_]
