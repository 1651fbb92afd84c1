"""Eigenvalues and vectors of general matrices, by LAPACK: complex numbers, whatever the matrices are.

Vectors have length 1, and the largest element of each is real, as LAPACK makes them; this is what is differentiated.
Where two elements are the largest, one of them that is real is taken. Derivatives exist where eigenvalues are simple.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, TupleType, Zero, complex_dtype
from primad.ir.axes import stacks
from primad.ir.node import Node
from primad.ir.program import Cost
from primad.ops.arrays.broadcasting import sum as sum_
from primad.ops.blocked.pieces import Each, in_order
from primad.ops.elementwise.conversion import cast, complex_of, imaginary_part, real_part
from primad.ops.elementwise.selection import mask
from primad.ops.linalg.eigen import turns, where_finite, written_by_functions
from primad.ops.linalg.equal_values import ROUNDING, gaps
from primad.ops.linalg.factorization import diagonal_part, domain_of_matrices, matrix_product, square
from primad.ops.record.fields import MemoryUse, Work
from primad.ops.record.kinds import custom
from primad.ops.record.primitive import Primitive

__all__ = ["eig", "left_vectors"]


# -- left vectors ------------------------------------------------------------------------------------------------------


def too_near(n: Any, v: Any, w: Any, told: Any, left: Any) -> Any:
    """Say which eigenvalues are, to rounding, equal to one from which they are told apart.

    A nearly defective matrix makes rounding large. Where no digit of a vector is left the matrix is defective, and, of
    equal eigenvalues, where less than half of the digits of products with the vectors and their inverse are.

    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 7.2.2: a change of the matrix moves a simple eigenvalue
    by as much, times the lengths of its vectors to either side.

    Args:
        n: NumPy, or a module like it.
        v: vectors as columns.
        w: their eigenvalues.
        told: numbers of each eigenvalue, along the last axis: equal ones with the same numbers are allowed.
        left: the inverse of v.
    """
    size = n.sqrt(n.sum(n.abs((v * w[..., None, :]) @ left) ** 2, axis=(-2, -1)))[..., None]
    lengths = n.sqrt(n.sum(n.abs(left) ** 2, axis=-1) * n.sum(n.abs(v) ** 2, axis=-2))
    loss = ROUNDING * w.shape[-1] * np.finfo(w.dtype).eps * lengths
    apart = n.abs(w[..., None, :] - w[..., :, None])
    near = (apart <= (loss * size)[..., None]) & ~n.eye(w.shape[-1], dtype=bool)
    different = n.any(told[..., None, :, :] != told[..., :, None, :], axis=-1)
    few = n.any(near, axis=-1) & (lengths * np.finfo(w.dtype).eps ** 0.25 >= 1)
    return n.any(near & different, axis=-1) | few | (loss >= 1)


def _not_simple(v: Any, w: Any, told: Any) -> tuple[tuple[int, ...], int] | None:
    """Return the first matrix with an eigenvalue that is not simple, and which one."""
    for place in np.ndindex(v.shape[:-2]):
        try:
            left = np.linalg.inv(v[place])
        except np.linalg.LinAlgError:
            return place, 0
        with np.errstate(all="ignore"):
            near = np.flatnonzero(too_near(np, v[place], w[place], told[place], left))
        if len(near):
            return place, int(near[0])
    return None


def _are_far_apart(v: Any, w: Any, left: Any) -> bool:
    """Say that no eigenvalue is too near, by bounds for all matrices together: few passes, where most are so."""
    n = w.shape[-1]
    lengths = n * np.abs(left).max() * np.abs(v).max()  # at least those of `too_near`
    loss = ROUNDING * n * np.finfo(w.dtype).eps * lengths
    apart = np.abs(w[..., None, :] - w[..., :, None])
    apart.reshape(-1, n * n)[:, :: n + 1] = np.inf  # the diagonals
    return bool(loss < 1 and apart.min() > loss * n * lengths * np.abs(w).max())


def _left_vectors(v: Any, w: Any, told: Any) -> Any:
    found = np.linalg.inv(v)
    with np.errstate(all="ignore"):
        if v.size and not _are_far_apart(v, w, found) and np.any(too_near(np, v, w, told, found)):
            raise np.linalg.LinAlgError("an eigenvalue that is not simple")
    return found


def _left_type(v: ArrayType, w: ArrayType, told: ArrayType) -> ArrayType:
    square("left_vectors", v)
    if not v.is_complex or w != ArrayType(v.shape[:-1], v.dtype) or told.shape[:-1] != w.shape:
        raise ShapeError(
            f"left_vectors: vectors {v}, eigenvalues {w} and numbers {told} of these do not fit",
            fix="give what eig of the same matrices gave.",
        )
    return v


def _multiple_of_cube(node: Node, factor: int) -> Cost:
    *batch, _, n = node.inputs[0].type.shape
    return Cost(math.prod(batch) * factor * n**3, 0, node.type.nbytes, 1)


left_vectors: Primitive = custom(
    "left_vectors",
    numpy=_left_vectors,
    infer=_left_type,
    jvp=lambda tangents, out, v, w, told: (
        Zero(out.type) if isinstance(tangents[0], Zero) else -matrix_product(matrix_product(out, tangents[0]), out)
    ),
    axes=lambda v, w, told: stacks(v.ndim - 2, [2, 1, 2], [2]),
    domain=domain_of_matrices(
        operand=0,
        own_axes=2,
        find=_not_simple,
        say=lambda i, *types, **params: (
            f"the eigenvalue w[{i}] of a matrix is, to rounding, equal to another one, where it has no derivative (and "
            "a matrix that is not diagonalizable has no basis of vectors)"
        ),
        fix="ask for a function of the matrix, in a form in which primad sees it: (v * f(w)) @ np.linalg.inv(v) and "
        "sums of f(w) over all eigenvalues have derivatives there, unless the matrix is not diagonalizable; then "
        "primad.scipy.linalg.expm and sqrtm, np.trace and np.linalg.det have them too. Of a symmetric or Hermitian "
        "matrix take np.linalg.eigh.",
        called="a derivative of np.linalg.eig, eigvals or np.roots, or a function of a matrix",
    ),
    work=Work(flops=lambda node: _multiple_of_cube(node, 16)),  # two complex products and an inverse
    complex="analytic",
    doc="The inverse of the matrix of eigenvectors, whose rows are the left ones, where eigenvalues are simple, or "
    "have the same numbers, by which they are told apart, and vectors of their own.",
)


# -- eigenvalues and vectors -------------------------------------------------------------------------------------------


def largest_real(n: Any, v: Any) -> Any:
    """Return where the largest element of each column is; of some that are equal to rounding, the first real one.

    Args:
        n: NumPy, or a module like it.
        v: complex matrices.
    """
    return n.argmax(_are_largest(n, v) * (1 + (v.imag == 0)), axis=-2)


def _are_largest(n: Any, v: Any) -> Any:
    """Say which elements of each column are, to rounding, as large as any."""
    size = n.abs(v)
    limit = 1 - ROUNDING * v.shape[-1] * np.finfo(v.dtype).eps
    return size >= limit * n.max(size, axis=-2, keepdims=True)


def with_real_elements(n: Any, v: Any) -> tuple[Any, Any]:
    """Return columns turned so that the largest element of each is real, and where that is.

    Args:
        n: NumPy, or a module like it.
        v: complex matrices.
    """
    place = largest_real(n, v)
    here = place[..., None, :] == n.arange(v.shape[-1])[:, None]
    elements = n.sum(n.where(here, v, 0), axis=-2, keepdims=True)
    turned = v * turns(n, elements)
    return n.where(here, turned.real.astype(v.dtype), turned), place


def _eig(a: Any, *, wanted: tuple[bool, ...] = (True, True, True), each: Each = in_order) -> tuple[Any, Any, Any]:
    dtype = complex_dtype(a.dtype)
    if not wanted[1] and not wanted[2]:
        (w,) = where_finite(lambda a: (np.linalg.eigvals(a),), a, each)
        return w.astype(dtype), None, None
    w, v = where_finite(np.linalg.eig, a, each)
    w, v = w.astype(dtype), v.astype(dtype)
    if not v.size:
        return w, v, np.zeros(w.shape, np.int64)
    real = _are_largest(np, v) & (v.imag == 0)
    if real.any(axis=-2).all():  # as LAPACK makes them
        return w, v, real.argmax(axis=-2)
    return w, *with_real_elements(np, v)


def _eig_type(a: ArrayType) -> TupleType:
    square("eig", a)
    dtype = complex_dtype(a.dtype)
    return TupleType((ArrayType(a.shape[:-1], dtype), ArrayType(a.shape, dtype), ArrayType(a.shape[:-1], np.int64)))


def _eig_tangent(t: Any, out: tuple[Any, Any, Any], a: Any) -> tuple[Any, Any, Any]:
    """With s = v⁻¹ ȧ v: ẇ = the diagonal of s, and v̇ = c + v d, with c = v (s / (w[j] − w[i]) off the diagonal).

    Of the factor d of each vector the real part keeps its length, the imaginary one its largest element real.

    Source: by differentiating a v = v w, with the normalisation that the values have.
    """
    w, v, place = out
    axis = v.ndim - 2
    numbers = np.broadcast_to(np.arange(w.shape[-1])[:, None], (*w.shape, 1))
    left = left_vectors(v, w, numbers)
    s = matrix_product(matrix_product(left, cast(t, dtype=str(v.dtype))), v)
    change = matrix_product(v, gaps(w) * s)
    along = real_part(v) * real_part(change) + imaginary_part(v) * imaginary_part(change)
    here = place[..., None, :] == np.arange(v.shape[-1])[:, None]
    element, moved = (sum_(mask(here, x), axes=(axis,)) for x in (real_part(v), imaginary_part(change)))
    factor = complex_of(-sum_(along, axes=(axis,)), -moved / element)
    return sum_(diagonal_part(s), axes=(axis,)), change + v * factor[..., None, :], Zero(place.type)


eig: Primitive = custom(
    "eig",
    numpy=_eig,
    infer=_eig_type,
    jvp=[_eig_tangent],
    found_in=written_by_functions,
    axes=lambda a: stacks(a.ndim - 2, [2], [1, 2, 1]),
    memory=MemoryUse(wanted=True, each=True),
    work=Work(flops=lambda node: _multiple_of_cube(node, 25)),  # Golub and Van Loan, Matrix Computations, 7.5
    complex="real-differentiable",
    doc="Eigenvalues of general matrices, in LAPACK's order, eigenvectors of length 1 as columns, of which the largest "
    "element is real, and where that is.",
)
