"""Of numpy.linalg: products of matrices and tensors, by the names that the Array API has for them."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.numpy.linalg import diagonals, products
from primad.numpy.linalg.linear_systems import inv, solve, square_matrices
from primad.numpy.promotion import as_traced, first_traced, implements
from primad.numpy.shapes.shaping import reshape, swapaxes, transpose

__all__ = [
    "cross", "diagonal", "matmul", "matrix_power", "matrix_transpose", "multi_dot", "outer", "tensordot", "tensorinv",
    "tensorsolve", "trace", "vecdot",
]  # fmt: skip


@implements(np.linalg.matmul)
def matmul(x1: Any, x2: Any, /) -> Any:
    """np.linalg.matmul: the operator @."""
    return products.matmul(x1, x2)


@implements(np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """np.linalg.vecdot: products summed along an axis."""
    return products.vecdot(x1, x2, axis=axis)


@implements(np.linalg.tensordot)
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """np.linalg.tensordot: products summed over pairs of axes."""
    return products.tensordot(x1, x2, axes)


@implements(np.linalg.cross)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """np.linalg.cross of vectors in three dimensions."""
    return products.cross(x1, x2, axis=axis)


@implements(np.linalg.outer)
def outer(x1: Any, x2: Any, /) -> Any:
    """np.linalg.outer: all products of the elements of two vectors."""
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ShapeError(
            f"np.linalg.outer takes two vectors, got {np.ndim(x1)} and {np.ndim(x2)} axes",
            fix="np.ravel makes vectors; np.outer does so by itself.",
        )
    return products.outer(x1, x2)


@implements(np.linalg.diagonal)
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """np.linalg.diagonal: diagonals of the matrices in the last two axes."""
    return diagonals.diagonal(x, offset, -2, -1)


@implements(np.linalg.trace)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """np.linalg.trace: sums of diagonals of the matrices in the last two axes."""
    return diagonals.trace(x, offset, -2, -1, dtype)


@implements(np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    """np.linalg.matrix_transpose: the last two axes swapped."""
    if x.ndim < 2:
        raise ShapeError(
            f"np.linalg.matrix_transpose takes matrices, got shape {x.shape}",
            fix="np.transpose takes any number of axes.",
        )
    return swapaxes(x, -1, -2)


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Any:
    """np.linalg.matrix_power: powers of square matrices, by repeated squaring; negative ones of the inverse."""
    n = operator.index(n)
    if n < 0:
        return matrix_power(inv(a), -n)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(
            f"np.linalg.matrix_power takes square matrices, the last two axes; got shape {a.shape}",
            fix="take a part that is square, as a[..., :n, :n].",
        )
    if n == 0:
        return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape) + 0 * a
    result = None
    while True:
        if n % 2:
            result = a if result is None else products.matmul(result, a)
        n //= 2
        if not n:
            return result
        a = products.matmul(a, a)


@implements(np.linalg.multi_dot, of_arrays=True)
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    """np.linalg.multi_dot: the product of several matrices, in the order that multiplies least.

    The first may be a row, the last a column.
    """
    like = first_traced(list(arrays))
    parts = [as_traced(array, like) for array in arrays]
    if len(parts) < 2:
        raise ShapeError(
            "multi_dot: give two arrays or more", fix="write np.linalg.multi_dot([a, b]); one array is its own product."
        )
    row, column = parts[0].ndim == 1, parts[-1].ndim == 1
    parts[0] = parts[0][None, :] if row else parts[0]
    parts[-1] = parts[-1][:, None] if column else parts[-1]
    if any(part.ndim != 2 for part in parts):
        raise ShapeError(
            f"multi_dot takes matrices, got shapes {[part.shape for part in parts]}",
            fix="reshape those in the middle to two axes, and the first and the last to one or two.",
        )
    result = _chain(parts)
    result = result[0] if row else result
    return result[..., 0] if column else result


def _chain(parts: Sequence[Any]) -> Any:
    """Multiply matrices in the cheapest order (Cormen et al., Introduction to Algorithms, 15.2)."""
    lengths = [parts[0].shape[0], *[part.shape[1] for part in parts]]
    best: dict[tuple[int, int], tuple[float, int]] = {(i, i + 1): (0.0, i) for i in range(len(parts))}
    for count in range(2, len(parts) + 1):
        for i in range(len(parts) - count + 1):
            j = i + count
            best[i, j] = min(
                (best[i, k][0] + best[k, j][0] + math.prod((lengths[i], lengths[k], lengths[j])), k)
                for k in range(i + 1, j)
            )

    def product(i: int, j: int) -> Any:
        k = best[i, j][1]
        return parts[i] if j == i + 1 else products.matmul(product(i, k), product(k, j))

    return product(0, len(parts))


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """np.linalg.tensorsolve: x with tensordot(a, x, x.ndim) = b."""
    like = first_traced([a, b])
    a, b = as_traced(a, like), as_traced(b, like)
    if axes is not None:
        moved = [operator.index(axis) % a.ndim for axis in axes]
        a = transpose(a, (*[axis for axis in range(a.ndim) if axis not in moved], *moved))
    shape = a.shape[b.ndim :]
    if math.prod(shape) != b.size or a.shape[: b.ndim] != b.shape:
        raise ShapeError(
            f"np.linalg.tensorsolve: shapes {a.shape} and {b.shape} make no square system",
            fix="the axes behind those of b must have as many elements as b.",
        )
    return reshape(solve(reshape(a, (b.size, b.size)), reshape(b, (b.size,))), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """np.linalg.tensorinv: the inverse of tensordot with a; `ind` says how many axes are those of the result."""
    ind = operator.index(ind)
    before, after = a.shape[:ind], a.shape[ind:]
    if ind <= 0 or math.prod(before) != math.prod(after):
        raise ShapeError(
            f"np.linalg.tensorinv: shape {a.shape} with ind={ind} makes no square matrix",
            fix="choose ind so that the axes before it have as many elements as those behind.",
        )
    size = math.prod(before)
    return reshape(inv(square_matrices("tensorinv", reshape(a, (size, size)))), (*after, *before))
