"""Diagonals of matrices, their sums, and matrices with a given diagonal."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.promotion import accumulator, convert, implements, refuse_out
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive

__all__ = ["diag", "diagonal", "trace"]


def _diagonal(x: Any, *, axis1: int, axis2: int) -> Any:
    """Row-major, the main diagonal is every (n + 1)-th element of the first min(m, n) rows."""
    kept = [axis for axis in range(x.ndim) if axis not in (axis1, axis2)]
    moved = ops.permute(x, order=(*kept, axis1, axis2))
    rest, (m, n) = moved.shape[:-2], moved.shape[-2:]
    count = min(m, n)
    none = (0,) * len(rest)
    square = ops.slice_(moved, start=(*none, 0, 0), stop=(*rest, count, n), step=(1,) * x.ndim)
    flat = ops.reshape(square, shape=(*rest, count * n))
    step = (*(1,) * len(rest), n + 1)
    stop = (*rest, (count - 1) * (n + 1) + 1 if count else 0)
    return ops.slice_(flat, start=(*none, 0), stop=stop, step=step)


diagonal_: Primitive = composite(
    "diagonal",
    numpy=lambda x, *, axis1, axis2: np.diagonal(x, 0, axis1, axis2),
    lower=_diagonal,
    doc="The main diagonal of two axes, as a last axis.",
)
trace_: Primitive = composite(
    "trace",
    numpy=lambda x, *, axis1, axis2: np.trace(x, 0, axis1, axis2),
    lower=lambda x, *, axis1, axis2: _trace(x, axis1, axis2),
    doc="The sum of the main diagonal of two axes.",
)


def _trace(x: Any, axis1: int, axis2: int) -> Any:
    d = diagonal_(x, axis1=axis1, axis2=axis2)
    return ops.sum(d, axes=(d.ndim - 1,))


@implements(np.diagonal, method="diagonal")
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """np.diagonal."""
    first, second = (normalize_axis("diagonal", axis, x.ndim) for axis in (axis1, axis2))
    if first == second:
        raise ShapeError("diagonal: the two axes are the same", fix="name two axes, as axis1=0, axis2=1.")
    offset = operator.index(offset)
    if offset:
        index = [slice(None)] * x.ndim
        index[second if offset > 0 else first] = slice(abs(offset), None)
        x = x[tuple(index)]
    return diagonal_(x, axis1=first, axis2=second)


@implements(np.trace, method="trace")
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """np.trace: the sum of a diagonal. The trace of a Hessian is computed without the Hessian."""
    refuse_out("trace", out)
    x = convert(x, accumulator(x.dtype) if dtype is None else dtype)
    if offset:
        d = diagonal(x, offset, axis1, axis2)
        return ops.sum(d, axes=(d.ndim - 1,))
    first, second = (normalize_axis("trace", axis, x.ndim) for axis in (axis1, axis2))
    if first == second:
        raise ShapeError("trace: the two axes are the same", fix="name two axes, as axis1=0, axis2=1.")
    return trace_(x, axis1=first, axis2=second)


@implements(np.diag)
def diag(x: Any, k: int = 0) -> Any:
    """np.diag: the diagonal of a matrix, or the matrix with a given diagonal."""
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ShapeError(
            f"diag: needs one or two axes, got shape {x.shape}",
            fix="np.diagonal takes matrices in more axes; np.ravel makes a vector.",
        )
    return diag_matrix_(x, k=operator.index(k))


def _diag_matrix(x: Any, *, k: int) -> Any:
    """Elements n + 1 apart in row-major order, shifted by k."""
    count = x.shape[0]
    n = count + abs(k)
    if count == 0:
        return ops.reshape(ops.pad(x, low=(0,), high=(n * n,), interior=(0,)), shape=(n, n))
    low = k if k >= 0 else -k * n
    used = (count - 1) * (n + 1) + 1
    flat = ops.pad(x, low=(low,), high=(n * n - low - used,), interior=(n,))
    return ops.reshape(flat, shape=(n, n))


diag_matrix_: Primitive = composite(
    "diag", numpy=lambda x, *, k: np.diag(x, k), lower=_diag_matrix, doc="Matrix with a given diagonal."
)


COMPOSITES = [diagonal_, trace_, diag_matrix_]
