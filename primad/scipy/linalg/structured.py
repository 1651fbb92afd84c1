"""Of scipy.linalg: matrices of a form, given by few vectors, and systems with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pn
from primad.errors import ShapeError
from primad.numpy.elementwise.complex_numbers import conjugated
from primad.scipy.mirrors import floats, mirrors

__all__ = [
    "block_diag", "circulant", "companion", "convolution_matrix", "diagsvd", "fiedler", "hankel", "khatri_rao",
    "leslie", "matmul_toeplitz", "solve_circulant", "solve_toeplitz", "toeplitz",
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
    (c,) = floats(c, beside=[r])
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
def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """scipy.linalg.matmul_toeplitz: the product with the whole matrix, of one matrix."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, pn.conj(c_or_cr))
    c, r, x = floats(c, r, x)
    return toeplitz(_vector("matmul_toeplitz", c), _vector("matmul_toeplitz", r)) @ x


@mirrors
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """scipy.linalg.convolution_matrix: whose product with a vector of n elements is its convolution with `a`."""
    a = _vector("convolution_matrix", *floats(a))
    m = a.shape[0]
    if mode not in ("full", "same", "valid") or not m or n < 1:
        raise ShapeError(
            f"scipy.linalg.convolution_matrix: {m} elements, n={n} and mode={mode!r} do not fit",
            fix="give one element at least, n of 1 or more, and a mode of full, same or valid.",
        )
    zeros = np.zeros(n - 1, a.dtype)
    whole = toeplitz(pn.concatenate([a, zeros]), pn.concatenate([a[:1], zeros]))
    if mode == "full":
        return whole
    first = (min(m, n) - 1) // 2 if mode == "same" else min(m, n) - 1
    return whole[first : first + (max(m, n) if mode == "same" else max(m, n) - min(m, n) + 1)]


@mirrors
def companion(a: Any) -> Any:
    """scipy.linalg.companion: the matrix whose characteristic polynomial has these coefficients, the highest first."""
    a = _vector("companion", *floats(a))
    if a.shape[0] < 2:
        raise ShapeError(
            f"scipy.linalg.companion takes two coefficients at least, got shape {a.shape}", fix="give two or more."
        )
    n = a.shape[0] - 1
    return pn.concatenate([(-a[1:] / a[0])[None], np.eye(n - 1, n, dtype=a.dtype)])


@mirrors
def leslie(f: Any, s: Any) -> Any:
    """scipy.linalg.leslie: of how many descendants each age has, and which part of it grows older."""
    f, s = (_vector("leslie", x) for x in floats(f, s))
    n = f.shape[0]
    if n < 2 or s.shape[0] != n - 1:
        raise ShapeError(
            f"scipy.linalg.leslie: {n} ages have {n - 1} parts that grow older, got {s.shape[0]}",
            fix="give two ages at least, and a part for each but the last.",
        )
    return pn.concatenate([f[None], pn.pad(pn.diag(s), ((0, 0), (0, 1)))])


@mirrors
def fiedler(a: Any) -> Any:
    """scipy.linalg.fiedler: the distances |aᵢ − aⱼ|."""
    a = _vector("fiedler", *floats(a))
    return pn.abs(a[:, None] - a[None, :])


@mirrors
def khatri_rao(a: Any, b: Any) -> Any:
    """scipy.linalg.khatri_rao: Kronecker's products of the columns of two matrices."""
    a, b = floats(a, b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ShapeError(
            f"scipy.linalg.khatri_rao: shapes {a.shape} and {b.shape}", fix="give matrices with as many columns."
        )
    return pn.reshape(a[:, None, :] * b[None, :, :], (-1, a.shape[1]))


@mirrors
def diagsvd(s: Any, M: int, N: int) -> Any:
    """scipy.linalg.diagsvd: the matrix of a shape with these singular values along its diagonal."""
    s = _vector("diagsvd", *floats(s))
    if s.shape[0] not in (M, N) or s.shape[0] > min(M, N):
        raise ShapeError(
            f"scipy.linalg.diagsvd: {s.shape[0]} values for the shape ({M}, {N})",
            fix=f"give {min(M, N)} values.",
        )
    return pn.pad(pn.diag(s), ((0, M - s.shape[0]), (0, N - s.shape[0])))
