"""Paddle's global flags, of which one matters here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from primad.compat.paddle.settings.errors import InvalidArgumentError

FLAGS: dict[str, Any] = {
    "FLAGS_retain_grad_for_all_tensor": True,
    "FLAGS_allocator_strategy": "auto_growth",
    "FLAGS_benchmark": False,
    "FLAGS_cpu_deterministic": False,
    "FLAGS_cudnn_deterministic": False,
    "FLAGS_cudnn_exhaustive_search": False,
    "FLAGS_eager_delete_tensor_gb": 0.0,
    "FLAGS_fraction_of_cpu_memory_to_use": 1.0,
    "FLAGS_fraction_of_gpu_memory_to_use": 0.92,
    "FLAGS_max_inplace_grad_add": 0,
    "FLAGS_sort_sum_gradient": False,
    "FLAGS_use_mkldnn": False,
}
"""The first: whether `backward` leaves gradients also on results of operations that the user still holds. The others
say how Paddle stores and orders what it computes, and change nothing here."""


def set_flags(flags: dict[str, Any]) -> None:
    """Set flags by name.

    Raises:
        InvalidArgumentError: for a flag that is not known.
    """
    for name, value in flags.items():
        _check(name)
        FLAGS[name] = value


def get_flags(flags: str | Iterable[str]) -> dict[str, Any]:
    """Return flags by name."""
    names = [flags] if isinstance(flags, str) else list(flags)
    for name in names:
        _check(name)
    return {name: FLAGS[name] for name in names}


def _check(name: str) -> None:
    if name not in FLAGS:
        raise InvalidArgumentError(f"the flag {name} is not known", fix=f"there are {', '.join(FLAGS)}.")
