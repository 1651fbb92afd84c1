"""Devices: everything runs on the host processor, whatever it is called."""

from __future__ import annotations

from typing import ClassVar

from primad.compat.mxnet.errors import MXNetError


class Context:
    """A device, in MXNet's words; usable in `with`, where it becomes the current one.

    Args:
        device_type: 'cpu', or 'cpu_pinned' and 'cpu_shared', which are the same thing here; or another context.
        device_id: a number that is kept and printed.

    Raises:
        MXNetError: for 'gpu'.

    Example:
        >>> import primad.compat.mxnet as mx
        >>> mx.Context("cpu", 0)
        cpu(0)
    """

    _stack: ClassVar[list[Context]] = []

    def __init__(self, device_type: str | Context, device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            device_id = device_type.device_id
            device_type = device_type.device_type
        if device_type == "gpu":
            raise MXNetError("there is no gpu(): primad runs on the host processor", fix="use mx.cpu().")
        if device_type not in ("cpu", "cpu_pinned", "cpu_shared"):
            raise KeyError(device_type)
        self.device_type: str = device_type
        self.device_id: int = device_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and (self.device_type, self.device_id) == (other.device_type, other.device_id)

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_id))

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    def __enter__(self) -> Context:
        Context._stack.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        Context._stack.pop()


_CPU = Context("cpu", 0)


def cpu(device_id: int = 0) -> Context:
    """Return the host processor."""
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """Return the host processor."""
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """Raise: there is no GPU here."""
    return Context("gpu", device_id)


def num_gpus() -> int:
    """Return 0."""
    return 0


def current_context() -> Context:
    """Return the innermost context entered by `with`, by default cpu(0)."""
    return Context._stack[-1] if Context._stack else _CPU
