"""Activation functions, in forms that keep finite derivatives wherever the true ones are finite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad import ops
from primad.deferred import special
from primad.kinds import composite
from primad.numpy.promotion import as_float
from primad.numpy.special import expit as sigmoid
from primad.numpy.special import softmax, softplus
from primad.primitive import Primitive
from primad.trace import TracedArray

_ROOT_HALF = math.sqrt(0.5)


def _relu(x: Any) -> Any:
    return ops.select(x > 0, x, x.__class__(x.node.trace.literal(0, x.type)))


relu_: Primitive = composite(
    "relu", numpy=lambda x: np.where(x > 0, x, 0), lower=_relu, doc="x where positive, else 0; relu′(0) = 0."
)
silu_: Primitive = composite(
    "silu", numpy=lambda x: x * special.expit(x), lower=lambda x: x * ops.logistic(x), doc="x · logistic(x)."
)
gelu_: Primitive = composite(
    "gelu",
    numpy=lambda x: x * 0.5 * special.erfc(-x * _ROOT_HALF),
    lower=lambda x: (0.5 * x) * ops.erfc(-_ROOT_HALF * x),
    doc="x·Φ(x), Φ the normal distribution function, written with erfc for the left tail.",
)

COMPOSITES = (relu_, silu_, gelu_)


def _apply(record: Any, x: Any) -> Any:
    if isinstance(x, TracedArray):
        return record(as_float(x))
    return record.numpy(np.asarray(x))


def relu(x: Any) -> Any:
    """max(x, 0) with relu′(0) = 0; same shape as x.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.relu(np.array([-1.0, 2.0]))
        array([0., 2.])
    """
    return _apply(relu_, x)


def silu(x: Any) -> Any:
    """The product x · logistic(x); same shape as x (also called swish)."""
    return _apply(silu_, x)


def gelu(x: Any) -> Any:
    """x·Φ(x), Φ the normal distribution function; same shape as x (Hendrycks & Gimpel 2016, exact form).

    Example:
        >>> import primad
        >>> primad.grad(primad.nn.gelu)(0.0)
        np.float64(0.5)
    """
    return _apply(gelu_, x)


__all__ = ["COMPOSITES", "gelu", "relu", "sigmoid", "silu", "softmax", "softplus"]
