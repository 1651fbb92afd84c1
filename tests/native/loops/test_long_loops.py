"""Loops of any number of steps are parts of native functions, in which Python sees signals and other threads run."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad.native.llvm.compile_limits import BUDGET
from primad.native.loops import body_programs, nested_loops
from primad.recording import tree
from tests.sweeps import thinned

MOST = 1 << 60


def turning(size: int) -> Callable[[Any, Any], Any]:
    """Steps on an array, of which as many are taken as the second argument says."""
    rows = np.cos(np.arange(size * size)).reshape(size, size) / size

    def turned(x: Any, count: Any) -> Any:
        def step(state: Any) -> Any:
            k, x = state
            return k + 1, np.tanh(rows @ x + 0.1) * 0.99 + 1e-3 * k / (1.0 + k)

        return primad.while_loop(lambda state: state[0] < count, step, (0, x), MOST)[1]

    return turned


def in_a_scan(f: Any) -> Callable[[Any, Any], Any]:
    return lambda x, count: primad.scan(lambda c, k: (f(c, count - k), c[0]), x, np.arange(3))


def in_a_loop(f: Any) -> Callable[[Any, Any], Any]:
    def looped(x: Any, count: Any) -> Any:
        def step(state: Any) -> Any:
            return state[0] + 1, f(state[1], count - state[0])

        return primad.while_loop(lambda state: state[0] < 2, step, (0, x), MOST)[1]

    return looped


PLACES: dict[str, Callable[..., Any]] = {"alone": lambda f: f, "scan": in_a_scan, "while": in_a_loop}
SIZES = {"registers": 5, "calls": 40}


@pytest.mark.one_in(4)
@thinned(2, place=list(PLACES), way=list(SIZES), at_once=[1, 2_000, 20_000])
def test_steps_between_signals_change_nothing(
    place: str, way: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For no step, one, even and odd numbers, as many as are taken at once and more."""
    for module in (body_programs, nested_loops):
        monkeypatch.setattr(module, "BUDGET", replace(BUDGET, uninterrupted=at_once))
    size = SIZES[way] + len(place) % 3 + at_once % 7  # programs of their own, so that no other plan is found
    f = primad.jit(PLACES[place](turning(size)))
    same = primad.jit(PLACES[place](turning(size)), backend="reference")
    x = np.sin(np.arange(size))
    for count in (0, 1, 2, 3, 8, 33, 64):
        for got, want in zip(tree.leaves(f(x, count)), tree.leaves(same(x, count)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)
    assert "plan: one native function" in str(primad.explain(PLACES[place](turning(size)), x, 3))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("way", SIZES)
@pytest.mark.parametrize("place", PLACES)
def test_long_loops_see_signals(place: str, way: str) -> None:
    """What a handler raises is what the caller gets, and the next call goes well."""

    class Alarm(Exception):
        pass

    def ring(*_: Any) -> None:
        raise Alarm("rings")

    f, x = primad.jit(PLACES[place](turning(SIZES[way]))), np.ones(SIZES[way])
    first = f(x, 3)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        for _ in range(2):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(Alarm, match="rings"):
                f(x, 1 << 50)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    for got, want in zip(tree.leaves(f(x, 3)), tree.leaves(first), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("way", SIZES)
def test_other_threads_run_beside_a_long_loop(way: str) -> None:
    f, x = primad.jit(turning(SIZES[way])), np.ones(SIZES[way])
    f(x, 3)
    times: list[float] = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.002):
            times.append(time.perf_counter())

    other = threading.Thread(target=watch)
    other.start()
    try:
        count, start, end = 1000, 0.0, 0.0
        while end - start < 0.1:
            count *= 4
            start = time.perf_counter()
            f(x, count)
            end = time.perf_counter()
    finally:
        ended.set()
        other.join()
    assert len([t for t in times if start < t < end]) >= 3


def test_a_long_loop_that_does_not_end_says_so() -> None:
    for size in SIZES.values():
        rows = np.eye(size)

        def endless(x: Any, rows: Any = rows) -> Any:
            step = lambda x: np.sqrt(rows @ (x * x))  # noqa: E731
            return primad.scan(lambda c, _: (primad.while_loop(lambda x: x[0] > 0, step, c, 40_000), None), x, length=2)

        with pytest.raises(primad.StepsError, match="max_steps=40000"):
            primad.jit(endless)(np.ones(size))
