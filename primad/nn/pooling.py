"""Pooling: the largest element or the mean of each window over the spatial axes."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import is_float
from primad.nn.window_geometry import Padding, Pairs, PerAxis, Shape, pairs, per_axis, spatial_axes, window_counts
from primad.numpy.promotion import as_float
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive
from primad.recording.traced_array import TracedArray

__all__ = ["adaptive_avg_pool", "adaptive_max_pool", "avg_pool", "max_pool"]

# -- windows of one size -----------------------------------------------------------------------------------------------


def _max_pool(x: Any, *, size: Shape, stride: Shape, padding: Pairs, ceil_mode: bool) -> Any:
    """Take the elements at the places of the maxima, which are constant where the maximum is differentiable."""
    lengths, one = x.shape[2:], (1,) * len(size)
    count = window_counts("max_pool", lengths, size, stride, one, padding, ceil_mode)
    axes = tuple(range(2, x.ndim))
    low = tuple([before for before, _ in padding])
    place = ops.window_argmax(x, axes=axes, count=count, size=size, step=stride, dilation=one, low=low)
    return ops.gather(ops.reshape(x, shape=(*x.shape[:2], math.prod(lengths))), place, axis=2, batch=2)


def _avg_pool(x: Any, *, size: Shape, stride: Shape, padding: Pairs, ceil_mode: bool, count_include_pad: bool) -> Any:
    lengths, one = x.shape[2:], (1,) * len(size)
    count = window_counts("avg_pool", lengths, size, stride, one, padding, ceil_mode)
    axes = tuple(range(2, x.ndim))
    low = tuple([before for before, _ in padding])
    seen = ops.windows(x, axes=axes, count=count, size=size, step=stride, dilation=one, low=low)
    total = ops.sum(seen, axes=tuple(range(x.ndim, x.ndim + len(size))))
    counted = padding if count_include_pad else ((0, 0),) * len(size)
    return total / _outer([_counted(*item) for item in zip(lengths, count, size, stride, low, counted, strict=True)])


def _counted(length: int, n: int, size: int, step: int, low: int, counted: tuple[int, int]) -> Any:
    """Return how many elements of each of n windows lie in an axis and the padding that is counted with it."""
    start = np.arange(n) * step - low
    return np.minimum(start + size, length + counted[1]) - np.maximum(start, -counted[0])


def _outer(numbers: list[Any]) -> Any:
    """Return the products of one number for each axis; one number if they are all the same."""
    products = reduce(np.multiply.outer, numbers)
    first = float(products.flat[0])
    return first if (products == first).all() else products.astype(np.float32)


# -- windows that share an axis among them -----------------------------------------------------------------------------


def _shares(length: int, count: int) -> list[range]:
    """Cut an axis into windows of nearly equal size, which overlap where the length is no multiple of the count."""
    return [range(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def _adaptive_max_pool(x: Any, *, count: Shape) -> Any:
    """Fill up the shorter windows with their last element: it is there already, and a tie goes to the first."""
    size = []
    for axis, (length, n) in enumerate(zip(x.shape[2:], count, strict=True), 2):
        shares = _shares(length, n)
        longest = max(map(len, shares))
        size.append(longest)
        if n * longest != length:
            index = np.array([[*share, *[share[-1]] * (longest - len(share))] for share in shares])
            x = ops.gather(x, index.reshape(-1), axis=axis, batch=0)
    return _max_pool(x, size=tuple(size), stride=tuple(size), padding=((0, 0),) * len(size), ceil_mode=False)


def _adaptive_avg_pool(x: Any, *, count: Shape) -> Any:
    """Fill up the shorter windows with zeros and divide by the number of their elements."""
    numbers = []
    for axis, (length, n) in enumerate(zip(x.shape[2:], count, strict=True), 2):
        shares = _shares(length, n)
        longest = max(map(len, shares))
        numbers.append(np.array([len(share) for share in shares]))
        if n * longest == length:
            x = ops.reshape(x, shape=(*x.shape[:axis], n, longest, *x.shape[axis + 1 :]))
        else:
            index = np.array([[*share, *[length] * (longest - len(share))] for share in shares])
            none = (0,) * x.ndim
            x = ops.pad(x, low=none, high=(*none[:axis], 1, *none[axis + 1 :]), interior=none)
            x = ops.gather(x, index, axis=axis, batch=0)
        x = ops.sum(x, axes=(axis + 1,))
    return x / _outer(numbers)


max_pool_: Primitive = composite(
    "max_pool", numpy=_max_pool, lower=_max_pool, doc="The largest element of each window; a tie goes to the first."
)
avg_pool_: Primitive = composite("avg_pool", numpy=_avg_pool, lower=_avg_pool, doc="The mean of each window.")
adaptive_max_pool_: Primitive = composite(
    "adaptive_max_pool",
    numpy=_adaptive_max_pool,
    lower=_adaptive_max_pool,
    doc="The largest element of each of `count` windows that share the axes; a tie goes to the first.",
)
adaptive_avg_pool_: Primitive = composite(
    "adaptive_avg_pool",
    numpy=_adaptive_avg_pool,
    lower=_adaptive_avg_pool,
    doc="The mean of each of `count` windows that share the axes.",
)

COMPOSITES = (max_pool_, avg_pool_, adaptive_max_pool_, adaptive_avg_pool_)


# -- functions ---------------------------------------------------------------------------------------------------------


def _operand(name: str, x: Any) -> tuple[Any, int]:
    """Promote the operand to floats; return it and the number of its spatial axes."""
    if isinstance(x, TracedArray):
        x = as_float(x)
    else:
        x = np.asarray(x)
        x = x if is_float(x.dtype) else x.astype(np.float64)
    return x, len(spatial_axes(name, x))


def _sizes(name: str, kernel: PerAxis, stride: PerAxis | None, padding: Padding, rank: int) -> dict[str, Any]:
    size = per_axis(name, "kernel", kernel, rank)
    return {
        "size": size,
        "stride": size if stride is None else per_axis(name, "stride", stride, rank),
        "padding": pairs(name, padding, rank),
    }


def max_pool(
    x: Any, kernel: PerAxis, stride: PerAxis | None = None, padding: Padding = 0, ceil_mode: bool = False
) -> Any:
    """The largest element of each window; at a tie the derivative belongs to the first in row-major order.

    Args:
        x: shape (batch, channels, *spatial).
        kernel: size of the windows, one integer or one for each axis.
        stride: distance of the windows; by default their size.
        padding: how far windows reach beyond the array, where nothing is chosen: one integer, one for each axis, or a
            (before, behind) pair for each.
        ceil_mode: whether a last window may reach further, if it starts in the array or the padding before it.

    Returns:
        shape (batch, channels, *number of windows).

    Raises:
        ShapeError: if no window fits, or one lies in the padding alone.

    Example:
        >>> import numpy as np, primad
        >>> x = np.array([[[1.0, 3.0, 2.0, 2.0]]])
        >>> primad.nn.max_pool(x, 2)
        array([[[3., 2.]]])
        >>> primad.grad(lambda x: np.sum(primad.nn.max_pool(x, 2)))(x)
        array([[[0., 1., 1., 0.]]])
    """
    x, rank = _operand("max_pool", x)
    return max_pool_(x, **_sizes("max_pool", kernel, stride, padding, rank), ceil_mode=bool(ceil_mode))


def avg_pool(
    x: Any,
    kernel: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """The mean of each window.

    Args:
        x: shape (batch, channels, *spatial).
        kernel: size of the windows, one integer or one for each axis.
        stride: distance of the windows; by default their size.
        padding: zeros around the spatial axes: one integer, one for each axis, or a (before, behind) pair for each.
        ceil_mode: whether a last window may reach further, if it starts in the array or the padding before it.
        count_include_pad: whether the zeros of the padding count as elements.

    Returns:
        shape (batch, channels, *number of windows).

    Raises:
        ShapeError: if no window fits.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.avg_pool(np.array([[[1.0, 3.0, 2.0, 4.0]]]), 2)
        array([[[2., 3.]]])
    """
    x, rank = _operand("avg_pool", x)
    sizes = _sizes("avg_pool", kernel, stride, padding, rank)
    return avg_pool_(x, **sizes, ceil_mode=bool(ceil_mode), count_include_pad=bool(count_include_pad))


def _count(name: str, x: Any, output_size: Any, rank: int) -> Shape:
    one = output_size is None or isinstance(output_size, int)
    entries = (output_size,) * rank if one else tuple(output_size)
    lengths = (*x.shape[2:], *[0] * (len(entries) - rank))
    chosen = [n if entry is None else int(entry) for n, entry in zip(lengths, entries, strict=False)]
    return per_axis(name, "output_size", chosen, rank)


def adaptive_max_pool(x: Any, output_size: Any) -> Any:
    """The largest element of each of `output_size` windows, which share the spatial axes.

    Window i of m on an axis of length n reaches from ⌊i·n/m⌋ up to ⌈(i + 1)·n/m⌉.

    Args:
        x: shape (batch, channels, *spatial).
        output_size: number of windows, one integer or one for each axis; None keeps the length of an axis.

    Returns:
        shape (batch, channels, *output_size).

    Raises:
        ShapeError: if the sizes do not fit.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.adaptive_max_pool(np.array([[[1.0, 3.0, 2.0]]]), 2)
        array([[[3., 3.]]])
    """
    x, rank = _operand("adaptive_max_pool", x)
    return adaptive_max_pool_(x, count=_count("adaptive_max_pool", x, output_size, rank))


def adaptive_avg_pool(x: Any, output_size: Any) -> Any:
    """The mean of each of `output_size` windows, which share the spatial axes as in `adaptive_max_pool`.

    Args:
        x: shape (batch, channels, *spatial).
        output_size: number of windows, one integer or one for each axis; None keeps the length of an axis.

    Returns:
        shape (batch, channels, *output_size).

    Raises:
        ShapeError: if the sizes do not fit.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.adaptive_avg_pool(np.array([[[1.0, 3.0, 2.0]]]), 2)
        array([[[2. , 2.5]]])
    """
    x, rank = _operand("adaptive_avg_pool", x)
    return adaptive_avg_pool_(x, count=_count("adaptive_avg_pool", x, output_size, rank))
