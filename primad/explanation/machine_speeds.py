"""How fast this machine is: what predictions are made from, measured once in a process, in some 200 ms."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from primad.functional.jit import jit
from primad.parallel.threads import single_threaded_blas
from primad.runtime.cost_model import Machine
from primad.system.process import made_once

CHAIN = 8
"""Products in a chain."""


@made_once(most=4)
def machine(dtype: str) -> Machine:
    """Measure the machine's speeds for a float dtype; the minimum of a few runs each."""
    large, target = np.ones(2**21), np.ones(2**21)
    cached, single = np.full(8192, 0.5, dtype), np.ones(1, dtype)
    result = np.empty_like(cached)
    peak = product_speed(dtype)
    alone: float = single_threaded_blas(lambda: product_speed(dtype, threads=1))
    call = _least(lambda: np.add(single, single), 50)
    native = native_speeds(dtype)
    return Machine(
        peak=max(peak, alone),
        peak_alone=alone,
        bandwidth=2 * large.nbytes / _least(lambda: np.copyto(target, large), 3),
        arithmetic=max(_least(lambda: np.add(cached, cached, out=result), 20) - call, 1e-9) / cached.size,
        function=max(_least(lambda: np.tanh(cached, out=result), 5) - call, 1e-9) / cached.size,
        call=call,
        native_arithmetic=native[0],
        native_function=native[1],
    )


def native_speeds(dtype: str) -> tuple[float, float]:
    """Return the seconds that native code takes for a sum or product of an element, loads included, and for exp.

    Args:
        dtype: of the elements.
    """
    few, many = (np.linspace(0.1, 0.9, 4 * n).reshape(4, n).astype(dtype) for n in (4, 1024))

    def spent(function: Callable[..., Any]) -> float:
        compiled = jit(function, threads=1)
        for x in (few, many):
            compiled(*x)  # the first call compiles
        short, long = _least(lambda: compiled(*few), 100), _least(lambda: compiled(*many), 100)
        return float(max(long - short, 1e-9)) / many.shape[1]

    arithmetic = spent(lambda a, b, c, d: a * b + c * d - a * c) / 5
    return arithmetic, spent(lambda a, b, c, d: np.exp(a) + 1.5)


def product_speed(dtype: str, threads: int | None = None) -> float:
    """Return the flops per second of matrix products: of a large one by NumPy, or of small ones by native code.

    The faster counts: BLAS is better at large matrices, unless it does not know the processor.

    Args:
        dtype: of the matrices.
        threads: for native code; NumPy takes those that BLAS has.
    """
    rows, small = np.ones((16384, 64), dtype), np.eye(64, dtype=dtype)
    products = jit(_chain, threads=threads)
    products(rows, small)
    # More runs than the least would need: the threads of BLAS stay busy for a while after an earlier product.
    native = CHAIN * 2.0 * rows.size * 64 / _least(lambda: products(rows, small), 10)
    a = np.ones((768, 768), dtype)
    out = np.empty_like(a)
    return max(native, 2.0 * 768**3 / _least(lambda: np.matmul(a, a, out=out), 3))


def _chain(x: Any, w: Any) -> Any:
    """Return the sum of products with the same matrix, one after the other."""
    for _ in range(CHAIN):
        x = x @ w
    return np.sum(x)


def _least(call: Callable[[], Any], runs: int) -> float:
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best
