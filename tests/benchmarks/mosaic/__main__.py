"""Solve Mosaic's heat and structural problems: `python -m tests.benchmarks.mosaic --peer-python PATH [--report]`.

The interpreter has Mosaic, what primad needs, and, to stand beside it, torch-fem: `pip install mosaic-bench torch-fem
primad`. `thermal/` and `structural/` are primad's solvers, as they would stand among Mosaic's own, which are run where
they can be installed by pip. Each row is measured in a process of its own; results must agree. `--report` writes the
tables into docs/other_benchmarks.md.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from primad.system.quantities import seconds
from tests.benchmarks.other_projects import asked, options, write

HERE = Path(__file__).parent
SYSTEMS = {"thermal": ("primad", "torch-fem"), "structural": ("primad",)}
MESHES: dict[str, list[dict[str, int]]] = {
    "thermal": [{"nx": 16}, {"nx": 64}, {"nx": 256}],
    "structural": [{"nx": 16}, {"nx": 16, "ny": 8, "nz": 8}, {"nx": 32, "ny": 8, "nz": 16}],
}
"""Of Mosaic's costs and its optimisation, and larger ones."""
AGREE = 1e-4
"""How much digests of gradients in single precision may differ, by their size."""


def tables(checks: list[tuple[str, str, Any]], costs: list[tuple[str, str, Any]]) -> str:
    """Return two tables in Markdown: of errors, and of costs."""
    lines = [
        f"Mosaic {checks[0][2]['mosaic']}; errors are relative:\n",
        "| problem | solver | results beside Mosaic's references | pullback beside differences |",
        "|---|---|---|---|",
    ]
    lines += [f"| {domain} | {name} | {x['references']:.1e} | {x['differences']:.1e} |" for domain, name, x in checks]
    lines += ["", "| problem | cells | solver | call | pullback | memory |", "|---|---|---|---|---|---|"]
    for domain, name, told in costs:
        times = " | ".join(seconds(told[key]) for key in ("forward", "pullback"))
        lines.append(f"| {domain} | {told['cells']} | {name} | {times} | {told['memory'] / 1e6:.0f} MB |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, and print or report; return whether a result is not as it should be."""
    given = options("mosaic", __doc__, "Mosaic, torch-fem")
    checks, costs, wrong = [], [], []
    for domain, systems in SYSTEMS.items():
        for name in systems:
            told = asked(given.peer_python, HERE / "serve.py", name, domain, "check")
            if told is None:
                continue
            checks.append((domain, name, told))
            if name == "primad" and max(told["references"], told["differences"] / 10) > AGREE:
                wrong.append(f"{domain}: {told}")
        for mesh in MESHES[domain]:
            row = {
                name: asked(given.peer_python, HERE / "serve.py", name, domain, "cost", json.dumps(mesh))
                for name in systems
            }
            costs += [(domain, name, told) for name, told in row.items() if told]
            digests = [told["digest"] for told in row.values() if told]
            if max(digests) - min(digests) > AGREE * abs(digests[0]):
                wrong.append(f"{domain}, {mesh}: gradients differ: {digests}")
    print(tables(checks, costs))
    if given.report:
        text = tables(checks, costs)
        write("mosaic", text)
    for each in wrong:
        print(f"✗ {each}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
