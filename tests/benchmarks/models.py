"""Time Paddle's eager API on primad beside the systems themselves, in interleaved rounds.

    python -m tests.benchmarks.models vgg11 --torch PYTHON_WITH_TORCH
    python -m tests.benchmarks.models paddle-burgers --paddle PYTHON_WITH_PADDLE [--dtype float64]

`vgg11` is a training step at batch 1 in float32: forward, backward, Adam. `paddle-burgers` is the residual of Burgers'
equation at 10,000 points and the gradient of its mean square. All systems start from the same weights; losses and
gradients of the first step must agree. Times are medians of rounds, in milliseconds.
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

HERE = Path(__file__).parent
PAUSE = 0.05
"""Seconds before each turn: another system's threads spin for a while after its last call."""


class Side:
    """One system in a process of its own."""

    def __init__(self, python: str, workload: str, system: str, dtype: str) -> None:
        paths = [str(HERE)] + ([str(HERE.parent.parent)] if system == "primad" else [])
        self.system = system
        self._process = subprocess.Popen(
            [os.path.abspath(python), str(HERE / "models_worker.py"), workload, system, dtype],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )  # fmt: skip
        if not self._process.stdout.readline():
            raise SystemExit(f"{python} cannot run {workload} with {system}")

    def step(self) -> dict[str, Any]:
        """Run one step."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def measure(workload: str, systems: dict[str, str], dtype: str, rounds: int) -> dict[str, dict[str, Any]]:
    """Return the median seconds of each stage, and the peak memory, of each system."""
    sides = [Side(python, workload, system, dtype) for system, python in systems.items()]
    first = {side.system: side.step() for side in sides}
    reference = first["primad"]
    for system, answer in first.items():
        for key in ("value", "norm"):
            if abs(answer[key] - reference[key]) > 1e-3 * abs(reference[key]):
                raise SystemExit(f"{workload}: {system} disagrees on {key}: {answer[key]}, primad {reference[key]}")
    times: dict[str, list[dict[str, Any]]] = {side.system: [] for side in sides}
    for _ in range(rounds):
        for side in sides:
            time.sleep(PAUSE)
            times[side.system].append(side.step())
    for side in sides:
        side.close()
    rows = {}
    for system, answers in times.items():
        stages = {name: statistics.median(a["seconds"][name] for a in answers) for name in answers[0]["seconds"]}
        stages["total"] = statistics.median(sum(a["seconds"].values()) for a in answers)
        rows[system] = {"stages": stages, "peak_mb": answers[-1]["peak_mb"]}
    return rows


def table(workload: str, rows: dict[str, dict[str, Any]]) -> str:
    """Return the rows as text, with the ratio of each system's time to primad's."""
    own = rows["primad"]
    lines = []
    for system, row in rows.items():
        cells = []
        for name, seconds in row["stages"].items():
            ratio = seconds / own["stages"][name]
            cells.append(f"{name} {1e3 * seconds:7.1f} ms" + (f" ({ratio:.2f}×)" if row is not own else ""))
        memory = f"{row['peak_mb']:.0f} MB" + (f" ({row['peak_mb'] / own['peak_mb']:.2f}×)" if row is not own else "")
        lines.append(f"{workload} {system:7} {', '.join(cells)}, {memory}")
    return "\n".join(lines)


def main() -> None:
    """Run the workload named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.models", description=__doc__)
    parser.add_argument("workload", choices=["vgg11", "paddle-burgers"])
    parser.add_argument("--torch", help="an interpreter with PyTorch")
    parser.add_argument("--paddle", help="an interpreter with Paddle")
    parser.add_argument("--dtype", default="float64", choices=["float64", "float32"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    systems = {"primad": sys.executable}
    systems |= {name: getattr(options, name) for name in ("torch", "paddle") if getattr(options, name)}
    rows = measure(options.workload, systems, options.dtype, options.rounds)
    print(table(options.workload, rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
