"""JAX's primitives about axes: shapes, reductions, cumulative functions, sorting, products, Fourier transforms."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad import ops
from primad.xla.primitives.elementwise import dtype_of

Function = Callable[..., Any]
Shape = tuple[int, ...]


def _broadcast_in_dim(x: Any, *, shape: Shape, broadcast_dimensions: Shape, **_: Any) -> Any:
    places = dict(zip(broadcast_dimensions, x.shape, strict=True))
    spread = pnp.reshape(x, tuple([places.get(axis, 1) for axis in range(len(shape))]))
    return pnp.broadcast_to(spread, shape)


def _iota(*, dtype: Any, shape: Shape, dimension: int, **_: Any) -> Any:
    along = [-1 if axis == dimension else 1 for axis in range(len(shape))]
    return np.broadcast_to(np.arange(shape[dimension]).astype(dtype).reshape(along), shape)


def _slice(x: Any, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None) -> Any:
    steps = strides or (1,) * len(start_indices)
    return x[tuple([slice(*place) for place in zip(start_indices, limit_indices, steps, strict=True)])]


def _pad(x: Any, value: Any, *, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """Put a value around elements and between them; negative numbers take elements away."""
    low, high, interior = zip(*padding_config, strict=True) if padding_config else ((), (), ())

    def padded(x: Any) -> Any:
        wide = {"low": _positive(low), "high": _positive(high), "interior": tuple(interior)}
        found = ops.pad(x, **wide)
        cut = [slice(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(low, high, found.shape, strict=True)]
        return found[tuple(cut)]

    found = padded(x)
    if isinstance(value, np.ndarray) and not value.any():
        return found
    return pnp.where(padded(np.ones(x.shape, bool)), found, value)


def _positive(counts: Sequence[int]) -> Shape:
    return tuple([max(count, 0) for count in counts])


def _split(x: Any, *, sizes: Shape, axis: int) -> tuple[Any, ...]:
    return tuple(pnp.split(x, np.cumsum(sizes)[:-1].tolist(), axis))


# -- reductions --------------------------------------------------------------------------------------------------------


def _reduction(function: Function) -> Function:
    return lambda x, *, axes, **_: function(x, axis=tuple(axes))


def _of_bits(function: Function, of_booleans: Function, of_nothing: int) -> Function:
    """Return a reduction of bits; of integers by halves, as an op combines two of them only."""

    def reduced(x: Any, *, axes: Shape, **_: Any) -> Any:
        if dtype_of(x).kind == "b":
            return of_booleans(x, axis=tuple(axes))
        rest = [axis for axis in range(x.ndim) if axis not in axes]
        shape = tuple([x.shape[axis] for axis in rest])
        if x.size == 0:
            return np.full(shape, of_nothing).astype(dtype_of(x))
        x = pnp.reshape(pnp.transpose(x, [*axes, *rest]), (-1, *shape))
        while (half := x.shape[0] // 2) > 0:
            x = pnp.concatenate([function(x[:half], x[half : 2 * half]), x[2 * half :]])
        return x[0]

    return reduced


def _is_odd(x: Any, axis: Shape) -> Any:
    return pnp.sum(x, axis=axis) % 2 == 1


def _place(function: Function) -> Function:
    return lambda x, *, axes, index_dtype: function(x, axis=axes[0]).astype(index_dtype)


def _cumulative(function: Function) -> Function:
    def cumulated(x: Any, *, axis: int, reverse: bool) -> Any:
        found = function(pnp.flip(x, axis) if reverse else x, axis=axis)
        return pnp.flip(found, axis) if reverse else found

    return cumulated


# -- order -------------------------------------------------------------------------------------------------------------


def _sort(*operands: Any, dimension: int, num_keys: int, **_: Any) -> tuple[Any, ...]:
    """Sort arrays by the first of them; where elements of one are equal, by the next, num_keys of them."""
    if len(operands) == 1:
        return (pnp.sort(operands[0], axis=dimension),)
    order: Any = None
    for key in reversed(operands[:num_keys]):
        seen = key if order is None else pnp.take_along_axis(key, order, dimension)
        found = pnp.argsort(seen, axis=dimension, kind="stable")
        order = found if order is None else pnp.take_along_axis(order, found, dimension)
    return tuple([pnp.take_along_axis(x, order, dimension) for x in operands])


def _top_k(x: Any, *, k: int, axis: int = -1, **_: Any) -> tuple[Any, Any]:
    """Return the k largest elements, the first of equal ones first; NaN is larger than all."""
    axis %= x.ndim
    order = pnp.flip(x.shape[axis] - 1 - pnp.argsort(pnp.flip(x, axis), axis=axis, kind="stable"), axis)
    first = order[(slice(None),) * axis + (slice(k),)]
    return pnp.take_along_axis(x, first, axis), first


# -- products and transforms -------------------------------------------------------------------------------------------


def _dot_general(x: Any, y: Any, *, dimension_numbers: Any, preferred_element_type: Any = None, **_: Any) -> Any:
    (summed_x, summed_y), (batch_x, batch_y) = dimension_numbers
    letters = iter(string.ascii_letters)
    of_x = [next(letters) for _ in range(x.ndim)]
    partner = {j: of_x[i] for i, j in zip((*summed_x, *batch_x), (*summed_y, *batch_y), strict=True)}
    of_y = [partner.get(j) or next(letters) for j in range(y.ndim)]
    out = [
        *[of_x[i] for i in batch_x],
        *[name for i, name in enumerate(of_x) if i not in (*summed_x, *batch_x)],
        *[name for j, name in enumerate(of_y) if j not in partner],
    ]
    if preferred_element_type is not None:
        x, y = (_as(operand, preferred_element_type) for operand in (x, y))
    return pnp.einsum(f"{''.join(of_x)},{''.join(of_y)}->{''.join(out)}", x, y)


def _as(x: Any, dtype: Any) -> Any:
    return x if dtype_of(x) == dtype else x.astype(dtype)


def _fft(x: Any, *, fft_type: Any, fft_lengths: Shape) -> Any:
    axes = tuple(range(x.ndim - len(fft_lengths), x.ndim))
    transform = (pnp.fft.fftn, pnp.fft.ifftn, pnp.fft.rfftn, pnp.fft.irfftn)[int(fft_type)]
    return transform(x, tuple(fft_lengths), axes)


ARRAYS: dict[str, Function] = {
    "broadcast_in_dim": _broadcast_in_dim,
    "concatenate": lambda *arrays, dimension: pnp.concatenate(arrays, axis=dimension),
    "iota": _iota,
    "pad": _pad,
    "reshape": lambda x, *, new_sizes, dimensions=None, **_: pnp.reshape(
        x if dimensions is None else pnp.transpose(x, dimensions), new_sizes
    ),
    "rev": lambda x, *, dimensions: pnp.flip(x, tuple(dimensions)),
    "slice": _slice,
    "split": _split,
    "squeeze": lambda x, *, dimensions: pnp.squeeze(x, tuple(dimensions)),
    "stack": lambda *arrays, axis, **_: pnp.stack(arrays, axis=axis),
    "tile": lambda x, *, reps, **_: pnp.tile(x, tuple(reps)),
    "unstack": lambda x, *, axis, **_: tuple(pnp.unstack(x, axis=axis)),
    "transpose": lambda x, *, permutation: pnp.transpose(x, permutation),
    "reduce_sum": _reduction(pnp.sum),
    "reduce_prod": _reduction(pnp.prod),
    "reduce_max": _reduction(pnp.max),
    "reduce_min": _reduction(pnp.min),
    "reduce_and": _of_bits(pnp.bitwise_and, pnp.all, -1),
    "reduce_or": _of_bits(pnp.bitwise_or, pnp.any, 0),
    "reduce_xor": _of_bits(pnp.bitwise_xor, _is_odd, 0),
    "argmax": _place(pnp.argmax),
    "argmin": _place(pnp.argmin),
    "cumsum": _cumulative(pnp.cumsum),
    "cumprod": _cumulative(pnp.cumprod),
    "cummax": _cumulative(np.maximum.accumulate),
    "cummin": _cumulative(np.minimum.accumulate),
    "cumlogsumexp": _cumulative(np.logaddexp.accumulate),
    "sort": _sort,
    "top_k": _top_k,
    "dot_general": _dot_general,
    "fft": _fft,
}
"""name -> function of the operands, with the primitive's params as keywords."""
