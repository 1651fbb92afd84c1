"""Differentiate geomstats' geodesics: `python -m tests.benchmarks.geodesics --peer-python PATH [--report]`.

The interpreter has geomstats, autograd, PyTorch and what primad needs: `pip install geomstats autograd torch primad`.
It is the program by which geomstats compared JAX with autograd (its pull request 801): value and gradient of the ends
of two geodesics by 50 Runge-Kutta steps. primad runs as geomstats' backend `autograd`, by
`primad.compat.autograd.install()`. Each system runs in a process of its own, and results must agree. `--report` writes
the table into docs/other_benchmarks.md.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from primad.system.quantities import seconds
from tests.benchmarks.other_projects import asked, options, write

HERE = Path(__file__).parent
SYSTEMS = {
    "primad.jit": "primad, compiled by `primad.jit`",
    "primad": "primad, by geomstats' `autodiff`",
    "autograd": "autograd",
    "pytorch": "PyTorch",
}
AGREE = 1e-9
"""How much results may differ, by their size."""


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
    given = options("geodesics", __doc__, "geomstats")
    told = {system: asked(given.peer_python, HERE / "serve.py", system, PRIMAD_CACHE="off") for system in SYSTEMS}
    found = {system: each for system, each in told.items() if each is not None}
    print(table(found))
    if given.report:
        write("geodesics", table(found))
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
