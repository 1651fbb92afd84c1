"""Time sparse matrices and what is solved with them: `python -m tests.benchmarks.sparse [NAME…] [--peer-python PATH]`.

Each system runs each workload in a process of its own; times are processor seconds of all threads. *find* is recording
and finding the entries that may not be zero, *first* the first call after that, or all of it where nothing is found
apart; *each* a call at a further point, *out=* the same into an array that is there, *jit* of a compiled function. Of
what the project has set itself, the lines below a workload say whether it holds. Matrices must agree.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from primad.system.quantities import seconds

from .functions import CONTROLLERS, FIELDS, MATRICES, NETWORKS, PROGRAMS, STIFF

HERE = Path(__file__).parent
PEERS = ("asdex", "casadi", "autograd")
NAMES = [*MATRICES, *CONTROLLERS, *PROGRAMS, *NETWORKS, *STIFF, *FIELDS]
COUNTS = ("entries", "local entries", "directions")


class Target(NamedTuple):
    """A bound of a time, or of a number.

    Attributes:
        time: its name.
        most: seconds, or a number; or a part of another one.
        of: the name of that one, None for seconds.
        system: whose time that is.
        must: whether it has to hold, or is to be reached.
    """

    time: str
    most: float
    of: str | None = None
    system: str = "primad"
    must: bool = True


TARGETS = {
    "rosenbrock 1e5": [
        Target("each", 0.5, "each", "casadi"), Target("each", 4.0, "copy", must=False), Target("directions", 3),
    ],
    "brusselator 32": [
        Target("find", 0.02), Target("colour", 0.005), Target("each", 5e-4), Target("find", 0.0021, must=False),
        Target("colour", 0.00019, must=False), Target("each", 0.00015, must=False), Target("directions", 12),
        Target("jit", 1 / 3, "jit", "asdex"),
    ],
    "brusselator 256": [Target("directions", 12), Target("jit", 1 / 3, "jit", "asdex")],
    "banded 9072": [Target("find", 0.1), Target("find", 0.02, must=False), Target("directions", 9)],
    "predictive control 65": [Target("local entries", 185)],
    "luksan-vlcek 400": [Target("first", 0.5), Target("first", 0.1, must=False)],
    "power flow 10000": [Target("first", 5.0), Target("first", 1.0, must=False)],
    "bundle 49": [Target("each", 1.0, "jit", "asdex"), Target("each", 0.5, "jit", "asdex", must=False)],
    "network 200": [Target("first", 4.0), Target("first", 1.0, must=False)],
    "stiff solve 32": [
        Target("each", 1 / 5, "dense"), Target("each", 1 / 5, "dense", "asdex"), Target("each", 1, "each", "asdex"),
        Target("each", 1.3, "by hand", must=False),
    ],
    "stiff solve 128": [Target("each", 1 / 3, "each", "asdex")],
    "stiff solve 256": [Target("each", 1 / 3, "each", "asdex")],
    "stiff gradient 5": [Target("each", 1.0, "differences"), Target("each", 0.0058, must=False)],
    "stiff gradient 8": [Target("each", 1.0, "differences"), Target("each", 0.0266, must=False)],
    "stiff gradient 10": [Target("each", 1.0, "differences"), Target("each", 0.0601, must=False)],
}  # fmt: skip
"""What the project has set itself. The seconds of the second kind are the best that were published, in Julia.

Directions are those of R. Curtis, M. Powell and J. Reid (1974) for bands, and of SciML's tutorial for the Brusselator;
185 local entries of 4225 were found by SparseConnectivityTracer for a predictive controller.
"""


def run(python: str, system: str, *names: str, patience: float) -> dict[str, float]:
    """Return what a system measures of a workload; nothing if it fails or takes too long."""
    paths = [str(HERE), *([str(HERE.parents[2])] if system == "primad" else [])]
    command = [os.path.abspath(python), str(HERE / "serve.py"), system, *names]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=patience)
    except subprocess.TimeoutExpired:
        return {}
    if ended.returncode:
        print(ended.stderr.strip().splitlines()[-1:], file=sys.stderr)
        return {}
    return dict(json.loads(ended.stdout.splitlines()[-1]))


def line(system: str, found: dict[str, float]) -> str:
    """Return what was measured, in words."""
    counts = ", ".join(f"{found[name]:.0f} {name}" for name in COUNTS if name in found)
    times = [(name, x) for name, x in found.items() if name not in (*COUNTS, "digest", "name", "kinds")]
    return f"  {system:10} " + ", ".join([*([counts] if counts else []), *(f"{n} {seconds(x)}" for n, x in times)])


def checked(target: Target, found: dict[str, dict[str, float]]) -> str | None:
    """Return whether a bound holds, in words; None where its time was not measured."""
    time = found["primad"].get(target.time)
    other = 1.0 if target.of is None else found.get(target.system, {}).get(target.of)
    if time is None or other is None:
        return None
    whose = "" if target.of is None else f", {target.most:g} × {target.of} of {target.system}"
    kind = "must" if target.must else "to reach"
    mark = "✓" if time <= target.most * other else "✗"
    shown: Callable[[float], str] = "{:.0f}".format if target.time in COUNTS else seconds
    return f"    {mark} {target.time} {shown(time)} ({kind}: {shown(target.most * other)}{whose})"


def main() -> int:
    """Measure the workloads named on the command line, all if there are none; return whether something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sparse", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--peer-python", help="an interpreter with JAX and asdex, CasADi or HIPS autograd")
    parser.add_argument("--patience", type=float, default=120.0, help="seconds for a workload of a system")
    options = parser.parse_args()
    systems = {"primad": sys.executable, **dict.fromkeys(PEERS if options.peer_python else (), options.peer_python)}
    hello = {name: run(python, name, patience=options.patience) for name, python in systems.items()}
    for name, told in hello.items():
        print(f"not compared: {told['missing']}" if "missing" in told else f"{name}: {told.get('name')}")
    failed = False
    for workload in options.names or NAMES:
        print(workload, flush=True)
        found: dict[str, dict[str, float]] = {}
        for system, python in systems.items():
            if workload in hello[system].get("kinds", ()):
                found[system] = run(python, system, workload, patience=options.patience)
                print(line(system, found[system]) if found[system] else f"  {system:10} failed", flush=True)
        for system, told in found.items():
            ours, theirs = (x.get("digest") for x in (found["primad"], told))
            if ours is not None and theirs is not None and abs(ours - theirs) > 1e-6 * (1 + abs(ours)):
                print(f"    ✗ {system} differs: {theirs} instead of {ours}")
                failed = True
        for target in TARGETS.get(workload, ()):
            print(*([text] if (text := checked(target, found)) else []), sep="")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
