"""Random draws with explicit keys, and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.nn.operands import floats, integers
from primad.numpy.elementwise.ufuncs import where
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive

__all__ = ["dropout", "split", "uniform"]


def _dropout(x: Any, key: Any, *, rate: float) -> Any:
    kept = ops.draw(key, shape=x.shape, dtype=str(x.dtype)) >= rate
    return where(kept, x * (1.0 / (1.0 - rate) if rate < 1.0 else 0.0), 0.0)


dropout_: Primitive = composite(
    "dropout",
    numpy=_dropout,
    lower=_dropout,
    doc="x/(1 − rate) where a uniform draw is at least the rate, else 0.",
)

COMPOSITES = (dropout_,)


def uniform(key: Any, shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
    """Draw numbers uniformly from [0, 1). The key decides them: draw again with another key, or `split` it.

    Args:
        key: an integer, or an integer array: then the result has one block of `shape` for each of its elements.
        shape: lengths of the axes of one block.
        dtype: a float dtype.

    Returns:
        an array of shape `key.shape + shape`.

    Raises:
        ShapeError: if the key is not an integer.

    Example:
        >>> import numpy as np, primad
        >>> np.array_equal(primad.nn.uniform(3, (4,)), primad.nn.uniform(3, (4,)))
        True
    """
    return ops.draw(integers("a key", key), shape=tuple(shape), dtype=str(np.dtype(dtype)))


def split(key: Any, count: int = 2) -> Any:
    """Return `count` new keys, an int64 array, whose draws are independent of each other and of the key's.

    Args:
        key: an integer, or an integer array: then the new keys are along a new last axis.
        count: how many.

    Raises:
        ShapeError: if the key is not an integer.

    Example:
        >>> import primad
        >>> first, second = primad.nn.split(0)
        >>> bool(first == second)
        False
    """
    return ops.draw(integers("a key", key), shape=(count,), dtype="int64")


def dropout(x: Any, key: Any, rate: float = 0.5) -> Any:
    """Set each element to 0 with probability `rate` and divide the others by 1 − rate, so that the mean stays.

    Srivastava et al. 2014, in the form that scales while training. The key decides which elements are kept: the same
    key keeps the same ones, so every layer and every step needs its own (`primad.nn.split`).

    Args:
        x: an array of floats.
        key: an integer; it has no derivative.
        rate: probability in [0, 1].

    Returns:
        an array of the shape of x.

    Raises:
        ShapeError: if the rate is no probability or the key no single integer.

    Example:
        >>> import numpy as np, primad
        >>> sorted(set(primad.nn.dropout(np.ones(100), 0, 0.5).tolist()))
        [0.0, 2.0]
    """
    if not 0.0 <= rate <= 1.0:
        raise ShapeError(
            f"dropout: the rate is a probability, got {rate}",
            fix="write a number from 0 to 1: the share that becomes zero.",
        )
    key = integers("dropout: the key", key)
    if key.ndim:
        raise ShapeError(
            f"dropout: the key must be one integer, got an array of shape {key.shape}",
            fix="draw with one key, as 0; primad.nn.split(key, n) makes others.",
        )
    return dropout_(*floats(x), key, rate=float(rate))
