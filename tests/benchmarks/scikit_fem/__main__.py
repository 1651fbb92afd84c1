"""Solve by finite elements beside scikit-fem: `python -m tests.benchmarks.scikit_fem --peer-python PATH [--report]`.

The interpreter has scikit-fem: `pip install scikit-fem`. Poisson's equation and an elastic plate, on the same elements:
scikit-fem is given weak forms, as in its examples, primad the equations. Each system runs in a process of its own, and
solutions must agree at points. `--report` writes the table into docs/other_benchmarks.md.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from primad.system.quantities import seconds
from tests.benchmarks.other_projects import asked, options, write
from tests.benchmarks.scikit_fem.serve import SIZES

HERE = Path(__file__).parent
SYSTEMS = ("scikit-fem", "primad")
AGREE = 1e-9
"""How much solutions may differ, by their size."""


def table(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Return a table in Markdown."""
    lines = [
        "Processor time of all threads; the largest difference at 20 points, by the size of the solution:\n",
        "| problem | elements along a side | system | preparing | first solution | each further one | difference |",
        "|---|---|---|---|---|---|---|",
    ]
    for problem, systems in found.items():
        for system, told in systems.items():
            times = " | ".join(seconds(told[key]) for key in ("prepare", "first", "each"))
            difference = apart(told, next(iter(systems.values())))
            lines.append(f"| {problem} | {SIZES[problem]} | {system} | {times} | {difference:.1e} |")
    return "\n".join(lines) + "\n"


def apart(told: dict[str, Any], first: dict[str, Any]) -> float:
    """Return the largest difference of two solutions, by the size of the first."""
    return float(np.max(np.abs(np.subtract(told["values"], first["values"]))) / np.max(np.abs(first["values"])))


def main() -> int:
    """Measure, and print or report; return whether solutions differ."""
    given = options("scikit_fem", __doc__, "scikit-fem")
    found: dict[str, dict[str, Any]] = {}
    for problem in SIZES:
        told = {
            system: asked(
                sys.executable if system == "primad" else given.peer_python, HERE / "serve.py", system, problem
            )
            for system in SYSTEMS
        }
        found[problem] = {system: each for system, each in told.items() if each is not None}
    print(table(found))
    if given.report:
        write("scikit_fem", table(found))
    rows = [(name, systems) for name, systems in found.items() if len(systems) == len(SYSTEMS)]
    wrong = [name for name, systems in rows if apart(systems["primad"], systems["scikit-fem"]) > AGREE]
    print("".join(f"✗ {name}: solutions differ\n" for name in wrong), end="")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
