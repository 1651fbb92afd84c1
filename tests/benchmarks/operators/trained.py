"""Train operators from equations: `python -m tests.benchmarks.operators.trained [FAMILY …] [--report]`.

The networks and residuals are those of the program that published the zero-coordinate shift, and as many functions are
in a batch. Each epoch has functions and points of its own: fewer points, so that two cores make as many epochs in 15
minutes. Errors are, as published, the size of what is wrong over the size of solutions, for functions that were not
trained on. `--report` writes the table into docs/other_benchmarks.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import primad
from primad.system.quantities import seconds
from tests.benchmarks.other_projects import write

sys.path.insert(0, str(Path(__file__).parent))
families, draws, forms = map(import_module, ("families", "input_draws", "primad_forms"))
DTYPE = np.float32
SIDE = 100
"""Points at which solutions are compared, in each direction."""
COMPARED = 50
"""New functions whose solutions are compared."""
SHOWN = 1000
"""Epochs between two lines that say how far it is."""


@dataclass(frozen=True)
class Training:
    """How a family is trained, and what was published of it.

    Attributes:
        epochs: steps of Adam; the rate falls from `rate` to 0 as a cosine does.
        inside: points of each epoch inside.
        rate: at the start.
        published: the errors of five runs, after so many epochs.
        published_epochs: how many they had.
        published_points: how many points these had inside.
    """

    epochs: int
    inside: int
    rate: float
    published: tuple[float, ...]
    published_epochs: int
    published_points: int


TRAINED = {
    "reaction": Training(20_000, 1000, 1e-3, (0.0492, 0.1059, 0.0743, 0.0973, 0.0852), 10_000, 1000),
    "burgers": Training(100_000, 1000, 1e-3, (0.0715, 0.0773, 0.0622, 0.0746, 0.0703), 100_000, 12_672),
    "plate": Training(50_000, 784, 1e-3, (0.2723, 0.3694, 0.2628, 0.2763, 0.2660), 50_000, 10_000),
}


def trained(name: str, seed: int, epochs: int | None) -> dict[str, float]:
    """Return the error of a family that was trained, and the processor seconds that it took."""
    plan, family, rng = TRAINED[name], families.TRAINED[name], np.random.default_rng(seed)
    drawn = draws.DRAWS[name](rng)
    parameters = families.arrays(name, 1, "float32", seed)["parameters"]
    moments = primad.nn.Adam().init(parameters)
    advanced = forms.adam_step(family)
    count = epochs or plan.epochs
    begun = time.process_time()
    for epoch in range(count):
        arrays = {key: value.astype(DTYPE) for key, value in drawn.epoch(family.functions, plan.inside).items()}
        rate = plan.rate / 2 * (1 + np.cos(np.pi * epoch / count))
        loss, parameters, moments = advanced(parameters, moments, arrays, float(rate))
        if epoch % SHOWN == 0:
            print(f"{name} {epoch}: loss {float(loss):.3e}, {time.process_time() - begun:.0f} s", flush=True)
    spent = time.process_time() - begun
    functions = drawn.functions(COMPARED)
    points, right = drawn.solved(functions, SIDE)
    codes = families.branch(np, parameters, drawn.sensors(functions))
    found = families.solutions(np, family, parameters, codes, points)
    return {"error": float(np.linalg.norm(found - right) / np.linalg.norm(right)), "spent": spent}


def row(name: str, found: dict[str, float], epochs: int | None) -> str:
    """Return a row of the table."""
    plan, published = TRAINED[name], TRAINED[name].published
    cells = [
        name, f"{epochs or plan.epochs:,}", f"{plan.inside:,}", seconds(found["spent"]), f"{found['error']:.3f}",
        f"{np.mean(published):.3f} ({min(published):.3f} to {max(published):.3f})", f"{plan.published_epochs:,}",
        f"{plan.published_points:,}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |\n"


HEAD = (
    "| family | epochs | points | processor time | error | published, mean (least to largest) | epochs | points |\n"
    "|---|---|---|---|---|---|---|---|\n"
)


def main() -> int:
    """Train, and print or report; return whether an error is larger than the published mean."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=", ".join(TRAINED))
    parser.add_argument("--epochs", type=int, help="instead of those of the table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    rows: list[Any] = []
    worse = []
    for name in given.names or TRAINED:
        found = trained(name, given.seed, given.epochs)
        rows.append(row(name, found, given.epochs))
        print(HEAD + rows[-1], flush=True)
        if found["error"] > np.mean(TRAINED[name].published):
            worse.append(name)
    if given.report:
        write("operators.trained", HEAD + "".join(rows))
    print("".join(f"✗ {name}: the error is above the published mean\n" for name in worse), end="")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
