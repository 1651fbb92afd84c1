"""Eigenvalues of symmetric matrices and singular values, with vectors, by LAPACK.

Vectors of equal values are any orthonormal basis of a space, so nothing smooth is made of single ones. Values have
slopes there: along a direction those of the values in order; a cotangent is pulled back where it treats equal values
alike, as a sum over the spectrum does. Derivatives of the vectors are refused there, and other cotangents of values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, TupleType, Zero
from primad.ir.axes import stacks
from primad.ir.node import Node
from primad.ir.program import Cost
from primad.ops.arrays.broadcasting import broadcast
from primad.ops.arrays.slicing import concatenate, slice_
from primad.ops.linalg.factorization import domain_of_matrices, matrix_product, mirrored, square, transposed
from primad.ops.record.fields import MemoryUse, Work, always
from primad.ops.record.kinds import custom
from primad.ops.record.primitive import Primitive

__all__ = ["eigh", "gaps", "slopes", "spread", "svd"]

ROUNDING = 8
"""Times the rounding of the largest value, for each row: LAPACK's values are right up to that. Chosen, as a margin over
its error bounds; values nearer to each other count as equal, so that derivatives depend on it."""


def near(x: Any) -> Any:
    """Say which values of each spectrum are equal to rounding, as stacks of square arrays."""
    with np.errstate(invalid="ignore"):
        return np.abs(x[..., None, :] - x[..., :, None]) <= rounding_of(x)[..., None]


def rounding_of(x: Any) -> Any:
    """Return how far apart values of each spectrum are that are equal to rounding."""
    return ROUNDING * x.shape[-1] * np.finfo(x.dtype).eps * np.max(np.abs(x), axis=-1, keepdims=True, initial=0)


def _along(x: Any, axis: int) -> Any:
    """Repeat vectors as rows (1) or columns (0) of square matrices."""
    lead = x.ndim - 1
    return broadcast(x, shape=(*x.shape, x.shape[-1]), axes=(lead + 1 - axis,))


# -- equal values ------------------------------------------------------------------------------------------------------


def _spectrum(name: str, x: ArrayType) -> ArrayType:
    if x.ndim < 1 or x.dtype not in (np.float64, np.float32):
        raise ShapeError(f"{name}: {x} is no stack of vectors of 32 or 64 bit floats")
    return ArrayType((*x.shape, x.shape[-1]), x.dtype)


def _first(found: Any) -> tuple[tuple[int, ...], int] | None:
    """Return the place of the first vector with an element that was found, and which element."""
    where = np.argwhere(found)
    return (tuple(where[0, :-1].tolist()), int(where[0, -1])) if len(where) else None


def _has_equal(x: Any) -> bool:
    """Say whether any spectrum has equal values: in order, neighbours are the nearest ones."""
    with np.errstate(invalid="ignore"):
        return bool(np.any(np.diff(np.sort(x, axis=-1), axis=-1) <= rounding_of(x)))


def _equal(x: Any) -> tuple[tuple[int, ...], int] | None:
    return _first(np.any(np.triu(near(x), 1), axis=-1)) if _has_equal(x) else None


def _gaps(x: Any, *, out: Any = None) -> Any:
    if _has_equal(x):
        raise np.linalg.LinAlgError("equal values")
    with np.errstate(all="ignore"):
        found = np.subtract(x[..., None, :], x[..., :, None], out=out)
        diagonal = np.einsum("...ii->...i", found)
        diagonal += np.inf  # 1/∞ is 0; of values that are not finite it is NaN, as beside it
        np.divide(1, found, out=found)
    return found


gaps: Primitive = custom(
    "gaps",
    numpy=_gaps,
    infer=lambda x: _spectrum("gaps", x),
    jvp=[lambda t, out, x: out * out * (_along(t, 0) - _along(t, 1))],
    axes=lambda x: stacks(x.ndim - 1, [1], [2]),
    domain=domain_of_matrices(
        operand=0,
        own_axes=1,
        find=_equal,
        say=lambda i, *types, **params: (
            f"the values {i} and {i + 1} of a matrix are equal (or the last is 0, of one "
            "that is not square), so that their vectors are any basis of a space, without a derivative"
        ),
        fix="ask for what does not depend on the basis: sums over eigvalsh or svdvals have derivatives, and "
        "primad.numpy.linalg.matrix_norm and det, also where values are equal.",
        called="a derivative of vectors (np.linalg.eigh, svd, or second derivatives of values)",
    ),
    memory=MemoryUse(out=always),
    doc="1/(x[j] − x[i]) for each pair of values, and 0 on the diagonal; none may be equal to rounding.",
)


def _zeros(x: Any, singular: bool) -> Any:
    return np.abs(x) <= rounding_of(x) if singular else np.zeros(x.shape, bool)


def _steep(s: Any, x: Any, *, singular: bool) -> tuple[tuple[int, ...], int] | None:
    """Return the first singular value that is zero and moves: up for either direction."""
    zero = _zeros(x, singular)
    return _first(zero & np.any((s != 0) & zero[..., None, :], axis=-1)) if zero.any() else None


def _slopes(s: Any, x: Any, *, singular: bool) -> Any:
    if _steep(s, x, singular=singular) is not None:
        raise np.linalg.LinAlgError("a singular value of 0")
    found = np.array(np.diagonal(s, axis1=-2, axis2=-1))
    if not _has_equal(x):
        return found
    alike = near(x)
    for place in map(tuple, np.argwhere(np.any(np.triu(alike, 1), axis=(-2, -1)))):
        values, starts = x[place], np.flatnonzero(~np.append(False, np.diagonal(alike[place], 1)))
        for start, stop in zip(starts, [*starts[1:], len(values)], strict=True):
            block = s[place][start:stop, start:stop]
            if stop - start > 1 and np.isfinite(block).all():
                slope = np.linalg.eigvalsh((block + block.T) / 2)
                found[place][start:stop] = slope[::-1] if singular else slope
    return found


def _slopes_type(s: ArrayType, x: ArrayType, *, singular: bool) -> ArrayType:
    if s != _spectrum("slopes", x):
        raise ShapeError(f"slopes: changes {s} do not fit the values {x}")
    return x


slopes: Primitive = custom(
    "slopes",
    numpy=_slopes,
    infer=_slopes_type,
    jvp=lambda tangents, out, s, x, *, singular: (
        Zero(out.type) if isinstance(tangents[0], Zero) else slopes(tangents[0], x, singular=singular)
    ),
    transpose=[lambda ct, s, x, *, singular: spread(ct, x, singular=singular), None],
    operands=(0,),
    axes=lambda s, x, **params: stacks(x.ndim - 1, [2, 1], [1]),
    domain=domain_of_matrices(
        operand=1,
        own_axes=1,
        find=_steep,
        say=lambda i, *types, **params: f"the singular value {i} is 0, where it has a kink",
        fix="write what is wanted with the matrix itself: np.sum(a**2) for the sum of squares.",
        called="a derivative of singular values (np.linalg.svd, svdvals, norm)",
    ),
    doc="How fast the values of a spectrum rise where the matrix changes by s in the basis of its vectors: the "
    "diagonal of s, and among equal values the eigenvalues of their block, in order.",
)


def _uneven(ct: Any, x: Any, *, singular: bool) -> tuple[tuple[int, ...], int] | None:
    """Return the first value whose cotangent is not that of an equal value, or, for a singular value of 0, not 0."""
    allowed = np.sqrt(np.finfo(ct.dtype).eps) * np.max(np.abs(ct), axis=-1, keepdims=True, initial=0)
    found = _zeros(x, singular) & (np.abs(ct) > allowed)
    if _has_equal(x):
        with np.errstate(invalid="ignore"):
            apart = np.abs(ct[..., None, :] - ct[..., :, None]) > allowed[..., None]
        found |= np.any(near(x) & apart, axis=-1)
    return _first(found)


def _spread(ct: Any, x: Any, *, singular: bool, out: Any = None) -> Any:
    if _uneven(ct, x, singular=singular) is not None:
        raise np.linalg.LinAlgError("equal values")
    found = np.empty((*ct.shape, ct.shape[-1]), ct.dtype) if out is None else out
    found[...] = 0
    np.einsum("...ii->...i", found)[...] = ct
    return found


def _spread_type(ct: ArrayType, x: ArrayType, *, singular: bool) -> ArrayType:
    if ct != x:
        raise ShapeError(f"spread: cotangents {ct} do not fit the values {x}")
    return _spectrum("spread", x)


spread: Primitive = custom(
    "spread",
    numpy=_spread,
    infer=_spread_type,
    jvp=lambda tangents, out, ct, x, *, singular: (
        Zero(out.type) if isinstance(tangents[0], Zero) else spread(tangents[0], x, singular=singular)
    ),
    transpose=[lambda ct, w, x, *, singular: slopes(ct, x, singular=singular), None],
    operands=(0,),
    axes=lambda ct, x, **params: stacks(x.ndim - 1, [1, 1], [2]),
    domain=domain_of_matrices(
        operand=1,
        own_axes=1,
        find=_uneven,
        say=lambda i, *types, singular, **params: (
            f"the value {i} of a matrix "
            + ("is 0, or equal to another one" if singular else "is equal to another one")
            + ", and what is differentiated tells it apart, so that it has a kink there"
        ),
        fix="sums over the spectrum that treat equal values alike have derivatives, such as np.sum(np.exp(w)).",
        called="a derivative of eigenvalues or singular values (np.linalg.eigvalsh, svdvals, norm)",
    ),
    memory=MemoryUse(out=always),
    doc="Cotangents of values on the diagonal; equal values must have equal ones, and singular values of 0 none.",
)


# -- factorizations ----------------------------------------------------------------------------------------------------


def _where_finite(function: Any, a: Any) -> tuple[Any, ...]:
    """Factorize a stack of matrices; the results are NaN for those that are not finite, on which LAPACK may fail."""
    finite = np.isfinite(a).all(axis=(-2, -1))
    if finite.all():
        return tuple(function(a))
    results = [np.array(x) for x in function(np.where(finite[..., None, None], a, a.dtype.type(0)))]
    for result in results:
        result[~finite] = np.nan
    return tuple(results)


def _eigh(a: Any, *, lower: bool, wanted: tuple[bool, ...] = (True, True)) -> tuple[Any, Any]:
    triangle: Any = "L" if lower else "U"
    if not wanted[1]:
        return _where_finite(lambda a: (np.linalg.eigvalsh(a, triangle),), a)[0], None
    w, v = _where_finite(lambda a: np.linalg.eigh(a, triangle), a)
    return w, v


def _eigh_type(a: ArrayType, *, lower: bool) -> TupleType:
    square("eigh", a)
    return TupleType((ArrayType(a.shape[:-1], a.dtype), a))


def _eigh_tangent(t: Any, out: tuple[Any, Any], a: Any, *, lower: bool) -> tuple[Any, Any]:
    """With s = vᵀ ȧ v: ẇ = the diagonal of s, and v̇ = v (s / (w[j] − w[i]) off the diagonal).

    Here ȧ is the symmetric change of which one triangle is given, as the value has that of a.

    Source: by differentiating a v = v w and vᵀ v = 1.
    """
    w, v = out
    s = matrix_product(matrix_product(transposed(v), mirrored(t if lower else transposed(t))), v)
    return slopes(s, w, singular=False), matrix_product(v, gaps(w) * s)


def _cost(node: Node, factor: int) -> Cost:
    *batch, m, n = node.inputs[0].type.shape
    return Cost(math.prod(batch) * factor * m * n * min(m, n), 0, node.type.nbytes, 1)


eigh: Primitive = custom(
    "eigh",
    numpy=_eigh,
    infer=_eigh_type,
    jvp=[_eigh_tangent],
    axes=lambda a, **params: stacks(a.ndim - 2, [2], [1, 2]),
    memory=MemoryUse(wanted=True),
    work=Work(flops=lambda node: _cost(node, 9)),  # Golub and Van Loan, Matrix Computations, 8.3
    doc="The eigenvalues of symmetric matrices, in ascending order, and orthonormal eigenvectors as columns. Of "
    "a matrix, and of its changes, the lower triangle is read, or the upper one.",
)


def _svd(a: Any, *, wanted: tuple[bool, ...] = (True, True, True)) -> tuple[Any, Any, Any]:
    if not wanted[0] and not wanted[2]:
        return None, _where_finite(lambda a: (np.linalg.svd(a, compute_uv=False),), a)[0], None
    u, s, vh = _where_finite(lambda a: np.linalg.svd(a, full_matrices=False), a)
    return u, s, vh


def _svd_type(a: ArrayType) -> TupleType:
    if a.ndim < 2 or a.dtype not in (np.float64, np.float32):
        raise ShapeError(f"svd: {a} is no stack of matrices of 32 or 64 bit floats")
    *lead, m, n = a.shape
    k = min(m, n)
    return TupleType(tuple([ArrayType((*lead, *shape), a.dtype) for shape in ((m, k), (k,), (k, n))]))


def _svd_tangent(t: Any, out: tuple[Any, Any, Any], a: Any) -> tuple[Any, Any, Any]:
    """With p = uᵀ ȧ v and f = 1/(s[j]² − s[i]²): u̇ = u (f (p s + (p s)ᵀ)), v̇ = v (f (s p + (s p)ᵀ)), and more.

    Of a tall matrix, u̇ has also the part of ȧ v s⁻¹ outside of the columns of u; of a wide one, v̇ that of ȧᵀ u s⁻¹.

    Source: J. Townsend, "Differentiating the singular value decomposition" (2016), by differentiating a = u s vᵀ.
    """
    u, s, vh = out
    v = transposed(vh)
    m, n = a.shape[-2:]
    p = matrix_product(matrix_product(transposed(u), t), v)
    left, right = p * _along(s, 1), p * _along(s, 0)
    between = gaps(s) / (_along(s, 0) + _along(s, 1) + np.broadcast_to(np.eye(s.shape[-1], dtype=s.dtype), p.shape))
    du = matrix_product(u, between * (left + transposed(left)))
    dv = matrix_product(v, between * (right + transposed(right)))
    if m > n:
        du = du + _outside(matrix_product(t, v), u, s)
    if n > m:
        dv = dv + _outside(matrix_product(transposed(t), u), v, s)
    return du, slopes(p, s, singular=True), transposed(dv)


def _outside(x: Any, basis: Any, s: Any) -> Any:
    """Return the part of x s⁻¹ outside of the span of a basis; a column for each singular value."""
    rest = x - matrix_product(basis, matrix_product(transposed(basis), x))
    k = s.shape[-1]
    ends = np.zeros((*s.shape[:-1], 1), s.dtype)
    inverse = gaps(concatenate(s, ends, axis=s.ndim - 1))
    lead = s.ndim - 1
    last = slice_(inverse, start=(*[0] * lead, k, 0), stop=(*s.shape[:-1], k + 1, k), step=(1,) * (lead + 2))
    return rest * last


svd: Primitive = custom(
    "svd",
    numpy=_svd,
    infer=_svd_type,
    jvp=[_svd_tangent],
    axes=lambda a: stacks(a.ndim - 2, [2], [2, 1, 2]),
    memory=MemoryUse(wanted=True),
    work=Work(flops=lambda node: _cost(node, 14)),  # Golub and Van Loan, Matrix Computations, 8.6
    doc="The reduced singular value decomposition a = u s vᵀ: orthonormal columns u, singular values in descending "
    "order, and vᵀ.",
)
