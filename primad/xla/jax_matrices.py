"""Functions of matrices for JAX: exponentials, square roots, Sylvester's equation."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.ops.linalg.cofactors import each
from primad.ops.linalg.eigen import real_elements, real_row, turns
from primad.ops.linalg.general_spectra import with_real_elements
from primad.ops.linalg.matrix_functions import along_by_blocks, is_root, logarithm, symmetric_root
from primad.xla.jax_callbacks import call_back

__all__ = [
    "eigh",
    "expm",
    "expm_frechet",
    "has_no_logarithm",
    "has_several_solutions",
    "placed",
    "solve_sylvester",
    "sqrtm",
    "svd",
]


def placed(w: Any, v: Any) -> tuple[Any, Any, Any]:
    """Return eigenvalues and vectors of general matrices with real elements, and where these are."""
    import jax.numpy as jnp

    return w, *(with_real_elements(jnp, v) if v.size else (v, jnp.zeros(w.shape, int)))


def eigh(a: Any, *, lower: bool) -> tuple[Any, Any]:
    """Return eigenvalues and vectors of Hermitian matrices, with the phases that the op has."""
    import jax.numpy as jnp

    w, v = jnp.linalg.eigh(a, "L" if lower else "U", symmetrize_input=False)
    if a.size and jnp.iscomplexobj(a):
        v = v * turns(jnp, v[..., real_row(a, lower), None, :])
    return w, v


def svd(a: Any) -> tuple[Any, Any, Any]:
    """Return reduced singular value decompositions, with the phases that the op has."""
    import jax.numpy as jnp

    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    if a.size and jnp.iscomplexobj(a):
        turn = turns(jnp, real_elements(u, vh))
        u, vh = u * turn[..., None, :], vh * jnp.conj(turn)[..., :, None]
    return u, s, vh


def expm(a: Any) -> Any:
    """Return exponentials by scaling and squaring.

    It is done here, since JAX's own scales to twice the norm for which its approximants are exact to rounding.
    """
    import jax.numpy as jnp
    from jax import lax
    from jax.scipy.linalg import expm as of_small

    norm = jnp.max(jnp.sum(jnp.abs(a), axis=-2), axis=-1, initial=0)
    count = each(jnp.clip(jnp.ceil(jnp.log2(norm / LARGEST_NORM)), 0, MAX_SQUARINGS))

    def squared(i: Any, x: Any) -> Any:
        left = i < count
        return lax.cond(jnp.any(left), lambda x: jnp.where(left, x @ x, x), lambda x: x, x)

    return lax.fori_loop(0, MAX_SQUARINGS, squared, of_small(a * jnp.exp2(-count), max_squarings=0))


LARGEST_NORM = 3.9
"""Of the matrices whose exponential JAX's approximants give to rounding, in either precision (N. J. Higham, Functions
of Matrices, 2008, table 10.2)."""
MAX_SQUARINGS = 64
"""More than any matrix has whose exponential is finite and not 0 in double precision, but for those far from normal."""


def expm_frechet(a: Any, e: Any) -> Any:
    """Return the derivatives of exponentials at a along e."""
    import jax.numpy as jnp

    return along_by_blocks(jnp, expm, a, e)


def sylvester_matrix(a: Any, b: Any) -> Any:
    """Return the matrix of a x + x b in the elements of x, in row-major order."""
    import jax.numpy as jnp

    m, n = a.shape[-1], b.shape[-1]
    of_rows, of_columns = jnp.eye(m, dtype=a.dtype), jnp.eye(n, dtype=a.dtype)
    whole = jnp.einsum("...ik,jl->...ijkl", a, of_columns) + jnp.einsum("ik,...lj->...ijkl", of_rows, b)
    return jnp.reshape(whole, (*a.shape[:-2], m * n, m * n))


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Return the x with a x + x b = q."""
    import jax.numpy as jnp

    if not q.size:
        return q
    found = jnp.linalg.solve(sylvester_matrix(a, b), jnp.reshape(q, (*q.shape[:-2], -1, 1)))
    return jnp.reshape(found, q.shape)


def has_several_solutions(a: Any, b: Any, q: Any) -> Any:
    """Say whether Sylvester's equation of one of the matrices has, to rounding, no single solution.

    Singular values say so, which are found only where the pivots of an elimination leave a doubt.
    """
    import jax.numpy as jnp
    from jax import lax

    if not q.size:
        return jnp.array(False)
    whole, eps = sylvester_matrix(a, b), jnp.finfo(a.dtype).eps

    def is_singular() -> Any:
        s = jnp.linalg.svd(whole, compute_uv=False)
        return jnp.any(s[..., -1] <= eps * s[..., 0])

    pivots = jnp.abs(jnp.diagonal(lax.linalg.lu(whole)[0], axis1=-2, axis2=-1))
    doubtful = jnp.any(jnp.min(pivots, axis=-1) <= jnp.sqrt(eps) * jnp.max(pivots, axis=-1))
    return lax.cond(doubtful, is_singular, lambda: jnp.array(False))


def sqrtm(a: Any) -> Any:
    """Return principal square roots, of real matrices real ones; NaN for matrices without one, or not finite."""
    import jax
    import jax.numpy as jnp

    if not a.size:
        return a
    finite, one = each(jnp.all(jnp.isfinite(a), axis=(-2, -1))), jnp.eye(a.shape[-1], dtype=a.dtype)
    by_schur = jnp.vectorize(jax.scipy.linalg.sqrtm, signature="(n,n)->(n,n)")(jnp.where(finite, a, one))
    if jnp.iscomplexobj(a):
        return jnp.where(finite & each(is_root(jnp, by_schur, a)), by_schur, jnp.nan)
    symmetric = jnp.all(a == jnp.swapaxes(a, -1, -2), axis=(-2, -1))
    by_eigh, real = symmetric_root(jnp, jnp.where(finite, a, one))
    exists = each(jnp.where(symmetric, real, is_root(jnp, by_schur, a)))
    found = jnp.where(each(symmetric), by_eigh, jnp.real(by_schur))
    return jnp.where(finite & exists, found, jnp.nan).astype(a.dtype)


def has_no_logarithm(a: Any, *changes: Any) -> Any:
    """Say whether a matrix has no principal logarithm, which Python is asked."""

    def found(a: Any) -> Any:
        each = [np.isfinite(x).all() and logarithm(x) is None for x in a.reshape(-1, *a.shape[-2:])]
        return np.reshape(each, a.shape[:-2])

    return call_back(found, a.shape[:-2], np.dtype(bool), a).any()
