"""Long sums of products on plain arrays, in pieces that are added in groups.

BLAS and NumPy add up all products, or those of some hundred places, one after the other.
"""

from __future__ import annotations

import math
from string import ascii_letters
from typing import Any

import numpy as np

from primad.ops.blocked.groups import PRODUCTS, RunningSums, sum_along
from primad.system.machine import BLAS_UNPACKED, CALL_ELEMENTS, SECOND_CACHE

DOT, ALONG, ACROSS, MATRIX = 4096, 1024, 256, 2048
"""Products that BLAS adds up at once, at most: of two vectors, of a vector and a matrix that lies along the sum or
across it, of two matrices. Tuned: so many lose two to four bits (a matrix that lies across has one running sum for each
element), and calls take less time than they do. The last bits of results depend on them."""
LARGEST = SECOND_CACHE.share(2) // 8
"""Elements of a result, of which products are left to BLAS: to add to what is not in a cache takes time. The last bits
of results depend on it."""


def matmul(x: Any, y: Any, out: Any = None) -> Any:
    """Multiply matrices, or stacks of them, of floats.

    Args:
        x: an array (…, m, k).
        y: an array (…, k, n).
        out: an array for the result, if there is one.
    """
    depth, size = x.shape[-1], math.prod(x.shape[:-1]) * y.shape[-1]
    if x.dtype.kind != "f" or size > LARGEST or depth <= (piece := _piece(x, y)):
        return np.matmul(x, y, out=out)
    whole = depth // piece * piece
    if size > CALL_ELEMENTS:  # a call for each piece takes no longer than their sums
        total = _one_by_one(x, y, whole, piece)
    else:
        left = x[..., :whole].reshape(*x.shape[:-1], -1, piece).swapaxes(-2, -3)
        right = y[..., :whole, :].reshape(*y.shape[:-2], -1, piece, y.shape[-1])
        parts = np.matmul(left, right)
        total = sum_along(parts, (parts.ndim - 3,))
    if whole < depth:
        total = total + np.matmul(x[..., whole:], y[..., whole:, :])
    return _placed(total, out)


def _piece(x: Any, y: Any) -> int:
    """Return how many products of each sum BLAS may add up at once."""
    rows, columns = x.shape[-2], y.shape[-1]
    if rows > 1 and columns > 1:
        return ACROSS if rows * columns * min(x.shape[-1], MATRIX) <= BLAS_UNPACKED else MATRIX
    if rows == columns:
        return DOT
    along = x.strides[-1] if rows > 1 else y.strides[-2]
    return ALONG if along == x.itemsize else ACROSS


def _one_by_one(x: Any, y: Any, whole: int, piece: int) -> Any:
    """Multiply pieces one after the other."""
    sums = RunningSums(1)
    for start in range(0, whole, piece):
        part = slice(start, start + piece)
        sums.add(0, np.matmul(x[..., part], y[..., part, :]))
        sums.turn()
    return sums.ended()[0]


def as_matrices(x: Any, y: Any, x_order: Any, left: Any, y_order: Any, right: Any) -> tuple[Any, Any]:
    """Return two arrays as matrices, or stacks of them.

    Args:
        x: the one on the left.
        y: the one on the right.
        x_order: the order of the axes of the first; None where they stay.
        left: the shape of its matrix; None where it has that.
        y_order: as `x_order`, of the other.
        right: as `left`, of the other.
    """
    if x_order is not None:
        x = x.transpose(x_order)
    if left is not None:
        x = x.reshape(left)
    if y_order is not None:
        y = y.transpose(y_order)
    if right is not None:
        y = y.reshape(right)
    return x, y


def einsum(labels: str, x: Any, y: Any, out: Any = None) -> Any:
    """Contract two arrays of floats whose axes are named by letters.

    Args:
        labels: as `np.einsum` takes them.
        x: an array.
        y: an array.
        out: an array for the result, if there is one.
    """
    operands, result = labels.split("->")
    in_x, in_y = operands.split(",")
    lengths = dict(zip(in_x + in_y, x.shape + y.shape, strict=True))
    summed = {c: n for c, n in lengths.items() if c not in result and n > 1}
    count = math.prod(summed.values())
    if count <= PRODUCTS or x.dtype.kind != "f":
        return np.einsum(labels, x, y, out=out)
    longest = max(summed, key=lambda c: summed[c])
    length = summed[longest]
    span = PRODUCTS * length // count
    if span < 2:  # the others are many
        parts = einsum(f"{operands}->{longest}{result}", x, y)
        return _placed(sum_along(parts, (0,)), out)
    new = next(c for c in reversed(ascii_letters) if c not in lengths)
    whole = length // span * span
    pieces, rests = [], []
    for array, letters in ((x, in_x), (y, in_y)):
        axis = letters.find(longest)
        before = (slice(None),) * axis
        shape = array.shape
        cut = array if axis < 0 else array[(*before, slice(whole))]
        pieces.append(cut if axis < 0 else cut.reshape(*shape[:axis], -1, span, *shape[axis + 1 :]))
        rests.append(array if axis < 0 else array[(*before, slice(whole, None))])
    total = sum_along(np.einsum(f"{operands.replace(longest, new + longest)}->{new}{result}", *pieces), (0,))
    if whole < length:
        total = total + np.einsum(labels, *rests)
    return _placed(total, out)


def _placed(total: Any, out: Any) -> Any:
    if out is None:
        return total
    np.copyto(out, total)
    return out
