"""Calls of Python from XLA's programs, in full precision on every thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Shape = tuple[int, ...]


def call_back(function: Callable[..., Any], shape: Shape, dtype: np.dtype[Any], *operands: Any) -> Any:
    """Return what a function of NumPy's arrays gives, as an array of JAX's.

    XLA may call on a thread of its own, where JAX is not in the mode of 64 bits, and rounds what it passes on. Numbers
    of 64 bits therefore travel as pairs of integers.

    Args:
        function: of as many arrays.
        shape: of the result, without axes that `jax.vmap` puts in front.
        dtype: of the result.
        operands: arrays of JAX's.
    """
    import jax

    kinds = [np.dtype(x.dtype) for x in operands]

    def called(*parts: Any) -> Any:
        arrays = [_joined(np.asarray(x), kind) for x, kind in zip(parts, kinds, strict=True)]
        return _parts(np.asarray(function(*arrays), dtype))

    result = jax.ShapeDtypeStruct(*_layout(shape, dtype))
    return _read(jax.pure_callback(called, result, *map(_written, operands), vmap_method="broadcast_all"), dtype)


def _layout(shape: Shape, dtype: np.dtype[Any]) -> tuple[Shape, np.dtype[Any]]:
    """Return shape and dtype of what carries an array: axes for the parts of a number come last."""
    carrier, wide = dtype, dtype.itemsize
    if dtype.kind == "c":
        wide //= 2
        shape, carrier = (*shape, 2), np.dtype(f"f{wide}")
    return ((*shape, 2), np.dtype(np.uint32)) if wide == 8 else (shape, carrier)


def _parts(array: Any) -> Any:
    shape, carrier = _layout(array.shape, array.dtype)
    return np.ascontiguousarray(array).reshape(-1).view(carrier).reshape(shape)


def _joined(parts: Any, dtype: np.dtype[Any]) -> Any:
    axes = len(_layout((), dtype)[0])
    return np.ascontiguousarray(parts).reshape(-1).view(dtype).reshape(parts.shape[: parts.ndim - axes])


def _written(x: Any) -> Any:
    import jax.numpy as jnp
    from jax import lax

    carrier = _layout((), np.dtype(x.dtype))[1]
    real = jnp.stack([x.real, x.imag], -1) if jnp.iscomplexobj(x) else x
    return real if real.dtype == carrier else lax.bitcast_convert_type(real, carrier)


def _read(parts: Any, dtype: np.dtype[Any]) -> Any:
    from jax import lax

    real = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
    found = parts if parts.dtype == real else lax.bitcast_convert_type(parts, real)
    return lax.complex(found[..., 0], found[..., 1]) if dtype.kind == "c" else found
