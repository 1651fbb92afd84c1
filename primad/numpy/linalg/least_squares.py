"""Of numpy.linalg: pseudo-inverses and least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError, TracingError
from primad.numpy.elementwise.complex_numbers import squares
from primad.numpy.elementwise.ufuncs import where
from primad.numpy.linalg.linear_systems import inv_, refuse_halves
from primad.numpy.linalg.spectra import rectangular
from primad.numpy.promotion import as_float, as_traced, first_traced, implements
from primad.numpy.reduce.reductions import sum as sum_
from primad.ops.linalg.equal_values import ROUNDING
from primad.ops.linalg.factorization import adjoint, matrix_product
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive

__all__ = ["lstsq", "pinv"]


# -- composites --------------------------------------------------------------------------------------------------------


def _inverse(s: Any, cutoff: float) -> Any:
    """Return 1/s for singular values above the cutoff, relative to the largest, and 0 for the others."""
    if not s.shape[-1]:
        return s
    kept = s > cutoff * s[..., :1]
    return where(kept, 1.0 / where(kept, s, 1.0), 0.0)


def _pseudo_inverse(a: Any, *, cutoff: float) -> Any:
    u, s, vh = ops.svd(a)
    return matrix_product(adjoint(vh) * _inverse(s, cutoff)[..., None, :], adjoint(u))


def _pseudo_inverse_tangent(t: Any, out: Any, a: Any, *, cutoff: float) -> Any:
    """With p = a⁺: ṗ = −p ȧ p + p pᴴ ȧᴴ (1 − a p) + (1 − p a) ȧᴴ pᴴ p, where no value is dropped but those that are 0.

    Source: G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems
    whose variables separate", SIAM Journal on Numerical Analysis 10 (1973).
    """
    p, q, s = out, adjoint(out), adjoint(t)
    change = -matrix_product(matrix_product(p, t), p)
    rows = _outside_of_columns(matrix_product(matrix_product(p, q), s), p, a)
    columns = _outside_of_rows(matrix_product(matrix_product(s, q), p), p, a)
    if _drops(a, cutoff) and a.size:
        rows, columns = _coupled(rows, columns, p, a, cutoff)
    return change + rows + columns


def _drops(a: Any, cutoff: float) -> bool:
    """Say whether a cutoff may drop singular values that are not 0 to rounding."""
    return bool(cutoff > ROUNDING * max(a.shape[-2:], default=0) * np.finfo(a.dtype).eps)


def _outside_of_columns(x: Any, p: Any, a: Any) -> Any:
    """Return x (1 − a p)."""
    return x - matrix_product(matrix_product(x, a), p) if a.shape[-2] else x


def _outside_of_rows(x: Any, p: Any, a: Any) -> Any:
    """Return (1 − p a) x."""
    return x - matrix_product(p, matrix_product(a, x)) if a.shape[-1] else x


def _coupled(rows: Any, columns: Any, p: Any, a: Any, cutoff: float) -> tuple[Any, Any]:
    """Return the parts of ṗ outside of the kept rows and columns, where r = a − a p a, what is dropped, counts.

    With w and y for the two: w = rows + p yᴴ rᴴ and y = columns + rᴴ wᴴ p. The second in the first gives
    y − (rᴴ r) y (pᴴ p) = columns + rᴴ rowsᴴ p, and the maps (x − 1)(x + 1)⁻¹ of both factors Sylvester's equation.

    Source: by differentiating a p = (a p)ᴴ, p a = (p a)ᴴ and a p a p = a p with the values kept held fixed.
    """
    rest = adjoint(a - matrix_product(a, matrix_product(p, a)))
    lead = a.ndim - 2
    size = cutoff**2 * ops.sum(squares(a), axes=(lead, lead + 1))[..., None, None]
    size = where(size > 0, size, 1.0)  # both factors are of order 1
    left, right = matrix_product(rest, adjoint(rest)) / size, matrix_product(adjoint(p), p) * size
    (less, inverse), (fewer, other) = (_cayley(x) for x in (left, right))
    known = columns + matrix_product(rest, matrix_product(adjoint(rows), p))
    y = ops.solve_sylvester(less, fewer, matrix_product(matrix_product(inverse, known), other) * -2.0)
    return rows + matrix_product(p, matrix_product(adjoint(y), rest)), y


def _cayley(x: Any) -> tuple[Any, Any]:
    """Return (x − 1)(x + 1)⁻¹ and (x + 1)⁻¹."""
    one = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    inverse = inv_(x + one)
    return matrix_product(x - one, inverse), inverse


pinv_: Primitive = composite(
    "pinv",
    numpy=lambda a, *, cutoff: np.linalg.pinv(a, rcond=cutoff),
    lower=_pseudo_inverse,
    jvp=[_pseudo_inverse_tangent],
    doc="The pseudo-inverse a⁺; singular values up to the cutoff, relative to the largest, count as 0. Derivatives are "
    "those with the same values counting as 0.",
)


def _least_squares(a: Any, b: Any, *, cutoff: float) -> Any:
    u, s, vh = ops.svd(a)
    return matrix_product(adjoint(vh), _inverse(s, cutoff)[..., :, None] * matrix_product(adjoint(u), b))


def _least_squares_by_matrix(t: Any, out: Any, a: Any, b: Any, *, cutoff: float) -> Any:
    p, s = pinv_(a, cutoff=cutoff), adjoint(t)
    if _drops(a, cutoff):
        return matrix_product(_pseudo_inverse_tangent(t, p, a, cutoff=cutoff), b)
    rest = b - matrix_product(a, out)
    pulled = matrix_product(s, matrix_product(adjoint(p), out))
    change = matrix_product(p, matrix_product(adjoint(p), matrix_product(s, rest))) - matrix_product(
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


# -- functions ---------------------------------------------------------------------------------------------------------


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """np.linalg.pinv: the pseudo-inverse; singular values up to `rcond` times the largest count as 0.

    Derivatives are those with the same values counting as 0; they need no singular vectors, and equal values do no
    harm.

    Example:
        >>> import numpy as np, primad
        >>> primad.grad(lambda x: np.linalg.pinv(x[:, None])[0, 0])(np.array([1.0, 2.0]))
        array([ 0.12, -0.16])
    """
    a = rectangular("pinv", a)
    if hermitian:
        raise TracingError("np.linalg.pinv with hermitian=True has no derivative in primad", fix="leave it out.")
    if rcond is not None and rtol is not None:
        raise ShapeError("pinv: give rcond or rtol, not both", fix="leave one of them out.")
    found = rtol if rcond is None else rcond
    if found is None:
        found = 1e-15 if rtol is None else found
    return pinv_(a, cutoff=_cutoff("pinv", found))


def _cutoff(name: str, value: Any) -> float:
    if np.ndim(value):
        raise TracingError(
            f"{name}: the cutoff must be one number on traced arrays",
            fix="call it for one matrix after the other, or with one cutoff.",
        )
    return float(value)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    """np.linalg.lstsq: the shortest x for which a x is nearest to b; residuals, rank and singular values.

    Args:
        a: shape (m, n).
        b: shape (m,), or (m, k).
        rcond: singular values up to this times the largest count as 0; by default the precision times max(m, n).

    Returns:
        x of shape (n,) or (n, k), whose derivatives are those with the same values counting as 0; the squared lengths
        of b − a x if m > n (also where the rank is lower, where NumPy gives nothing); the rank; the singular values.
    """
    like = first_traced([a, b])
    a, b = as_float(as_traced(a, like)), as_float(as_traced(b, like))
    refuse_halves("np.linalg.lstsq", a, b)
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0]:
        raise ShapeError(
            f"np.linalg.lstsq: a matrix of shape {a.shape} and right-hand sides of shape {b.shape}",
            fix="give a right-hand side for each row of the matrix, b of shape (rows,) or (rows, many).",
        )
    dtype = np.result_type(a.dtype, b.dtype)
    a, b = a.astype(dtype), b.astype(dtype)
    cutoff = np.finfo(dtype).eps * max(a.shape) if rcond is None else max(0.0, _cutoff("lstsq", rcond))
    columns = b[:, None] if b.ndim == 1 else b
    x = lstsq_(a, columns, cutoff=float(cutoff))
    s = ops.svd(a)[1]
    rank = sum_(s > cutoff * s[:1])
    rest = columns - a @ x
    residuals = sum_(squares(rest), 0) if a.shape[0] > a.shape[1] else rest.reshape(-1)[:0]
    return x[:, 0] if b.ndim == 1 else x, residuals, rank, s
