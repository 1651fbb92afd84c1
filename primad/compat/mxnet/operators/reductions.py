"""Sums, products, extrema and norms along axes, sorting, and products of matrices.

Results have an axis at least: MXNet's arrays have no shape ().
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.compat.functions import REDUCTIONS, Function
from primad.compat.mxnet.graph.shape_rules import Clash, Shape, known, unify, written
from primad.compat.mxnet.imperative.operator_parameters import (
    Settings,
    boolean,
    choice,
    dtype,
    integer,
    optional_integer,
    real,
    shape,
)
from primad.compat.mxnet.operators.record import DType, operator


def chosen_axes(settings: Settings, ndim: int) -> tuple[int, ...]:
    """Return the axes that a reduction runs over: all, those given, or all others."""
    if settings.axis is None or settings.axis == ():
        return tuple(range(ndim))
    given = {axis % ndim for axis in settings.axis}
    return tuple(axis for axis in range(ndim) if (axis in given) != settings.exclude)


def _reduction_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    data = inputs[0]
    if data is None:
        return
    axes = chosen_axes(settings, len(data))
    found = [1 if i in axes else n for i, n in enumerate(data) if settings.keepdims or i not in axes]
    outputs[0] = unify(tuple(found) or (1,), outputs[0])


def _reduced(function: Function) -> Callable[..., Any]:
    def compute(settings: Settings, data: Any) -> Any:
        axes = chosen_axes(settings, data.ndim)
        result = function.compute(data, axis=axes, keepdims=settings.keepdims) if axes else data
        return pnp.reshape(result, result.shape or (1,)).astype(data.dtype)

    compute.__doc__ = f"{function.doc} exclude: the axis argument names those that stay."
    return compute


def _without_nan(function: Function, neutral: float) -> Function:
    """Return a reduction for which NaN counts as its neutral element."""
    return Function(
        lambda x, **options: function.compute(pnp.where(pnp.isnan(x), neutral, x), **options),
        f"{function.doc} NaN counts as {neutral:g}.",
    )


_AXES = {"axis": shape(None), "keepdims": boolean(False), "exclude": boolean(False)}
for _names, _function in {
    ("sum", "sum_axis"): REDUCTIONS["sum"],
    ("mean",): REDUCTIONS["mean"],
    ("prod",): REDUCTIONS["prod"],
    ("nansum",): _without_nan(REDUCTIONS["sum"], 0.0),
    ("nanprod",): _without_nan(REDUCTIONS["prod"], 1.0),
    ("max", "max_axis"): REDUCTIONS["max"],
    ("min", "min_axis"): REDUCTIONS["min"],
}.items():
    operator(*_names, parameters=_AXES, shapes=_reduction_shapes)(_reduced(_function))


@operator("norm", parameters={"ord": integer(2), "axis": shape(None), "keepdims": boolean(False)})
def norm(settings: Settings, data: Any) -> Any:
    """The Euclidean norm (ord=2), or the sum of absolute values (ord=1)."""
    axes = tuple(axis % data.ndim for axis in settings.axis or range(data.ndim))
    if settings.ord == 1:
        result = pnp.sum(pnp.abs(data), axis=axes, keepdims=settings.keepdims)
    else:
        result = _euclidean(data, axes, settings.keepdims)
    return pnp.reshape(result, result.shape or (1,))


def _euclidean(data: Any, axes: Sequence[int], keepdims: bool) -> Any:
    kept = [axis for axis in range(data.ndim) if axis not in axes]
    flat = pnp.reshape(pnp.transpose(data, (*kept, *axes)), (*[data.shape[axis] for axis in kept], -1))
    result = pnp.norm(flat, axis=-1)
    lengths = [1 if axis in axes else n for axis, n in enumerate(data.shape)]
    return pnp.reshape(result, tuple(lengths) if keepdims else tuple(data.shape[axis] for axis in kept))


@operator(
    "L2Normalization",
    parameters={"eps": real(1e-10), "mode": choice("channel", "instance", "spatial", default="instance")},
    hidden=1,
)
def l2_normalization(settings: Settings, data: Any) -> Any:
    """The data divided by its Euclidean norm, over all axes but the first, over axis 1, or over the axes from 2 on."""
    axes = {"instance": tuple(range(1, data.ndim)), "channel": (1,), "spatial": tuple(range(2, data.ndim))}
    total = pnp.sum(data * data, axis=axes[settings.mode], keepdims=True)
    return data / pnp.sqrt(total + settings.eps)


# -- positions of extrema, sorting -------------------------------------------------------------------------------------


def _positions(function: Callable[..., Any]) -> Callable[..., Any]:
    def compute(settings: Settings, data: Any) -> Any:
        if settings.axis is None:
            found = function(pnp.reshape(data, (-1,)), axis=0)
            return pnp.reshape(found, (1,) * data.ndim if settings.keepdims else (1,)).astype(data.dtype)
        place = settings.axis % data.ndim
        found = function(data, axis=place)
        if settings.keepdims:
            found = pnp.expand_dims(found, place)
        return pnp.reshape(found, found.shape or (1,)).astype(data.dtype)

    return compute


_ONE_AXIS = {"axis": integer(None), "keepdims": boolean(False)}
operator("argmax", parameters=_ONE_AXIS)(_positions(pnp.argmax))
operator("argmin", parameters=_ONE_AXIS)(_positions(pnp.argmin))


@operator("argmax_channel")
def argmax_channel(settings: Settings, data: Any) -> Any:
    """The position of the largest element along axis 1."""
    return pnp.argmax(data, axis=1).astype(data.dtype)


def _along(settings: Settings, data: Any) -> tuple[Any, int]:
    """Return the data, flattened if no axis is given, and the axis."""
    return (pnp.reshape(data, (-1,)), 0) if settings.axis is None else (data, settings.axis % data.ndim)


@operator("sort", parameters={"axis": optional_integer(-1), "is_ascend": boolean(True)})
def sort(settings: Settings, data: Any) -> Any:
    """The elements in order along an axis."""
    data, axis = _along(settings, data)
    found = pnp.sort(data, axis=axis)
    return found if settings.is_ascend else pnp.flip(found, axis)


def _descending(data: Any, axis: int, ascend: bool) -> Any:
    return pnp.argsort(data if ascend else -data, axis=axis)


def _index_type(settings: Settings, inputs: list[DType], outputs: list[DType]) -> None:
    outputs[0] = settings.dtype


@operator(
    "argsort",
    parameters={"axis": optional_integer(-1), "is_ascend": boolean(True), "dtype": dtype(np.float32)},
    types=_index_type,
)
def argsort(settings: Settings, data: Any) -> Any:
    """The positions of the elements in order along an axis."""
    data, axis = _along(settings, data)
    return _descending(data, axis, settings.is_ascend).astype(settings.dtype)


def _topk_types(settings: Settings, inputs: list[DType], outputs: list[DType]) -> None:
    of_values = {"value": [True], "indices": [False], "both": [True, False], "mask": [True]}[settings.ret_typ]
    for i, follows in enumerate(of_values):
        outputs[i] = (outputs[i] or inputs[0]) if follows else settings.dtype


@operator(
    "topk",
    parameters={
        "axis": optional_integer(-1),
        "k": integer(1),
        "ret_typ": choice("both", "indices", "mask", "value", default="indices"),
        "is_ascend": boolean(False),
        "dtype": dtype(np.float32),
    },
    outputs=lambda settings: 2 if settings.ret_typ == "both" else 1,
    hidden=lambda settings: int(settings.ret_typ == "value"),
    numbered=True,
    types=_topk_types,
)
def topk(settings: Settings, data: Any) -> Any:
    """The k largest elements along an axis (or the smallest), their positions, both, or a mask of them."""
    given = data
    data, axis = _along(settings, data)
    order = _descending(data, axis, settings.is_ascend)
    first = order[(*[slice(None)] * axis, slice(0, settings.k or data.shape[axis]))]
    if settings.ret_typ == "indices":
        return first.astype(settings.dtype)
    if settings.ret_typ == "mask":
        place = pnp.argsort(order, axis=axis)
        return pnp.reshape((place < first.shape[axis]).astype(data.dtype), given.shape)
    values = pnp.take_along_axis(data, first, axis=axis)
    return values if settings.ret_typ == "value" else (values, first.astype(settings.dtype))


# -- products ----------------------------------------------------------------------------------------------------------


def _dot_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    left, right = inputs
    if left is None or right is None:
        return
    left = tuple(reversed(left)) if settings.transpose_a else left
    right = tuple(reversed(right)) if settings.transpose_b else right
    if left[-1] and right[0] and left[-1] != right[0]:
        raise Clash(f"dot shape error: {written(inputs[0])} X {written(inputs[1])}")
    outputs[0] = unify((*left[:-1], *right[1:]) or (1,), outputs[0])


_TRANSPOSED = {"transpose_a": boolean(False), "transpose_b": boolean(False)}


@operator("dot", inputs=("lhs", "rhs"), parameters=_TRANSPOSED, shapes=_dot_shapes)
def dot(settings: Settings, lhs: Any, rhs: Any) -> Any:
    """The last axis of one array times the first of the other; transposed arrays have their axes reversed."""
    lhs = pnp.transpose(lhs) if settings.transpose_a else lhs
    rhs = pnp.transpose(rhs) if settings.transpose_b else rhs
    result = pnp.tensordot(lhs, rhs, 1)
    return pnp.reshape(result, result.shape or (1,))


def _batch_dot_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    left, right = inputs
    if left is None or right is None or not (known(left) and known(right)):
        return
    n, k = left[-2:][:: -1 if settings.transpose_a else 1]
    other, m = right[-2:][:: -1 if settings.transpose_b else 1]
    if left[:-2] != right[:-2] or k != other:
        raise Clash(f"Shape inconsistent, Provided = {written(right)}, inferred shape={written(left)}")
    outputs[0] = unify((*left[:-2], n, m), outputs[0])


@operator("batch_dot", inputs=("lhs", "rhs"), parameters=_TRANSPOSED, shapes=_batch_dot_shapes)
def batch_dot(settings: Settings, lhs: Any, rhs: Any) -> Any:
    """A matrix product for each index of the first axes."""
    lhs = pnp.swapaxes(lhs, -1, -2) if settings.transpose_a else lhs
    rhs = pnp.swapaxes(rhs, -1, -2) if settings.transpose_b else rhs
    return lhs @ rhs


@operator("cumsum", inputs=("a",), parameters={"axis": integer(None), "dtype": dtype(None)})
def cumsum(settings: Settings, a: Any) -> Any:
    """Sums of the elements up to each along an axis."""
    result = pnp.cumsum(a, axis=settings.axis)
    return result.astype(settings.dtype or a.dtype)
