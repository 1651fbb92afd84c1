"""A tool of GradBench: `python -m tests.benchmarks.gradbench` answers messages on standard input, with primad.

An argument names another system that answers the same: `jax` or `torch`. It runs on one processor, as GradBench's other
tools do, unless `--multithreaded` is given.
"""

import argparse
import os
import sys
from importlib import import_module

SIDES = {"primad": "primad_side", "jax": "jax_side", "torch": "torch_side"}


def main() -> None:
    """Answer messages until there are no more."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.gradbench", description=__doc__)
    parser.add_argument("system", nargs="?", choices=SIDES, default="primad")
    parser.add_argument("--multithreaded", action="store_true", help="on all processors")
    options = parser.parse_args()
    if not options.multithreaded:  # before NumPy is imported: libraries count the processors once
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    import_module(f".{SIDES[options.system]}", __package__).SIDE.serve(sys.stdin, sys.stdout)


if __name__ == "__main__":
    main()
