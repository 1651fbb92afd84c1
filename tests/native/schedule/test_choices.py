"""Choices of native code that change no result: along which axis vectors lie, and which functions of C's they call."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primad import ops
from primad.ir.array_types import ArrayType
from primad.native.emit import gather_loops
from primad.native.emit.axis_loops import widest
from primad.native.emit.elementwise_loop import _at_once
from primad.native.emit.pointwise import _written_out
from primad.native.llvm.vectors import LIBMVEC, OF_TWO, lanes_of, libmvec, symbol_of
from primad.native.module.outlined_text import text_of
from primad.native.schedule.register_blocks import _fits
from primad.recording.tracing import program_of
from primad.simplify import simplify
from primad.system.machine import DataCache

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


@pytest.mark.parametrize(("vectors", "at_once"), [(0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (5, 4)])
def test_so_many_vectors_at_once_as_a_row_has(vectors: int, at_once: int) -> None:
    lanes = lanes_of(np.dtype(float))
    assert _at_once(4, vectors * lanes, np.dtype(float)) == at_once
    assert _at_once(4, vectors * lanes + lanes - 1, np.dtype(float)) == at_once


CACHED = {
    "all that there is": (64, 4, 16, 64, True),
    "more than there is": (63, 4, 16, 64, False),
    "as many at one place as there are ways": (10**6, 2, 8, 128, True),
    "more at one place": (10**6, 3, 8, 128, False),
    "as many at two places": (10**6, 4, 8, 64, True),
    "more at two places": (10**6, 5, 8, 64, False),
}
"""Bytes for it, pieces, their bytes, how far apart they are, and whether two ways of 128 bytes keep them."""


@pytest.mark.parametrize("name", CACHED)
def test_what_stays_in_a_cache(name: str) -> None:
    total, count, size, distance, fits = CACHED[name]
    assert _fits(DataCache(256, 2, 64, 128), total, count, size, distance) == fits


OWN: dict[str, tuple[Callable[..., Any], list[str], bool]] = {
    "one type": (lambda x: np.sin(x) * 2.0, ["float64"], True),
    "two types": (lambda x, k: np.sin(x) * k, ["float64", "int32"], True),
    "two types, the wide one last": (lambda k, x: np.sin(x) * k, ["float32", "float64"], True),
    "wider within": (lambda x: np.sin(x.astype("float64")).astype("float32"), ["float32"], False),
    "no op of elements": (lambda x: np.sum(x[None]), ["float64"], False),
}
"""Definitions of a user's ops, the dtypes that they take, and whether they are written as they are recorded."""


@pytest.mark.parametrize("name", OWN)
def test_which_own_ops_are_written_out(name: str) -> None:
    function, dtypes, is_written = OWN[name]
    types = [ArrayType((), np.dtype(dtype)) for dtype in dtypes]
    assert (_written_out(program_of(types, lambda *xs: [function(*xs)])) is not None) == is_written


SCATTERED = {
    "numbers": ((3000,), 5, True),
    "short rows": ((3000, 2), 5, True),
    "long rows": ((3000, 100), 5, False),
    "no numbers": ((0,), 5, False),
    "into no rows": ((0, 2), 0, False),
    "rows of nothing": ((3000, 0), 5, False),
}
"""The shape of what is scattered, into how many rows, and whether one stays in a register: there has to be one."""


@pytest.mark.parametrize("name", SCATTERED)
def test_which_rows_stay_in_a_register(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shape, size, stays = SCATTERED[name]
    found: list[int] = []
    monkeypatch.setattr(gather_loops, "_add_runs", lambda site, n: found.append(n))
    types = [ArrayType(shape, np.dtype(float)), ArrayType(shape[:1], np.dtype(int))]
    text_of(program_of(types, lambda a, i: [ops.scatter_add(a, i, size=size, axis=0, batch=0)]))
    assert bool(found) == stays
