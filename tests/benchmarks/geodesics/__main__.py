"""Differentiate geomstats' geodesics: `python -m tests.benchmarks.geodesics --peer-python PATH [--report]`.

The interpreter has geomstats, autograd, PyTorch and what primad needs: `pip install geomstats autograd torch primad`.
It is the program by which geomstats compared JAX with autograd (its pull request 801): value and gradient of the ends
of two geodesics by 50 Runge-Kutta steps. primad runs as geomstats' backend `autograd`, by
`primad.compat.autograd.install()`. Each system runs in a process of its own, and results must agree. `--report` writes
the table into docs/other_benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from primad.system.quantities import seconds
from tests.benchmarks.distributed import END, with_figures

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PAGE = ROOT / "docs" / "other_benchmarks.md"
BEGIN = "<!-- figures: python -m tests.benchmarks.geodesics --report -->\n"
SYSTEMS = {
    "primad.jit": "primad, compiled by `primad.jit`",
    "primad": "primad, by geomstats' `autodiff`",
    "autograd": "autograd",
    "pytorch": "PyTorch",
}
AGREE = 1e-9
"""How much results may differ, by their size."""


def run(python: str, system: str) -> dict[str, Any] | None:
    """Return what a process told; None where the interpreter lacks the system."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PRIMAD_CACHE": "off"}  # nothing was compiled before
    command = [os.path.abspath(python), str(HERE / "serve.py"), system]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    if ended.returncode and not system.startswith("primad") and "ModuleNotFoundError" in ended.stderr:
        return None
    if ended.returncode:
        raise SystemExit(ended.stderr)
    return dict(json.loads(ended.stdout.splitlines()[-1]))


def table(found: dict[str, dict[str, Any]]) -> str:
    """Return a table in Markdown."""
    lines = [
        f"geomstats {found['primad']['geomstats']}; processor time of all threads:\n",
        "| system | first call | each further one | ten of them |",
        "|---|---|---|---|",
    ]
    for system, told in found.items():
        times = [seconds(told[key]) for key in ("first", "each")]
        lines.append(f"| {SYSTEMS[system]} | {' | '.join(times)} | {seconds(10 * told['each'])} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, and print or report; return whether results differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.geodesics", description=__doc__)
    parser.add_argument("--peer-python", required=True, help="an interpreter with geomstats and primad's needs")
    parser.add_argument("--report", action="store_true", help="write the table into docs/other_benchmarks.md")
    options = parser.parse_args()
    told = {system: run(options.peer_python, system) for system in SYSTEMS}
    found = {system: each for system, each in told.items() if each is not None}
    print(table(found))
    if options.report:
        PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), table(found), BEGIN, END), encoding="utf-8")
    first = next(iter(found.values()))
    wrong = [
        system
        for system, each in found.items()
        if not np.allclose([each["value"], *each["gradient"]], [first["value"], *first["gradient"]], rtol=AGREE)
    ]
    print("".join(f"✗ {system} gives other numbers\n" for system in wrong), end="")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
