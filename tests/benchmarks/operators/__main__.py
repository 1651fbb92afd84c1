"""Time operators learned from equations: `python -m tests.benchmarks.operators --peer-python PATH [--report]`.

The interpreter has DeepXDE, PyTorch and JAX: `pip install deepxde torch jax`; primad runs in this one. The families are
those of the program that published the zero-coordinate shift, at its sizes and in its single precision. An epoch is a
step of Adam with a batch of functions. Each form runs in a process of its own, all from the same parameters, and losses
must agree. DeepXDE differentiates function by function, or with the shift; it has no operators on JAX, and losses by
its forward mode differ from all others, in double precision too, so that it is left out. Where memory, or patience,
allows no whole batch in the loop over functions, fewer are taken: times stand in the table multiplied, memory as it is.
`--report` writes the table into docs/other_benchmarks.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from primad.system.quantities import seconds
from tests.benchmarks.operators.families import FAMILIES
from tests.benchmarks.other_projects import ROOT, options, write

HERE = Path(__file__).parent
SYSTEMS = {
    "primad": ("primad",),
    "jax": ("jax, shifted", "jax, shifted, combined by hand", "jax, shifted in reverse", "jax, vectorised"),
    "deepxde": ("DeepXDE, shifted", "DeepXDE, loop"),
}
FEWER = {("DeepXDE, loop", "burgers"): 2, ("DeepXDE, loop", "plate"): 1}
"""Functions of forms that need more than 20 GB, or minutes for a step, of a whole batch."""
AGREE = 1e-4
"""How much losses of the first two steps may differ, by their size. Chosen: they are in single precision."""
DTYPE = "float32"


def asked(python: str, system: str, form: str, name: str, functions: int) -> dict[str, Any] | None:
    """Return what a process measured; None where it ended otherwise."""
    command = [os.path.abspath(python), str(HERE / "serve.py"), system, form, name, str(functions), DTYPE]
    # Threads of PyTorch that wait for others, who may be waiting for a core, would count as work.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PRIMAD_CACHE": "off", "OMP_WAIT_POLICY": "passive"}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    if ended.returncode:
        print(f"{form}, {name}: {ended.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return {**json.loads(ended.stdout.splitlines()[-1]), "functions": functions}


def measured(name: str, peer: str) -> dict[str, dict[str, Any]]:
    """Return what was measured of a family, by forms."""
    found: dict[str, dict[str, Any]] = {}
    for system, forms in SYSTEMS.items():
        for form in forms:
            functions = FEWER.get((form, name), FAMILIES[name].functions)
            told = asked(sys.executable if system == "primad" else peer, system, form, name, functions)
            if told is None:
                continue
            found[form] = told
            like = found["primad"] if functions == found["primad"]["functions"] else None
            like = like or asked(sys.executable, "primad", "primad", name, functions)
            told["agrees"] = like is not None and np.allclose(told["losses"][:2], like["losses"][:2], rtol=AGREE)
    return found


def table(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Return a table in Markdown."""
    lines = [
        "| family | form | processor time of an epoch | times primad's | memory | first epoch |",
        "|---|---|---|---|---|---|",
    ]
    for name, forms in found.items():
        own = forms["primad"]["each"]
        for form, told in forms.items():
            more = FAMILIES[name].functions / told["functions"]
            mark = "" if more == 1 else f" ({told['functions']} of {FAMILIES[name].functions} functions)"
            cells = [name, form + mark, seconds(more * told["each"]), f"{more * told['each'] / own:.3g}"]
            lines.append(f"| {' | '.join(cells)} | {told['peak']:,.0f} MB | {seconds(told['first'])} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, and print or report; return whether losses differ."""
    given = options("operators", __doc__, "DeepXDE, PyTorch, JAX")
    found = {}
    for name in FAMILIES:
        found[name] = measured(name, given.peer_python)
        print(table({name: found[name]}), flush=True)
    if given.report:
        write("operators", table(found))
    wrong = [(name, form) for name, forms in found.items() for form, told in forms.items() if not told["agrees"]]
    print("".join(f"✗ {form} has another loss of {name}\n" for name, form in wrong), end="")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
