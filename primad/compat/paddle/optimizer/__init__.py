"""paddle.optimizer: SGD, Momentum, Adam, AdamW, L-BFGS, and learning rates that change."""

from typing import Any

from primad.compat.paddle.optimizer import lr
from primad.compat.paddle.optimizer.first_order import SGD, Adam, AdamW, Momentum
from primad.compat.paddle.optimizer.lbfgs import LBFGS
from primad.compat.paddle.optimizer.optimizer import Optimizer
from primad.compat.paddle.settings import errors

__all__ = ["LBFGS", "SGD", "Adam", "AdamW", "Momentum", "Optimizer", "lr"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported("paddle.optimizer", name, __all__)
