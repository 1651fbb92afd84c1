"""The iteration space of a kernel: up to three nested loops, and along which of them an array varies.

Neighbouring axes that every operand either has or lacks together are one loop. An operand that a broadcast repeats is
read from the small array, and a sum is written to the small array, both at a place that some loops leave alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from primad.native.llvm.vectors import MOST_DOUBLES

LOOPS = "orc"
"""Outer loop, rows, columns; a layout names those along which an array varies: 'orc' is all, '' a single element."""
NARROW = MOST_DOUBLES
"""Columns; fewer would make every vector a partly filled one, where vectors are the longest. The same for shorter ones,
so that programs have the same loops."""


class IterationSpace:
    """The loops over an array's axes, as far as they are known; `admit` splits them further.

    Args:
        shape: of the arrays that the kernel computes, of several elements.
    """

    def __init__(self, shape: Sequence[int]) -> None:
        self._wide = {axis: length for axis, length in enumerate(shape) if length > 1}
        self._patterns: list[frozenset[int]] = []

    def admit(self, axes: Iterable[int], summed: bool = False) -> bool:
        """Make room for an array that lacks some axes; False if the loops cannot be split so.

        Args:
            axes: those along which it does not vary.
            summed: whether it is a sum over them, which the innermost loop cannot compute.
        """
        pattern = frozenset(axes) & self._wide.keys()
        blocks = self._blocks([*self._patterns, pattern])
        if len(blocks) > len(LOOPS) or self._length(blocks[-1]) < min(NARROW, self._length(self._wide)):
            return False
        if summed and blocks[-1][0] in pattern:
            return False
        self._patterns.append(pattern)
        return True

    def layout(self, axes: Iterable[int]) -> str:
        """Return the loops along which an array varies that lacks some axes, for which there is room."""
        pattern = frozenset(axes) & self._wide.keys()
        lacking = {place for place, block in self._placed() if block[0] in pattern}
        return "".join(loop for loop in LOOPS if loop not in lacking)

    @property
    def lengths(self) -> tuple[int, int, int]:
        """Lengths of the three loops."""
        found = {place: self._length(block) for place, block in self._placed()}
        outer, rows, columns = (found.get(loop, 1) for loop in LOOPS)
        return outer, rows, columns

    def _placed(self) -> list[tuple[str, list[int]]]:
        blocks = self._blocks(self._patterns)
        return list(zip(LOOPS[len(LOOPS) - len(blocks) :], blocks, strict=True))

    def _length(self, axes: Iterable[int]) -> int:
        return math.prod(self._wide[axis] for axis in axes)

    def _blocks(self, patterns: Sequence[frozenset[int]]) -> list[list[int]]:
        """Return the axes, neighbours that stand in the same patterns together."""
        blocks: list[list[int]] = []
        for axis in self._wide:
            if blocks and all((axis in pattern) == (blocks[-1][0] in pattern) for pattern in patterns):
                blocks[-1].append(axis)
            else:
                blocks.append([axis])
        return blocks
