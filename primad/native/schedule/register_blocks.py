"""How a sum of products is cut into blocks that stay in registers: an estimate of the processor's time chooses.

A block has rows of vectors. Either the vectors are neighbouring elements of the result, or each has partial sums of one
element, which are added up in the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.vectors import LONGEST_SIDE
from primad.system.machine import CORE, FIRST_CACHE, SECOND_CACHE, DataCache

Axis = tuple[int, ...]
"""Length and steps of an axis."""

LINE_BYTES = FIRST_CACHE.line
FIRST_BYTES, SECOND_BYTES = FIRST_CACHE.share(3, 4), SECOND_CACHE.share(1, 2)
"""What stays in a cache, beside other data."""


@dataclass(frozen=True)
class Blocks:
    """How a result is cut into blocks.

    Attributes:
        rows: the axis of the result along which a block has rows: (length, steps in the operands, step in the result).
        columns: the axis along which a row has vectors.
        others: the other axes of the result.
        dotted: whether the vectors are partial sums; otherwise they have neighbouring elements along the columns.
        along: the summed axis along which vectors of partial sums lie; None if they have one element each.
        height: how many rows a block has, at most.
        width: how many vectors a row has, at most.
    """

    rows: Axis
    columns: Axis
    others: tuple[Axis, ...]
    dotted: bool
    along: int | None
    height: int = 1
    width: int = 1

    def vectors(self, lanes: int) -> int:
        """Return how many vectors lie along the columns."""
        return self.columns[0] if self.dotted else -(-self.columns[0] // lanes)


@lru_cache(maxsize=4096)
def pieces(length: int, most: int) -> tuple[tuple[int, int], ...]:
    """Cut a length into parts that are as equal as can be: (how many, how long)."""
    count = -(-length // most)
    shorter, longer = divmod(length, count)
    equal = count - longer, shorter
    return ((longer, shorter + 1), equal) if longer else (equal,)


@lru_cache(maxsize=4096)
def best_blocks(
    operands: int,
    kept: tuple[Axis, ...],
    summed: tuple[Axis, ...],
    counted: int | None,
    accumulate: bool,
    lanes: int,
    item_bytes: int,
    registers: int,
) -> tuple[float, Blocks]:
    """Return the blocks that should take the least time, and the time.

    Args:
        operands: number of operands.
        kept: axes of the result.
        summed: axes that are summed over.
        counted: which of those has a length that is known at run time only.
        accumulate: whether the result is added to memory.
        lanes: elements of a vector.
        item_bytes: size of an element.
        registers: number of vector registers.
    """
    found = []
    for start in _starts(operands, kept, summed, counted):
        block = cache(_block_cycles(start, summed, accumulate, lanes, item_bytes))
        found += [(_cycles(blocks, block, lanes), blocks) for blocks in _sizes(start, lanes, registers)]
    return min(found, key=lambda entry: entry[0])


def _starts(operands: int, kept: tuple[Axis, ...], summed: tuple[Axis, ...], counted: int | None) -> Iterator[Blocks]:
    """Yield blocks of one vector, along all choices of axes."""
    single = (1, *[0] * (operands + 1))
    places = range(len(kept))
    pairs = [(i, j) for i in places for j in places if i != j] or [(-1, j) for j in places] or [(-1, -1)]
    for i, j in pairs:
        rows, columns = kept[i] if i >= 0 else single, kept[j] if j >= 0 else single
        others = tuple([axis for k, axis in enumerate(kept) if k not in (i, j)])
        yield Blocks(rows, columns, others, False, None)
        if summed and i <= j:
            yield Blocks(rows, columns, others, True, None)
            for along, (_, *steps) in enumerate(summed):
                # Elements that lie apart are put into a vector one by one, for which their number must be known.
                if along != counted or all(step in (0, 1) for step in steps):
                    yield Blocks(rows, columns, others, True, along)


def _sizes(start: Blocks, lanes: int, registers: int) -> Iterator[Blocks]:
    """Yield larger blocks that fit into registers: the vectors of one operand, and one of the other, must too."""
    steps = list(zip(start.rows[1:-1], start.columns[1:-1], strict=True))
    if start.dotted and all(column and (row or start.rows[0] == 1) for row, column in steps):
        yield start  # no vector is used twice: memory is best read in order
        return
    for width in range(1, min(LONGEST_SIDE, start.vectors(lanes)) + 1):
        # Vectors of the block, and those of one operand: height · width + min(height, width) < registers.
        most = (registers - 1 - width) // width
        most = min(LONGEST_SIDE, start.rows[0], most if most >= width else (registers - 1) // (width + 1))
        for height in range(max(1, most - 3), most + 1):
            yield Blocks(start.rows, start.columns, start.others, start.dotted, start.along, height, width)


def _cycles(blocks: Blocks, block: Callable[[int, int], float], lanes: int) -> float:
    """Estimate the time of a sum of products, of which `block` says it for a block of a height and a width."""
    down, across = pieces(blocks.rows[0], blocks.height), pieces(blocks.vectors(lanes), blocks.width)
    total = sum(many * count * block(height, width) for many, height in down for count, width in across)
    return total * math.prod([n for n, *_ in blocks.others]) * (1 + BUDGET.worth_a_size * len(down) * len(across))


def _block_cycles(
    blocks: Blocks, summed: tuple[Axis, ...], accumulate: bool, lanes: int, item_bytes: int
) -> Callable[[int, int], float]:
    """Return the estimated time of a block by its height and width, along the axes of `blocks`."""
    turns = math.prod([n for i, (n, *_) in enumerate(summed) if i != blocks.along])
    steps = blocks.columns[1:-1]
    if blocks.dotted:
        turns *= 1 if blocks.along is None else -(-summed[blocks.along][0] // lanes)
        steps = (0,) * len(steps) if blocks.along is None else summed[blocks.along][1:]
    # Elements that lie apart are loaded and stored one by one.
    loads = [1 if step in (0, 1) else 2 * lanes for step in steps]
    store = 1 if blocks.dotted or blocks.columns[-1] == 1 else 2 * lanes
    inner = [step * item_bytes for step in summed[-1][1:]] if summed else [0] * len(steps)
    operands = list(zip(loads, blocks.rows[1:], blocks.columns[1:], inner, strict=False))

    vector_bytes = lanes * item_bytes

    def block(height: int, width: int) -> float:
        cells = height * width
        loaded = fetched = 0.0
        for load, row_step, column_step, distance in operands:
            loaded += load * (height if row_step else 1) * (width if column_step else 1)
            if load > 1:
                continue
            if blocks.dotted:  # between two blocks with the same columns, the vectors of other rows pass
                kept = 2 * width if not row_step else blocks.rows[0] if not column_step else math.inf
                count = (height if row_step else 1) * (width if column_step else 1)
                near = kept * turns * vector_bytes <= FIRST_BYTES
                fetched += 0 if near else CORE.line * count * vector_bytes / LINE_BYTES
                continue
            apart = 1 if distance % LINE_BYTES else 0  # then what is read begins and ends inside of lines
            lines = 0.0
            if column_step and not row_step:  # all rows use these vectors, if they stay in the first cache
                size = width * vector_bytes
                loaded += apart * size / LINE_BYTES
                lines = 0 if _fits(FIRST_CACHE, FIRST_BYTES, turns, size, distance) else size / LINE_BYTES + apart
            elif row_step and not column_step:
                least = height * item_bytes / LINE_BYTES
                lines = least if distance == item_bytes else max(1, least + apart) if row_step == 1 else height
            near = _fits(SECOND_CACHE, SECOND_BYTES, turns, distance, distance)
            fetched += lines * (CORE.line if near else CORE.far_line)
        step = max(cells / CORE.starts, loaded / CORE.starts, fetched)
        if blocks.dotted:
            return CORE.block + turns * step + cells * (CORE.across + store + accumulate)
        step = max(step, CORE.chains / CORE.starts)
        return CORE.block + turns * step + cells * (store + accumulate) + height * CORE.run

    return block


def _fits(cache: DataCache, total: int, count: int, size: int, distance: int) -> bool:
    """Say whether some pieces of memory, equally far apart, stay in a cache."""
    return count * size <= total and count <= cache.ways * (cache.period // math.gcd(distance, cache.period))
