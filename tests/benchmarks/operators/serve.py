"""Make steps with a family in one form: `serve.py SYSTEM FORM FAMILY FUNCTIONS DTYPE`, printing JSON."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from importlib import import_module
from pathlib import Path

SPENT = 1.0
"""Processor seconds of the steps that one measurement is of, at least."""
MEASUREMENTS = 3
"""How many there are; the shortest counts."""
SLOW = 5.0
"""Processor seconds from which on a step is measured once."""


def resident() -> float:
    """Return the megabytes that this process holds now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def main(system: str, form: str, name: str, functions: str, dtype: str) -> None:
    """Measure a form, and print what was found."""
    sys.path.insert(0, str(Path(__file__).parent))
    forms, families = import_module(f"{system}_forms"), import_module("families")
    data = families.arrays(name, int(functions), dtype)
    before = resident()
    advance = forms.step(form, name, data)
    begun = time.process_time()
    losses = [advance()]
    first = time.process_time() - begun
    begun = time.process_time()
    losses.append(advance())
    each = time.process_time() - begun
    repeats = max(1, int(SPENT / max(each, 1e-6)))
    for _ in range(MEASUREMENTS if each < SLOW else 0):
        begun = time.process_time()
        for _ in range(repeats):
            advance()
        each = min(each, (time.process_time() - begun) / repeats)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    print(json.dumps({"losses": losses, "first": first, "each": each, "peak": peak}))


if __name__ == "__main__":
    os.environ.setdefault("PRIMAD_CACHE", "off")
    main(*sys.argv[1:])
