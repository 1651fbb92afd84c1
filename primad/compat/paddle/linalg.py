"""Products of vectors and matrices beyond matmul (`paddle.linalg` and the top level)."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.compat.paddle.eager.operators import Prototype, apply, prototype
from primad.compat.paddle.functions.manipulation import lengths
from primad.compat.paddle.functions.math import binary, dot, matmul, mm, norm, subtract
from primad.compat.paddle.settings.errors import InvalidArgumentError


def bmm(x: Any, y: Any, name: Any = None) -> Any:
    """Return the matrix products of two batches of matrices.

    Raises:
        InvalidArgumentError: unless both have three axes.
    """
    if len(x.shape) != 3 or len(y.shape) != 3:
        raise InvalidArgumentError(f"bmm takes tensors with 3 axes, got shapes {list(x.shape)} and {list(y.shape)}")
    return matmul(x, y, name=name)


def mv(x: Any, vec: Any, name: Any = None) -> Any:
    """Return the product of a matrix and a vector."""
    return matmul(x, vec, name=name)


@prototype("einsum", inputs="Operands", outputs="Out", equation="")
def _einsum(operands: Any, *, equation: str) -> Any:
    return np.einsum(equation, *operands)


def einsum(equation: str, *operands: Any) -> Any:
    """Return the sum of products that an equation of index letters describes."""
    return apply(_einsum, list(operands), equation=equation)


outer = binary(
    Prototype("outer", lambda x, y: x.reshape(-1, 1) * y.reshape(1, -1), ("X", "Y")),
    "All products of an element of x and one of y, as a matrix.",
)
inner = binary(Prototype("inner", np.inner, ("X", "Y")), "The sums of products over the last axes.")
kron = binary(Prototype("kron", np.kron, ("X", "Y")), "The Kronecker product.")


@prototype("cross", inputs="X Y", axis=-1)
def _cross(x: Any, y: Any, *, axis: int) -> Any:
    return np.cross(x, y, axis=axis)


def cross(x: Any, y: Any, axis: int | None = None, name: Any = None) -> Any:
    """Return the cross product along an axis of length 3, by default the first such axis."""
    if axis is None:
        axis = next((i for i, n in enumerate(x.shape) if n == 3), None)
    if axis is None:
        raise InvalidArgumentError(f"cross: a tensor of shape {list(x.shape)} has no axis of length 3")
    return apply(_cross, x, y, axis=axis, name=name)


@prototype("trace", inputs="Input", offset=0, axis1=0, axis2=1)
def _trace(x: Any, *, offset: int, axis1: int, axis2: int) -> Any:
    return np.trace(x, offset, axis1, axis2)


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, name: Any = None) -> Any:
    """Return the sum of a diagonal of matrices."""
    return apply(_trace, x, offset=offset, axis1=axis1, axis2=axis2, name=name)


@prototype("tensordot", inputs="X Y", axes=2)
def _tensordot(x: Any, y: Any, *, axes: Any) -> Any:
    return np.tensordot(x, y, axes)


def tensordot(x: Any, y: Any, axes: Any = 2, name: Any = None) -> Any:
    """Return the sum of products over the last axes of x and the first of y, or over pairs of lists of axes."""
    pairs = axes if isinstance(axes, int) else tuple(lengths(part) for part in axes)
    return apply(_tensordot, x, y, axes=pairs, name=name)


def dist(x: Any, y: Any, p: float = 2, name: Any = None) -> Any:
    """Return the p-norm of x − y."""
    return norm(subtract(x, y), p, name=name)


__all__ = [
    "bmm", "cross", "dist", "dot", "einsum", "inner", "kron", "matmul", "mm", "mv", "norm", "outer", "tensordot",
    "trace",
]  # fmt: skip
