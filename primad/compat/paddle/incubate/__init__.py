"""`paddle.incubate`: derivatives of functions, in `autograd`."""

from typing import Any

from primad.compat.paddle.incubate import autograd
from primad.compat.paddle.settings import errors

__all__ = ["autograd"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported("paddle.incubate", name, __all__)
