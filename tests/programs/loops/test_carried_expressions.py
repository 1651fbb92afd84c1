"""What a step would compute again of what it carries is carried: the same values and derivatives, once each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primad
from primad.functional.control import user_loops
from primad.programs.loops.scan import scan

X = np.linspace(0.2, 1.1, 6).reshape(2, 3)
ROWS = np.random.default_rng(0).normal(size=(5, 2, 3))


def pulled(x: Any) -> Any:
    apart = x[None] - x[:, None]
    return np.sum(apart / (np.sum(apart**2, 2) + 0.1)[:, :, None] ** 1.5, 1)


def leapfrog(p: Any, rows: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        x, v = c
        v = v + 0.05 * pulled(x)
        x = x + 0.1 * p * v
        return (x, v + 0.05 * pulled(x)), np.sum(v)

    return primad.scan(step, (X, 0.0 * X), None, length=5)


def two_steps(p: Any, rows: Any) -> Any:
    """Of Adams and Bashforth, with rows: the slope of the value before is that of the last step."""

    def slope(x: Any) -> Any:
        return np.sin(p * np.exp(np.cos(x)))

    def step(c: Any, row: Any) -> Any:
        before, x = c
        return (x, x + 0.1 * (1.5 * slope(x) - 0.5 * slope(before)) + 0.01 * row), slope(x)

    return primad.scan(step, (X, X + 0.1), rows)


def same_stage(p: Any, rows: Any) -> Any:
    """A Runge–Kutta step whose last stage is the first one of the next, backwards over rows."""

    def slope(x: Any) -> Any:
        return np.tanh(x @ np.swapaxes(x, 0, 1) @ x * p)

    def step(x: Any, row: Any) -> Any:
        first = slope(x)
        after = x + 0.1 * slope(x + 0.05 * first)
        return after, np.sum((slope(after) - first) * row)

    return primad.scan(step, X, rows, reverse=True)


def cheap(p: Any, rows: Any) -> Any:
    """To carry a sum costs more than to add."""
    return primad.scan(lambda x, row: (x + p, (x + 1.0) * (x + p + 1.0)), X, rows)


LOOPS: dict[str, tuple[Any, int]] = {
    "leapfrog": (leapfrog, 1), "two steps": (two_steps, 1), "same stage": (same_stage, 1), "cheap": (cheap, 0),
}  # fmt: skip


def _total(loop: Any) -> Any:
    def total(p: Any) -> Any:
        carry, results = loop(p, ROWS)
        parts = carry if isinstance(carry, tuple) else (carry,)
        return sum(np.sum(x**2) for x in parts) + np.sum(np.sin(results))

    return total


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", LOOPS)
def test_values_and_derivatives_are_those_of_the_steps_as_written(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, more = LOOPS[name]
    total = _total(loop)
    transforms = (lambda f: f, primad.grad, lambda f: primad.grad(primad.grad(f)), lambda f: primad.jit(primad.grad(f)))
    program = primad.trace(total)(1.3)
    found = [transform(total)(1.3) for transform in transforms]
    monkeypatch.setattr(user_loops, "with_carried_expressions", lambda of, given, carry, stacked: (of, given, carry))
    plain = primad.trace(total)(1.3)
    carried, before = ([dict(node.params)["carry"] for node in x.nodes if node.op is scan] for x in (program, plain))
    assert [carry - old for carry, old in zip(carried, before, strict=True)] == [more]
    assert (program.cost().flops < 0.9 * plain.cost().flops) == bool(more)
    for transform, value in zip(transforms, found, strict=True):
        np.testing.assert_allclose(value, transform(total)(1.3), rtol=1e-12)


FUNCTIONS = (np.sin, np.tanh, lambda x: np.exp(np.sin(x)), lambda x: np.sqrt(1.0 + np.cumsum(x) ** 2))


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=5))
def test_random_steps_are_as_written(parts: list[tuple[int, int, int]]) -> None:
    """Steps of functions of what comes in, of what goes out, and of rows, in any order."""

    def step(c: Any, row: Any) -> Any:
        x, y = c
        known = [x, y, row]
        for which, i, j in parts:
            known[i] = FUNCTIONS[which](known[i]) + 0.5 * FUNCTIONS[which](known[j])
        after = known[0], known[1]
        which, i, _ = parts[0]
        return after, FUNCTIONS[which]((*after, row)[i]) * FUNCTIONS[which]((*c, row)[i])

    def unrolled(x: Any, rows: Any) -> Any:
        c, results = (x, 0.5 * x), []
        for row in rows:
            c, result = step(c, row)
            results.append(result)
        return np.sum(c[0] * c[1]) + np.sum(np.stack(results))

    def looped(x: Any, rows: Any) -> Any:
        c, results = primad.scan(step, (x, 0.5 * x), rows)
        return np.sum(c[0] * c[1]) + np.sum(results)

    x, rows = np.linspace(0.1, 0.4, 4), np.linspace(-0.5, 0.5, 12).reshape(3, 4)
    np.testing.assert_allclose(looped(x, rows), unrolled(x, rows), rtol=1e-10)
    np.testing.assert_allclose(primad.grad(looped)(x, rows), primad.grad(unrolled)(x, rows), rtol=1e-8, atol=1e-10)
