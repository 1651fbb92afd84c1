"""The function of each op for JAX: what it computes, and what it cannot compute on given values.

The table is total over the primitives that are shipped; a test reads it. JAX is imported when the table is first asked
for. Functions take JAX's arrays and the op's params, and return arrays of the dtypes that the op's record states.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np

from primad import ops
from primad.errors import TracingError
from primad.ops.linalg.cofactors import (
    along_by_inverse,
    along_by_svd,
    cofactors_by_inverse,
    cofactors_by_svd,
    each,
    inverted,
)
from primad.ops.linalg.eigen import ROUNDING
from primad.ops.record.primitive import Primitive
from primad.system.deferred import Deferred
from primad.xla.jax_matrices import expm, expm_frechet, has_several_solutions, solve_sylvester, sqrtm
from primad.xla.jax_philox import draw
from primad.xla.jax_windows import overlap_add, window_argmax, windows

Function = Callable[..., Any]
Shape = tuple[int, ...]


def jax_module() -> Any:
    """Import JAX.

    Raises:
        TracingError: if it is not installed, with the extra that installs it.
    """
    try:
        import jax
    except ImportError:
        raise TracingError(
            "running programs with JAX needs JAX, which is not installed", fix="pip install 'primad[jax]'."
        ) from None
    return jax


# -- functions that are more than a name -------------------------------------------------------------------------------


def _broadcast(x: Any, *, shape: Shape, axes: Shape) -> Any:
    from jax import lax

    return lax.broadcast_in_dim(x, shape, [axis for axis in range(len(shape)) if axis not in axes])


def _batched(function: Function, batch: int) -> Function:
    import jax

    for _ in range(batch):
        function = jax.vmap(function)
    return function


def _gather(x: Any, indices: Any, *, axis: int, batch: int) -> Any:
    """Take elements; of indices outside NaN, or the smallest integer, which a run of a program then reports."""
    import jax.numpy as jnp

    return _batched(lambda x, i: jnp.take(x, i, axis - batch, mode="fill"), batch)(
        x, _from_zero(indices, x.shape[axis])
    )


def _scatter_add(x: Any, indices: Any, *, axis: int, batch: int, size: int) -> Any:
    import jax.numpy as jnp

    def add(x: Any, i: Any) -> Any:
        at = axis - batch
        out = jnp.zeros((*x.shape[:at], size, *x.shape[at + i.ndim :]), x.dtype)
        return out.at[(*[slice(None)] * at, i)].add(x, mode="drop")

    return _batched(add, batch)(x, _from_zero(indices, size))


def _from_zero(indices: Any, n: int) -> Any:
    """Return indices that count from the start; those outside are n."""
    import jax.numpy as jnp

    counted = jnp.where(indices < 0, indices + n, indices)
    return jnp.where((counted < 0) | (counted >= n), n, counted)


def _slice(x: Any, *, start: Shape, stop: Shape, step: Shape) -> Any:
    return x[tuple([slice(a, b, s) for a, b, s in zip(start, stop, step, strict=True)])]


def _pad(x: Any, *, low: Shape, high: Shape, interior: Shape) -> Any:
    from jax import lax

    return lax.pad(x, np.zeros((), x.dtype), list(zip(low, high, interior, strict=True)))


def _cumsum(x: Any, *, axis: int, reverse: bool) -> Any:
    import jax.numpy as jnp
    from jax import lax

    return lax.cumsum(x, axis, reverse) if x.ndim else jnp.asarray(x)


def _sech2(x: Any) -> Any:
    import jax.numpy as jnp

    e = jnp.exp(-2 * (jnp.where(x.real < 0, -x, x) if jnp.iscomplexobj(x) else jnp.abs(x)))
    return 4 * e / ((1 + e) * (1 + e))


def _direction(x: Any, y: Any) -> Any:
    import jax.numpy as jnp

    far = jnp.isinf(x)
    x, y = jnp.where(far, jnp.copysign(1, x), x), jnp.where(far, jnp.where(jnp.isinf(y), 1, y * 0), y)
    length = jnp.hypot(x, y)
    return x / jnp.where(length == 0, 1, length)


def _lu(a: Any) -> tuple[Any, Any, Any]:
    import jax.numpy as jnp
    from jax import lax

    factors, pivots, order = lax.linalg.lu(a)
    swaps = jnp.sum(pivots != jnp.arange(pivots.shape[-1]), axis=-1)
    return factors, order.astype(_integer()), (1 - 2 * (swaps % 2)).astype(a.dtype)


def _integer() -> Any:
    """Return the dtype of JAX's integers as it is set: of 64 bits, or of 32."""
    import jax.numpy as jnp

    return jnp.zeros((), int).dtype


def _solve_triangular(a: Any, b: Any, *, lower: bool, transpose: bool, unit: bool) -> Any:
    from jax import lax

    return lax.linalg.triangular_solve(a, b, left_side=True, lower=lower, transpose_a=transpose, unit_diagonal=unit)


def _slopes(s: Any, x: Any, *, singular: bool) -> Any:
    """Return the diagonal, or where values are equal the eigenvalues of their blocks, moved apart to keep the order."""
    import jax.numpy as jnp

    alike = _near(x)
    starts = ~jnp.pad(jnp.diagonal(alike, 1, -2, -1), [(0, 0)] * (x.ndim - 1) + [(1, 0)])
    block = jnp.cumsum(starts, axis=-1)
    same = block[..., None, :] == block[..., :, None]
    inside = jnp.where(same, (s + jnp.swapaxes(s, -1, -2)) / 2, 0)
    unknown = jnp.any(same & ~jnp.all(jnp.isfinite(inside), axis=-1)[..., None, :], axis=-1)
    inside = jnp.where(unknown[..., None, :], 0, inside)
    apart = 2 * jnp.max(jnp.sum(jnp.abs(inside), axis=-1), axis=-1, keepdims=True, initial=0)
    sign = -1 if singular else 1
    moved = sign * inside + (apart * block)[..., None, :] * jnp.eye(x.shape[-1], dtype=x.dtype)
    found = sign * (jnp.linalg.eigvalsh(moved) - apart * block) if x.shape[-1] else x
    several = jnp.any(jnp.sum(same, axis=-1) > 1, axis=-1, keepdims=True) & ~unknown
    return jnp.where(several, found, jnp.diagonal(s, axis1=-2, axis2=-1)).astype(x.dtype)


def _cholesky(a: Any) -> Any:
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


def _rounding(x: Any) -> Any:
    import jax.numpy as jnp

    return ROUNDING * x.shape[-1] * jnp.finfo(x.dtype).eps * jnp.max(jnp.abs(x), axis=-1, keepdims=True, initial=0)


def _near(x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.abs(x[..., None, :] - x[..., :, None]) <= _rounding(x)[..., None]


def _bessel_i(x: Any, *, n: int) -> Any:
    """Compute Iₙ: orders above 1 by the power series, of positive terms, or for large x from those below.

    Source: DLMF 10.25.2 and 10.29.1. The recurrence multiplies errors by about (2n/x)ⁿ.
    """
    jax = jax_module()
    jnp, special = jax.numpy, jax.scipy.special
    if n < 2:
        return special.i1(x) if n else special.i0(x)
    near, small = jnp.abs(x) < 40, jnp.where(jnp.abs(x) < 40, x, 0)
    quarter = 0.25 * small * small
    total = jax.lax.fori_loop(0, 100, lambda k, sum: 1 + sum * quarter / ((100 - k) * (100 - k + n)), jnp.ones_like(x))
    series = total * (0.5 * small) ** n / math.factorial(n)
    far = jnp.where(near, 40, x)
    low, high = special.i0(far), special.i1(far)
    for order in range(1, n):
        low, high = high, low - (2 * order / far) * high
    return jnp.where(near, series, high)


# -- the table ---------------------------------------------------------------------------------------------------------


@cache
def functions() -> dict[str, Function]:
    """Return the function of each op, by its name: NumPy's own functions have the same names in JAX."""
    jax = jax_module()
    jnp, lax, special = jax.numpy, jax.lax, jax.scipy.special
    shipped = [op for op in ops.ALL if isinstance(op.numpy, (np.ufunc, Deferred))]
    by_name = {op.name: found for op in shipped if (found := _same(op.numpy.__name__)) is not None}
    return {
        **{op.name: _called_back(op) for op in ops.ALL if op.axes.pointwise},
        **by_name,
        "leg": lambda x: jnp.sqrt(1 - x) * jnp.sqrt(1 + x) if jnp.iscomplexobj(x) else jnp.sqrt((1 - x) * (1 + x)),
        "sech2": _sech2,
        "direction": _direction,
        "polygamma": lambda x, *, n: special.polygamma(n, x).astype(x.dtype) if n else special.digamma(x),
        "bessel_i": lambda x, *, n: _bessel_i(x, n=n) if n in range(40) else _called_back(ops.bessel_i)(x, n=n),
        "softplus": lambda x: jnp.logaddexp(x, jnp.zeros((), x.dtype)),
        "left_shift": lambda x, y: jnp.where(y < x.dtype.itemsize * 8, jnp.left_shift(x, y), 0),
        "right_shift": lambda x, y: jnp.right_shift(x, jnp.minimum(y, x.dtype.itemsize * 8 - 1)),
        "stop_gradient": lax.stop_gradient,
        "barrier": lax.optimization_barrier,
        "cast": lambda x, *, dtype: x.astype(dtype),
        "real_part": jnp.real,
        "imaginary_part": jnp.imag,
        "complex_of": lax.complex,
        "fft": lambda z, *, axes, inverse, norm: (jnp.fft.ifftn if inverse else jnp.fft.fftn)(z, axes=axes, norm=norm),
        "rfft": lambda x, *, axis, norm: jnp.fft.rfft(x, axis=axis, norm=norm),
        "irfft": lambda z, *, axis, n, norm: jnp.fft.irfft(z, n, axis=axis, norm=norm),
        "truncate": lambda x, *, dtype: x.astype(narrow(np.dtype(dtype))),
        "select": jnp.where,
        "mask": lambda condition, x: jnp.where(condition, x, jnp.zeros((), x.dtype)),
        "defined_where": lambda condition, x: jnp.where(condition, x, jnp.full((), jnp.nan, x.dtype)),
        "broadcast": _broadcast,
        "sum": lambda x, *, axes: jnp.sum(x, axes, dtype=x.dtype),
        "contract": lambda x, y, *, labels: jnp.einsum(labels, x, y, precision="highest"),
        "reshape": lambda x, *, shape: jnp.reshape(x, shape),
        "permute": lambda x, *, order: jnp.transpose(x, order),
        "flip": lambda x, *, axes: jnp.flip(x, axes),
        "concatenate": lambda *arrays, axis: jnp.concatenate(arrays, axis),
        "slice": _slice,
        "pad": _pad,
        "gather": _gather,
        "scatter_add": _scatter_add,
        "cumsum": _cumsum,
        "reduce_max": lambda x, *, axes: jnp.max(x, axes),
        "reduce_min": lambda x, *, axes: jnp.min(x, axes),
        "argsort": lambda x, *, axis: jnp.argsort(x, axis, stable=True).astype(_integer()),
        "eye": lambda *, n, dtype: jnp.eye(n, dtype=narrow(np.dtype(dtype))),
        "iota": lambda *, n, dtype: jnp.arange(n, dtype=narrow(np.dtype(dtype))),
        "windows": windows,
        "overlap_add": overlap_add,
        "window_argmax": window_argmax,
        "draw": draw,
        **_of_matrices(),
        "project": lambda results, *, index: results[index],
    }


def _of_matrices() -> dict[str, Function]:
    """Return the function of each op of linear algebra."""
    jnp = jax_module().numpy
    return {
        "lu": _lu,
        "qr": lambda a: tuple(jnp.linalg.qr(a)),
        "cholesky": _cholesky,
        "solve_triangular": _solve_triangular,
        "eigh": lambda a, *, lower: _where_finite(
            lambda a: jnp.linalg.eigh(a, "L" if lower else "U", symmetrize_input=False)
        )(a),
        "svd": _where_finite(lambda a: jnp.linalg.svd(a, full_matrices=False)),
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


def _same(name: str) -> Function | None:
    """Return the function that JAX has under the name of one of NumPy's or SciPy's; None if it has none."""
    jax = jax_module()
    found = getattr(jax.numpy, name, None) or getattr(jax.scipy.special, name, None)
    return cast(Function | None, found)


def _called_back(op: Primitive) -> Function:
    """Return what calls an op's own definition in the process of Python, where JAX has no function of its kind."""

    def function(*operands: Any, **params: Any) -> Any:
        def define(*arrays: Any) -> Any:
            return np.asarray(op.numpy(*map(np.asarray, arrays), **params), operands[-1].dtype)

        jax = jax_module()
        result = jax.ShapeDtypeStruct(operands[-1].shape, operands[-1].dtype)
        return jax.pure_callback(define, result, *operands, vmap_method="broadcast_all")

    return function


def narrow(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that JAX uses for an integer or boolean one: as it is, or of 32 bits if JAX is set so."""
    return (
        dtype if dtype.kind not in "iu" or dtype.itemsize < 8 or _integer() == np.int64 else np.dtype(f"{dtype.kind}4")
    )


# -- values for which an op is not defined -----------------------------------------------------------------------------


@cache
def failures() -> dict[str, Function]:
    """Return, for each op that is not defined for all values, a function that says whether some are among them."""
    import jax.numpy as jnp

    def outside(indices: Any, n: int) -> Any:
        return jnp.any((indices < -n) | (indices >= n))

    def singular(a: Any, b: Any, *, unit: bool, **params: Any) -> Any:
        return jnp.any(jnp.diagonal(a, axis1=-2, axis2=-1) == 0) if b.size and not unit else jnp.array(False)

    def zeros(x: Any, singular: bool) -> Any:
        return (jnp.abs(x) <= _rounding(x)) & singular

    def steep(s: Any, x: Any, *, singular: bool) -> Any:
        zero = zeros(x, singular)
        return jnp.any(zero[..., None, :] & zero[..., :, None] & (s != 0))

    def uneven(ct: Any, x: Any, *, singular: bool) -> Any:
        largest = jnp.max(jnp.abs(ct), axis=-1, keepdims=True, initial=0)
        allowed = jnp.sqrt(jnp.finfo(ct.dtype).eps) * largest
        apart = jnp.abs(ct[..., None, :] - ct[..., :, None]) > allowed[..., None]
        return jnp.any(_near(x) & apart) | jnp.any(zeros(x, singular) & (jnp.abs(ct) > allowed))

    def rootless(a: Any) -> Any:
        return jnp.any(jnp.all(jnp.isfinite(a), axis=(-2, -1)) & jnp.any(jnp.isnan(sqrtm(a)), axis=(-2, -1)))

    return {
        "solve_sylvester": has_several_solutions,
        "sqrtm": rootless,
        "gaps": lambda x: jnp.any(jnp.triu(_near(x), 1)),
        "slopes": steep,
        "spread": uneven,
        "gather": lambda x, indices, *, axis, **params: outside(indices, x.shape[axis]),
        "scatter_add": lambda x, indices, *, size, **params: outside(indices, size),
        "solve_triangular": singular,
        "cholesky": lambda a: jnp.any(jnp.isnan(_cholesky(a))),
        "power": lambda x, y: jnp.any(y < 0) if x.dtype.kind in "iu" else jnp.array(False),
    }
