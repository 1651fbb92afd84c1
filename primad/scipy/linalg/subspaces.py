"""Of scipy.linalg: the turning part of a matrix, and how subspaces lie to each other."""

from __future__ import annotations

from typing import Any

from primad import numpy as pn
from primad import ops
from primad.errors import ShapeError
from primad.functional.recorded_values import stop_gradient
from primad.functional.rules.custom_rules import custom_jvp
from primad.ops.linalg.factorization import adjoint
from primad.scipy.mirrors import floats, hermitian, mirrors, square

__all__ = ["orthogonal_procrustes", "pinvh", "polar", "subspace_angles"]


@custom_jvp
def _unitary(a: Any) -> Any:
    """Return the unitary polar factor of a tall matrix."""
    u, _, v = pn.linalg.svd(stop_gradient(a), full_matrices=False)
    return u @ v


@_unitary.defjvp
def _push_unitary(primals: Any, tangents: Any) -> Any:
    """Push by Sylvester's equation for what turns, which equal singular values do not disturb.

    Source: from a = w p with wᴴ w = 1 and p = pᴴ: wᴴ da − daᴴ w = s p + p s for s = wᴴ dw.
    """
    (a,), (da,) = primals, tangents
    w = _unitary(a)
    p, along = adjoint(w) @ a, adjoint(w) @ da
    p = 0.5 * (p + adjoint(p))
    turn = ops.solve_sylvester(p, p, along - adjoint(along))
    return w, w @ turn + adjoint(pn.linalg.solve(p, adjoint(da - w @ along)))


def _turning(a: Any) -> Any:
    """Return the polar factor of a matrix with orthonormal columns, or rows of a wide one."""
    return _unitary(a) if a.shape[-2] >= a.shape[-1] else adjoint(_unitary(adjoint(a)))


@mirrors
def polar(a: Any, side: str = "right") -> tuple[Any, Any]:
    """scipy.linalg.polar: a = u p or, for side="left", a = p u, with u that turns and p that is positive.

    Equal singular values do no harm to its derivatives; a singular one of a square matrix has none.

    Args:
        a: a matrix, or a stack of them.
        side: of p.

    Example:
        >>> import numpy as np, primad, primad.scipy.linalg
        >>> turn = lambda t: np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
        >>> found = lambda t: primad.scipy.linalg.polar(3.0 * primad.numpy.array(turn(t)))[0][1, 0]
        >>> print(primad.grad(found)(0.0).round(6))
        1.0
    """
    if side not in ("left", "right"):
        raise ShapeError(
            f"scipy.linalg.polar: side must be 'left' or 'right', got {side!r}",
            fix="leave it out, or give one of these.",
        )
    (a,) = floats(a)
    if a.ndim < 2:
        raise ShapeError(f"scipy.linalg.polar of shape {a.shape}", fix="give matrices, along the last two axes.")
    u = _turning(a)
    p = adjoint(u) @ a if side == "right" else a @ adjoint(u)
    return u, 0.5 * (p + adjoint(p))


@mirrors
def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """scipy.linalg.orthogonal_procrustes: the r that turns A nearest to B, and the sum of singular values of Aᴴ B."""
    A, B = floats(A, B)
    if A.ndim != 2 or A.shape != B.shape:
        raise ShapeError(
            f"scipy.linalg.orthogonal_procrustes: shapes {A.shape} and {B.shape}", fix="give matrices of one shape."
        )
    product = adjoint(A) @ B
    turn = _turning(product)
    return turn, pn.real(pn.trace(adjoint(turn) @ product))


@mirrors
def pinvh(
    a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False, check_finite: bool = True
) -> Any:
    """scipy.linalg.pinvh: the pseudoinverse of a Hermitian matrix, of which one triangle is read."""
    if atol is not None or return_rank:
        raise ShapeError(
            "scipy.linalg.pinvh with atol= or return_rank= is not supported on traced arrays", fix="give rtol= alone."
        )
    a = hermitian(square("pinvh", a), lower)
    return pn.linalg.pinv(a, rtol=a.shape[-1] * pn.finfo(a.dtype).eps if rtol is None else rtol)


@mirrors
def subspace_angles(A: Any, B: Any) -> Any:
    """scipy.linalg.subspace_angles: between the spaces of the columns of two tall matrices, the largest first.

    Small angles come from sines and others from cosines (Knyazev & Argentati 2002). An angle of 0 has no derivative.
    """
    A, B = floats(A, B)
    if A.ndim != 2 or B.ndim != 2 or A.shape[0] != B.shape[0] or max(A.shape[1], B.shape[1]) > A.shape[0]:
        raise ShapeError(
            f"scipy.linalg.subspace_angles of traced arrays: shapes {A.shape} and {B.shape}",
            fix="give two matrices with as many rows, and no more columns than rows.",
        )
    first, second = (pn.linalg.qr(x).Q for x in (A, B))
    if first.shape[1] < second.shape[1]:
        first, second = second, first
    product = adjoint(first) @ second
    cosines = pn.linalg.svdvals(product)[::-1]
    sines = pn.linalg.svdvals(second - first @ product)
    small = cosines**2 >= 0.5
    return pn.where(small, pn.arcsin(pn.where(small, sines, 0.5)), pn.arccos(pn.where(small, 0.5, cosines)))
