"""Run CUTEst's problems, as sif2jax has them in JAX, in JAX and in primad: `problems.py RESULTS MINUTES SEED [NAME…]`.

A problem's function is its objective plus its constraints with multipliers cos 0, cos 1, …: value, gradient and, for
few unknowns, the product of its Hessian with a vector, at its starting point and beside it. Each problem has a process
of its own, so that one that crashes or does not end does so alone; it is forked where both systems are imported, and
computes a small function with both before it times first calls. Lines of JSON about the problem are appended to
RESULTS; problems that have one and are not named are left out, so that a run goes on where another ended. Those that
sif2jax lists come before those that it has files of only.
"""

from __future__ import annotations

import ast
import gc
import importlib.util
import inspect
import json
import os
import random
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tests.programs.outside.agreement import astray, different, filled, within

FEW = 200
"""Unknowns up to which Hessians are multiplied too."""

WITHIN = 15.0
"""Seconds of processor time after which a process is ended that imports a problem, makes one system's first call or
compares and times both."""

ASLEEP = 900.0
"""Seconds by the clock after which it is ended if it waits for something. Chosen: a loaded machine is not mistaken."""

ROUNDS = 5
"""Turns in which calls of both are timed; the median counts."""

AT_LEAST = 2e-3
"""Seconds of processor time that a turn takes at least, by more calls of short ones."""

ENDED = "the process ended"
"""Why there is no outcome of a problem that took the process with it."""

DROPPED = "JAX's gradient is not that of its values, and primad's is (at clamped indices JAX drops it)"
"""Why gradients differ where differences of JAX's own values agree with primad's."""

CANCELS = "JAX's results differ as much from those that it computes operation by operation (terms cancel)"
"""Why results differ where JAX's compiled functions differ from the same ones without its compiler."""

NO_NUMBER = "JAX's derivative is no number where its values have one, which primad's is"
"""Why results differ where JAX has NaN only, and differences of its own values or gradients agree with primad's."""

SMALL = 1e-6
"""Step of these differences, by the size of the unknowns. Chosen: rounding and curvature then leave five digits."""

Function = Callable[..., Any]


def main(results: str, minutes: str, seed: str, *names: str) -> None:
    """Run problems in a random order until the processor time of their processes is over."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import primad

    primad.set_num_threads(1)
    warnings.filterwarnings("ignore", message="os.fork")  # JAX has no threads before it first computes
    path = Path(results)
    path.touch()
    done = read(path)
    asked = [each for each in modules() if (each.rpartition(".")[2].upper() in names if names else each not in done)]
    random.Random(int(seed)).shuffle(asked)
    known = listed()
    asked.sort(key=lambda each: each.rpartition(".")[2].upper() not in known)
    gc.freeze()
    for module in asked:
        if sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) >= 60.0 * float(minutes):
            return
        sys.stdout.flush()
        child = os.fork()
        if not child:
            _alone(path, module)
        if note := _end_of(child, path):
            last = read(path)[module]
            _append(path, {**last, "why": last["why"].replace(ENDED, note)})


def _alone(path: Path, module: str) -> None:
    """Run a problem in this process, and end it. A line before each step says what stands if that is the last."""
    try:
        for found in steps(module):
            _append(path, {"name": module, **found})
    finally:
        os._exit(0)


def _end_of(child: int, path: Path) -> str:
    """Wait for a process that appends to a file before each step, and return how it ended if that was not by itself."""
    late, size, since, long = time.monotonic() + ASLEEP, 0, 0.0, ""
    while True:
        process, status = os.waitpid(child, os.WNOHANG)
        if process:
            break
        if size < (now := path.stat().st_size):
            size, since = now, _seconds_of(child)
        if _seconds_of(child) - since > WITHIN or time.monotonic() > late:
            long = f"more than {WITHIN:.0f} s of processor time"
            os.kill(child, signal.SIGKILL)
        time.sleep(0.05)
    return long or (signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "")


def _seconds_of(process: int) -> float:
    """Return the processor time of a process. (A limit or a timer set in it would make its own clock coarse.)"""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def listed() -> set[str]:
    """Return the names of the problems in sif2jax's list; it has files of others that its authors are to look at."""
    lines = ast.parse((_root() / "cutest" / "__init__.py").read_text(encoding="utf-8")).body
    return {each.name.upper() for line in lines if isinstance(line, ast.ImportFrom) for each in line.names}


@lru_cache
def _root() -> Path:
    spec = importlib.util.find_spec("sif2jax")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def modules() -> list[str]:
    """Return the names of sif2jax's modules of a problem each.

    Packages above them are made here: sif2jax's own import all problems, which takes minutes.
    """
    root = _root()
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


def steps(module: str) -> Iterator[dict[str, Any]]:
    """Yield what is known of a problem before each step: its unknowns, the seconds of both systems, why they differ."""
    import jax

    import primad

    found: dict[str, Any] = {"why": f"without primad: {ENDED}"}
    yield found
    for system, small in ((jax, _small), (primad, primad.from_jax(_small))):
        begun(system, small, np.ones(3))
    try:
        function, x = lagrangian(load(module))
        found["unknowns"] = x.size
        yield found
        points = [x, x + 0.01 * (1.0 + np.abs(x)) * np.cos(np.arange(x.size))]
        of_jax, wanted, first = begun(jax, function, x)
        wanted = [wanted, [np.asarray(each) for each in of_jax(points[1])]]
    except Exception as error:
        yield {**found, "why": f"without primad: {_said(error)}"}
        return
    found["why"] = ENDED
    yield found
    try:
        of_primad, got, own_first = begun(primad, primad.from_jax(function), x)
        got = [got, of_primad(points[1])]
    except Exception as error:
        yield {**found, "why": _said(error)}
        return
    found |= {"first": (first, own_first), "why": f"comparing and timing both: {ENDED}"}
    yield found
    beside = [[[np.asarray(each) for each in of_jax(shaken(x, turn))] for x in points] for turn in range(2)]
    why = different(wanted, got) or astray(wanted, got, beside)
    if why.startswith("WRONG"):
        every = filled(wanted, got)
        rest = different(every, got) or astray(every, got, beside)
        why = NO_NUMBER if not rest and has_slopes(function, points, wanted, got) else why
    if why.startswith("WRONG gradient") and is_slope(function, points[1], got[1][1], wanted[1][1]):
        why = DROPPED
    if why.startswith("WRONG"):
        other = uncompiled(function, points)
        if not (different(wanted, got, within(wanted, other)) or astray(wanted, got, [*beside, other])):
            why = CANCELS
    on_device = [jax.numpy.asarray(each) for each in points]
    calls = paired(
        lambda: [jax.block_until_ready(of_jax(each)) for each in on_device],
        lambda: [of_primad(each) for each in points],
    )
    yield {**found, "why": why, "each": calls}


def _small(x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.sum(jnp.sin(x) ** 2)


def is_slope(function: Function, x: Any, gradient: Any, other: Any) -> bool:
    """Say whether differences of a function in JAX agree with one gradient far better than with another one.

    Where that one has no numbers they are to agree along these unknowns.
    """
    import jax

    apart = np.asarray(gradient) - np.asarray(other)
    none = np.isnan(apart)
    if not apart.any():
        return False
    along = none * np.where(x, np.abs(x), 1.0) if none.any() else apart / np.linalg.norm(apart)
    step = SMALL * (1.0 if none.any() else max(1.0, float(np.max(np.abs(x)))))
    value = jax.jit(function)
    slope = float(value(x + step * along) - value(x - step * along)) / (2.0 * step)
    least = max(abs(slope), SMALL * float(np.max(np.abs(gradient))))
    size = least if none.any() else abs(slope - float(other @ along))
    return abs(slope - float(gradient @ along)) < 1e-3 * size


def has_slopes(function: Function, points: Sequence[Any], wanted: Sequence[Any], got: Sequence[Any]) -> bool:
    """Say whether differences agree with the gradients and products that JAX has no numbers for."""
    import jax

    for x, of_jax, of_primad in zip(points, wanted, got, strict=True):
        slopes = (function, lambda y, x=x: jax.jvp(function, (y,), (0.5 * x + 1.0,))[1])
        for each, other, gradient in zip(slopes, of_jax[1:], of_primad[1:], strict=False):
            if np.isnan(other).any() and not is_slope(each, x, gradient, other):
                return False
    return True


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


def begun(system: Any, function: Function, x: Any) -> tuple[Function, list[Any], float]:
    """Return what computes value, gradient and product, its first results, and the seconds until they were there."""
    start = time.process_time()
    compiled = system.jit(together(system, function))
    found = [np.asarray(each) for each in compiled(x)]
    return compiled, found, time.process_time() - start


def together(system: Any, function: Function) -> Function:
    """Return a function's value, gradient and, of few unknowns, product of the Hessian with a vector, as a function."""

    def computed(x: Any) -> Any:
        both = system.value_and_grad(function)
        if x.size > FEW:
            return both(x)
        (value, gradient), (_, product) = system.jvp(both, (x,), (0.5 * x + 1.0,))
        return value, gradient, product

    return computed


def uncompiled(function: Function, points: Sequence[Any]) -> list[Any]:
    """Return what JAX computes of a function, operation by operation."""
    import jax

    with jax.disable_jit():
        return [[np.asarray(each) for each in together(jax, function)(jax.numpy.asarray(x))] for x in points]


def paired(*calls: Function) -> list[float]:
    """Return the median seconds of processor time of each call, at one of both points, of turns."""
    counts = [_enough(call) for call in calls]
    turns = [[_seconds(call, n) for call, n in zip(calls, counts, strict=True)] for _ in range(ROUNDS)]
    return (np.median(turns, axis=0) / 2).tolist()  # type: ignore[no-any-return]


def _enough(call: Function) -> int:
    """Return how many calls take long enough to be timed: the first few look for what later ones have at hand."""
    count = 1
    while count * _seconds(call, count) < AT_LEAST:
        count *= 2
    return count


def _seconds(call: Function, count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


def shaken(x: Any, turn: int) -> Any:
    """Return a point beside one, from which what is computed differs by little more than rounding."""
    return x + 1e-15 * (1.0 + np.abs(x)) * np.cos(np.arange(x.size) + turn)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


if __name__ == "__main__":
    main(*sys.argv[1:])
