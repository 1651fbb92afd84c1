"""A system's process: it imports the system, and starts a process for each variant of a workload, which imports it too.

So a variant's first call and peak memory are its own. A forked process would not do: it pays for each page of memory
that it touches, and BLAS starts its threads anew there, which hold processors for a tenth of a second; no user's first
call does. What primad keeps on the disk is in a folder of the process's own, empty at first, unless it is asked to be
the user's. Arguments: the side's module, the address of a socket, and what a process of a variant is to run. Messages
are JSON; results are NumPy's own format.
"""

import io
import json
import os
import resource
import subprocess
import sys
import time
from importlib import import_module
from multiprocessing.connection import Client


def main() -> None:
    name, address, *request = sys.argv[1:]
    if request:
        module = import_module(name)
        serve(module, json.loads(request[0]), Client(address, "AF_UNIX"))
        return
    connection = Client(address, "AF_UNIX")
    start = time.perf_counter()
    try:
        module = import_module(name)
    except ImportError as error:
        send(connection, error=str(error))
        return
    seconds = time.perf_counter() - start
    send(connection, name=module.NAME, version=str(module.VERSION), import_seconds=seconds)
    from workloads import WORKLOADS  # only now: importing NumPy is a part of importing the system

    children = []
    while asked := receive(connection):
        if "variant" in asked:
            children = [child for child in children if child.poll() is None]
            children.append(subprocess.Popen([sys.executable, __file__, name, address, json.dumps(asked)]))
        else:
            send(connection, variants=list(module.variants(WORKLOADS[asked["workload"]])))


def serve(module, request, connection) -> None:
    """Run one variant of a workload as often as asked."""
    from workloads import WORKLOADS

    workload = WORKLOADS[request["workload"]]
    if not request["kept"]:
        os.environ["PRIMAD_CACHE"] = os.path.abspath(f"cache-{os.getpid()}")
    imported = resident_megabytes()
    send(connection, process=os.getpid())
    start = time.perf_counter()
    arguments = module.prepare(workload.arguments(request["dtype"]))
    preparing = time.perf_counter() - start
    start = time.perf_counter()
    function = module.variants(workload)[request["variant"]]
    making = time.perf_counter() - start  # what a system loads or compiles then is a part of its first call
    while request := receive(connection):
        repeats = request["repeats"]
        start = time.perf_counter() - making
        making = 0.0
        for _ in range(repeats):
            result = function(*arguments)
            module.wait(result)
        seconds = (time.perf_counter() - start) / repeats
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - imported
        send(connection, seconds=seconds, preparing_seconds=preparing, peak_mb=peak)
        if request["results"]:
            connection.send_bytes(packed(module.as_numpy(result)))


def resident_megabytes() -> float:
    """Return the memory that this process holds now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def packed(arrays) -> bytes:
    """Return arrays in NumPy's format for several."""
    import numpy as np

    file = io.BytesIO()
    np.savez(file, *arrays)
    return file.getvalue()


def send(connection, **message) -> None:
    """Send a message."""
    connection.send_bytes(json.dumps(message).encode())


def receive(connection):
    """Return the next message, or None at the end."""
    try:
        return json.loads(connection.recv_bytes())
    except EOFError:
        return None


if __name__ == "__main__":
    main()
