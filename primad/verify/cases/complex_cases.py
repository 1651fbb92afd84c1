"""What the ops of complex numbers are tried on, and cases of other ops over the complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ops.record.primitive import Primitive
from primad.verify.cases.drawn_cases import ANY, Case, Choices, Example, Operand, floats

SHAPES = ((2, 3), (3, 2), (3,), (2, 2))
_WIDE = {"float32": "complex64", "float64": "complex128"}


def complexes(shape: tuple[int, ...], low: float = ANY[0], high: float = ANY[1]) -> Operand:
    """Return a complex operand; the bounds are those of both parts."""
    return Operand(ArrayType(shape, np.complex128), low, high)


def _of_one(choose: Choices) -> Example:
    return Example((complexes(choose.among(SHAPES)),))


def _of_two_parts(choose: Choices) -> Example:
    common = choose.among(SHAPES)
    return Example((floats(common), floats(common)))


_DRAWN: dict[Primitive, Callable[[Choices], Example]] = {
    ops.real_part: _of_one,
    ops.imaginary_part: _of_one,
    ops.conj: _of_one,
    ops.complex_of: _of_two_parts,
}
COMPLEX_CASES = tuple([Case(op, draw, numeric=True) for op, draw in _DRAWN.items()])


def over_complex(case: Case) -> Case:
    """Return a case in which the float operands of another are complex, at numbers of high precision."""

    def draw(choose: Choices) -> Example:
        example = case.draw(choose)
        operands = tuple([_wide(operand) for operand in example.operands])
        params = {
            name: _WIDE.get(value, value) if isinstance(value, str) else value for name, value in example.params.items()
        }
        return replace(example, operands=operands, params=params)

    return replace(case, draw=draw, examples=2, numeric=True)


def _wide(operand: Operand) -> Operand:
    dtype = _WIDE.get(str(operand.type.dtype))
    return operand if dtype is None else replace(operand, type=ArrayType(operand.type.shape, dtype))
