"""`paddle.incubate.autograd`: derivatives of functions, forward mode, and programs of primitives.

Everything works in eager and in static mode, with and without `enable_prim`, at every order.
"""

from typing import Any

from primad.compat.paddle.incubate.autograd.matrices import Hessian, Jacobian
from primad.compat.paddle.incubate.autograd.primitives import (
    disable_prim,
    enable_prim,
    forward_grad,
    grad,
    orig2prim,
    prim2orig,
    prim_enabled,
)
from primad.compat.paddle.incubate.autograd.products import jvp, vjp
from primad.compat.paddle.settings import errors

__all__ = [
    "Hessian", "Jacobian", "disable_prim", "enable_prim", "forward_grad", "grad", "jvp", "orig2prim", "prim2orig",
    "prim_enabled", "vjp",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise errors.unsupported("paddle.incubate.autograd", name, __all__)
