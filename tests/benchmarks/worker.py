"""A peer's process: reads a workload from the command line, then one line per request, and answers with JSON.

A request is the name of a variant to run once. The answer: seconds, the value, the norm of the gradient, memory.
"""

import json
import resource
import sys
import time

import numpy as np
from workloads import WORKLOADS


def main() -> None:
    name, dtype, side = sys.argv[1:4]
    module = __import__(f"{side}_side")
    workload = WORKLOADS[name]
    functions = module.variants(workload)
    parameters, points = workload.parameters(dtype), workload.inputs(dtype)
    print(json.dumps(sorted(functions)), flush=True)
    for line in sys.stdin:
        variant = line.strip()
        start = time.perf_counter()
        value, result = module.finish(functions[variant](parameters, points))
        seconds = time.perf_counter() - start
        gradient = module.as_numpy(result)[1:] if workload.gradient else []
        norm = float(np.sqrt(sum(np.sum(np.square(leaf, dtype=np.float64)) for leaf in gradient)))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "value": value, "norm": norm, "peak_mb": peak}), flush=True)


main()
