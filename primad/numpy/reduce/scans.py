"""NumPy's scans: running sums and products along an axis."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.promotion import accumulator, convert, implements, refuse_out
from primad.numpy.shapes.shaping import concatenate, in_a_row, moveaxis, stack
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum"]

_WRITTEN_OUT = 32
"""Up to how many products are nodes of their own, which laws see and tiles take; more are a loop, compiled sooner."""


@implements(np.cumsum, method="cumsum")
def cumsum(x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """np.cumsum."""
    refuse_out("cumsum", out)
    x = convert(x, accumulator(x.dtype) if dtype is None else dtype)
    x, axis = in_a_row(x, axis)
    return ops.cumsum(x, axis=normalize_axis("cumsum", axis, x.ndim), reverse=False)


def scanned(combine: Any, x: Any, axis: int) -> Any:
    """Return what an associative function, of what is before and behind, makes of the first elements, by doubling."""
    moved = moveaxis(x, axis, 0)
    shift = 1
    while shift < moved.shape[0]:
        moved = ops.concatenate(moved[:shift], combine(moved[:-shift], moved[shift:]), axis=0)
        shift *= 2
    return moveaxis(moved, 0, axis)


class RowLoops:
    """Loops over rows, which some functions are where they are long.

    Attributes:
        scan: (step, carry, rows) -> the last carry, and results stacked; set by `primad.functional.control.user_loops`,
            which lies above.
    """

    scan: ClassVar[Callable[..., tuple[Any, Any]]]


def _running_products(x: Any, *, axis: int) -> Any:
    """One factor after the other: products of some in the middle may overflow where what comes before them is 0."""
    rows = moveaxis(x, axis, 0)
    if len(rows) <= _WRITTEN_OUT:
        found = stack(list(itertools.accumulate(rows, ops.mul))) if len(rows) else rows
    else:
        _, found = RowLoops.scan(lambda total, row: (total * row,) * 2, np.ones(rows.shape[1:], rows.dtype), rows)
    return moveaxis(found, 0, axis)


cumprod_: Primitive = composite(
    "cumprod",
    numpy=lambda x, *, axis: np.cumprod(x, axis=axis, dtype=x.dtype),
    lower=_running_products,
    infer=lambda x, *, axis: x,
    doc="Products of the first elements, without division, so zeros are harmless at every order.",
)


@implements(np.cumprod, method="cumprod")
def cumprod(x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """np.cumprod."""
    refuse_out("cumprod", out)
    x = convert(x, accumulator(x.dtype) if dtype is None else dtype)
    x, axis = in_a_row(x, axis)
    return cumprod_(x, axis=normalize_axis("cumprod", axis, x.ndim))


def _cumulative(scan: Any, start: int, x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool) -> Any:
    refuse_out("cumulative_sum and cumulative_prod", out)
    if axis is None and x.ndim > 1:
        raise ShapeError(f"an array with {x.ndim} axes has no single running total", fix="give the axis.")
    x, axis = in_a_row(x, axis)
    found = scan(x, axis, dtype)
    if not include_initial:
        return found
    place = normalize_axis("cumulative_sum", axis, x.ndim)
    shape = (*x.shape[:place], 1, *x.shape[place + 1 :])
    return concatenate([np.full(shape, start, found.dtype), found], place)


@implements(np.cumulative_sum)
def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    """np.cumulative_sum."""
    return _cumulative(cumsum, 0, x, axis, dtype, out, include_initial)


@implements(np.cumulative_prod)
def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    """np.cumulative_prod."""
    return _cumulative(cumprod, 1, x, axis, dtype, out, include_initial)


COMPOSITES = [cumprod_]
