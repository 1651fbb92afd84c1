"""Where elements of an argument go in a value, by paths: nothing is left out, and little is added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram
from primad.programs.call import call
from primad.programs.sparsity.paths import AffinePath, AffinePlace, Paths, everywhere
from primad.programs.sparsity.reach import reach
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.transforms.lowering import apply_program_op, expand
from tests.programs.sparsity.test_sparsity import known_to_be, pattern

INDICES = np.array([3, 0, 7, 7, 22, 5])


def followed(function: Callable[..., Any], size: int, *integers: Any, known: int = 1) -> tuple[Paths, tuple[int, ...]]:
    """Follow a function of a row of elements, and of integers, of which the first ones are known."""
    types = [ArrayType((size,), np.dtype(np.float64)), *[ArrayType(np.shape(x), np.dtype(np.int64)) for x in integers]]
    program = expand(program_of(types, lambda *args: [function(*args)]))
    constants = known_to_be(dict(zip(program.inputs[1:], integers[:known], strict=False)))
    start = frozenset([AffinePath((size,), (AffinePlace(0),))])
    return reach(program, {program.inputs[0]: start}, size, constants).outputs[0], program.out_types[0].shape


def said(function: Callable[..., Any], size: int, *integers: Any) -> Any:
    """Return which places of a value each element is said to reach."""
    paths, shape = followed(function, size, *integers)
    return pattern(paths, size, shape)


def moved(function: Callable[..., Any], size: int, *integers: Any) -> Any:
    """Return which places of a value change with each element."""
    x = np.random.default_rng(0).uniform(0.5, 1.5, size)
    before = np.asarray(function(x, *integers))
    return np.array([np.asarray(function(x + np.eye(size)[i] / 8, *integers)) != before for i in range(size)])


def table(n: int) -> Any:
    """Return weights of rows beside an axis of length n; their sums along rows keep slices where they are."""
    return np.arange(1.0, 1 + 3 * n).reshape(3, n) / 7


def pad(x: Any, *widths: Any) -> Any:
    low, high, interior = widths
    return ops.pad(x, low=low, high=high, interior=interior)


def windows(x: Any, size: int, step: int = 1, dilation: int = 1, low: int = 0) -> Any:
    """Return windows along the last axis."""
    count = (x.shape[-1] + low - (size - 1) * dilation - 1) // step + 1
    geometry = {"count": (count,), "size": (size,), "step": (step,), "dilation": (dilation,), "low": (low,)}
    return ops.windows(x, axes=(x.ndim - 1,), **geometry)


def rows(x: Any, i: Any) -> Any:
    """Return taken elements along the second axis of two, with sums along the first one."""
    return np.cumsum(table(6) * x[i], axis=0)


TOLD_APART: dict[str, Callable[..., Any]] = {
    "itself": lambda x, i: x,
    "taken": lambda x, i: x[i],
    "taken and padded": lambda x, i: pad(x[i], (2,), (1,), (1,)),
    "taken, padded along both axes": lambda x, i: pad(np.ones((3, 1)) * x[i], (1, 2), (0, 1), (0, 1))[1:],
    "taken and cut along both axes": lambda x, i: np.sin(rows(x, i))[1:, 1:5:2],
    "taken and turned": lambda x, i: np.flip(rows(x, i), (0, 1)),
    "taken and merged": lambda x, i: rows(x, i).reshape(18),
    "taken and merged, beside others": lambda x, i: (np.ones((2, 2, 1, 1)) * rows(x, i)).reshape(4, 18),
    "taken from taken": lambda x, i: x[i][i[:3] % 6],
    "added at indices": lambda x, i: ops.scatter_add(x[:6], i, axis=0, batch=0, size=24),
    "taken of what all reach": lambda x, i: (x * np.sum(x))[i],
    "taken, in windows that are added": lambda x, i: ops.overlap_add(
        x[i].reshape(6, 1) * np.arange(1.0, 3.0), axes=(0,), length=(19,), step=(3,), dilation=(2,), low=(0,)
    ),
    "rows of what is taken": lambda x, i: np.cumsum(table(24) * x, axis=0)[i % 3],
    "split, turned, split again": lambda x, i: np.sin(x.reshape(4, 6)[:, ::-1]).reshape(4, 2, 3),
    "split, cut, merged": lambda x, i: np.sin(x.reshape(4, 6)[:, :5]).ravel(),
    "shorter columns": lambda x, i: np.broadcast_to(np.sum(x.reshape(4, 6), 1)[:, None], (4, 5)).ravel(),
    "split": lambda x, i: x.reshape(4, 6),
    "split, cut": lambda x, i: x.reshape(4, 6)[1:, ::2],
    "turned, padded and split": lambda x, i: pad(x[::-1], (1,), (5,), (0,)).reshape(5, 6),
    "turned and split": lambda x, i: x[::-1].reshape(4, 6),
    "rows turned, merged": lambda x, i: x.reshape(4, 6)[::-1].ravel(),
    "both turned, merged": lambda x, i: x.reshape(4, 6)[::-1, ::-1].ravel(),
    "transposed and merged": lambda x, i: x.reshape(4, 6).T.ravel(),
    "transposed, repeated and merged": lambda x, i: np.broadcast_to(np.sin(x.reshape(4, 6)).T, (2, 6, 4)).reshape(48),
    "far apart, merged": lambda x, i: np.sin(pad(x.reshape(4, 6), (0, 0), (0, 0), (1, 1)))[:, :6].ravel(),
    "every second of both, merged": lambda x, i: pad(np.sin(x.reshape(4, 6)[::2, ::2]), (0, 0), (0, 3), (0, 0)).ravel(),
    "added at indices of three axes": lambda x, i: ops.scatter_add(
        np.ones((2, 2, 1, 3)) * x[:6, None], np.arange(36).reshape(2, 6, 3) % 20, axis=1, batch=0, size=20
    ),
    "a row of each column": lambda x, i: np.broadcast_to(np.sum(x.reshape(4, 6), 0), (3, 6)).ravel(),
    "sums split again": lambda x, i: np.sin(np.sum(x.reshape(4, 6), 0)).reshape(2, 3),
}  # fmt: skip
NOT_FOLLOWED: dict[str, Callable[..., Any]] = {
    "a column of each row": lambda x, i: np.broadcast_to(np.sum(x.reshape(4, 6), 1)[:, None], (4, 6)).ravel(),
    "the same, turned": lambda x, i: np.broadcast_to(np.sum(x.reshape(4, 6), 1)[::-1, None], (4, 6)).ravel(),
    "every second sum": lambda x, i: np.broadcast_to(np.sum(x.reshape(4, 6), 1)[::2, None], (2, 6)).ravel(),
    "padded, split": lambda x, i: pad(x, (1,), (3,), (0,)).reshape(4, 7),
    "every second, split": lambda x, i: x[::2].reshape(3, 4),
    "one is taken": lambda x, i: x[i[0]] * x,
    "taken in several columns": lambda x, i: x[np.stack([i, i[::-1], i], 1)],
    "taken and summed up": lambda x, i: np.cumsum(x[i]),
    "taken and split": lambda x, i: x[i].reshape(2, 3),
    "rows of a stack": lambda x, i: primad.scan(lambda c, a: (c, a[1:]), 0.0, x.reshape(2, 3, 4))[1],
    "taken, in windows": lambda x, i: windows(x[i], 2, step=2, dilation=3, low=1),
    "rows taken": lambda x, i: x.reshape(4, 6)[i % 4],
    "taken in batches": lambda x, i: ops.gather(np.ones((2, 1)) * x, i.reshape(2, 3), axis=1, batch=1),
}  # fmt: skip


@pytest.mark.parametrize("name", {**TOLD_APART, **NOT_FOLLOWED})
def test_no_place_that_an_element_reaches_is_left_out(name: str) -> None:
    function = {**TOLD_APART, **NOT_FOLLOWED}[name]
    found, true = said(function, 24, INDICES), moved(function, 24, INDICES)
    assert np.all(found >= true)
    assert np.all(found == true) == (name in TOLD_APART)


def columns(x: Any, count: int, different: bool = True) -> Any:
    return x[np.arange(8)[:, None] + np.arange(count) * different]


EVERYWHERE = 0
NUMBERS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "few repeats": (lambda x: np.broadcast_to(x[:, None], (3, 64)).ravel(), 3, 64),
    "many repeats": (lambda x: np.broadcast_to(x[:, None], (3, 65)).ravel(), 3, EVERYWHERE),
    "few summed rows": (lambda x: np.broadcast_to(np.sum(x.reshape(64, 3), 0), (2, 3)).ravel(), 192, 65),
    "many summed rows": (lambda x: np.broadcast_to(np.sum(x.reshape(65, 3), 0), (2, 3)).ravel(), 195, 2),
    "a window": (lambda x: windows(x, 600), 1300, 600),
    "a larger window": (lambda x: windows(x, 601), 1300, EVERYWHERE),
    "a window of rows": (lambda x: windows(x.reshape(3, 700), 600), 2100, 600),
    "a larger window of rows": (lambda x: windows(x.reshape(3, 700), 601), 2100, 1),
    "a window and more": (lambda x: windows(x, 600) + x[::-1][:620, None], 1219, EVERYWHERE),
    "few lists": (lambda x: columns(x, 48), 60, 48),
    "many lists": (lambda x: columns(x, 49, False), 60, EVERYWHERE),
    "few lists and more": (lambda x: np.sum(columns(x, 48), axis=1) + x[[7, 9, 1, 2, 3, 4, 5, 6]], 60, EVERYWHERE),
    "lists and more": (lambda x: np.sum(columns(x, 47), axis=1) + x[[7, 9, 1, 2, 3, 4, 5, 6]], 60, 48),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_so_many_places_are_told_apart(name: str) -> None:
    function, size, expected = NUMBERS[name]
    paths, _ = followed(function, size)
    assert len(paths) == max(1, expected)
    assert (paths == everywhere(size)) == (expected == EVERYWHERE)


def test_known_numbers_are_those_that_follow_from_known_ones() -> None:
    """Also by calls and from captured ones; not those that depend on others, or that are an error."""
    of = ClosedProgram(program_of([ArrayType((3,), np.dtype(np.int64))], lambda i: [2 * i + 1]))

    def called(i: Any) -> Any:
        return apply_program_op(call, of, [i]) if isinstance(i, TracedArray) else 2 * i + 1

    one, other = np.array([1, 4, 2]), np.array([2, 0, 3])
    functions = [lambda x, i, j: x[called(i) + other], lambda x, i, j: x[i + j], lambda x, i, j: x[i[i] + 1]]
    for function, some in zip(functions, (False, True, True), strict=True):
        found = said(function, 12, one, other)
        assert np.all(found) == some
        if not some:
            assert np.all(found == moved(function, 12, one, other))
