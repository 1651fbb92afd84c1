"""Draws for JAX: the same counter-based generator as NumPy's, in 64-bit words, so that equal keys give equal bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.errors import TracingError
from primad.ops.arrays.draws import MANTISSA

_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def _product(x: Any, y: int) -> tuple[Any, Any]:
    """Return the upper and the lower word of a product, by halves of words."""
    import jax.numpy as jnp

    half, mask = jnp.uint64(32), jnp.uint64(2**32 - 1)
    above, below = jnp.uint64(y >> 32), jnp.uint64(y & (2**32 - 1))
    x_above, x_below = x >> half, x & mask
    low = x_below * below
    middle = x_above * below + (low >> half)
    other = x_below * above + (middle & mask)
    return x_above * above + (middle >> half) + (other >> half), x * jnp.uint64(y)


def _blocks(key: Any, count: int) -> Any:
    """Return the words of the counters 1, 2 and on, four for each."""
    import jax.numpy as jnp

    zero = jnp.zeros(count, np.uint64)
    words = [jnp.arange(1, count + 1, dtype=np.uint64), zero, zero, zero]
    keys = [key.astype(np.uint64), jnp.uint64(0)]
    for _ in range(10):
        (first, first_low), (second, second_low) = (
            _product(words[0], _MULTIPLIERS[0]),
            _product(words[2], _MULTIPLIERS[1]),
        )
        words = [second ^ words[1] ^ keys[0], second_low, first ^ words[3] ^ keys[1], first_low]
        keys = [k + jnp.uint64(w) for k, w in zip(keys, _WEYL, strict=True)]
    return jnp.stack(words, -1).reshape(-1)


def draw(key: Any, *, shape: tuple[int, ...], dtype: str) -> Any:
    """Return the random numbers of each key.

    Raises:
        TracingError: if JAX is set to 32 bits: the generator's words have 64.
    """
    import jax
    import jax.numpy as jnp

    if not jax.config.jax_enable_x64:
        raise TracingError(
            "draw: random numbers need 64-bit integers, and JAX is set to 32 bits",
            fix='call jax.config.update("jax_enable_x64", True) at the start, or draw outside and pass the numbers.',
        )
    type, size = np.dtype(dtype), math.prod(shape)

    def stream(one: Any) -> Any:
        words = _blocks(one, size // 4 + 1)
        if type.itemsize < 8:
            halves = jnp.stack([words & jnp.uint64(2**32 - 1), words >> jnp.uint64(32)], -1)
            words = halves.reshape(-1).astype(np.uint32)
        words = words[:size]
        if type.kind == "i":
            return (words >> words.dtype.type(1)).astype(type).reshape(shape)
        width = MANTISSA[type.itemsize]
        bits = (words >> words.dtype.type(8 * words.dtype.itemsize - width)).astype(type)
        return (bits * type.type(2.0**-width)).reshape(shape)

    return jax.vmap(stream)(key.reshape(-1)).reshape((*key.shape, *shape)) if key.ndim else stream(key)
