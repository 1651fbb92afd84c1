"""Donated arguments: results in their memory, equal to what an ordinary call returns, whatever the data flow."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import nn
from primad import numpy as pnp
from primad.errors import ShapeError
from primad.native.llvm.compiler import compiler
from primad.runtime.cache import Cache
from primad.runtime.loops import row_streams
from primad.runtime.plan.interpreter import Plan
from primad.simplify import simplify
from tests.sweeps import thinned

RNG = np.random.default_rng(3)
SHAPES = {"tiny": (3,), "whole": (100, 64), "large": (700, 1000)}


def arrays(shape: tuple[int, ...], count: int) -> list[Any]:
    return [RNG.uniform(0.5, 1.5, shape) for _ in range(count)]


FLOWS: dict[str, Callable[..., Any]] = {
    "in place": lambda x, y: x - 0.1 * y,
    "old value needed after": lambda x, y: (x + y, pnp.cumsum(x, axis=0)),
    "old value needed before": lambda x, y: x + pnp.sum(x) * y,
    "swapped": lambda x, y: (y, x),
    "swapped and changed": lambda x, y: (pnp.sin(y), pnp.cos(x)),
    "the argument itself": lambda x, y: (x, x + y),
    "the argument itself, behind a result": lambda x, y: (x + y, x),
    "the argument itself, behind a result of a sum": lambda x, y: (pnp.sort(x, axis=0) * pnp.sum(pnp.sin(x) * y), x),
    "the argument itself, behind what comes after a sum": lambda x, y: (
        pnp.broadcast_to(pnp.cumsum(pnp.sum(pnp.sin(x) * y, axis=0)), x.shape) * 1.0,
        x,
    ),
    "a view of the argument, before a result": lambda x, y: (pnp.transpose(x), x * y),
    "a view of the argument": lambda x, y: (x * y, pnp.reshape(x, (-1,)) + 1.0, pnp.transpose(x)),
    "a view before": lambda x, y: (pnp.transpose(x), x * y),
    "two views before": lambda x, y: (x[:1], y[1:], x * y, y + x),
    "read in another order": lambda x, y: x + pnp.flip(x, 0) * y,
    "one result twice": lambda x, y: [x * y] * 2,
    "not elementwise": lambda x, y: pnp.sort(x, axis=0) * y,
    "a gradient step": lambda x, y: x - 0.1 * primad.grad(lambda v: pnp.mean(pnp.sin(v) ** 2 * y))(x),
    "an argument that nothing reads": lambda x, y: pnp.sin(y) * pnp.sum(pnp.cos(y), axis=-1, keepdims=True),
    "a constant": lambda x, y: (pnp.ones_like(x), y * 2.0),
}


@pytest.mark.one_in(4)
@thinned(2, flow=list(FLOWS), size=list(SHAPES), native=[True, False])
def test_every_data_flow(flow: str, size: str, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("primad.runtime.executors.dispatch.EXECUTABLES", Cache(8))
    if not native:
        monkeypatch.setattr("primad.runtime.plan.fusion.compiler", lambda: None)
        monkeypatch.setattr("primad.native.llvm.compiler.compiler", lambda: None)
        monkeypatch.setattr("primad.runtime.tiling.tile_choice.compiler", lambda: None)
    function = FLOWS[flow]
    x, y = arrays(SHAPES[size], 2)
    expected = [np.array(leaf) for leaf in primad.recording.tree.leaves(function(x.copy(), y.copy()))]
    given = [x.copy(), y.copy()]
    found = primad.recording.tree.leaves(primad.jit(function, donate=(0, 1))(*given))
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12)
    places = [leaf for leaf in found if any(leaf is array for array in given)]
    fitting = sum(leaf.shape == x.shape for leaf in found)
    assert len(places) == min(fitting, 2)
    for i, a in enumerate(found):
        assert not any(np.shares_memory(a, b) for b in found[i + 1 :])


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("turned", [False, True])
def test_a_plan_of_single_steps_writes_where_nothing_reads_any_more(flow: str, turned: bool) -> None:
    """Each result in the memory of each argument: also where another result shows that argument, as a view of it."""

    def function(x: Any, y: Any) -> tuple[Any, ...]:
        results = FLOWS[flow](x, y)
        results = results if isinstance(results, tuple | list) else (results,)
        return (*results, x[::-1]) if turned else tuple(results)

    x, y = arrays(SHAPES["tiny"], 2)
    program = simplify(primad.lower(primad.trace(function)(x, y)))
    expected = [np.array(value) for value in function(x, y)]
    for output, place in itertools.product(range(len(program.outputs)), range(2)):
        if program.outputs[output].type == program.inputs[place].type:
            found = Plan(program, donated=((output, place),)).run([x.copy(), y.copy()])
            for got, want in zip(found, expected, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-12)


OUTPUTS: dict[str, Callable[..., Any]] = {
    "after the sums": lambda p, q, s: p * s - q, "itself": lambda p, q, s: p, "turned": lambda p, q, s: p[::-1],
    "the other": lambda p, q, s: q, "of the other": lambda p, q, s: pnp.sin(q) + s, "before": lambda p, q, s: p + q,
    "as before": lambda p, q, s: p * 3.0,
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("first", OUTPUTS)
def test_what_is_donated_beside_tiles(first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before and after sums over points, whichever results take the memory of what others still read."""
    monkeypatch.setattr("primad.runtime.executors.dispatch.EXECUTABLES", Cache(8))
    p, q, points = (RNG.uniform(0.5, 1.5, shape) for shape in ((20_000,), (20_000,), (200_000, 4)))
    for second in OUTPUTS:

        def both(p: Any, q: Any, points: Any, second: str = second) -> Any:
            s = pnp.mean(pnp.tanh(points) * points)
            return OUTPUTS[first](p, q, s), OUTPUTS[second](p, q, s)

        expected = [np.array(each) for each in both(p, q, points)]
        for donate in ((0,), (1,), (0, 1)):
            given = [p.copy(), q.copy(), points]
            found = primad.jit(both, donate=donate)(*given)
            for a, b in zip(expected, found, strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-14)
            for i in {0, 1} - {*donate}:
                np.testing.assert_array_equal(given[i], (p, q)[i])


def test_what_a_stream_is_computed_from_again_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are not held are made of the argument when the second loop asks for them."""
    monkeypatch.setattr(row_streams, "SPARE_BYTES", 0)

    def f(x: Any) -> Any:
        last, rows = primad.scan(lambda c, row: (np.tanh(c + row), c * row), np.zeros(3), x)
        return x * last, primad.scan(lambda c, row: (np.sin(c) + row, None), last, rows, reverse=True)[0]

    x = RNG.normal(size=(50, 3))
    recorded = primad.trace(f)(x)
    program, more = simplify(recorded.hoisted()), recorded.source_values
    wanted, plan = Plan(program).run([x, *more]), Plan(program, donated=((0, 0),))
    assert plan.streams.of
    given = x.copy()
    found = plan.run([given, *more])
    assert found[0] is given
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want)


def test_arguments_that_share_memory() -> None:
    """With one that is donated; the others may share theirs, and neighbours share nothing."""
    function = primad.jit(lambda x, y, z: (x + 1.0, np.sum(y) + np.sum(z)), donate=0)
    memory = np.ones((9, 2))
    apart = np.ones((3, 2))
    assert function(apart.copy(), memory[:5], memory[3:])[1] == 22.0
    assert function(memory[:3], memory[3:6], memory[6:])[1] == 12.0
    for x, y, z in ((memory[2:5], memory[:3], apart), (memory[:3], memory[2:5], apart), (memory[2:4], memory, apart)):
        with pytest.raises(primad.TracingError, match="share memory"):
            function(x, y, z)
    with pytest.raises(primad.TracingError, match="z and x share memory"):
        function(memory[6:], memory[:6], memory[5:8])


def test_only_chosen_arguments_are_written() -> None:
    x, y = arrays((50, 40), 2)
    kept = y.copy()
    out = primad.jit(lambda x, y: (y + x, y * x), donate=0)(x, y)
    assert out[0] is x and np.array_equal(y, kept)
    assert primad.jit(lambda p, scale: p["w"] * scale, donate=-2)({"w": y}, 2.0) is y
    np.testing.assert_array_equal(y, 2 * kept)


@pytest.mark.parametrize("donate", [1, -2, "x", 0.0])
def test_positions_that_name_no_argument(donate: Any) -> None:
    with pytest.raises(ShapeError, match="donate"):
        primad.jit(lambda x: x + 1.0, donate=(donate,))(np.ones(3))


def test_arguments_that_cannot_be_donated() -> None:
    double = primad.jit(lambda x, y: x * 2 + y, donate=0)
    x = np.ones((30, 30))
    frozen = x.copy()
    frozen.flags.writeable = False
    with pytest.raises(primad.TracingError, match="argument x is read-only"):
        double(frozen, x)
    for static in ((), (0,), (2,), (0, 2)):
        mixed = primad.jit(lambda n, x, m, y: x * n + y * m, static_argnums=static, donate=3)
        with pytest.raises(primad.TracingError, match="argument y is read-only"):
            mixed(2.0, x, 3.0, frozen)
    with pytest.raises(primad.TracingError, match="x and y share memory"):
        double(x[:20], x[10:])
    strided = np.ones((30, 60))[:, ::2]
    assert double(strided, x) is strided
    np.testing.assert_array_equal(strided, 3.0)
    with pytest.raises(primad.TracingError, match="x share memory with each other"):
        double(np.lib.stride_tricks.sliding_window_view(np.arange(10.0), 3, writeable=True), 1.0)
    assert double(2.0, 1.0) == 5.0
    nothing = np.ones((0, 3))  # all steps of an array without elements are 0
    assert double(nothing, 1.0) is nothing
    with pytest.raises(primad.TracingError, match="x_w and scale share"):
        primad.jit(lambda x, scale: x["w"] * scale, donate=0)({"w": x}, scale=x)


def test_a_large_update_allocates_next_to_nothing_and_does_not_depend_on_threads() -> None:
    rule = nn.Adam(0.1)
    shapes = {"w": (1200, 500), "v": (300, 1001), "b": (1000,)}
    params = {name: RNG.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    gradients = {name: RNG.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    expected, expected_state = params, rule.init(params)
    for _ in range(2):
        expected, expected_state = rule.update(expected, gradients, expected_state)
    threads = primad.get_num_threads()
    found = []
    for count in (1, 3):
        primad.set_num_threads(count)
        step = primad.jit(rule.update, donate=(0, 2))
        own, state = primad.recording.tree.map(np.copy, params), rule.init(params)
        new, state = step(own, gradients, state)
        tracemalloc.start()
        new, state = step(own, gradients, state)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert new["w"] is own["w"]
        # Kernels keep what lies between steps in registers; NumPy needs two arrays of each shape for it, and on several
        # threads, as these happen to meet, what ops make of their pieces on the way.
        by_numpy = (2.1 if count == 1 else 3.1) * sum(array.nbytes for array in params.values())
        assert peak < (0.1 * params["w"].nbytes if compiler() else by_numpy)
        found.append(new)
    primad.set_num_threads(threads)
    for name in shapes:
        assert np.array_equal(found[0][name], found[1][name])
        np.testing.assert_allclose(found[0][name], expected[name], rtol=2e-6)


def test_a_training_step_updates_in_place() -> None:
    rule = nn.Momentum(0.1)
    x = RNG.normal(size=(256, 300))

    def step(params: Any, state: Any) -> Any:
        value, gradient = primad.value_and_grad(lambda w: pnp.mean(pnp.tanh(x @ w) ** 2))(params)
        return value, *rule.update(params, gradient, state)

    params = RNG.normal(size=(300, 200)) / 20
    plain, state = params.copy(), rule.init(params)
    fast, fast_state = params.copy(), rule.init(params)
    compiled = primad.jit(step, donate=(0, 1))
    for _ in range(3):
        value, plain, state = step(plain, state)
        other, new, fast_state = compiled(fast, fast_state)
        assert new is fast
        np.testing.assert_allclose(other, value, rtol=1e-12)
    np.testing.assert_allclose(fast, plain, rtol=1e-10)


@pytest.mark.parametrize("rows", [3, 100_000])
def test_memory_that_is_not_as_programs_have_it_takes_the_result_in_the_end(rows):
    x = np.linspace(-1.0, 1.0, 6 * rows).reshape(rows, 6)
    for given in (x.astype(">f8"), np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
        found, total = primad.jit(lambda x: (np.tanh(x) * 2.0, np.sum(np.exp(x), axis=0)), donate=0)(given)
        assert found is given
        np.testing.assert_allclose(found, np.tanh(x) * 2.0, rtol=1e-14)
        np.testing.assert_allclose(total, np.sum(np.exp(x), axis=0), rtol=1e-12)
