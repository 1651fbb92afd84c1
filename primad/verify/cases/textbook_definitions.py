"""What composites mean, in textbook form: what their definitions are proved against.

Each entry is `(numbers, *object arrays, **params) -> object array` (see `primad.verify.exact.object_arrays`).
Composites that are missing here have a NumPy function that runs on symbols as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad import ops
from primad.verify.exact.number_systems import Numbers
from primad.verify.exact.object_arrays import order_along, pointwise

Axes = tuple[int, ...]


def _each(function: Callable[[Any], Any], values: Any) -> Any:
    return np.frompyfunc(function, 1, 1)(values)


def _size(n: Numbers, x: Any) -> Any:
    return n.choose(n.less(x, 0), -x, x)


def _mean(n: Numbers, x: Any, *, axes: Axes) -> Any:
    return np.sum(x, axis=axes) / math.prod(x.shape[axis] for axis in axes)


def _var(n: Numbers, x: Any, *, axes: Axes, ddof: int) -> Any:
    count = math.prod(x.shape[axis] for axis in axes)
    mean = np.sum(x, axis=axes, keepdims=True) / count
    return np.sum((x - mean) ** 2, axis=axes) * n.divide(n.number(1), n.number(count - ddof))


def _softmax(n: Numbers, x: Any, *, axis: int) -> Any:
    e = _each(n.exp, x)
    return e / np.sum(e, axis=axis, keepdims=True)


def _centre(x: Any, axes: Axes) -> Any:
    return x - np.sum(x, axis=axes, keepdims=True) / math.prod(x.shape[axis] for axis in axes)


def _along(values: Any, ndim: int, axes: Axes) -> Any:
    """Put the axes of `values` where `axes` says, and length 1 elsewhere."""
    return np.expand_dims(values, [axis for axis in range(ndim) if axis not in axes])


def _batch_norm(n: Numbers, x: Any, *channels: Any, axis: int, epsilon: float) -> Any:
    mean, variance, scale, shift = (_along(values, x.ndim, (axis,)) for values in channels)
    return scale * (x - mean) / _each(n.sqrt, variance + n.number(epsilon)) + shift


def _layer_norm(n: Numbers, x: Any, scale: Any, shift: Any, *, axes: Axes, epsilon: float) -> Any:
    deviation = _each(n.sqrt, np.expand_dims(_var(n, x, axes=axes, ddof=0), axes) + n.number(epsilon))
    return _along(scale, x.ndim, axes) * _centre(x, axes) / deviation + _along(shift, x.ndim, axes)


def _cross_entropy(n: Numbers, x: Any, labels: Any, *, axis: int, ignore_index: int) -> Any:
    p = np.moveaxis(_softmax(n, x, axis=axis), axis, -1)
    out = np.empty(labels.shape, object)
    for index in np.ndindex(labels.shape):
        out[index] = n.number(0) if labels[index] == ignore_index else -n.log(p[index][labels[index]])
    return out


def _huber(n: Numbers, x: Any, y: Any, *, delta: float) -> Any:
    d, step = x - y, n.number(delta)
    size = _size(n, d)
    return n.choose(n.less(step, size), step * size - step * step / 2, d * d / 2)


def _limited(n: Numbers, x: Any, low: Any, high: Any) -> Any:
    return n.choose(n.less(x, low), low, n.choose(n.less(high, x), high, x))


def _gelu_tanh(n: Numbers, x: Any) -> Any:
    inner = n.number(math.sqrt(2 / math.pi)) * x + n.number(0.044715 * math.sqrt(2 / math.pi)) * x**3
    return x / (1 + n.exp(-2 * inner))


def _mish(n: Numbers, x: Any) -> Any:
    square = (1 + n.exp(x)) ** 2  # of exp(softplus(x))
    return x * (square - 1) / (square + 1)


def _elu(n: Numbers, x: Any, *, alpha: float) -> Any:
    return n.choose(n.less(0, x), x, n.number(alpha) * (n.exp(x) - 1))


def _celu(n: Numbers, x: Any, *, alpha: float) -> Any:
    return n.choose(n.less(0, x), x, n.number(alpha) * (n.exp(x / n.number(alpha)) - 1))


def _hard_sigmoid(n: Numbers, x: Any, *, slope: float, offset: float) -> Any:
    return _limited(n, n.number(slope) * x + n.number(offset), n.number(0), n.number(1))


def _hardshrink(n: Numbers, x: Any, *, threshold: float) -> Any:
    return n.choose(n.less(n.number(threshold), _size(n, x)), x, n.number(0))


def _softshrink(n: Numbers, x: Any, *, threshold: float) -> Any:
    step = n.number(threshold)
    return x - _limited(n, x, -step, step)


def _binary_cross_entropy(n: Numbers, x: Any, y: Any) -> Any:
    return -y * n.log(x) - (1 - y) * n.log(1 - x)


def _dropout(n: Numbers, x: Any, key: Any, *, rate: float) -> Any:
    kept = ops.draw(key, shape=x.shape, dtype="float64") >= rate
    out = np.empty(x.shape, object)
    for index in np.ndindex(x.shape):
        out[index] = n.divide(x[index], 1 - n.number(rate)) if kept[index] else n.number(0)
    return out


def _one_hot(n: Numbers, indices: Any, *, depth: int, dtype: str) -> Any:
    out = np.zeros((*indices.shape, depth), dtype)
    for index in np.ndindex(indices.shape):
        if 0 <= indices[index] < depth:
            out[(*index, indices[index])] = 1
    return out


def _shifted_left(n: Numbers, x: Any, y: Any) -> int:
    bits: int = (int(x) << int(y)) + 2**63
    return bits % 2**64 - 2**63  # bits beyond the 64th are lost


MEANINGS: dict[str, Callable[..., Any]] = {
    "left_shift": pointwise(_shifted_left, np.int64),
    "right_shift": pointwise(lambda n, x, y: int(x) // 2 ** int(y), np.int64),
    "reciprocal": pointwise(lambda n, x: 1 / x),
    "logaddexp": pointwise(lambda n, x, y: n.log(n.exp(x) + n.exp(y))),
    "logaddexp2": pointwise(lambda n, x, y: n.log(2**x + 2**y) / n.log(2)),
    "mean": _mean,
    "var": _var,
    "std": lambda n, x, *, axes, ddof: _each(n.sqrt, _var(n, x, axes=axes, ddof=ddof)),
    "norm": lambda n, x, *, axes: _each(n.sqrt, np.sum(x * x, axis=axes)),
    "logsumexp": lambda n, x, *, axes: _each(n.log, np.sum(_each(n.exp, x), axis=axes)),
    "sort": lambda n, x, *, axis: np.take_along_axis(x, order_along(n, x, axis=axis), axis),
    "softmax": _softmax,
    "log_softmax": lambda n, x, *, axis: _each(n.log, _softmax(n, x, axis=axis)),
    "xlogy": pointwise(lambda n, x, y: x * n.log(y)),
    "relu": pointwise(lambda n, x: n.choose(n.less(0, x), x, n.number(0))),
    "silu": pointwise(lambda n, x: x / (1 + n.exp(-x))),
    "gelu": pointwise(lambda n, x: x * (1 + n.erf(x / n.sqrt(n.number(2)))) / 2),
    "gelu_tanh": pointwise(_gelu_tanh),
    "leaky_relu": pointwise(lambda n, x, *, slope: n.choose(n.less(0, x), x, n.number(slope) * x)),
    "prelu": pointwise(lambda n, x, slope: n.choose(n.less(0, x), x, slope * x)),
    "elu": pointwise(_elu),
    "celu": pointwise(_celu),
    "selu": pointwise(lambda n, x: n.number(1.0507009873554805) * _elu(n, x, alpha=1.6732632423543772)),
    "hardtanh": pointwise(lambda n, x, *, low, high: _limited(n, x, n.number(low), n.number(high))),
    "hard_sigmoid": pointwise(_hard_sigmoid),
    "hard_swish": pointwise(lambda n, x: x * _limited(n, x + 3, n.number(0), n.number(6)) / 6),
    "hardshrink": pointwise(_hardshrink),
    "softshrink": pointwise(_softshrink),
    "thresholded_relu": pointwise(
        lambda n, x, *, threshold, value: n.choose(n.less(n.number(threshold), x), x, n.number(value))
    ),
    "softsign": pointwise(lambda n, x: x / (1 + _size(n, x))),
    "tanhshrink": pointwise(lambda n, x: x - n.tanh(x)),
    "mish": pointwise(_mish),
    "log_sigmoid": pointwise(lambda n, x: -n.log(1 + n.exp(-x))),
    "dropout": _dropout,
    "one_hot": _one_hot,
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "squared_error": pointwise(lambda n, x, y: (x - y) ** 2),
    "huber": pointwise(_huber),
    "cross_entropy": _cross_entropy,
    "binary_cross_entropy": pointwise(_binary_cross_entropy),
    "binary_cross_entropy_with_logits": pointwise(
        lambda n, x, y: y * n.log(1 + n.exp(-x)) + (1 - y) * n.log(1 + n.exp(x))
    ),
}
