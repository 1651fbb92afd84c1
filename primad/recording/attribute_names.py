"""Names of attributes that a traced array is asked for and does not have: what stands for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.recording.protocols import FUNCTIONS, UFUNCS

_ELSEWHERE = (
    (
        "numpy detach cpu cuda to block_until_ready values to_numpy magnitude",
        "it is an array already: leave that out; primad.value(x) is the plain array, without a derivative.",
    ),
    ("grad backward requires_grad requires_grad_ zero_grad", "derivatives are functions: primad.grad(f)(x)."),
    (
        "append extend insert pop remove",
        "arrays have a fixed length: primad.numpy.append(x, value), or primad.numpy.array of a list.",
    ),
    ("at", "x = primad.numpy.set_at(x, i, value), or add_at."),
    (
        "sparse pattern coloring",
        "J = primad.jacobian(f)(x) has that, and primad.hessian(f)(x), but not what is computed of them.",
    ),
    ("iloc loc", "x[i] takes elements by their places."),
)
"""What to write for attributes that arrays of other systems have, and lists."""


def method_of_object(name: str) -> Any:
    """Return what NumPy's function of a name does with an element of an array of objects: it calls its method."""
    ufunc = getattr(np, name, None)
    return UFUNCS.get(ufunc) if isinstance(ufunc, np.ufunc) and any("O" in loop for loop in ufunc.types) else None


def instead_of(name: str) -> str:
    """Say what to write for an attribute of NumPy's or other arrays that traced arrays do not have; "" for others."""
    if not hasattr(np.ndarray, name):
        return next((way for names, way in _ELSEWHERE if name in names.split()), "")
    function = getattr(np, name, None)
    if function in FUNCTIONS or function in UFUNCS:
        return f"write np.{name}(x)."
    if name in ("fill", "put"):
        return "x = primad.numpy.copy(x) before: copies may be written to."
    return (
        f"primad.value(x).{name} is that of the plain array, without a derivative; dir(x) lists what traced ones have."
    )
