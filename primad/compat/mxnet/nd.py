"""`mx.nd`: creating arrays, and every operator as a function of arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.compat.mxnet import random as random
from primad.compat.mxnet.context import Context
from primad.compat.mxnet.errors import unsupported
from primad.compat.mxnet.ndarray import NDArray as NDArray
from primad.compat.mxnet.ndarray import apply, operator_function
from primad.compat.mxnet.ndarray import array as array
from primad.compat.mxnet.operators import TABLE

# -- creation ----------------------------------------------------------------------------------------------------------


def _lengths(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)


def zeros(
    shape: Any, ctx: Context | None = None, dtype: Any = None, stype: str | None = None, **kwargs: Any
) -> NDArray:
    """Return an array of zeros, float32 unless a dtype is given."""
    return full(shape, 0, ctx, dtype)


def ones(shape: Any, ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """Return an array of ones, float32 unless a dtype is given."""
    return full(shape, 1, ctx, dtype)


def full(shape: Any, val: float, ctx: Context | None = None, dtype: Any = None, out: NDArray | None = None) -> NDArray:
    """Return an array filled with a number, float32 unless a dtype is given."""
    result = NDArray(np.full(_lengths(shape), val, dtype or np.float32), ctx)
    return result if out is None else result.copyto(out)


def empty(shape: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Return an array whose values are to be written: zeros."""
    return zeros(shape, ctx, dtype)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: Any = None,
    ctx: Context | None = None,
    dtype: Any = None,
) -> NDArray:
    """Return evenly spaced numbers, each `repeat` times, float32 unless a dtype is given."""
    if stop is None:
        start, stop = 0, start
    return NDArray(np.repeat(np.arange(start, stop, step), repeat).astype(dtype or np.float32), ctx)


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, ctx: Context | None = None, dtype: Any = None
) -> NDArray:
    """Return `num` numbers from start to stop."""
    return NDArray(np.linspace(start, stop, num, endpoint).astype(dtype or np.float32), ctx)


def eye(N: int, M: int = 0, k: int = 0, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Return the identity matrix, or ones on the k-th diagonal."""
    return NDArray(np.eye(int(N), int(M) or None, int(k), dtype or np.float32), ctx)


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Join arrays along an axis."""
    return apply("Concat", tuple(arrays), {"dim": axis, "num_args": len(arrays)})


def moveaxis(tensor: NDArray, source: Any, destination: Any) -> NDArray:
    """Move axes to other places."""
    numbered = np.broadcast_to(0, tuple(range(1, tensor.ndim + 1)))  # every axis has its own length
    axes = tuple(length - 1 for length in np.moveaxis(numbered, source, destination).shape)
    return apply("transpose", (tensor,), {"axes": axes})


def waitall() -> None:
    """Return at once: values are computed at once."""


# -- functions of two operands, each an array or a number --------------------------------------------------------------


def _binary(name: str, operation: str) -> Callable[[Any, Any], Any]:
    def function(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, NDArray):
            return lhs._with(rhs, operation)
        if isinstance(rhs, NDArray):
            swapped = {"greater": "lesser", "lesser": "greater", "greater_equal": "lesser_equal",
                       "lesser_equal": "greater_equal"}  # fmt: skip
            return rhs._with(lhs, swapped.get(operation, operation), operation not in swapped)
        return FLOATS[operation](lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}(lhs, rhs): of two arrays that broadcast, or an array and a number."
    return function


FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "mod": operator.mod,
    "power": operator.pow, "maximum": max, "minimum": min,
    "equal": operator.eq, "not_equal": operator.ne, "greater": operator.gt, "greater_equal": operator.ge,
    "lesser": operator.lt, "lesser_equal": operator.le,
}  # fmt: skip
"""The functions of two operands, on numbers."""

add = _binary("add", "add")
subtract = _binary("subtract", "sub")
multiply = _binary("multiply", "mul")
divide = true_divide = _binary("divide", "div")
modulo = _binary("modulo", "mod")
power = pow = _binary("power", "power")
maximum = _binary("maximum", "maximum")
minimum = _binary("minimum", "minimum")
equal = _binary("equal", "equal")
not_equal = _binary("not_equal", "not_equal")
greater = _binary("greater", "greater")
greater_equal = _binary("greater_equal", "greater_equal")
lesser = _binary("lesser", "lesser")
lesser_equal = _binary("lesser_equal", "lesser_equal")

_PUBLIC = [
    "NDArray", "add", "arange", "array", "concatenate", "divide", "empty", "equal", "eye", "full", "greater",
    "greater_equal", "lesser", "lesser_equal", "linspace", "maximum", "minimum", "modulo", "moveaxis",
    "multiply", "not_equal", "ones", "pow", "power", "random", "subtract", "true_divide", "waitall", "zeros",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in TABLE:
        return operator_function(name)
    raise unsupported("mx.nd", name, [*TABLE, *_PUBLIC])


def __dir__() -> list[str]:
    return sorted([*TABLE, *_PUBLIC])
