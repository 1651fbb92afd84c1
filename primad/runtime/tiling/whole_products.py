"""Programs of large products, which are better computed whole, each shared by threads, than in tiles.

A tile multiplies its rows by a whole matrix, which BLAS rearranges for each tile anew, and stages compute values twice.
What tiles save is that values between products go to memory and come back.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from primad import ops
from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.native.emit.op_table import has_code
from primad.native.emit.pointwise import is_function
from primad.ops.arrays.contraction import split
from primad.ops.blocked.blocked_products import pieces_along
from primad.parallel.threads import on_threads
from primad.runtime.executors.executor import Donated, Executable
from primad.runtime.plan.interpreter import Plan
from primad.runtime.tiling.interpreted_tiles import InterpretedTiles
from primad.runtime.tiling.tiles import Tiles
from primad.system.machine import CALL_ELEMENTS, CORE, SHARED_FLOPS


def whole_plan(program: Program, plan: Executable, donated: Donated = ()) -> Plan | None:
    """Return a plan without tiles for a program of large products; None where one with tiles is better.

    Args:
        program: what to compute.
        plan: how it would be computed in tiles.
        donated: outputs that take the memory of inputs.
    """
    steps = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    if not any(map(is_shared, steps)) or not all(map(_keeps_threads_busy, steps)):
        return None
    tiles = list(_tiles_in(plan))
    if not all(isinstance(found, InterpretedTiles) for found in tiles):
        return None
    wide = max([node.type.dtype.itemsize for node in steps if is_shared(node)])
    twice = max(0, plan.flops - program.cost().flops) * wide // np.dtype(float).itemsize
    repeated = sum(map(_rearranged, tiles)) + twice // CORE.flops_of_byte
    if tiles and repeated <= sum(map(_moved_in_cache, tiles)):
        return None
    whole = Plan(program, CALL_ELEMENTS, donated)
    most = on_threads(1, lambda: plan.peak_bytes)  # a choice does not depend on their number
    return whole if whole.peak_bytes <= most else None


def is_shared(node: Node) -> bool:
    """Say whether an op is a product of matrices that threads share: not with a vector, not of integers."""
    if node.op is not ops.contract or node.type.dtype.kind not in "fc" or node.op.cost(node).flops < SHARED_FLOPS:
        return False
    x, y, _ = split(dict(node.params)["labels"])
    return bool({*x} - {*y} and {*y} - {*x})


def _keeps_threads_busy(node: Node) -> bool:
    """Say whether threads share an op, or it takes no longer than its arrays take to be read."""
    if node.op.memory.views or max([x.type.size for x in (node, *node.inputs)]) < CALL_ELEMENTS:
        return True
    pointwise = node.op.axes.pointwise and (has_code(node) or not is_function(node))
    return pointwise or node.op is ops.sum or is_shared(node)


def _tiles_in(plan: Executable) -> Iterator[Tiles]:
    """Yield what runs in tiles."""
    if isinstance(plan, Tiles):
        yield plan
        return
    for part, _ in plan.parts:
        yield from _tiles_in(part)


def _moved_in_cache(tiles: Tiles) -> int:
    """Return the bytes of the values that tiles keep in a cache, as often as they are written and read."""
    partition = tiles.partition
    elsewhere = {*partition.before, *partition.after, *partition.sliced, *partition.totals}
    nodes = [x for x in partition.program.nodes if x not in elsewhere and not isinstance(x.op, Leaf)]
    kept = {node for node in nodes if not node.op.memory.views}
    read = [x for node in partition.program.nodes for x in node.inputs if x in kept]
    return sum([node.type.nbytes for node in (*kept, *read)])


def _rearranged(tiles: Tiles) -> int:
    """Return how many bytes of whole matrices tiles read, and add to, more often than pieces of products do."""
    partition, axis = tiles.partition, tiles.partition.dimension.axis
    total = 0
    for node in partition.program.nodes:
        if node.op is ops.contract and (node in axis or node in partition.sums):
            read = sum([x.type.nbytes for x in node.inputs if x not in axis])
            again = tiles.count - pieces_along(max(node.type.shape, default=1))
            total += max(0, again) * read + (0 if node in axis else 2 * tiles.count * node.type.nbytes)
    return total
