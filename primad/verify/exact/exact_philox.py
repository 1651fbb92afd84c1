"""What a draw means: the counter-based generator Philox4x64-10, in integers (Salmon, Moraes, Dror & Shaw 2011)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.ops.arrays.draws import MANTISSA

_MASK = 2**64 - 1
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def _block(counter: int, key: int) -> list[int]:
    """Return the four words of a counter: ten rounds of multiplying and mixing."""
    words, keys = [counter, 0, 0, 0], [key, 0]
    for _ in range(10):
        first, second = _MULTIPLIERS[0] * words[0], _MULTIPLIERS[1] * words[2]
        words = [
            (second >> 64) ^ words[1] ^ keys[0],
            second & _MASK,
            (first >> 64) ^ words[3] ^ keys[1],
            first & _MASK,
        ]
        keys = [(k + w) & _MASK for k, w in zip(keys, _WEYL, strict=True)]
    return words


def draw(numbers: Any, keys: Any, *, shape: tuple[int, ...], dtype: str) -> Any:
    """Return the random numbers of each key, from the counters 1, 2 and on.

    A float of 32 bits or fewer takes half a word, the low half first.
    """
    type = np.dtype(dtype)
    size = math.prod(shape)
    values: list[Any] = []
    for key in np.asarray(keys).ravel():
        words = [word for i in range(1, size // 4 + 2) for word in _block(i, int(key) % 2**64)]
        if type.itemsize < 8:
            words = [half for word in words for half in (word & (2**32 - 1), word >> 32)]
        if type.kind == "i":
            values += [word >> 1 for word in words[:size]]
            continue
        bits, width = MANTISSA[type.itemsize], 8 * max(type.itemsize, 4)
        one = numbers.number(2**bits)
        values += [numbers.divide(numbers.number(word >> (width - bits)), one) for word in words[:size]]
    out = np.empty(len(values), object if type.kind == "f" else type)
    out[:] = values
    return out.reshape((*np.shape(keys), *shape))
