"""Time loops in plain Python beside the same written as `scan`: `python -m tests.benchmarks.plain_loops [KIND…]`.

Each kind is a gradient of a function as its users write it. Every form runs in a fresh process with an empty cache on
disk; the table shows, in processor time, the first call (recording apart) and a repeated one, and what became of the
loop. Values of both forms must agree.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from typing import Any

from primad.system.quantities import seconds

MOST = 120.0
"""Seconds of a clock for one form."""


def main() -> int:
    """Time the kinds named on the command line, all if there are none."""
    kinds = importlib.import_module("tests.benchmarks.plain_loop_kinds").KINDS
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.plain_loops", description=__doc__)
    parser.add_argument("kinds", nargs="*", help=f"some of {', '.join(kinds)}")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "FORM"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(_timed(*options.one)))
        return 0
    print(f"{'':16} {'record':>9} {'first':>9} {'scan':>9} {'ratio':>6} {'each':>9} {'scan':>9} {'ratio':>6}  loop")
    for kind in options.kinds or kinds:
        plain, scan = (_in_a_process(kind, form) for form in ("plain", "scan"))
        if "failed" in plain or "failed" in scan:
            print(f"{kind:16} {plain.get('failed', '')} {scan.get('failed', '')}", flush=True)
            continue
        first = (plain["first"] - plain["record"]) / scan["first"]
        agree = all(abs(x - y) <= 1e-8 * (1 + abs(y)) for x, y in zip(plain["values"], scan["values"], strict=True))
        print(
            f"{kind:16} {seconds(plain['record']):>9} {seconds(plain['first']):>9} {seconds(scan['first']):>9} "
            f"{first:6.2f} {seconds(plain['each']):>9} {seconds(scan['each']):>9} {plain['each'] / scan['each']:6.2f}  "
            f"{plain['loop']}{'' if agree else ' VALUES DIFFER'}",
            flush=True,
        )
    return 0


def _in_a_process(kind: str, form: str) -> dict[str, Any]:
    """Return what a form of a kind takes, measured in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.benchmarks.plain_loops", "--one", kind, form]
        try:
            done = subprocess.run(
                command, env={**os.environ, "PRIMAD_CACHE": folder}, capture_output=True, text=True, timeout=MOST
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"{form}: no end in {MOST:.0f} s"}
    if done.returncode:
        return {"failed": f"{form}: {(done.stderr.strip().splitlines() or ['?'])[-1]}"}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _timed(kind: str, form: str) -> dict[str, Any]:
    import numpy as np

    import primad

    plain, scan, args = importlib.import_module("tests.benchmarks.plain_loop_kinds").KINDS[kind]
    function = plain if form == "plain" else scan
    begun = time.process_time()
    primad.trace(function)(*args)
    record = time.process_time() - begun
    gradient = primad.jit(primad.grad(function))
    begun = time.process_time()
    values = np.ravel(gradient(*args))
    first = time.process_time() - begun
    gradient(*args)
    each, until = [], time.monotonic() + 1.0
    while len(each) < 3 or (time.monotonic() < until and len(each) < 200):
        begun = time.process_time()
        gradient(*args)
        each.append(time.process_time() - begun)
    text = str(primad.explain(gradient, *args))
    said = [re.sub(r"\(.*:(\d+)\)", r"(\1)", line.strip()) for line in text.splitlines() if "Python unrolled" in line]
    chosen = [float(x) for x in values[:: max(1, len(values) // 50)]]
    return {
        "record": record,
        "first": first,
        "each": sorted(each)[len(each) // 4],
        "loop": "; ".join(said),
        "values": chosen,
    }


if __name__ == "__main__":
    sys.exit(main())
