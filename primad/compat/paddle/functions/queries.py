"""Questions about tensors that are asked with functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.compat.paddle.eager.operators import Value, apply, prototype
from primad.compat.paddle.functions.creation import assign
from primad.compat.paddle.settings.dtypes import as_dtype


def is_tensor(x: Any) -> bool:
    """Whether x is a tensor (or a static variable)."""
    return isinstance(x, Value)


def is_floating_point(x: Any) -> bool:
    """Whether the elements of x are floats."""
    return as_dtype(x.dtype).is_floating


def is_integer(x: Any) -> bool:
    """Whether the elements of x are integers."""
    return as_dtype(x.dtype).numpy.kind in "iu"


@prototype("size", inputs="Input")
def size_(x: Any) -> Any:
    """The number of elements."""
    return np.asarray(x.size, np.int64)


@prototype("shape", inputs="Input")
def shape_(x: Any) -> Any:
    """The lengths of the axes."""
    return np.asarray(x.shape, np.int32)


def numel(x: Any, name: Any = None) -> Any:
    """Return the number of elements, as a tensor."""
    return apply(size_, x, name=name)


def rank(input: Any) -> Any:
    """Return the number of axes, as a tensor."""
    return assign(np.asarray(len(input.shape), np.int32))


def shape(input: Any) -> Any:
    """Return the lengths of the axes, as a tensor."""
    return apply(shape_, input)


__all__ = ["is_floating_point", "is_integer", "is_tensor", "numel", "rank", "shape"]
