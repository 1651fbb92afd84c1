"""Gradients and Hessians of an energy of deformations: `python -m tests.benchmarks.hyperelastic [--peer-python PATH…]`.

It is the benchmark of tensortrax: ψ = tr C − ln det C with C = FᵀF, by F, for n deformation gradients F of 3 × 3. Each
system computes each row in a process of its own, in its own words; times are processor seconds of all threads, the
least of several calls. Results must agree. `--report` writes the table into docs/other_benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "other_benchmarks.md"
BEGIN = "<!-- figures: python -m tests.benchmarks.hyperelastic --report -->\n"
SIZES = (1, 4096, 1_048_576)
SPENT = 0.1
"""Processor seconds of the calls that one measurement is of, at least. Chosen: a tick of the clock is a microsecond."""
PUBLISHED = {
    ("gradient", 1): {"tensortrax": 5.0e-4, "autograd": 6.5e-4},
    ("gradient", 4096): {"tensortrax": 1.28e-3, "autograd": 1.53e-3},
    ("gradient", 1_048_576): {"tensortrax": 0.1645, "autograd": 0.3749},
    ("hessian", 1): {"tensortrax": 5.9e-4, "autograd": 1.088e-2},
    ("hessian", 4096): {"tensortrax": 4.23e-3, "autograd": 1.734e-2},
    ("hessian", 1_048_576): {"tensortrax": 1.200, "autograd": 5.662},
}
"""What tensortrax 0.29 says of itself, in seconds by the clock: of another machine, to compare orders of magnitude."""


def deformations(count: int) -> Any:
    """Return deformation gradients, the matrices along the first axis."""
    return np.eye(3) + 0.1 * np.random.default_rng(0).random((count, 3, 3))


def of_primad(order: str, f: Any) -> Callable[[], Any]:
    import primad

    def energy(f: Any) -> Any:
        c = f.T @ f
        return np.trace(c) - np.log(np.linalg.det(c))

    derived = primad.jit(primad.vmap({"gradient": primad.grad, "hessian": primad.hessian}[order](energy)))
    return lambda: derived(f)


def of_tensortrax(order: str, f: Any) -> Callable[[], Any]:
    """Its matrices lie along the last axis; moving them is not timed."""
    import tensortrax as tr
    import tensortrax.math as tm

    def energy(f: Any) -> Any:
        c = f.T @ f
        return tm.trace(c) - tm.log(tm.linalg.det(c))

    last = np.ascontiguousarray(np.moveaxis(f, 0, -1))
    derived = {"gradient": tr.gradient, "hessian": tr.hessian}[order](energy, wrt=0, ntrax=1)
    return lambda: np.moveaxis(derived(last), -1, 0)


def of_autograd(order: str, f: Any) -> Callable[[], Any]:
    """Its trace and sums of einsum take no stacks. The Hessian is a gradient of each element of the summed gradient."""
    import autograd
    import autograd.numpy as anp

    def energy(f: Any) -> Any:
        c = anp.matmul(anp.swapaxes(f, -1, -2), f)
        trace = c[:, 0, 0] + c[:, 1, 1] + c[:, 2, 2]
        return anp.sum(trace - anp.log(anp.linalg.det(c)))

    slope = autograd.grad(energy)
    if order == "gradient":
        return lambda: slope(f)
    rows = [autograd.grad(lambda f, i=i, j=j: anp.sum(slope(f)[:, i, j])) for i in range(3) for j in range(3)]
    return lambda: np.stack([row(f) for row in rows], 1).reshape(-1, 3, 3, 3, 3)


def of_jax(order: str, f: Any) -> Callable[[], Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def energy(f: Any) -> Any:
        c = f.T @ f
        return jnp.trace(c) - jnp.log(jnp.linalg.det(c))

    derived = jax.jit(jax.vmap({"gradient": jax.grad, "hessian": jax.hessian}[order](energy)))
    there = jnp.asarray(f)
    return lambda: derived(there).block_until_ready()


SIDES = {"primad": of_primad, "tensortrax": of_tensortrax, "autograd": of_autograd, "jax": of_jax}


def measured(system: str, order: str, count: int) -> dict[str, float]:
    """Return a system's processor seconds for the first call and for each further one, and a digest of the result."""
    start = time.process_time()
    call = SIDES[system](order, deformations(count))
    found = np.asarray(call())
    first = time.process_time() - start
    start = time.process_time()
    call()
    once = time.process_time() - start
    repeats = max(1, int(SPENT / max(once, 1e-6)))
    least = np.inf
    for _ in range(3 if once < 1.0 else 1):
        start = time.process_time()
        for _ in range(repeats):
            call()
        least = min(least, (time.process_time() - start) / repeats)
    weights = np.cos(1.0 + np.arange(found[0].size))
    each = found.reshape(count, -1) @ weights
    return {"first": first, "each": float(least), "digest": float(each @ np.sin(1.0 + np.arange(count)))}


def run(python: str, system: str, order: str, count: int) -> dict[str, Any] | None:
    """Return the same and the version, from a process of its own; None where the interpreter lacks the system."""
    command = [os.path.abspath(python), str(Path(__file__)), "--side", system, order, str(count)]
    environment = {**os.environ, **({"PYTHONPATH": str(ROOT)} if system == "primad" else {})}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    if ended.returncode and "ModuleNotFoundError" in ended.stderr:
        return None
    if ended.returncode:
        raise SystemExit(ended.stderr)
    return dict(json.loads(ended.stdout.splitlines()[-1]))


def table(rows: dict[tuple[str, int], dict[str, dict[str, Any]]]) -> str:
    """Return a table in Markdown of what was measured, beside what was published."""
    from primad.system.quantities import seconds

    systems = [name for name in SIDES if any(name in row for row in rows.values())]
    lines = [
        "| derivative | n | " + " | ".join(systems) + " | published: tensortrax | autograd |",
        "|---|---|" + "---|" * (len(systems) + 2),
    ]
    for (order, count), row in rows.items():
        times = [seconds(row[name]["each"]) if name in row else "" for name in systems]
        said = [seconds(PUBLISHED[order, count][name]) for name in ("tensortrax", "autograd")]
        lines.append(f"| {order} | {count:,} | ".replace(",", " ") + " | ".join([*times, *said]) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure all rows; return whether results differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.hyperelastic", description=__doc__)
    parser.add_argument("--peer-python", nargs="*", default=[], help="interpreters with tensortrax, autograd or JAX")
    parser.add_argument("--report", action="store_true", help="write the table into docs/other_benchmarks.md")
    parser.add_argument("--side", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        system, order, count = options.side
        print(json.dumps({**measured(system, order, int(count)), "version": version(system)}))
        return 0
    rows: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}
    failed = False
    for order, count in PUBLISHED:
        row = rows[order, count] = {}
        for system in SIDES:
            for python in [sys.executable] if system == "primad" else options.peer_python:
                found = run(python, system, order, count)
                if found is not None:
                    row[system] = found
                    break
        ours = row["primad"]["digest"]
        for system, told in row.items():
            if abs(told["digest"] - ours) > 1e-9 * max(1.0, abs(ours)) * count**0.5:
                print(f"✗ {order}, n = {count}: {system} differs: {told['digest']} instead of {ours}")
                failed = True
        print(table({(order, count): row}).splitlines()[-1], flush=True)
    from tests.benchmarks.machine import description

    machine, versions = description(), {name: told["version"] for row in rows.values() for name, told in row.items()}
    text = (
        f"Processor seconds of all threads for a call, on {machine['cores']} cores of {machine['processor']} with "
        f"{machine['vectors']}; {', '.join(f'{name} {number}' for name, number in versions.items())}:\n\n{table(rows)}"
    )
    print(text)
    if options.report:
        from tests.benchmarks.distributed import END, with_figures

        PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), text, BEGIN, END), encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
