"""`mx.nd`: creating arrays, and every operator as a function of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad.compat.mxnet import random as random
from primad.compat.mxnet.context import Context
from primad.compat.mxnet.errors import unsupported
from primad.compat.mxnet.imperative.array_operand import function_of_two
from primad.compat.mxnet.ndarray import NDArray as NDArray
from primad.compat.mxnet.ndarray import apply, operator_function
from primad.compat.mxnet.ndarray import array as array
from primad.compat.mxnet.operators import TABLE
from primad.compat.mxnet.operators.shaping import spaced

# -- creation ----------------------------------------------------------------------------------------------------------


def _lengths(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)


def zeros(
    shape: Any, ctx: Context | None = None, dtype: Any = None, stype: str | None = None, out: NDArray | None = None
) -> NDArray:
    """Return an array of zeros, float32 unless a dtype is given."""
    return full(shape, 0, ctx, dtype, out)


def ones(shape: Any, ctx: Context | None = None, dtype: Any = None, out: NDArray | None = None) -> NDArray:
    """Return an array of ones, float32 unless a dtype is given."""
    return full(shape, 1, ctx, dtype, out)


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
    return NDArray(spaced(start, stop, step, repeat, np.dtype(dtype or np.float32)), ctx)


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


uniform = random_uniform = random.uniform
normal = random_normal = random.normal
random_randint = random.randint

add = function_of_two("add", "add")
subtract = function_of_two("subtract", "sub")
multiply = function_of_two("multiply", "mul")
divide = true_divide = function_of_two("divide", "div")
modulo = function_of_two("modulo", "mod")
power = pow = function_of_two("power", "power")
maximum = function_of_two("maximum", "maximum")
minimum = function_of_two("minimum", "minimum")
equal = function_of_two("equal", "equal")
not_equal = function_of_two("not_equal", "not_equal")
greater = function_of_two("greater", "greater")
greater_equal = function_of_two("greater_equal", "greater_equal")
lesser = function_of_two("lesser", "lesser")
lesser_equal = function_of_two("lesser_equal", "lesser_equal")

_PUBLIC = [
    "NDArray", "add", "arange", "array", "concatenate", "divide", "empty", "equal", "eye", "full", "greater",
    "greater_equal", "lesser", "lesser_equal", "linspace", "maximum", "minimum", "modulo", "moveaxis",
    "multiply", "normal", "not_equal", "ones", "pow", "power", "random", "random_normal", "random_randint",
    "random_uniform", "subtract", "true_divide", "uniform", "waitall", "zeros",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in TABLE:
        return operator_function(name)
    raise unsupported("mx.nd", name, [*TABLE, *_PUBLIC])


def __dir__() -> list[str]:
    return sorted([*TABLE, *_PUBLIC])
