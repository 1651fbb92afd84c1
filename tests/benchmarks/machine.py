"""What the machine is, and how fast: the limits that times are compared with."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import primad
from primad.explanation.machine_speeds import product_speed
from primad.system.machine import processors

from .limit import Work

FUNCTIONS = 8
"""Values of a function that are added up for an element, so that its speed and not that of memory is measured."""


class Limits:
    """The machine's speed as measured in this run: the best seen so far."""

    def __init__(self) -> None:
        self.flops: dict[str, float] = {}
        self.functions: dict[tuple[str, str], float] = {}
        self.bandwidth = 0.0

    def measure(self, dtype: str, function: str) -> None:
        """Measure again: products, in flops per second, a function, in values per second, a copy, in bytes per second.

        Products and functions are NumPy's or primad's own, whichever are faster.
        """
        key = dtype, function
        self.flops[dtype] = max(self.flops.get(dtype, 0.0), product_speed(dtype))
        self.functions[key] = max(self.functions.get(key, 0.0), function_speed(dtype, function))
        source, target = np.ones(2**23), np.ones(2**23)
        self.bandwidth = max(self.bandwidth, 2 * source.nbytes / _best(lambda: np.copyto(target, source)))

    def least_seconds(self, dtype: str, function: str, work: Work, moved: float) -> tuple[float, float]:
        """Return the least time for some work and so many bytes, and that for its matrix products and the bytes only.

        A multiply-add of a unit takes what one of a matrix product takes, with both operands in registers. The times of
        products, units and functions add up: on one core they are done by the same units for multiply-adds.
        """
        products, copies = 2.0 * work.products / self.flops[dtype], moved / self.bandwidth
        units = 2.0 * work.pointwise / self.flops[dtype] + work.functions / self.functions[dtype, function]
        return max(products + units, copies), max(products, copies)


def function_speed(dtype: str, name: str) -> float:
    """Return the values per second of one of NumPy's functions, of arrays in cache, on all processors."""
    function = getattr(np, name)
    x = np.linspace(-1.0, 1.0, 2**20).astype(dtype).reshape(-1, 64)
    together = primad.jit(lambda x: np.sum(sum(function((1.0 + 0.1 * i) * x) for i in range(FUNCTIONS))))
    together(x)
    native = FUNCTIONS * x.size / _best(lambda: together(x))
    part = x.ravel()[:4096]
    out = np.empty_like(part)
    return max(native, processors() * part.size / _best(lambda: function(part, out=out)))


def _best(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


@cache
def description() -> dict[str, str]:
    """Return the machine's processor, memory, system, and the versions that matter."""
    blas: dict[str, Any] = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[index]
    return {
        "processor": _from_file("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": str(os.cpu_count()),
        "vectors": _vectors(),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB",
        "system": f"{platform.system()} {platform.machine()}, {' '.join(platform.libc_ver())}",
        "Python": platform.python_version(),
        "NumPy": f"{np.__version__} with {blas['name']} {blas['version']}",
    }


def available_gigabytes() -> float:
    """Return the memory that is free for programs."""
    found = _from_file("/proc/meminfo", "MemAvailable")
    return float(found.split()[0]) / 2**20 if found else float("inf")


def _vectors() -> str:
    flags = _from_file("/proc/cpuinfo", "flags").split()
    return next((name for name in ("avx512f", "avx2", "avx", "sse2") if name in flags), "unknown")


def _from_file(path: str, key: str) -> str:
    if not Path(path).exists():
        return ""
    for line in Path(path).read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""
