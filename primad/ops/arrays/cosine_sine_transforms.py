"""Discrete cosine and sine transforms along axes, by SciPy, as orthogonal matrices: transposes are inverses.

Of SciPy's scales and of the first and last elements, which it weighs otherwise unless it is told to be orthogonal,
`primad.scipy.fft` makes products with plain numbers before and after.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.axes import along, moved_axes
from primad.ir.node import Node
from primad.ir.program import Cost
from primad.ops.record.fields import Work
from primad.ops.record.kinds import custom
from primad.ops.record.primitive import Primitive

__all__ = ["dct", "dst"]

INVERSE = MappingProxyType({1: 1, 2: 3, 3: 2, 4: 4})
"""The type of the transform that undoes one."""


def _cost(node: Node) -> Cost:
    """Count as many flops as a transform of real numbers takes, 2.5 n log₂ n."""
    count = math.prod([node.type.shape[axis] for axis in dict(node.params)["axes"]])
    return Cost(int(2.5 * node.type.size * math.log2(max(2, count))), 0, node.type.nbytes, 1)


def _infer(name: str) -> Callable[..., ArrayType]:
    def infer(x: ArrayType, *, axes: tuple[int, ...], type: int) -> ArrayType:
        if x.dtype.char not in "fdFD":
            raise ShapeError(f"{name} needs floats of 32 or 64 bits, got {x}", fix="cast to float64.")
        if any(not 0 <= axis < x.ndim for axis in axes) or len({*axes}) != len(axes) or type not in INVERSE:
            raise ShapeError(
                f"{name}: axes {axes} and type {type} do not fit the shape {x.shape}",
                fix="name axes of the operand, each once, and a type of 1 to 4.",
            )
        least = 2 if name == "dct" and type == 1 else 1
        if any(x.shape[axis] < least for axis in axes):
            raise ShapeError(
                f"{name} of type {type}: less than {least} numbers along an axis of the shape {x.shape}",
                fix="take another type, or pad the array.",
            )
        return x

    return infer


def _transform(name: str, what: str) -> Primitive:
    def numpy(x: Any, *, axes: tuple[int, ...], type: int) -> Any:
        from scipy import fft as scipy_fft  # importing it takes longer than primad itself does

        found = getattr(scipy_fft, f"{name}n")(x, type, axes=axes, norm="ortho", orthogonalize=True)
        return found.astype(x.dtype, copy=False)

    record: Primitive = custom(
        name,
        numpy=numpy,
        infer=_infer(name),
        jvp=[lambda t, out, x, **params: record(t, **params)],
        operands=(0,),
        complex="analytic",
        transpose=[lambda ct, x, *, axes, type: record(ct, axes=axes, type=INVERSE[type])],
        axes=lambda x, *, axes, type: along(x.ndim, axes),
        adapt=moved_axes,
        work=Work(flops=_cost),
        doc=f"The orthogonal discrete {what} transform of type 1, 2, 3 or 4 along axes.",
    )
    return record


dct = _transform("dct", "cosine")
dst = _transform("dst", "sine")
