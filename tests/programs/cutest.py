"""Run CUTEst's problems on primad, as sif2jax has them in JAX: `python -m tests.programs.cutest [NAME…] [--minutes N]`.

sif2jax is installed by pip into a virtual environment in the folder (a temporary one if none is given), and primad
takes its functions by `from_jax`. Values, gradients and, up to 200 unknowns, products with Hessians must be JAX's; the
seconds of first calls and of each call are those of one core. Problems in `outside/cutest.txt` are run again only if
they are named. The status is 1 if a number is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .outside.environment import Environment
from .outside.problems import ENDED, read
from .outside.report import BEGIN, END

DOCS = Path(__file__).parents[2] / "docs"
PAGE, PICTURE = DOCS / "coming_from_jax.md", DOCS / "pictures" / "cutest.svg"
WORKER = Path(__file__).parent / "outside" / "problems.py"
ROWS = Path(__file__).parent / "outside" / "cutest.txt"
"""What is known: a line for each problem that was run."""
COLUMNS = ("problem", "unknowns", "first call / JAX's", "each call / JAX's", "why not")
WITHIN = "sif2jax.cutest."
PACKAGES = ("jax==0.10.2", "sif2jax==0.0.8")
PROBLEMS, LISTED = 1127, 837
"""How many problems that version has files of, and how many of these are in its list."""
ONE_CORE = {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OPENBLAS_NUM_THREADS": "1",
    "PRIMAD_CACHE": "0",
}
"""What keeps JAX and BLAS on one thread, so that seconds of processor time are those of the answer, and first calls of
primad from finding what other processes compiled."""


def main() -> int:
    """Run problems for the minutes given, print what came out, and say whether a number is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.cutest", description=__doc__)
    parser.add_argument("names", nargs="*", help="problems, as CUTEst names them (all, in a random order, if none)")
    parser.add_argument("--minutes", type=float, default=20.0, help="of processor time")
    parser.add_argument("--seed", default="1", help="of the order")
    parser.add_argument("--folder", type=Path, help="where the environment and what came out are kept")
    parser.add_argument("--report", action="store_true", help=f"write {ROWS.name}, {PAGE.name} and {PICTURE.name}")
    options = parser.parse_args()
    os.environ |= ONE_CORE
    with tempfile.TemporaryDirectory() as temporary:
        environment = Environment(options.folder or Path(temporary))
        environment.install(PACKAGES)
        results = environment.folder / "cutest.jsonl"
        known = read_rows()
        with results.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(known[name]) + "\n" for name in known.keys() - read(results).keys())
        arguments = [str(WORKER), str(results), str(options.minutes), options.seed, *options.names]
        ran = environment.run(arguments, environment.folder, int(3600 * max(options.minutes, 1.0)))
        if ran.returncode:
            print(ran.stderr, file=sys.stderr)
            return 1
        found = list((known | read(results)).values())
    print("\n".join(summary(found)))
    if options.report:
        write_rows(found)
        write_page(found)
        draw(found)
    return int(any(line["why"].startswith("WRONG") for line in found))


def read_rows() -> dict[str, dict[str, Any]]:
    """Return what is known of each problem: as a run says it, but that JAX's calls take one second each."""
    found = {}
    for line in ROWS.read_text(encoding="utf-8").splitlines()[1:]:
        name, unknowns, first, each, why = line.split("\t")
        row = {"name": WITHIN + name, "unknowns": int(unknowns or 0), "why": why}
        timed = {what: (1.0, float(ratio)) for what, ratio in (("first", first), ("each", each)) if ratio}
        found[WITHIN + name] = row | timed
    return found


def write_rows(found: Sequence[dict[str, Any]]) -> None:
    """Write down what is known of each problem."""
    lines = ["\t".join(COLUMNS)]
    for line in sorted(found, key=lambda line: str(line["name"])):
        timed = [f"{ratios([line], what)[0]:.3g}" if what in line else "" for what in ("first", "each")]
        row = [line["name"].removeprefix(WITHIN), str(line.get("unknowns", "")), *timed, kind_of(line["why"])]
        lines.append("\t".join(row))
    ROWS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def summary(found: Sequence[dict[str, Any]]) -> list[str]:
    """Return what came out, in lines of text."""
    asked = [line for line in found if not line["why"].startswith("without primad")]
    good = [line for line in asked if not line["why"]]
    first, each = ratios(good, "first"), ratios(good, "each")
    whys = Counter(kind_of(line["why"]) for line in found if line["why"])
    return [
        f"Of {PROBLEMS:,} problems that sif2jax has files of, {LISTED} of them in its list, {len(found):,} were run, "
        f"in a random order, with up to "
        f"{max(line.get('unknowns', 0) for line in found):,} unknowns; "
        f"JAX computes {len(asked):,} of them, and {len(good):,} have the same results on primad. "
        f"First calls take {np.median(first):.2f} of JAX's time (median), {np.sum(first >= 1)} of them more than it; "
        f"each call takes {np.median(each):.2f} of it, and {np.sum(each >= 1)} take more.",
        *[f"{why} ({count})" for why, count in whys.most_common()],
    ]


def kind_of(why: str) -> str:
    """Return the reason without what it says of one problem only."""
    cut = why.split(" Fix:")[0].split("relative difference")[0].split(" in /")[0]
    cut = re.sub(r"(abstract class|such file|requires) .*", r"\1", cut)
    return why if why == ENDED else re.sub(r"'/[^']*/", "'", cut)[:160].strip()


def ratios(good: Sequence[dict[str, Any]], what: str) -> Any:
    """Return primad's seconds over JAX's."""
    return np.array([line[what][1] / line[what][0] for line in good])


def write_page(found: Sequence[dict[str, Any]]) -> None:
    """Put what came out between two marks of the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    first, *whys = summary(found)
    known = [f"What does not run: {'; '.join(whys)}."] if whys else []
    lines = "\n\n".join("\n".join(textwrap.wrap(each, 118)) for each in (first, *known))
    PAGE.write_text(f"{before}{BEGIN}\n\n{lines}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


def draw(found: Sequence[dict[str, Any]]) -> None:
    """Draw which part of the problems has at most a ratio of primad's time to JAX's."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    good = [line for line in found if not line["why"]]
    with plt.rc_context({"svg.hashsalt": "primad", "font.size": 11, "figure.constrained_layout.use": True}):
        _, axes = plt.subplots(figsize=(7, 3.5))
        for what, label in (("first", "first call"), ("each", "each call")):
            axes.ecdf(ratios(good, what), label=label)
        axes.axvline(1.0, color="gray", linewidth=0.8)
        axes.set(xscale="log", xlabel="primad's time / JAX's", ylabel="part of the problems", ylim=(0.0, 1.0))
        axes.legend(frameon=False)
        plt.savefig(PICTURE, metadata={"Date": None})
        plt.close("all")


if __name__ == "__main__":
    sys.exit(main())
