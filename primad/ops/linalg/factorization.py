"""Factorizations of matrices by LAPACK, with several results, and the triangular solves that their rules need.

Matrices are the last two axes; those before are a batch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.errors import MatrixError, ShapeError
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.axes import Running, stacks
from primad.ir.node import Node
from primad.ir.program import Cost
from primad.ops.arrays.contraction import ALPHABET, contract, letters
from primad.ops.arrays.reshaping import permute
from primad.ops.elementwise.conversion import cast, complex_of, conj, imaginary_part, real_part
from primad.ops.elementwise.selection import mask
from primad.ops.record.fields import DomainOfDefinition, Indexing, MemoryUse, Work, always
from primad.ops.record.kinds import custom
from primad.ops.record.primitive import Primitive, full

__all__ = ["qr", "solve_triangular"]


def matrix_product(x: Any, y: Any) -> Any:
    """Multiply stacks of matrices with the same leading axes."""
    lead = ALPHABET[3 : 1 + x.ndim]
    return contract(x, y, labels=letters(f"{lead}ab", f"{lead}bc", f"{lead}ac"))


def transposed(x: Any) -> Any:
    """Swap the last two axes."""
    return permute(x, order=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def conjugated(x: Any) -> Any:
    """Return the conjugates of complex numbers; real ones as they are."""
    return conj(x) if x.dtype.kind == "c" else x


def adjoint(x: Any) -> Any:
    """Swap the last two axes, of conjugates: the transpose of real matrices."""
    return conjugated(transposed(x))


def diagonal_part(x: Any) -> Any:
    """Keep the diagonal of each matrix."""
    return mask(np.broadcast_to(np.eye(x.shape[-2], x.shape[-1], dtype=bool), x.shape), x)


def imaginary(x: Any) -> Any:
    """Return i x, of real numbers x."""
    return complex_of(full(0.0, x), x)


def lower_part(x: Any, diagonal: bool) -> Any:
    """Keep the elements on and below (or only below) the diagonal of each matrix."""
    chosen = np.tri(x.shape[-2], x.shape[-1], 0 if diagonal else -1, bool)
    return mask(np.broadcast_to(chosen, x.shape), x)


def upper_part(x: Any) -> Any:
    """Keep the elements on and above the diagonal of each matrix."""
    return x - lower_part(x, False)


def mirrored(x: Any) -> Any:
    """Return the symmetric matrices of which the lower triangles are given."""
    return lower_part(x, True) + transposed(lower_part(x, False))


def hermitian(x: Any) -> Any:
    """Return the Hermitian matrices of which the lower triangles are given, and of the diagonals the real parts."""
    if x.dtype.kind != "c":
        return mirrored(x)
    below = lower_part(x, False)
    return below + adjoint(below) + cast(real_part(diagonal_part(x)), dtype=str(x.dtype))


def unit_lower(x: Any) -> Any:
    """Keep the elements below the diagonal of each matrix, and put ones on the diagonal."""
    return lower_part(x, False) + np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)


def domain_of_matrices(operand: int, own_axes: int, **options: Any) -> DomainOfDefinition:
    """Return the domain of an op of matrices, or of what each matrix has one row of, as its spectrum."""
    return DomainOfDefinition(
        MatrixError, operand=operand, operand_name="the stack of matrices", own_axes=own_axes, **options
    )


def square(name: str, a: ArrayType) -> ArrayType:
    """Return the type of a stack of square matrices of floats, real or complex; raise for others."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or a.dtype.char not in "fdFD":
        raise ShapeError(
            f"{name}: {a} is no stack of square matrices of 32 or 64 bit floats",
            fix="cast to float64, and give the last two axes one length.",
        )
    return a


def few(a: Any) -> bool:
    """Say whether LAPACK is called for each matrix of a stack; of many, a step is done for all at once."""
    return bool(math.prod(a.shape[:-2]) <= FEW)


FEW = 8
"""Matrices: a call of LAPACK by SciPy takes about as long as the steps of eight small ones at once. Estimated; the last
bits of results depend on it."""


# -- triangular systems ------------------------------------------------------------------------------------------------


def _solve_triangular(a: Any, b: Any, *, lower: bool, transpose: bool, unit: bool, out: Any = None) -> Any:
    a, b = np.asarray(a), np.asarray(b)
    apart = out is None or np.may_share_memory(out, a)
    x = np.empty(b.shape, b.dtype) if apart else out
    np.copyto(x, b)
    if not few(a):
        _substitute(np.swapaxes(a, -1, -2) if transpose else a, x, lower != transpose, unit)
    elif x.size:
        _solve_by_blas(a, x, lower, transpose, unit)
    if out is None:
        return x
    if apart:
        np.copyto(out, x)
    return out


def _solve_by_blas(a: Any, x: Any, lower: bool, transpose: bool, unit: bool) -> None:
    """Solve the systems of a few matrices, one by one; right-hand sides become solutions."""
    _check_diagonal(a, unit)
    from scipy.linalg import blas  # importing it takes longer than primad itself does

    trsm, trsv = blas.get_blas_funcs(("trsm", "trsv"), (a, x))
    for index in np.ndindex(x.shape[:-2]):
        if _is_large_identity(x[index]):
            _invert(a[index].T if transpose else a[index], x[index], lower != transpose, unit)
            continue
        # Seen from BLAS, whose matrices have columns first, all are transposed: x aᵀ = b is solved where b lies. A
        # matrix that has its columns first, as LAPACK's factors do, is not, and is not copied either.
        matrix, turned = (a[index], True) if a[index].flags.f_contiguous else (a[index].T, False)
        how = {"lower": lower == turned, "diag": unit}
        if x.shape[-1] == 1:  # a vector, for which the matrix need not be packed
            x[index][:, 0] = trsv(matrix, x[index][:, 0], trans=transpose == turned, overwrite_x=1, **how)
        else:
            x[index] = trsm(1, matrix, x[index].T, side=1, trans_a=transpose != turned, overwrite_b=1, **how).T


def _is_large_identity(x: Any) -> bool:
    """Say whether right-hand sides are an identity of so many rows that LAPACK inverts faster than BLAS solves."""
    n = len(x)
    if n < INVERTED or x.shape[1] != n or x[0, 0] != 1 or np.count_nonzero(x[0]) != 1:
        return False
    return bool(np.all(np.diagonal(x) == 1)) and np.count_nonzero(x) == n


INVERTED = 256
"""Rows of triangular matrices, from which on they are inverted: a third of the arithmetic, but in less even pieces.
Measured: of 200 rows both take as long. The last bits of results depend on it."""


def _invert(a: Any, x: Any, lower: bool, unit: bool) -> None:
    """Write the inverse of a triangular matrix, whose other triangle is not read."""
    from scipy.linalg import lapack

    np.copyto(x, a)
    (trtri,) = lapack.get_lapack_funcs(("trtri",), (x,))
    x[...] = trtri(x.T, lower=not lower, unitdiag=unit, overwrite_c=1)[0].T  # transposed, as LAPACK sees it: in place
    for i, row in enumerate(x):
        row[slice(i + 1, None) if lower else slice(0, i)] = 0
    if unit:
        np.einsum("ii->i", x)[...] = 1


def _check_diagonal(a: Any, unit: bool) -> None:
    if not unit and not np.diagonal(a, axis1=-2, axis2=-1).all():
        raise np.linalg.LinAlgError("singular matrix")


def _substitute(a: Any, x: Any, lower: bool, unit: bool) -> None:
    """Solve all systems of a batch, row by row; right-hand sides become solutions."""
    n = a.shape[-1]
    if x.size:
        _check_diagonal(a, unit)
    for i in range(n) if lower else reversed(range(n)):
        known = slice(0, i) if lower else slice(i + 1, n)
        x[..., i, :] -= (a[..., i, None, known] @ x[..., known, :])[..., 0, :]
        if not unit:
            x[..., i, :] /= a[..., i, i, None]


def _solve_type(a: ArrayType, b: ArrayType, *, lower: bool, transpose: bool, unit: bool) -> ArrayType:
    square("solve_triangular", a)
    if a.ndim != b.ndim or a.shape[:-1] != b.shape[:-1] or a.dtype != b.dtype:
        raise ShapeError(
            f"solve_triangular: matrices {a} and right-hand sides {b} do not fit",
            fix="give one right-hand side (or a matrix of them) for each matrix, of its length and dtype.",
        )
    return b


def _singular(a: Any, b: Any, *, unit: bool, **params: Any) -> tuple[tuple[int, ...], int] | None:
    """Return the first triangular matrix with a zero on its diagonal, and where."""
    if unit:
        return None
    zero = np.argwhere(np.diagonal(a, axis1=-2, axis2=-1) == 0)
    return (tuple(zero[0, :-1].tolist()), int(zero[0, -1])) if len(zero) else None


def _solve_by_matrix(t: Any, out: Any, a: Any, b: Any, *, lower: bool, transpose: bool, unit: bool) -> Any:
    change = lower_part(t, not unit) if lower else transposed(lower_part(transposed(t), not unit))
    pushed = matrix_product(transposed(change) if transpose else change, out)
    return solve_triangular(a, -pushed, lower=lower, transpose=transpose, unit=unit)


def _substituted(a: ArrayType, b: ArrayType, *, lower: bool, transpose: bool, unit: bool) -> Running:
    """Rows of the solution follow from the first on, or from the last."""
    return Running(1, b.ndim - 2, lower == transpose)


def _solve_few(a: ArrayType, b: ArrayType, *, lower: bool, transpose: bool, unit: bool) -> Any:
    from primad.ops.linalg.single_matrices import is_small, substituting

    return substituting(a, b, lower, transpose, unit) if is_small(a) and is_small(b) else None


solve_triangular: Primitive = custom(
    "solve_triangular",
    numpy=_solve_triangular,
    infer=_solve_type,
    jvp=[_solve_by_matrix, lambda t, out, a, b, **params: solve_triangular(a, t, **params)],
    transpose=[
        None,
        lambda ct, a, b, *, lower, transpose, unit: solve_triangular(
            a, ct, lower=lower, transpose=not transpose, unit=unit
        ),
    ],
    operands=(1,),
    axes=lambda a, b, **params: stacks(a.ndim - 2, [2, 2], [2]),
    indexing=Indexing(running=_substituted),
    domain=domain_of_matrices(
        operand=0,
        own_axes=2,
        find=_singular,
        say=lambda place, *types, **params: f"a matrix is singular: element {place} of its diagonal is 0",
        fix="the columns of the matrix that is solved with, or whose qr is differentiated, are linearly dependent: "
        "give one of full rank, such as the sum of it and a small multiple of the identity.",
        called="np.linalg.solve (or inv, solve_triangular, a derivative of det or qr)",
    ),
    memory=MemoryUse(out=always),
    work=Work(
        flops=lambda node: Cost(node.type.size * node.type.shape[-2], 0, node.type.nbytes, 1),
        few=_solve_few,
    ),
    complex="analytic",
    doc="a⁻¹ b for triangular matrices a, of which only the named triangle is read, or (unit) only what lies beside "
    "the diagonal, which is then 1; or (transpose) a⁻ᵀ b.",
)


# -- QR ----------------------------------------------------------------------------------------------------------------


def _qr(a: Any, *, wanted: tuple[bool, ...] = (True, True)) -> tuple[Any, Any]:
    if not wanted[0]:
        return None, np.linalg.qr(a, "r")
    q, r = np.linalg.qr(a)
    return q, r


def _qr_type(a: ArrayType) -> TupleType:
    if a.ndim < 2 or a.shape[-2] < a.shape[-1] or a.dtype.char not in "fdFD":
        raise ShapeError(
            f"qr: {a} is no stack of float matrices with as many rows as columns, or more",
            fix="a matrix with more columns than rows has qr(a[:, :m]) of its first m columns.",
        )
    n = a.shape[-1]
    return TupleType((a, ArrayType((*a.shape[:-2], n, n), a.dtype)))


def _qr_tangent(t: Any, out: tuple[Any, Any], a: Any) -> tuple[Any, Any]:
    """With c = ȧ r⁻¹ and s = qᴴ c: q̇ = c − q (s − ω) and ṙ = (s − ω) r.

    Here ω = x − xᴴ, and x is the part of s below its diagonal; to ω belongs the imaginary part of that diagonal, for
    LAPACK's r has a real one.

    Source: S. F. Walter, L. Lehmann and R. Lamour, "On evaluating higher-order derivatives of the QR decomposition of
    tall matrices with full column rank", Optimization Methods and Software 27 (2012), by differentiating a = q r and
    qᴴ q = 1.
    """
    q, r = out
    c = transposed(solve_triangular(r, transposed(t), lower=False, transpose=True, unit=False))
    s = matrix_product(adjoint(q), c)
    below = lower_part(s, False)
    upper = s - below + adjoint(below)
    if s.dtype.kind == "c":
        upper = upper - imaginary(imaginary_part(diagonal_part(s)))
    return c - matrix_product(q, upper), matrix_product(upper, r)


def _qr_cost(node: Node) -> Cost:
    """Count Householder's method, and as much again for forming q (Golub and Van Loan, Matrix Computations, 5.2)."""
    *batch, m, n = node.inputs[0].type.shape
    return Cost(math.prod(batch) * (4 * m * n * n - 4 * n**3 // 3), 0, node.type.nbytes, 1)


qr: Primitive = custom(
    "qr",
    numpy=_qr,
    infer=_qr_type,
    jvp=[_qr_tangent],
    axes=lambda a: stacks(a.ndim - 2, [2], [2, 2]),
    memory=MemoryUse(wanted=True),
    work=Work(flops=_qr_cost),
    complex="real-differentiable",
    doc="The reduced QR factorization of matrices of full column rank, with LAPACK's signs: q has orthonormal columns, "
    "r is upper triangular with a real diagonal, a = q r.",
)
