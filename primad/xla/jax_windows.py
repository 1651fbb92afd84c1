"""Sliding windows for JAX: their places are known when a program is built, so that they are arrays of indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Shape = tuple[int, ...]


def _places(count: int, size: int, step: int, dilation: int, low: int) -> Any:
    """Return where each element of each window lies along its axis: an array (windows, elements)."""
    return np.arange(count)[:, None] * step + np.arange(size) * dilation - low


def windows(x: Any, *, axes: Shape, count: Shape, size: Shape, step: Shape, dilation: Shape, low: Shape) -> Any:
    """Return all windows, zero where they leave the array; new last axes are their elements."""
    import jax.numpy as jnp

    for axis, *geometry in zip(axes, count, size, step, dilation, low, strict=True):
        places = _places(*geometry)
        length = x.shape[axis]
        inside = (places >= 0) & (places < length)
        x = jnp.take(x, np.clip(places, 0, max(length - 1, 0)), axis)
        shape = [1] * x.ndim
        shape[axis : axis + 2] = places.shape
        x = jnp.where(inside.reshape(shape), x, jnp.zeros((), x.dtype))
        x = jnp.moveaxis(x, axis + 1, -1)
    return x


def overlap_add(y: Any, *, axes: Shape, length: Shape, step: Shape, dilation: Shape, low: Shape) -> Any:
    """Add windows up where they lie: the transpose of `windows`."""
    import jax

    shape = list(y.shape[: y.ndim - len(axes)])
    count, size = tuple([shape[axis] for axis in axes]), y.shape[y.ndim - len(axes) :]
    for axis, n in zip(axes, length, strict=True):
        shape[axis] = n

    def slide(x: Any) -> Any:
        return windows(x, axes=axes, count=count, size=size, step=step, dilation=dilation, low=low)

    return jax.linear_transpose(slide, jax.ShapeDtypeStruct(shape, y.dtype))(y)[0]


def window_argmax(x: Any, *, axes: Shape, count: Shape, size: Shape, step: Shape, dilation: Shape, low: Shape) -> Any:
    """Return the place of the first largest element of each window, or of its first NaN, counted along all axes."""
    import jax.numpy as jnp

    found = windows(x, axes=axes, count=count, size=size, step=step, dilation=dilation, low=low)
    inside: Any = np.array(True)
    places: Any = np.array(0)
    for i, (axis, *geometry) in enumerate(zip(axes, count, size, step, dilation, low, strict=True)):
        length = x.shape[axis]
        along = _places(*geometry)
        shape = [1] * found.ndim
        shape[axis], shape[x.ndim + i] = along.shape
        along = along.reshape(shape)
        inside = inside & (along >= 0) & (along < length)
        places = places + along * math.prod(x.shape[a] for a in axes[i + 1 :])
    last = (*found.shape[: x.ndim], -1)
    inside, places = (np.broadcast_to(a, found.shape).reshape(last) for a in (inside, places))
    found = jnp.where(inside, found.reshape(last), -jnp.inf)
    largest = jnp.max(found, -1, keepdims=True)
    wanted = inside & jnp.where(jnp.isnan(largest), jnp.isnan(found), found == largest)
    chosen = jnp.take_along_axis(jnp.asarray(places), jnp.argmax(wanted, -1)[..., None], -1)
    return chosen[..., 0]
