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

from primad.explanation.machine import product_speed


class Limits:
    """The machine's speed as measured in this run: the best seen so far."""

    def __init__(self) -> None:
        self.flops: dict[str, float] = {}
        self.bandwidth = 0.0

    def measure(self, dtype: str) -> None:
        """Measure again: matrix products, in flops per second, and a copy, in bytes per second.

        The products are NumPy's or primad's own, whichever are faster.
        """
        self.flops[dtype] = max(self.flops.get(dtype, 0.0), product_speed(dtype))
        source, target = np.ones(2**23), np.ones(2**23)
        self.bandwidth = max(self.bandwidth, 2 * source.nbytes / _best(lambda: np.copyto(target, source)))

    def least_seconds(self, dtype: str, flops: float, moved: float) -> float:
        """Return the least time for so many flops of matrix products and so many bytes."""
        return max(flops / self.flops[dtype], moved / self.bandwidth)


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
