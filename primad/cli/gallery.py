"""The scientific examples: found by their files, described by their docstrings, run one after the other, recorded.

An example is a file with

- a docstring, whose first line says what it is and whose last paragraph has lines `Reference:` (what the result is
  compared with), `Reach:` (figures that a full run should not exceed, as `error 1e-6, seconds 10`), `Toy:` (the same of
  a run at toy size), where somebody published figures `Published:`, and `Needs:` for a module besides primad's own;
- `solve(toy)` or `solve(toy, seed)`, which returns the figures, a dict of numbers, and a tuple of what to draw;
- `draw(*shown)`, which draws it on matplotlib's current figure or on one that it makes.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import json
import os
import platform
import re
import runpy
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from primad.parallel.job import is_awaited, joined
from primad.system.machine import processors

FIELDS = ("Needs", "Reference", "Reach", "Toy", "Published")
"""What the end of an example's docstring may say."""

WIDTH = 9.0
"""The width of every picture, in inches: three panels with letters of 11 points fit side by side; chosen by eye."""


@dataclass(frozen=True)
class GalleryExample:
    """An example and what its docstring says.

    Attributes:
        path: its file.
        title: the first line.
        said: the lines at the end, by field.
    """

    path: Path
    title: str
    said: Mapping[str, str]

    @property
    def name(self) -> str:
        """The name that it is called by."""
        return self.path.stem

    @property
    def missing(self) -> str:
        """The module that it needs and that is not installed; "" if there is none."""
        needed = self.said.get("Needs", "").partition(" ")[0].rstrip(".,:;")
        return needed if needed and not find_spec(needed) else ""

    def limits(self, toy: bool) -> dict[str, float]:
        """Return what its figures should not exceed."""
        text = self.said.get("Toy" if toy else "Reach", "")
        return {name: float(value) for name, value in re.findall(r"([a-z][a-z_0-9]*) ([0-9.e+-]+)", text)}


def examples(folder: Path | None = None) -> dict[str, GalleryExample]:
    """Return the examples by name: those installed with the package, or in a checkout those beside it."""
    package = Path(__file__).resolve().parents[1]
    for place in (package / "demos", package.parent / "scientific_examples") if folder is None else (folder,):
        if place.is_dir():
            return {path.stem: _read(path) for path in sorted(place.glob("*.py")) if not path.stem.startswith("_")}
    return {}


def _read(path: Path) -> GalleryExample:
    """Return an example from its docstring; the file is not run."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem
    said: dict[str, str] = {}
    for line in text.split("\n\n")[-1].splitlines():
        field, colon, rest = line.partition(":")
        if colon and field in FIELDS:
            said[field] = rest.strip()
        elif said:
            said[list(said)[-1]] += " " + line.strip()
    return GalleryExample(path, text.splitlines()[0].rstrip("."), said)


def run_example(
    example: GalleryExample, out: Path, toy: bool = False, seed: int = 0, run: str | None = None
) -> dict[str, Any]:
    """Run an example; write its picture and its record to a folder, and return the record.

    Args:
        example: which.
        out: the folder, which is made.
        toy: whether at toy size.
        seed: for examples that draw random numbers.
        run: when the run of several began that this one belongs to; None for now.
    """
    run = run or _now()
    out.mkdir(parents=True, exist_ok=True)
    script = runpy.run_path(str(example.path))
    options = {"seed": seed} if "seed" in inspect.signature(script["solve"]).parameters else {}
    with _interrupts_noted() as interrupted:
        start = time.perf_counter()
        figures, shown = script["solve"](toy, **options)
        seconds = time.perf_counter() - start
    figures = {**{name: float(value) for name, value in figures.items()}, "seconds": seconds}
    limits = example.limits(toy)
    record = {
        "name": example.name,
        "title": example.title,
        "toy": toy,
        "run": run,
        **options,
        "figures": figures,
        "missed": [name for name, limit in limits.items() if not figures.get(name, float("nan")) <= limit],
        "interrupted": bool(interrupted),
        "machine": {"processor": _processor(), "processors": processors(), "python": platform.python_version()},
    }
    if not _is_first():
        return record
    if find_spec("matplotlib"):
        _picture(out / f"{example.name}.png", script["draw"], shown)
    _write(out / f"{example.name}.json", lambda path: path.write_text(json.dumps(record, indent=1) + "\n"))
    return record


def _now() -> str:
    """Return the time to the second, of Greenwich."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")


def _is_first() -> bool:
    """Say whether this process writes what an example made: of several that made it together, the first."""
    team = joined()
    return team is None or team.rank == 0


@contextlib.contextmanager
def _interrupts_noted() -> Iterator[list[int]]:
    """Yield a list that Ctrl-C fills: what is interrupted may end in good order, but nothing new should begin."""
    seen: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        seen.append(number)
        signal.default_int_handler(number, frame)

    try:
        signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread, which gets no interrupts
        yield seen
        return
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


def _picture(path: Path, draw: Callable[..., None], shown: Sequence[Any]) -> None:
    """Draw on a screen that is not there, and save."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 11, "savefig.dpi": 160, "figure.constrained_layout.use": True}):
        draw(*shown)
        figure = plt.gcf()
        width, height = figure.get_size_inches()
        figure.set_size_inches(WIDTH, height * WIDTH / width)  # letters keep their size: they are as large in all
        _write(path, figure.savefig)
        plt.close("all")


def _write(path: Path, save: Callable[[Path], Any]) -> None:
    """Save under another name first, so that no half-written file is left behind."""
    part = path.with_name(f"part-{path.name}")
    save(part)
    os.replace(part, path)


def _processor() -> str:
    """Return the processor's name, as far as the system tells it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def column(name: str) -> str:
    """Return a name that what is said of the example may follow, in line with others."""
    return f"{name:<28} "


def in_words(record: Mapping[str, Any]) -> str:
    """Return the line of figures of a record."""
    figures = "  ".join(f"{name} {value:.3g}" for name, value in record["figures"].items())
    end = "interrupted" if record["interrupted"] else f"missed: {', '.join(record['missed'])}" * bool(record["missed"])
    return f"{column(record['name'])}{figures}  {end}".rstrip()


def finished(out: Path, name: str, toy: bool) -> bool:
    """Return whether a folder has the record of a run of this size that was not interrupted."""
    try:
        record = json.loads((out / f"{name}.json").read_text())
        return bool(record["toy"] == toy and not record["interrupted"])
    except (OSError, ValueError, KeyError):
        return False


def run_examples(chosen: Sequence[GalleryExample], out: Path, toy: bool, seed: int, resume: bool) -> int:
    """Run examples one after the other, and print a line each.

    Returns:
        the exit code: 0 if all ran, 1 if some failed, 130 after Ctrl-C. A figure that is missed is no failure.
    """
    failed, run = [], _now()
    for example in chosen:
        if resume and finished(out, example.name, toy):
            print(f"{column(example.name)}done before")
            continue
        if example.missing:
            print(f"{column(example.name)}left out: it needs {example.said['Needs']}")
            continue
        if sys.stdout.isatty():  # some take minutes; the line of figures is written over this one
            print(f"{column(example.name)}is running …", end="\r", flush=True)
        try:
            record = run_example(example, out, toy, seed, run)
        except KeyboardInterrupt:
            print(f"{column(example.name)}interrupted")
            return 130
        except Exception:  # the others are to run, whatever it is
            if is_awaited():
                raise  # which ends the processes that wait for this one
            traceback.print_exc()
            failed.append(example.name)
            continue
        if _is_first():
            print(in_words(record), flush=True)
        if record["interrupted"]:
            return 130
    if _is_first():
        print(f"results are in {out.resolve()}")
    if not find_spec("matplotlib"):
        print("no pictures: matplotlib is missing; pip install 'primad[plot]' brings it")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def run_file(path: str) -> None:
    """Run the example in a file; with --toy in the command, at toy size."""
    example = _read(Path(path))
    raise SystemExit(run_examples([example], Path("examples_out"), "--toy" in sys.argv, 0, False))
