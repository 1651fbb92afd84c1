"""Products of large complex matrices by native code: equal to NumPy's, whatever lies how, and in the same bits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import primad
from primad.native.emit import packed_products
from primad.native.emit.packed_products import COLUMNS, DEPTH, HEIGHT, ROWS, WIDTH, PackedProduct, packed_product
from primad.runtime.tiling import complex_plans
from primad.system.machine import THREAD_WORK

COMPLEX = np.dtype(np.complex128)
UNIT = np.finfo(np.float64).eps

pytestmark = pytest.mark.skipif(packed_product(COMPLEX, THREAD_WORK) is None, reason="no vectors of 512 bits")


def drawn(rows: int, columns: int, layout: str = "rows") -> Any:
    """Return a complex matrix whose neighbours lie along rows or columns, or apart."""
    rng = np.random.default_rng(rows * 1000 + columns)
    parts = rng.normal(size=(2, 2 * rows, 2 * columns))
    matrix = parts[0] + 1j * parts[1]
    if layout == "apart":
        return matrix[::2, ::2]
    matrix = np.ascontiguousarray(matrix[:rows, :columns])
    return np.asfortranarray(matrix) if layout == "columns" else matrix


def native(left: Any, right: Any, target: Any) -> None:
    """Multiply by native code, which must not refuse."""
    multiply = packed_product(COMPLEX, THREAD_WORK)
    assert multiply is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_products, "THREAD_WORK", 0)
        assert multiply._run(left, right, target)


def close(found: Any, left: Any, right: Any) -> None:
    """Check each element by the bound of sums of products: 2 · length · unit · Σ|x||y|."""
    bound = 4 * (left.shape[1] + 4) * UNIT * (abs(left) @ abs(right))
    assert np.all(abs(found - left @ right) <= bound)


LAYOUTS = ("rows", "columns", "apart")


@pytest.mark.parametrize("layouts", list(itertools.product(LAYOUTS, LAYOUTS)))
def test_is_the_product_of_matrices_that_lie_in_any_way(layouts: tuple[str, str]) -> None:
    """Neighbours along rows, along columns, or nowhere, in either matrix."""
    left, right = drawn(100, DEPTH + 37, layouts[0]), drawn(DEPTH + 37, 93, layouts[1])
    found = np.full((100, 93), np.nan, COMPLEX)
    native(left, right, found)
    close(found, left, right)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "m, k, n",
    [
        (HEIGHT + 1, 2 * DEPTH, 3 * COLUMNS),
        (2 * HEIGHT, DEPTH + 1, COLUMNS),
        (ROWS, 400, WIDTH + 1 + 64 * COLUMNS),
        (70 * ROWS + 1, DEPTH - 1, 8 * COLUMNS - 1),
        (200 * ROWS, 1, 200 * COLUMNS),
    ],
)
def test_blocks_of_all_lengths(m: int, k: int, n: int) -> None:
    """Blocks, parts and tiles that are full, and those that reach beyond an edge."""
    left, right = drawn(m, k), drawn(k, n)
    room = np.full((m + 2, n + 2), np.nan, COMPLEX)
    native(left, right, room[1:-1, 1:-1])
    close(room[1:-1, 1:-1], left, right)
    room[1:-1, 1:-1] = np.nan
    assert np.all(np.isnan(room))  # nothing is written beside it


def test_bits_do_not_depend_on_what_is_computed_together() -> None:
    """Rows and columns alone have the bits that they have in the whole."""
    left, right = drawn(300, 2 * DEPTH + 5), drawn(2 * DEPTH + 5, 250)
    whole = np.empty((300, 250), COMPLEX)
    native(left, right, whole)
    for rows, columns in ((slice(7, 151), slice(None)), (slice(None), slice(100, 212)), (slice(1, 200), slice(3, 249))):
        part = np.empty_like(whole[rows, columns])
        native(left[rows], right[:, columns], part)
        assert part.tobytes() == whole[rows, columns].tobytes()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, 5e-324, 0.0, -0.0])
@pytest.mark.parametrize("part", ["real", "imag"])
def test_special_values_go_where_sums_of_products_take_them(value: float, part: str) -> None:
    """A NaN or an infinity reaches its row or column alone, as in NumPy's loops, also across edges of tiles."""
    left, right = drawn(101, 120), drawn(120, 99)
    for matrix, place in ((left, (100, 119)), (right, (119, 98)), (left, (0, 5))):
        getattr(matrix, part)[place] = value
    found = np.empty((101, 99), COMPLEX)
    native(left, right, found)
    with np.errstate(all="ignore"):
        a, b, c, d = left.real, left.imag, right.real, right.imag
        expected = a @ c - b @ d, a @ d + b @ c
    for ours, other in zip((found.real, found.imag), expected, strict=True):
        finite = np.isfinite(other)
        np.testing.assert_array_equal(np.isfinite(ours), finite)
        np.testing.assert_allclose(ours[finite], other[finite], rtol=1e-9, atol=1e-11)


def test_targets_may_lie_along_columns_or_be_made() -> None:
    """A target whose neighbours lie along columns, and none."""
    left, right = drawn(110, 120), drawn(120, 128)
    multiply = packed_product(COMPLEX, THREAD_WORK)
    assert multiply is not None
    across = np.empty((128, 110), COMPLEX).T
    assert multiply(left, right, across) is across
    close(across, left, right)
    close(multiply(left, right, None), left, right)


@pytest.mark.parametrize("m, k, n", [(5, 6, 7), (400, 400, 3), (2, 3000, 200)])
def test_products_that_fill_no_tiles_are_left_to_numpy(m: int, k: int, n: int) -> None:
    """Small and narrow ones."""
    left, right = drawn(m, k), drawn(k, n)
    multiply = packed_product(COMPLEX, THREAD_WORK)
    assert multiply is not None
    assert not multiply._run(left, right, np.empty((m, n), COMPLEX))
    np.testing.assert_array_equal(multiply(left, right, None), left @ right)


def test_so_are_elements_that_no_whole_numbers_of_them_lie_apart() -> None:
    """The columns of a record."""
    records = np.zeros((128, 128), [("flag", "i4"), ("z", COMPLEX)])
    records["z"] = drawn(128, 128)
    right = drawn(128, 128)
    multiply = packed_product(COMPLEX, THREAD_WORK)
    assert multiply is not None
    np.testing.assert_array_equal(multiply(records["z"], right, None), records["z"] @ right)


def test_only_large_products_of_complex_numbers_have_it() -> None:
    """Others are as fast with BLAS."""
    assert packed_product(np.dtype(np.complex64), 10**9) is None
    assert packed_product(np.dtype(np.float64), 10**9) is None
    assert packed_product(COMPLEX, THREAD_WORK - 1) is None


def test_programs_use_it_and_have_the_same_bits_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loss of products, its gradients, and what NumPy computes."""
    calls: list[tuple[int, ...]] = []
    run = PackedProduct._run

    def counted(self: PackedProduct, left: Any, right: Any, target: Any) -> bool:
        done = run(self, left, right, target)
        calls.extend([left.shape] * done)
        return done

    monkeypatch.setattr(PackedProduct, "_run", counted)
    monkeypatch.setattr(complex_plans, "blas_is_as_wide", lambda: True)
    x, y = drawn(470, 480) / 20, drawn(480, 490) / 20
    derive = primad.jit(primad.value_and_grad(lambda a, b: np.sum(np.abs(a @ b) ** 2), (0, 1)))
    before = primad.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            primad.set_num_threads(threads)
            value, (of_x, of_y) = derive(x, y)
            found.append((np.asarray(value).tobytes(), of_x.tobytes(), of_y.tobytes()))
    finally:
        primad.set_num_threads(before)
    assert calls
    assert found[0] == found[1] == found[2]
    product = x @ y
    np.testing.assert_allclose(value, np.sum(abs(product) ** 2), rtol=1e-12)
    np.testing.assert_allclose(of_x, 2 * product.conj() @ y.T, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(of_y, 2 * x.T @ product.conj(), rtol=1e-10, atol=1e-12)
