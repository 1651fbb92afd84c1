"""Refusing plans that would not fit into memory, before anything is computed."""

from __future__ import annotations

from primad.errors import MemoryLimitError, ShapeError
from primad.ir.node import Leaf
from primad.runtime.executors.executor import Executable
from primad.runtime.failure import nearest_line
from primad.system.machine import physical_memory
from primad.system.quantities import size


def check_memory(plan: Executable, limit: int | None = None) -> None:
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
    made = [node for node in plan.program.nodes if not isinstance(node.op, Leaf) and not node.op.memory.views]
    largest = max(made, key=lambda node: node.type.nbytes)
    raise MemoryLimitError(
        f"the program would need {size(plan.peak_bytes)} for its arrays, the limit is {size(bound)}; "
        f"the largest is {largest.op.name}: {largest.type}, {size(largest.type.nbytes)}",
        why="Programs run in tiles, in little memory, where an axis is only mapped over and summed in the end; "
        "here none is, or the arrays do not have it.",
        fix="sum over the points inside the function, take fewer of them at once, or mark inner functions with "
        "primad.checkpoint.",
        where=nearest_line(plan.program.lines, largest),
    )


def check_limit(limit: int | None) -> None:
    """Raise unless a memory limit is None or a positive number of bytes."""
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise ShapeError(
            f"a memory limit is a positive number of bytes, got {limit!r}",
            fix="write bytes, as memory=2**30 for 1 GB, or leave it out.",
        )
