"""Derivatives of functions of one argument, and what `autograd.core` has besides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad.compat.autograd.extend import (
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    primitive,
    vspace,
)
from primad.compat.autograd.importing import missing
from primad.compat.autograd.tape import JVPNode, VJPNode, backward_pass
from primad.compat.autograd.util import toposort
from primad.functional.derivatives.first_order import jvp, vjp

Function = Callable[..., Any]


def make_vjp(fun: Function, x: Any) -> tuple[Function, Any]:
    """Return the pullback of cotangents of a function at an argument, and its value."""
    found, pullback = vjp(fun, x)
    return lambda g: pullback(g)[0], found


def make_jvp(fun: Function, x: Any) -> Function:
    """Return the function of a tangent of the argument that gives the value and its tangent."""
    return lambda g: jvp(fun, (x,), (g,))


__all__ = [
    "JVPNode", "VJPNode", "VSpace", "backward_pass", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums",
    "defvjp", "defvjp_argnum", "defvjp_argnums", "make_jvp", "make_vjp", "primitive", "toposort", "vspace",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
