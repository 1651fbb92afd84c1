"""Call one of Mosaic's solvers by the Tesseract interface: `serve.py SOLVER DOMAIN check|cost [MESH]`, printing JSON.

`check` compares results with the references that Mosaic brings, and the pullback with differences; `cost` measures a
call and a pullback on a mesh. Mosaic's own functions make the inputs.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mosaic
import numpy as np

HERE = Path(__file__).parent
MOSAIC = Path(next(iter(mosaic.__path__)))
sys.path[:0] = [str(HERE), str(MOSAIC)]  # for the solvers' own imports: of hexahedra, and of mosaic_shared

from mosaic.benchmarks.problems.structural_mesh import physics as structural  # noqa: E402
from mosaic.benchmarks.problems.thermal_mesh import ics, physics  # noqa: E402
from tesseract_core import Tesseract  # noqa: E402

SOLVERS = {
    ("primad", "thermal"): HERE / "thermal",
    ("primad", "structural"): HERE / "structural",
    ("torch-fem", "thermal"): MOSAIC / "tesseracts" / "thermal-mesh" / "torch-fem-thermal",
}
RESULT = {"thermal": "thermal_compliance", "structural": "compliance"}
SLAB = {"Lx": 2.0, "Ly": 1.0, "Q_total": 1.0}
BEAM = {"Lx": 2.0, "Ly": 1.0, "Lz": 1.0, "F_total": 1.0, "ny": 2, "nz": 4}
REFERENCES = {"thermal": (2, 3, 4, 6, 8, 12, 16, 24), "structural": (4, 6, 8, 12, 16)}
"""Numbers of cells in Mosaic's `forward/baseline`, whose results its references are."""
STEPS = (1e0, 3e-1, 1e-1, 3e-2, 1e-2, 3e-3, 1e-3)
"""Of differences, by the root of the mean square of the densities; the best one counts, as in Mosaic."""
DIRECTIONS = 6
"""Random ones along which differences are taken. Mosaic's."""
SPENT = 0.1
"""Processor seconds of the calls that one measurement is of, at least. Chosen: a tick of the clock is a microsecond."""


def inputs(domain: str, density: str, mesh: dict[str, Any]) -> dict[str, Any]:
    """Return Mosaic's inputs for a mesh, with random or uniform densities."""
    if domain == "thermal":
        made = ics._random(nz=1, seed=0, **mesh) if density == "random" else ics._uniform(nz=1, **mesh)
        return physics.make_inputs(SimpleNamespace(input_overrides={}), made, nz=1, **{**SLAB, **mesh})
    sizes = {**BEAM, **mesh}
    count = sizes["nx"] * sizes["ny"] * sizes["nz"]
    noise = 0.3 * np.random.default_rng(0).standard_normal(count) if density == "random" else np.zeros(count)
    # Mosaic gives tractions, not forces at nodes, to those that it lists by name, of which this is one.
    spec = SimpleNamespace(key="jax_fem", name="jax_fem", input_overrides={})
    return structural.make_inputs(spec, np.clip(0.5 + noise, 0.05, 0.95).astype(np.float32), **sizes)


def checked(solver: Any, domain: str) -> dict[str, float]:
    """Return the largest relative differences from Mosaic's references, and of pullbacks from differences."""
    name = RESULT[domain]
    stored = np.load(MOSAIC / "benchmarks" / "problems" / f"{domain}_mesh" / "references" / "forward_baseline.npz")
    density = {"thermal": "random", "structural": "uniform"}[domain]
    worst = 0.0
    for place, count in enumerate(REFERENCES[domain]):
        found = solver.apply(inputs(domain, density, {"nx": count}))[name]
        worst = max(worst, abs(float(found) / float(stored[f"reference_{place}"]) - 1.0))
    given = inputs(domain, "random", {"nx": 8})
    rho = np.asarray(given["rho"])
    pulled = np.asarray(solver.vector_jacobian_product(given, ["rho"], [name], {name: np.float32(1)})["rho"], float)
    random = np.random.default_rng(1)

    def value(at: Any) -> float:
        return float(solver.apply({**given, "rho": at.astype(np.float32)})[name])

    errors = []
    for _ in range(DIRECTIONS):
        along = random.standard_normal(rho.shape)
        along /= np.linalg.norm(along)
        expected = float(pulled @ along)
        steps = [step * float(np.sqrt(np.mean(rho**2))) for step in STEPS]
        differences = [(value(rho + step * along) - value(rho - step * along)) / (2 * step) for step in steps]
        errors.append(min(abs(found - expected) / max(abs(found), abs(expected)) for found in differences))
    return {"references": worst, "differences": max(errors)}


def each(call: Callable[[], Any]) -> float:
    """Return the least processor seconds of a call that was made before, of three measurements."""
    start = time.process_time()
    call()
    once = time.process_time() - start
    repeats = max(1, int(SPENT / max(once, 1e-6)))
    least = once
    for _ in range(3):
        start = time.process_time()
        for _ in range(repeats):
            call()
        least = min(least, (time.process_time() - start) / repeats)
    return least


def cost(solver: Any, domain: str, mesh: dict[str, Any]) -> dict[str, float]:
    """Return processor seconds of a call and of a pullback, and the most memory that calls added, in bytes."""
    first, name = inputs(domain, "random", mesh), RESULT[domain]
    densities = itertools.count(1)

    def other() -> dict[str, Any]:  # so that no solver finds the factors of its last call
        return {**first, "rho": np.asarray(first["rho"]) * np.float32(1.0 - 1e-4 * next(densities))}

    def pulled(given: dict[str, Any]) -> Any:
        return solver.vector_jacobian_product(given, ["rho"], [name], {name: np.float32(1)})["rho"]

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    solver.apply(first)
    forward = each(lambda: solver.apply(other()))
    gradient = np.asarray(pulled(first), float)
    pullback = each(lambda: pulled(other()))
    memory = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    digest = float(gradient @ np.cos(np.arange(gradient.size)))
    return {"forward": forward, "pullback": pullback, "memory": memory, "digest": digest, "cells": gradient.size}


def main(name: str, domain: str, what: str, mesh: str = "{}") -> None:
    """Call a solver, and print what was found."""
    solver = Tesseract.from_tesseract_api(str(SOLVERS[name, domain] / "tesseract_api.py"))
    found = checked(solver, domain) if what == "check" else cost(solver, domain, json.loads(mesh))
    sys.stdout.flush()
    os.write(1, ("\n" + json.dumps({**found, "mosaic": version("mosaic-bench")}) + "\n").encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
