"""Linear algebra for JAX: factorizations, what is derived from their values, and cofactors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from primad.ops.linalg.cofactors import (
    along_by_inverse,
    along_by_svd,
    cofactors_by_inverse,
    cofactors_by_svd,
    each,
    inverted,
)
from primad.ops.linalg.equal_values import ROUNDING
from primad.xla.jax_matrices import eigh, expm, expm_frechet, placed, solve_sylvester, sqrtm, svd

Function = Callable[..., Any]


def _lu(a: Any) -> tuple[Any, Any, Any]:
    import jax.numpy as jnp
    from jax import lax

    factors, pivots, order = lax.linalg.lu(a)
    swaps = jnp.sum(pivots != jnp.arange(pivots.shape[-1]), axis=-1)
    return factors, order.astype(integer()), (1 - 2 * (swaps % 2)).astype(a.dtype)


def integer() -> Any:
    """Return the dtype of JAX's integers as it is set: of 64 bits, or of 32."""
    import jax.numpy as jnp

    return jnp.zeros((), int).dtype


def _solve_triangular(a: Any, b: Any, *, lower: bool, transpose: bool, unit: bool) -> Any:
    from jax import lax

    return lax.linalg.triangular_solve(a, b, left_side=True, lower=lower, transpose_a=transpose, unit_diagonal=unit)


def _slopes(s: Any, x: Any, *, singular: bool) -> Any:
    """Return the diagonal, or where values are equal the eigenvalues of their blocks, moved apart to keep the order."""
    import jax.numpy as jnp

    alike = near(x)
    starts = ~jnp.pad(jnp.diagonal(alike, 1, -2, -1), [(0, 0)] * (x.ndim - 1) + [(1, 0)])
    block = jnp.cumsum(starts, axis=-1)
    same = block[..., None, :] == block[..., :, None]
    inside = jnp.where(same, (s + jnp.conj(jnp.swapaxes(s, -1, -2))) / 2, 0)
    unknown = jnp.any(same & ~jnp.all(jnp.isfinite(inside), axis=-1)[..., None, :], axis=-1)
    inside = jnp.where(unknown[..., None, :], 0, inside)
    apart = 2 * jnp.max(jnp.sum(jnp.abs(inside), axis=-1), axis=-1, keepdims=True, initial=0)
    sign = -1 if singular else 1
    moved = sign * inside + (apart * block)[..., None, :] * jnp.eye(x.shape[-1], dtype=x.dtype)
    found = sign * (jnp.linalg.eigvalsh(moved) - apart * block) if x.shape[-1] else x
    several = jnp.any(jnp.sum(same, axis=-1) > 1, axis=-1, keepdims=True) & ~unknown
    return jnp.where(several, found, jnp.real(jnp.diagonal(s, axis1=-2, axis2=-1))).astype(x.dtype)


def cholesky(a: Any) -> Any:
    """Factorize matrices by their lower triangles; JAX's function under NumPy's name takes the mean of both."""
    from jax import lax

    return lax.linalg.cholesky(a, symmetrize_input=False)


def _where_finite(function: Function) -> Function:
    """Return a factorization whose results are NaN for matrices that are not finite, on which LAPACK may not end."""
    import jax.numpy as jnp

    def safe(a: Any) -> tuple[Any, ...]:
        finite = jnp.all(jnp.isfinite(a), axis=(-2, -1))
        results = function(jnp.where(each(finite), a, 0))
        alike = [finite.reshape(finite.shape + (1,) * (x.ndim - finite.ndim)) for x in results]
        return tuple(jnp.where(known, x, jnp.nan) for known, x in zip(alike, results, strict=True))

    return safe


def _where_regular(by_inverse: Function, by_svd: Function) -> Function:
    """Return a function of matrices that inverts those far from singular, and decomposes others that are finite."""
    import jax.numpy as jnp

    def function(a: Any, *others: Any) -> Any:
        regular, others_finite, inverse, found = inverted(jnp, a)
        decomposed = jnp.where(each(others_finite), a, jnp.eye(a.shape[-1], dtype=a.dtype))
        rest = jnp.where(each(others_finite), by_svd(jnp, decomposed, *others), jnp.nan)
        return jnp.where(each(regular), by_inverse(jnp, found, inverse, *others), rest)

    return function


def _spread(ct: Any, x: Any, *, singular: bool) -> Any:
    import jax.numpy as jnp

    return ct[..., None, :] * jnp.eye(x.shape[-1], dtype=x.dtype)


def _gaps(x: Any) -> Any:
    import jax.numpy as jnp

    one = jnp.eye(x.shape[-1], dtype=x.dtype)
    return (1 - one) / (x[..., None, :] - x[..., :, None] + one)


def rounding(x: Any) -> Any:
    """Return how far the eigenvalues or singular values x may be from those of the matrix."""
    import jax.numpy as jnp

    return ROUNDING * x.shape[-1] * jnp.finfo(x.dtype).eps * jnp.max(jnp.abs(x), axis=-1, keepdims=True, initial=0)


def near(x: Any) -> Any:
    """Return which pairs of eigenvalues, or singular values, count as equal."""
    import jax.numpy as jnp

    return jnp.abs(x[..., None, :] - x[..., :, None]) <= rounding(x)[..., None]


def linear_algebra() -> dict[str, Function]:
    """Return the function of each op of linear algebra."""
    import jax.numpy as jnp

    return {
        "lu": _lu,
        "qr": lambda a: tuple(jnp.linalg.qr(a)),
        "cholesky": cholesky,
        "solve_triangular": _solve_triangular,
        "eigh": lambda a, *, lower: _where_finite(partial(eigh, lower=lower))(a),
        "svd": _where_finite(svd),
        "eig": lambda a: placed(*_where_finite(lambda a: tuple(jnp.linalg.eig(a)))(a)),
        "left_vectors": lambda v, w, told: jnp.linalg.inv(v),
        "cofactors": _where_regular(cofactors_by_inverse, cofactors_by_svd),
        "cofactors_along": _where_regular(along_by_inverse, along_by_svd),
        "gaps": _gaps,
        "slopes": _slopes,
        "spread": _spread,
        "expm": expm,
        "expm_frechet": expm_frechet,
        "solve_sylvester": solve_sylvester,
        "sqrtm": sqrtm,
    }
