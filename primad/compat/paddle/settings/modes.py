"""Eager and static mode: whether operations compute at once or describe a program."""

from __future__ import annotations

from primad.compat.paddle.eager.operators import Value
from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.static.variable import Variable

Value.kind[:] = [Tensor]


def enable_static() -> None:
    """Let operations describe a program, which an `Executor` runs later."""
    Value.kind[-1] = Variable


def disable_static(place: object = None) -> None:
    """Let operations compute at once, which is how a Python process starts."""
    Value.kind[-1] = Tensor


def in_dynamic_mode() -> bool:
    """Say whether operations compute at once."""
    return Value.kind[-1] is Tensor
