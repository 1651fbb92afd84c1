"""Which tiles a program runs in: those of one native function, or interpreted ones; and how long they are.

Both ways add up each chunk's sums tile by tile and then the chunks in order, so that results are equal bit for bit for
any number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from primad import ops
from primad.ir.node import Node
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.compiler import compiled, compiler
from primad.native.llvm.persistent_cache import kept
from primad.native.llvm.vectors import MOST_DOUBLES, WIDTH_BYTES
from primad.native.module.program_text import ProgramText, ProgramWriter, TooLongError
from primad.native.module.tile_worker import Table, scratch_of, worker_text
from primad.native.schedule.layout import layout_of
from primad.ops.arrays.contraction import split
from primad.runtime.plan.native_regions import Partition
from primad.runtime.tiling.interpreted_tiles import InterpretedTiles
from primad.runtime.tiling.native_tiles import NativeTiles, Worker
from primad.runtime.tiling.tile_program import Tiled, TilePartition
from primad.system.machine import SECOND_CACHE, STREAMED_BYTES, blas_has_long_vectors

SCRATCH_BYTES = SECOND_CACHE.share(1)
"""Memory of a native tile."""
NATIVE_LENGTHS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Rows of native tiles: the lengths that there are. Chosen: few, so that other numbers of points find their function
compiled, and whole vectors. The last bits of results depend on it."""
MIXED_LENGTHS = (256, 512, 1024, 2048)
"""Rows of tiles of native functions and steps between them, which Python calls. Chosen: shorter ones do not pay for the
calls. The last bits of results depend on it."""
FEWEST_TILES = math.lcm(2, 3, 4)
"""Tiles: native ones are made shorter to have so many of them for threads to share. Chosen: 2, 3, 4, 6 and 12 threads
have equal shares then. The last bits of results depend on it."""
SHORT_LENGTH = 4 * MOST_DOUBLES
"""Rows of a native tile, below which it is not made shorter for that. Chosen: four of the longest vectors. The last
bits of results depend on it."""
LARGEST_MATRIX = SECOND_CACHE.share(1, 4)
"""Bytes. Products with larger matrices are BLAS's, which reads them in blocks, unless its vectors are half as long."""


def native_tiles(partition: TilePartition, even_large: bool) -> NativeTiles | None:
    """Return native tiles; None where an op has no loop, BLAS is better or the text too long.

    Args:
        partition: what runs in tiles.
        even_large: whether to accept tiles that exceed the cache even at the shortest length. It is false where the
            axis is short and its rows are long: these are better cut along the rows.
    """
    lengths = [length for length in NATIVE_LENGTHS if 2 * length <= partition.dimension.length]
    if compiler() is None or not lengths or _is_for_blas(partition):
        return None
    numbered = {node: i for i, node in enumerate(partition.program.nodes)}
    cut = sorted([(numbered[node], axis) for node, axis in partition.dimension.axis.items() if node in numbered])
    ends = [[numbered[node] for node in nodes] for nodes in (partition.inputs, partition.sums, partition.sliced)]
    more = (cut, ends, partition.into, partition.dimension.length, even_large)
    tile = cache(partition.tile)

    def read(plain: list[Any] | None) -> tuple[int, tuple[int, int], ProgramText] | None:
        if plain is None:
            return None
        length, products, loops, text = plain
        if length not in lengths or {type(products), type(loops)} != {int}:
            raise ValueError("what is kept are no tiles of this program")
        return length, (products, loops), ProgramText.of(text, lambda: tile(length)[0])

    found = kept("tiles", partition.program, more, lambda: _written(partition, tile, lengths, even_large), read)
    if found is None:
        return None
    length, steps, text = found
    joins = partition.program.cost().flops < BUDGET.uninterrupted

    def worker(table: Table) -> Worker:
        scratch = scratch_of(text, table)
        return Worker(worker_text(text, table, length), scratch, text.failing, text.lines, joins)

    return compiled("tiles", lambda: NativeTiles(partition, length, lambda: tile(length), steps, worker))


def _written(
    partition: TilePartition, tile: Callable[[int], Tiled], lengths: Sequence[int], even_large: bool
) -> list[Any] | None:
    """Return what is to be known of native tiles, as JSON can say it; None where there are none.

    It is the rows of a tile, how many products and loops it has, and its text.
    """
    guess = min(64, lengths[-1])
    program, slices = tile(guess)
    layout = layout_of(program, slices)
    if layout is None:
        return None
    writer = ProgramWriter(layout, BUDGET.tile_text)
    fitting = SCRATCH_BYTES * guess // max(1, writer.scratch - writer.copied_before)
    if fitting < lengths[0] and not even_large:
        return None
    arrays = [node for node in (*partition.inputs, *partition.sliced) if node in partition.dimension.axis]
    slices_bytes = sum(node.type.nbytes for node in arrays) // partition.dimension.length
    shared = max(SHORT_LENGTH, partition.dimension.length // FEWEST_TILES)
    longest = min(fitting, shared, STREAMED_BYTES // max(1, slices_bytes))  # a short last tile copies them
    length = max([n for n in lengths if n <= longest], default=lengths[0])
    if length != guess:
        program, slices = tile(length)
        layout = layout_of(program, slices)
        assert layout is not None
        writer = ProgramWriter(layout, BUDGET.tile_text)
    heads = [unit.nodes[0] for unit in layout.units]
    products = sum(node.op is ops.contract for node in heads)
    try:
        return [length, products, len(heads) - products, writer.write().plain(program)]
    except TooLongError:
        return None


def mixed_tiles(partition: TilePartition) -> InterpretedTiles | None:
    """Return tiles of native functions with NumPy's steps between them; None where little of them is native."""
    lengths = [length for length in MIXED_LENGTHS if 2 * length <= partition.dimension.length]
    if compiler() is None or not lengths or _is_for_blas(partition):
        return None
    guess = lengths[0]
    program, _ = partition.tile(guess)
    parts = Partition(program)
    if not parts.is_mostly_native or parts.length > BUDGET.tile_text:
        return None
    fitting = SCRATCH_BYTES * guess // max(1, parts.scratch)
    longest = max([n for n in lengths if n <= fitting], default=guess)
    # A last tile that is shorter is compiled too.
    even = (n for n in range(longest, longest // 2, -8) if partition.dimension.length % n == 0)
    return InterpretedTiles(partition, next(even, longest), mixed=True)


def _is_for_blas(partition: TilePartition) -> bool:
    return reads_large_matrix(partition) and blas_is_as_wide()


def reads_large_matrix(partition: TilePartition) -> bool:
    """Say whether a product in the tiles reads a matrix again and again that is too large for a cache."""
    axis = partition.dimension.axis
    return any(
        _matrix_bytes(partition, node) > LARGEST_MATRIX
        for node in partition.program.nodes
        if node.op is ops.contract and (node in axis or node in partition.sums)
    )


def blas_is_as_wide() -> bool:
    """Say whether BLAS has vectors as long as those of native code: that is what tiles are chosen by."""
    return WIDTH_BYTES < 64 or blas_has_long_vectors()


def blas_that_counts() -> bool | None:
    """Return `blas_is_as_wide()`, or None where no plan of this process has asked, so that none depends on it.

    To look at the loaded libraries takes a tenth of a short program's first call.
    """
    return blas_is_as_wide() if blas_has_long_vectors.cache_info().currsize else None


def _matrix_bytes(partition: TilePartition, node: Node) -> int:
    """Return the size of the largest matrix that a product reads again and again: of a stack, each has its turn."""
    axis, length = partition.dimension.axis, partition.dimension.length
    if node in axis and all(operand in axis for operand in node.inputs):  # a product for each index
        return min(operand.type.nbytes // length for operand in node.inputs)
    x, y, out = split(dict(node.params)["labels"])
    stack = [n for label, n in zip(x, node.inputs[0].type.shape, strict=True) if label in y and label in out]
    matrix = sum(operand.type.nbytes for operand in node.inputs if operand not in axis)  # there is one at most
    return matrix // max(1, math.prod(stack))
