"""Choices of native code that change no result: along which axis vectors lie, and which functions of C's they call."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primad.ir.array_types import ArrayType
from primad.native.emit.axis_loops import widest
from primad.native.llvm.vectors import LIBMVEC, OF_TWO, libmvec, symbol_of
from primad.native.module.outlined_text import text_of
from primad.recording.tracing import program_of
from primad.simplify import simplify

AXES = {
    "none": ([], None),
    "of a whole vector whose elements are neighbours": ([(9, 2, 1), (4, 1, 1)], 1),
    "neighbours in the operand alone": ([(9, 2, 1), (4, 1, 2)], 0),
    "neighbours that are too few": ([(9, 2, 1), (3, 1, 1)], 0),
    "the longer one of two whose elements are neighbours": ([(4, 1, 1), (8, 1, 1)], 1),
    "the longest where no elements are neighbours": ([(5, 3, 2), (7, 2, 3), (6, 2, 2)], 1),
}
"""(length, steps…) of each axis, and the place of the one for vectors of four."""


@pytest.mark.parametrize("name", AXES)
def test_vectors_lie_along_neighbours_or_the_longest_axis(name: str) -> None:
    axes, place = AXES[name]
    assert widest(axes, 4) == place


def test_functions_of_vectors_are_looked_up_for_every_width() -> None:
    found = libmvec()
    if not found:
        pytest.skip("the C library has no functions of vectors")
    kinds = itertools.product(LIBMVEC, ("double", "float"), (32, 64))
    wanted = {symbol_of(name, scalar, width) for name, scalar, width in kinds}
    assert found.keys() == wanted
    assert {"_ZGVdN4v_exp", "_ZGVdN8v_expf", "_ZGVeN8v_exp", "_ZGVeN16v_expf", "_ZGVdN4vv_pow"} <= wanted
    assert {*LIBMVEC} >= OF_TWO


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_results_of_arithmetic_take_no_memory_beside_their_own(order: tuple[int, ...]) -> None:
    """They are computed where they lie at the end, however their operands lie; what is between lies as operands do."""
    x = ArrayType((7, 8, 9), np.dtype(float))

    def bytes_of(function: Callable[..., list[Any]]) -> int:
        text = text_of(simplify(program_of([x], function)))
        assert text is not None
        return text.scratch

    assert bytes_of(lambda x: [np.tanh(np.transpose(x, order)) * 2.0]) == 0
    assert bytes_of(lambda x: [np.tanh(np.transpose(x, order)), np.sum(np.tanh(np.transpose(x, order)), axis=0)]) == 0
