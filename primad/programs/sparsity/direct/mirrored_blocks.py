"""Blocks of a symmetric matrix of which every entry is at the mirrored place too, and which need not be computed."""

from __future__ import annotations

import numpy as np

from primad.ir.program import Program
from primad.programs.sparsity.direct.block_programs import PointBlocks
from primad.programs.sparsity.labels import Array


def half_of(blocks: PointBlocks, starts: Array, columns: Array) -> tuple[PointBlocks, Array | None]:
    """Leave out blocks of a symmetric matrix, as long as each entry or the mirrored one keeps all of its elements.

    So of the derivatives by two copies of an argument in either order one is computed, such as those of a spring by its
    two ends. The last block that can go goes first.

    Args:
        blocks: all of them.
        starts: where the entries of each row begin, and the last's end.
        columns: of all, those of a row in order.

    Returns:
        the blocks that are computed, and for each entry the one whose elements it has, itself or the mirrored one; None
        where no block can be left out.
    """
    size = len(starts) - 1
    wanted = np.repeat(np.arange(size), np.diff(starts)) * size + columns
    mirrored = np.searchsorted(wanted, columns * size + wanted // max(1, size))
    ends = np.cumsum([x.size for x in blocks.program.out_types])
    owner = np.searchsorted(ends, blocks.numbers, side="right")
    entry = np.minimum(np.searchsorted(wanted, blocks.rows * size + blocks.columns), len(wanted) - 1)
    there = wanted[entry] == blocks.rows * size + blocks.columns
    lacks = np.zeros(len(wanted), np.bool_)
    left_out = []
    for block in reversed(range(len(ends))):
        own = entry[there & (owner == block)]
        lacks_too = lacks.copy()
        lacks_too[own] = True
        if len(own) and not lacks_too[mirrored[own]].any():
            lacks = lacks_too
            left_out.append(block)
    if not left_out:
        return blocks, None
    kept = [i for i in range(len(ends)) if i not in left_out]
    return _only(blocks, kept, owner, ends), np.where(lacks, mirrored, np.arange(len(wanted)))


def _only(blocks: PointBlocks, kept: list[int], owner: Array, ends: Array) -> PointBlocks:
    """Return some of the blocks, given the block of each element and where the blocks end."""
    program = blocks.program
    sizes = [program.out_types[i].size for i in kept]
    moved = np.zeros(len(ends), np.int64)
    moved[kept] = np.cumsum([0, *sizes])[:-1] - (ends[kept] - sizes)
    stays = np.isin(owner, kept)
    return PointBlocks(
        Program(program.trace, program.inputs, [program.outputs[i] for i in kept]),
        sum(sizes),
        blocks.numbers[stays] + moved[owner[stays]],
        blocks.rows[stays],
        blocks.columns[stays],
        blocks.weights[stays],
        blocks.narrow,
    )
