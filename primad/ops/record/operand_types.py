"""What types of operands pointwise ops take, and the types of their results."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ops.record.fields import ComplexRole


def refuse_complex(name: str) -> ShapeError:
    """Return the error for complex operands of an op that has rules for real ones only."""
    return ShapeError(
        f"{name} does not take complex operands",
        why="Its rules hold for real numbers.",
        fix="apply it to x.real and x.imag, or to np.abs(x); an op of your own says complex='analytic' where its rules "
        "hold over the complex numbers too.",
    )


def same_real_type(name: str) -> Callable[..., ArrayType]:
    """Return what infers the type of a pointwise op of real operands, which must agree in shape and dtype."""

    def infer(*types: ArrayType, **params: Any) -> ArrayType:
        first = types[0]
        if first.is_complex:
            raise refuse_complex(name)
        for other in types[1:]:
            if other is not first and other != first:
                return same_type(*types)
        return first

    return infer


def same_type(*types: ArrayType, **params: Any) -> ArrayType:
    """Infer the type of a pointwise op: its operands must agree in shape and dtype."""
    first = types[0]
    for other in types[1:]:
        if other is not first and other != first:
            raise ShapeError(
                f"a pointwise primitive got operands of types {', '.join(map(str, types))}",
                why="Primitives neither broadcast nor promote.",
                fix="call the function of primad.numpy (or the operator), which inserts broadcast and cast.",
            )
    return first


def float_type(name: str, kinds: str) -> Callable[..., ArrayType]:
    """Return what infers the type of a pointwise op on floats, of the kinds of dtype that are listed."""

    def infer(*types: ArrayType, **params: Any) -> ArrayType:
        type = same_type(*types)
        if type.dtype.kind not in kinds:
            if type.is_complex:
                raise refuse_complex(name)
            raise ShapeError(f"{name} needs floating-point operands, got {type}", fix="convert with .astype(float).")
        return type

    return infer


def checked(name: str, infer: Callable[..., Any], role: ComplexRole) -> Callable[..., Any]:
    """Return what infers the type of an op's results, and refuses complex operands if the op does."""
    if role != "refused":
        return infer
    if infer is same_type:
        return same_real_type(name)

    @wraps(infer)
    def infer_real(*types: Any, **params: Any) -> Any:
        for type in types:
            if type.is_complex:
                raise refuse_complex(name)
        return infer(*types, **params)

    return infer_real
