"""Time sums over processes and fit what they cost: `python -m tests.benchmarks.distributed [--report]`.

It starts itself with `mpiexec` on one and two processes, each on one thread: sums of 8 bytes to 8 MB, the gradient of a
loss with as many points for each process (weak scaling), and a Levenberg-Marquardt step. A model of the messages is
fitted to the sums, and tells what steps would take on more processes than there are here. Points in a file are timed
beside the same points in memory.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import primad
from primad import optimize

from .report import write

ROOT = Path(__file__).parents[2]
PAGE, PICTURE = ROOT / "docs" / "scaling.md", ROOT / "docs" / "pictures" / "scaling.svg"
BEGIN, END = "<!-- figures: python -m tests.benchmarks.distributed --report -->\n", "<!-- end of figures -->\n"
SIZES = [8 * 10**k for k in range(7)]
"""Bytes of sums."""
POINTS = 4000
"""Points for each process."""
ROUNDS = 15
"""Times that each is measured; the median counts."""
PREDICTED = (1, 2, 10, 100, 1000, 10_000)
"""Processes."""
NAMES = {"gradient": "value and gradient", "step": "a Levenberg–Marquardt step"}
"""What is timed, in words."""


class Cost(NamedTuple):
    """What a message costs.

    Attributes:
        latency: seconds for its first byte.
        each: seconds for each byte.
    """

    latency: float
    each: float

    def sum(self, processes: int, nbytes: int) -> float:
        """Return the seconds of a sum: the tree up, and the root to all."""
        return 2 * math.ceil(math.log2(processes)) * (self.latency + nbytes * self.each)


def fitted(sizes: Sequence[int], seconds: Sequence[float]) -> Cost:
    """Return the cost of messages that sums between two processes tell, with relative errors of least squares."""
    rows = np.array([[1.0, size] for size in sizes]) / np.array(seconds)[:, None]
    (latency, each), *_ = np.linalg.lstsq(rows, np.ones(len(sizes)), rcond=None)
    return Cost(max(latency, 0.0) / 2, max(each, 0.0) / 2)


# -- what processes run ------------------------------------------------------------------------------------------------


def network(params: Any, x: Any) -> Any:
    """A network with three layers."""
    for w in params[:-1]:
        x = np.tanh(x @ w)
    return (x @ params[-1])[0]


def residuals(params: Any, points: Any) -> Any:
    """A Poisson equation in the plane, at points."""

    def at(x: Any) -> Any:
        return primad.laplacian(lambda y: network(params, y))(x) - np.sin(x[0])

    return primad.vmap(at)(points)


def loss(params: Any, points: Any) -> Any:
    """Half the mean square of the residuals."""
    return 0.5 * np.mean(residuals(params, points) ** 2)


def median_time(work: Callable[[], Any]) -> float:
    """Return the median of the times of calls, of the slowest process."""
    work()
    found = []
    for _ in range(ROUNDS):
        team = primad.ranks()
        team.total(team.size, team.size, lambda i: [np.zeros(1)], [np.zeros(1)], {})  # begin together
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return float(np.median(found))


def measured() -> dict[str, Any]:
    """Return what this process finds."""
    primad.set_num_threads(1)
    team = primad.ranks()
    rng = np.random.default_rng(0)
    params = [rng.normal(size=pair) / 4 for pair in ((2, 20), (20, 20), (20, 20), (20, 1))]
    points = primad.Share.of(rng.normal(size=(POINTS * team.size, 2)))
    gradient = primad.distribute(primad.value_and_grad(loss))
    rule = optimize.LevenbergMarquardt(acceleration=0.0)
    model = rule.compile(primad.distribute(residuals))
    state = rule.init(params)
    sums = []
    for size in SIZES:
        like = [np.zeros(size // 8)]
        sums.append(
            median_time(lambda like=like: team.total(team.size, team.size, lambda i: [like[0].copy()], like, {}))
        )
    return {
        "sums": sums,
        "gradient": median_time(lambda: gradient(params, points)),
        "step": median_time(lambda: rule.update(params, state, model, points)),
        "parameters": sum(w.size for w in params),
    }


def out_of_core() -> dict[str, float]:
    """Return the seconds of a gradient over points in memory, and in a file that the system has read before."""
    rng = np.random.default_rng(0)
    function = primad.jit(primad.value_and_grad(lambda w, x: np.mean(np.tanh(x @ w) ** 2)))
    points = rng.normal(size=(10**7, 2))
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "points.npy", points)
        mapped = np.load(Path(folder) / "points.npy", mmap_mode="r")
        found: dict[str, list[float]] = {"memory": [], "file": []}
        for _ in range(ROUNDS):
            for name, array in (("memory", points), ("file", mapped)):
                start = time.perf_counter()
                function(np.ones(2), array)
                found[name].append(time.perf_counter() - start)
    return {name: float(np.median(times)) for name, times in found.items()}


# -- what is made of it ------------------------------------------------------------------------------------------------


def started(processes: int) -> dict[str, Any]:
    """Return what so many processes find; the slowest one's times count."""
    starter = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or "mpiexec"
    command = [starter, "-n", str(processes), sys.executable, "-m", "tests.benchmarks.distributed", "--worker"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {key: np.max([row[key] for row in rows], axis=0).tolist() for key in rows[0]}


def figures(one: dict[str, Any], two: dict[str, Any], files: dict[str, float], cost: Cost) -> str:
    """Return the section of the page."""
    nbytes = {"gradient": 8 * (two["parameters"] + 1), "step": 8 * two["parameters"] * (two["parameters"] + 1)}
    rows = [
        f"| {name}, {nbytes[key] / 1e3:.0f} kB in a sum | {1e3 * one[key]:.1f} ms | {1e3 * two[key]:.1f} ms "
        f"| {one[key] / two[key]:.0%} |"
        for key, name in NAMES.items()
    ]
    text = f"""
Measured on one machine with {os.cpu_count()} processors, each process on one of them, {POINTS} points for each, a
network with {two["parameters"]} parameters:

| | one process | two, twice the points | weak scaling |
|---|---|---|---|
{chr(10).join(rows)}

A message costs {1e6 * cost.latency:.1f} µs, and {1e9 * cost.each:.2f} ns for each byte, by way of the memory of one
machine. Points in a file take {files["file"] / files["memory"]:.2f} times as long as points in memory.

**Prediction**, not measurement: the share of a step that is computing, with the messages of the model and {POINTS}
points for each process.

| processes | {" | ".join(f"{p:,}".replace(",", " ") for p in PREDICTED)} |
|---|{"---|" * len(PREDICTED)}
"""
    for key, name in NAMES.items():
        shares = [one[key] / (one[key] + cost.sum(p, nbytes[key])) for p in PREDICTED]
        text += f"| {name} | {' | '.join(f'{share:.1%}' for share in shares)} |\n"
    return text + f"\n![Times of sums, and what the model makes of them](pictures/{PICTURE.name})\n"


def with_figures(page: str, text: str, begin: str = BEGIN, end: str = END) -> str:
    """Return the page with other figures between two marks."""
    start = page.index(begin) + len(begin)
    return page[:start] + text + page[page.index(end, start) :]


def draw(two: dict[str, Any], cost: Cost) -> None:
    """Draw the sums and the model."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.hashsalt": "primad", "font.size": 11, "figure.constrained_layout.use": True}):
        _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
        left.loglog(SIZES, two["sums"], "ok", label="measured, two processes")
        left.loglog(SIZES, [cost.sum(2, size) for size in SIZES], color="C0", label="model")
        left.set(xlabel="bytes of a sum", ylabel="seconds")
        left.legend(frameon=False)
        for size in (8, 8_000, 8_000_000):
            right.loglog(PREDICTED[1:], [cost.sum(p, size) for p in PREDICTED[1:]], label=f"{size:,} bytes")
        right.set(xlabel="processes", ylabel="seconds of a sum, predicted")
        right.legend(frameon=False)
        plt.savefig(PICTURE, metadata={"Date": None})
        plt.close("all")


def main() -> int:
    """Measure, and print or report."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.distributed", description=__doc__)
    parser.add_argument("--worker", action="store_true", help="what the processes are started with")
    parser.add_argument("--report", action="store_true", help="write the figures into docs/scaling.md, and the picture")
    parser.add_argument("--latency", type=float, help="seconds of a message, of another network")
    parser.add_argument("--bandwidth", type=float, help="bytes a second, of another network")
    options = parser.parse_args()
    if options.worker:
        os.write(1, (json.dumps(measured()) + "\n").encode())
        return 0
    one, two, files = started(1), started(2), out_of_core()
    cost = fitted(SIZES, two["sums"])
    cost = Cost(options.latency or cost.latency, 1 / options.bandwidth if options.bandwidth else cost.each)
    text = figures(one, two, files, cost)
    print(text)
    if options.report:
        write(PAGE, with_figures(PAGE.read_text(encoding="utf-8"), text))
        draw(two, cost)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
