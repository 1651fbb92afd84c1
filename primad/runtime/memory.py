"""Refusing plans that would not fit into memory, before anything is computed."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from primad.errors import MemoryLimitError, ShapeError
from primad.ir.node import Leaf
from primad.ir.program import Program
from primad.runtime.interpreter import nearest_line


class Planned(Protocol):
    """What a plan says of itself: its program, and the bytes of its arrays when they are most."""

    program: Program

    @property
    def peak_bytes(self) -> int:
        """Bytes of the arrays of a run."""


_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux tells a container how much memory it may take; above it processes are killed, not refused."""


@lru_cache(maxsize=1)
def physical_memory() -> int | None:
    """Return the bytes of memory that the machine, or the container, has; None where it does not tell."""
    try:
        known = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):
        known = []
    return min([*known, *filter(None, map(_limit_in, _CONTAINER_LIMITS))], default=None)


def _limit_in(path: str) -> int | None:
    """Return the number of bytes in a file; None where there is no such file, or no limit in it."""
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def check_memory(plan: Planned, limit: int | None = None) -> None:
    """Raise unless a plan fits into memory.

    Args:
        plan: what is about to run.
        limit: bytes that its arrays may take; by default what the machine has.

    Raises:
        MemoryLimitError: if it needs more, with the op whose value is the largest.
    """
    bound = physical_memory() if limit is None else limit
    if bound is None or plan.peak_bytes <= bound:
        return
    made = [node for node in plan.program.nodes if not isinstance(node.op, Leaf) and not node.op.views]
    largest = max(made, key=lambda node: node.type.nbytes)
    raise MemoryLimitError(
        f"the program would need {_gigabytes(plan.peak_bytes)} for its arrays, the limit is {_gigabytes(bound)}; "
        f"the largest is {largest.op.name}: {largest.type}, {_gigabytes(largest.type.nbytes)}",
        why="Programs run in tiles, in little memory, where an axis is only mapped over and summed in the end; "
        "here none is, or the arrays do not have it.",
        fix="sum over the points inside the function, take fewer of them at once, or mark inner functions with "
        "primad.checkpoint.",
        where=nearest_line(plan.program, largest),
    )


def check_limit(limit: int | None) -> None:
    """Raise unless a memory limit is None or a positive number of bytes."""
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise ShapeError(f"a memory limit is a positive number of bytes, got {limit!r}")


def _gigabytes(size: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} bytes"
