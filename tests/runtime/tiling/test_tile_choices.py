"""How long tiles are, and which they are, on both sides of each limit; nothing runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad.ir.array_types import ArrayType
from primad.native.llvm.compile_limits import BUDGET
from primad.recording.tracing import program_of
from primad.runtime.executors import native_executor
from primad.runtime.plan.interpreter import Plan
from primad.runtime.tiling import tile_choice, tiled_plan
from primad.runtime.tiling.interpreted_tiles import InterpretedTiles
from primad.runtime.tiling.native_tiles import NativeTiles
from primad.runtime.tiling.tile_choice import mixed_tiles, native_tiles
from primad.runtime.tiling.tile_program import TilePartition, partition_of
from primad.runtime.tiling.tileable_axes import tileable_dimensions
from primad.runtime.tiling.tiled_plan import make_plan
from primad.scipy.special import softmax
from primad.simplify import simplify

ROW = 3 * 8 + 8
"""Bytes that `norms` reads and writes for a point."""


def norms(x: Any) -> Any:
    return np.sum(np.tanh(x), axis=1)


def layers(x: Any) -> Any:
    """Norms of what takes memory in a tile."""
    return np.sum(np.tanh(np.tanh(x) @ np.full((3, 40), 0.1)) @ np.full((40, 5), 0.1), axis=1)


def partition(points: int, function: Callable[..., Any] = norms) -> TilePartition:
    program = simplify(program_of([ArrayType((points, 3), np.dtype(float))], lambda x: [function(x)]))
    return partition_of(program, tileable_dimensions(program)[0], ())


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that sets limits; all others are out of reach."""

    def set_to(**limits: Any) -> None:
        wide = {"SCRATCH_BYTES": 10**9, "STREAMED_BYTES": 10**9, "SHORT_LENGTH": 10**6, "LARGEST_MATRIX": 10**9}
        for name, value in (
            wide | {"NATIVE_LENGTHS": (4, 8, 16, 32, 64), "MIXED_LENGTHS": (8, 16, 32)} | limits
        ).items():
            monkeypatch.setattr(tile_choice, name, value)

    return set_to


def length(points: int, function: Callable[..., Any] = norms, even_large: bool = False) -> int | None:
    tiles = native_tiles(partition(points, function), even_large)
    return None if tiles is None else tiles.length


def test_there_are_two_tiles_at_least(limits: Callable[..., None]) -> None:
    limits()
    assert [length(points) for points in (7, 8, 15, 16, 127, 128, 1000)] == [None, 4, 4, 8, 32, 64, 64]


def test_threads_share_tiles_unless_these_are_short(limits: Callable[..., None]) -> None:
    most = tile_choice.FEWEST_TILES
    limits(SHORT_LENGTH=8)
    assert [length(points) for points in (most * 32, most * 32 - 1, most * 16, most * 5)] == [32, 16, 16, 8]
    limits(SHORT_LENGTH=16)
    assert length(most * 5) == 16


def test_what_streams_through_a_tile_fits_into_a_cache(limits: Callable[..., None]) -> None:
    for nbytes, expected in ((16 * ROW, 16), (16 * ROW - 1, 8), (4 * ROW, 4), (1, 4)):
        limits(STREAMED_BYTES=nbytes)
        assert length(1000) == expected


def test_what_a_tile_computes_fits_into_a_cache(limits: Callable[..., None]) -> None:
    limits()
    points = 1000
    tiles = native_tiles(partition(points, layers), False)
    assert tiles is not None and tiles.length == 64
    each = tiles.scratch // tiles.length
    assert each >= 8 * 40
    for rows, expected in ((33, 32), (31, 16), (5, 4)):
        limits(SCRATCH_BYTES=rows * each)
        assert length(points, layers) == expected
    limits(SCRATCH_BYTES=2 * each)
    assert length(points, layers) is None and length(points, layers, even_large=True) == 4


def pairs(x: Any) -> Any:
    """A product for each point, of matrices of three rows and of one column."""
    return np.sum(np.tanh(x[:, :, None] * np.tanh(x[:, None, :])) @ np.tanh(x[:, :, None]), axis=(1, 2))


def heads(x: Any) -> Any:
    """Products with each matrix of a stack."""
    return np.sum(
        np.einsum("tsi,sij->tsj", np.tanh(x[:, None] * np.ones((2, 1))), np.full((2, 3, 40), 0.1)), axis=(1, 2)
    )


READ_AGAIN = {layers: 40 * 5 * 8, pairs: 3 * 8, heads: 3 * 40 * 8}
"""Bytes of the largest matrix that is read for one point after the other."""


@pytest.mark.parametrize("function", READ_AGAIN)
def test_products_with_large_matrices_are_those_of_blas(
    function: Callable[..., Any], limits: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = READ_AGAIN[function]
    for nbytes, is_wide, native in ((matrix, True, True), (matrix - 1, True, False), (matrix - 1, False, True)):
        monkeypatch.setattr(tile_choice, "blas_is_as_wide", lambda wide=is_wide: wide)
        limits(LARGEST_MATRIX=nbytes)
        assert (length(100, function) is not None) == native
        assert (mixed_tiles(partition(1000, function)) is not None) == native


def test_mixed_tiles_divide_the_axis_where_they_may(limits: Callable[..., None]) -> None:
    limits(MIXED_LENGTHS=(64, 128, 256))
    lengths = (127, None), (128, 64), (255, 64), (256, 128), (768, 256), (576, 192), (640, 160), (1144, 256)
    for points, expected in lengths:
        tiles = mixed_tiles(partition(points, layers))
        assert (None if tiles is None else tiles.length) == expected, points


@pytest.mark.parametrize("kind", [NativeTiles, InterpretedTiles, Plan])
def test_a_program_is_cut_where_it_is_worth_it(
    kind: type, limits: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes of what is computed along the axis decide, and its length, where tiles are those of Python."""
    limits(**({} if kind is NativeTiles else {"NATIVE_LENGTHS": (), "MIXED_LENGTHS": ()}))
    points = 40
    program = partition(points, norms).program
    computed = points * 3 * 8 + points * 8
    monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 20)
    for module in (native_executor, tiled_plan):
        monkeypatch.setattr(module, "WORTHWHILE_BYTES", computed + (kind is Plan))
    plan = make_plan(program)
    assert isinstance(plan if plan.tiles is None else plan.tiles, kind)
    monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 21)
    assert isinstance(make_plan(program).tiles, kind) == (kind is NativeTiles)


@pytest.mark.parametrize(("width", "has_long", "as_wide"), [(32, False, True), (64, False, False), (64, True, True)])
def test_vectors_of_blas_are_compared_with_those_of_native_code(
    width: int, has_long: bool, as_wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tile_choice, "WIDTH_BYTES", width)
    monkeypatch.setattr(tile_choice, "blas_has_long_vectors", lambda: has_long)
    assert tile_choice.blas_is_as_wide() == as_wide


def test_short_runs_of_tiles_are_waited_for(limits: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    limits()
    tiled = partition(100)
    flops = tiled.program.cost().flops
    for uninterrupted, joins in ((flops + 1, True), (flops - 1, False)):
        monkeypatch.setattr(tile_choice, "BUDGET", replace(BUDGET, uninterrupted=uninterrupted))
        tiles = native_tiles(tiled, False)
        assert tiles is not None and tiles.worker.joins == joins


def test_tiles_that_are_kept_are_of_a_length_that_there_is(
    limits: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And have whole numbers of products and loops."""
    limits()
    read: list[Callable[[Any], Any]] = []
    written: list[Any] = []

    def kept(kind: str, program: Any, more: Any, make: Callable[[], Any], reader: Callable[[Any], Any]) -> Any:
        read.append(reader)
        written.extend(make())
        return reader(written)

    monkeypatch.setattr(tile_choice, "kept", kept)
    tiles = native_tiles(partition(100), False)
    length, products, loops, text = written
    assert tiles is not None and (tiles.length, tiles.products, tiles.loops) == (length, products, loops)
    assert read[0](None) is None and read[0]([4, products, loops, text])[0] == 4
    for other in ([5, products, loops], [128, products, loops], [length, 1.0, loops], [length, products, True]):
        with pytest.raises(ValueError, match="no tiles of this program"):
            read[0]([*other, text])


def test_of_axes_that_hold_as_much_the_first_is_cut() -> None:
    """Slices of rows that are gathered lie in order, those of columns do not; what holds more goes before."""
    types = [primad.ArrayType((500, 32), np.float64), primad.ArrayType((200,), np.int64)]
    rows = tileable_dimensions(primad.trace(lambda x, i: np.sin(x[i]))(*types))
    assert [dimension.length for dimension in rows] == [200, 32]
    columns = tileable_dimensions(
        primad.trace(lambda x, i: np.sin(x[:, i]))(*types[:1], primad.ArrayType((8,), np.int64))
    )
    assert columns[0].length == 500
    summed = tileable_dimensions(primad.trace(lambda x: np.sin(np.sum(np.exp(x), 0)))(types[0]))
    assert [dimension.length for dimension in summed] == [32, 500]


@pytest.mark.parametrize(("rows", "width"), [(1024, 64), (1024, 128), (2048, 64)])
def test_rows_that_meet_themselves_are_cut_before_what_is_shorter(rows: int, width: int) -> None:
    """Attention has stages along the width of a head; tiles of the rows need none, and few matrices of all rows."""

    def loss(weights: Any, x: Any) -> Any:
        query, key, value = (x @ each for each in weights)
        return np.sum((softmax(query @ key.T / 8.0, axis=1) @ value) ** 2)

    types = [ArrayType(shape, np.dtype(float)) for shape in ((3, width, width), (rows, width))]
    function = primad.value_and_grad(loss)
    plan = make_plan(simplify(primad.lower(program_of(types, lambda *args: list(function(*args))))))
    assert plan.is_tiled
    assert plan.peak_bytes < 3 * 8 * rows * rows
