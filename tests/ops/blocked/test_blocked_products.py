"""Products of large arrays: which parts BLAS reads in place, and what is done in pieces, in which array."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from primad.ops.blocked import blocked_products, deep_products
from primad.ops.blocked.blocked_products import multiply
from primad.ops.blocked.matrix_views import MatrixOperand

RNG = np.random.default_rng(0)


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[float], None]]:
    """Return a function that sets how much work is shared, and lets blocks compute the smallest products."""
    caches = (blocked_products._form, blocked_products._is_worthwhile)

    def share(flops: float) -> None:
        monkeypatch.setattr(blocked_products, "SHARED_FLOPS", flops)
        for cache in caches:
            cache.cache_clear()

    monkeypatch.setattr(blocked_products, "THREAD_WORK", 0)
    share(0)
    yield share
    for cache in caches:
        cache.cache_clear()


LAYOUTS: dict[str, tuple[Any, bool]] = {
    "rows": (np.zeros((3, 4)), True),
    "columns": (np.zeros((4, 3)).T, True),
    "rows with gaps between": (np.zeros((3, 9))[:, :4], True),
    "columns with gaps between": (np.zeros((4, 9)).T[:3], True),
    "gaps in both": (np.zeros((6, 8))[::2, ::2], False),
    "one row many times": (np.broadcast_to(np.zeros(4), (3, 4)), False),
    "one column many times": (np.broadcast_to(np.zeros(3), (4, 3)).T, False),
    "rows that overlap": (as_strided(np.zeros(9), (3, 4), (8, 8)), False),
    "columns that overlap": (as_strided(np.zeros(9), (3, 4), (8, 16)), False),
    "rows backwards": (np.zeros((3, 4))[::-1], False),
    "between other things": (np.zeros((3, 4), [("x", float), ("y", np.int32)])["x"], False),
    "rows between other things": (np.zeros(3, [("x", float, 4), ("y", np.int32)])["x"], False),
    "columns between other things": (np.zeros(4, [("x", float, 3), ("y", np.int32)])["x"].T, False),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_matrices_that_blas_reads_where_they_lie(name: str) -> None:
    matrix, readable = LAYOUTS[name]
    view = MatrixOperand(matrix, "ab", "a", "b").view({})
    assert (view is not None) == readable
    assert view is None or np.shares_memory(view, matrix)


def test_products_of_an_array_with_itself(in_blocks: Any) -> None:
    """Those that are symmetric, and others: with axes in other places, or with more of them."""
    choose = random.Random(0)
    for _ in range(300):
        ndim = choose.randint(2, 4)
        x = RNG.normal(size=(3,) * ndim) * choose.choice((1.0, 0.6 + 0.8j))
        in_x = "abcd"[:ndim]
        in_y = "".join(choose.sample([choose.choice((c, c.upper())) for c in in_x], ndim))
        if choose.random() < 0.5:
            in_y = "".join(choose.choice((c, c.upper())) for c in in_x)
        shared = [c for c in in_x if c in in_y]
        summed = [c for c in shared if choose.random() < 0.7]
        out = "".join(choose.sample(kept := sorted({*in_x, *in_y} - {*summed}), len(kept)))
        found = multiply(x, x, in_x, in_y, out)
        if found is not None:
            np.testing.assert_allclose(found, np.einsum(f"{in_x},{in_y}->{out}", x, x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "target", [np.empty((2, 3, 5)), np.empty((2, 3, 10))[..., ::2], np.empty((3, 2, 5)).swapaxes(0, 1)]
)
def test_products_are_written_into_any_array(target: Any, in_blocks: Any) -> None:
    x, y = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(4, 5))
    assert multiply(x, y, "abk", "kc", "abc", target) is target
    np.testing.assert_allclose(target, x @ y, rtol=1e-12)


def test_what_blocks_are_for(in_blocks: Callable[[float], None]) -> None:
    """Products that BLAS computes slowly, which are no sums or have operands that it copies, but no small ones."""
    in_blocks(10_000)
    column, row, matrix = np.ones((40, 1)), np.ones((1, 40)), np.ones((10, 20))
    gaps = np.ones((10, 40))[:, ::2]
    assert multiply(column, row, "ab", "bc", "ac") is not None
    assert multiply(matrix, matrix.T, "ab", "bc", "ac") is None
    assert multiply(gaps, matrix.T, "ab", "bc", "ac") is not None
    assert multiply(matrix, gaps.T, "ab", "bc", "ac") is not None
    assert multiply(gaps[:3], matrix.T[:, :3], "ab", "bc", "ac") is None


def test_long_sums_are_made_in_pieces_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A running sum of so many equal numbers would be off by more."""
    monkeypatch.setattr(deep_products, "CALL_ELEMENTS", 1)
    x, y = np.full((2, 3, 100_000), 0.1, np.float32), np.full((2, 100_000, 2), 0.7, np.float32)
    wanted = float(x[0, 0, 0]) * float(y[0, 0, 0]) * x.shape[-1]
    np.testing.assert_allclose(deep_products.matmul(x, y), np.full((2, 3, 2), wanted), rtol=4e-6)


@pytest.mark.parametrize("dtype", [int, complex])
def test_other_numbers_are_left_to_numpy(dtype: type) -> None:
    x, y = (RNG.integers(-9, 9, (3, 700)) / (1 if dtype is int else 7) for _ in range(2))
    x, y = x.astype(dtype), y.astype(dtype)
    np.testing.assert_array_equal(deep_products.einsum("ab,ab->a", x, y), np.einsum("ab,ab->a", x, y))
