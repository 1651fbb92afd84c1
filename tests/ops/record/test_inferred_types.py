"""What an op's inference takes, its definition computes, and gives the type that was inferred; all else is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from primad.errors import PrimadError
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.axes import result_types
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import one_op
from tests.cases import CASES

UNASKED = {"cross_entropy", "eye", "iota"}
"""A loss whose labels are asked by the function that users call, and what has no operands."""
NAMES = [
    name
    for name, case in CASES.items()
    if case.op.kind not in ("program", "custom")
    and not case.op.holds_program
    and case.through is None
    and name not in UNASKED
]
BOOLEANS = {"neg", "sign", "square", "prod", "relu", "gelu"}
"""Ops that infer booleans of booleans, which their definition refuses or counts: NumPy's functions convert them."""
FEWER_AXES = {"sort", "cumprod", "diagonal", "trace"}
"""Ops that do not ask whether an operand has the axis that a param names: NumPy's functions do."""


def neighbours(type: ArrayType) -> Iterator[ArrayType]:
    """Yield types that differ from one in a length, in the number of axes, or in the dtype."""
    yield ArrayType((*type.shape, 2), type.dtype)
    if type.shape:
        yield ArrayType(type.shape[:-1], type.dtype)
        yield ArrayType((*type.shape[:-1], type.shape[-1] + 1), type.dtype)
        yield ArrayType((*type.shape[:-1], 0), type.dtype)
    for dtype in ("bool", "int64", "float32", "complex128"):
        if np.dtype(dtype) != type.dtype:
            yield ArrayType(type.shape, np.dtype(dtype))


def numbers(type: ArrayType, seed: int) -> Any:
    found = np.random.default_rng(seed).permutation(np.arange(1.0, 1 + type.size)).reshape(type.shape)
    return (found / (1 + type.size)).astype(type.dtype)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_what_is_inferred_of_other_operands_is_what_is_computed(name: str) -> None:
    case = CASES[name]
    program = one_op(case.op, case.draw(Seeded(0)))
    node = next(node for node in program.nodes if node.op is case.op)
    types, params = [operand.type for operand in node.inputs], dict(node.params)
    for i, type in enumerate(types):
        if isinstance(type, TupleType):
            continue
        for other in neighbours(type):
            given = [*types[:i], other, *types[i + 1 :]]
            if (name in BOOLEANS and other.dtype == bool) or (name in FEWER_AXES and other.ndim < type.ndim):
                continue
            try:
                inferred = result_types(case.op.infer(*given, **params))
            except PrimadError:
                continue
            try:
                found = case.op.numpy(*[numbers(x, k) for k, x in enumerate(given)], **params)
            except np.linalg.LinAlgError:
                continue
            results = [found] if len(inferred) == 1 and not isinstance(found, tuple) else found
            computed = [ArrayType(np.shape(x), np.asarray(x).dtype) for x in results]
            assert computed == list(inferred), given
