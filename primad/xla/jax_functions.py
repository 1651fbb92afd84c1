"""The function of each op for JAX: what it computes, and what it cannot compute on given values.

The table is total over the primitives that are shipped; a test reads it. JAX is imported when the table is first asked
for. Functions take JAX's arrays and the op's params, and return arrays of the dtypes that the op's record states.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from primad import ops
from primad.errors import TracingError
from primad.ops.linalg.general_spectra import too_near
from primad.ops.record.primitive import Primitive
from primad.system.deferred import Deferred
from primad.xla.jax_callbacks import call_back
from primad.xla.jax_linalg import cholesky, integer, linear_algebra, near, rounding
from primad.xla.jax_matrices import has_no_logarithm, has_several_solutions, sqrtm
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


def _leg(x: Any) -> Any:
    import jax.numpy as jnp
    from jax import lax

    if not jnp.iscomplexobj(x):
        return jnp.sqrt((1 - x) * (1 + x))
    root = _on_its_side(jnp.sqrt, *_SIDES["sqrt"])
    return root(lax.complex(1 - x.real, -x.imag)) * root(lax.complex(1 + x.real, x.imag))


def _direction(x: Any, y: Any) -> Any:
    import jax.numpy as jnp

    far = jnp.isinf(x)
    x, y = jnp.where(far, jnp.copysign(1, x), x), jnp.where(far, jnp.where(jnp.isinf(y), 1, y * 0), y)
    length = jnp.hypot(x, y)
    return x / jnp.where(length == 0, 1, length)


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
    special_ones = [op for op in shipped if isinstance(op.numpy, Deferred) and op.name in by_name]
    by_name |= {op.name: _of_real_numbers(op, by_name[op.name]) for op in special_ones if op.complex == "analytic"}
    return {
        **{op.name: _called_back(op) for op in ops.ALL if op.axes.pointwise},
        **by_name,
        **{name: _on_its_side(by_name[name], *signs) for name, signs in _SIDES.items()},
        "leg": _leg,
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
        "argsort": lambda x, *, axis: jnp.argsort(x, axis, stable=True).astype(integer()),
        "eye": lambda *, n, dtype: jnp.eye(n, dtype=narrow(np.dtype(dtype))),
        "iota": lambda *, n, dtype: jnp.arange(n, dtype=narrow(np.dtype(dtype))),
        **{op.name: _by_matrices(op) for op in (ops.dct, ops.dst)},
        **{op.name: _called_back(op) for op in (ops.logm, ops.logm_frechet)},
        "windows": windows,
        "overlap_add": overlap_add,
        "window_argmax": window_argmax,
        "draw": draw,
        **linear_algebra(),
        "project": lambda results, *, index: results[index],
    }


_SIDES = MappingProxyType({
    "sqrt": (0, 1), "arcsin": (1, 1), "arccos": (0, -1), "arctan": (1, 1), "arcsinh": (1, 1), "arccosh": (0, 1),
    "arctanh": (1, 1),
})  # fmt: skip
"""Functions with branch cuts on an axis: whether the parts of the value have the signs of the parts of the number (1),
or the others (-1). XLA loses the side of the cut that the sign of a zero says."""


def _on_its_side(function: Function, real: int, imaginary: int) -> Function:
    """Return a function whose complex values are on the side of a branch cut where NumPy has them."""
    import jax.numpy as jnp
    from jax import lax

    def sided(x: Any) -> Any:
        found = function(x)
        if not jnp.iscomplexobj(x):
            return found
        parts = [jnp.copysign(part, sign * of) if sign else part for part, sign, of in (
            (found.real, real, x.real), (found.imag, imaginary, x.imag)
        )]  # fmt: skip
        return lax.complex(*parts)

    return sided


def _by_matrices(op: Primitive) -> Function:
    """Return what multiplies along axes by matrices, which the op makes of identities."""
    import jax.numpy as jnp

    def function(x: Any, *, axes: Shape, **params: Any) -> Any:
        for axis in axes:
            matrix = op.numpy(np.eye(x.shape[axis], dtype=x.dtype), axes=(0,), **params)
            x = jnp.moveaxis(jnp.tensordot(matrix, x, ((1,), (axis,)), precision="highest"), 0, axis)
        return x

    return function


def _same(name: str) -> Function | None:
    """Return the function that JAX has under the name of one of NumPy's or SciPy's; None if it has none."""
    jax = jax_module()
    found = getattr(jax.numpy, name, None) or getattr(jax.scipy.special, name, None)
    return cast(Function | None, found)


def _of_real_numbers(op: Primitive, function: Function) -> Function:
    """Return JAX's function, and an op's own definition for complex numbers, which JAX's does not take."""
    import jax.numpy as jnp

    called_back = _called_back(op)
    return lambda x: called_back(x) if jnp.iscomplexobj(x) else function(x)


def _called_back(op: Primitive) -> Function:
    """Return what calls an op's own definition in the process of Python, where JAX has no function of its kind."""

    def function(*operands: Any, **params: Any) -> Any:
        last = operands[-1]
        return call_back(lambda *arrays: op.numpy(*arrays, **params), last.shape, np.dtype(last.dtype), *operands)

    return function


def narrow(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that JAX uses for an integer or boolean one: as it is, or of 32 bits if JAX is set so."""
    return (
        dtype if dtype.kind not in "iu" or dtype.itemsize < 8 or integer() == np.int64 else np.dtype(f"{dtype.kind}4")
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
        return (jnp.abs(x) <= rounding(x)) & singular

    def steep(s: Any, x: Any, *, singular: bool) -> Any:
        zero = zeros(x, singular)
        return jnp.any(zero[..., None, :] & zero[..., :, None] & (s != 0))

    def uneven(ct: Any, x: Any, *, singular: bool) -> Any:
        largest = jnp.max(jnp.abs(ct), axis=-1, keepdims=True, initial=0)
        allowed = jnp.sqrt(jnp.finfo(ct.dtype).eps) * largest
        apart = jnp.abs(ct[..., None, :] - ct[..., :, None]) > allowed[..., None]
        return jnp.any(near(x) & apart) | jnp.any(zeros(x, singular) & (jnp.abs(ct) > allowed))

    def rootless(a: Any) -> Any:
        return jnp.any(jnp.all(jnp.isfinite(a), axis=(-2, -1)) & jnp.any(jnp.isnan(sqrtm(a)), axis=(-2, -1)))

    return {
        "solve_sylvester": has_several_solutions,
        "sqrtm": rootless,
        **dict.fromkeys(("logm", "logm_frechet"), has_no_logarithm),
        "gaps": lambda x: jnp.any(jnp.triu(near(x), 1)),
        "left_vectors": lambda v, w, told: jnp.any(too_near(jnp, v, w, told, jnp.linalg.inv(v))),
        "slopes": steep,
        "spread": uneven,
        "gather": lambda x, indices, *, axis, **params: outside(indices, x.shape[axis]),
        "scatter_add": lambda x, indices, *, size, **params: outside(indices, size),
        "solve_triangular": singular,
        "cholesky": lambda a: jnp.any(jnp.isnan(cholesky(a))),
        "power": lambda x, y: jnp.any(y < 0) if x.dtype.kind in "iu" else jnp.array(False),
    }
