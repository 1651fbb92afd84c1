"""Time primad and its peers side by side: `python -m tests.benchmarks NAME… --peer-python PATH [--json FILE]`.

Each system runs in a process of its own; after a warm-up, rounds are interleaved (one call of each in turn), so that a
change of the machine's speed meets all alike. Values and gradients must agree. Ratios are to the best peer.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from .workloads import WORKLOADS, Workload

HERE = Path(__file__).parent


class Side:
    """One system in its own process."""

    def __init__(self, python: str, workload: Workload, dtype: str, side: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(HERE)}
        if side == "primad":
            environment["PYTHONPATH"] = f"{HERE}{os.pathsep}{HERE.parent.parent}"
        self._process = subprocess.Popen(
            [python, str(HERE / "worker.py"), workload.name, dtype, side],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
        )  # fmt: skip
        first = self._process.stdout.readline()
        self.variants: list[str] = json.loads(first) if first else []

    def run(self, variant: str) -> dict[str, float] | None:
        """Run a variant once; None if its process died."""
        try:
            self._process.stdin.write(variant + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            return None
        return json.loads(line) if line else None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def dgemm_flops(dtype: str) -> float:
    """Measure the machine's matrix-product speed, in flops per second."""
    a = np.ones((1024, 1024), dtype)
    a @ a
    best = min(_timed(lambda: a @ a) for _ in range(5))
    return 2 * 1024**3 / best


def _timed(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(workload: Workload, dtype: str, peers: str | None, rounds: int) -> dict[str, Any]:
    """Time one workload and return its row."""
    sides = [Side(sys.executable, workload, dtype, "primad")]
    if peers:
        sides.append(Side(peers, workload, dtype, "jax"))
    entries = [(side, variant) for side in sides for variant in side.variants]
    first, times, last = {}, {}, {}
    for side, variant in entries:
        answer = side.run(variant)
        if answer is not None:
            first[variant], times[variant] = answer["seconds"], []
    for turn in range(rounds + 1):
        for side, variant in entries:
            answer = side.run(variant) if variant in times else None
            if answer is None:
                times.pop(variant, None)
                continue
            last[variant] = answer
            if turn:
                times[variant].append(answer["seconds"])
    for side in sides:
        side.close()
    reference = last["primad"]
    tolerance = 1e-6 if dtype == "float64" else 1e-2
    for variant in times:
        for key in ("value", "norm"):
            if abs(last[variant][key] - reference[key]) > tolerance * max(abs(reference[key]), 1e-30):
                raise SystemExit(
                    f"{workload.name}: {variant} disagrees on {key}: {last[variant][key]} {reference[key]}"
                )
    medians = {variant: 1e3 * statistics.median(values) for variant, values in times.items()}
    others = {variant: median for variant, median in medians.items() if variant != "primad"}
    best = min(others, key=others.__getitem__) if others else None
    limit = 1e3 * workload.matmul_flops() / dgemm_flops(dtype)
    return {
        "workload": workload.name, "dtype": dtype, "primad_ms": medians["primad"],
        "best_peer": best, "best_peer_ms": others[best] if best else None,
        "ratio": others[best] / medians["primad"] if best else None,
        "first_call_s": first["primad"], "peak_mb": reference["peak_mb"], "limit_fraction": limit / medians["primad"],
        "peers": {v: {"ms": others[v], "first_call_s": first[v], "peak_mb": last[v]["peak_mb"]} for v in others},
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    heads = ("workload", "dtype", "primad ms", "best peer ms", "ratio", "first s", "MB", "limit", "best peer")
    lines = ["{:20} {:8} {:>10} {:>12} {:>6} {:>8} {:>6} {:>6}  {}".format(*heads)]
    for row in rows:
        peer = f"{row['best_peer_ms']:.1f}" if row["best_peer"] else ""
        ratio = f"{row['ratio']:.2f}" if row["ratio"] else ""
        figures = f"{row['first_call_s']:8.2f} {row['peak_mb']:6.0f} {row['limit_fraction']:6.2f}"
        name = f"{row['workload']:20} {row['dtype']:8} {row['primad_ms']:10.1f}"
        lines.append(f"{name} {peer:>12} {ratio:>6} {figures}  {row['best_peer'] or ''}")
    return "\n".join(lines)


def main() -> None:
    """Run the workloads named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", default=["burgers"], help=f"of {', '.join(WORKLOADS)}")
    parser.add_argument("--peer-python", help="an interpreter with JAX (and folx)")
    parser.add_argument("--dtype", default="float64", choices=["float64", "float32"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for name in options.names:
        if name not in WORKLOADS:
            parser.error(f"unknown workload {name!r}; there are {', '.join(WORKLOADS)}")
        rows.append(measure(WORKLOADS[name], options.dtype, options.peer_python, options.rounds))
        print(table(rows[-1:]), flush=True)
    print("\n" + table(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


main()
