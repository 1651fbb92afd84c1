"""Functions of `scipy.linalg` that record traced arrays; on plain arrays they are SciPy's own.

Of symmetric matrices the named triangle is read, and the derivatives are in its elements alone: the other's are 0.
What SciPy's options say about memory and checks (`overwrite_a`, `check_finite`, `lapack_driver`) is left to it where
arrays are plain, and says nothing where they are traced.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, cast

import numpy as np

from primad import numpy as pn
from primad import ops
from primad.errors import ShapeError, TracingError
from primad.numpy.promotion import any_traced, as_float, as_traced, convert, first_traced, traced_operands
from primad.ops.factorization import lower_part, transposed
from primad.trace import settled

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "circulant", "det", "eigh", "eigvalsh", "hankel", "inv", "lu",
    "lu_factor", "lu_solve", "norm", "pinv", "qr", "solve", "solve_banded", "solve_circulant", "solve_toeplitz",
    "solve_triangular", "solveh_banded", "sqrtm", "svd", "svdvals", "toeplitz",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])


def _mirrors(function: F) -> F:
    """Return a function that is SciPy's of the same name where nothing is traced."""

    @wraps(function)
    def mirror(*args: Any, **kwargs: Any) -> Any:
        args = settled(args)
        if any_traced([*args, *kwargs.values()]):
            return function(*args, **kwargs)
        return getattr(import_module("scipy.linalg"), function.__name__)(*args, **kwargs)

    return cast(F, mirror)


def _floats(*values: Any) -> list[Any]:
    """Return operands as traced floats of one dtype."""
    found = [as_float(x) for x in traced_operands(*values)]
    dtype = np.result_type(*[x.dtype for x in found])
    return [convert(x, dtype) for x in found]


def _turned(trans: Any) -> bool:
    """Return whether a system is that of the transposed matrix."""
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ShapeError(f"trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    return trans not in (0, "N")


def _mirrored(a: Any, lower: bool) -> Any:
    """Return the symmetric matrix of which one triangle is given."""
    half = lower_part(a, True) if lower else transposed(lower_part(transposed(a), True))
    return half + transposed(half) - ops.mask(np.broadcast_to(np.eye(a.shape[-1], dtype=bool), a.shape), half)


def _columns(solve: Callable[[Any], Any], b: Any) -> Any:
    """Solve for right-hand sides that are the columns of a matrix, or one vector."""
    return solve(b[:, None])[:, 0] if b.ndim == 1 else solve(b)


# -- systems -----------------------------------------------------------------------------------------------------------


@_mirrors
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
    a, b = _floats(a, b)
    kind = assume_a or "general"
    if kind in ("pos", "positive definite"):
        return _columns(lambda x: _by_cholesky(ops.cholesky(_mirrored(a, lower)), x), b)
    if kind in ("upper triangular", "lower triangular"):
        return solve_triangular(a, b, int(transposed), kind.startswith("lower"))
    if kind in ("sym", "her", "symmetric", "hermitian"):
        return pn.linalg.solve(_mirrored(a, lower), b)
    if kind not in ("gen", "general", "banded", "tridiagonal", "diagonal"):
        raise ShapeError(f"scipy.linalg.solve: assume_a={assume_a!r} is not known")
    return pn.linalg.solve(pn.swapaxes(a, -1, -2) if transposed else a, b)


@_mirrors
def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """scipy.linalg.solve_triangular: the other triangle is not read, and has no derivative."""
    a, b = _floats(a, b)
    options = {"lower": bool(lower), "transpose": _turned(trans), "unit": bool(unit_diagonal)}
    return _columns(lambda x: ops.solve_triangular(a, x, **options), b)


def _by_cholesky(factor: Any, b: Any) -> Any:
    half = ops.solve_triangular(factor, b, lower=True, transpose=False, unit=False)
    return ops.solve_triangular(factor, half, lower=True, transpose=True, unit=False)


@_mirrors
def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.cholesky: of the named triangle of a positive definite matrix; the upper factor by default."""
    (a,) = _floats(a)
    return pn.linalg.cholesky(_mirrored(a, lower), upper=not lower)


@_mirrors
def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """scipy.linalg.cho_factor: the factor and which triangle it is; the other one is 0."""
    return cholesky(a, lower), lower


@_mirrors
def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.cho_solve: with what `cho_factor` gave."""
    factor, lower = c_and_lower
    factor, b = _floats(factor, b)
    return _columns(lambda x: _by_cholesky(factor if lower else transposed(factor), x), b)


@_mirrors
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """scipy.linalg.lu_factor: the factors in one matrix, and the order of its rows (not LAPACK's exchanges)."""
    factors, order, _ = ops.lu(_square("lu_factor", a))
    return factors, order


@_mirrors
def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """scipy.linalg.lu_solve: with what `lu_factor` gave for a traced matrix."""
    factors, order = lu_and_piv
    factors, b = _floats(factors, b)
    if not any_traced([order]):
        raise TracingError(
            "primad.scipy.linalg.lu_solve of a traced right-hand side and plain factors",
            why="SciPy's factors come with exchanges of rows, those of traced matrices with their order.",
            fix="primad.scipy.linalg.solve(a, b); of a plain matrix it keeps the factorization within a program.",
        )

    def solved(x: Any) -> Any:
        if _turned(trans):
            half = ops.solve_triangular(factors, x, lower=False, transpose=True, unit=False)
            whole = ops.solve_triangular(factors, half, lower=True, transpose=True, unit=True)
            return pn.take(whole, pn.argsort(order), 0)
        half = ops.solve_triangular(factors, pn.take(x, order, 0), lower=True, transpose=False, unit=True)
        return ops.solve_triangular(factors, half, lower=False, transpose=False, unit=False)

    return _columns(solved, b)


@_mirrors
def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> tuple[Any, ...]:
    """scipy.linalg.lu of square matrices: a = p l u."""
    factors, order, _ = ops.lu(_square("lu", a))
    lower = lower_part(factors, False) + np.eye(factors.shape[-1], dtype=factors.dtype)
    upper = factors - lower_part(factors, False)
    back = pn.argsort(order)
    if permute_l:
        return pn.take(lower, back, 0), upper
    return (back if p_indices else pn.take(pn.eye(factors.shape[-1]), back, 0)), lower, upper


def _square(name: str, a: Any) -> Any:
    (a,) = _floats(a)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ShapeError(f"scipy.linalg.{name} of traced arrays takes one square matrix, got shape {a.shape}")
    return a


# -- factorizations, values --------------------------------------------------------------------------------------------


@_mirrors
def qr(
    a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """scipy.linalg.qr: in mode 'economic' or 'r', of tall matrices; 'full' of square ones. No pivoting."""
    (a,) = _floats(a)
    if pivoting or mode not in ("economic", "full", "r") or (mode == "full" and a.shape[-1] != a.shape[-2]):
        raise ShapeError(
            f"scipy.linalg.qr of shape {a.shape} in mode {mode!r}{', with pivoting,' if pivoting else ''} has no "
            "derivative in primad",
            fix="use mode='economic' without pivoting.",
        )
    found = pn.linalg.qr(a)
    return (found.R,) if mode == "r" else (found.Q, found.R)


@_mirrors
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.inv."""
    return pn.linalg.inv(_floats(a)[0])


@_mirrors
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.det."""
    return pn.linalg.det(_floats(a)[0])


@_mirrors
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.norm: of all orders."""
    return pn.linalg.norm(_floats(a)[0], ord, axis, keepdims)


@_mirrors
def eigh(a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False, **options: Any) -> Any:
    """scipy.linalg.eigh of one symmetric matrix: all eigenvalues, and vectors unless `eigvals_only`."""
    unknown = set(options) - {"overwrite_a", "overwrite_b", "check_finite", "driver"}
    if b is not None or unknown:
        said = "a generalized problem" if b is not None else f"options {sorted(unknown)}"
        raise TracingError(f"scipy.linalg.eigh with {said} is not supported on traced arrays")
    whole = _mirrored(_floats(a)[0], lower)
    return pn.linalg.eigvalsh(whole) if eigvals_only else tuple(pn.linalg.eigh(whole))


@_mirrors
def eigvalsh(a: Any, b: Any = None, *, lower: bool = True, **options: Any) -> Any:
    """scipy.linalg.eigvalsh of one symmetric matrix."""
    return eigh(a, b, lower=lower, eigvals_only=True, **options)


@_mirrors
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    """scipy.linalg.svd: with the options of np.linalg.svd."""
    found = pn.linalg.svd(_floats(a)[0], full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


@_mirrors
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.svdvals."""
    return pn.linalg.svdvals(_floats(a)[0])


@_mirrors
def pinv(a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.pinv, with a relative cutoff."""
    if atol is not None or return_rank:
        raise TracingError("scipy.linalg.pinv with atol= or return_rank= is not supported on traced arrays")
    (a,) = _floats(a)
    cutoff = max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol is None else rtol
    return pn.linalg.pinv(a, rtol=cutoff)


@_mirrors
def sqrtm(A: Any, disp: Any = True, blocksize: int = 64) -> Any:
    """scipy.linalg.sqrtm of symmetric matrices without negative eigenvalues: of their lower triangle."""
    values, vectors = pn.linalg.eigh(_mirrored(_floats(A)[0], True))
    return (vectors * pn.sqrt(values)[..., None, :]) @ pn.swapaxes(vectors, -1, -2)


# -- matrices of a form ------------------------------------------------------------------------------------------------


@_mirrors
def block_diag(*arrs: Any) -> Any:
    """scipy.linalg.block_diag: matrices along the diagonal, zeros elsewhere."""
    blocks = [pn.atleast_2d(x) for x in _floats(*arrs)]
    width, before = sum(block.shape[1] for block in blocks), 0
    rows = []
    for block in blocks:
        rows.append(pn.pad(block, ((0, 0), (before, width - before - block.shape[1]))))
        before += block.shape[1]
    return pn.concatenate(rows)


def _vector(x: Any) -> Any:
    return pn.ravel(x)


@_mirrors
def toeplitz(c: Any, r: Any = None) -> Any:
    """scipy.linalg.toeplitz: of a first column, and a first row whose first element is not read."""
    c, r = (_vector(x) for x in _floats(c, c if r is None else r))
    places = np.arange(c.size)[:, None] - np.arange(r.size)[None, :]
    return pn.concatenate([pn.flip(r[1:]), c])[places + r.size - 1]


@_mirrors
def hankel(c: Any, r: Any = None) -> Any:
    """scipy.linalg.hankel: of a first column, and a last row whose first element is not read."""
    c, r = (_vector(x) for x in _floats(c, np.zeros(np.shape(c)) if r is None else r))
    return pn.concatenate([c, r[1:]])[np.arange(c.size)[:, None] + np.arange(r.size)[None, :]]


@_mirrors
def circulant(c: Any) -> Any:
    """scipy.linalg.circulant: of a first column."""
    (c,) = map(_vector, _floats(c))
    return c[(np.arange(c.size)[:, None] - np.arange(c.size)[None, :]) % max(1, c.size)]


@_mirrors
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """scipy.linalg.solve_toeplitz: by elimination in the whole matrix, in n³ steps for SciPy's n²."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    like = first_traced([c_or_cr, b])
    return pn.linalg.solve(toeplitz(as_traced(np.asarray(c), like) if not any_traced([c]) else c, r), b)


@_mirrors
def solve_circulant(c: Any, b: Any) -> Any:
    """scipy.linalg.solve_circulant of one matrix: by elimination in the whole matrix."""
    return pn.linalg.solve(circulant(as_traced(c, first_traced([c, b]))), b)


@_mirrors
def solve_banded(
    l_and_u: tuple[int, int], ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """scipy.linalg.solve_banded: by elimination in the whole matrix, whose bands are the rows of `ab`."""
    ab, b = _floats(ab, b)
    below, above = l_and_u
    if below + above + 1 != ab.shape[0]:
        raise ShapeError(f"scipy.linalg.solve_banded: {below} and {above} bands, but shape {ab.shape}")
    return pn.linalg.solve(_banded(ab, below, above), b)


def _banded(ab: Any, below: int, above: int) -> Any:
    """Return the matrix with given bands: element (i, j) stands in row above + i − j of column j."""
    n = ab.shape[1]
    columns = np.arange(n)[None, :]
    rows = above + np.arange(n)[:, None] - columns
    inside = (rows >= 0) & (rows <= above + below)
    return pn.where(inside, ab[np.where(inside, rows, 0), np.broadcast_to(columns, (n, n))], 0.0)


@_mirrors
def solveh_banded(
    ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """scipy.linalg.solveh_banded: by Cholesky's factorization of the whole matrix, of which `ab` has one half."""
    ab, b = _floats(ab, b)
    bands = ab.shape[0] - 1
    half = _banded(ab, bands if lower else 0, 0 if lower else bands)
    return _columns(lambda x: _by_cholesky(ops.cholesky(_mirrored(half, lower)), x), b)
