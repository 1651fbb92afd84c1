"""Stacks of loops of unknown length: each member ends for itself, and computes what it computes alone."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram
from primad.native.loops.batched_while import member_of
from primad.parallel import threads as chunks
from primad.programs.loops.while_loop import while_loop as while_op
from primad.recording import tree
from primad.recording.tracing import program_of
from primad.runtime.cache import Cache
from primad.runtime.loops import lane_loops
from primad.transforms.lowering import apply_program_op
from primad.verify.cases.drawn_cases import Seeded
from tests.programs.test_branches import falling_back, newton, of_random_steps
from tests.sweeps import WIDTHS, thinned


def test_stacks_of_while_loops_end_each_for_itself() -> None:
    """Numbers of steps differ; what is done is frozen before a step that would divide by zero."""
    a = np.array([2.0, 400.0, 1e-4, 9.0])
    for f in (newton, primad.grad(newton), primad.grad(primad.grad(newton)), primad.jit(newton)):
        np.testing.assert_allclose(primad.vmap(f)(a), [f(x) for x in a], rtol=1e-9)
    total = primad.grad(lambda a: np.sum(primad.vmap(newton)(a) ** 3))(a)
    np.testing.assert_allclose(total, [primad.grad(lambda x: newton(x) ** 3)(x) for x in a], rtol=1e-9)

    def falling(x: Any) -> Any:  # at its end a step would take the root of a negative number
        return primad.while_loop(lambda x: x > 1.0, lambda x: np.sqrt(x - 1.0), x)

    x = np.array([0.5, 3.0, 7.5])
    for f in (primad.grad(falling), primad.grad(primad.grad(falling))):
        np.testing.assert_allclose(primad.vmap(f)(x), [f(one) for one in x], rtol=1e-9)
    found = primad.grad(lambda x: np.sum(primad.vmap(falling)(x)))(x)
    np.testing.assert_allclose(found, [primad.grad(falling)(one) for one in x], rtol=1e-9)


@pytest.mark.one_in(4)
@pytest.mark.usefixtures("width")
@thinned(2, width=WIDTHS, seed=range(12))
def test_stacks_of_random_loops_agree_with_the_interpreter(seed: int) -> None:
    """Values and tangents, of members that end at different steps; some operands are the same for all of them."""
    choose = Seeded(seed)
    f, start = of_random_steps(choose, 4)
    size = choose.among((1, 3, 16, 50))
    axes = [choose.among((0, 0, None)) for _ in start]
    rng = np.random.default_rng(seed)
    shapes = [x.shape if axis is None else (size, *x.shape) for x, axis in zip(start, axes, strict=True)]
    xs = [x + rng.uniform(0, 0.2, shape) for x, shape in zip(start, shapes, strict=True)]
    directions = [rng.normal(size=shape) for shape in shapes]
    counts = rng.integers(0, 4, size)

    def both(counts: Any, xs: Any, directions: Any) -> Any:
        return primad.jvp(lambda *xs: primad.vmap(f, (0, *axes))(counts, *xs), tuple(xs), tuple(directions))

    inside, called = primad.jit(both), primad.jit(both, memory=10**9)  # in a native function, and by steps of a plan
    wanted = primad.jit(both, backend="reference")(counts, xs, directions)
    for found in (inside(counts, xs, directions), called(counts, xs, directions)):
        for got, want in zip(tree.leaves(found), tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8 * (1 + np.max(np.abs(want), initial=0.0)))


def test_members_of_a_stack_of_loops_end_each_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay in registers, and take no more steps together than the last of them; however they are cut."""

    def f(count: Any, x: Any) -> Any:
        return primad.while_loop(
            lambda s: s[0] < count, lambda s: (s[0] + 1, np.sin(s[1]) * 0.9 + 0.1 * s[1][::-1]), (0, x)
        )[1]

    counts, x = np.arange(1000) // 143, np.random.default_rng(0).normal(size=(1000, 2))
    v, stack = np.ones_like(x), primad.vmap(f)
    assert "loops at a time in registers" in str(primad.explain(stack, counts, x))
    results = []
    for piece, at_once, threads in ((100_000, 50_000_000, 1), (1, 1, 1), (1, 1, 2)):
        monkeypatch.setattr(lane_loops, "EXECUTABLES", Cache(10))
        monkeypatch.setattr(lane_loops, "PIECE", piece)
        monkeypatch.setattr(lane_loops, "UNINTERRUPTED", at_once)
        monkeypatch.setattr(chunks._THREADS, "count", threads)
        results.append(primad.jvp(lambda x: stack(counts, x), (x,), (v,)))
        with pytest.raises(primad.StepsError, match="max_steps=7"):
            primad.vmap(lambda n: primad.while_loop(lambda k: k < n, lambda k: k + 1, 0, max_steps=7))(counts + 2)
    results.append(primad.jit(lambda x: primad.jvp(lambda x: stack(counts, x), (x,), (v,)))(x))
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])
    wanted = [primad.jvp(lambda y, n=n: f(n, y), (y,), (w,)) for n, y, w in zip(counts[:9], x, v, strict=False)]
    np.testing.assert_allclose(np.swapaxes(results[0], 0, 1)[:9], wanted, rtol=1e-12)


@pytest.mark.one_in(4)
@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("size", [1, 5, 40])
def test_stacks_of_loops_are_parts_of_loops(size: int) -> None:
    """Inside of a scan, beside other ops, where operands are parts of others; the plan is one native function."""
    counts, x = np.arange(size) % 5, np.random.default_rng(0).normal(size=(size, 3))
    stack = primad.vmap(falling_back)

    def f(x: Any) -> Any:
        def step(c: Any, k: Any) -> Any:
            return c + 0.1 * stack(counts + k, c[::-1]), np.sum(stack(counts, c[:, 1]))

        return primad.scan(step, x.T[::-1].T, np.arange(4))

    tangent = primad.jit(lambda x: primad.jvp(f, (x,), (np.sin(x),)))
    wanted = primad.jit(lambda x: primad.jvp(f, (x,), (np.sin(x),)), backend="reference")(x)
    for got, want in zip(tree.leaves(tangent(x)), tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10)
    assert "plan: one native function" in str(primad.explain(f, x))


def test_a_step_of_a_stack_may_leave_a_value_as_it_is_and_choices_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that are not taken choose between nothing in registers; what is carried is that of the interpreter.

    So is the number of steps, which is that of the member that takes most.
    """
    monkeypatch.setattr(lane_loops, "EXECUTABLES", Cache(10))
    monkeypatch.setattr(lane_loops, "PIECE", 1)
    types = [ArrayType((40,), dtype) for dtype in (np.bool_, np.float64, np.float64)]

    def some(go: Any) -> Any:
        return ops.less(0.5, ops.sum(ops.cast(go, dtype="float64"), axes=(0,)))

    def step(go: Any, x: Any, y: Any) -> list[Any]:
        new = ops.select(go, ops.mul(ops.select(go, x, y), y), x)
        on = ops.logical_and(go, ops.less(y, new))
        return [on, new, y, some(on)]

    of = ClosedProgram(program_of(types, step))
    member = member_of(of, (True,) * 3)
    assert member is not None
    assert str(member.program).count("select") == 1

    def stack(go: Any, x: Any, y: Any) -> Any:
        found = apply_program_op(while_op, of, [some(go), go, x, y], carry=3, most=50, separate=True)
        return list(found[:4])

    program = program_of(types, stack)
    given = np.array([1, 1, 0, 1, 1] * 8, bool), np.full(40, 8.0), np.linspace(0.5, 0.9, 40)
    wanted = primad.jit(lambda *xs: program(*xs), backend="reference")(*given)
    for memory in (None, 10**9):  # in a native function, and by steps of a plan
        for got, want in zip(primad.jit(lambda *xs: program(*xs), memory=memory)(*given), wanted, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("ended", [False, True])
def test_stacks_of_large_loops_take_their_steps_together_in_native_code(ended: bool) -> None:
    """Members are too large for registers; loops that have ended, or never begin, keep their values."""
    counts, x = np.array([0, 3, 1, 0, 6]) * (not ended), np.random.default_rng(1).normal(size=(5, 40))
    mixed = np.random.default_rng(2).normal(size=(40, 40)) / 8

    def f(count: Any, x: Any) -> Any:
        step = lambda s: (s[0] + 1, np.tanh(mixed @ s[1]) / (1.0 + s[0] - count), np.sum(s[1]))  # noqa: E731
        return primad.while_loop(lambda s: s[0] < count, step, (0, x, 0.0))

    def looped(x: Any) -> Any:
        def step(c: Any, k: Any) -> Any:
            _, y, total = primad.vmap(f)(counts + k * (counts > 0), c)
            return y + 0.1, total

        return primad.scan(step, x, np.arange(3))

    tangent = lambda x: primad.jvp(looped, (x,), (np.cos(x),))  # noqa: E731
    same = primad.jit(tangent, backend="reference")(x)
    for got, want in zip(tree.leaves(primad.jit(tangent)(x)), tree.leaves(same), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    assert "plan: one native function" in str(primad.explain(looped, x))


@pytest.mark.parametrize("limit", [None, 10**9])
def test_a_long_stack_of_loops_sees_signals(limit: int | None) -> None:
    """Without that it would take long; what a handler raises is what the caller gets, and the next call goes well."""

    class Alarm(Exception):
        pass

    def ring(*_: Any) -> None:
        raise Alarm("rings")

    f = primad.jit(primad.vmap(falling_slowly), memory=limit)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        for _ in range(2):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(Alarm, match="rings"):
                f(np.full(20_000, 199_999))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(f(np.full(20_000, 3)), falling_slowly(3))


def falling_slowly(n: Any) -> Any:
    return primad.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 0.999), (0, 0.5), max_steps=200_000)[1]


def test_stacks_without_elements() -> None:
    empty = np.ones(0)

    def chosen(x: Any) -> Any:
        return primad.cond(x > 0, np.sqrt, lambda x: 0.0 * x, x)

    for f in (newton, primad.grad(newton), chosen, primad.grad(chosen)):
        assert primad.vmap(f)(empty).shape == (0,)
