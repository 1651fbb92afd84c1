"""Loops whose members threads share: in pieces that do not depend on the threads, with the errors of the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad.native.emit import op_table
from primad.native.llvm import compiler as native
from primad.native.llvm.compile_limits import BUDGET
from primad.parallel.threads import on_threads
from primad.recording import tree
from primad.runtime.cache import Cache
from primad.runtime.executors.dispatch import REFERENCE
from primad.runtime.executors.executor import PLAIN
from primad.runtime.loops import loop_executables, shared_loops
from primad.runtime.loops.driven_loops import DrivenLoop
from primad.simplify import simplify

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share even small loops, in pieces of two members where there are enough."""
    monkeypatch.setattr(loop_executables, "EXECUTABLES", Cache(512))
    monkeypatch.setattr(op_table, "BUDGET", replace(BUDGET, instructions=-1))
    for name in ("PIECE", "THREAD_WORK"):
        monkeypatch.setattr(shared_loops, name, 1)
    monkeypatch.setattr(shared_loops, "_length", lambda program, members: 2 if members.length < 70 else 35)


def draws(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def turned(c: Any, y: Any) -> Any:
    return np.exp(1j * y) * c + 0.1, np.real(c) * y


SHARED: dict[str, Callable[[int], tuple[Any, ...]]] = {
    "rows and results": lambda n: (lambda c, y: (np.sin(c) * y + c, c * y), draws(n), draws(4, n)),
    "a carried value of all": lambda n: (
        lambda c, y: ((c[0] * 0.9 + y, np.tanh(c[1] * c[0])), (c[0] * 2.0, c[1] + 1.0)),
        (np.float64(0.3), draws(n, 3)),
        draws(5),
    ),
    "the last axis": lambda n: (lambda c, y: (draws(3, 3) @ np.cos(c) + y, c[0] * y), draws(3, n), draws(4, 3, n)),
    "complex numbers": lambda n: (turned, draws(n, 2) + 1j, draws(4, n, 2)),
    "rows that are the same": lambda n: (
        lambda c, y: (c * np.cos(y), c + y),
        draws(n, 3),
        np.broadcast_to(draws(4, 1, 3), (4, n, 3)),
    ),
    "rows in another order": lambda n: (lambda c, y: (c * np.cos(y), c + y), draws(n, 3), draws(3, n, 4).T),
    "numbers and truth": lambda n: (
        lambda c, y: ((c[0] + 1, c[1] ^ (y > 0.0)), c[0] * y),
        (np.arange(n), draws(n) > 0.0),
        draws(4, n),
    ),
    "a matrix for each": lambda n: (
        lambda c, y: (np.linalg.solve(c + 3.0 * np.eye(2), c * y[:, None, None]), np.trace(c, axis1=1, axis2=2)),
        draws(n, 2, 2),
        draws(4, n),
    ),
}
SAME: dict[str, Callable[[Any], Any]] = {
    "a loop": lambda x: primad.scan(lambda d, _: (np.cos(d), None), x, None, length=3)[0],
    "a loop that ends by itself": lambda x: primad.while_loop(lambda d: d < 1.0, lambda d: d + np.exp(x), x, 9),
    "a loop with results": lambda x: np.sum(primad.scan(lambda d, y: (d * y, d + y), x, x + np.arange(3.0))[1]),
    "a table": lambda x: np.interp(x, np.arange(3.0), np.cos(np.arange(3.0))),
    "a matrix": lambda x: np.linalg.det(np.eye(3) + x) + np.sort(np.arange(3.0) * x)[0],
}
"""What a step computes of what all members share."""
WHOLE: dict[str, Callable[[int], tuple[Any, ...]]] = {
    "a sum that the next step takes": lambda n: (lambda c, y: (c * y - np.sum(c), None), draws(n), draws(4, n)),
    "an order": lambda n: (lambda c, y: (np.cumsum(c) * y, c), draws(n), draws(4, n)),
    "an axis that moves": lambda n: (lambda c, y: (c.T * y, None), draws(n, n), draws(4)),
    "a sum of each step": lambda n: (lambda c, y: (c * y, np.sum(c)), draws(n), draws(4, n)),
}


def runs(step: Any, start: Any, rows: Any, reverse: bool = False, threads: int = 1) -> list[Any]:
    """Return what a loop gives on threads."""
    program = simplify(primad.trace(lambda *of: primad.scan(step, *of, reverse=reverse))(start, rows))
    given = tree.leaves((start, rows))
    return on_threads(threads, lambda: REFERENCE.prepare(program, PLAIN).run(given))  # a loop is one op there


def expected_of(step: Any, start: Any, rows: Any, reverse: bool = False) -> list[Any]:
    """Return what the steps give in Python."""
    made = {}
    for i in reversed(range(len(rows))) if reverse else range(len(rows)):
        start, made[i] = step(start, rows[i])
    each = [tree.leaves(made[i]) for i in range(len(rows))]
    return [*tree.leaves(start), *map(np.stack, zip(*each, strict=True))]


def ways_taken() -> list[str]:
    return [made.summary for key, made in loop_executables.EXECUTABLES.items() if key.kind == "loop"]


@pytest.mark.parametrize("name", SHARED)
def test_members_are_shared_and_bits_do_not_depend_on_threads(name: str) -> None:
    for size, reverse in ((5, True), (4, False)):
        case = SHARED[name](size)
        one, expected = runs(*case, reverse=reverse), expected_of(*case, reverse=reverse)
        assert all("members at a time" in way for way in ways_taken())
        for got, want in zip(one, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
        for threads in (2, 3):
            for got, want in zip(runs(*case, reverse=reverse, threads=threads), one, strict=True):
                np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", SAME)
def test_what_all_members_share_is_computed_with_each_piece(name: str) -> None:
    def step(c: Any, y: Any) -> Any:
        return (c[0] * 0.5, c[1] * y + SAME[name](c[0])), (c[1], SAME[name](c[0] + 0.2))

    case = step, (np.float64(0.3), draws(5)), draws(4, 5)
    found = runs(*case, threads=2)
    assert any("members at a time" in way for way in ways_taken())
    for got, want in zip(found, expected_of(*case), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("name", WHOLE)
def test_members_that_do_not_stay_apart_are_not_shared(name: str) -> None:
    case = WHOLE[name](6)
    found, expected = runs(*case, threads=2), expected_of(*case)
    assert not any("members" in way for way in ways_taken())
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_an_op_that_is_not_defined_says_what_it_says_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(c: Any, y: Any) -> Any:
        return c - y[:, None, None], np.linalg.solve(c, np.eye(2) + 0.0 * c)

    start, rows = np.stack([np.eye(2) * k for k in (5.0, 4.0, 3.0, 9.0, 2.0)]), np.ones((4, 5))
    messages = set()
    for threads in (1, 2, 3):
        with pytest.raises(primad.PrimadError) as caught:
            runs(step, start, rows, threads=threads)
        messages.add(str(caught.value))
    assert any("members at a time" in way for way in ways_taken())
    monkeypatch.setattr(loop_executables, "EXECUTABLES", Cache(512))
    monkeypatch.setattr(shared_loops, "PIECE", 2**40)
    with pytest.raises(primad.PrimadError) as caught:
        runs(step, start, rows)
    assert not any("members" in way for way in ways_taken())
    assert messages == {str(caught.value)} and "[4]" in str(caught.value)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_all_pieces_and_leaves_what_was_given(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    take = DrivenLoop.take

    def interrupted(self: DrivenLoop, *given: Any) -> int:
        taken.append(given)
        if len(taken) == 3:
            raise KeyboardInterrupt
        return take(self, *given)

    monkeypatch.setattr(DrivenLoop, "take", interrupted)
    case = SHARED["rows and results"](40)
    with pytest.raises(KeyboardInterrupt):
        runs(*case, threads=threads)
    assert 3 <= len(taken) <= 2 + threads
    monkeypatch.setattr(DrivenLoop, "take", take)
    np.testing.assert_allclose(runs(*case, threads=threads)[0], expected_of(*case)[0], rtol=1e-12)


def test_loops_of_a_gradient_are_shared() -> None:
    def loss(w: Any, x: Any, y: Any) -> Any:
        return np.sum(primad.scan(lambda c, row: (np.sin(c * w[:, None]) + row, None), x, y)[0] ** 2)

    def plain(w: Any, x: Any, y: Any) -> Any:
        for i in range(3):
            x = np.sin(x * w[:, None]) + y[i]
        return np.sum(x**2)

    given = draws(70), draws(70, 2), draws(3, 70, 2)
    program = simplify(primad.trace(primad.grad(loss, argnums=(0, 1, 2)))(*given))
    found = on_threads(2, lambda: REFERENCE.prepare(program, PLAIN).run(given))
    assert ways_taken() and all("members at a time" in way for way in ways_taken())
    for got, want in zip(found, primad.grad(plain, argnums=(0, 1, 2))(*given), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11)


def test_small_steps_are_not_shared_and_what_all_pieces_repeat_is_a_small_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    def ways(size: int, shared: int) -> list[str]:
        monkeypatch.setattr(loop_executables, "EXECUTABLES", Cache(512))
        start = np.eye(shared) / shared, np.zeros(size)
        runs(lambda c, y: ((c[0] @ c[0], np.sin(c[1]) + np.cos(c[1] * y) + c[0][0, 0]), None), start, np.ones(2))
        return ways_taken()

    assert not any("members" in way for way in ways(200, 2))
    assert ways(20_000, 2)[0].startswith("2000 of 20000 members at a time")
    assert not any("members" in way for way in ways(20_000, 60))
