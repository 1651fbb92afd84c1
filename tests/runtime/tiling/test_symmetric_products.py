"""Products that are symmetric because both operands are multiples of one array: found, half computed, and mirrored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad.ops.blocked import blocked_sums
from primad.runtime.executors import native_executor
from primad.runtime.plan.interpreter import Plan
from primad.runtime.tiling import block_sums, tiled_plan
from primad.simplify import simplify

POINTS, COLUMNS = 67, 24
RNG = np.random.default_rng(0)
X, D = RNG.normal(size=(POINTS, COLUMNS)), RNG.normal(size=POINTS)

SYMMETRIC: dict[str, Callable[[Any, Any], Any]] = {
    "weighed on the right": lambda x, d: x.T @ (d[:, None] * x),
    "weighed on the left": lambda x, d: (x * d[:, None]).T @ x,
    "weighed on both sides": lambda x, d: (x * d[:, None]).T @ (x * np.exp(d)[:, None]),
    "weights after other weights": lambda x, d: (y := x * d[:, None]).T @ (y / (2.0 + d * d)[:, None]),
    "a quotient, negative": lambda x, d: x.T @ (-x / d[:, None]),
    "sum of weights": lambda x, d: x.T @ (x * d[:, None] - x * np.sin(d)[:, None] + x),
    "chosen points": lambda x, d: x.T @ np.where((d > 0)[:, None], x * d[:, None], 0.0),
    "points last": lambda x, d: (y := np.tanh(x).T) @ (y * d).T,
    "of a sum": lambda x, d: (y := np.sin(x) + x).T @ (y * d[:, None]),
    "three axes": lambda x, d: np.einsum("nij,nkl->ijkl", y := np.reshape(np.sin(x), (-1, 4, 6)), y * d[:, None, None]),
    "two are summed": lambda x, d: np.einsum(
        "nij,nik->jk", y := np.stack([x, np.cos(x)], 1), y * np.stack([d, d * d], 1)[:, :, None]
    ),
    "several weights": lambda x, d: np.einsum(
        "ni,cnj->cij", y := np.tanh(x), y * np.stack([d, d * d, np.cos(d)])[:, :, None]
    ),
    "several weights on the left": lambda x, d: np.einsum(
        "cdni,nj->cdij", np.reshape(np.stack([d, d * d, np.cos(d), d]), (2, 2, -1))[..., None] * (y := np.tanh(x)), y
    ),
    "a Hessian": lambda w, x: primad.hessian(lambda w: np.sum(np.logaddexp(0.0, x @ w)))(w),
}
OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "weighed columns": lambda x, d: x.T @ (np.tanh(x) * d[:COLUMNS]),
    "columns of the same": lambda x, d: (y := np.tanh(x)).T @ (y * d[:COLUMNS]),
    "weights of columns and more": lambda x, d: np.einsum(
        "ni,cnj->cij", y := np.tanh(x), np.stack([d, d * d])[:, :, None] * (y * (X[0] + 1.0))
    ),
    "matrices one within the other": lambda x, d: np.einsum(
        "ni,njc->ijc", y := np.tanh(x), y[:, :, None] * np.stack([d, d * d], 1)[:, None]
    ),
    "several of others": lambda x, d: np.einsum("ni,cnj->cij", np.tanh(x), np.stack([np.sin(x), x]) * d[:, None]),
    "weights for each element": lambda x, d: (y := np.tanh(x)).T @ (y * np.cos(x) * d[:, None]),
    "a function of it": lambda x, d: x.T @ (np.sin(x) * d[:, None]),
    "shifted": lambda x, d: (y := np.tanh(x)).T @ (y * d[:, None] + d[:, None]),
    "rounded": lambda x, d: (y := np.tanh(x)).T @ (y.astype(np.float32).astype(np.float64) * d[:, None]),
    "reversed columns": lambda x, d: (y := np.tanh(x)).T @ (y[:, ::-1] * d[:, None]),
    "chosen by element": lambda x, d: (y := np.tanh(x)).T @ np.where(x > 0, y * d[:, None], 0.0),
    "chosen otherwise": lambda x, d: (y := np.tanh(x)).T @ np.where((d > 0)[:, None], y, 1.0),
    "turned": lambda x, d: np.einsum(
        "nij,nkl->ijkl", y := np.reshape(np.tanh(x)[:, :16], (-1, 4, 4)), np.moveaxis(y, 1, 2) * d[:, None, None]
    ),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut even small products into blocks of some points, and these into narrow pieces."""
    monkeypatch.setattr(block_sums, "LARGE_SUM", 8)
    monkeypatch.setattr(block_sums, "BLOCK_BYTES", 24 * 16 * 8)
    monkeypatch.setattr(blocked_sums, "PANEL", 7)
    monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 4)
    for module in (native_executor, tiled_plan):
        monkeypatch.setattr(module, "WORTHWHILE_BYTES", 1)
    monkeypatch.setattr(tiled_plan, "LARGE_BYTES", 0)


def blocks_in(plan: Any) -> list[block_sums.BlockTiles]:
    if isinstance(plan, block_sums.BlockTiles):
        return [plan]
    found = [plan.tiles] if getattr(plan, "tiles", None) is not None else [part for part, _ in plan.parts]
    return [blocks for part in found for blocks in blocks_in(part)]


def in_blocks(function: Callable[..., Any], *arguments: Any) -> tuple[block_sums.BlockTiles, Any, Any]:
    """Return the blocks of a plan, the result, the same to the bit on one thread and two, and that untiled."""
    program = primad.trace(function)(*arguments)
    given = [*arguments, *program.source_values]
    program = simplify(program.hoisted())
    (blocks,) = blocks_in(tiled_plan.make_plan(program))
    whole: Any = tiled_plan.make_plan(program)
    before = primad.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            primad.set_num_threads(threads)
            found.append(np.asarray(whole.run(given)[0]))
    finally:
        primad.set_num_threads(before)
    assert found[0].tobytes() == found[1].tobytes()
    return blocks, found[0], np.asarray(Plan(program).run(given)[0])


def as_matrices(result: Any) -> Any:
    """Return a result of 24 rows and columns, each of some axes, as a stack of matrices."""
    return result.reshape(-1, COLUMNS, COLUMNS)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_half_of_what_is_symmetric_is_computed(name: str, dtype: Any) -> None:
    x, d = X.astype(dtype), D.astype(dtype)
    given = (np.full(COLUMNS, dtype(0.1)), x) if name == "a Hessian" else (x, d)
    blocks, found, want = in_blocks(SYMMETRIC[name], *given)
    assert blocks.count > 1
    assert "half of 1 by symmetry" in blocks.each
    np.testing.assert_array_equal(as_matrices(found), as_matrices(found).swapaxes(1, 2))
    scale = 300 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, want, rtol=scale, atol=scale * np.abs(want).max())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_symmetric_is_computed_whole(name: str) -> None:
    blocks, found, want = in_blocks(OTHERS[name], X, D)
    assert "symmetry" not in blocks.each
    np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-11)


def test_weights_of_complex_numbers() -> None:
    """XᵀDX is symmetric, XᴴDX is not."""
    z = X + 1j * RNG.normal(size=X.shape)
    for function, known in (
        (lambda z, d: z.T @ (d[:, None] * z), True),
        (lambda z, d: np.conj(z).T @ (d[:, None] * z), False),
    ):
        program = simplify(primad.trace(function)(z, D * 1j).hoisted())
        (product,) = [node for node in program.nodes if node.op is primad.ops.contract]
        form = block_sums._form(product)
        assert form is not None
        assert form.symmetric == known


@pytest.mark.parametrize("weight", [0.0, -0.0, np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers(weight: float) -> None:
    """What becomes NaN or infinite is where it is in the whole product, also where 0 times infinity is NaN."""
    x, d = X.copy(), D.copy()
    d[[3, 40]] = weight
    x[3, 5] = 0.0
    x[50, 7] = np.inf
    x[51, 9] = np.nan
    with np.errstate(invalid="ignore"):
        _, found, want = in_blocks(SYMMETRIC["weighed on the right"], x, d)
    np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-11)  # NaN and infinities are at equal places
    np.testing.assert_array_equal(found, found.T)


def test_each_element_above_the_diagonal_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for panel in (1, 4, 7, 336):
        monkeypatch.setattr(blocked_sums, "PANEL", panel)
        for length in (1, 2, 23, 24, 400):
            times = np.zeros((length, length), int)
            for a, b in blocked_sums._triangle(length):
                times[a, b] += 1
            assert np.all(times[np.triu_indices(length)] == 1)
            assert times.max(initial=0) <= 1
            assert blocked_sums.computed_share(length) == pytest.approx(times.mean())
            total = np.triu(RNG.normal(size=(length, length)))
            wanted = total + np.triu(total, 1).T
            blocked_sums.mirror(total)
            np.testing.assert_array_equal(total, wanted)
    assert blocked_sums.computed_share(400) < 0.6


def test_blocks_of_large_sums_are_said_and_predicted_to_be_one_chunk() -> None:
    program = simplify(primad.trace(lambda x: np.sin(x).T @ np.cos(x))(np.zeros((4000, 600))).hoisted())
    (blocks,) = blocks_in(tiled_plan.make_plan(program))
    assert blocks.count > blocks.chunks == 1
