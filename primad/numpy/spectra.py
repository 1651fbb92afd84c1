"""Of numpy.linalg: eigenvalues of symmetric matrices, singular values, and what is made of them."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from primad import ops
from primad.errors import ShapeError, TracingError
from primad.kinds import composite
from primad.numpy.elementwise import absolute, where
from primad.numpy.promotion import (
    as_float,
    as_traced,
    first_traced,
    implements,
    keep_axes,
    normalize_axes,
)
from primad.numpy.reductions import norm_
from primad.numpy.reductions import sum as sum_
from primad.numpy.shaping import moveaxis
from primad.numpy.systems import inv, square_matrices
from primad.ops.factorization import matrix_product, transposed
from primad.primitive import Primitive

__all__ = [
    "EighResult", "SVDResult", "cond", "eigh", "eigvalsh", "lstsq", "matrix_norm", "matrix_rank", "norm", "pinv", "svd",
    "svdvals", "vector_norm",
]  # fmt: skip


class EighResult(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """What `svd` gives."""

    U: Any
    S: Any
    Vh: Any


# -- composites --------------------------------------------------------------------------------------------------------


def _inverse(s: Any, cutoff: float) -> Any:
    """Return 1/s for singular values above the cutoff, relative to the largest, and 0 for the others."""
    if not s.shape[-1]:
        return s
    kept = s > cutoff * s[..., :1]
    return where(kept, 1.0 / where(kept, s, 1.0), 0.0)


def _pseudo_inverse(a: Any, *, cutoff: float) -> Any:
    u, s, vh = ops.svd(a)
    return matrix_product(transposed(vh) * _inverse(s, cutoff)[..., None, :], transposed(u))


def _pseudo_inverse_tangent(t: Any, out: Any, a: Any, *, cutoff: float) -> Any:
    """With p = a⁺: ṗ = −p ȧ p + p pᵀ ȧᵀ (1 − a p) + (1 − p a) ȧᵀ pᵀ p.

    Source: G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems
    whose variables separate", SIAM Journal on Numerical Analysis 10 (1973).
    """
    p, q, s = out, transposed(out), transposed(t)
    change = -matrix_product(matrix_product(p, t), p)
    m, n = a.shape[-2:]
    rows = matrix_product(matrix_product(p, q), s)
    columns = matrix_product(matrix_product(s, q), p)
    if m:
        change = change + rows - matrix_product(matrix_product(rows, a), p)
    return change + columns - matrix_product(p, matrix_product(a, columns)) if n else change


pinv_: Primitive = composite(
    "pinv",
    numpy=lambda a, *, cutoff: np.linalg.pinv(a, rcond=cutoff),
    lower=_pseudo_inverse,
    jvp=[_pseudo_inverse_tangent],
    doc="The pseudo-inverse a⁺; singular values up to the cutoff, relative to the largest, count as 0. Derivatives are "
    "those along matrices of the same rank.",
)


def _least_squares(a: Any, b: Any, *, cutoff: float) -> Any:
    u, s, vh = ops.svd(a)
    return matrix_product(transposed(vh), _inverse(s, cutoff)[..., :, None] * matrix_product(transposed(u), b))


def _least_squares_by_matrix(t: Any, out: Any, a: Any, b: Any, *, cutoff: float) -> Any:
    p, s = pinv_(a, cutoff=cutoff), transposed(t)
    rest = b - matrix_product(a, out)
    pulled = matrix_product(s, matrix_product(transposed(p), out))
    change = matrix_product(p, matrix_product(transposed(p), matrix_product(s, rest))) - matrix_product(
        p, matrix_product(t, out)
    )
    return change + pulled - matrix_product(p, matrix_product(a, pulled))


lstsq_: Primitive = composite(
    "lstsq",
    numpy=lambda a, b, *, cutoff: np.linalg.pinv(a, rcond=cutoff) @ b,
    lower=_least_squares,
    jvp=[_least_squares_by_matrix, lambda t, out, a, b, *, cutoff: lstsq_(a, t, cutoff=cutoff)],
    doc="The shortest x for which a x is nearest to b; singular values up to the cutoff count as 0.",
)

COMPOSITES = (pinv_, lstsq_)


# -- factorizations ----------------------------------------------------------------------------------------------------


def _rectangular(name: str, a: Any) -> Any:
    a = as_float(a)
    if a.ndim < 2:
        raise ShapeError(f"np.linalg.{name} takes matrices, the last two axes; got shape {a.shape}")
    return a


def _triangle(name: str, a: Any, UPLO: str) -> Any:
    """Return matrices of which the lower triangle is the one that was asked for."""
    a = square_matrices(name, a)
    if str(UPLO).upper() not in ("L", "U"):
        raise ShapeError(f"np.linalg.{name}: UPLO is 'L' or 'U', not {UPLO!r}")
    return a if str(UPLO).upper() == "L" else transposed(a)


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """np.linalg.eigh: eigenvalues of symmetric matrices in ascending order, and eigenvectors as columns.

    Of the value one triangle is read. A change counts by its symmetric part, so gradients are symmetric.

    Args:
        a: shape (…, n, n), symmetric.
        UPLO: the triangle that is read, 'L' or 'U'.

    Returns:
        shapes (…, n) and (…, n, n). If only the eigenvalues are used, the vectors are not computed.

    Raises:
        numpy.linalg.LinAlgError: from derivatives of the vectors where eigenvalues are equal, and from a gradient that
            tells equal eigenvalues apart: neither exists. Sums over the spectrum have theirs.

    Example:
        >>> import numpy as np, primad
        >>> primad.grad(lambda a: np.sum(np.linalg.eigh(a).eigenvalues ** 2))(np.eye(2))
        array([[2., 0.],
               [0., 2.]])
    """
    return EighResult(*ops.eigh(_triangle("eigh", a, UPLO)))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """np.linalg.eigvalsh: the eigenvalues of `eigh`, in ascending order."""
    return ops.eigh(_triangle("eigvalsh", a, UPLO))[0]


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """np.linalg.svd: a = U diag(S) Vh, with singular values S in descending order.

    Args:
        a: shape (…, m, n); with k = min(m, n).
        full_matrices: must be False for matrices that are not square: other columns are not unique.
        compute_uv: whether to return U and Vh, too.
        hermitian: must be False; `eigh` is for symmetric matrices.

    Returns:
        U of shape (…, m, k), S of shape (…, k), and Vh of shape (…, k, n), or S alone.

    Raises:
        ShapeError: for what is not unique.
        numpy.linalg.LinAlgError: from derivatives of the vectors where singular values are equal (or, of matrices that
            are not square, 0), and from gradients that tell equal values apart, or have a part along a value of 0.
    """
    a = _rectangular("svd", a)
    if hermitian:
        raise TracingError("np.linalg.svd with hermitian=True has no derivative in primad", fix="use np.linalg.eigh.")
    if not compute_uv:
        return ops.svd(a)[1]
    if full_matrices and a.shape[-2] != a.shape[-1]:
        raise ShapeError(
            f"np.linalg.svd of shape {a.shape} with full_matrices=True has no derivative in primad",
            why="The columns that are added have no singular values and are not unique.",
            fix="pass full_matrices=False.",
        )
    return SVDResult(*ops.svd(a))


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    """np.linalg.svdvals: the singular values in descending order."""
    return ops.svd(_rectangular("svdvals", x))[1]


# -- norms and condition -----------------------------------------------------------------------------------------------


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """np.linalg.norm: norms of vectors (one axis) and of matrices (two axes), of every order.

    At 0 the derivative is 0. The Euclidean norm neither overflows nor vanishes for large and small elements. Norms of
    order 2, −2 and 'nuc' of matrices are made of singular values: see `svd` for where they have no derivative.
    """
    x = as_float(x)
    if axis is None and ord is None:
        return keep_axes(norm_(x, axes=tuple(range(x.ndim))), x, tuple(range(x.ndim)), keepdims)
    axes = (axis,) if not isinstance(axis, (tuple, list)) and axis is not None else axis
    axes = tuple(range(x.ndim)) if axes is None else tuple([operator.index(i) for i in axes])
    found = normalize_axes("norm", axes, x.ndim)
    if len(found) == 1:
        result = _vector_norm(x, 2 if ord is None else ord, found)
    elif len(found) == 2:
        result = _matrix_norm(moveaxis(x, axes, (-2, -1)), "fro" if ord is None else ord)
    else:
        raise ShapeError(f"norm: order {ord!r} is for one or two axes, not {len(found)}")
    return keep_axes(result, x, found, keepdims)


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...]) -> Any:
    size = absolute(x)
    if isinstance(ord, str):
        raise ShapeError(f"norm: vectors have no norm of order {ord!r}")
    if ord == 2:
        return norm_(x, axes=axes)
    if ord in (math.inf, -math.inf):
        return (ops.reduce_max if ord > 0 else ops.reduce_min)(size, axes=axes)
    if ord == 0:
        return ops.sum((x != 0).astype(x.dtype), axes=axes)
    if ord == 1:
        return ops.sum(size, axes=axes)
    total = ops.sum(size**ord, axes=axes)
    live = total != 0
    return where(live, where(live, total, 1.0) ** (1 / ord), total)


def _matrix_norm(x: Any, ord: Any) -> Any:
    """Return norms of the matrices in the last two axes."""
    last = x.ndim - 1
    if ord in ("fro", "f"):
        return norm_(x, axes=(last - 1, last))
    if ord in (1, -1, math.inf, -math.inf):
        sums = ops.sum(absolute(x), axes=(last - 1 if abs(ord) == 1 else last,))
        return (ops.reduce_max if ord > 0 else ops.reduce_min)(sums, axes=(last - 1,))
    if ord in (2, -2, "nuc"):
        s = ops.svd(x)[1]
        return ops.sum(s, axes=(last - 1,)) if ord == "nuc" else s[..., 0 if ord > 0 else -1]
    raise ShapeError(f"norm: matrices have no norm of order {ord!r}")


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """np.linalg.matrix_norm: `norm` of the matrices in the last two axes."""
    return norm(_rectangular("matrix_norm", x), ord, (-2, -1), keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """np.linalg.vector_norm: norms of vectors along an axis, or of all elements along several."""
    x = as_float(x)
    axes = normalize_axes("vector_norm", axis, x.ndim)
    return keep_axes(_vector_norm(x, ord, axes), x, axes, keepdims)


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """np.linalg.cond: the condition of matrices in a norm; by singular values for p None, 2 and −2."""
    x = _rectangular("cond", x)
    if p in (None, 2, -2):
        s = ops.svd(x)[1]
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """np.linalg.matrix_rank: how many singular values are above a tolerance; integers, without derivative."""
    if tol is not None and rtol is not None:
        raise ShapeError("matrix_rank: give tol or rtol, not both")
    a = as_float(A)
    if a.ndim < 2:
        return (sum_(a != 0) > 0).astype(np.int64)
    s = absolute(ops.eigh(a)[0]) if hermitian else ops.svd(a)[1]
    if tol is None:
        rtol = max(a.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else _as_column(rtol)
        tol = ops.reduce_max(s, axes=(s.ndim - 1,))[..., None] * rtol
    else:
        tol = _as_column(tol)
    return sum_(s > tol, -1)


def _as_column(x: Any) -> Any:
    return x[..., None] if np.ndim(x) else x


# -- pseudo-inverse and least squares ----------------------------------------------------------------------------------


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """np.linalg.pinv: the pseudo-inverse; singular values up to `rcond` times the largest count as 0.

    Derivatives are those along matrices of the same rank; they need no singular vectors, and equal values do no harm.

    Example:
        >>> import numpy as np, primad
        >>> primad.grad(lambda x: np.linalg.pinv(x[:, None])[0, 0])(np.array([1.0, 2.0]))
        array([ 0.12, -0.16])
    """
    a = _rectangular("pinv", a)
    if hermitian:
        raise TracingError("np.linalg.pinv with hermitian=True has no derivative in primad", fix="leave it out.")
    if rcond is not None and rtol is not None:
        raise ShapeError("pinv: give rcond or rtol, not both")
    found = rtol if rcond is None else rcond
    if found is None:
        found = 1e-15 if rtol is None else found
    return pinv_(a, cutoff=_cutoff("pinv", found))


def _cutoff(name: str, value: Any) -> float:
    if np.ndim(value):
        raise TracingError(f"{name}: the cutoff must be one number on traced arrays")
    return float(value)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    """np.linalg.lstsq: the shortest x for which a x is nearest to b; residuals, rank and singular values.

    Args:
        a: shape (m, n).
        b: shape (m,), or (m, k).
        rcond: singular values up to this times the largest count as 0; by default the precision times max(m, n).

    Returns:
        x of shape (n,) or (n, k), whose derivatives are those along matrices of the same rank; the squared lengths of
        b − a x if m > n (also where the rank is lower, which NumPy gives nothing for); the rank; the singular values.
    """
    like = first_traced([a, b])
    a, b = as_float(as_traced(a, like)), as_float(as_traced(b, like))
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0]:
        raise ShapeError(f"np.linalg.lstsq: a matrix of shape {a.shape} and right-hand sides of shape {b.shape}")
    dtype = np.result_type(a.dtype, b.dtype)
    a, b = a.astype(dtype), b.astype(dtype)
    cutoff = np.finfo(dtype).eps * max(a.shape) if rcond is None else max(0.0, _cutoff("lstsq", rcond))
    columns = b[:, None] if b.ndim == 1 else b
    x = lstsq_(a, columns, cutoff=float(cutoff))
    s = ops.svd(a)[1]
    rank = sum_(s > cutoff * s[:1])
    rest = columns - a @ x
    residuals = sum_(rest * rest, 0) if a.shape[0] > a.shape[1] else rest[:0, 0]
    return x[:, 0] if b.ndim == 1 else x, residuals, rank, s
