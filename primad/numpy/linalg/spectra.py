"""Of numpy.linalg: eigenvalues, singular values, and what is made of them."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from primad import ops
from primad.errors import ShapeError, TracingError
from primad.ir.array_types import is_complex
from primad.numpy.axis_arguments import keep_axes, normalize_axes
from primad.numpy.elementwise.ufuncs import absolute, where
from primad.numpy.linalg.linear_systems import inv, square_matrices
from primad.numpy.promotion import as_float, implements
from primad.numpy.reduce.reductions import norm_
from primad.numpy.reduce.reductions import sum as sum_
from primad.numpy.shapes.shaping import moveaxis

__all__ = [
    "EigResult", "EighResult", "SVDResult", "cond", "eig", "eigh", "eigvals", "eigvalsh", "matrix_norm", "matrix_rank",
    "norm", "svd", "svdvals", "vector_norm",
]  # fmt: skip


class EigResult(NamedTuple):
    """What `eig` gives."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """What `svd` gives."""

    U: Any
    S: Any
    Vh: Any


# -- factorizations ----------------------------------------------------------------------------------------------------


def rectangular(name: str, a: Any) -> Any:
    a = as_float(a)
    if a.ndim < 2:
        raise ShapeError(
            f"np.linalg.{name} takes matrices, the last two axes; got shape {a.shape}",
            fix="reshape it to two axes, or more for a stack.",
        )
    return a


def _decomposed(name: str, a: Any, UPLO: str) -> Any:
    """Return the eigenvalues and vectors of matrices of which the triangle that was asked for is read."""
    a = square_matrices(name, a)
    if str(UPLO).upper() not in ("L", "U"):
        raise ShapeError(f"np.linalg.{name}: UPLO is 'L' or 'U', not {UPLO!r}", fix="leave it out for 'L'.")
    return ops.eigh(a, lower=str(UPLO).upper() == "L")


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """np.linalg.eigh: eigenvalues of Hermitian matrices in ascending order, and eigenvectors as columns.

    One triangle is read, so the derivatives are in its elements alone, those beside the diagonal counting for both
    places; a gradient is 0 in the other triangle. Complex vectors have LAPACK's phases: the first element of each is
    real (with UPLO='U' the last), and derivatives are those of vectors that are so.

    Args:
        a: shape (…, n, n), symmetric, or of complex numbers Hermitian.
        UPLO: the triangle that is read, 'L' or 'U'.

    Returns:
        shapes (…, n) and (…, n, n). If only the eigenvalues are used, the vectors are not computed.

    Raises:
        numpy.linalg.LinAlgError: from derivatives of the vectors where eigenvalues are equal, and from a gradient that
            tells equal eigenvalues apart: neither exists. Sums over the spectrum have theirs, and so have functions of
            the matrix such as `(v * f(w)) @ v.conj().T`, to every order.

    Example:
        >>> import numpy as np, primad
        >>> primad.grad(lambda a: np.sum(np.linalg.eigh(a).eigenvalues ** 2))(np.eye(2))
        array([[2., 0.],
               [0., 2.]])
        >>> def root(a):
        ...     w, v = np.linalg.eigh(a)
        ...     return (v * np.sqrt(w)) @ v.T
        >>> primad.jvp(root, (np.eye(2),), (np.array([[0.0, 1.0], [1.0, 0.0]]),))[1]
        array([[0. , 0.5],
               [0.5, 0. ]])
    """
    return EighResult(*_decomposed("eigh", a, UPLO))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """np.linalg.eigvalsh: the eigenvalues of `eigh`, in ascending order."""
    return _decomposed("eigvalsh", a, UPLO)[0]


@implements(np.linalg.eig)
def eig(a: Any) -> EigResult:
    """np.linalg.eig: eigenvalues of general matrices, and eigenvectors as columns; always complex numbers.

    Vectors have length 1, and the largest element of each is real, as LAPACK makes them; derivatives are those of
    vectors that are so. The order of the eigenvalues is LAPACK's, and none that a formula has: sort them, or treat them
    alike.

    Args:
        a: shape (…, n, n), real or complex.

    Returns:
        shapes (…, n) and (…, n, n), complex also where NumPy finds that all are real: take `.real`.

    Raises:
        numpy.linalg.LinAlgError: from derivatives where eigenvalues are equal to rounding, which that of a nearly
            defective matrix makes large.

    Example:
        >>> import numpy as np, primad
        >>> stiffest = lambda a: np.max(np.linalg.eig(a).eigenvalues.real)
        >>> primad.grad(stiffest)(np.array([[1.0, 1.0], [0.0, 3.0]]))
        array([[0. , 0. ],
               [0.5, 1. ]])
    """
    return EigResult(*ops.eig(square_matrices("eig", a))[:2])


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """np.linalg.eigvals: the eigenvalues of `eig`, complex numbers in LAPACK's order.

    Example:
        >>> import numpy as np, primad
        >>> spin = lambda a: np.linalg.eigvals(a)[0].imag ** 2
        >>> primad.grad(spin)(np.array([[0.0, -2.0], [2.0, 0.0]]))  # of minus the product of the other two elements
        array([[ 0., -2.],
               [ 2.,  0.]])
    """
    return ops.eig(square_matrices("eigvals", a))[0]


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """np.linalg.svd: a = U diag(S) Vh, with singular values S in descending order.

    Complex vectors have LAPACK's phases: the first element of each row of Vh is real (of wide matrices: of each column
    of U), and derivatives are those of vectors that are so.

    Args:
        a: shape (…, m, n); with k = min(m, n).
        full_matrices: must be False for matrices that are not square: other columns are not unique.
        compute_uv: whether to return U and Vh, too.
        hermitian: must be False; `eigh` is for such matrices.

    Returns:
        U of shape (…, m, k), S of shape (…, k), and Vh of shape (…, k, n), or S alone.

    Raises:
        ShapeError: for what is not unique.
        numpy.linalg.LinAlgError: from derivatives of the vectors where singular values are equal (or, of matrices that
            are not square, 0), and from gradients that tell equal values apart, or have a part along a value of 0.
    """
    a = rectangular("svd", a)
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
    return ops.svd(rectangular("svdvals", x))[1]


# -- norms and condition -----------------------------------------------------------------------------------------------


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """np.linalg.norm: norms of vectors (one axis) and of matrices (two axes), of every order.

    At 0 the derivative is 0. The Euclidean norm neither overflows nor vanishes for large and small elements. Norms of
    order 2, −2 and 'nuc' of matrices are made of singular values: see `svd` for where they have no derivative.
    """
    x = as_float(x)
    if axis is None and ord is None:
        return keep_axes(_euclidean(x, tuple(range(x.ndim))), x, tuple(range(x.ndim)), keepdims)
    axes = (axis,) if not isinstance(axis, (tuple, list)) and axis is not None else axis
    axes = tuple(range(x.ndim)) if axes is None else tuple([operator.index(i) for i in axes])
    found = normalize_axes("norm", axes, x.ndim)
    if len(found) == 1:
        result = _vector_norm(x, 2 if ord is None else ord, found)
    elif len(found) == 2:
        result = _matrix_norm(moveaxis(x, axes, (-2, -1)), "fro" if ord is None else ord)
    else:
        raise ShapeError(
            f"norm: order {ord!r} is for one or two axes, not {len(found)}",
            fix="name one or two axes by axis=, or leave the order out for the root of the sum of squares.",
        )
    return keep_axes(result, x, found, keepdims)


def _sizes(x: Any, ord: Any) -> Any:
    """Return the absolute values of complex numbers, of which all norms are made but those of singular values."""
    return absolute(x) if is_complex(x.dtype) and ord not in (2, -2, "nuc") else x


def _euclidean(x: Any, axes: tuple[int, ...]) -> Any:
    """Return √Σ|x|², of complex numbers from their parts: |x| has no second derivative where one element is 0."""
    if is_complex(x.dtype) and axes:
        x = ops.concatenate(ops.real_part(x), ops.imaginary_part(x), axis=axes[0])
    return norm_(_sizes(x, None), axes=axes)


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...]) -> Any:
    if ord == 2:
        return _euclidean(x, axes)
    x = _sizes(x, None)
    size = absolute(x)
    if isinstance(ord, str):
        raise ShapeError(
            f"norm: vectors have no norm of order {ord!r}",
            fix="give a number, as 2 or np.inf; 'fro' and 'nuc' are of matrices.",
        )
    if ord in (math.inf, -math.inf):
        return (ops.reduce_max if ord > 0 else ops.reduce_min)(size, axes=axes)
    if ord == 0:
        return ops.sum((x != 0).astype(x.dtype), axes=axes)
    if ord == 1:
        return ops.sum(size, axes=axes)
    total = ops.sum(size**ord, axes=axes)
    live = total != 0
    return where(live, where(live, total, 1.0) ** (1 / ord), total if ord > 0 else math.inf)


def _matrix_norm(x: Any, ord: Any) -> Any:
    """Return norms of the matrices in the last two axes."""
    last = x.ndim - 1
    if ord in ("fro", "f"):
        return _euclidean(x, (last - 1, last))
    x = _sizes(x, ord)
    if ord in (1, -1, math.inf, -math.inf):
        sums = ops.sum(absolute(x), axes=(last - 1 if abs(ord) == 1 else last,))
        return (ops.reduce_max if ord > 0 else ops.reduce_min)(sums, axes=(last - 1,))
    if ord in (2, -2, "nuc"):
        s = ops.svd(x)[1]
        return ops.sum(s, axes=(last - 1,)) if ord == "nuc" else s[..., 0 if ord > 0 else -1]
    raise ShapeError(
        f"norm: matrices have no norm of order {ord!r}",
        fix="choose from 1, -1, 2, -2, np.inf, -np.inf, 'fro' and 'nuc', or axis= for norms of vectors.",
    )


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """np.linalg.matrix_norm: `norm` of the matrices in the last two axes."""
    return norm(rectangular("matrix_norm", x), ord, (-2, -1), keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """np.linalg.vector_norm: norms of vectors along an axis, or of all elements along several."""
    x = as_float(x)
    axes = normalize_axes("vector_norm", axis, x.ndim)
    return keep_axes(_vector_norm(x, 2 if ord is None else ord, axes), x, axes, keepdims)


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """np.linalg.cond: the condition of matrices in a norm; by singular values for p None, 2 and −2."""
    x = rectangular("cond", x)
    if p in (None, 2, -2):
        s = ops.svd(x)[1]
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """np.linalg.matrix_rank: how many singular values are above a tolerance; integers, without derivative."""
    if tol is not None and rtol is not None:
        raise ShapeError("matrix_rank: give tol or rtol, not both", fix="leave one of them out.")
    a = as_float(A)
    if a.ndim < 2:
        return (sum_(a != 0) > 0).astype(np.int64)
    s = absolute(ops.eigh(a, lower=True)[0]) if hermitian else ops.svd(a)[1]
    if tol is None:
        rtol = max(a.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else _as_column(rtol)
        tol = ops.reduce_max(s, axes=(s.ndim - 1,))[..., None] * rtol
    else:
        tol = _as_column(tol)
    return sum_(s > tol, -1)


def _as_column(x: Any) -> Any:
    return x[..., None] if np.ndim(x) else x
