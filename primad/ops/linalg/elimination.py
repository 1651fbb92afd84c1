"""Gaussian elimination and Cholesky's factorization: what solving, inverting and determinants are made of.

Matrices are the last two axes; those before are a batch. A few matrices go through LAPACK one by one; the elimination
of many is done for all at once, step by step, since a call for each would cost more than its arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.ir.array_types import ArrayType, TupleType, Zero
from primad.ir.axes import stacks
from primad.ir.node import Node
from primad.ir.program import Cost
from primad.ops.arrays.gather_scatter import gather, scatter_add
from primad.ops.linalg.factorization import (
    adjoint,
    domain_of_matrices,
    few,
    hermitian,
    lower_part,
    matrix_product,
    solve_triangular,
    square,
    transposed,
    unit_lower,
    upper_part,
)
from primad.ops.record.fields import Work
from primad.ops.record.kinds import custom
from primad.ops.record.primitive import Primitive

__all__ = ["cholesky", "lu"]


# -- LU ----------------------------------------------------------------------------------------------------------------


def _lu(a: Any) -> tuple[Any, Any, Any]:
    a = np.asarray(a)
    rows = np.arange(a.shape[-1])
    order = np.broadcast_to(rows, a.shape[:-1]).copy()
    parity = np.ones(a.shape[:-2], a.dtype)
    if a.size and not few(a):
        factors = np.array(a, order="C")
        _eliminate(factors, order, parity)
        return factors, order, parity
    from scipy.linalg import lapack  # importing it takes longer than primad itself does

    # Columns come first, as LAPACK has them: each copy of a large array is memory that the system clears.
    factors = np.swapaxes(np.empty(a.shape, a.dtype), -1, -2)
    np.copyto(factors, a)
    (getrf,), numbers = lapack.get_lapack_funcs(("getrf",), (a,)), rows[:, None].astype(float)
    for index in np.ndindex(a.shape[:-2] if a.size else (0,)):
        factors[index], pivots, _ = getrf(factors[index], overwrite_a=1)
        order[index] = lapack.dlaswp(numbers, pivots)[:, 0]
        parity[index] = 1 - 2 * (np.count_nonzero(pivots != rows) % 2)
    return factors, order, parity[()]


def _eliminate(a: Any, order: Any, parity: Any) -> None:
    """Eliminate all matrices of a batch in place, with partial pivoting."""
    n = a.shape[-1]
    flat, rows, signs = a.reshape(-1, n, n), order.reshape(-1, n), parity.reshape(-1)
    every = np.arange(len(flat))
    with np.errstate(all="ignore"):
        for k in range(n):
            pivot = k + np.argmax(np.abs(flat[:, k:, k]), axis=1)
            signs[pivot != k] *= -1
            for array in (flat, rows):
                kept = array[:, k].copy()
                array[:, k] = array[every, pivot]
                array[every, pivot] = kept
            head = flat[:, k, k, None]
            column = flat[:, k + 1 :, k] = np.where(head != 0, flat[:, k + 1 :, k] / head, 0)
            flat[:, k + 1 :, k + 1 :] -= column[:, :, None] * flat[:, k, None, k + 1 :]


def solve_by_elimination(a: Any, b: Any) -> Any:
    """Solve a x = b: an elimination, and two triangular systems."""
    factors, order, _ = lu(a)
    lead = a.ndim - 2
    moved = gather(b, order, axis=lead, batch=lead)
    moved = solve_triangular(factors, moved, lower=True, transpose=False, unit=True)
    return solve_triangular(factors, moved, lower=False, transpose=False, unit=False)


def inverse_transposed(a: Any) -> Any:
    """Return a⁻ᵀ, of p a = l u: the rows of l⁻ᵀ u⁻ᵀ, in their order. What u is solved with is an identity."""
    factors, order, _ = lu(a)
    lead = a.ndim - 2
    one = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    x = solve_triangular(factors, one, lower=False, transpose=True, unit=False)
    x = solve_triangular(factors, x, lower=True, transpose=True, unit=True)
    return scatter_add(x, order, axis=lead, batch=lead, size=a.shape[-1])


def _lu_type(a: ArrayType) -> TupleType:
    square("lu", a)
    return TupleType((a, ArrayType(a.shape[:-1], np.int64), ArrayType(a.shape[:-2], a.dtype)))


def _lu_tangent(t: Any, out: tuple[Any, Any, Any], a: Any) -> tuple[Any, Any, Any]:
    """With the rows of ȧ in their order p, s = l⁻¹ (p ȧ) u⁻¹: l̇ = l·(s below its diagonal), u̇ = (the rest of s)·u.

    Source: by differentiating p a = l u.
    """
    factors, order, parity = out
    lead = t.ndim - 2
    moved = gather(t, order, axis=lead, batch=lead)
    s = solve_triangular(factors, moved, lower=True, transpose=False, unit=True)
    s = transposed(solve_triangular(factors, transposed(s), lower=False, transpose=True, unit=False))
    below = lower_part(s, False)
    change = matrix_product(unit_lower(factors), below) + matrix_product(s - below, upper_part(factors))
    return change, Zero(order.type), Zero(parity.type)


def _lu_few(a: ArrayType) -> Any:
    from primad.ops.linalg.single_matrices import eliminating, is_small

    return eliminating(a) if is_small(a) else None


lu: Primitive = custom(
    "lu",
    numpy=_lu,
    infer=_lu_type,
    jvp=[_lu_tangent],
    axes=lambda a: stacks(a.ndim - 2, [2], [2, 1, 0]),
    work=Work(flops=lambda node: _cubic(node, 2 / 3), few=_lu_few),
    complex="analytic",
    doc="Gaussian elimination with partial pivoting: the factors l (below the diagonal, which is 1) and u in one "
    "array, the rows of a in the order that makes them l u, and the sign of that order.",
)


# -- Cholesky ----------------------------------------------------------------------------------------------------------


def _cholesky_tangent(t: Any, out: Any, a: Any) -> Any:
    """With s = l⁻¹ ȧ l⁻ᴴ: l̇ = l·(the part of s below its diagonal, and half of the diagonal).

    Here ȧ is the Hermitian change of which the lower triangle is given, as the value has that of a.

    Source: S. P. Smith, "Differentiation of the Cholesky algorithm", Journal of Computational and Graphical
    Statistics 4 (1995).
    """
    s = solve_triangular(out, hermitian(t), lower=True, transpose=False, unit=False)
    s = solve_triangular(out, adjoint(s), lower=True, transpose=False, unit=False)
    return matrix_product(out, (lower_part(s, True) + lower_part(s, False)) * 0.5)


def _not_positive(a: Any) -> tuple[tuple[int, ...], int] | None:
    """Return the first matrix without a Cholesky factor, and the order of its first minor that is not positive."""
    for place in np.ndindex(a.shape[:-2]):
        if _has_factor(a[place]):
            continue
        order = next(n for n in range(1, a.shape[-1] + 1) if not _has_factor(a[place][:n, :n]))
        return place, order
    return None


def _has_factor(a: Any) -> bool:
    try:
        _cholesky(a)
    except np.linalg.LinAlgError:
        return False
    return True


def _cholesky(a: Any) -> Any:
    """Factorize matrices; LAPACK may take NaN for a number that is positive."""
    found = np.linalg.cholesky(a)
    if np.isnan(np.diagonal(found, axis1=-2, axis2=-1)).any():
        raise np.linalg.LinAlgError("a minor that is NaN")
    return found


cholesky: Primitive = custom(
    "cholesky",
    numpy=lambda a: _cholesky(a),
    infer=lambda a: square("cholesky", a),
    jvp=[_cholesky_tangent],
    axes=lambda a: stacks(a.ndim - 2, [2], [2]),
    domain=domain_of_matrices(
        operand=0,
        own_axes=2,
        find=_not_positive,
        say=lambda n, *types, **params: f"a matrix is not positive definite: its leading minor of order {n} is not > 0",
        fix="check that it is symmetric (or Hermitian); a small multiple of the identity may be missing.",
    ),
    work=Work(flops=lambda node: _cubic(node, 1 / 3)),
    complex="real-differentiable",
    doc="The lower triangular l with l lᴴ = a, for positive definite a, symmetric or Hermitian, of which, and of "
    "whose changes, the lower triangle is read, and of the diagonal the real part.",
)


def _cubic(node: Node, factor: float) -> Cost:
    *batch, _, n = node.inputs[0].type.shape
    return Cost(int(math.prod(batch) * factor * n**3), 0, node.type.nbytes, 1)
