"""How a sum of products is cut into blocks that stay in registers: an estimate of the processor's time chooses.

A block has rows of vectors. Either the vectors are neighbouring elements of the result, or each has partial sums of one
element, which are added up in the end.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.vectors import LONGEST_SIDE
from primad.system.machine import CORE, FIRST_CACHE, SECOND_CACHE, DataCache

Axis = tuple[int, ...]
"""Length and steps of an axis."""

Size = tuple[int, int]
"""Height and width of a block."""

LINE_BYTES = FIRST_CACHE.line
FIRST_BYTES, SECOND_BYTES = FIRST_CACHE.share(3, 4), SECOND_CACHE.share(1, 2)
"""What stays in a cache, beside other data."""


class Blocks(Struct, frozen=True):
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
    least, best, height, width = math.inf, None, 1, 1
    for start in _starts(operands, kept, summed, counted):
        vectors, others = start.vectors(lanes), math.prod([n for n, *_ in start.others])
        sizes = _sizes(start, lanes, registers)
        cuts = [(size, pieces(start.rows[0], size[0]), pieces(vectors, size[1])) for size in sizes]
        parts = {(rows, columns) for _, down, across in cuts for _, rows in down for _, columns in across}
        cycles = _block_cycles(start, parts, summed, accumulate, lanes, item_bytes)
        for size, down, across in cuts:
            total = 0.0
            for many, rows in down:
                for count, columns in across:
                    total += many * count * cycles[rows, columns]
            total = total * others * (1 + BUDGET.worth_a_size * len(down) * len(across))
            if best is None or total < least:
                least, best, (height, width) = total, start, size
    assert best is not None
    return least, replace(best, height=height, width=width)


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


def _sizes(start: Blocks, lanes: int, registers: int) -> list[Size]:
    """Return sizes of blocks that fit into registers: the vectors of one operand, and one of the other, must too."""
    steps = list(zip(start.rows[1:-1], start.columns[1:-1], strict=True))
    if start.dotted and all(column and (row or start.rows[0] == 1) for row, column in steps):
        return [(1, 1)]  # no vector is used twice: memory is best read in order
    found: list[Size] = []
    for width in range(1, min(LONGEST_SIDE, start.vectors(lanes)) + 1):
        # Vectors of the block, and those of one operand: height · width + min(height, width) < registers.
        most = (registers - 1 - width) // width
        most = min(LONGEST_SIDE, start.rows[0], most if most >= width else (registers - 1) // (width + 1))
        found += [(height, width) for height in range(max(1, most - 3), most + 1)]
    return found


def _block_cycles(
    blocks: Blocks, sizes: Collection[Size], summed: tuple[Axis, ...], accumulate: bool, lanes: int, item_bytes: int
) -> dict[Size, float]:
    """Estimate the time of a block of each size, along the axes of `blocks`."""
    turns = math.prod([n for i, (n, *_) in enumerate(summed) if i != blocks.along])
    steps = blocks.columns[1:-1]
    if blocks.dotted:
        turns *= 1 if blocks.along is None else -(-summed[blocks.along][0] // lanes)
        steps = (0,) * len(steps) if blocks.along is None else summed[blocks.along][1:]
    inner = [step * item_bytes for step in summed[-1][1:]] if summed else [0] * len(steps)
    loaded, fetched = dict.fromkeys(sizes, 0.0), dict.fromkeys(sizes, 0.0)
    for step, row, column, distance in zip(steps, blocks.rows[1:], blocks.columns[1:], inner, strict=False):
        # Elements that lie apart are loaded and stored one by one.
        load = 1 if step in (0, 1) else 2 * lanes
        for size in sizes:
            loaded[size] += load * (size[0] if row else 1) * (size[1] if column else 1)
        if load > 1:
            continue
        if blocks.dotted:
            _fetch_dotted(fetched, row, column, blocks.rows[0], turns, lanes * item_bytes)
        elif column and not row:
            _fetch_shared(loaded, fetched, turns, distance, lanes * item_bytes)
        elif row and not column:
            _fetch_rows(fetched, row, turns, distance, item_bytes)
    found: dict[Size, float] = {}
    store = 1 if blocks.dotted or blocks.columns[-1] == 1 else 2 * lanes
    for size in sizes:
        cells = size[0] * size[1]
        cycles = max(cells / CORE.starts, loaded[size] / CORE.starts, fetched[size])
        if blocks.dotted:
            found[size] = CORE.block + turns * cycles + cells * (CORE.across + store + accumulate)
        else:
            cycles = max(cycles, CORE.chains / CORE.starts)
            found[size] = CORE.block + turns * cycles + cells * (store + accumulate) + size[0] * CORE.run
    return found


def _fetch_dotted(fetched: dict[Size, float], row: int, column: int, rows: int, turns: int, vector_bytes: int) -> None:
    """Add the time to fetch an operand of vectors of partial sums: those that other blocks use may be near."""
    for (height, width), before in fetched.items():
        # Between two blocks with the same columns, the vectors of other rows pass.
        kept = 2 * width if not row else rows if not column else math.inf
        if not kept * turns * vector_bytes <= FIRST_BYTES:
            count = (height if row else 1) * (width if column else 1)
            fetched[height, width] = before + CORE.line * count * vector_bytes / LINE_BYTES


def _fetch_shared(
    loaded: dict[Size, float], fetched: dict[Size, float], turns: int, distance: int, vector_bytes: int
) -> None:
    """Add the time to load and fetch vectors that all rows of a block use, if they stay in the first cache."""
    line, apart = _line(turns, distance), _apart(distance)
    places_differ = _fits(FIRST_CACHE, FIRST_BYTES, turns, 0, distance)
    for size, before in fetched.items():
        lines = size[1] * vector_bytes / LINE_BYTES
        loaded[size] += apart * lines
        if not (places_differ and turns * size[1] * vector_bytes <= FIRST_BYTES):
            fetched[size] = before + (lines + apart) * line


def _fetch_rows(fetched: dict[Size, float], row: int, turns: int, distance: int, item_bytes: int) -> None:
    """Add the time to fetch an element for each row of a block."""
    line, apart = _line(turns, distance), _apart(distance)
    for size, before in fetched.items():
        least = size[0] * item_bytes / LINE_BYTES
        lines = least if distance == item_bytes else max(1, least + apart) if row == 1 else size[0]
        fetched[size] = before + lines * line


def _apart(distance: int) -> int:
    """Return 1 where what is read turn by turn, so far apart, begins and ends inside of lines; else 0."""
    return 1 if distance % LINE_BYTES else 0


def _line(turns: int, distance: int) -> int:
    """Return the cycles to fetch a line of what is read turn by turn, so far apart."""
    return CORE.line if _fits(SECOND_CACHE, SECOND_BYTES, turns, distance, distance) else CORE.far_line


def _fits(cache: DataCache, total: int, count: int, size: int, distance: int) -> bool:
    """Say whether some pieces of memory, equally far apart, stay in a cache."""
    return count * size <= total and count <= cache.ways * (cache.period // math.gcd(distance, cache.period))
