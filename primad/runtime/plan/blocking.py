"""Large steps in blocks: pointwise ones one block after the other, and others that can on the threads of chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.ir.array_types import ArrayType
from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.parallel.threads import run_chunks, single_threaded_blas
from primad.system.machine import SECOND_CACHE, SHARED_FLOPS
from primad.system.process import silently

BLOCK_BYTES = SECOND_CACHE.share(1, 8)
"""What `in_blocks` computes at once: operands, result and what lies between stay in cache together."""


def beside_tiles(program: Program) -> Callable[[Callable[[], Any]], Any]:
    """Return what runs the work of a program of which a part is in tiles: with BLAS on one thread, but for large steps.

    Threads of BLAS wait for more work on their processors, which threads of tiles need.
    """
    steps = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    costs = [node.op.cost(node) for node in steps if node.op.work.flops is not None]
    largest = max([cost.flops for cost in costs if not cost.matmul_flops], default=0)
    return single_threaded_blas if largest < SHARED_FLOPS else lambda work: work()


def in_chunks(work: Callable[[int], Any], count: int) -> list[Any]:
    """Call `work` with 0, 1, …, count − 1 on the threads of chunks and return the results in order."""

    def silent(chunk: int, stopped: Callable[[], bool]) -> Any:
        return silently(work, chunk)  # a plan's setting is its own thread's

    return list(run_chunks(silent, count))


def in_blocks(function: Callable[..., Any], type: ArrayType, writes: bool) -> Callable[..., Any]:
    """Return a pointwise definition that computes a large array of a type block by block.

    What it makes on the way to the result then takes a block's memory, not the array's.

    Args:
        function: the definition.
        type: of the operands' broadcast, and of the result.
        writes: whether the definition writes its result into an array that it gets as `out`.
    """
    axis = int(np.argmax(type.shape))
    length = type.shape[axis]
    step = max(1, BLOCK_BYTES * length // type.nbytes)

    def blocks(*operands: Any, out: Any = None, **params: Any) -> Any:
        result = np.empty(type.shape, type.dtype) if out is None else out
        operands = tuple([x if out is None else _apart(x, out) for x in operands])
        for start in range(0, length, step):
            place = (slice(None),) * axis + (slice(start, start + step),)
            parts = [np.broadcast_to(x, type.shape)[place] for x in operands]
            if writes:
                function(*parts, out=result[place], **params)
            else:
                result[place] = function(*parts, **params)
        return result

    return blocks


def _apart(operand: Any, out: Any) -> Any:
    """Return an operand, or its copy if it shows the memory of `out` in another order: a block would meet results."""
    shown = np.asarray(operand)
    same = shown.strides == out.strides and shown.shape == out.shape and shown.ctypes.data == out.ctypes.data
    return operand if same or not np.may_share_memory(shown, out) else shown.copy()


def piece_arguments(node: Node) -> dict[str, Any]:
    """Return what lets an op's definition share its pieces among threads and multiply by native code, as it can."""
    found: dict[str, Any] = {"each": in_chunks} if node.op.memory.each else {}
    if node.op.memory.times and node.type.is_complex:
        from primad.native.emit.packed_products import packed_product

        if times := packed_product(node.type.dtype, node.op.cost(node).matmul_flops // 8):
            found["times"] = times
    return found
