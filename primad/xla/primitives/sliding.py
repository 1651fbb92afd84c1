"""JAX's primitives of sliding windows: convolutions, and sums, products and extremes of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad import ops
from primad.errors import TracingError
from primad.nn.convolution import conv
from primad.xla.primitives.arrays import ARRAYS
from primad.xla.primitives.elementwise import dtype_of

Function = Callable[..., Any]
Shape = tuple[int, ...]
Pairs = Sequence[tuple[int, int]]


def _widened(x: Any, value: Any, padding: Pairs, dilation: Sequence[int]) -> Any:
    """Put a value around an array and between its elements."""
    config = [(low, high, step - 1) for (low, high), step in zip(padding, dilation, strict=True)]
    return ARRAYS["pad"](x, np.asarray(value, dtype_of(x)), padding_config=config)


def _convolution(
    x: Any, kernel: Any, *, window_strides: Shape, padding: Pairs, lhs_dilation: Shape, rhs_dilation: Shape,
    dimension_numbers: Any, feature_group_count: int, batch_group_count: int, **_: Any,
) -> Any:  # fmt: skip
    """Convolve over one to three axes."""
    if batch_group_count > 1:
        raise TracingError(
            "conv_general_dilated with groups of the batch has no op",
            why="They stand in derivatives that JAX takes.",
            fix="convert the function itself, and differentiate with primad: primad.grad(primad.from_jax(f)).",
        )
    rank = len(window_strides)
    x = pnp.transpose(x, dimension_numbers.lhs_spec)
    kernel = pnp.transpose(kernel, dimension_numbers.rhs_spec)
    x = _widened(x, 0, [(0, 0), (0, 0), *padding], (1, 1, *lhs_dilation))
    if rank == 0:
        out = pnp.einsum("nc,oc->no", x, kernel)
    else:
        out = conv(x, kernel, window_strides, 0, rhs_dilation, feature_group_count)
    return pnp.transpose(out, np.argsort(dimension_numbers.out_spec).tolist())


def _reduce_window(reduce: Function, start: Callable[[np.dtype[Any]], Any]) -> Function:
    def reduced(
        x: Any, *, window_dimensions: Shape, window_strides: Shape, padding: Pairs, base_dilation: Shape,
        window_dilation: Shape,
    ) -> Any:  # fmt: skip
        x = _widened(x, start(dtype_of(x)), padding, base_dilation)
        moves = [axis for axis, size in enumerate(window_dimensions) if (size, window_strides[axis]) != (1, 1)]
        geometry = [[of[axis] for axis in moves] for of in (window_dimensions, window_strides, window_dilation)]
        count = tuple([(x.shape[a] - (n - 1) * d - 1) // s + 1 for a, n, s, d in zip(moves, *geometry, strict=True)])
        size, step, dilation = map(tuple, geometry)
        low = (0,) * len(moves)
        seen = ops.windows(x, axes=tuple(moves), count=count, size=size, step=step, dilation=dilation, low=low)
        return reduce(seen, axis=tuple(range(x.ndim, seen.ndim)))

    return reduced


def _least(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _most(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


SLIDING: dict[str, Function] = {
    "conv_general_dilated": _convolution,
    "reduce_window_sum": _reduce_window(pnp.sum, lambda dtype: 0),
    "reduce_window_max": _reduce_window(pnp.max, _least),
    "reduce_window_min": _reduce_window(pnp.min, _most),
}
"""name -> function of the operands, with the primitive's params as keywords."""
