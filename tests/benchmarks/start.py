"""Timing the start: fresh processes in every round, with what the first one left on the disk."""

from __future__ import annotations

import sys

from .measure import Effort, Row, Timed, row
from .systems import PEERS, NotThereError, System
from .workloads import Workload

ROUNDS = 5


def measure_start(workload: Workload, dtype: str, peer_python: str | None, effort: Effort) -> Row:
    """Time the import of each system and, where the workload is a computation, its first call as well."""
    sides = [(sys.executable, "primad_side"), *((peer_python, side) for side in PEERS if peer_python)]
    timed: dict[str, Timed] = {}
    systems: dict[str, System] = {}
    for turn in range(min(effort.rounds, ROUNDS) + 1):
        for python, side in sides:
            try:
                system = System(python, side)
            except NotThereError:
                continue
            systems[side] = system
            for variant in system.variants(workload.name):
                seconds, peak = system.import_seconds, 0.0
                if workload.kind != "import":
                    runner = system.start(workload.name, dtype, variant, kept=True)
                    answer, _ = runner.first(effort.patience)
                    runner.close()
                    seconds, peak = seconds + answer.preparing_seconds + answer.seconds, answer.peak_mb
                if turn == 0:  # this one leaves bytecode, and what systems keep between processes
                    timed[variant] = Timed(None, variant, seconds, peak)
                else:
                    timed[variant].seconds.append(seconds)
            system.close()
    own, *others = timed.values()
    return row(workload, dtype, own, others, (0.0, 0.0), list(systems.values()), [])
