"""Time scientific programs on primad and others in turns: `python -m tests.benchmarks.beside --peer PYTHON [KIND…]`.

A group of kinds may be named too: `scientific`, which is timed beside JAX, or `scipy_paths`, beside JAX, PyTorch and
HIPS autograd where these have the functions. Each system runs in a process of its own; turns are short and alternate,
so that all meet the same machine. The table shows processor time: that of all threads of a process, for one call.
Results must agree.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).parent
ROUNDS = 7
TURN = 0.1
"""Seconds of a turn."""
GROUPS = {"scientific": ("jax",), "scipy_paths": ("jax", "torch", "autograd")}
"""The modules that have kinds, and the systems beside which these are timed."""


class Side:
    """A system that runs one program in a process of its own."""

    def __init__(self, python: str, system: str, kind: str) -> None:
        paths = [str(HERE)] + ([str(HERE.parent.parent)] if system == "primad" else [])
        self._process = subprocess.Popen(
            [os.path.abspath(python), str(HERE / "beside.py"), "--serve", system, kind],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=None if system == "primad" else subprocess.DEVNULL,  # others lack some functions
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )  # fmt: skip
        self.first = self._answer()

    def turn(self) -> float:
        """Return the processor seconds of a call, the mean of a turn."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._answer()["each"])

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        return dict(json.loads(line)) if line else {"failed": True}


def primad_side() -> Any:
    import numpy as np

    import primad
    import primad.scipy.interpolate
    import primad.scipy.ndimage
    import primad.scipy.signal
    import primad.scipy.special

    return SimpleNamespace(
        np=np, grad=primad.grad, jacobian=primad.jacobian, hessian=primad.hessian, scan=primad.scan, jit=primad.jit,
        softmax=lambda x: primad.nn.softmax(x, axis=-1), loop=primad.while_loop, special=primad.scipy.special,
        lfilter=primad.scipy.signal.lfilter, CubicSpline=primad.scipy.interpolate.CubicSpline,
        map_coordinates=primad.scipy.ndimage.map_coordinates, array=np.asarray, wait=lambda result: result,
    )  # fmt: skip


def jax_side() -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)

    def loop(condition: Any, step: Any, start: Any) -> Any:
        """A loop until a condition fails, whose reverse mode JAX does not have: its users give a number of steps."""

        def guarded(state: Any, _: Any) -> Any:
            go = condition(state)
            return jax.lax.cond(go, step, lambda s: s, state), None

        return jax.lax.scan(guarded, start, None, length=MOST_STEPS)[0]

    def lfilter(b: Any, a: Any, x: Any) -> Any:
        """A recursion, which JAX does not have, as its users write it."""

        def step(state: Any, value: Any) -> Any:
            out = state[0] + b[0] * value
            return jax.numpy.append(state[1:], 0.0) + b[1:] * value - a[1:] * out, out

        b, a = b / a[0], a / a[0]
        return jax.lax.scan(step, jax.numpy.zeros(a.shape[0] - 1), x)[1]

    return SimpleNamespace(
        np=jax.numpy, grad=jax.grad, hessian=jax.hessian, scan=jax.lax.scan, jit=jax.jit, loop=loop,
        softmax=jax.nn.softmax, jacobian=jax.jacfwd, special=jax.scipy.special, lfilter=lfilter,
        map_coordinates=jax.scipy.ndimage.map_coordinates, array=jax.numpy.asarray, wait=jax.block_until_ready,
    )  # fmt: skip


def torch_side() -> Any:
    import torch

    return SimpleNamespace(
        np=torch, grad=torch.func.grad, hessian=torch.func.hessian, jit=lambda f: f, special=torch.special,
        array=torch.as_tensor, wait=lambda result: result,
    )  # fmt: skip


def autograd_side() -> Any:
    import autograd
    import autograd.numpy
    import autograd.scipy.special

    return SimpleNamespace(
        np=autograd.numpy, grad=autograd.grad, hessian=autograd.hessian, jit=lambda f: f,
        special=autograd.scipy.special, array=autograd.numpy.asarray, wait=lambda result: result,
    )  # fmt: skip


MOST_STEPS = 40
"""Steps that JAX's loops take at most: more than the programs here need."""


def serve(system: str, kind: str) -> None:
    """Run a program whenever asked to."""
    import numpy as np

    make, arguments = next(found[kind] for found in map(kinds_of, GROUPS) if kind in found)
    own = {"primad": primad_side, "jax": jax_side, "torch": torch_side, "autograd": autograd_side}[system]()
    function = own.jit(make(own))
    arguments = mapped(own.array, arguments)
    begun = time.process_time()
    results = numbers(function(*arguments))
    first = time.process_time() - begun
    print(json.dumps({"first": first, "results": [float(np.sum(r * np.cos(np.arange(r.size)))) for r in results]}))
    sys.stdout.flush()
    while sys.stdin.readline():
        begun, until, calls = time.process_time(), time.monotonic() + TURN, 0
        while time.monotonic() < until or calls < 2:
            own.wait(function(*arguments))
            calls += 1
        print(json.dumps({"each": (time.process_time() - begun) / calls}))
        sys.stdout.flush()


def kinds_of(group: str) -> dict[str, Any]:
    """Return the programs of a group, and their arguments."""
    paths = [*sys.path]
    sys.path.insert(0, str(HERE))  # a peer's interpreter has no package of tests
    found: dict[str, Any] = importlib.import_module(group).KINDS
    sys.path[:] = paths
    return found


def mapped(function: Any, tree: Any) -> Any:
    """Return nested arguments of a system's own arrays."""
    if isinstance(tree, dict):
        return {name: mapped(function, part) for name, part in tree.items()}
    return type(tree)(mapped(function, part) for part in tree) if isinstance(tree, tuple | list) else function(tree)


def numbers(tree: Any) -> list[Any]:
    """Return the arrays of nested results, flat, in the order of their names."""
    import numpy as np

    if isinstance(tree, dict):
        return [a for name in sorted(tree) for a in numbers(tree[name])]
    if isinstance(tree, (tuple, list)):
        return [a for part in tree for a in numbers(part)]
    return [np.asarray(tree, float).ravel()]


def main() -> int:
    """Time the kinds and groups named on the command line, all if there are none."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.beside", description=__doc__)
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--peer", help="an interpreter with JAX, PyTorch and HIPS autograd")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--serve", nargs=2, metavar=("SYSTEM", "KIND"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve)
        return 0
    for group, peers in GROUPS.items():
        asked = [kind for kind in kinds_of(group) if not options.kinds or {kind, group} & {*options.kinds}]
        systems = ["primad", *(peers if options.peer else ())]
        if asked:
            print(f"\n{group:16} {'primad':>11}" + "".join(f"{peer:>12}   ratio" for peer in systems[1:]))
        for kind in asked:
            print(f"{kind:16}" + "".join(row(kind, systems, options)), flush=True)
    return 0


def row(kind: str, systems: list[str], options: argparse.Namespace) -> list[str]:
    """Return the cells of a kind: processor time of a call, and how many times as much the others take."""
    sides = [Side(sys.executable if name == "primad" else options.peer, name, kind) for name in systems]
    there = [side for side in sides if "failed" not in side.first]
    turns = [{side: side.turn() for side in there} for _ in range(options.rounds)]
    cells = []
    for side in sides:
        if side not in there or sides[0] not in there:
            cells.append(" failed" if side is sides[0] else f"{'–':>12}        ")
            continue
        cells.append(f"{1e3 * statistics.median(turn[side] for turn in turns):9.3f} ms")
        if side is not sides[0]:
            pairs = zip(side.first["results"], sides[0].first["results"], strict=True)
            agree = all(abs(x - y) <= 1e-6 * (1 + abs(y)) for x, y in pairs)
            ratio = statistics.median(turn[side] / turn[sides[0]] for turn in turns)
            cells.append(f"{ratio:8.2f}" if agree else "  DIFFERS")
    for side in sides:
        side.close()
    return cells


if __name__ == "__main__":
    sys.exit(main())
