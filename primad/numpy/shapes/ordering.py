"""NumPy's functions that search and choose by order; what their results' shapes need of values is computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import ops
from primad.errors import IndexShapeError, ShapeError, TracingError
from primad.ir.array_types import is_complex, is_float
from primad.numpy.axis_arguments import normalize_axes
from primad.numpy.elementwise.logic import isnan
from primad.numpy.elementwise.meeting_operands import sorts_before
from primad.numpy.elementwise.ufuncs import where
from primad.numpy.promotion import as_traced, convert, implements, joined, refuse_out, result_dtype, traced_operands
from primad.numpy.reduce.reductions import any, sum
from primad.numpy.shapes.indexing import take, take_along_axis
from primad.numpy.shapes.shaping import broadcast_to, concatenate, ravel, reshape
from primad.ops.record.operand_types import refuse_complex
from primad.recording.protocols import METHODS
from primad.recording.traced_array import TracedArray

__all__ = [
    "argwhere", "choose", "compress", "count_nonzero", "digitize", "extract", "flatnonzero", "intersect1d", "isin",
    "nonzero", "piecewise", "searchsorted", "select", "setdiff1d", "setxor1d", "trim_zeros", "union1d", "unique",
    "unique_all", "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip


def values_of(x: Any, what: str) -> np.ndarray[Any, Any]:
    """Return the values of a traced array (an error where they are not known), or a plain array."""
    return x._read(what) if isinstance(x, TracedArray) else np.asarray(x)


# -- searching ---------------------------------------------------------------------------------------------------------


def _before(x: Any, y: Any) -> Any:
    """Say whether x sorts before y: NaN comes last."""
    if is_complex(x.dtype):
        return sorts_before(x, y)
    return (x < y) | (isnan(y) & ~isnan(x)) if is_float(x.dtype) else x < y


@implements(np.searchsorted, method="searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """np.searchsorted: where values would stand in a sorted vector, by bisection; it has no derivative."""
    if side not in ("left", "right"):
        raise ShapeError(f"searchsorted: side must be 'left' or 'right', got {side!r}", fix="leave it out for 'left'.")
    dtype = result_dtype(a, v)
    a, v = (convert(x, dtype) for x in traced_operands(a, v))
    if a.ndim != 1:
        raise ShapeError(f"searchsorted: needs a vector, got shape {a.shape}", fix="np.ravel makes a vector.")
    a = a if sorter is None else take(a, sorter)
    n = a.shape[0]
    place = as_traced(np.zeros(v.shape, np.int64), v)
    step = 1 << n.bit_length()
    while n and (step := step >> 1):
        further = place + step
        known = ops.gather(a, ops.minimum(further, n) - 1, axis=0, batch=0)
        passed = _before(known, v) if side == "left" else ~_before(v, known)
        place = ops.select(passed & (further <= n), further, place)
    return place


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """np.digitize: the number of the bin of each value; it has no derivative."""
    if is_complex(result_dtype(x, bins)):
        raise refuse_complex("np.digitize")
    edges = values_of(joined(bins), "whether the bins of np.digitize rise")
    x, bins = traced_operands(x, bins)
    if np.all(edges[1:] >= edges[:-1]):
        return searchsorted(bins, x, "left" if right else "right")
    if not np.all(edges[1:] <= edges[:-1]):
        raise ShapeError("digitize: bins must rise or fall", fix="sort them: np.sort(bins).")
    return len(edges) - searchsorted(bins[::-1], x, "left" if right else "right")


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """np.count_nonzero."""
    return sum(convert(a, np.bool_), axis, keepdims=keepdims)


@implements(np.nonzero, method="nonzero")
def nonzero(a: Any) -> Any:
    """np.nonzero: plain indices, where values are known."""
    return np.nonzero(values_of(a, "which elements are not 0"))


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    """np.flatnonzero: plain indices, where values are known."""
    return np.flatnonzero(values_of(a, "which elements are not 0"))


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    """np.argwhere: plain indices, where values are known."""
    return np.argwhere(values_of(a, "which elements are not 0"))


# -- sets --------------------------------------------------------------------------------------------------------------


@implements(np.isin)
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """np.isin; it has no derivative."""
    dtype = result_dtype(element, test_elements)
    x, among = (convert(each, dtype) for each in traced_operands(element, test_elements))
    found = any(reshape(x, (*x.shape, 1)) == ravel(among), -1)
    return ~found if invert else found


@implements(np.unique)
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None,
    *, equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    """np.unique, sorted, where values are known: the elements chosen carry derivatives, places and counts are plain."""
    values = values_of(ar, "which elements are equal")
    _, index, inverse, counts = np.unique(values, True, True, True, axis, equal_nan=equal_nan)
    kept = take(ar, index, axis)
    asked = ((index, return_index), (inverse, return_inverse), (counts, return_counts))
    chosen = [found for found, wanted in asked if wanted]
    return (kept, *chosen) if chosen else kept


@implements(np.unique_values)
def unique_values(x: Any, /) -> Any:
    """np.unique_values, where values are known."""
    return unique(x, equal_nan=False)


@implements(np.unique_counts)
def unique_counts(x: Any, /) -> Any:
    """np.unique_counts, where values are known."""
    return type(np.unique_counts(np.zeros(0)))(*unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_inverse)
def unique_inverse(x: Any, /) -> Any:
    """np.unique_inverse, where values are known."""
    return type(np.unique_inverse(np.zeros(0)))(*unique(x, return_inverse=True, equal_nan=False))


@implements(np.unique_all)
def unique_all(x: Any, /) -> Any:
    """np.unique_all, where values are known."""
    return type(np.unique_all(np.zeros(0)))(*unique(x, True, True, True, equal_nan=False))


def _both(first: Any, second: Any) -> list[Any]:
    return [ravel(x) for x in traced_operands(first, second)]


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    """np.union1d, where values are known."""
    return unique(concatenate(_both(ar1, ar2)))


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """np.intersect1d, where values are known; the elements are those of the first array."""
    first, second = _both(ar1, ar2)
    values = [values_of(x, "which elements are in both") for x in (first, second)]
    _, places, others = np.intersect1d(values[0], values[1], assume_unique, True)
    found = convert(take(first, places), result_dtype(first, second))
    return (found, places, others) if return_indices else found


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """np.setdiff1d, where values are known."""
    first, second = _both(ar1, ar2)
    found = first if assume_unique else unique(first)
    return found[~isin(found, second)]


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """np.setxor1d, where values are known."""
    first, second = _both(ar1, ar2)
    return unique(concatenate([setdiff1d(first, second), setdiff1d(second, first)]))


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """np.trim_zeros along some axes or all, where values are known."""
    trim = trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ShapeError(f"trim_zeros: trim must be 'f', 'b' or 'fb', got {trim!r}", fix="leave it out for both ends.")
    filled = np.argwhere(values_of(filt, "which elements are 0"))
    index = []
    for place in range(filt.ndim):
        first, last = (filled[:, place].min(), filled[:, place].max()) if filled.size else (0, -1)
        both = slice(
            first if "f" in trim or not filled.size else None, last + 1 if "b" in trim or not filled.size else None
        )
        index.append(both if place in normalize_axes("trim_zeros", axis, filt.ndim) else slice(None))
    return filt[tuple(index)]


# -- choosing ----------------------------------------------------------------------------------------------------------


@implements(np.select, of_arrays=True)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """np.select: where several conditions hold, the first counts."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ShapeError(
            f"select: {len(condlist)} conditions for {len(choicelist)} choices", fix="give a choice for each condition."
        )
    conditions = [condition if isinstance(condition, TracedArray) else np.asarray(condition) for condition in condlist]
    if [c for c in conditions if c.dtype != np.bool_]:
        raise TracingError("select: conditions must be booleans", fix="compare, as in x > 0.")
    numbers = (int, float, bool)
    choices = [joined(choice) for choice in choicelist]
    choices = [c if type(c) in numbers or isinstance(c, TracedArray) else np.asarray(c) for c in choices]
    dtype = result_dtype(*choices, default)
    found = default
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        found = where(condition, choice, found)
    return convert(found, dtype) if isinstance(found, TracedArray) else found


@implements(np.choose, method="choose")
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """np.choose: each element from the array of its number; for a number out of range an error, clip or wrap."""
    refuse_out("choose", out)
    arrays = traced_operands(a, *choices)
    dtype = np.result_type(*[x.dtype for x in arrays[1:]])
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    number, *arrays = (broadcast_to(x, shape) for x in arrays)
    n = len(arrays)
    number = convert(number, np.int64)
    if mode not in ("raise", "clip", "wrap"):
        raise ShapeError(
            f"choose: mode must be 'raise', 'clip' or 'wrap', got {mode!r}", fix="leave it out for 'raise'."
        )
    if mode == "raise":
        number = ops.select(number < 0, ops.add(number * 0, n), number)  # out of range, not counted from the end
    else:
        number = number % n if mode == "wrap" else ops.maximum(ops.minimum(number, n - 1), 0)
    stacked = concatenate([convert(x, dtype)[None] for x in arrays])
    return take_along_axis(stacked, number[None], 0)[0]


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """np.piecewise; each function is called on the whole array, and counts where its condition holds."""
    conditions = condlist if isinstance(condlist, (list, tuple)) else [condlist]
    if not conditions:
        raise IndexShapeError("piecewise: no condition", fix="give one at least, such as x > 0.")
    if not isinstance(conditions[0], (list, tuple, np.ndarray, TracedArray)) and x.ndim:
        conditions = [conditions]
    conditions = [joined(c) if isinstance(c, (list, tuple, TracedArray)) else np.asarray(c, bool) for c in conditions]
    conditions = [c if isinstance(c, TracedArray) else np.asarray(c, bool) for c in conditions]
    count = len(conditions)
    if len(funclist) not in (count, count + 1):
        raise ShapeError(
            f"piecewise: {len(funclist)} functions for {count} conditions",
            fix="give a function for each condition, and perhaps one for all else.",
        )
    functions = list(funclist) if len(funclist) > count else [*funclist, 0]
    found = functions[-1](x, *args, **kw) if callable(functions[-1]) else functions[-1]
    found = where(np.ones(x.shape, bool), found, x).astype(x.dtype)
    for condition, function in zip(conditions, functions, strict=False):
        piece = function(x, *args, **kw) if callable(function) else function
        found = where(condition, piece, found).astype(x.dtype)
    return found


@implements(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """np.compress, where the condition's values are known."""
    refuse_out("compress", out)
    return take(a, np.flatnonzero(values_of(condition, "the condition of np.compress")), axis)


METHODS["compress"] = lambda x, condition, axis=None, out=None: compress(condition, x, axis, out)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """np.extract, where the condition's values are known."""
    (arr,) = traced_operands(arr) if isinstance(arr, TracedArray) else (np.asarray(arr),)
    return take(arr, np.flatnonzero(values_of(condition, "the condition of np.extract")))
