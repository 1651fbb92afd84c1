"""Of scipy.linalg: matrices of a form, given by few vectors, and systems with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pn
from primad import ops
from primad.errors import ShapeError
from primad.numpy.elementwise.complex_numbers import conjugated
from primad.numpy.linalg.linear_systems import system
from primad.ops.linalg.factorization import adjoint
from primad.scipy.mirrors import by_cholesky, floats, mirrors

__all__ = [
    "block_diag", "circulant", "hankel", "solve_banded", "solve_circulant", "solve_toeplitz", "solveh_banded",
    "toeplitz",
]  # fmt: skip


@mirrors
def block_diag(*arrs: Any) -> Any:
    """scipy.linalg.block_diag: matrices along the diagonal, zeros elsewhere."""
    blocks = [pn.atleast_2d(x) for x in floats(*arrs)]
    if any(block.ndim > 2 for block in blocks):
        raise ShapeError(
            f"scipy.linalg.block_diag takes matrices, got shapes {[block.shape for block in blocks]}",
            fix="give a matrix for each block: of a stack, block_diag(*stack).",
        )
    width, before = sum(block.shape[1] for block in blocks), 0
    rows = []
    for block in blocks:
        rows.append(pn.pad(block, ((0, 0), (before, width - before - block.shape[1]))))
        before += block.shape[1]
    return pn.concatenate(rows)


@mirrors
def toeplitz(c: Any, r: Any = None) -> Any:
    """scipy.linalg.toeplitz: of a first column, and a first row whose first element is not read.

    Without a row it is the column's, conjugated.

    Axes before the last are a batch, as SciPy has it from 1.17 on.
    """
    alone = r is None
    c, r = (pn.atleast_1d(x) for x in floats(c, c if alone else r))
    r = conjugated(r) if alone else r
    try:
        lead = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    except ValueError:
        raise ShapeError(
            f"scipy.linalg.toeplitz: columns {c.shape} and rows {r.shape} do not fit",
            fix="give arrays whose axes before the last broadcast.",
        ) from None
    c, r = (pn.broadcast_to(x, (*lead, x.shape[-1])) for x in (c, r))
    places = np.arange(c.shape[-1])[:, None] - np.arange(r.shape[-1])[None, :]
    return pn.concatenate([pn.flip(r[..., 1:], -1), c], -1)[..., places + r.shape[-1] - 1]


@mirrors
def hankel(c: Any, r: Any = None) -> Any:
    """scipy.linalg.hankel: of a first column, and a last row whose first element is not read."""
    (c,) = floats(c)
    c, r = floats(c, np.zeros(c.shape, c.dtype) if r is None else r)
    c, r = _vector("hankel", c), _vector("hankel", r)
    return pn.concatenate([c, r[1:]])[np.arange(c.size)[:, None] + np.arange(r.size)[None, :]]


def _vector(name: str, x: Any) -> Any:
    """Return an array of one axis; raise for others, of which versions of SciPy make different things."""
    if x.ndim != 1:
        raise ShapeError(
            f"scipy.linalg.{name} of traced arrays takes vectors, got shape {x.shape}",
            fix="np.ravel makes one vector of it, primad.vmap maps a stack of them.",
        )
    return x


@mirrors
def circulant(c: Any) -> Any:
    """scipy.linalg.circulant: of a first column; axes before the last are a batch."""
    c = pn.atleast_1d(*floats(c))
    n = np.arange(c.shape[-1])
    return c[..., (n[:, None] - n[None, :]) % max(1, c.shape[-1])]


@mirrors
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """scipy.linalg.solve_toeplitz: by elimination in the whole matrix, in n³ steps for SciPy's n².

    Of a first column alone the matrix is Hermitian: its first row is the column's conjugate.
    """
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, pn.conj(c_or_cr))
    c, r, b = floats(c, r, b)
    return pn.linalg.solve(toeplitz(_vector("solve_toeplitz", c), _vector("solve_toeplitz", r)), b)


@mirrors
def solve_circulant(c: Any, b: Any) -> Any:
    """scipy.linalg.solve_circulant of one matrix: by elimination in the whole matrix."""
    c, b = floats(c, b)
    return pn.linalg.solve(circulant(_vector("solve_circulant", c)), b)


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
    return pn.linalg.solve(_banded(ab, below, above), b)


def _banded(ab: Any, below: int, above: int) -> Any:
    """Return the matrix with given bands: element (i, j) stands in row above + i − j of column j."""
    n = ab.shape[1]
    columns = np.arange(n)[None, :]
    rows = above + np.arange(n)[:, None] - columns
    inside = (rows >= 0) & (rows <= above + below)
    return pn.where(inside, ab[np.where(inside, rows, 0), np.broadcast_to(columns, (n, n))], 0.0)


@mirrors
def solveh_banded(
    ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """scipy.linalg.solveh_banded: by Cholesky's factorization of the whole matrix, of which `ab` has one half."""
    ab, b = floats(ab, b)
    if ab.ndim != 2:
        raise ShapeError(
            f"scipy.linalg.solveh_banded: bands of one matrix are the rows of `ab`, got shape {ab.shape}",
            fix="give a matrix with a row for each band.",
        )
    bands = ab.shape[0] - 1
    half = _banded(ab, bands if lower else 0, 0 if lower else bands)
    a, columns, vector = system("scipy.linalg.solveh_banded", half if lower else adjoint(half), b)
    found = by_cholesky(ops.cholesky(a), columns)
    return found[..., 0] if vector else found
