"""One program, run with what it was written for and with primad: which cases give the same."""

from __future__ import annotations

import os
import pickle
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .environment import Environment
from .table import Program

HERE = Path(__file__).parent
CLOCK = f"{__package__}.processor_time"
"""The plugin by which pytest tells seconds of processor time."""


@dataclass(frozen=True)
class Outcome:
    """What became of one case.

    Attributes:
        name: of the case.
        seconds: of processor time without primad and with it, of calls after the first one; None if it did not run.
        why: the reason why it failed; empty if it did not.
        first: seconds of the first calls.
        unexpected: whether the table says otherwise.
    """

    name: str
    seconds: tuple[float, float] | None
    why: str = ""
    first: tuple[float, float] | None = None
    unexpected: bool = False


def judged(program: Program, outcome: Outcome) -> Outcome:
    """Return an outcome beside what the table says of it."""
    listed = program.known.get(outcome.name, "")
    if listed and outcome.why:
        return Outcome(outcome.name, outcome.seconds, f"{listed} [{outcome.why}]", outcome.first)
    if listed:
        return Outcome(outcome.name, outcome.seconds, f"passes, though the table says: {listed}", None, True)
    return Outcome(outcome.name, outcome.seconds, outcome.why, outcome.first, unexpected=bool(outcome.why))


def compare_script(program: Program, environment: Environment) -> list[Outcome]:
    """Run the script of a program both ways, and compare what each case gives."""
    script = HERE / "scripts" / f"{program.name}.py"
    peer = "autograd" if program.written_for == "autograd" else "differences"
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for way in (peer, "primad"):
            results = Path(folder) / way
            try:
                command = [str(HERE / "worker.py"), str(script), way, str(results), *program.recorded]
                ran = environment.run(command, Path(folder), program.within)
            except subprocess.TimeoutExpired:
                return [Outcome(way, None, f"did not end in {program.within} s", unexpected=True)]
            if ran.returncode:
                return [Outcome(way, None, (ran.stderr.strip().splitlines() or ["?"])[-1], unexpected=True)]
            runs.append(pickle.loads(results.read_bytes()))
    return [judged(program, compared(name, runs[0][name], runs[1][name], program.rtol)) for name in runs[0]]


def compared(name: str, before: dict[str, Any], now: dict[str, Any], rtol: float) -> Outcome:
    """Return what comparing the results of a case gives."""
    if "error" in before:
        return Outcome(name, None, f"fails without primad: {before['error']}")
    if "error" in now:
        return Outcome(name, None, now["error"])
    difference = differs(before["result"], now["result"], rtol)
    first, seconds = zip(before["seconds"], now["seconds"], strict=True)
    return Outcome(name, seconds, difference, first)


def differs(x: Any, y: Any, rtol: float, where: str = "") -> str:
    """Say where two results differ by more than a part of their largest numbers; nothing if they do not."""
    if isinstance(x, (dict, list)):
        if type(x) is not type(y) or len(x) != len(y):
            return f"another structure at {where or 'the top'}"
        keys = list(x) if isinstance(x, dict) else range(len(x))
        return next(filter(None, [differs(x[key], y[key], rtol, f"{where}[{key!r}]") for key in keys]), "")
    if x.shape != y.shape:
        return f"WRONG{where}: the shape {y.shape}, not {x.shape}"
    if x.dtype.kind not in "fciu" or not x.size:
        return "" if np.array_equal(x, y) else f"WRONG{where}: {y}, not {x}"
    finite = np.isfinite(x)
    scale = np.max(np.abs(x[finite]), initial=0.0) or 1.0
    error = np.max(np.abs(x[finite] - y[finite]), initial=0.0) / scale
    if not np.array_equal(finite, np.isfinite(y)) or error > rtol:
        return f"WRONG{where}: relative difference {error:.1e}"
    return ""


def compare_suite(program: Program, environment: Environment) -> list[Outcome]:
    """Run a package's own tests both ways: what passes without primad must pass with it."""
    source = environment.source(program.packages[0])
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for way, before in ("autograd", []), ("primad", ["-m", "primad.compat.autograd"]):
            results = Path(folder) / f"{way}.xml"
            options = ["-q", "-p", "no:cacheprovider", "-p", CLOCK, "-c", os.devnull, "--rootdir=."]
            options.append(f"--junitxml={results}")
            try:
                command = [*before, "-m", "pytest", *program.suite, *options, "--continue-on-collection-errors"]
                ran = environment.run(command, source, program.within)
            except subprocess.TimeoutExpired:
                return [Outcome(way, None, f"did not end in {program.within} s", unexpected=True)]
            if not results.exists():
                said = (ran.stderr or ran.stdout).strip().splitlines() or ["?"]
                return [Outcome(way, None, said[-1], unexpected=True)]
            runs.append(passed_or_why(results))
    before, now = runs
    return [
        judged(program, Outcome(name, (seconds, now.get(name, ("", 0.0))[1]), now.get(name, ("not collected", 0.0))[0]))
        for name, (why, seconds) in before.items()
        if not why
    ]


def passed_or_why(results: Path) -> dict[str, tuple[str, float]]:
    """Return by the name of each test of a file of JUnit's form why it failed, or nothing, and its seconds."""
    found = {}
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        bad = next((each for each in case if each.tag in ("failure", "error", "skipped")), None)
        why = "" if bad is None else " ".join((bad.get("message") or bad.tag).split())[:300]
        found[f"{case.get('classname')}.{case.get('name')}"] = why, float(case.get("time") or 0.0)
    return found
