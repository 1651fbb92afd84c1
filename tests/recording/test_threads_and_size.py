"""Long programs, many traces, many threads: nothing recurses, leaks or mixes."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

import primad
from primad import ArrayType
from primad.runtime.cache import Cache
from primad.runtime.executors import dispatch
from primad.system.machine import processors


def chain(n: int) -> Any:
    def f(x: Any) -> Any:
        for _ in range(n // 2):
            x = np.sin(x) + 0.5
        return x

    return f


@pytest.mark.exhaustive
def test_a_chain_of_100_000_ops() -> None:
    """Traced, printed, differentiated and freed without recursion; the number of nodes is linear."""
    n = 100_000
    program = primad.trace(chain(n))(0.5)
    assert len(program.nodes) == n + 2  # the input and the literal
    text = str(program)
    assert text.count("\n") == n + 2
    program.check()
    del text
    lowered = primad.lower(primad.trace(primad.grad(chain(n)))(0.5))
    assert len(lowered.nodes) < 2.1 * n
    del program, lowered


def test_a_chain_of_10_000_ops_runs_and_reads_back() -> None:
    n = 10_000
    program = primad.trace(chain(n))(0.5)
    assert primad.parse(str(program)).key == program.key
    value, slope = primad.value_and_grad(chain(n))(0.5)
    x, expected = 0.5, 1.0
    for _ in range(n // 2):
        expected *= math.cos(x)
        x = math.sin(x) + 0.5
    assert value == pytest.approx(x, rel=1e-12) and slope == pytest.approx(expected, rel=1e-9)
    assert primad.jvp(chain(n), (0.5,), (1.0,))[0] == value


def test_a_wide_sum_of_10_000_terms() -> None:
    terms = np.arange(10_000.0)
    g = primad.grad(lambda x: sum(x[i] * i for i in range(1_000)))(terms)
    np.testing.assert_array_equal(g, np.where(terms < 1_000, terms, 0.0))


def test_sixty_doublings() -> None:
    def f(x: Any) -> Any:
        for _ in range(60):
            x = x + x
        return x

    assert primad.grad(f)(1.0) == 2.0**60
    assert primad.jvp(f, (1.0,), (1.0,))[1] == 2.0**60

    def diamonds(x: Any) -> Any:
        for _ in range(60):
            x = np.sin(x) + np.cos(x)
        return x

    assert len(primad.lower(primad.trace(primad.grad(diamonds))(1.0)).nodes) < 600
    assert len(primad.lower(primad.trace(primad.grad(primad.grad(diamonds)))(1.0)).nodes) < 6_000


def test_the_order_of_differentiation_is_polynomial() -> None:
    def f(x: Any) -> Any:
        return np.tanh(np.sin(x) * x)

    sizes = []
    for _ in range(6):
        f = (lambda g: lambda x: primad.jvp(g, (x,), (1.0,))[1])(f)
        sizes.append(len(primad.simplify(primad.trace(f)(0.5)).nodes))
    assert sizes[-1] < 2_000 and sizes[-1] / sizes[-2] < 2.0


def grown(run: Any, count: int) -> tuple[int, int]:
    """Run many times without the garbage collector; return how many bytes and objects stayed, after a warm-up."""
    for _ in range(50):
        run()
    gc.collect()
    gc.disable()
    tracemalloc.start(1)
    try:
        before, objects = tracemalloc.get_traced_memory()[0], len(gc.get_objects())
        for _ in range(count):
            run()
        return tracemalloc.get_traced_memory()[0] - before, len(gc.get_objects()) - objects
    finally:
        tracemalloc.stop()
        gc.enable()


def test_repeated_traces_leave_nothing() -> None:
    kind = ArrayType((3,), np.float64)
    traced = primad.trace(lambda x: np.sum(np.sin(x) * 2.0))
    memory, objects = grown(lambda: traced(kind), 3_000)
    assert memory < 30_000 and objects < 60


def test_repeated_gradients_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # A dictionary as full as other tests leave it takes new memory now and then, though as many entries stay.
    monkeypatch.setattr(dispatch, "EXECUTABLES", Cache(16))
    x = np.ones(3)
    weights = np.ones(3)
    memory, objects = grown(lambda: primad.grad(lambda x: np.sum(np.sin(x) * weights))(x), 600)
    assert memory < 100_000 and objects < 200
    hessian = primad.hessian(lambda x: np.sum(np.sin(x) * weights))
    memory, objects = grown(lambda: hessian(x) @ x, 150)
    assert memory < 100_000 and objects < 200


def test_a_failing_function_leaves_nothing() -> None:
    def failing() -> None:
        with pytest.raises(primad.TracingError):
            primad.jit(lambda x: x if x > 0 else -x)(1.0)

    memory, objects = grown(failing, 100)
    assert memory < 300_000 and objects < 2_000


def test_threads_of_nested_gradients() -> None:
    def f(a: float) -> Any:
        return lambda x: x * primad.grad(lambda y: a * x * y**2 + np.sin(y))(x) + primad.jvp(np.exp, (x,), (a,))[1]

    def expected(a: float, x: float) -> float:
        # d/dx (x·(2a·x² + cos x) + a·eˣ)
        return 6 * a * x**2 + math.cos(x) - x * math.sin(x) + a * math.exp(x)

    wrong: list[Any] = []
    start = threading.Barrier(4)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        start.wait()
        for _ in range(150):
            a, x = rng.uniform(0.5, 2.0, 2).tolist()
            found = primad.grad(f(a))(x)
            if not math.isclose(found, expected(a, x), rel_tol=1e-12):
                wrong.append((a, x, found))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


def test_threads_share_a_jitted_function() -> None:
    @primad.jit
    def f(x: Any, y: Any) -> Any:
        return np.sum(np.tanh(x) * y, axis=-1)

    wrong: list[Any] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for i in range(60):
            x, y = rng.standard_normal((2, 1 + i % 7, 3))
            if not np.allclose(f(x, y), np.sum(np.tanh(x) * y, axis=-1), rtol=1e-12):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


SCRIPT = """
import hashlib, numpy as np, primad
x = np.linspace(-1, 1, 30).reshape(5, 6)
w = np.sin(np.arange(36.0)).reshape(6, 6)
def f(x):
    return np.mean(np.tanh(x @ w @ np.tanh(w)) ** 2) + np.sum(np.where(x > 0, np.exp(x), x[::-1]))
out = [primad.grad(f)(x), np.asarray(primad.hessian(f)(x[0])), primad.vmap(primad.laplacian(f))(x)]
text = str(primad.simplify(primad.trace(primad.grad(f))(x)))
print(hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in out) + text.encode()).hexdigest())
"""


def test_results_are_the_same_bits_in_every_process() -> None:
    found = set()
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        result = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True, timeout=120
        )
        found.add(result.stdout)
    assert len(found) == 1


def test_a_blas_that_is_loaded_later_is_held_to_one_thread_too() -> None:
    """SciPy brings a library of its own, which is there only once `scipy.linalg` is."""
    code = """
from primad.parallel.threads import single_threaded_blas
single_threaded_blas(lambda: None)
import scipy.linalg
from threadpoolctl import threadpool_info
def counts(): return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
print(min(counts()), max(single_threaded_blas(counts)), min(counts()))
"""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    before, held, after = map(int, found.stdout.split())
    assert before == after == min(2, processors()) and held == 1
