"""Places in one block of memory for values that live one after the other."""

from __future__ import annotations

from bisect import bisect_left, insort

from primad.system.machine import FIRST_CACHE, VECTOR_BYTES

ALIGNMENT = max(VECTOR_BYTES, FIRST_CACHE.line)
"""Bytes; arrays in scratch memory begin at a multiple, as vectors and lines of the cache do."""


def aligned(offset: int, alignment: int = ALIGNMENT) -> int:
    """Return the first multiple of an alignment that is not below an offset."""
    return -(-offset // alignment) * alignment


def alignment_of(size: int) -> int:
    """Return the alignment of a value of some bytes: small ones share a line of the cache."""
    return min(ALIGNMENT, max(8, 1 << (size - 1).bit_length() if size else 8))


class Memory:
    """A block that grows as it must.

    Attributes:
        size: bytes that were ever taken.
    """

    def __init__(self) -> None:
        self.size = 0
        self._taken: dict[int, int] = {}
        self._holes: list[tuple[int, int]] = []  # beginnings and ends, in order, with something taken between them

    def take(self, size: int) -> int:
        """Return a place of so many bytes: the first hole that is large enough, or behind everything."""
        size = aligned(max(1, size))
        for k, (start, end) in enumerate(self._holes):
            if end - start >= size:
                if end - start == size:
                    del self._holes[k]
                else:
                    self._holes[k] = (start + size, end)
                break
        else:
            start = self.size
            if self._holes and self._holes[-1][1] == self.size:
                start, _ = self._holes.pop()
            self.size = start + size
        self._taken[start] = size
        return start

    def free(self, start: int) -> None:
        """Give back a place."""
        end = start + self._taken.pop(start)
        k = bisect_left(self._holes, (start, end))
        if k < len(self._holes) and self._holes[k][0] == end:
            end = self._holes.pop(k)[1]
        if k and self._holes[k - 1][1] == start:
            start = self._holes.pop(k - 1)[0]
        insort(self._holes, (start, end))
