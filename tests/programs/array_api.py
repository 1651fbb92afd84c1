"""Run array-api-tests, the suite of the Array-API standard: `python -m tests.programs.array_api [--suite CHECKOUT]`.

The suite is in no package: a checkout is named, or git clones it into the folder. It runs twice in an environment of
its own, on NumPy's namespace and on `primad.numpy`, with the same examples. What passes with NumPy must pass with
primad, but for the tests that `outside/array_api_failures.txt` lists with a reason. The status is 1 if another fails,
or a listed one passes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .outside.environment import Environment
from .outside.runs import passed_or_why

ADDRESS = "https://github.com/data-apis/array-api-tests"
KNOWN = Path(__file__).parent / "outside" / "array_api_failures.txt"
NAMESPACES = ("numpy", "primad.numpy")
WITHIN = 3600
"""Seconds that a run may take. Chosen: some thousand tests of twenty examples take minutes."""

Runner = Callable[[Sequence[str], Path, int], Any]


def main() -> int:
    """Run the suite both ways, print what differs, and say whether it is as listed."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.array_api", description=__doc__)
    parser.add_argument("--suite", type=Path, help="a checkout of array-api-tests, with its submodule")
    parser.add_argument("--folder", type=Path, help="where the environment, and a clone of the suite, are kept")
    parser.add_argument("--examples", type=int, default=20, help="how many examples a test tries (20)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        environment = Environment(options.folder or Path(temporary))
        suite = (options.suite or cloned(environment.folder)).resolve()
        environment.install([line for line in (suite / "requirements.txt").read_text().split() if line[0].isalpha()])
        before, now = [results(environment.run, suite, name, options.examples) for name in NAMESPACES]
    return told(before, now, known(KNOWN.read_text(encoding="utf-8")))


def cloned(folder: Path) -> Path:
    """Return a clone of the suite in a folder; one that is there is used again."""
    suite = folder / "array-api-tests"
    if not suite.exists():
        found = subprocess.run(["git", "clone", "--quiet", "--recurse-submodules", ADDRESS, str(suite)], check=False)
        if found.returncode:
            raise SystemExit(f"git cannot clone {ADDRESS}: name a checkout of it by --suite.")
    return suite


def results(run: Runner, suite: Path, namespace: str, examples: int) -> dict[str, str]:
    """Return by the name of each test of the suite why it failed with a namespace, or nothing.

    Args:
        run: runs Python with arguments, in a folder, within some seconds.
        suite: a checkout.
        namespace: a module.
        examples: how many a test tries.
    """
    os.environ["ARRAY_API_TESTS_MODULE"] = namespace
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "results.xml"
        options = ["-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", f"--max-examples={examples}"]
        ran = run(["-m", "pytest", "array_api_tests", *options, f"--junitxml={found}"], suite, WITHIN)
        if not found.exists():
            raise SystemExit(f"the suite did not run with {namespace}: {(ran.stderr or ran.stdout).strip()[-2000:]}")
        return {name: why for name, (why, _) in passed_or_why(found).items()}


def known(text: str) -> dict[str, str]:
    """Return the reasons of a list by the names of tests: lines `name: reason`, and others that begin with #."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {name: reason for name, _, reason in (line.partition(": ") for line in lines)}


def told(before: Mapping[str, str], now: Mapping[str, str], listed: Mapping[str, str]) -> int:
    """Print what fails with primad only, and return the status."""
    passes = [name for name, why in before.items() if not why]
    failed = {name: now.get(name, "not collected") for name in passes if now.get(name, "not collected")}
    unexpected = 0
    print(f"{len(before)} tests; {len(passes)} pass with NumPy, {len(passes) - len(failed)} of these with primad.numpy")
    for name in {**failed, **listed}:
        if name in failed:
            print(f"    {name}: {listed.get(name, 'NOT LISTED')} [{failed[name]}]")
        else:
            print(f"    {name} passes, though the list says: {listed[name]}")
        unexpected += (name in failed) != (name in listed)
    return int(bool(unexpected))


if __name__ == "__main__":
    sys.exit(main())
