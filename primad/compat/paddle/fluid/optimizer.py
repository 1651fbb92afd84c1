"""`fluid.optimizer`: the optimisers with the names and arguments of Paddle 1.x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad.compat.paddle import optimizer


def _named(kind: Callable[..., Any], doc: str) -> Callable[..., Any]:
    def make(
        learning_rate: Any,
        *args: Any,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> Any:
        return kind(
            learning_rate, *args, parameters=parameter_list or [], weight_decay=regularization, grad_clip=grad_clip,
            **options,
        )  # fmt: skip

    make.__name__ = make.__qualname__ = kind.__name__
    make.__doc__ = doc
    return make


SGD = SGDOptimizer = _named(optimizer.SGD, "Gradient descent (see `paddle.optimizer.SGD`).")
Momentum = MomentumOptimizer = _named(
    optimizer.Momentum, "Gradient descent with momentum (see `paddle.optimizer.Momentum`)."
)
Adam = AdamOptimizer = _named(optimizer.Adam, "Adam (see `paddle.optimizer.Adam`).")

__all__ = ["SGD", "Adam", "AdamOptimizer", "Momentum", "MomentumOptimizer", "SGDOptimizer"]
