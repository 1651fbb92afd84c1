"""What the benchmarks of other projects have in common: how a process is asked, and where its figures are written."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.benchmarks.distributed import END, with_figures

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "other_benchmarks.md"


def options(name: str, about: str | None, needs: str) -> argparse.Namespace:
    """Return what a command was given: an interpreter, and whether to write its figures into the page.

    Args:
        name: of the package in `tests.benchmarks`.
        about: what it does.
        needs: what the interpreter has, in words.
    """
    parser = argparse.ArgumentParser(prog=f"python -m tests.benchmarks.{name}", description=about)
    parser.add_argument("--peer-python", required=True, help=f"an interpreter with {needs} and primad's needs")
    parser.add_argument("--report", action="store_true", help=f"write the figures into docs/{PAGE.name}")
    return parser.parse_args()


def asked(python: str, script: Path, *arguments: str, **variables: str) -> dict[str, Any] | None:
    """Return what a process told in its last line; None where the interpreter lacks another system than primad.

    Args:
        python: the interpreter.
        script: what it runs.
        arguments: of the script, the first of which is the system.
        variables: of the environment.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    command = [os.path.abspath(python), str(script), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    if ended.returncode and not arguments[0].startswith("primad") and "ModuleNotFoundError" in ended.stderr:
        return None
    if ended.returncode:
        raise SystemExit(ended.stderr)
    return dict(json.loads(ended.stdout.splitlines()[-1]))


def write(name: str, figures: str) -> None:
    """Write a benchmark's figures into the page."""
    begin = f"<!-- figures: python -m tests.benchmarks.{name} --report -->\n"
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), figures, begin, END), encoding="utf-8")
