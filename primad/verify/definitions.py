"""What composites mean, in textbook form: what their definitions are proved against.

Each entry is `(numbers, *object arrays, **params) -> object array` (see `primad.backends.objects`). Composites that are
missing here have a NumPy function that runs on symbols as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad.backends.objects import Numbers, order_along, pointwise

Axes = tuple[int, ...]


def _each(function: Callable[[Any], Any], values: Any) -> Any:
    return np.frompyfunc(function, 1, 1)(values)


def _mean(n: Numbers, x: Any, *, axes: Axes) -> Any:
    return np.sum(x, axis=axes) / math.prod(x.shape[axis] for axis in axes)


def _var(n: Numbers, x: Any, *, axes: Axes, ddof: int) -> Any:
    count = math.prod(x.shape[axis] for axis in axes)
    mean = np.sum(x, axis=axes, keepdims=True) / count
    return np.sum((x - mean) ** 2, axis=axes) * n.divide(n.number(1), n.number(count - ddof))


def _softmax(n: Numbers, x: Any, *, axis: int) -> Any:
    e = _each(n.exp, x)
    return e / np.sum(e, axis=axis, keepdims=True)


def _remainder(n: Numbers, x: Any, y: Any) -> Any:
    return x - y * n.floor(x / y)


MEANINGS: dict[str, Callable[..., Any]] = {
    "reciprocal": pointwise(lambda n, x: 1 / x),
    "tan": pointwise(lambda n, x: n.sin(x) / n.cos(x)),
    "sinh": pointwise(lambda n, x: (n.exp(x) - n.exp(-x)) / 2),
    "cosh": pointwise(lambda n, x: (n.exp(x) + n.exp(-x)) / 2),
    "exp2": pointwise(lambda n, x: n.exp(n.log(n.number(2)) * x)),
    "log2": pointwise(lambda n, x: n.log(x) / n.log(n.number(2))),
    "log10": pointwise(lambda n, x: n.log(x) / n.log(n.number(10))),
    "logaddexp": pointwise(lambda n, x, y: n.log(n.exp(x) + n.exp(y))),
    "remainder": pointwise(_remainder),
    "hypot": pointwise(lambda n, x, y: n.sqrt(x * x + y * y)),
    "mean": _mean,
    "var": _var,
    "std": lambda n, x, *, axes, ddof: _each(n.sqrt, _var(n, x, axes=axes, ddof=ddof)),
    "norm": lambda n, x, *, axes: _each(n.sqrt, np.sum(x * x, axis=axes)),
    "logsumexp": lambda n, x, *, axes: _each(n.log, np.sum(_each(n.exp, x), axis=axes)),
    "sort": lambda n, x, *, axis: np.take_along_axis(x, order_along(n, x, axis=axis), axis),
    "softmax": _softmax,
    "log_softmax": lambda n, x, *, axis: _each(n.log, _softmax(n, x, axis=axis)),
    "xlogy": pointwise(lambda n, x, y: x * n.log(y)),
    "relu": pointwise(lambda n, x: x if n.less(0, x) else n.number(0)),
    "silu": pointwise(lambda n, x: x / (1 + n.exp(-x))),
    "gelu": pointwise(lambda n, x: x * (1 + n.erf(x / n.sqrt(n.number(2)))) / 2),
}
