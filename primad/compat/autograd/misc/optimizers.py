"""The optimisers of `autograd.misc.optimizers`: functions of (parameters, step) give gradients; trees are arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.compat.autograd.misc.flatten import flatten

Gradient = Callable[[Any, int], Any]
Callback = Callable[[Any, int, Any], Any] | None


def _run(grad: Gradient, x0: Any, callback: Callback, steps: int, update: Callable[[Any, Any, int], Any]) -> Any:
    x, unflatten = flatten(x0)
    for step in range(steps):
        found = grad(unflatten(x), step)
        if callback is not None:
            callback(unflatten(x), step, found)
        x = update(x, flatten(found)[0], step)
    return unflatten(x)


def sgd(
    grad: Gradient, x0: Any, callback: Callback = None, num_iters: int = 200, step_size: float = 0.1, mass: float = 0.9
) -> Any:
    """Gradient descent with momentum."""
    velocity: Any = 0.0

    def update(x: Any, g: Any, step: int) -> Any:
        nonlocal velocity
        velocity = mass * velocity - (1.0 - mass) * g
        return x + step_size * velocity

    return _run(grad, x0, callback, num_iters, update)


def rmsprop(
    grad: Gradient, x0: Any, callback: Callback = None, num_iters: int = 100, step_size: float = 0.1,
    gamma: float = 0.9, eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Steps divided by the root of a running mean of squares."""
    square: Any = 1.0

    def update(x: Any, g: Any, step: int) -> Any:
        nonlocal square
        square = gamma * square + (1.0 - gamma) * g**2
        return x - step_size * g / (np.sqrt(square) + eps)

    return _run(grad, x0, callback, num_iters, update)


def adam(
    grad: Gradient, x0: Any, callback: Callback = None, num_iters: int = 100, step_size: float = 0.001,
    b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Adam, with bias correction."""
    mean: Any = 0.0
    square: Any = 0.0

    def update(x: Any, g: Any, step: int) -> Any:
        nonlocal mean, square
        mean, square = (1.0 - b1) * g + b1 * mean, (1.0 - b2) * g**2 + b2 * square
        unbiased = mean / (1.0 - b1 ** (step + 1)), square / (1.0 - b2 ** (step + 1))
        return x - step_size * unbiased[0] / (np.sqrt(unbiased[1]) + eps)

    return _run(grad, x0, callback, num_iters, update)
