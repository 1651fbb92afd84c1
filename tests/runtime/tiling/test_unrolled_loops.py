"""Loops run step after step in tiles where an axis can be cut through all steps, and as loops elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad import scan, while_loop
from primad.ir.node import Leaf
from primad.native.llvm import compiler as native
from primad.parallel.threads import on_threads
from primad.runtime.executors import native_executor
from primad.runtime.executors.dispatch import NATIVE, REFERENCE
from primad.runtime.executors.executor import PLAIN
from primad.runtime.loops.row_streams import streams_of
from primad.runtime.plan.fusion import is_pointwise
from primad.runtime.plan.interpreter import Plan
from primad.runtime.tiling import middle_programs, tile_choice, tiled_plan, unrolled_loops
from primad.simplify import simplify
from primad.transforms.lowering import calls

X, W = np.random.default_rng(0).normal(size=(5, 40)), np.float64(0.7)


@pytest.fixture(params=["native", "interpreted"])
def small_tiles(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(tile_choice, "NATIVE_LENGTHS", (4,) if request.param == "native" else ())
    for module in (native_executor, tiled_plan):
        monkeypatch.setattr(module, "WORTHWHILE_BYTES", 1)
    monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 4)
    monkeypatch.setattr(tiled_plan, "is_pointwise", lambda nodes: False)
    monkeypatch.setattr(unrolled_loops, "CALL_ELEMENTS", 39)


def nested(c: Any, row: Any) -> Any:
    inner = scan(lambda d, _: (np.sin(d) + row, d), c, None, length=3)
    return inner[0], np.sum(inner[1] * c, 0)


CUT = {
    "what is carried": lambda x, w: scan(lambda c, _: (c + np.tanh(c * w), None), x, None, length=4)[0],
    "rows": lambda x, w: scan(lambda c, row: (np.sin(c) * w + row, c * row), x[0], x)[1],
    "rows from the end": lambda x, w: scan(lambda c, row: (np.sin(c) * w + row, c * row), x[0], x, reverse=True)[1],
    "a loop in a loop": lambda x, w: scan(nested, x[0] * w, x)[1],
    "a call": lambda x, w: scan(lambda c, row: (primad.jit(np.tanh)(c) * w + row, None), x[0], x)[0],
    "a sum of each step": lambda x, w: scan(lambda c, row: (c * w + row, np.sum(c * row)), x[0], x)[1],
}
WHOLE = {
    "a sum that the next step takes": lambda x, w: scan(lambda c, row: (c - w * np.sum(c), None), x[0], x)[0],
    "an order": lambda x, w: scan(lambda c, _: (w * np.cumsum(c), None), x[0], None, length=4)[0],
    "few numbers": lambda x, w: scan(lambda c, row: (c * w + row, None), x[0, :39], x[:, :39])[0],
    "a loop that ends by itself": lambda x, w: while_loop(
        lambda c: np.sum(c) < 9.0, lambda c: c + w, x[0], max_steps=5
    ),
    "many steps": lambda x, w: scan(lambda c, _: (c * w, None), x[0], None, length=unrolled_loops.MOST_OPS + 1)[0],
}


def program_of(function: Any) -> Any:
    return simplify(primad.trace(function)(X, W))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", CUT)
def test_tiles_go_through_all_steps(name: str, small_tiles: None) -> None:
    function = CUT[name]
    for asked in (function, primad.grad(lambda x, w: np.sum(function(x, w) ** 2), argnums=(0, 1))):
        program = program_of(asked)
        plan = tiled_plan.make_plan(program)
        assert not isinstance(plan, Plan) and not any("a loop of" in line for line in plan.details)
        for got, want in zip(plan.run([X, W]), REFERENCE.prepare(program, PLAIN).run([X, W]), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "pointwise"), [*((name, False) for name in CUT), ("what is carried", True)])
def test_large_rows_are_not_made(
    name: str, pointwise: bool, small_tiles: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are neither kept nor computed again: steps are in tiles, or in one kernel where all is pointwise."""
    monkeypatch.setattr(tiled_plan, "is_pointwise", is_pointwise if pointwise else lambda nodes: False)
    program = program_of(primad.grad(lambda x, w: np.sum(CUT[name](x, w) ** 2), argnums=0))
    steps = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    rows = streams_of(steps, program.outputs).nbytes
    assert rows
    plan = tiled_plan.make_plan(program, memory=4 * rows - 1)
    assert not any("a loop of" in line for line in plan.details)
    for got, want in zip(plan.run([X, W]), REFERENCE.prepare(program, PLAIN).run([X, W]), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", WHOLE)
def test_what_no_tile_goes_through_stays_a_loop(name: str, small_tiles: None) -> None:
    program = program_of(WHOLE[name])
    assert calls(program) and unrolled_loops.with_loops_unrolled(program) is None
    plan = tiled_plan.make_plan(program)
    assert any("a loop of" in line for line in plan.details)
    for got, want in zip(plan.run([X, W]), REFERENCE.prepare(program, PLAIN).run([X, W]), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def layers(steps: int) -> Any:
    """Return a network whose layers are the steps of a loop, and its arguments: a million numbers of a value."""
    rng = np.random.default_rng(1)
    weights, points = rng.normal(size=(steps, 16, 16)) / 4.0, rng.normal(size=(8000, 16))
    return lambda w, x: np.sum(scan(lambda h, w: (h + np.tanh(h @ w), None), x, w)[0] ** 2), (weights, points)


def recurrent(steps: int) -> Any:
    """Return one whose steps share their weights, which derivatives add up from step to step."""
    rng = np.random.default_rng(2)
    weights, rows = rng.normal(size=(72, 72)) / 8.0, rng.normal(size=(steps, 1000, 72))
    return lambda w, x: np.sum(scan(lambda h, row: (np.tanh(h @ w + row), None), x[0], x)[0] ** 2), (weights, rows)


@pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")
@pytest.mark.parametrize("make", [layers, recurrent])
def test_loops_with_little_around_them_are_gone_through_by_tiles(make: Any) -> None:
    """What stands around a loop says nothing of how large its steps are."""
    function, arguments = make(8)
    gradient = primad.grad(function, argnums=(0, 1))
    program = simplify(primad.trace(gradient)(*arguments))
    assert NATIVE.as_function(program, None) is None
    plan = NATIVE.prepare(program, PLAIN)
    assert plan.is_tiled and not any("a loop of" in line for line in plan.details)
    first, second = (on_threads(count, lambda: plan.run(arguments)) for count in (1, 2))
    wanted = REFERENCE.prepare(program, PLAIN).run(arguments)
    for one, two, want in zip(first, second, wanted, strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_allclose(one, want, rtol=1e-9, atol=1e-9)


@pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")
def test_long_loops_are_gone_through_by_tiles_where_they_hand_on_large_rows() -> None:
    """A long loop alone keeps its members in a cache by itself, and is planned once."""
    function, arguments = layers(50)
    asked = {f: simplify(primad.trace(f)(*arguments)) for f in (function, primad.grad(function))}
    assert [middle_programs.tiles_hold_loops(program) for program in asked.values()] == [False, True]
    function, (weights, points) = layers(8)
    for count, held in ((8000, True), (500, False)):
        assert middle_programs.tiles_hold_loops(simplify(primad.trace(function)(weights, points[:count]))) == held
