"""Timing a workload: first calls and agreement, then interleaved rounds."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .limit import least_work
from .machine import Limits, available_gigabytes
from .systems import GoneError, Runner, System
from .workloads import Workload

Row = dict[str, Any]
TOLERANCE = {"float64": 1e-6, "float32": 1e-2}
LEAST_TIMED = 0.1
"""Calls are repeated within a round until they take so many seconds: the first one after a pause takes up to twice as
long as those that follow, which are what a program sees that calls again and again."""
SPARE_MEMORY = 1.5
"""A form is run where so many times the memory that the best one needs is free: others need more, and the machine may
have other work to do."""
PAUSE = 0.25
"""Seconds before each turn: another system's threads spin for a while after its last call, some for 0.2 s."""


class DisagreementError(Exception):
    """Two systems found different values."""


@dataclass
class Effort:
    """How much time a workload may take: rounds, seconds for all of them and for a first call.

    Of `first_calls` in as many processes the shortest counts.
    """

    rounds: int = 9
    seconds: float = 12.0
    patience: float = 60.0
    first_calls: int = 1


@dataclass
class Timed:
    """A variant that is being timed."""

    runner: Runner | None
    variant: str
    first_seconds: float
    peak_mb: float
    repeats: int = 1
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Median of the rounds, in milliseconds."""
        return 1e3 * statistics.median(self.seconds)

    def turn(self, patience: float) -> None:
        """Run it once more."""
        assert self.runner is not None
        time.sleep(PAUSE)
        answer = self.runner.run(self.repeats, patience)
        self.seconds.append(answer.seconds)
        self.peak_mb = answer.peak_mb


def measure(workload: Workload, dtype: str, systems: Sequence[System], limits: Limits, effort: Effort) -> Row:
    """Time one workload and return its row.

    Raises:
        DisagreementError: if systems found different values or gradients.
    """
    limits.measure(dtype, workload.activation)
    notes: list[str] = []
    started: list[Runner] = []
    try:
        timed = _first_calls(workload, dtype, systems, effort, started, notes)
        _rounds(timed, effort, notes)
    finally:
        for runner in started:
            runner.close()
    limits.measure(dtype, workload.activation)
    own, *others = timed
    least = limits.least_seconds(dtype, workload.activation, least_work(workload), workload.bytes(dtype))
    speeds = {
        "products": limits.flops[dtype],
        workload.activation: limits.functions[dtype, workload.activation],
        "bandwidth": limits.bandwidth,
    }
    return {**row(workload, dtype, own, others, least, systems, notes), "speeds": speeds}


def row(
    workload: Workload,
    dtype: str,
    own: Timed,
    others: Sequence[Timed],
    least: tuple[float, float],
    systems: Sequence[System],
    notes: Sequence[str],
) -> Row:
    """Return what was measured, as it is stored; `least` is that of all work, and of matrix products alone, or 0."""
    best = min(others, key=lambda other: other.median) if others else None
    return {
        "workload": workload.name,
        "dtype": dtype,
        "primad_ms": own.median,
        "best_peer": best.variant if best else None,
        "best_peer_ms": best.median if best else None,
        "ratio": best.median / own.median if best else None,
        "first_call_s": own.first_seconds,
        "peak_mb": own.peak_mb,
        "limit_fraction": 1e3 * least[1] / own.median if least[1] else None,
        "roofline_fraction": 1e3 * least[0] / own.median if least[0] else None,
        "rounds": len(own.seconds),
        "peers": {
            other.variant: {
                "ms": other.median,
                "first_call_s": other.first_seconds,
                "peak_mb": other.peak_mb,
                "rounds": len(other.seconds),
            }
            for other in others
        },
        "versions": {system.name: system.version for system in systems[1:]},
        "notes": list(notes),
    }


def _first_calls(
    workload: Workload,
    dtype: str,
    systems: Sequence[System],
    effort: Effort,
    started: list[Runner],
    notes: list[str],
) -> list[Timed]:
    """Call every variant once, compare what they found, and call each as a first time as often as asked."""
    timed: list[Timed] = []
    of: dict[str, System] = {}
    reference: list[np.ndarray] = []
    for system in systems:
        if timed and SPARE_MEMORY * workload.peer_gigabytes > available_gigabytes():
            notes.append(f"peers not run: they need {workload.peer_gigabytes:.0f} GB")
            break
        for variant in system.variants(workload.name):
            runner = system.start(workload.name, dtype, variant)
            started.append(runner)
            try:
                answer, results = runner.first(effort.patience if timed else 600.0)
            except GoneError as error:
                if not timed:
                    raise GoneError(f"{variant}: {error}: {system.last_error()}") from None
                notes.append(f"{variant}: {error} in the first call {system.last_error()}".rstrip())
                runner.close()
                continue
            reference = reference or results
            check_agreement(workload, dtype, variant, results, reference)
            timed.append(Timed(runner, variant, answer.seconds, answer.peak_mb))
            of[variant] = system
    for _ in range(effort.first_calls - 1):
        for entry in timed:
            again = of[entry.variant].start(workload.name, dtype, entry.variant)
            entry.first_seconds = min(entry.first_seconds, again.first(600.0)[0].seconds)
            again.close()
    return timed


def check_agreement(
    workload: Workload, dtype: str, variant: str, results: Sequence[np.ndarray], reference: Sequence[np.ndarray]
) -> None:
    """Compare values and gradients: of each, the norm of the difference with the norm.

    Raises:
        DisagreementError: if they differ.
    """
    if [x.size for x in results] != [x.size for x in reference]:
        raise DisagreementError(f"{workload.name}: {variant} has results of other sizes")
    for name, found, expected in (("value", results[:1], reference[:1]), ("gradient", results[1:], reference[1:])):
        if not found:
            continue
        ours = np.concatenate([_numbers(x) for x in expected])
        theirs = np.concatenate([_numbers(x) for x in found])
        error = np.linalg.norm(theirs - ours) / max(float(np.linalg.norm(ours)), 1e-300)
        if not error <= TOLERANCE[dtype]:
            raise DisagreementError(f"{workload.name} {dtype}: {variant} disagrees on the {name} by {error:.1e}")


def _numbers(x: np.ndarray) -> np.ndarray:
    """Return the numbers of an array, of complex ones both parts."""
    return np.ravel(x).astype(np.complex128).view(np.float64) if x.dtype.kind == "c" else np.ravel(x).astype(np.float64)


def _rounds(timed: list[Timed], effort: Effort, notes: list[str]) -> None:
    """Run all variants in turn, a warm-up and then the rounds that count."""
    for entry in list(timed):
        _guarded(entry, timed, effort, notes)
        if entry in timed:
            entry.repeats = max(1, min(5000, int(LEAST_TIMED / entry.seconds.pop())))
    start = time.perf_counter()
    for turn in range(effort.rounds):
        if turn >= 2 and time.perf_counter() - start > effort.seconds:
            break
        for entry in list(timed):
            if turn < 2 or entry is timed[0] or not _hopeless(entry, timed):
                _guarded(entry, timed, effort, notes)


def _guarded(entry: Timed, timed: list[Timed], effort: Effort, notes: list[str]) -> None:
    try:
        entry.turn(effort.patience if entry is not timed[0] else 600.0)
    except GoneError as error:
        if entry is timed[0]:
            raise
        notes.append(f"{entry.variant}: {error}")
        print(notes[-1], file=sys.stderr)
        timed.remove(entry)


def _hopeless(entry: Timed, timed: Sequence[Timed]) -> bool:
    """Say whether two rounds have shown that another form is far better."""
    return min(entry.seconds) > 2.0 * min(min(other.seconds) for other in timed[1:])
