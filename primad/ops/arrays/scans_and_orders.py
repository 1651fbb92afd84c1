"""Running sums, orders, and largest and smallest elements along an axis; plain sums stand with broadcasts.

argsort is piecewise constant; a sort is a gather at its indices.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.axes import AxisMap, Running, along, moved_axes, moved_axis
from primad.ops.arrays.broadcasting import broadcast, sum
from primad.ops.arrays.reshaping import reversing
from primad.ops.blocked.blocked_reductions import reduction
from primad.ops.elementwise.conversion import cast
from primad.ops.elementwise.selection import mask
from primad.ops.record.fields import Indexing, MemoryUse, Work
from primad.ops.record.kinds import custom, linear, piecewise_constant
from primad.ops.record.primitive import Primitive
from primad.system.machine import STREAMED_BYTES

__all__ = ["argsort", "cumsum", "reduce_max", "reduce_min"]

Shape = tuple[int, ...]


def _cumsum(x: Any, *, axis: int, reverse: bool) -> Any:
    x = np.asarray(x)
    if reverse:
        return np.flip(np.cumsum(np.flip(x, axis), axis, dtype=x.dtype), axis)
    return np.cumsum(x, axis, dtype=x.dtype)


def _cumsum_few(x: ArrayType, *, axis: int, reverse: bool) -> Callable[[Any], Any]:
    dtype, back = x.dtype, reversing(x.ndim, (axis,))
    if reverse:
        return lambda x: x[back].cumsum(axis, dtype)[back]
    return methodcaller("cumsum", axis, dtype)


def _cumsum_type(x: ArrayType, *, axis: int, reverse: bool) -> ArrayType:
    if not 0 <= axis < x.ndim:
        raise ShapeError(f"cumsum: axis {axis} is out of range for shape {x.shape}", fix="name an axis of the operand.")
    return x


cumsum: Primitive = linear(
    "cumsum",
    numpy=_cumsum,
    infer=_cumsum_type,
    transpose=[lambda ct, x, *, axis, reverse: cumsum(ct, axis=axis, reverse=not reverse)],
    axes=lambda x, *, axis, reverse: along(x.ndim, [axis]),
    adapt=moved_axis,
    indexing=Indexing(running=lambda x, *, axis, reverse: Running(0, axis, reverse)),
    work=Work(few=_cumsum_few),
    doc="Running sums along an axis, from its start or (reverse) from its end.",
)


def _extremum_type(x: ArrayType, *, axes: Shape) -> ArrayType:
    if any(not 0 <= axis < x.ndim for axis in axes) or len(set(axes)) != len(axes):
        raise ShapeError(
            f"max/min: axes {axes} are out of range for shape {x.shape}", fix="name axes of the operand, each once."
        )
    if any(x.shape[axis] == 0 for axis in axes):
        raise ShapeError(
            f"max/min of an empty axis: shape {x.shape}, axes {axes}",
            fix="leave empty arrays out: they have no largest element.",
        )
    return ArrayType(tuple([n for axis, n in enumerate(x.shape) if axis not in axes]), x.dtype)


def _extremum_few(both: np.ufunc, x: ArrayType, *, axes: Shape) -> Callable[[Any], Any] | None:
    dtype = x.dtype
    return (lambda x: both.reduce(x, axes, dtype)) if len(axes) == x.ndim and x.nbytes < STREAMED_BYTES else None


def _extremum_axes(x: ArrayType, *, axes: Shape) -> AxisMap:
    """The largest element of a whole axis is no sum over its parts: it is mixed."""
    labels = tuple([None if axis in axes else axis for axis in range(x.ndim)])
    return AxisMap((labels,), (tuple([label for label in labels if label is not None]),))


def _extremum_tangent(beats: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return the mean of the tangents of the elements that attain the extremum: the derivatives of ties sum to 1.

    They are those that the extremum does not beat, which all do not where it is NaN: so that a NaN is not hidden.
    """

    def rule(tangent: Any, out: Any, x: Any, *, axes: Shape) -> Any:
        attained = ~beats(broadcast(out, shape=x.shape, axes=axes), x)
        count = sum(cast(attained, dtype=str(x.dtype)), axes=axes)
        return sum(mask(attained, tangent), axes=axes) / count

    return rule


reduce_max: Primitive = custom(
    "reduce_max",
    numpy=partial(reduction, np.maximum),
    infer=_extremum_type,
    jvp=[_extremum_tangent(operator.gt)],
    axes=_extremum_axes,
    adapt=moved_axes,
    memory=MemoryUse(each=True),
    work=Work(few=partial(_extremum_few, np.maximum)),
    doc="The largest element along axes; ties share the derivative equally, and so do all where it is NaN.",
)

reduce_min: Primitive = custom(
    "reduce_min",
    numpy=partial(reduction, np.minimum),
    infer=_extremum_type,
    jvp=[_extremum_tangent(operator.lt)],
    axes=_extremum_axes,
    adapt=moved_axes,
    memory=MemoryUse(each=True),
    work=Work(few=partial(_extremum_few, np.minimum)),
    doc="The smallest element along axes; ties share the derivative equally, and so do all where it is NaN.",
)


def _argsort_type(x: ArrayType, *, axis: int) -> ArrayType:
    if not 0 <= axis < x.ndim:
        raise ShapeError(
            f"argsort: axis {axis} is out of range for shape {x.shape}", fix="name an axis of the operand."
        )
    return ArrayType(x.shape, np.dtype(np.int64))


argsort: Primitive = piecewise_constant(
    "argsort",
    numpy=lambda x, *, axis: np.argsort(x, axis=axis, kind="stable"),
    infer=_argsort_type,
    axes=lambda x, *, axis: along(x.ndim, [axis]),
    adapt=moved_axis,
    doc="Indices that sort along an axis; equal elements keep their order.",
)
