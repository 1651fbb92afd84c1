"""Of numpy.linalg: systems of equations, inverses, determinants and factorizations of matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.ir.array_types import is_complex
from primad.numpy.elementwise.ufuncs import absolute, sign
from primad.numpy.linalg.diagonals import diagonal_
from primad.numpy.promotion import as_float, implements, traced_operands
from primad.numpy.reduce.reductions import prod_
from primad.numpy.shapes.shaping import broadcast_to
from primad.ops.linalg.elimination import inverse_transposed, solve_by_elimination
from primad.ops.linalg.factorization import matrix_product, transposed
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive

__all__ = ["QRResult", "SlogdetResult", "cholesky", "det", "inv", "qr", "slogdet", "solve"]


class QRResult(NamedTuple):
    """The factors of `qr`."""

    Q: Any
    R: Any


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: Any
    logabsdet: Any


# -- composites --------------------------------------------------------------------------------------------------------


solve_: Primitive = composite(
    "solve",
    numpy=lambda a, b: np.linalg.solve(a, b),
    lower=solve_by_elimination,
    jvp=[lambda t, out, a, b: solve_(a, -matrix_product(t, out)), lambda t, out, a, b: solve_(a, t)],
    doc="a⁻¹ b, by elimination with partial pivoting.",
)


def _inverse(a: Any) -> Any:
    return transposed(inverse_transposed(a))


inv_: Primitive = composite(
    "inv",
    numpy=lambda a: np.linalg.inv(a),
    lower=_inverse,
    jvp=[lambda t, out, a: -matrix_product(matrix_product(out, t), out)],
    doc="a⁻¹.",
)


def _pivots(factors: Any) -> Any:
    return diagonal_(factors, axis1=factors.ndim - 2, axis2=factors.ndim - 1)


def _trace_of_quotient(t: Any, a: Any) -> Any:
    """Return the trace of a⁻¹ t."""
    return ops.sum(transposed(inv_(a)) * t, axes=(a.ndim - 2, a.ndim - 1))


logabsdet_: Primitive = composite(
    "logabsdet",
    numpy=lambda a: np.linalg.slogdet(a)[1],
    lower=lambda a: ops.sum(ops.log(ops.abs(_pivots(ops.lu(a)[0]))), axes=(a.ndim - 2,)),
    jvp=[lambda t, out, a: _trace_of_quotient(t, a)],
    doc="log |det a|: the sum of the pivots' logarithms, which neither overflows nor vanishes.",
)


def _determinant(a: Any) -> Any:
    factors, _, parity = ops.lu(a)
    return parity * prod_(_pivots(factors), axes=(a.ndim - 2,))


det_: Primitive = composite(
    "det",
    numpy=lambda a: np.linalg.det(a),
    lower=_determinant,
    jvp=[lambda t, out, a: ops.sum(ops.cofactors(a) * t, axes=(a.ndim - 2, a.ndim - 1))],
    doc="The determinant: the product of the pivots. Its gradient are the cofactors, which need no inverse.",
)

COMPOSITES = (solve_, inv_, logabsdet_, det_)


# -- functions ---------------------------------------------------------------------------------------------------------


def square_matrices(name: str, a: Any) -> Any:
    """Return a stack of matrices as floats; raise unless they are square."""
    a = as_float(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(
            f"np.linalg.{name} takes square matrices, the last two axes; got shape {a.shape}",
            fix="np.linalg.lstsq and np.linalg.pinv take others.",
        )
    return a


def refuse_halves(name: str, *operands: Any) -> None:
    """Raise for floats of 16 bits, as NumPy does; SciPy takes them for longer ones."""
    if any(getattr(x, "dtype", None) == np.float16 for x in operands):
        raise ShapeError(f"{name} of 16 bit floats", why="LAPACK has none.", fix="use .astype(np.float32).")


def system(name: str, a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Return matrices and right-hand sides, as columns, of one dtype and batch; and whether these were one vector."""
    a, b = [as_float(x) for x in traced_operands(a, b)]
    vector = b.ndim == 1
    columns = b[:, None] if vector else b
    fits = a.ndim >= 2 and columns.ndim >= 2 and a.shape[-1] == a.shape[-2] == columns.shape[-2]
    try:
        lead = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            f"{name}: matrices of shape {a.shape} and right-hand sides of shape {b.shape}",
            fix=f"give b {a.shape[-1]} rows; of vectors in more axes make matrices, b[..., None].",
        )
    dtype = np.result_type(a.dtype, b.dtype)
    a, columns = (broadcast_to(x.astype(dtype), (*lead, *x.shape[-2:])) for x in (a, columns))
    return a, columns, vector


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """np.linalg.solve: x with a x = b, by elimination; one factorization serves the value and all derivatives.

    Args:
        a: shape (…, n, n).
        b: shape (n,) for one right-hand side, else (…, n, k).

    Returns:
        shape (n,), or (…, n, k); leading axes broadcast.

    Raises:
        ShapeError: for shapes that do not fit.
        numpy.linalg.LinAlgError: if a matrix is singular.

    Example:
        >>> import numpy as np, primad
        >>> a = np.array([[2.0, 0.0], [0.0, 4.0]])
        >>> primad.grad(lambda b: np.sum(np.linalg.solve(a, b)))(np.ones(2))
        array([0.5 , 0.25])
    """
    refuse_halves("np.linalg.solve", a, b)
    a, columns, vector = system("np.linalg.solve", a, b)
    x = solve_(a, columns)
    return x[..., 0] if vector else x


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    """np.linalg.inv: the inverses of matrices of shape (…, n, n); LinAlgError for singular ones."""
    return inv_(square_matrices("inv", a))


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """np.linalg.det: determinants, of shape (…,).

    First and second derivatives exist for singular matrices too; further ones raise numpy.linalg.LinAlgError there.
    """
    return det_(square_matrices("det", a))


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> SlogdetResult:
    """np.linalg.slogdet: the sign of the determinant, and log |det a|, whose derivative is the trace of a⁻¹ ȧ.

    Example:
        >>> import numpy as np, primad
        >>> primad.grad(lambda a: np.linalg.slogdet(a).logabsdet)(np.array([[2.0, 0.0], [0.0, 4.0]]))
        array([[0.5 , 0.  ],
               [0.  , 0.25]])
    """
    a = square_matrices("slogdet", a)
    factors, _, parity = ops.lu(a)
    signs = prod_(sign(_pivots(factors)), axes=(a.ndim - 2,))
    if is_complex(a.dtype):
        return SlogdetResult(parity * signs, ops.sum(ops.log(absolute(_pivots(factors))), axes=(a.ndim - 2,)))
    return SlogdetResult(parity * signs, logabsdet_(a))


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """np.linalg.cholesky: the lower triangular l with l lᴴ = a.

    The triangle that is returned is the one that is read, so the derivatives are in its elements alone, those beside
    the diagonal counting for both places; a gradient is 0 in the other triangle.

    Args:
        a: shape (…, n, n), symmetric (of complex numbers: Hermitian) and positive definite.
        upper: return lᴴ instead, of what the upper triangle says.

    Raises:
        numpy.linalg.LinAlgError: if a matrix is not positive definite.
    """
    a = square_matrices("cholesky", a)
    return transposed(ops.cholesky(transposed(a))) if upper else ops.cholesky(a)


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """np.linalg.qr: the reduced factorization a = Q R, for matrices of full column rank.

    Args:
        a: shape (…, m, n) with m ≥ n; integers become float64.
        mode: 'reduced', or 'r' for R alone (for square matrices 'complete' is the same as 'reduced').

    Returns:
        Q of shape (…, m, n), with orthonormal columns, and R of shape (…, n, n), upper triangular. If only `R` is used,
        Q is not computed.

    Raises:
        ShapeError: for wide matrices and other modes.
        numpy.linalg.LinAlgError: from a derivative where the columns of a matrix are linearly dependent.

    Example:
        >>> import numpy as np, primad
        >>> a = np.array([[3.0, 1.0], [4.0, 2.0]])
        >>> primad.grad(lambda a: np.abs(np.linalg.qr(a).R[0, 0]))(a)  # the length of the first column
        array([[0.6, 0. ],
               [0.8, 0. ]])
    """
    a = as_float(a)
    m, n = a.shape[-2:] if a.ndim >= 2 else (0, 0)
    if m < n or mode not in ("reduced", "r", "complete") or (mode == "complete" and m != n):
        raise ShapeError(
            f"np.linalg.qr of shape {a.shape} in mode {mode!r} has no derivative in primad",
            why="Only the reduced factorization of matrices with at least as many rows as columns is unique.",
            fix="use mode='reduced'; of a wide matrix, factorize its first columns.",
        )
    q, r = ops.qr(a)
    return r if mode == "r" else QRResult(q, r)
