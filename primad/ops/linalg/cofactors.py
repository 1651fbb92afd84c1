"""Cofactors: the derivative of the determinant, also of matrices that have no inverse, and the derivative of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, Zero
from primad.ir.axes import stacks
from primad.ops.arrays.broadcasting import broadcast, sum
from primad.ops.linalg.elimination import solve_by_elimination
from primad.ops.linalg.factorization import matrix_product, square, transposed
from primad.ops.record.fields import Work
from primad.ops.record.kinds import custom
from primad.ops.record.primitive import Primitive
from primad.ops.record.rules import tangent_sum

__all__ = ["cofactors", "cofactors_along"]


def inverted(n: Any, a: Any) -> tuple[Any, Any, Any, Any]:
    """Return which matrices are far from singular, which others are finite, and of the former inverses and cofactors.

    How far is said by the condition numbers of Skeel's of rows and of columns, which do not depend on how these are
    scaled, as results by elimination do not (Higham, Accuracy and Stability of Numerical Algorithms, 7.2).

    Args:
        n: NumPy, or a module like it.
        a: a stack of matrices.
    """
    one, range_ = n.eye(a.shape[-1], dtype=a.dtype), np.finfo(a.dtype)
    finite = n.all(n.isfinite(a), axis=(-2, -1))
    det = n.linalg.det(n.where(each(finite), a, one))
    possible = finite & n.isfinite(det) & (n.abs(det) >= range_.tiny)
    inverse = n.linalg.inv(n.where(each(possible), a, one))
    sizes = n.abs(a), n.abs(inverse)
    rows, columns = n.sum(sizes[1] @ sizes[0], axis=-1), n.sum(sizes[0] @ sizes[1], axis=-2)
    condition = n.minimum(*[n.max(x, axis=-1, initial=0) for x in (rows, columns)])
    regular = possible & (condition <= 1 / np.sqrt(range_.eps))
    return regular, finite & ~regular, inverse, each(det) * n.swapaxes(inverse, -1, -2)


def each(x: Any) -> Any:
    """Return what is one number for each matrix as stacks of matrices of one element."""
    return x[..., None, None]


def _where_regular(by_inverse: Callable[..., Any], by_svd: Callable[..., Any], a: Any, *others: Any) -> Any:
    """Compute with inverses of what is far from singular, with singular values of the rest; NaN if not finite."""
    if not a.size:
        return a.copy()
    with np.errstate(all="ignore"):
        regular, others_finite, inverse, found = inverted(np, a)
        found = np.where(each(regular), by_inverse(np, found, inverse, *others), a.dtype.type(np.nan))
        if others_finite.any():
            found[others_finite] = by_svd(np, *[x[others_finite] for x in (a, *others)])
    return found


def _decomposed(n: Any, a: Any) -> tuple[Any, Any, Any, Any]:
    """Return the singular value decomposition, with u⁻ᵀ for u and v⁻ᵀ for v, and the product of their determinants.

    That is 1 or −1 for real matrices, where u⁻ᵀ is u.
    """
    u, s, vh = n.linalg.svd(a)
    return n.conj(u), s, n.conj(vh), each(n.linalg.det(u) * n.linalg.det(vh))


def _others(n: Any, s: Any, count: int) -> Any:
    """Return the products of all values but each one, or but each two."""
    one = np.eye(s.shape[-1], dtype=bool)
    left_out = one if count == 1 else one[:, None, :] | one[None, :, :]
    lead = (..., *[None] * count, slice(None))
    return n.prod(n.where(left_out, s.dtype.type(1), s[lead]), axis=-1)


def cofactors_by_inverse(n: Any, found: Any, inverse: Any) -> Any:
    """Return the cofactors of regular matrices, which are found already."""
    return found


def cofactors_by_svd(n: Any, a: Any) -> Any:
    """Return the cofactors of any finite matrices."""
    u, s, vh, sign = _decomposed(n, a)
    return sign * ((u * _others(n, s, 1)[..., None, :]) @ vh)


def _cofactors_few(a: ArrayType) -> Any:
    from primad.ops.linalg.single_matrices import cofactoring, is_small

    return cofactoring(a, cofactors.numpy) if is_small(a) else None


cofactors: Primitive = custom(
    "cofactors",
    numpy=lambda a: _where_regular(cofactors_by_inverse, cofactors_by_svd, a),
    infer=lambda a: square("cofactors", a),
    jvp=[lambda t, out, a: cofactors_along(a, t)],
    axes=lambda a: stacks(a.ndim - 2, [2], [2]),
    work=Work(few=_cofactors_few),
    complex="analytic",
    doc="The cofactors of matrices, det a · a⁻ᵀ where there is an inverse: the gradient of the determinant. They "
    "are not defined for matrices that are not finite: there some are NaN.",
)


def along_by_inverse(n: Any, found: Any, inverse: Any, b: Any) -> Any:
    """Return how the cofactors of regular matrices change along b: tr x c − c xᵀ, where x = a⁻¹ b."""
    change = inverse @ b
    return each(n.trace(change, axis1=-2, axis2=-1)) * found - found @ n.swapaxes(change, -1, -2)


def along_by_svd(n: Any, a: Any, b: Any) -> Any:
    """For diagonal a, c[i, j] changes by −b[j, i] times the other values, c[i, i] by all b[j, j] times the others."""
    u, s, vh, sign = _decomposed(n, a)
    one = np.eye(s.shape[-1], dtype=bool)
    change = n.swapaxes(u, -1, -2) @ b @ n.swapaxes(vh, -1, -2)
    products = n.where(one, s.dtype.type(0), _others(n, s, 2))
    sums = products @ n.diagonal(change, axis1=-2, axis2=-1)[..., None]
    return sign * (u @ n.where(one, sums, -products * n.swapaxes(change, -1, -2)) @ vh)


def _along_type(a: ArrayType, b: ArrayType) -> ArrayType:
    if square("cofactors_along", a) != b:
        raise ShapeError(
            f"cofactors_along: matrices {a} and changes {b} do not fit",
            fix="give stacks of square matrices of one shape and dtype.",
        )
    return a


def _along_tangent(tangents: Any, out: Any, a: Any, b: Any) -> Any:
    """With x = a⁻¹ b and y = a⁻¹ ȧ: the cofactors times (tr x tr y − tr xy) − tr x yᵀ − tr y xᵀ + yᵀ xᵀ + xᵀ yᵀ.

    Source: by differentiating tr x c − c xᵀ, where c are the cofactors det a · a⁻ᵀ. Of fewer than three rows it is 0.
    """
    along, change = tangents
    terms = [] if isinstance(change, Zero) else [cofactors_along(a, change)]
    if not isinstance(along, Zero) and a.shape[-1] > 2:
        x, y = transposed(solve_by_elimination(a, b)), transposed(solve_by_elimination(a, along))
        one = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
        both = _everywhere(_trace(x) * _trace(y) - _trace(matrix_product(x, y)), a) * one
        mixed = matrix_product(x, y) + matrix_product(y, x)
        rest = _everywhere(_trace(x), a) * y + _everywhere(_trace(y), a) * x
        terms.append(matrix_product(cofactors(a), both + mixed - rest))
    return tangent_sum(terms) if terms else Zero(out.type)


def _trace(x: Any) -> Any:
    return sum(x * np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape), axes=(x.ndim - 2, x.ndim - 1))


def _everywhere(x: Any, a: Any) -> Any:
    return broadcast(x, shape=a.shape, axes=(a.ndim - 2, a.ndim - 1))


cofactors_along: Primitive = custom(
    "cofactors_along",
    numpy=lambda a, b: _where_regular(along_by_inverse, along_by_svd, a, b),
    infer=_along_type,
    jvp=_along_tangent,
    transpose=[None, lambda ct, a, b: cofactors_along(a, ct)],
    operands=(1,),
    axes=lambda a, b: stacks(a.ndim - 2, [2, 2], [2]),
    complex="analytic",
    doc="How the cofactors of a change along b: the second derivative of the determinant, which is symmetric.",
)
