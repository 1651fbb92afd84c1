"""Of scipy.linalg: systems with matrices of few diagonals, their factors and values, by way of the whole matrix."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from primad import numpy as pn
from primad import ops
from primad.errors import ShapeError
from primad.numpy.linalg.linear_systems import system
from primad.ops.linalg.factorization import adjoint
from primad.scipy.mirrors import by_cholesky, floats, hermitian, mirrors

__all__ = [
    "cho_solve_banded", "cholesky_banded", "eig_banded", "eigh_tridiagonal", "eigvals_banded", "eigvalsh_tridiagonal",
    "solve_banded", "solveh_banded",
]  # fmt: skip


def _from_bands(ab: Any, below: int, above: int) -> Any:
    """Return the matrix with given bands: element (i, j) stands in row above + i − j of column j."""
    n = ab.shape[1]
    columns = np.arange(n)[None, :]
    rows = above + np.arange(n)[:, None] - columns
    inside = (rows >= 0) & (rows <= above + below)
    return pn.where(inside, ab[np.where(inside, rows, 0), np.broadcast_to(columns, (n, n))], 0.0)


def _lower_half(name: str, ab: Any, lower: bool) -> Any:
    """Return the lower triangle of the Hermitian matrix of which one half's bands are given."""
    if ab.ndim != 2:
        raise ShapeError(
            f"scipy.linalg.{name}: bands of one matrix are the rows of an array, got shape {ab.shape}",
            fix="give a matrix with a row for each band.",
        )
    bands = ab.shape[0] - 1
    half = _from_bands(ab, bands if lower else 0, 0 if lower else bands)
    return half if lower else adjoint(half)


@mirrors
def solve_banded(
    l_and_u: tuple[int, int], ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """scipy.linalg.solve_banded: by elimination in the whole matrix, whose bands are the rows of `ab`."""
    ab, b = floats(ab, b)
    below, above = l_and_u
    if ab.ndim != 2 or below + above + 1 != ab.shape[0]:
        raise ShapeError(
            f"scipy.linalg.solve_banded: {below} and {above} bands, but shape {ab.shape}",
            fix=f"give {below + above + 1} rows, one for each band.",
        )
    return pn.linalg.solve(_from_bands(ab, below, above), b)


@mirrors
def solveh_banded(
    ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """scipy.linalg.solveh_banded: by Cholesky's factorization of the whole matrix, of which `ab` has one half."""
    ab, b = floats(ab, b)
    a, columns, vector = system("scipy.linalg.solveh_banded", _lower_half("solveh_banded", ab, lower), b)
    found = by_cholesky(ops.cholesky(a), columns)
    return found[..., 0] if vector else found


@mirrors
def cholesky_banded(ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.cholesky_banded: the bands of Cholesky's factor; what is no element stays."""
    (ab,) = floats(ab)
    factor = ops.cholesky(_lower_half("cholesky_banded", ab, lower))
    bands, n = ab.shape[0] - 1, ab.shape[1]
    rows, columns = np.arange(bands + 1)[:, None], np.broadcast_to(np.arange(n), (bands + 1, n))
    if lower:
        inside = columns + rows < n
        return pn.where(inside, factor[np.where(inside, columns + rows, 0), columns], ab)
    inside = columns >= bands - rows
    return pn.where(inside, adjoint(factor)[np.where(inside, columns - bands + rows, 0), columns], ab)


@mirrors
def cho_solve_banded(
    cb_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """scipy.linalg.cho_solve_banded: with what `cholesky_banded` gave."""
    bands, lower = cb_and_lower
    bands, b = floats(bands, b)
    factor, columns, vector = system("scipy.linalg.cho_solve_banded", _lower_half("cho_solve_banded", bands, lower), b)
    found = by_cholesky(factor, columns)
    return found[..., 0] if vector else found


# -- eigenvalues -------------------------------------------------------------------------------------------------------


def _eigen(name: str, half: Any, only_values: bool, select: Any, select_range: Any) -> Any:
    """Return eigenvalues, and vectors, of a Hermitian matrix: all of them, or a range of their numbers."""
    if select not in (0, 2, "a", "i", "all", "index") or (select_range is None and select in (2, "i", "index")):
        raise ShapeError(
            f"scipy.linalg.{name} of traced arrays with select={select!r}",
            why="How many eigenvalues lie in an interval depends on values.",
            fix='take all, or those of a range of numbers, select="i".',
        )
    chosen = slice(None)
    if select in (2, "i", "index"):
        first, last = (operator.index(i) for i in select_range)
        chosen = slice(first, last + 1)
    if only_values:
        return pn.linalg.eigvalsh(half)[chosen]
    w, v = pn.linalg.eigh(half)
    return w[chosen], v[:, chosen]


@mirrors
def eig_banded(
    a_band: Any, lower: bool = False, eigvals_only: bool = False, overwrite_a_band: bool = False, select: Any = "a",
    select_range: Any = None, max_ev: int = 0, check_finite: bool = True,
) -> Any:  # fmt: skip
    """scipy.linalg.eig_banded: eigenvalues in ascending order, and vectors, of a Hermitian matrix by its bands."""
    (a_band,) = floats(a_band)
    return _eigen("eig_banded", _lower_half("eig_banded", a_band, lower), eigvals_only, select, select_range)


@mirrors
def eigvals_banded(
    a_band: Any, lower: bool = False, overwrite_a_band: bool = False, select: Any = "a", select_range: Any = None,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """scipy.linalg.eigvals_banded: eigenvalues in ascending order of a Hermitian matrix by its bands."""
    (a_band,) = floats(a_band)
    return _eigen("eigvals_banded", _lower_half("eigvals_banded", a_band, lower), True, select, select_range)


@mirrors
def eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: Any = False, select: str = "a", select_range: Any = None, check_finite: bool = True,
    tol: float = 0.0, lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    """scipy.linalg.eigh_tridiagonal: of a real symmetric matrix by its diagonal and the one beside it.

    Args:
        d: the diagonal.
        e: the diagonal beside it.
        eigvals_only: whether there are no vectors.
        select: "a" for all eigenvalues, "i" for a range of their numbers.
        select_range: the first and the last number.
        check_finite: says nothing.
        tol: says nothing.
        lapack_driver: says nothing.

    Example:
        >>> import numpy as np, primad, primad.scipy.linalg as linalg
        >>> lowest = lambda e: linalg.eigh_tridiagonal(np.zeros(2), e * np.ones(1), eigvals_only=True)[0]
        >>> print(primad.grad(lowest)(3.0).round(6))
        -1.0
    """
    d, e = floats(d, e)
    if d.ndim != 1 or e.shape != (max(d.shape[0] - 1, 0),):
        raise ShapeError(
            f"scipy.linalg.eigh_tridiagonal: diagonals of shapes {d.shape} and {e.shape} do not fit",
            fix="give vectors, of which the second one is shorter by one.",
        )
    half = pn.diag(d) + pn.diag(e, -1) if e.shape[0] else pn.diag(d)
    return _eigen("eigh_tridiagonal", hermitian(half, lower=True), bool(eigvals_only), select, select_range)


@mirrors
def eigvalsh_tridiagonal(
    d: Any, e: Any, select: str = "a", select_range: Any = None, check_finite: bool = True, tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    """scipy.linalg.eigvalsh_tridiagonal: eigenvalues of a real symmetric matrix by its two diagonals."""
    return eigh_tridiagonal(d, e, True, select, select_range)
