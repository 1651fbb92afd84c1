"""Where tensors live: always the CPU."""

from __future__ import annotations

from primad.compat.paddle.settings.errors import InvalidArgumentError


class CPUPlace:
    """The host's memory, the only place there is."""

    def __repr__(self) -> str:
        return "Place(cpu)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CPUPlace)

    def __hash__(self) -> int:
        return hash(CPUPlace)

    def is_cpu_place(self) -> bool:
        """Whether this is the CPU: True."""
        return True

    def is_gpu_place(self) -> bool:
        """Whether this is a GPU: False."""
        return False


def set_device(device: str) -> CPUPlace:
    """Accept 'cpu'.

    Raises:
        InvalidArgumentError: for any other device.
    """
    if str(device).split(":")[0].lower() not in ("cpu", "place(cpu)"):
        raise InvalidArgumentError(f"set_device({device!r})", "primad computes on the CPU.", "use 'cpu'.")
    return CPUPlace()


def get_device() -> str:
    """Return 'cpu'."""
    return "cpu"


def is_compiled_with_cuda() -> bool:
    """Whether GPUs can be used: False."""
    return False
