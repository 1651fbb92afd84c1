"""JAX's primitives of linear algebra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad import numpy as pnp
from primad import ops
from primad.errors import TracingError
from primad.xla.primitives.elementwise import dtype_of, without_params

Function = Callable[..., Any]


def _turned(x: Any) -> Any:
    return pnp.swapaxes(x, -1, -2)


def _triangular_solve(
    a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool
) -> Any:
    """Solve op(a) x = b, or x op(a) = b, which is its transpose."""
    a = pnp.conj(a) if conjugate_a and dtype_of(a).kind == "c" else a
    if left_side:
        return ops.solve_triangular(a, b, lower=lower, transpose=transpose_a, unit=unit_diagonal)
    return _turned(ops.solve_triangular(a, _turned(b), lower=lower, transpose=not transpose_a, unit=unit_diagonal))


def _qr(a: Any, *, full_matrices: bool, pivoting: bool = False, **_: Any) -> tuple[Any, Any]:
    _refuse(pivoting, "qr with pivoting", "jnp.linalg.qr has none.")
    return tuple(pnp.linalg.qr(a, "complete" if full_matrices and a.shape[-2] > a.shape[-1] else "reduced"))


def _refuse(asked: bool, what: str, fix: str) -> None:
    if asked:
        raise TracingError(f"{what} has no op", fix=fix)


def _eigh(a: Any, *, lower: bool, subset_by_index: Any = None, **_: Any) -> tuple[Any, Any]:
    n = a.shape[-1]
    _refuse(subset_by_index not in (None, (0, n)), "eigh of some eigenvalues", "take them of all.")
    w, v = pnp.linalg.eigh(a, "L" if lower else "U")
    return v, w


def _svd(a: Any, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any = None, **_: Any) -> tuple[Any, ...]:
    _refuse(subset_by_index not in (None, (0, min(a.shape[-2:]))), "svd of some singular values", "take them of all.")
    if not compute_uv:
        return (pnp.linalg.svd(a, compute_uv=False),)
    u, s, vh = pnp.linalg.svd(a, full_matrices=full_matrices)
    return s, u, vh


def _eig(a: Any, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any) -> tuple[Any, ...]:
    _refuse(compute_left_eigenvectors, "eig with left vectors", "invert the matrix of the right ones.")
    if not compute_right_eigenvectors:
        return (pnp.linalg.eigvals(a),)
    return tuple(pnp.linalg.eig(a))


def _lu(a: Any) -> tuple[Any, Any, Any]:
    """Return factors, pivots as LAPACK has them (each row is swapped with which), and the order of the rows."""
    factors, order, _ = ops.lu(a)
    return factors, _pivots(order, min(a.shape[-2:])), order


def _pivots(order: Any, count: int) -> Any:
    """Return the swaps that make an order of rows."""
    found, now = [], pnp.broadcast_to(pnp.arange(order.shape[-1]), order.shape)
    for k in range(count):
        wanted, here = order[..., k : k + 1], now[..., k : k + 1]
        at = now == wanted
        found.append(pnp.argmax(at, axis=-1))
        now = pnp.where(at, here, now)
        now = pnp.concatenate([now[..., :k], wanted, now[..., k + 1 :]], axis=-1)
    return pnp.stack(found, axis=-1) if found else order[..., :0]


def _rows_of_pivots(pivots: Any, *, permutation_size: int) -> Any:
    """Return the order of rows that swaps make."""
    shape = (*pivots.shape[:-1], permutation_size)
    now: Any = pnp.broadcast_to(pnp.arange(permutation_size), shape)
    numbers = pnp.arange(permutation_size)
    for k in range(pivots.shape[-1]):
        other = pivots[..., k : k + 1]
        at, here = numbers == other, now[..., k : k + 1]
        wanted = pnp.take_along_axis(now, other.astype(int), -1)
        now = pnp.where(at, here, now)
        now = pnp.concatenate([now[..., :k], wanted, now[..., k + 1 :]], axis=-1)
    return now


FACTORIZATIONS: dict[str, Function] = {
    "cholesky": without_params(ops.cholesky),
    "eig": _eig,
    "eigh": _eigh,
    "lu": without_params(_lu),
    "lu_pivots_to_permutation": lambda pivots, *, permutation_size, **_: _rows_of_pivots(
        pivots, permutation_size=permutation_size
    ),
    "qr": _qr,
    "svd": _svd,
    "symmetric_product": lambda a, c, *, alpha, beta: alpha * (a @ _turned(a)) + beta * c,
    "triangular_solve": _triangular_solve,
}
"""name -> function of the operands, with the primitive's params as keywords."""
