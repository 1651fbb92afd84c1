"""The process stays whole: forked while threads compile and run, and under a storm of interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from primad.system.process import Held, surely, undisturbed
from tests.sweeps import thinned

WORK = """
import gc, os, random, signal, sys, threading, time
import numpy as np
import primad
from primad.functional.control import inlining as jitted
from threadpoolctl import threadpool_info

primad.set_num_threads(2)
rng = np.random.default_rng(0)
W, X, v = rng.normal(size=(48, 48)) / 8, rng.normal(size=(3000, 48)), rng.normal(size=5)
small, large = np.linspace(0.0, 1.0, 50), np.linspace(0.0, 1.0, 50_000)


def work(c):
    "One program of each kind: a native function, tiles, products of matrices, kernels; new ones where c is new."
    return [
        primad.jit(lambda x: np.sin(x * c) + c)(v),
        primad.jit(lambda w: np.sum(np.tanh(X @ w) ** 2) * c)(W),
        primad.grad(lambda w: np.sum(np.tanh(X[:200] @ w) ** 2))(W),
        primad.grad(lambda x: np.sum(np.exp(-(x**2)) * c))(large),
    ]


def state():
    threads = [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]
    return threads, gc.isenabled(), np.geterr(), primad.get_num_threads()


def child_is_whole():
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)  # the end of one that hangs
        fresh = work(1000.5)
        whole = state() == before and all(map(np.array_equal, work(1.25), expected)) and len(fresh) == 4
        os._exit(0 if whole else 1)
    return os.waitpid(pid, 0)[1] == 0


expected, before = work(1.25), state()
"""

FORKS = """
stop = threading.Event()


def go_on(start):
    for i in range(10_000):
        if stop.is_set():
            return
        work(start + i / 1024)


threads = [threading.Thread(target=go_on, args=(start,)) for start in (2.0, 100.0, 200.0)]
for thread in threads:
    thread.start()
whole = 0
for _ in range(8):
    time.sleep(0.03)
    whole += child_is_whole()
stop.set()
for thread in threads:
    thread.join()
sys.exit(0 if whole == 8 and state() == before else f"{whole} of 8 children are whole, {state()}")
"""

STORM = """
signal.signal(signal.SIGINT, signal.default_int_handler)
main, stop, pauses = threading.main_thread().ident, threading.Event(), random.Random(int(sys.argv[1]))


def interrupt():
    begun.wait()
    while not stop.is_set():
        time.sleep(pauses.choice([1e-4, 1e-3, 1e-2, 5e-2]))
        signal.pthread_kill(main, signal.SIGINT)


def weather():
    "Work until the end of the storm; each interrupt that comes is counted."
    global runs, hits
    while not stop.is_set():
        try:
            begun.set()
            while time.monotonic() < end:
                runs += 1
                work(runs / 1024)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            stop.set()
        except KeyboardInterrupt:
            hits += 1


begun = threading.Event()
storm = threading.Thread(target=interrupt)
runs = hits = 0
end = time.monotonic() + 2.0
storm.start()
while not stop.is_set():
    try:
        weather()
    except KeyboardInterrupt:  # one that came while another was being counted
        hits += 1
storm.join()
same = all(map(np.array_equal, work(1.25), expected))
if not (hits > 5 and state() == before and same and child_is_whole()):
    sys.exit(f"{runs} runs, {hits} interrupts; same results {same}, state {state()}, was {before}")
"""


LOOPS = """
signal.signal(signal.SIGINT, signal.default_int_handler)
main = threading.main_thread().ident


def turns(x, most, body):
    return primad.while_loop(lambda s: s[1] < most, lambda s: (body(s[0]), s[1] + 1), (x, 0), most)[0]


def inner(x):
    return primad.scan(lambda c, _: (np.sin(c) * 0.9 + x, None), x, length=1000)[0]


step = primad.jit(inner)
KINDS = {
    "loops in a scan": lambda x: primad.scan(
        lambda c, _: (turns(c, 100_000, lambda y: 0.5 * y + x), None), x, length=1_000_000)[0],
    "scans in a while_loop": lambda x: turns(x, 10_000_000, inner),
    "calls in a scan": lambda x: primad.scan(lambda c, _: (step(c) + step(0.5 * c), None), x, length=10_000_000)[0],
    "moves in a scan": lambda x: primad.scan(lambda c, _: (c[::-1], None), x + np.arange(9000.0), length=10**10)[0][0],
    "a stack of loops": lambda x: np.sum(primad.vmap(
        lambda y: turns(y, 1_000_000_000, lambda z: 0.5 * z + y))(x + np.linspace(0.0, 1.0, 1000))),
    "the gradient of scans in a scan": primad.grad(
        lambda x: primad.scan(lambda c, _: (inner(c), None), x, length=1_000_000)[0]),
    "the gradient of scans in a while_loop": primad.grad(lambda x: turns(x, 1_000_000, inner)),
}


def ended(kind, f):
    "A loop that runs for minutes ends with an interrupt; before it and after it the same function has the same value."
    gated = primad.jit(lambda on, x: primad.cond(on, f, lambda x: 2.0 * x, x))
    if gated(False, 0.25) != 0.5:
        sys.exit(f"{kind}: wrong before")
    timer = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
    start = time.monotonic()
    timer.start()
    try:
        gated(True, 0.25)
        sys.exit(f"{kind}: ended by itself")
    except KeyboardInterrupt:
        spent = time.monotonic() - start
    timer.join()
    if spent > 10.0:
        sys.exit(f"{kind}: an interrupt was seen after {spent:.1f} s")
    if gated(False, 0.25) != 0.5 or state() != before:
        sys.exit(f"{kind}: wrong after, {state()}, was {before}")


jitted.RECORDED_IN_PLACE = 0
for kind, f in KINDS.items():
    ended(kind, f)
sys.exit(0 if all(map(np.array_equal, work(1.25), expected)) else "other results")
"""


def run(script: str, *arguments: str) -> None:
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-W", "ignore", "-c", WORK + script, *arguments]
    environment = {**os.environ, "PYTHONPATH": root, "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stderr[-3000:]}"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_children_are_whole_that_are_forked_while_threads_compile_and_run() -> None:
    run(FORKS)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill") or not hasattr(os, "fork"), reason="needs signals and os.fork")
@thinned(2, seed=[1, 2])
def test_a_storm_of_interrupts_leaves_the_process_whole(seed: int) -> None:
    run(STORM, str(seed))


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals")
def test_native_loops_see_interrupts_however_they_are_nested() -> None:
    run(LOOPS)


@pytest.mark.parametrize("first", range(16))
def test_what_is_held_is_put_back_wherever_an_interrupt_comes(first: int) -> None:
    """At the beginning of each function: there the interpreter looks for signals."""
    state = ["before"]
    held = Held(lambda: state[0], lambda: state.__setitem__(0, "changed"), lambda old: state.__setitem__(0, old))
    begun = 0

    def trace(frame: Any, event: str, argument: Any) -> None:
        nonlocal begun
        if Path(frame.f_code.co_filename).name == "process.py" or frame.f_code.co_name == "<lambda>":
            begun += 1
            if begun == first:
                raise KeyboardInterrupt

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        held(lambda: held(lambda: state[0]))
    except KeyboardInterrupt:
        assert first
    finally:
        sys.settrace(outer)
    assert state == ["before"]
    assert held(lambda: state[0]) == "changed" and state == ["before"]
    assert begun >= min(first, 12)


def test_what_is_undone_is_undone_once_more_after_an_interrupt() -> None:
    calls = []

    def undo() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        surely(lambda: 1, undo)
    assert len(calls) == 2


def test_an_error_of_undisturbed_work_reaches_the_caller() -> None:
    def fail() -> None:
        raise ArithmeticError("boom")

    assert undisturbed(lambda: 3) == 3
    with pytest.raises(ArithmeticError, match="boom"):
        undisturbed(fail)


WITHOUT_THE_COLLECTOR = """
import gc
from primad.system.process import CollectorOff

gc.collect()
with CollectorOff():
    assert not gc.isenabled()
    made = [[i] for i in range(1000)]
assert gc.isenabled() and gc.get_freeze_count() == 0
assert not {id(x) for x in gc.get_objects(generation=0)} & {id(x) for x in made}
assert {id(x) for x in gc.get_objects(generation=2)} >= {id(x) for x in made}
gc.freeze()
with CollectorOff():
    pass
assert gc.get_freeze_count() > 0
"""


def test_what_is_made_without_the_collector_is_old_and_free_afterwards() -> None:
    """So no collection of young objects looks at it; what somebody has frozen stays frozen."""
    subprocess.run([sys.executable, "-c", WITHOUT_THE_COLLECTOR], check=True, timeout=60)
