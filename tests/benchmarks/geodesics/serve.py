"""Differentiate ends of geodesics with geomstats and one system: `serve.py SYSTEM`, printing JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

STEPS = 50
"""Of the fourth order. Of geomstats' program."""
SPENT = 0.5
"""Processor seconds of the calls that one measurement is of, at least. Chosen: a tick of the clock is a microsecond."""
BACKENDS = {"autograd": "autograd", "pytorch": "pytorch", "primad": "autograd", "primad.jit": "autograd"}
"""Geomstats' backend for each system: where it asks for autograd, primad may stand for it."""


def problem() -> tuple[Callable[[Any], Any], Any]:
    """Return the squared distance of two geodesics' ends from points of a sphere, by the velocity, and that of a chord.

    Christoffel's symbols are formulas; that a sphere's geodesics are known is not used.
    """
    import geomstats.backend as gs
    from geomstats.geometry.connection import Connection
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.numerics.geodesic import ExpODESolver
    from geomstats.numerics.ivp import GSIVPIntegrator

    space = Hypersphere(2, intrinsic=True)
    connection = Connection(space)
    connection.christoffels = space.metric.christoffels
    connection.exp_solver = ExpODESolver(space, integrator=GSIVPIntegrator(n_steps=STEPS, step_type="rk4"))
    start = gs.array([[gs.pi / 3, gs.pi / 4], [gs.pi / 2, gs.pi / 4]])
    end = gs.array([[1.0, gs.pi / 2], [gs.pi / 6, gs.pi / 3]])
    return lambda velocity: gs.sum((connection.exp(velocity, start) - end) ** 2), end - start


def derivative(system: str, objective: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what computes value and gradient: geomstats' own, or primad's, compiled."""
    if system == "primad.jit":
        import primad

        return primad.jit(primad.value_and_grad(objective))
    import geomstats.backend as gs

    return gs.autodiff.value_and_grad(objective, point_ndims=2)


def main(system: str) -> None:
    """Measure a system, and print what was found."""
    os.environ["GEOMSTATS_BACKEND"] = BACKENDS[system]
    if system.startswith("primad"):
        from primad.compat import autograd

        autograd.install()
    objective, at = problem()
    derived = derivative(system, objective)
    begin = time.process_time()
    value, gradient = derived(at)
    first = time.process_time() - begin
    begin = time.process_time()
    derived(at)
    repeats = max(1, int(SPENT / max(time.process_time() - begin, 1e-6)))
    each = np.inf
    for _ in range(3):
        begin = time.process_time()
        for _ in range(repeats):
            derived(at)
        each = min(each, (time.process_time() - begin) / repeats)
    found = {"value": float(value), "gradient": np.asarray(gradient).ravel().tolist()}
    print(json.dumps({**found, "first": first, "each": each, "geomstats": version("geomstats")}))


if __name__ == "__main__":
    main(*sys.argv[1:])
