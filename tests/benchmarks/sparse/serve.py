"""Run one workload in one system, and print what was measured."""

from __future__ import annotations

import importlib
import json
import sys

if __name__ == "__main__":
    system, *names = sys.argv[1:]
    try:
        side = importlib.import_module(f"{system}_side")
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
    else:
        found = side.KINDS[names[0]](names[0]) if names and names[0] in side.KINDS else {}
        print(json.dumps({"name": side.NAME, "kinds": [*side.KINDS], **found}))
