"""Eigenvalues of Hermitian matrices and singular values, with vectors, by LAPACK.

A complex vector may be turned by any phase. LAPACK's are such that one element of each is real, so that its phase is a
function of the matrix, and derivatives are those of that function. Where that element is 0 the phase has a jump, and
derivatives are those of vectors that do not turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, TupleType, real_dtype
from primad.ir.axes import stacks
from primad.ir.node import Node
from primad.ir.program import Cost, Program
from primad.ops.arrays.broadcasting import sum as sum_
from primad.ops.arrays.slicing import concatenate, slice_
from primad.ops.blocked.pieces import MOST_CHUNKS, Each, in_order
from primad.ops.elementwise.conversion import imaginary_part, real_part
from primad.ops.elementwise.selection import mask, select
from primad.ops.linalg.equal_values import ROUNDING, along, gaps, slopes
from primad.ops.linalg.factorization import (
    adjoint,
    diagonal_part,
    hermitian,
    imaginary,
    matrix_product,
    square,
)
from primad.ops.record.fields import MemoryUse, Work
from primad.ops.record.kinds import custom
from primad.ops.record.primitive import Primitive, full
from primad.system.machine import THREAD_WORK

__all__ = ["eigh", "svd"]


# -- phases ------------------------------------------------------------------------------------------------------------


def turns(n: Any, elements: Any) -> Any:
    """Return the phases by which vectors are to be turned so that these elements of theirs are real; signs are kept.

    Args:
        n: NumPy, or a module like it.
        elements: one of each vector.
    """
    size, real = n.abs(elements), elements.imag == 0
    found = n.conj(elements) / n.where(real, 1, size) * n.where(elements.real < 0, -1, 1).astype(size.dtype)
    return n.where(real, found.dtype.type(1), found)  # exactly, as a quotient of a number and its size may not be


def _row(x: Any, row: int) -> Any:
    """Return one row of each matrix, as a matrix of one row."""
    lead = x.ndim - 2
    start, stop = (*[0] * lead, row, 0), (*x.shape[:-2], row + 1, x.shape[-1])
    return slice_(x, start=start, stop=stop, step=(1,) * x.ndim)


def turning(change: Any, elements: Any) -> Any:
    """Return the i φ by which vectors turn so that their real elements, which change so, stay real."""
    size, moved = real_part(elements), imaginary_part(change)
    limit = ROUNDING * size.shape[-1] * float(np.finfo(size.dtype).eps)
    live = size * size > limit * limit
    return imaginary(-mask(live, moved) / select(live, size, full(1.0, size)))


def where_finite(function: Any, a: Any, each: Each = in_order) -> tuple[Any, ...]:
    """Factorize a stack of matrices; the results are NaN for those that are not finite, on which LAPACK may fail.

    Args:
        function: stack -> results, one or several for each matrix.
        a: the stack.
        each: how pieces of the stack are shared.
    """
    each_finite = np.isfinite(a)
    if each_finite.all():
        return _in_pieces(function, a, each)
    finite = each_finite.all(axis=(-2, -1))
    results = [np.array(x) for x in _in_pieces(function, np.where(finite[..., None, None], a, a.dtype.type(0)), each)]
    for result in results:
        result[~finite] = np.nan
    return tuple(results)


def _in_pieces(function: Any, a: Any, each: Each) -> tuple[Any, ...]:
    """Factorize a stack of matrices in pieces, where that is much work: LAPACK itself shares little of it."""
    *batch, m, n = a.shape
    count = math.prod(batch)
    pieces = min(count, MOST_CHUNKS)
    if pieces < 2 or count * m * n * min(m, n) < THREAD_WORK:
        return tuple(function(a))
    stack = a.reshape((count, m, n))
    edges = [count * i // pieces for i in range(pieces + 1)]
    made = each(lambda i: tuple(function(stack[edges[i] : edges[i + 1]])), pieces)
    return tuple([np.concatenate(parts).reshape((*batch, *parts[0].shape[1:])) for parts in zip(*made, strict=True)])


def _eigh(a: Any, *, lower: bool, wanted: tuple[bool, ...] = (True, True), each: Each = in_order) -> tuple[Any, Any]:
    triangle: Any = "L" if lower else "U"
    if not wanted[1]:
        return where_finite(lambda a: (np.linalg.eigvalsh(a, triangle),), a, each)[0], None
    w, v = where_finite(lambda a: np.linalg.eigh(a, triangle), a, each)
    if a.shape[-1] and a.dtype.kind == "c":
        real = v[..., real_row(a, lower), None, :]
        v = v * turns(np, real) if real.imag.any() else v
    return w, v


def real_row(a: Any, lower: bool) -> int:
    """Return the row of the vectors that is real: the reduction to tridiagonal form begins (or ends) with it.

    Source: LAPACK's zhetrd, whose reflections leave the first unit vector (of the upper triangle: the last) alone.
    """
    return 0 if lower else int(a.shape[-1]) - 1


def _eigh_type(a: ArrayType, *, lower: bool) -> TupleType:
    square("eigh", a)
    return TupleType((ArrayType(a.shape[:-1], real_dtype(a.dtype)), a))


def _eigh_tangent(t: Any, out: tuple[Any, Any], a: Any, *, lower: bool) -> tuple[Any, Any]:
    """With s = vᴴ ȧ v: ẇ = the diagonal of s, and v̇ = v (s / (w[j] − w[i]) off the diagonal).

    Here ȧ is the Hermitian change of which one triangle is given, as the value has that of a. Complex vectors turn
    besides, so that the element that is real stays so.

    Source: by differentiating a v = v w and vᴴ v = 1.
    """
    w, v = out
    s = matrix_product(matrix_product(adjoint(v), hermitian(t if lower else adjoint(t))), v)
    change = matrix_product(v, gaps(w) * s)
    if a.dtype.kind == "c" and a.shape[-1]:
        row = real_row(a, lower)
        change = change + v * turning(_row(change, row), _row(v, row))
    return slopes(s, w, singular=False), change


class MatrixFunctions:
    """Functions of matrices in programs, which have derivatives also where eigenvalues are equal.

    Attributes:
        found: (program, active) -> the program with these written by their own ops; set by `primad`, as they hold
            programs and lie above.
    """

    found: ClassVar[Callable[[Program, Sequence[bool]], Program]]


def written_by_functions(program: Program, active: Sequence[bool]) -> Program:
    """Return a program whose functions of matrices are written by their own ops."""
    return MatrixFunctions.found(program, active)


def _cost(node: Node, factor: int) -> Cost:
    *batch, m, n = node.inputs[0].type.shape
    return Cost(math.prod(batch) * factor * m * n * min(m, n), 0, node.type.nbytes, 1)


eigh: Primitive = custom(
    "eigh",
    numpy=_eigh,
    infer=_eigh_type,
    jvp=[_eigh_tangent],
    found_in=written_by_functions,
    axes=lambda a, **params: stacks(a.ndim - 2, [2], [1, 2]),
    memory=MemoryUse(wanted=True, each=True),
    work=Work(flops=lambda node: _cost(node, 9)),  # Golub and Van Loan, Matrix Computations, 8.3
    complex="real-differentiable",
    doc="The eigenvalues of Hermitian (of real numbers: symmetric) matrices, in ascending order, and orthonormal "
    "eigenvectors as columns. Of a matrix, and of its changes, the lower triangle is read, or the upper one. The first "
    "(of the upper triangle: the last) element of a vector is real.",
)


def _svd(a: Any, *, wanted: tuple[bool, ...] = (True, True, True), each: Each = in_order) -> tuple[Any, Any, Any]:
    if not wanted[0] and not wanted[2]:
        return None, where_finite(lambda a: (np.linalg.svd(a, compute_uv=False),), a, each)[0], None
    u, s, vh = where_finite(lambda a: np.linalg.svd(a, full_matrices=False), a, each)
    if a.dtype.kind == "c" and s.size:
        real = real_elements(u, vh)
        if real.imag.any():
            turn = turns(np, real)
            u, vh = u * turn[..., None, :], vh * np.conj(turn)[..., :, None]
    return u, s, vh


def real_elements(u: Any, vh: Any) -> Any:
    """Return the elements of the vectors of each singular value that are real: of v, or of wide matrices' u, the first.

    Source: LAPACK's zgebrd, whose reflections leave the first unit vector of the shorter side alone.
    """
    return vh[..., :, 0].conj() if u.shape[-2] >= vh.shape[-1] else u[..., 0, :]


def _svd_type(a: ArrayType) -> TupleType:
    if a.ndim < 2 or a.dtype.char not in "fdFD":
        raise ShapeError(
            f"svd: {a} is no stack of matrices of 32 or 64 bit floats", fix="cast to float64; a matrix needs two axes."
        )
    *lead, m, n = a.shape
    k = min(m, n)
    u, vh = (ArrayType((*lead, *shape), a.dtype) for shape in ((m, k), (k, n)))
    return TupleType((u, ArrayType((*lead, k), real_dtype(a.dtype)), vh))


def _svd_tangent(t: Any, out: tuple[Any, Any, Any], a: Any) -> tuple[Any, Any, Any]:
    """With p = uᴴ ȧ v and f = 1/(s[j]² − s[i]²): u̇ = u (f (p s + (p s)ᴴ)), v̇ = v (f (s p + (s p)ᴴ)), and more.

    Of a tall matrix, u̇ has also the part of ȧ v s⁻¹ outside of the columns of u; of a wide one, v̇ that of ȧᴴ u s⁻¹.
    Complex columns of u turn by the imaginary parts of p/s on its diagonal, and those of both together so that the
    elements that are real stay so.

    Source: J. Townsend, "Differentiating the singular value decomposition" (2016), by differentiating a = u s vᴴ.
    """
    u, s, vh = out
    v = adjoint(vh)
    m, n = a.shape[-2:]
    p = matrix_product(matrix_product(adjoint(u), t), v)
    left, right = p * along(s, 1), p * along(s, 0)
    between = gaps(s) / (along(s, 0) + along(s, 1) + np.broadcast_to(np.eye(s.shape[-1], dtype=s.dtype), p.shape))
    du = matrix_product(u, between * (left + adjoint(left)))
    dv = matrix_product(v, between * (right + adjoint(right)))
    if m > n:
        du = du + _outside(matrix_product(t, v), u, s)
    if n > m:
        dv = dv + _outside(matrix_product(adjoint(t), u), v, s)
    if a.dtype.kind == "c" and s.size:
        du = du + u * imaginary(_diagonal_row(imaginary_part(p)) * _inverse(s))
        turn = turning(_row(dv, 0), _row(v, 0)) if m >= n else turning(_row(du, 0), _row(u, 0))
        du, dv = du + u * turn, dv + v * turn
    return du, slopes(p, s, singular=True), adjoint(dv)


def _diagonal_row(x: Any) -> Any:
    """Return the diagonal of each square matrix, as a matrix of one row."""
    return sum_(diagonal_part(x), axes=(x.ndim - 2,))[..., None, :]


def _outside(x: Any, basis: Any, s: Any) -> Any:
    """Return the part of x s⁻¹ outside of the span of a basis; a column for each singular value."""
    return (x - matrix_product(basis, matrix_product(adjoint(basis), x))) * _inverse(s)


def _inverse(s: Any) -> Any:
    """Return 1/s as matrices of one row; an error where a value is 0."""
    ends = np.zeros((*s.shape[:-1], 1), s.dtype)
    inverse = gaps(concatenate(s, ends, axis=s.ndim - 1))
    return _row(inverse, s.shape[-1])[..., :, : s.shape[-1]]


svd: Primitive = custom(
    "svd",
    numpy=_svd,
    infer=_svd_type,
    jvp=[_svd_tangent],
    axes=lambda a: stacks(a.ndim - 2, [2], [2, 1, 2]),
    memory=MemoryUse(wanted=True, each=True),
    work=Work(flops=lambda node: _cost(node, 14)),  # Golub and Van Loan, Matrix Computations, 8.6
    complex="real-differentiable",
    doc="The reduced singular value decomposition a = u s vᴴ: orthonormal columns u, singular values in descending "
    "order, and vᴴ. The first element of each column of v (of wide matrices: of u) is real.",
)
