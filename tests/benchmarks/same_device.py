"""Time what primad derived beside plain JAX: `python -m tests.benchmarks.same_device --peer-python PATH [--report]`.

Both run on the device that JAX takes, in processes of their own, in turn (see measure.py). The forms of JAX are those
that a specialist writes (`jet`, the forward Laplacian of `folx`) and those that people write (nested derivatives,
Hessians). The interpreter has jax and folx, and what primad needs.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path
from typing import NamedTuple

from .distributed import with_figures
from .machine import Limits, description
from .measure import Effort, Row, measure
from .report import number, write
from .systems import System
from .workloads import WORKLOADS

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"
BEGIN = "<!-- figures: python -m tests.benchmarks.same_device --report -->\n"
END = "<!-- end of figures of one device -->\n"
NAMES = ("burgers", "order-4", "order-8", "laplacian-gradient", "plate", "laplacian-wide")
CAREFUL = ("jet", "folx")
"""Words in the names of forms that a specialist writes."""
BY_PEOPLE = ("hessian", "laplacian of laplacian", "directions")
"""Words in the names of forms that people write; where there is none, as of order k, they nest `jvp`."""
MOST_BY_HAND, LEAST_BY_PEOPLE, MOST_FIRST = 1.1, 2.0, 0.25
"""The limits: primad's time over the best form by hand, the time of the form that people write over primad's, and
primad's first call over JAX's."""


class Best(NamedTuple):
    """The fastest of some forms: its name, milliseconds a call, and seconds of the first call."""

    name: str
    ms: float
    first: float


def best(row: Row) -> tuple[Best | None, Best | None]:
    """Return the fastest form that a specialist writes, and the fastest that people write."""
    forms = [Best(name.removeprefix("JAX "), form["ms"], form["first_call_s"]) for name, form in row["peers"].items()]
    plain = [form for form in forms if any(word in form.name for word in BY_PEOPLE)]
    plain = plain or [form for form in forms if not any(word in form.name for word in CAREFUL)]
    careful = [form for form in forms if form not in plain]
    return min(careful, key=lambda form: form.ms, default=None), min(plain, key=lambda form: form.ms, default=None)


def line(row: Row) -> str:
    """Return a row of the table."""
    own, first = row["primad_ms"], row["first_call_s"]
    hand, people = best(row)
    cells = [row["workload"], number(own)]
    cells += [f"{hand.name}: {number(hand.ms)}", _marked(own / hand.ms, most=MOST_BY_HAND)] if hand else ["–", "–"]
    cells += (
        [f"{people.name}: {number(people.ms)}", _marked(people.ms / own, least=LEAST_BY_PEOPLE)]
        if people
        else ["–", "–"]
    )
    most = MOST_FIRST if row["workload"] == "order-8" else None
    calls = [form.first for form in (hand, people) if form]
    cells += [f"{first:.2f}", " / ".join(f"{each:.2f}" for each in calls)]
    cells.append(" / ".join(_marked(first / each, most=most) for each in calls))
    return "| " + " | ".join(cells) + " |\n"


def _marked(ratio: float, most: float | None = None, least: float | None = None) -> str:
    """Return a ratio, and whether it is within its limit if it has one."""
    if most is None and least is None:
        return f"{ratio:.2f}"
    met = (most is None or ratio <= most) and (least is None or ratio >= least)
    return f"{ratio:.2f} {'✓' if met else '✗'}"


def section(rows: list[Row], device: str) -> str:
    """Return the section of the page."""
    said = description()
    heads = [
        "workload", "primad on XLA", "by hand", f"primad's time over it (at most {MOST_BY_HAND})", "as people write it",
        f"its time over primad's (at least {LEAST_BY_PEOPLE:.0f})", "first call", "JAX's, of both forms",
        f"primad's over those (order 8: at most {MOST_FIRST})",
    ]  # fmt: skip
    text = f"""
Measured on {device} of {said["cores"]} cores of an {said["processor"]}, float64; times of calls are medians in
milliseconds, first calls are in seconds.

| {" | ".join(heads)} |
|---|{"---|" * (len(heads) - 1)}
"""
    return text + "".join(line(row) for row in rows) + "\n"


def device_of(python: str) -> str:
    """Return the device that JAX takes in words."""
    words = 'import jax; d = jax.devices()[0]; print(f"XLA\'s {d.platform.upper()} device ({d.device_kind})")'
    return subprocess.run([python, "-c", words], capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Measure, and print or report."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.same_device", description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help=f"workloads of networks; by default {', '.join(NAMES)}")
    parser.add_argument("--peer-python", required=True, help="an interpreter with jax, folx and what primad needs")
    parser.add_argument("--rounds", type=int, default=Effort.rounds)
    parser.add_argument("--seconds", type=float, default=Effort.seconds, help="for all rounds of a workload")
    parser.add_argument("--patience", type=float, default=120.0, help="seconds for one call of a form")
    parser.add_argument("--report", action="store_true", help="write the figures into docs/scaling.md")
    options = parser.parse_args()
    effort = Effort(options.rounds, options.seconds, options.patience)
    rows, limits = [], Limits()
    systems = [System(options.peer_python, side) for side in ("xla_side", "jax_side")]
    try:
        for name in options.names:
            rows.append(measure(WORKLOADS[name], "float64", systems, limits, effort))
            print(line(rows[-1]), end="", flush=True)
            print("".join(f"  {note}\n" for note in rows[-1]["notes"]), end="", flush=True)
    finally:
        for system in systems:
            system.close()
    text = section(rows, device_of(options.peer_python))
    print(text)
    if options.report:
        write(PAGE, with_figures(PAGE.read_text(encoding="utf-8"), text, BEGIN, END))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
