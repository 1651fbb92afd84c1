"""Loops of unknown length and branches: values and derivatives of any order are those of what ran."""

from __future__ import annotations

import signal
from collections.abc import Callable
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
from primad.transforms.lowering import apply_program_op, inline
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program, refilled
from tests.sweeps import WIDTHS, thinned

Function = Callable[..., Any]


def newton(a: Any) -> Any:
    return primad.while_loop(lambda x: np.abs(x * x - a) > 1e-10, lambda x: 0.5 * (x + a / x), 0.5 * a + 1.0)


def steps_of_newton(a: Any) -> Any:
    x = 0.5 * a + 1.0
    while abs(primad.value(x * x - a)) > 1e-10:
        x = 0.5 * (x + a / x)
    return x


def derivatives(f: Function, a: float) -> list[Any]:
    return [
        f(a),
        primad.grad(f)(a),
        primad.jvp(f, (a,), (2.0,)),
        primad.vjp(f, a)[1](2.0),
        primad.linearize(f, a)[1](2.0),
        primad.grad(primad.grad(f))(a),
        primad.jvp(primad.grad(f), (a,), (2.0,))[1],
        primad.grad(lambda a: primad.jvp(f, (a,), (2.0,))[1])(a),
        primad.grad(primad.grad(primad.grad(f)))(a),
        *primad.taylor(f, a, 1.0, 3),
    ]


@pytest.mark.parametrize("a", [2.0, 9.0, 0.3])
def test_a_while_loop_is_differentiated_as_its_steps_are(a: float) -> None:
    np.testing.assert_allclose(
        np.hstack(list(map(np.ravel, primad.recording.tree.leaves(derivatives(newton, a))))),
        np.hstack(list(map(np.ravel, primad.recording.tree.leaves(derivatives(steps_of_newton, a))))),
        rtol=1e-9,
    )


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


def of_random_steps(choose: Seeded, most: int) -> tuple[Function, list[Any]]:
    """Return a loop that takes so many steps of a random program, at most 2 of which are not taken, and arguments."""
    program = draw_program(choose, most)
    rng = np.random.default_rng(choose.integer(0, 1000))

    def loop(count: Any, *xs: Any) -> Any:
        def step(state: Any) -> Any:
            out = inline(program, state[1])
            return state[0] + 1, [np.sin(refilled(out[i % len(out)], x.shape)) for i, x in enumerate(state[1])]

        return primad.while_loop(lambda state: state[0] < count, step, (0, list(xs)))[1]

    return loop, [rng.uniform(0.3, 0.7, type.shape) for type in program.in_types]


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


def falling_back(count: Any, x: Any) -> Any:
    return primad.while_loop(lambda s: s[0] < count, lambda s: (s[0] + 1, 0.5 * s[1] + np.cos(s[1])), (0, x))[1]


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


def test_trees_counts_and_closures_in_a_while_loop() -> None:
    def collatz(n: int) -> Any:
        def step(state: Any) -> Any:
            n, count = state
            return np.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

        return primad.while_loop(lambda state: state[0] != 1, step, (n, 0))[1]

    assert collatz(27) == 111
    assert collatz(1) == 0
    p = np.array([0.9, 0.8])

    def decay(p: Any) -> Any:
        scale = np.sin(p)
        found = primad.while_loop(lambda s: np.sum(s["x"]) > 0.5, lambda s: {"x": s["x"] * scale}, {"x": np.ones(2)})
        return np.sum(found["x"] * p)

    def by_hand(p: Any) -> Any:
        return np.sum(np.sin(p) ** 5 * p)

    assert np.sum(np.sin(p) ** 4) > 0.5 > np.sum(np.sin(p) ** 5)
    np.testing.assert_allclose(primad.hessian(decay)(p), primad.hessian(by_hand)(p), rtol=1e-9)


def test_a_loop_that_does_not_end_is_stopped_with_its_line() -> None:
    def f(x: Any) -> Any:
        return primad.while_loop(lambda x: x > 0, lambda x: x + 1, x, max_steps=7)  # the loop

    with pytest.raises(primad.StepsError, match="max_steps=7") as caught:
        primad.jit(f)(1.0)
    line = f.__code__.co_firstlineno + 1
    assert f"{__file__}:{line}" in str(caught.value)
    with pytest.raises(primad.StepsError, match="max_steps=7") as caught:
        primad.jit(f, memory=10**6)(1.0)  # in steps of a plan
    assert f"{__file__}:{line}" in "".join(caught.value.__notes__)

    def inside(x: Any) -> Any:
        return primad.scan(lambda c, row: (c, f(row)), x, np.array([-1.0, -2.0, 1.0, -1.0]))

    with pytest.raises(primad.StepsError, match="max_steps=7") as caught:
        primad.jit(inside)(1.0)
    assert f"{__file__}:{line}" in str(caught.value)
    assert f(-1.0) == -1.0


def test_branches() -> None:
    def f(x: Any) -> Any:
        return primad.cond(x > 0, np.sqrt, lambda x: 0.0 * x, x)

    x = np.array([4.0, -1.0, 0.0])
    for g in (f, primad.grad(f), primad.grad(primad.grad(f)), primad.grad(primad.jit(primad.grad(f)))):
        expected = [g(one) for one in x]
        assert np.all(np.isfinite(expected))
        np.testing.assert_allclose(primad.vmap(g)(x), expected, atol=1e-12)
    np.testing.assert_allclose(primad.grad(lambda x: np.sum(primad.vmap(f)(x)))(x), [0.25, 0, 0])

    def h(i: Any, x: Any) -> Any:
        return primad.switch(i, [np.sin, lambda x: x**3, lambda x: 2.0], x)

    for order in range(4):
        g = h
        for _ in range(order):
            g = primad.grad(g, 1)
        exact = [[np.sin(0.5), np.cos(0.5), -np.sin(0.5), -np.cos(0.5)], [0.125, 0.75, 3.0, 6.0], [2.0, 0, 0, 0]]
        for i, row in ((-3, 0), (0, 0), (1, 1), (2, 2), (7, 2)):
            assert g(i, 0.5) == pytest.approx(exact[row][order])
        found = primad.vmap(g)(np.arange(3), np.full(3, 0.5))
        np.testing.assert_allclose(found, [row[order] for row in exact], atol=1e-12)


def test_branches_may_be_constants_without_operands() -> None:
    def chosen(i: Any) -> Any:
        many = primad.switch(i, [lambda: (1.0, np.arange(3)), lambda: (2, np.ones(3, int))])
        return many, primad.cond(i > 0, lambda: 5.0, lambda: 6.0), primad.switch(i, [lambda: (), lambda: ()])

    for given in (np.int64(0), np.uint8(1), np.int8(-4), 9):
        (number, array), other, nothing = plain = chosen(given)
        assert (number, other, nothing) == ((2.0, 5.0, ()) if given > 0 else (1.0, 6.0, ()))
        np.testing.assert_array_equal(array, np.ones(3) if given > 0 else np.arange(3))
        mapped = primad.vmap(chosen)(np.array([given]))
        for found in (primad.jit(chosen)(given), tree.map(lambda leaf: leaf[0], mapped)):
            for got, wanted in zip(tree.leaves(found), tree.leaves(plain), strict=True):
                np.testing.assert_array_equal(got, wanted)
    slope = primad.grad(lambda x: x * primad.cond(x > 0, lambda: 3.0, lambda: 4.0))
    np.testing.assert_array_equal(primad.vmap(slope)(np.array([1.0, -1.0])), [3.0, 4.0])
    for wrong in (-1, 300):
        with pytest.raises(OverflowError):
            primad.cond(True, lambda x, wrong=wrong: wrong, lambda x: x, np.uint8(2))


def test_a_branch_runs_only_if_it_is_chosen() -> None:
    """The other one would raise."""

    def f(on: Any, m: Any) -> Any:
        return primad.cond(on, lambda m: np.sum(np.linalg.inv(m)), np.trace, m)

    singular = np.ones((2, 2))
    assert primad.jit(f)(False, singular) == 2.0
    np.testing.assert_array_equal(primad.grad(f, 1)(False, singular), np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        f(True, singular)


def test_loops_and_branches_in_each_other() -> None:
    def f(p: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            c = primad.cond(x > 0.5, lambda c: c * np.sin(p * x), lambda c: c + p, c)
            return c, primad.while_loop(lambda y: y < 1.0, lambda y: y * 1.5 + 0.1 * p, c)

        c, ys = primad.scan(step, p, np.array([0.9, 0.1, 0.7]))
        return c + np.sum(ys**2)

    def plain(p: Any) -> Any:
        c, total = p, 0.0
        for x in (0.9, 0.1, 0.7):
            c = c * np.sin(p * x) if x > 0.5 else c + p
            y = c
            while primad.value(y) < 1.0:
                y = y * 1.5 + 0.1 * p
            total = total + y**2
        return c + total

    for a in (0.4, 1.3):
        found, expected = (
            primad.recording.tree.leaves(derivatives(f, a)),
            primad.recording.tree.leaves(derivatives(plain, a)),
        )
        np.testing.assert_allclose(found, expected, rtol=1e-8)
    stack = np.array([0.4, 1.3])
    np.testing.assert_allclose(primad.vmap(primad.grad(f))(stack), [primad.grad(plain)(a) for a in stack], rtol=1e-8)


def test_texts_read_back() -> None:
    program = primad.trace(primad.vmap(newton))(np.ones(3))
    again = primad.parse(str(program))
    assert again.key == program.key
    np.testing.assert_array_equal(again(np.full(3, 2.0)), program(np.full(3, 2.0)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: primad.while_loop(lambda x: x, lambda x: x + 1, 0.5), "boolean.*float64"),
        (lambda: primad.while_loop(lambda x: x > 0, lambda x: x + 1, np.ones(2)), r"boolean.*bool\[2\]"),
        (lambda: primad.while_loop(lambda x: (x > 0, x), lambda x: x + 1, 0.5), "boolean.*tuple"),
        (lambda: primad.while_loop(lambda x: x[0] > 0, lambda x: x[0], (0.5,)), "structure"),
        (lambda: primad.while_loop(lambda x: np.sum(x) > 0, lambda x: np.stack([x, x]), 0.5), r"\[\] before.*\[2\]"),
        (lambda: primad.while_loop(lambda x: x > 0, lambda x: x - 1, 0.5, max_steps=0.5), "integer"),
        (lambda: primad.cond(1.0, np.sin, np.cos, 0.5), "boolean"),
        (lambda: primad.cond(True, np.sin, lambda x: (x,), 0.5), "tree"),
        (lambda: primad.cond(True, np.sin, lambda x: np.stack([x, x]), 0.5), r"float64\[\].*float64\[2\]"),
        (lambda: primad.switch(0.5, [np.sin], 0.5), "integer"),
        (lambda: primad.switch(0, [], 0.5), "no branches"),
    ],
)
def test_mistakes_are_named_with_the_line(call: Function, message: str) -> None:
    with pytest.raises(primad.PrimadError, match=message) as caught:
        call()
    assert f"in {__file__}:" in str(caught.value)


def test_stacks_without_elements() -> None:
    empty = np.ones(0)

    def chosen(x: Any) -> Any:
        return primad.cond(x > 0, np.sqrt, lambda x: 0.0 * x, x)

    for f in (newton, primad.grad(newton), chosen, primad.grad(chosen)):
        assert primad.vmap(f)(empty).shape == (0,)
