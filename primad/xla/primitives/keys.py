"""JAX's random keys: pairs of words, from which threefry makes bits.

Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011:
Threefry-2x32 of 20 rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_GROUPS = 5


def _threefry(key0: Any, key1: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Encrypt pairs of words with a key of two words."""
    keys = (key0, key1, key0 ^ key1 ^ _PARITY)
    x, y = x + keys[0], y + keys[1]
    for group in range(_GROUPS):
        for count in _ROTATIONS[group % 2]:
            x = x + y
            y = x ^ ((y << np.uint32(count)) | (y >> np.uint32(32 - count)))
        x, y = x + keys[(group + 1) % 3], y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


KEYS: dict[str, Callable[..., Any]] = {"threefry2x32": lambda *words, **_: _threefry(*words)}
"""name -> function of the operands."""
