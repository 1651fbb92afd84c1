"""Operands of large contractions, from which matrices are made: views where BLAS can read them, and else copies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from msgspec import Struct

Chosen = dict[str, Any]
"""Indices and slices of axes, by their letters."""


def size_of(letters: str, lengths: dict[str, int]) -> int:
    """Return the product of some axes' lengths."""
    return math.prod([lengths[c] for c in letters])


class MatrixOperand(Struct, frozen=True):
    """An operand, from which matrices are made.

    Attributes:
        array: the operand.
        letters: its axes.
        rows: letters of the rows of the matrices.
        columns: letters of their columns.
    """

    array: Any
    letters: str
    rows: str
    columns: str

    def part(self, chosen: Chosen) -> tuple[Any, str]:
        """Return the part at chosen indices and slices, and the letters of its axes."""
        part = self.array[tuple([chosen.get(c, slice(None)) for c in self.letters])]
        return part, "".join([c for c in self.letters if not isinstance(chosen.get(c), int)])

    def view(self, chosen: Chosen) -> Any:
        """Return the matrix of a part as a view that BLAS can read; None if there is none."""
        part, letters = self.part(chosen)
        ordered = part.transpose([letters.index(c) for c in self.rows + self.columns])
        height = math.prod(ordered.shape[: len(self.rows)])
        try:
            matrix = ordered.reshape((height, -1), copy=False)
        except ValueError:
            return None
        item = matrix.itemsize
        for along, other in ((1, 0), (0, 1)):
            stride = matrix.strides[other]
            if matrix.strides[along] == item and stride >= matrix.shape[along] * item and stride % item == 0:
                return matrix
        return None

    def source(self, chosen: Chosen, loops: str = "") -> tuple[Any, bool]:
        """Return a part in the order in which it is copied, and whether that is the transposed matrix.

        Neighbours in memory stay neighbours. The letters of loops come first.
        """
        part, letters = self.part(chosen)
        wide = [i for i, length in enumerate(part.shape) if length > 1 and letters[i] not in loops]
        nearest = min(wide, key=lambda i: (abs(part.strides[i]), -part.shape[i]), default=0)
        across = letters[nearest] in self.rows
        order = loops + (self.columns + self.rows if across else self.rows + self.columns)
        return part.transpose([letters.index(c) for c in order]), across

    def matrix(self, chosen: Chosen, scratch: Scratch) -> Any:
        """Return the matrix of a part: a view if possible, else a copy."""
        view = self.view(chosen)
        if view is not None:
            return view
        source, across = self.source(chosen)
        copy = scratch.like(source)
        np.copyto(copy, source)
        return self.folded(copy, across)

    def stack(self, chosen: Chosen, loops: str, scratch: Scratch) -> Any:
        """Return the matrices of a part, along axes for the letters of loops (of length 1 where it lacks one)."""
        part, letters = self.part(chosen)
        own = "".join(c for c in loops if c in self.letters)
        lengths = dict(zip(letters, part.shape, strict=True))
        height, width = (size_of(group, lengths) for group in (self.rows, self.columns))
        shape = [lengths[c] if c in own else 1 for c in loops]
        if self.view({**chosen, **dict.fromkeys(own, 0)}) is not None:
            ordered = part.transpose([letters.index(c) for c in own + self.rows + self.columns])
            return ordered.reshape((*shape, height, width))
        source, across = self.source(chosen, own)
        copy = scratch.like(source)
        np.copyto(copy, source)
        return (
            copy.reshape((*shape, width, height)).swapaxes(-1, -2) if across else copy.reshape((*shape, height, width))
        )

    def folded(self, copy: Any, across: bool) -> Any:
        """Return a copy of `source` as the matrix."""
        first = len(self.columns) if across else len(self.rows)
        matrix = copy.reshape(math.prod(copy.shape[:first]), -1)
        return matrix.T if across else matrix


class Scratch:
    """A buffer for arrays of one dtype, that is used again, and grows."""

    def __init__(self) -> None:
        self._buffer: Any = np.empty(0)

    def like(self, array: Any) -> Any:
        """Return an uninitialised contiguous array like another."""
        if self._buffer.size < array.size:
            self._buffer = np.empty(array.size, array.dtype)
        return self._buffer[: array.size].reshape(array.shape)
