"""Loops that are made ahead: each once, the same, and nobody waits for ever."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import primad
from primad.ir.node import Leaf
from primad.native.llvm.compiler import WRITTEN
from primad.runtime.loops import loop_executables
from primad.runtime.loops.loops_ahead import LoopsAhead

PATIENCE, PAUSE = 60.0, 0.01


def _gradient(power: float) -> Any:
    """A gradient with two loops that are steps of a plan, which are new where the power is."""

    def loss(strengths: Any, x: Any) -> Any:
        found = primad.scan(lambda c, s: ((1j * x + s**power * x.T) @ c, None), x, strengths)[0]
        return np.sum(np.abs(found) ** 2)

    return primad.jit(primad.grad(loss))


STRENGTHS, X = np.linspace(0.1, 0.2, 5), np.linspace(0.0, 0.01, 100 * 100).reshape(100, 100) + 0j


def test_each_loop_is_made_once_and_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made ahead is what a run asks for, so nothing is made twice; and it is the same."""
    made, make = [], loop_executables._made
    monkeypatch.setattr(
        loop_executables, "_made", lambda of, *args: (made.append((of.key, threading.get_ident())), make(of, *args))[1]
    )
    found = _gradient(2.0)(STRENGTHS, X)
    keys, threads = zip(*made, strict=True)
    assert len(keys) == len(set(keys)) == 2
    assert threading.main_thread().ident not in threads
    with monkeypatch.context() as alone:
        alone.setattr(loop_executables, "thread_count", lambda: 1)
        alone.setattr(loop_executables, "EXECUTABLES", type(loop_executables.EXECUTABLES)(8))
        made.clear()
        np.testing.assert_array_equal(_gradient(2.0)(STRENGTHS, X), found)
    assert {thread for _, thread in made} <= {threading.main_thread().ident}


def test_loops_whose_members_end_by_themselves_are_not_made_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """They run as loops over members, and a loop of one member would be made for nothing."""
    begun: list[Any] = []
    monkeypatch.setattr(loop_executables.AHEAD, "begin", lambda makers: begun.extend(makers))

    def halved(x: Any) -> Any:
        return primad.while_loop(lambda c: np.sum(c) > 1.0, lambda c: c @ c.T / 8.0, x, max_steps=50)

    x = np.ones((3, 40, 40)) / 40
    for function, value, is_begun in ((primad.vmap(halved), x, False), (halved, x[0], True)):
        program = primad.trace(function)(value)
        steps = [node for node in program.nodes if not isinstance(node.op, Leaf)]
        loop_executables.begin_loops(steps, program, None)
        assert bool(begun) is is_begun


def _waited(ahead: LoopsAhead, key: str) -> None:
    """Wait for a value, for so long that who waits for ever is found."""
    thread = threading.Thread(target=lambda: ahead.wait(key), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_value_that_cannot_be_made_is_left_to_who_asks() -> None:
    ahead, made = LoopsAhead(), []

    def fails() -> None:
        raise ValueError

    ahead.begin({"first": fails, "second": lambda: made.append(1)})
    _waited(ahead, "first")
    _waited(ahead, "second")
    deadline = time.monotonic() + PATIENCE
    while (ahead._waiting or ahead._making) and time.monotonic() < deadline:
        time.sleep(PAUSE)
    assert not ahead._making and len(made) <= 1


@pytest.mark.parametrize("first", ["outer", "inner"])
def test_values_that_need_others_do_not_wait_for_ever(first: str) -> None:
    """As a loop in a loop, which is a loop of its own elsewhere, whichever thread has which."""
    ahead, order = LoopsAhead(), []

    def outer() -> None:
        time.sleep(PAUSE)
        ahead.wait("inner")
        order.append("outer")

    def inner() -> None:
        time.sleep(PAUSE)
        order.append("inner")

    makers = {"outer": outer, "inner": inner}
    ahead.begin({first: makers[first], **makers})
    for key in makers:
        _waited(ahead, key)
    ahead.end()
    assert set(order) <= {"outer", "inner"} and len(order) <= 2


def test_without_threads_who_asks_makes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("primad.runtime.loops.loops_ahead.start_new_thread", none)
    ahead = LoopsAhead()
    ahead.begin({"only": lambda: None})
    assert not ahead._waiting and not ahead._writers  # nothing is held for threads that never are
    _waited(ahead, "only")


def test_the_next_is_written_while_llvm_has_the_last_one() -> None:
    """The turn passes on when LLVM begins, and not before; and when all is made."""
    ahead, begun, order = LoopsAhead(), threading.Event(), []

    def first() -> None:
        time.sleep(10 * PAUSE)  # it is being written
        order.append(begun.is_set())
        WRITTEN.get()()
        order.append(begun.wait(PATIENCE))

    ahead.begin({"first": first, "second": begun.set, "third": lambda: order.append("third")})
    deadline = time.monotonic() + PATIENCE
    while ahead._writers and time.monotonic() < deadline:
        time.sleep(PAUSE)
    assert order[:2] == [False, True] or order == [False, "third", True]
    assert not ahead._writers and not ahead._making


def test_there_are_two_threads_however_many_plans_begin() -> None:
    ahead, goes_on, most = LoopsAhead(), threading.Event(), []
    for plan in range(5):
        ahead.begin({(plan, loop): goes_on.wait for loop in range(3)})
        most.append(len(ahead._writers))
    goes_on.set()
    deadline = time.monotonic() + PATIENCE
    while (ahead._writers or ahead._waiting) and time.monotonic() < deadline:
        time.sleep(PAUSE)
    assert max(most) == 2 and not ahead._writers and not ahead._waiting


ENDS = """
import numpy as np, primad
from primad.runtime.loops import loop_executables
x = np.ones((100, 100)) / 100 + 0j
loss = lambda s, x: np.sum(np.abs(primad.scan(lambda c, s: ((1j * x + s * x) @ c, None), x, s)[0]) ** 2)
def stop(*args): raise SystemExit(0)
import primad.runtime.loops.loop_runs as runs
runs.steps_of = stop
primad.jit(primad.grad(loss))(np.ones(5), x)
print('not stopped')
"""


def test_a_process_may_end_while_loops_are_made() -> None:
    done = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
