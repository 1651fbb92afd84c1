"""Work that is cut into pieces, in chunks that threads may share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from primad.parallel import threads
from primad.system.machine import SECOND_CACHE

Each = Callable[[Callable[[int], Any], int], list[Any]]
"""Calls a function with 0, 1, …, n − 1, in any order or at the same time, and returns the results in order."""
Times = Callable[[Any, Any, Any], Any]
"""Multiplies two matrices: writes the product into a third array, or makes one where that is None, and returns it."""
MOST_CHUNKS = threads.MOST_CHUNKS // 2
"""Chunks that can share work, whatever the number of threads: half of those that have partial sums only, since each has
buffers of its own."""
PIECE_BYTES = SECOND_CACHE.share(1, 4)
"""Size of a piece over which there are several passes: it and what they make stay in cache."""


def in_order(work: Callable[[int], Any], count: int) -> list[Any]:
    """Call `work` with 0, 1, …, count − 1 and return the results."""
    return [work(i) for i in range(count)]


def in_pieces(
    work: Callable[[tuple[slice, ...]], Any], shape: tuple[int, ...], whole: tuple[int, ...], itemsize: int, each: Each
) -> None:
    """Call `work` for pieces of an array, cut along its longest axis.

    Args:
        work: gets the indices of a piece.
        shape: of the array.
        whole: axes that cannot be cut.
        itemsize: bytes of an element.
        each: how the pieces are shared.
    """
    axis = max([axis for axis in range(len(shape)) if axis not in whole], key=lambda a: shape[a], default=None)
    if axis is None:
        work(())
        return
    pieces = max(1, min(shape[axis], math.prod(shape) * itemsize // PIECE_BYTES))
    chunks = min(pieces, MOST_CHUNKS)

    def chunk(number: int) -> None:
        for piece in range(number * pieces // chunks, (number + 1) * pieces // chunks):
            part = slice(piece * shape[axis] // pieces, (piece + 1) * shape[axis] // pieces)
            work((*[slice(None)] * axis, part))

    each(chunk, chunks)
