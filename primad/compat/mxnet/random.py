"""`mx.random`: arrays of random numbers, from one generator that `seed` starts anew."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.compat.mxnet.context import Context
from primad.compat.mxnet.errors import MXNetError, unsupported
from primad.compat.mxnet.graph.node_keys import generator
from primad.compat.mxnet.graph.node_keys import seed as seed
from primad.compat.mxnet.ndarray import NDArray


def _drawn(values: Any, dtype: Any, ctx: Context | None, out: NDArray | None) -> NDArray:
    if out is not None:
        out[:] = values
        return out
    made = np.asarray(values, dtype if dtype not in (None, "None") else np.float32)
    return NDArray(made.reshape(made.shape or (1,)), ctx)


def _shape(shape: Any, out: NDArray | None, *parameters: Any) -> Any:
    if any(isinstance(parameter, NDArray) for parameter in parameters):
        raise MXNetError("random functions take numbers as parameters here, not arrays")
    return (out.shape if out is not None else 1) if shape is None else shape


def uniform(
    low: float = 0, high: float = 1, shape: Any = None, dtype: Any = None, ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:  # fmt: skip
    """Draw from the uniform distribution on [low, high)."""
    return _drawn(generator().uniform(low, high, _shape(shape, out, low, high)), dtype, ctx, out)


def normal(
    loc: float = 0, scale: float = 1, shape: Any = None, dtype: Any = None, ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:  # fmt: skip
    """Draw from the normal distribution with a mean and a standard deviation."""
    return _drawn(generator().normal(loc, scale, _shape(shape, out, loc, scale)), dtype, ctx, out)


def randn(*shape: int, loc: float = 0, scale: float = 1, dtype: Any = None, ctx: Context | None = None) -> NDArray:
    """Draw from the normal distribution; the shape is given as lengths."""
    return normal(loc, scale, shape or None, dtype, ctx)


def randint(
    low: int, high: int, shape: Any = None, dtype: Any = None, ctx: Context | None = None, out: NDArray | None = None
) -> NDArray:
    """Draw integers from [low, high), int32 unless a dtype is given."""
    values = generator().integers(low, high, _shape(shape, out, low, high))
    return _drawn(values, dtype or np.int32, ctx, out)


def shuffle(data: NDArray) -> NDArray:
    """Return the rows of an array in a random order."""
    return NDArray(generator().permutation(data.values), data.context)


def __getattr__(name: str) -> Any:
    raise unsupported("mx.random", name, ["normal", "randint", "randn", "seed", "shuffle", "uniform"])
