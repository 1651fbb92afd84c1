"""The generator behind random operators and functions, which `mx.random.seed` starts anew."""

from __future__ import annotations

import numpy as np

from primad.compat.mxnet.context import Context

_generators: list[np.random.Generator] = [np.random.default_rng()]


def generator() -> np.random.Generator:
    """Return the generator that random functions draw from."""
    return _generators[-1]


def seed(seed_state: int, ctx: str | Context = "all") -> None:
    """Start the random numbers anew, so that the same program draws the same numbers.

    They are not MXNet's numbers.

    Example:
        >>> import primad.compat.mxnet as mx
        >>> mx.random.seed(3)
        >>> first = mx.nd.random.uniform(shape=(2,)).asnumpy()
        >>> mx.random.seed(3)
        >>> bool((first == mx.nd.random.uniform(shape=(2,)).asnumpy()).all())
        True
    """
    _generators[-1] = np.random.default_rng(int(seed_state))


def draw_key() -> int:
    """Return a fresh key for an operator that draws random numbers."""
    return int(generator().integers(2**62))
