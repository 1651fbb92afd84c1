"""Activations (`paddle.nn.functional`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import nn
from primad.compat.paddle.math import cast, floating, sigmoid, tanh
from primad.compat.paddle.operators import apply, prototype
from primad.numpy import special


@prototype("relu")
def relu_(x: Any) -> Any:
    return nn.relu(x)


def relu(x: Any, name: Any = None) -> Any:
    """Return max(x, 0); its derivative at 0 is 0."""
    return apply(relu_, x)


@prototype("gelu", approximate=False)
def gelu_(x: Any, *, approximate: bool) -> Any:
    x = floating(x)
    if not approximate:
        return nn.gelu(x)
    inner = 0.7978845608028654 * (x + 0.044715 * (x * x * x))  # √(2/π), as in Hendrycks & Gimpel 2016
    return 0.5 * x * (1.0 + np.tanh(inner))


def gelu(x: Any, approximate: bool = False, name: Any = None) -> Any:
    """Return x·Φ(x), Φ the normal distribution function; or its approximation with tanh."""
    return apply(gelu_, x, approximate=bool(approximate))


@prototype("silu")
def silu_(x: Any) -> Any:
    return nn.silu(floating(x))


def silu(x: Any, name: Any = None) -> Any:
    """Return x·sigmoid(x)."""
    return apply(silu_, x)


@prototype("swish", beta=1.0)
def swish_(x: Any, *, beta: float) -> Any:
    return nn.silu(floating(x))


def swish(x: Any, name: Any = None) -> Any:
    """Return x·sigmoid(x), which is also called silu."""
    return apply(swish_, x)


@prototype("softplus", beta=1.0, threshold=20.0)
def softplus_(x: Any, *, beta: float, threshold: float) -> Any:
    x = floating(x)
    return nn.softplus(x) if beta == 1.0 else nn.softplus(x * beta) / beta


def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0, name: Any = None) -> Any:
    """Return log(1 + exp(beta·x))/beta, exact everywhere: the threshold is not needed."""
    return apply(softplus_, x, beta=float(beta), threshold=float(threshold))


@prototype("softmax", axis=-1)
def softmax_(x: Any, *, axis: int) -> Any:
    return nn.softmax(floating(x), axis=axis)


def softmax(x: Any, axis: int = -1, dtype: Any = None, name: Any = None) -> Any:
    """Return exp(x) divided by its sum along an axis."""
    return apply(softmax_, x if dtype is None else cast(x, dtype), axis=int(axis))


@prototype("log_softmax", axis=-1)
def log_softmax_(x: Any, *, axis: int) -> Any:
    return special.log_softmax(floating(x), axis=axis)


def log_softmax(x: Any, axis: int = -1, dtype: Any = None, name: Any = None) -> Any:
    """Return the logarithm of softmax along an axis."""
    return apply(log_softmax_, x if dtype is None else cast(x, dtype), axis=int(axis))


__all__ = [
    "gelu",
    "log_softmax",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "swish",
    "tanh",
]
