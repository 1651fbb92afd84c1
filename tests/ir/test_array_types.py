"""Types of arrays: sizes that no machine has are refused when they are named."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from primad import ArrayType, ops
from primad.errors import PrimadError
from primad.ir.array_types import array_type
from primad.ir.node import Trace
from primad.recording.tracing import type_of


@pytest.mark.parametrize(("shape", "fits"), [((2**42, 2**1), True), ((2**43 + 1,), False), ((2**31, 2**31), False)])
def test_an_array_holds_64_tebibytes_at_most(shape: tuple[int, ...], fits: bool) -> None:
    if fits:
        assert ArrayType(shape, float).nbytes == 2**46
    else:
        with pytest.raises(PrimadError, match="larger than any memory"):
            ArrayType(shape, float)


def test_types_are_inferred_of_what_is_asked_whatever_was_asked_before() -> None:
    trace = Trace()
    x, y = (trace.input(ArrayType((2, n), float)) for n in (3, 4))
    z = trace.input(ArrayType((2, 3), bool))
    asked = [(2, 0, x), (3, 0, x), (3, 1, x), (3, 1, y), (2, 1, y), (2, 1, z), (2, 0, z)]
    for operands, axis, operand in [*asked, *asked[::-1]]:
        found = Trace().build(ops.concatenate, (operand,) * operands, (("axis", axis),)).type
        assert found == ops.concatenate.infer(*[operand.type] * operands, axis=axis)
    for second, length in ((y, 7), (x, 6), (y, 7)):
        assert Trace().build(ops.concatenate, (x, second), (("axis", 1),)).type.shape == (2, length)


def test_sums_and_products_commute_with_values_of_other_traces() -> None:
    """What a trace made last has been used by nothing, but a node of another trace may have its number."""
    type = ArrayType((3,), float)
    outer = Trace()
    older = [outer.input(type) for _ in range(4)]
    for op, x, between in itertools.product((ops.add, ops.mul), older, range(4)):
        trace = Trace()
        y, *_ = [trace.input(type) for _ in range(between + 1)]
        assert trace.build(op, (y, x), ()) is trace.build(op, (x, y), ())
        z = trace.input(type)
        assert trace.build(op, (x, z), ()) is trace.build(op, (z, x), ())


def test_lengths_of_types_that_are_shared_are_pythons() -> None:
    array_type.cache_clear()
    shape = tuple(np.arange(2, 5))
    assert type_of(ArrayType(shape, np.dtype(float))).shape == shape
    assert [type(n) for n in array_type((2, 3, 4), np.dtype(float)).shape] == [int] * 3
