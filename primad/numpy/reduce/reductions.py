"""NumPy's reductions: sums, products, extremes and statistics over axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError, TracingError
from primad.ir.array_types import is_float, real_dtype
from primad.ir.law_families import scales
from primad.ir.node import Node, Trace
from primad.numpy.axis_arguments import keep_axes, normalize_axes, normalize_axis, reduced_axes
from primad.numpy.elementwise.complex_numbers import real, squares
from primad.numpy.elementwise.square_roots import safe_sqrt
from primad.numpy.elementwise.ufuncs import where
from primad.numpy.promotion import (
    accumulator,
    any_traced,
    as_float,
    as_traced,
    convert,
    expand,
    implements,
    joined,
    refuse_out,
    traced_operands,
)
from primad.ops.record.fields import Law
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive, apply, full
from primad.recording.traced_array import TracedArray

__all__ = ["all", "any", "average", "mean", "prod", "std", "sum", "var"]

Axes = tuple[int, ...]


def _count(x: Any, axes: Axes) -> int:
    return math.prod([x.shape[axis] for axis in axes])


def _over(x: Any, reduced: Any, axes: Axes) -> Any:
    return ops.broadcast(reduced, shape=x.shape, axes=axes)


def _mean(x: Any, *, axes: Axes) -> Any:
    if x.dtype == np.float16:  # the sum and the count overflow half precision, as NumPy knows
        return ops.cast(_mean(ops.cast(x, dtype="float32"), axes=axes), dtype="float16")
    return ops.sum(x, axes=axes) / float(_count(x, axes))


def _variance(x: Any, *, axes: Axes, ddof: Any) -> Any:
    d = x - _over(x, mean_(x, axes=axes), axes)
    left = _count(x, axes) - ddof
    return ops.sum(squares(d), axes=axes) / float(left if left > 0 else 0)  # as NumPy: ∞, or NaN where nothing deviates


def _product(x: Any, *, axes: Axes) -> Any:
    """Pairwise products in a tree: no division, so zeros are harmless at every order."""
    kept = tuple([axis for axis in range(x.ndim) if axis not in axes])
    rest = tuple([x.shape[axis] for axis in kept])
    count = _count(x, axes)
    x = ops.reshape(ops.permute(x, order=(*axes, *kept)), shape=(count, *rest))
    if count == 0:
        return x.__class__(x.node.trace.literal(1, ops.sum.infer(x.type, axes=(0,))))
    none = (0,) * len(rest)
    while count > 1:
        half = count // 2
        step = (1,) * (1 + len(rest))
        left = ops.slice_(x, start=(0, *none), stop=(half, *rest), step=step)
        right = ops.slice_(x, start=(half, *none), stop=(2 * half, *rest), step=step)
        pairs = left * right
        if count % 2:
            last = ops.slice_(x, start=(count - 1, *none), stop=(count, *rest), step=step)
            pairs = ops.concatenate(pairs, last, axis=0)
        x, count = pairs, half + count % 2
    return ops.reshape(x, shape=rest)


def _norm(x: Any, *, axes: Axes) -> Any:
    """Scaled by the largest element, so that squares neither overflow nor vanish.

    The scale itself has no derivative, since the result does not depend on it.
    """
    if _count(x, axes) == 0:
        return ops.sum(x, axes=axes)
    if not scales():
        return safe_sqrt(ops.sum(x * x, axes=axes))
    scale = ops.stop_gradient(ops.reduce_max(ops.abs(x), axes=axes))
    scale = ops.select((scale > 0) & (scale < math.inf), scale, full(1.0, scale))
    y = x / _over(x, scale, axes)
    return scale * safe_sqrt(ops.sum(y * y, axes=axes))


def _scaled_norm(x: Any, axes: Axes) -> Any:
    scale = np.max(np.abs(x), axis=axes, keepdims=True, initial=0)
    scale = np.where((scale > 0) & (scale < np.inf), scale, np.ones_like(scale))
    return np.squeeze(scale, axes) * np.sqrt(np.sum(np.square(x / scale), axis=axes))


def _log_sum_exp(x: Any, *, axes: Axes) -> Any:
    """Max + log Σ exp(x − max), of complex numbers with the largest real part; one that is not finite is 0 instead."""
    if not scales():
        return ops.log(ops.sum(ops.exp(x), axes=axes))
    peak = ops.stop_gradient(ops.reduce_max(real(x), axes=axes))
    peak = ops.select(ops.abs(peak) < math.inf, peak, peak.__class__(peak.node.trace.literal(0, peak.type)))
    peak = convert(peak, x.dtype)
    return peak + ops.log(ops.sum(ops.exp(x - _over(x, peak, axes)), axes=axes))


def _scipy_logsumexp(x: Any, *, axes: Axes) -> Any:
    peak = np.max(np.real(x), axis=axes, keepdims=True)
    peak = np.where(np.abs(peak) < np.inf, peak, 0)
    return np.squeeze(peak, axes) + np.log(np.sum(np.exp(x - peak), axis=axes))


mean_: Primitive = composite(
    "mean", numpy=lambda x, *, axes: np.mean(x, axis=axes), lower=_mean, doc="Sum divided by count."
)
var_: Primitive = composite(
    "var",
    numpy=lambda x, *, axes, ddof: np.var(x, axis=axes, ddof=ddof),
    lower=_variance,
    doc="Mean squared deviation, dividing by n − ddof.",
)


def _deviation(op: Primitive, x: Any) -> Any:
    return op(x, axes=(0,), ddof=0)


std_: Primitive = composite(
    "std",
    numpy=lambda x, *, axes, ddof: np.std(x, axis=axes, ddof=ddof),
    lower=lambda x, *, axes, ddof: safe_sqrt(var_(x, axes=axes, ddof=ddof)),
    consumed=[
        Law(
            "std·std = var, whose second derivatives are smooth",
            "real",
            lambda x: (ops.mul(_deviation(std_, x), _deviation(std_, x)), _deviation(var_, x)),
            ((3,),),
            lambda trace, inputs, params: (
                apply(trace, var_, *inputs[0].inputs, **dict(inputs[0].params)) if inputs[0] is inputs[1] else None
            ),
            ("mul",),
        )
    ],
    doc="√var, with derivative 0 where it is 0.",
)
prod_: Primitive = composite(
    "prod", numpy=lambda x, *, axes: np.prod(x, axis=axes), lower=_product, doc="Product of elements."
)


def _square_of_norm(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    length, other = inputs
    if length is not other:
        return None
    return apply(trace, ops.sum, apply(trace, ops.mul, *length.inputs, *length.inputs), **dict(length.params))


norm_: Primitive = composite(
    "norm",
    numpy=lambda x, *, axes: _scaled_norm(x, axes),
    lower=_norm,
    consumed=[
        Law(
            "‖x‖·‖x‖ = Σ x·x, whose second derivatives at 0 are 2",
            "real",
            lambda x: (ops.mul(norm_(x, axes=(0,)), norm_(x, axes=(0,))), ops.sum(ops.mul(x, x), axes=(0,))),
            ((3,),),
            _square_of_norm,
            ("mul",),
        )
    ],
    doc="Euclidean norm, with derivative 0 at 0.",
)
logsumexp_: Primitive = composite(
    "logsumexp", numpy=_scipy_logsumexp, lower=_log_sum_exp, doc="log Σ exp(x), without overflow."
)


@implements(np.sum, method="sum")
def sum(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """np.sum over one axis, several, or all."""
    refuse_out("sum", out)
    x = convert(x, accumulator(x.dtype) if dtype is None else dtype)
    axes = reduced_axes("sum", axis, x.ndim)
    return begun(ops.add, keep_axes(ops.sum(chosen(x, where, 0), axes=axes), x, axes, keepdims), initial)


def chosen(x: Any, condition: Any, neutral: Any) -> Any:
    """Return the elements that a reduction's `where=` chooses, and what changes nothing in place of the others."""
    if condition is True:
        return x
    dtype = (condition if isinstance(condition, TracedArray) else np.asarray(condition)).dtype
    if dtype != np.bool_:
        raise ShapeError(f"where= takes booleans, got {dtype}", fix="compare: where=mask != 0.")
    found = where(condition, x, full(neutral, x))
    if found.shape != x.shape:
        raise ShapeError(
            f"where= of shape {np.shape(condition)} for an array of shape {x.shape}", fix="give one of its shape."
        )
    return convert(found, x.dtype)


def begun(combine: Any, found: Any, initial: Any) -> Any:
    """Combine a reduction with its `initial=` value."""
    return found if initial is None else combine(found, initial_value(initial, found, found.shape))


def initial_value(value: Any, like: Any, shape: tuple[int, ...]) -> Any:
    """Return a reduction's `initial=` value in a shape."""
    if not any_traced([value]):
        try:
            value = np.array(value, like.dtype)
        except (OverflowError, TypeError, ValueError) as error:
            raise ShapeError(
                f"initial={value!r} for elements of dtype {like.dtype}: {error}", fix="convert them by .astype."
            ) from None
    return expand(convert(as_traced(joined(value), like), like.dtype), shape)


@implements(np.mean, method="mean")
def mean(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Any:
    """np.mean: sum divided by count."""
    refuse_out("mean", out)
    refuse_integers("mean", dtype)
    x = as_float(x) if dtype is None else convert(x, dtype)
    axes = normalize_axes("mean", axis, x.ndim)
    if where is True:
        return keep_axes(mean_(x, axes=axes), x, axes, keepdims)
    wide = np.promote_types(x.dtype, np.float32)  # in half precision the sum and the count overflow
    count = sum(chosen(convert(full(1, x), wide), where, 0), axes, keepdims=keepdims)
    return convert(sum(x, axes, wide, keepdims=keepdims, where=where) / count, x.dtype)


@implements(np.prod, method="prod")
def prod(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """np.prod: without division, so zeros are harmless at every order."""
    refuse_out("prod", out)
    x = convert(x, accumulator(x.dtype) if dtype is None else dtype)
    axes = reduced_axes("prod", axis, x.ndim)
    return begun(ops.mul, keep_axes(prod_(chosen(x, where, 1), axes=axes), x, axes, keepdims), initial)


def refuse_integers(name: str, dtype: Any) -> None:
    """Raise if a mean was asked for in integers."""
    if dtype is not None and not is_float(np.dtype(dtype)):
        raise TracingError(f"{name} with dtype={dtype}: computing in integers is not supported", fix="use .astype.")


@implements(np.var, method="var")
def var(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """np.var: mean squared deviation from the mean, dividing by n − ddof."""
    return _spread(var_, x, axis, dtype, out, corrected(ddof, correction), keepdims, where, mean)


@implements(np.std, method="std")
def std(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """np.std: √var; where it is 0, so is its derivative."""
    return _spread(std_, x, axis, dtype, out, corrected(ddof, correction), keepdims, where, mean)


def corrected(ddof: Any, correction: Any) -> Any:
    if correction is not None and ddof:
        raise ShapeError("ddof and correction say the same: give one of them", fix="leave correction out.")
    return ddof if correction is None else correction


def _spread(
    record: Any, x: Any, axis: Any, dtype: Any, out: Any, ddof: float, keepdims: bool, where: Any, middle: Any
) -> Any:
    refuse_out(record.name, out)
    refuse_integers(record.name, dtype)
    x = as_float(x) if dtype is None else convert(x, dtype)
    axes = normalize_axes(record.name, axis, x.ndim)
    if where is True and middle is None:
        return keep_axes(record(x, axes=axes, ddof=ddof), x, axes, keepdims)
    middle = mean(x, axes, keepdims=True, where=where) if middle is None else middle
    deviation = x - middle
    total = sum(squares(deviation), axes, keepdims=keepdims, where=where)
    left = sum(chosen(full(1, squares(x)), where, 0), axes, keepdims=keepdims) - ddof
    found = total / ops.maximum(left, full(0, left))
    return convert(safe_sqrt(found) if record is std_ else found, real_dtype(x.dtype))


@implements(np.average)
def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """np.average, weighted by an array of the same shape; with `returned`, the sum of weights as well."""
    if weights is None:
        found = mean(x, axis, keepdims=keepdims)
        return (found, full(x.size / found.size, found)) if returned else found
    x, weights = traced_operands(x, weights)
    if weights.shape != x.shape:
        if not isinstance(axis, int) or weights.ndim != 1:
            raise ShapeError(
                f"average: weights of shape {weights.shape} do not fit {x.shape} along axis {axis}",
                fix="give weights of the array's shape, or of that axis.",
            )
        place = normalize_axis("average", axis, x.ndim)
        weights = ops.reshape(weights, shape=tuple([n if i == place else 1 for i, n in enumerate(x.shape)]))
    floats = np.result_type(x.dtype, weights.dtype, *([] if is_float(x.dtype) else [np.float64]))
    x, weights = convert(x, floats), convert(weights, floats)
    total = sum(expand(weights, x.shape), axis, keepdims=keepdims)
    found = sum(x * weights, axis, keepdims=keepdims) / total
    return (found, total) if returned else found


@implements(np.all, method="all")
def all(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """np.all."""
    refuse_out("all", out)
    return ~any(~convert(x, np.bool_), axis, keepdims=keepdims, where=where)


@implements(np.any, method="any")
def any(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """np.any."""
    refuse_out("any", out)
    axes = reduced_axes("any", axis, x.ndim)
    found = sum(convert(convert(x, np.bool_), np.int64), axes, where=where) > 0
    return keep_axes(found, x, axes, keepdims)


COMPOSITES = [mean_, var_, std_, prod_, norm_, logsumexp_]
