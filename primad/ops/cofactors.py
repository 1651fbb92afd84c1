"""Cofactors: the derivative of the determinant, also of matrices that have no inverse, and the derivative of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.axes import stacks
from primad.errors import ShapeError
from primad.kinds import custom
from primad.ops.broadcasting import broadcast, sum
from primad.ops.elimination import solve_by_elimination
from primad.ops.factorization import matrix_product, square, transposed
from primad.primitive import Primitive, tangent_sum
from primad.types import ArrayType, Zero

__all__ = ["cofactors", "cofactors_along"]


def _where_regular(by_inverse: Callable[..., Any], by_svd: Callable[..., Any], a: Any, *others: Any) -> Any:
    """Compute with the inverses of matrices that are far from singular, and with singular values for others."""
    if not a.size:
        return a.copy()
    try:
        inverse = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return by_svd(a, *others)
    with np.errstate(all="ignore"):
        sizes = [np.max(np.sum(np.abs(x), axis=-1), axis=-1) for x in (a, inverse)]
        close = sizes[0] * sizes[1] > 1 / np.sqrt(np.finfo(a.dtype).eps)
        found = by_inverse(np.linalg.det(a)[..., None, None] * np.swapaxes(inverse, -1, -2), inverse, *others)
    if close.any():
        found[close] = by_svd(*[x[close] for x in (a, *others)])
    return found


def _decomposed(a: Any) -> tuple[Any, Any, Any, Any]:
    """Return the singular value decomposition, and the product of the determinants of u and v, which is 1 or −1."""
    u, s, vh = np.linalg.svd(a)
    return u, s, vh, (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]


def _others(s: Any, count: int) -> Any:
    """Return the products of all values but each one, or but each two."""
    one = np.eye(s.shape[-1], dtype=bool)
    left_out = one if count == 1 else one[:, None, :] | one[None, :, :]
    lead = (..., *[None] * count, slice(None))
    return np.prod(np.where(left_out, s.dtype.type(1), s[lead]), axis=-1)


def _cofactors_by_svd(a: Any) -> Any:
    u, s, vh, sign = _decomposed(a)
    return sign * ((u * _others(s, 1)[..., None, :]) @ vh)


cofactors: Primitive = custom(
    "cofactors",
    numpy=lambda a: _where_regular(lambda found, inverse: found, _cofactors_by_svd, a),
    infer=lambda a: square("cofactors", a),
    jvp=[lambda t, out, a: cofactors_along(a, t)],
    axes=lambda a: stacks(a.ndim - 2, [2], [2]),
    doc="The cofactors of matrices, det a · a⁻ᵀ where there is an inverse: the gradient of the determinant.",
)


def _along_by_inverse(found: Any, inverse: Any, b: Any) -> Any:
    change = inverse @ b
    return np.trace(change, axis1=-2, axis2=-1)[..., None, None] * found - found @ np.swapaxes(change, -1, -2)


def _along_by_svd(a: Any, b: Any) -> Any:
    """For diagonal a, c[i, j] changes by −b[j, i] times the other values, c[i, i] by all b[j, j] times the others."""
    u, s, vh, sign = _decomposed(a)
    one = np.eye(s.shape[-1], dtype=bool)
    change = np.swapaxes(u, -1, -2) @ b @ np.swapaxes(vh, -1, -2)
    products = np.where(one, s.dtype.type(0), _others(s, 2))
    sums = products @ np.diagonal(change, axis1=-2, axis2=-1)[..., None]
    return sign * (u @ np.where(one, sums, -products * np.swapaxes(change, -1, -2)) @ vh)


def _along_type(a: ArrayType, b: ArrayType) -> ArrayType:
    if square("cofactors_along", a) != b:
        raise ShapeError(f"cofactors_along: matrices {a} and changes {b} do not fit")
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
    numpy=lambda a, b: _where_regular(_along_by_inverse, _along_by_svd, a, b),
    infer=_along_type,
    jvp=_along_tangent,
    transpose=[None, lambda ct, a, b: cofactors_along(a, ct)],
    operands=(1,),
    axes=lambda a, b: stacks(a.ndim - 2, [2, 2], [2]),
    doc="How the cofactors of a change along b: the second derivative of the determinant, which is symmetric.",
)
