"""What the ops of complex numbers are tried on, and cases of other ops over the complex numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ops.arrays.frequency_pairs import hermitian_ends, weigh_pairs
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


NORMS = ("backward", "ortho", "forward")


def _transform(choose: Choices) -> Example:
    common = choose.among(((3,), (4,), (2, 3), (3, 2)))
    axes = tuple([axis for axis in range(len(common)) if choose.integer(0, 1)]) or (len(common) - 1,)
    return Example(
        (complexes(common),), {"axes": axes, "inverse": choose.among((False, True)), "norm": choose.among(NORMS)}
    )


def _transform_of_real(choose: Choices) -> Example:
    common = choose.among(((4,), (5,), (2, 3), (4, 2), (1,)))
    return Example((floats(common),), {"axis": choose.integer(0, len(common) - 1), "norm": choose.among(NORMS)})


def _transform_to_real(choose: Choices) -> Example:
    n, axis = choose.among((1, 2, 3, 4, 5)), choose.integer(0, 1)
    common = (n // 2 + 1, 2) if axis == 0 else (2, n // 2 + 1)
    return Example((complexes(common),), {"axis": axis, "n": n, "norm": choose.among(NORMS)})


def _pairs(choose: Choices) -> Example:
    n, axis = choose.among((1, 2, 3, 4, 5)), choose.integer(0, 1)
    common = (n // 2 + 1, 2) if axis == 0 else (2, n // 2 + 1)
    return Example((complexes(common),), {"axis": axis, "n": n, "factor": choose.among((0.5, 2.0, 1.0))})


def _ends(choose: Choices) -> Example:
    n, axis = choose.among((1, 2, 3, 4, 5)), choose.integer(0, 1)
    common = (n // 2 + 1, 3) if axis == 0 else (3, n // 2 + 1)
    return Example((complexes(common),), {"axis": axis, "n": n, "axes": choose.among(((), (1 - axis,)))})


def _transform_of_type(choose: Choices) -> Example:
    common = choose.among(((3,), (4,), (2, 3), (3, 2)))
    axes = tuple([axis for axis in range(len(common)) if choose.integer(0, 1)]) or (len(common) - 1,)
    return Example((floats(common),), {"axes": axes, "type": choose.integer(1, 4)})


_DRAWN: dict[Primitive, Callable[[Choices], Example]] = {
    ops.real_part: _of_one,
    ops.imaginary_part: _of_one,
    ops.conj: _of_one,
    ops.complex_of: _of_two_parts,
    ops.fft: _transform,
    ops.rfft: _transform_of_real,
    ops.irfft: _transform_to_real,
    ops.dct: _transform_of_type,
    ops.dst: _transform_of_type,
}
COMPLEX_CASES = (
    *[Case(op, draw, 6, numeric=True) for op, draw in _DRAWN.items()],
    Case(weigh_pairs, _pairs, 6, numeric=True, internal=True),
    Case(hermitian_ends, _ends, 6, numeric=True, internal=True),
)


def over_complex(case: Case) -> Case:
    """Return a case in which the float operands of another are complex, at numbers of high precision."""

    def draw(choose: Choices) -> Example:
        example = case.draw(choose)
        operands = tuple([complex_one(operand) for operand in example.operands])
        params = {
            name: _WIDE.get(value, value) if isinstance(value, str) else value for name, value in example.params.items()
        }
        return replace(example, operands=operands, params=params)

    return replace(case, draw=draw, examples=2, numeric=True)


def complex_one(operand: Operand) -> Operand:
    """Return the complex operand of the precision of a float one; others as they are."""
    dtype = _WIDE.get(str(operand.type.dtype))
    return operand if dtype is None else replace(operand, type=ArrayType(operand.type.shape, dtype))
