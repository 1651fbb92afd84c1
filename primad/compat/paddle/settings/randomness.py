"""The random numbers of Paddle's API: one generator, which `paddle.seed` starts anew."""

from __future__ import annotations

import numpy as np

_generators: list[np.random.Generator] = [np.random.default_rng()]


def seed(seed: int) -> None:
    """Start the random numbers anew, so that the same program draws the same numbers.

    Args:
        seed: any integer ≥ 0.

    Example:
        >>> from primad.compat.paddle.settings import randomness
        >>> randomness.seed(3)
        >>> first = randomness.generator().random()
        >>> randomness.seed(3)
        >>> first == randomness.generator().random()
        True
    """
    _generators[-1] = np.random.default_rng(seed)


def generator() -> np.random.Generator:
    """Return the generator that random operators draw from."""
    return _generators[-1]
