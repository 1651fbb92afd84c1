"""The systems to compare, each in processes of its own (see worker.py)."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
OWN = ("primad_side", "xla_side")
PEERS = ("jax_side", "torch_side", "autograd_side", "casadi_side", "c_side")


class NotThereError(Exception):
    """The interpreter does not have the system."""


class GoneError(Exception):
    """A variant's process died, or did not answer in time."""


class System:
    """A system, imported in a process that starts one for every variant to run.

    Attributes:
        name, version: of the system.
        import_seconds: how long its import took.

    Raises:
        NotThereError: if it cannot be imported.
    """

    def __init__(self, python: str, side: str) -> None:
        paths = [str(HERE)] + ([str(HERE.parent.parent)] if side in OWN else [])
        self._folder = tempfile.TemporaryDirectory()
        self._listener = Listener(str(Path(self._folder.name) / "socket"), "AF_UNIX")
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (open as long as this system)
        self._process = subprocess.Popen(
            [os.path.abspath(python), str(HERE / "worker.py"), side, self._listener.address],
            stdout=subprocess.DEVNULL, stderr=self._errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, cwd=self._folder.name,  # CasADi writes C files
        )  # fmt: skip
        self._connection = self._listener.accept()
        hello = receive(self._connection, 120)
        if "error" in hello:
            self.close()
            raise NotThereError(hello["error"])
        self.name, self.version = hello["name"], hello["version"]
        self.import_seconds: float = hello["import_seconds"]

    def variants(self, workload: str) -> list[str]:
        """Return the names of the forms that this system has of a workload."""
        send(self._connection, workload=workload)
        found: list[str] = receive(self._connection, 60)["variants"]
        return found

    def start(self, workload: str, dtype: str, variant: str, kept: bool = False) -> Runner:
        """Start a process that runs a variant; `kept` lets it read what an earlier one left on the disk."""
        send(self._connection, workload=workload, dtype=dtype, variant=variant, kept=kept)
        connection = self._listener.accept()
        return Runner(variant, connection, receive(connection, 60)["process"])

    def last_error(self) -> str:
        """Return the last line written to standard error since the last time, by any of its processes."""
        time.sleep(0.3)  # a process closes its connection before it writes why it ends
        return next((line for line in reversed(self._errors.read().splitlines()) if line.strip()), "")

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._listener.close()
        self._process.kill()
        self._process.wait()
        self._errors.close()
        self._folder.cleanup()


@dataclass
class Answer:
    """What a variant's process says about a request: seconds per call, and its peak memory above import so far."""

    seconds: float
    preparing_seconds: float
    peak_mb: float


class Runner:
    """A variant in a process of its own."""

    def __init__(self, variant: str, connection: Connection, process: int) -> None:
        self.variant = variant
        self._connection, self._process = connection, process

    def run(self, repeats: int = 1, patience: float = 60.0) -> Answer:
        """Call the variant a few times, one after the other.

        Raises:
            GoneError: if its process died, or did not answer in time.
        """
        send(self._connection, repeats=repeats, results=False)
        return Answer(**receive(self._connection, patience))

    def first(self, patience: float) -> tuple[Answer, list[np.ndarray]]:
        """Call the variant once; return its results, too."""
        send(self._connection, repeats=1, results=True)
        answer = Answer(**receive(self._connection, patience))
        with np.load(io.BytesIO(self._connection.recv_bytes())) as arrays:
            return answer, [arrays[name] for name in arrays.files]

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)


def start_systems(peer_python: str | None) -> list[System]:
    """Start primad, and the peers that the interpreter has."""
    systems = [System(sys.executable, "primad_side")]
    for side in PEERS if peer_python else ():
        try:
            systems.append(System(peer_python, side))
        except NotThereError as error:
            print(f"not compared: {error}", file=sys.stderr)
    return systems


def send(connection: Connection, **message: Any) -> None:
    """Send a message to a process.

    Raises:
        GoneError: if it died.
    """
    try:
        connection.send_bytes(json.dumps(message).encode())
    except OSError:
        raise GoneError("the process died") from None


def receive(connection: Connection, patience: float) -> dict[str, Any]:
    """Return a process's next message.

    Raises:
        GoneError: if it died, or does not answer in time.
    """
    if not connection.poll(patience):
        raise GoneError(f"no answer in {patience:.0f} s")
    try:
        message: dict[str, Any] = json.loads(connection.recv_bytes())
    except (EOFError, OSError):
        raise GoneError("the process died") from None
    return message
