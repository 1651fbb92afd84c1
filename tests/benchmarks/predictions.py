"""Compare what `explain` predicts with what it measures: `python -m tests.benchmarks.predictions NAME…`.

For each workload it prints both times and their ratio, and marks those of which one is more than twice the other.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import primad
from primad.explanation.machine_speeds import machine
from primad.system.quantities import seconds

from .workloads import GROUPS, Workload, chosen

sys.path.insert(0, str(Path(__file__).parent))  # where systems' processes find a side's modules

import primad_side

FACTOR = 2.0
"""A prediction is good within so many times."""
NOT_ONE_PROGRAM = ("start", "gauss-newton-products")
"""Workloads, or groups of them, that are more than a call of one function of arrays."""


class Found(NamedTuple):
    """What was predicted and measured for a workload, in seconds, and the parts of the first."""

    workload: str
    dtype: str
    explained: primad.Explanation

    @property
    def ratio(self) -> float:
        """How many times the prediction was measured."""
        return self.explained.measured / self.explained.predicted.total

    @property
    def good(self) -> bool:
        """Whether neither is more than twice the other."""
        return 1 / FACTOR <= self.ratio <= FACTOR

    def __str__(self) -> str:
        predicted = self.explained.predicted
        parts = ((name, getattr(predicted, name)) for name in ("products", "kernels", "elements", "calls"))
        spent = ", ".join(f"{name} {seconds(value)}" for name, value in parts if value > 0.01 * predicted.total)
        times = f"{seconds(predicted.total):>9} {seconds(self.explained.measured):>9} {self.ratio:6.2f}"
        return f"{self.workload:20} {self.dtype:8} {times} {' ' if self.good else '✗'} {spent}"


def found(workload: Workload, dtype: str) -> Found:
    """Explain a workload."""
    machine.cache_clear()  # other programs may come and go between two workloads
    (function,) = primad_side.variants(workload).values()
    return Found(workload.name, dtype, primad.explain(function, *workload.arguments(dtype)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Explain the workloads; return how many predictions are off."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.predictions", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"workloads or groups of them (all if none): {', '.join(GROUPS)}")
    options = parser.parse_args(arguments)
    off = count = 0
    print(f"{'workload':20} {'dtype':8} {'predicted':>9} {'measured':>9} {'ratio':>6}   predicted parts")
    for workload in chosen(options.names, parser):
        if workload.name not in NOT_ONE_PROGRAM and workload.group not in NOT_ONE_PROGRAM:
            for dtype in workload.dtypes:
                one = found(workload, dtype)
                off, count = off + (not one.good), count + 1
                print(one, flush=True)
    print(f"{off} of {count} off by more than {FACTOR:g} times")
    return off


if __name__ == "__main__":
    sys.exit(min(main(), 1))
