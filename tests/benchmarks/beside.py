"""Time scientific programs on primad and on JAX in turns: `python -m tests.benchmarks.beside --peer PYTHON [KIND…]`.

Each system runs in a process of its own; turns are short and alternate, so that both meet the same machine. The table
shows processor time: that of all threads of a process, for one call. Results must agree.
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


class Side:
    """A system that runs one program in a process of its own."""

    def __init__(self, python: str, system: str, kind: str) -> None:
        paths = [str(HERE)] + ([str(HERE.parent.parent)] if system == "primad" else [])
        self._process = subprocess.Popen(
            [os.path.abspath(python), str(HERE / "beside.py"), "--serve", system, kind],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
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

    return SimpleNamespace(
        np=np, grad=primad.grad, jacobian=primad.jacobian, hessian=primad.hessian, scan=primad.scan, jit=primad.jit,
        softmax=lambda x: primad.nn.softmax(x, axis=-1), loop=primad.while_loop,
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

    return SimpleNamespace(
        np=jax.numpy, grad=jax.grad, hessian=jax.hessian, scan=jax.lax.scan, jit=jax.jit, loop=loop,
        softmax=jax.nn.softmax, jacobian=jax.jacfwd,
    )  # fmt: skip


MOST_STEPS = 40
"""Steps that JAX's loops take at most: more than the programs here need."""


def serve(system: str, kind: str) -> None:
    """Run a program whenever asked to."""
    import numpy as np

    make, arguments = importlib.import_module("scientific").KINDS[kind]
    own = {"primad": primad_side, "jax": jax_side}[system]()
    function = own.jit(make(own))
    if system == "jax":
        import jax

        arguments = jax.tree_util.tree_map(jax.numpy.asarray, arguments)
    begun = time.process_time()
    results = numbers(function(*arguments))
    first = time.process_time() - begun
    print(json.dumps({"first": first, "results": [float(np.sum(r * np.cos(np.arange(r.size)))) for r in results]}))
    sys.stdout.flush()
    while sys.stdin.readline():
        begun, until, calls = time.process_time(), time.monotonic() + TURN, 0
        while time.monotonic() < until or calls < 2:
            result = function(*arguments)
            if system == "jax":
                jax.block_until_ready(result)
            calls += 1
        print(json.dumps({"each": (time.process_time() - begun) / calls}))
        sys.stdout.flush()


def numbers(tree: Any) -> list[Any]:
    """Return the arrays of nested results, flat, in the order of their names."""
    import numpy as np

    if isinstance(tree, dict):
        return [a for name in sorted(tree) for a in numbers(tree[name])]
    if isinstance(tree, (tuple, list)):
        return [a for part in tree for a in numbers(part)]
    return [np.asarray(tree, float).ravel()]


def main() -> int:
    """Time the kinds named on the command line, all if there are none."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.beside", description=__doc__)
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--peer", help="an interpreter with JAX")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--serve", nargs=2, metavar=("SYSTEM", "KIND"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve)
        return 0
    kinds = options.kinds or list(importlib.import_module("tests.benchmarks.scientific").KINDS)
    print(f"{'':16} {'primad':>10} {'JAX':>10} {'JAX / primad':>13}   first: {'primad':>8} {'JAX':>8}")
    for kind in kinds:
        sides = [Side(sys.executable, "primad", kind)] + ([Side(options.peer, "jax", kind)] if options.peer else [])
        if any("failed" in side.first for side in sides):
            print(f"{kind:16} failed")
            continue
        turns = [[side.turn() for side in sides] for _ in range(options.rounds)]
        each = [1e3 * statistics.median(column) for column in zip(*turns, strict=True)]
        firsts = [side.first["first"] for side in sides]
        text = f"{kind:16} {each[0]:7.3f} ms"
        if options.peer:
            pairs = zip(*(side.first["results"] for side in sides), strict=True)
            agree = all(abs(x - y) <= 1e-6 * (1 + abs(y)) for x, y in pairs)
            ratio = statistics.median(turn[1] / turn[0] for turn in turns)
            text += f" {each[1]:7.3f} ms {ratio:13.2f}   {firsts[0]:12.2f} s {firsts[1]:6.2f} s"
            text += "" if agree else "  RESULTS DIFFER"
        print(text, flush=True)
        for side in sides:
            side.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
