"""Initial values of parameters: functions of a NumPy generator, a shape and a dtype.

A weight connects `fan_in` inputs with `fan_out` outputs. Of a matrix (inputs, outputs) these are its lengths; of the
kernel of a convolution (outputs, inputs, …) they are its first two, in that order, times the size of a window.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.errors import ShapeError

Shape = tuple[int, ...]
Array = np.ndarray[Any, Any]


def fans(shape: Shape) -> tuple[int, int]:
    """Return how many inputs and how many outputs a weight of this shape connects.

    Raises:
        ShapeError: for fewer than two axes, where neither is known.

    Example:
        >>> from primad.nn.initializers import fans
        >>> fans((20, 30)), fans((64, 3, 5, 5))
        ((20, 30), (75, 1600))
    """
    if len(shape) < 2:
        raise ShapeError(
            f"an initialiser by fans needs a weight with two axes or more, got shape {shape}",
            fix="make a bias of zeros, and other vectors by primad.nn.initializers.normal.",
        )
    if len(shape) == 2:
        return shape[0], shape[1]
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def constant(rng: np.random.Generator, shape: Shape, dtype: Any = np.float64, value: float = 0.0) -> Array:
    """Return an array of one value; the generator is not used."""
    return np.full(shape, value, dtype)


def uniform(
    rng: np.random.Generator, shape: Shape, dtype: Any = np.float64, low: float = -1.0, high: float = 1.0
) -> Array:
    """Draw uniformly from [low, high)."""
    return rng.uniform(low, high, shape).astype(dtype)


def normal(
    rng: np.random.Generator, shape: Shape, dtype: Any = np.float64, mean: float = 0.0, deviation: float = 1.0
) -> Array:
    """Draw from a normal distribution with the given mean and standard deviation."""
    return (mean + deviation * rng.standard_normal(shape)).astype(dtype)


def truncated_normal(
    rng: np.random.Generator,
    shape: Shape,
    dtype: Any = np.float64,
    mean: float = 0.0,
    deviation: float = 1.0,
    within: float = 2.0,
) -> Array:
    """Draw from a normal distribution, and again where a draw lies further than `within` deviations from the mean."""
    found = rng.standard_normal(shape)
    outside = np.abs(found) > within
    while np.any(outside):
        found[outside] = rng.standard_normal(np.count_nonzero(outside))
        outside = np.abs(found) > within
    return (mean + deviation * found).astype(dtype)


def xavier_uniform(rng: np.random.Generator, shape: Shape, dtype: Any = np.float64, gain: float = 1.0) -> Array:
    """Draw uniformly with variance gain²·2/(fan_in + fan_out) (Glorot & Bengio 2010)."""
    limit = gain * math.sqrt(6.0 / sum(fans(shape)))
    return uniform(rng, shape, dtype, -limit, limit)


def xavier_normal(rng: np.random.Generator, shape: Shape, dtype: Any = np.float64, gain: float = 1.0) -> Array:
    """Draw from a normal distribution with variance gain²·2/(fan_in + fan_out) (Glorot & Bengio 2010).

    Example:
        >>> import numpy as np
        >>> from primad.nn.initializers import xavier_normal
        >>> round(float(np.var(xavier_normal(np.random.default_rng(0), (300, 500)))), 4)
        0.0025
    """
    return normal(rng, shape, dtype, 0.0, gain * math.sqrt(2.0 / sum(fans(shape))))


def kaiming_uniform(
    rng: np.random.Generator, shape: Shape, dtype: Any = np.float64, gain: float = math.sqrt(2.0)
) -> Array:
    """Draw uniformly with variance gain²/fan_in; the default gain is that of relu (He et al. 2015)."""
    limit = gain * math.sqrt(3.0 / fans(shape)[0])
    return uniform(rng, shape, dtype, -limit, limit)


def kaiming_normal(
    rng: np.random.Generator, shape: Shape, dtype: Any = np.float64, gain: float = math.sqrt(2.0)
) -> Array:
    """Draw from a normal distribution with variance gain²/fan_in; the default gain is that of relu (He et al. 2015)."""
    return normal(rng, shape, dtype, 0.0, gain / math.sqrt(fans(shape)[0]))


def orthogonal(rng: np.random.Generator, shape: Shape, dtype: Any = np.float64, gain: float = 1.0) -> Array:
    """Draw a matrix with orthonormal rows or columns, whichever are fewer, uniformly (Saxe et al. 2014).

    Args:
        rng: a NumPy generator.
        shape: lengths of the axes; those after the first count as one.
        dtype: dtype of the result.
        gain: what to multiply it by.

    Raises:
        ShapeError: for fewer than two axes.
    """
    fans(shape)
    rows, columns = shape[0], math.prod(shape[1:])
    tall = rng.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(tall)
    q = q * np.sign(np.diag(r))  # the signs that QR leaves open, so that all matrices are equally likely
    return (gain * (q if rows >= columns else q.T)).reshape(shape).astype(dtype)
