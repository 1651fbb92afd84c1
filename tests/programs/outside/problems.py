"""Run CUTEst's problems, as sif2jax has them in JAX, in JAX and in primad: `problems.py RESULTS MINUTES SEED [NAME…]`.

A problem's function is its objective plus its constraints with multipliers cos 0, cos 1, …: value, gradient and, for
few unknowns, the product of its Hessian with a vector, at its starting point and beside it. A line of JSON for each
problem is appended to RESULTS; those that have one are left out, so that a run goes on where another ended.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

FEW = 200
"""Unknowns up to which Hessians are multiplied too."""

WITHIN = 30.0
"""Seconds of processor time after which importing a problem, or one system's first call, is given up."""

ROUNDS = 5
"""Turns in which calls of both are timed; the median counts."""

AT_LEAST = 2e-3
"""Seconds of processor time that a turn takes at least, by more calls of short ones."""

ENDED = "the process ended"
"""Why there is no outcome of a problem that took the process with it."""

DROPPED = "JAX's gradient is not that of its values, and primad's is (at clamped indices JAX drops it)"
"""Why gradients differ where differences of JAX's own values agree with primad's."""

SMALL = 1e-6
"""Step of these differences, by the size of the unknowns. Chosen: rounding and curvature then leave five digits."""

Function = Callable[..., Any]


class TooLong(Exception):
    """A first call took too long."""


def main(results: str, minutes: str, seed: str, *names: str) -> None:
    """Run problems in a random order until the processor time is over."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import primad

    def stop(*_: Any) -> None:
        raise TooLong(f"more than {WITHIN:.0f} s of processor time")

    primad.set_num_threads(1)
    signal.signal(signal.SIGPROF, stop)
    end = time.process_time() + 60.0 * float(minutes)
    path = Path(results)
    done = read(path) if path.exists() else {}
    asked = [each for each in modules() if each not in done and (not names or each.rpartition(".")[2].upper() in names)]
    random.Random(int(seed)).shuffle(asked)
    for module in asked:
        if time.process_time() > end:
            return
        _append(path, {"name": module, "why": ENDED})  # what stands if the process does not come back
        _append(path, {"name": module, **outcome(module)})


def modules() -> list[str]:
    """Return the names of sif2jax's modules of a problem each.

    Packages above them are made here: sif2jax's own import all problems, which takes minutes.
    """
    spec = importlib.util.find_spec("sif2jax")
    assert spec is not None and spec.origin is not None
    root = Path(spec.origin).parent
    folders = [path for path in sorted((root / "cutest").iterdir()) if path.name.startswith("_") and path.suffix == ""]
    kinds = [path for path in folders if (path / "__init__.py").exists()]
    for path in (root, root / "cutest", *kinds):
        package = ModuleType(".".join(path.relative_to(root.parent).parts))
        package.__path__ = [str(path)]
        sys.modules[package.__name__] = package
    own = vars(sys.modules["sif2jax"])
    own.update(vars(importlib.import_module("sif2jax._problem")) | own)
    files = [file for path in kinds for file in sorted(path.glob("*.py")) if not file.name.startswith("_")]
    return [".".join(file.relative_to(root.parent).with_suffix("").parts) for file in files]


def load(module: str) -> Any:
    """Return the problem of a module: its last class that is one."""
    within = importlib.import_module(module)
    base = importlib.import_module("sif2jax._problem").AbstractProblem
    own = [each for each in vars(within).values() if inspect.isclass(each) and issubclass(each, base)]
    return [each for each in own if each.__module__ == module and not each.__name__.startswith("_")][-1]()


def read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the last line about each problem."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {line["name"]: line for line in lines}


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def outcome(module: str) -> dict[str, Any]:
    """Return the unknowns of a problem, the seconds of both systems, and why they differ, if they do."""
    import jax

    import primad

    found: dict[str, Any] = {"why": ""}
    try:
        with limited():
            function, x = lagrangian(load(module))
        found["unknowns"] = x.size
        points = [x, x + 0.01 * (1.0 + np.abs(x)) * np.cos(np.arange(x.size))]
        of_jax, wanted, first = begun(jax, function, x)
        wanted = [wanted, [np.asarray(each) for each in of_jax(points[1])]]
    except Exception as error:
        return {**found, "why": f"without primad: {_said(error)}"}
    try:
        of_primad, got, own_first = begun(primad, primad.from_jax(function), x)
        got = [got, of_primad(points[1])]
    except Exception as error:
        return {**found, "why": _said(error)}
    for there, here in zip(wanted, got, strict=True):
        found["why"] = found["why"] or differs(there, here)
    if found["why"].startswith("WRONG gradient") and is_slope(function, points[1], got[1][1], wanted[1][1]):
        found["why"] = DROPPED
    on_device = [jax.numpy.asarray(each) for each in points]
    calls = paired(
        lambda: [jax.block_until_ready(of_jax(each)) for each in on_device],
        lambda: [of_primad(each) for each in points],
    )
    return {**found, "first": (first, own_first), "each": calls}


def is_slope(function: Function, x: Any, gradient: Any, other: Any) -> bool:
    """Say whether differences of a function in JAX agree with one gradient far better than with another one."""
    import jax

    apart = np.asarray(gradient) - np.asarray(other)
    along = apart / np.linalg.norm(apart)
    step, value = SMALL * max(1.0, float(np.max(np.abs(x)))), jax.jit(function)
    slope = float(value(x + step * along) - value(x - step * along)) / (2.0 * step)
    return abs(slope - float(gradient @ along)) < 1e-3 * abs(slope - float(other @ along))


def lagrangian(problem: Any) -> tuple[Function, Any]:
    """Return objective plus constraints with multipliers, as one function of one array, and the starting point."""
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    start, shaped = ravel_pytree(problem.y0)

    def function(x: Any) -> Any:
        y = shaped(x)
        value = jnp.sum(problem.objective(y, problem.args))
        constraint = getattr(problem, "constraint", None)
        if constraint is None:
            return value
        leaves = [jnp.ravel(each) for each in jax.tree.leaves(constraint(y))]
        return value + sum(jnp.sum(each * np.cos(np.arange(each.size))) for each in leaves)

    return function, np.asarray(start, float)


@contextmanager
def limited() -> Iterator[None]:
    """Raise TooLong where what is done inside takes too long."""
    signal.setitimer(signal.ITIMER_PROF, WITHIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def begun(system: Any, function: Function, x: Any) -> tuple[Function, list[Any], float]:
    """Return what computes value, gradient and product, its first results, and the seconds until they were there."""

    def together(x: Any) -> Any:
        both = system.value_and_grad(function)
        if x.size > FEW:
            return both(x)
        (value, gradient), (_, product) = system.jvp(both, (x,), (0.5 * x + 1.0,))
        return value, gradient, product

    with limited():
        start = time.process_time()
        compiled = system.jit(together)
        found = [np.asarray(each) for each in compiled(x)]
        return compiled, found, time.process_time() - start


def paired(*calls: Function) -> list[float]:
    """Return the median seconds of processor time of each call, at one of both points, of turns."""
    counts = [max(1, int(AT_LEAST / max(_seconds(call, 1), 1e-7))) for call in calls]
    turns = [[_seconds(call, n) for call, n in zip(calls, counts, strict=True)] for _ in range(ROUNDS)]
    return (np.median(turns, axis=0) / 2).tolist()  # type: ignore[no-any-return]


def _seconds(call: Function, count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


def differs(wanted: Any, got: Any) -> str:
    """Say what of value, gradient and product differs by more than 1e-8 of its largest number.

    A product may be zero but for rounding, as that of a homogeneous function along its argument: it counts as large as
    a millionth of the gradient.
    """
    least = 1e-300
    for what, x, y in zip(("value", "gradient", "product"), wanted, got, strict=False):
        y, finite = np.asarray(y), np.isfinite(x)
        largest = np.max(np.abs(x[finite]), initial=0.0)
        error = np.max(np.abs(x - y)[finite], initial=0.0) / max(largest, least)
        least = 1e-6 * largest if what == "gradient" and largest else least
        if not np.array_equal(finite, np.isfinite(y)) or error > 1e-8:
            return f"WRONG {what}: relative difference {error:.1e}"
    return ""


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


if __name__ == "__main__":
    main(*sys.argv[1:])
