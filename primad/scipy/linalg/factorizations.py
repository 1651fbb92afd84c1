"""Of scipy.linalg: systems, factorizations, values and norms of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pn
from primad import ops
from primad.errors import ShapeError, TracingError
from primad.ir.array_types import real_dtype
from primad.numpy.elementwise.complex_numbers import conjugated
from primad.numpy.linalg.linear_systems import system
from primad.numpy.promotion import any_traced
from primad.ops.linalg.factorization import adjoint, unit_lower, upper_part
from primad.ops.linalg.factorization import transposed as turned
from primad.scipy.mirrors import by_cholesky, floats, hermitian, mirrored, mirrors, square, within

__all__ = [
    "cho_factor", "cho_solve", "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lu", "lu_factor",
    "lu_solve", "norm", "pinv", "qr", "solve", "solve_triangular", "svd", "svdvals",
]  # fmt: skip


def _read(a: Any, trans: Any) -> tuple[Any, bool]:
    """Return a matrix, conjugated if `trans` says so, and whether a system is that of the transposed one."""
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ShapeError(f"trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}", fix="use one of these.")
    return conjugated(a) if trans in (2, "C") else a, trans not in (0, "N")


# -- systems -----------------------------------------------------------------------------------------------------------


@mirrors
def solve(
    a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, assume_a: Any = None, transposed: bool = False,
) -> Any:  # fmt: skip
    """scipy.linalg.solve: by elimination; by Cholesky's factorization for `assume_a="pos"`.

    Args:
        a: a square matrix.
        b: shape (n,) or (n, k).
        lower: which triangle of a symmetric matrix counts.
        overwrite_a: says nothing.
        overwrite_b: says nothing.
        check_finite: says nothing.
        assume_a: what is known of the matrix, by SciPy's names.
        transposed: solve with the transposed matrix.

    Example:
        >>> import numpy as np, primad
        >>> a = np.array([[2.0, 1.0], [1.0, 4.0]])
        >>> primad.grad(lambda b: np.sum(primad.scipy.linalg.solve(a, b, assume_a="pos")))(np.ones(2))
        array([0.42857143, 0.14285714])
    """
    a, columns, vector = system("scipy.linalg.solve", a, b)
    found = _solved(a, columns, assume_a or "general", lower, transposed)
    return found[..., 0] if vector else found


def _solved(a: Any, b: Any, kind: str, lower: bool, transposed: bool) -> Any:
    """Solve with a matrix of a kind, of which nothing is read but what the kind says there is."""
    if kind in ("pos", "positive definite"):
        factor = ops.cholesky(a if lower else adjoint(a))
        return by_cholesky(conjugated(factor) if transposed else factor, b)
    if kind in ("her", "hermitian"):
        a = hermitian(a, lower)
        return pn.linalg.solve(conjugated(a) if transposed else a, b)
    if kind in ("sym", "symmetric"):
        return pn.linalg.solve(mirrored(a, lower), b)
    if kind in ("upper triangular", "lower triangular", "diagonal"):
        a = within(a, 0) if kind == "diagonal" else a
        return ops.solve_triangular(a, b, lower=kind == "lower triangular", transpose=bool(transposed), unit=False)
    if kind not in ("gen", "general", "banded", "tridiagonal"):
        raise ShapeError(
            f"scipy.linalg.solve: assume_a={kind!r} is not known", fix="use one of SciPy's names, or leave it out."
        )
    a = within(a, 1) if kind == "tridiagonal" else a
    return pn.linalg.solve(turned(a) if transposed else a, b)


@mirrors
def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """scipy.linalg.solve_triangular: the other triangle is not read, and has no derivative."""
    a, columns, vector = system("scipy.linalg.solve_triangular", a, b)
    a, is_turned = _read(a, trans)
    found = ops.solve_triangular(a, columns, lower=bool(lower), transpose=is_turned, unit=bool(unit_diagonal))
    return found[..., 0] if vector else found


@mirrors
def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.cholesky: of the named triangle of a positive definite matrix; the upper factor by default."""
    return pn.linalg.cholesky(square("cholesky", a), upper=not lower)


@mirrors
def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """scipy.linalg.cho_factor: the factor and which triangle it is; the other one is 0."""
    return cholesky(a, lower), lower


@mirrors
def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.cho_solve: with what `cho_factor` gave."""
    factor, lower = c_and_lower
    factor, columns, vector = system("scipy.linalg.cho_solve", factor, b)
    found = by_cholesky(factor if lower else adjoint(factor), columns)
    return found[..., 0] if vector else found


@mirrors
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """scipy.linalg.lu_factor: the factors in one matrix, and the order of its rows (not LAPACK's exchanges)."""
    factors, order, _ = ops.lu(square("lu_factor", a))
    return factors, order


@mirrors
def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """scipy.linalg.lu_solve: with what `lu_factor` gave for a traced matrix."""
    factors, order = lu_and_piv
    if not any_traced([order]):
        raise TracingError(
            "primad.scipy.linalg.lu_solve of a traced right-hand side and plain factors",
            why="SciPy's factors come with exchanges of rows, those of traced matrices with their order.",
            fix="primad.scipy.linalg.solve(a, b); of a plain matrix it keeps the factorization within a program.",
        )
    factors, columns, vector = system("scipy.linalg.lu_solve", factors, b)
    order = pn.broadcast_to(order, columns.shape[:-1])
    factors, is_turned = _read(factors, trans)
    if is_turned:
        half = ops.solve_triangular(factors, columns, lower=False, transpose=True, unit=False)
        whole = ops.solve_triangular(factors, half, lower=True, transpose=True, unit=True)
        found = _rows(whole, pn.argsort(order, -1))
    else:
        half = ops.solve_triangular(factors, _rows(columns, order), lower=True, transpose=False, unit=True)
        found = ops.solve_triangular(factors, half, lower=False, transpose=False, unit=False)
    return found[..., 0] if vector else found


def _rows(x: Any, order: Any) -> Any:
    """Return the rows of matrices in an order."""
    return ops.gather(x, order, axis=x.ndim - 2, batch=x.ndim - 2)


@mirrors
def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> tuple[Any, ...]:
    """scipy.linalg.lu of square matrices: a = p l u."""
    factors, order, _ = ops.lu(square("lu", a))
    lower, upper, back = unit_lower(factors), upper_part(factors), pn.argsort(order, -1)
    if permute_l:
        return _rows(lower, back), upper
    if p_indices:
        return back, lower, upper
    here = order[..., None, :] == np.arange(factors.shape[-1])[:, None]
    return here.astype(real_dtype(factors.dtype)), lower, upper


# -- factorizations, values --------------------------------------------------------------------------------------------


@mirrors
def qr(
    a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """scipy.linalg.qr: in mode 'economic' or 'r', of tall matrices; 'full' of square ones. No pivoting."""
    (a,) = floats(a)
    if pivoting or mode not in ("economic", "full", "r") or (mode == "full" and a.shape[-1] != a.shape[-2]):
        raise ShapeError(
            f"scipy.linalg.qr of shape {a.shape} in mode {mode!r}{', with pivoting,' if pivoting else ''} has no "
            "derivative in primad",
            fix="use mode='economic' without pivoting.",
        )
    found = pn.linalg.qr(a)
    if mode != "r":
        return found.Q, found.R
    below = a.shape[-2] - a.shape[-1]
    return (pn.pad(found.R, [(0, 0)] * (a.ndim - 2) + [(0, below), (0, 0)]),)


@mirrors
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.inv."""
    return pn.linalg.inv(floats(a)[0])


@mirrors
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.det."""
    return pn.linalg.det(floats(a)[0])


@mirrors
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.norm: of all orders."""
    return pn.linalg.norm(floats(a)[0], ord, axis, keepdims)


@mirrors
def eig(
    a: Any, b: Any = None, left: bool = False, right: bool = True, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, homogeneous_eigvals: bool = False,
) -> Any:  # fmt: skip
    """scipy.linalg.eig of one general matrix, with its right vectors, as np.linalg.eig.

    Args:
        a: the matrix, real or complex.
        b: must be None; with an invertible b the same are those of solve(b, a).
        left: must be False.
        right: whether there are vectors.
        overwrite_a: says nothing.
        overwrite_b: says nothing.
        check_finite: says nothing.
        homogeneous_eigvals: must be False.

    Returns:
        the eigenvalues, and the vectors as columns, of length 1 and with a real largest element; complex numbers.
    """
    if b is not None or left or homogeneous_eigvals:
        raise TracingError(
            "scipy.linalg.eig of traced arrays with b, left=True or homogeneous_eigvals=True",
            fix="of two matrices it is that of np.linalg.solve(b, a); the left vectors are the rows of "
            "np.linalg.inv(vectors).",
        )
    (a,) = floats(a)
    return tuple(pn.linalg.eig(a)) if right else pn.linalg.eigvals(a)


@mirrors
def eigvals(
    a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False
) -> Any:
    """scipy.linalg.eigvals of one general matrix: complex numbers, in LAPACK's order."""
    return eig(a, b, right=False, homogeneous_eigvals=homogeneous_eigvals)


@mirrors
def eigh(a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False, **options: Any) -> Any:
    """scipy.linalg.eigh of one Hermitian matrix, or of two: a v = λ b v, where b is positive definite.

    Args:
        a: the matrix.
        b: the other one; None for the identity matrix.
        lower: which triangle of both counts.
        eigvals_only: whether there are no vectors.
        options: those that say something about memory and checks.

    Returns:
        all eigenvalues in ascending order, and the vectors as columns, for which vᴴ b v is the identity matrix.

    Example:
        >>> import numpy as np, primad, primad.scipy.linalg
        >>> mass = np.diag([1.0, 4.0])
        >>> primad.jacfwd(lambda k: primad.scipy.linalg.eigh(k * np.eye(2), mass, eigvals_only=True))(2.0)
        array([0.25, 1.  ])
    """
    unknown = set(options) - {"overwrite_a", "overwrite_b", "check_finite", "driver", "type"}
    if unknown or options.get("type", 1) != 1:
        raise TracingError(
            f"scipy.linalg.eigh with options {sorted(unknown) or ['type']} is not supported on traced arrays",
            fix="all eigenvalues come in ascending order: take those that are wanted, w[:2], v[:, :2]."
            if unknown
            else "types 2 and 3 have the values of eigh(a, inv(b)), whose vectors are theirs times b, or theirs.",
        )
    if b is None:
        (a,), triangle = floats(a), "L" if lower else "U"
        return pn.linalg.eigvalsh(a, triangle) if eigvals_only else tuple(pn.linalg.eigh(a, triangle))
    a, b = (hermitian(square("eigh", x), lower) for x in floats(a, b))
    factor = pn.linalg.cholesky(b)
    half = ops.solve_triangular(factor, a, lower=True, transpose=False, unit=False)
    whole = ops.solve_triangular(factor, adjoint(half), lower=True, transpose=False, unit=False)
    if eigvals_only:
        return pn.linalg.eigvalsh(whole)
    w, v = pn.linalg.eigh(whole)
    return w, ops.solve_triangular(conjugated(factor), v, lower=True, transpose=True, unit=False)


@mirrors
def eigvalsh(a: Any, b: Any = None, *, lower: bool = True, **options: Any) -> Any:
    """scipy.linalg.eigvalsh of one Hermitian matrix, or of two."""
    return eigh(a, b, lower=lower, eigvals_only=True, **options)


@mirrors
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    """scipy.linalg.svd: with the options of np.linalg.svd."""
    found = pn.linalg.svd(floats(a)[0], full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


@mirrors
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.svdvals."""
    return pn.linalg.svdvals(floats(a)[0])


@mirrors
def pinv(a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.pinv, with a relative cutoff."""
    if atol is not None or return_rank:
        raise TracingError(
            "scipy.linalg.pinv with atol= or return_rank= is not supported on traced arrays", fix="give rtol= alone."
        )
    (a,) = floats(a)
    cutoff = max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol is None else rtol
    return pn.linalg.pinv(a, rtol=cutoff)
