"""Loops of unknown length and branches: values and derivatives of any order are those of what ran."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad.recording import tree
from primad.transforms.lowering import inline
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program, refilled

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


def falling_back(count: Any, x: Any) -> Any:
    return primad.while_loop(lambda s: s[0] < count, lambda s: (s[0] + 1, 0.5 * s[1] + np.cos(s[1])), (0, x))[1]


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
