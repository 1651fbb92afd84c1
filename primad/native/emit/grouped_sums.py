"""Loops that add up: sums of few turns in registers, which are added up in groups (see `primad.ops.blocked.groups`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec import Struct

from primad.native.llvm.strided_views import Code
from primad.native.llvm.vectors import Vector
from primad.native.schedule.contraction_plan import Contraction
from primad.ops.blocked.groups import GROUP, PRODUCTS, spans_of

COUNT = "%count"
"""The length of a counted axis: a value of the function that is written."""
ZERO = "zeroinitializer"

Add = Callable[[list[str], list[str]], list[str]]
"""(addresses, sums) -> sums, to which what lies there was added."""


class Adding(Struct, frozen=True):
    """What is added in the innermost loop of a sum.

    Attributes:
        turns: how many turns it takes, at most.
        carried: how many vectors carry sums from turn to turn.
        add: writes it.
        ended: carried sums -> sums, when a group of turns has ended.
        sums: addresses -> sums of all that lies there; for what takes more turns than a group has.
    """

    turns: int
    carried: int
    add: Add
    ended: Callable[[list[str]], list[str]] = list
    sums: Callable[[list[str]], list[str]] = list


class SummedLoops:
    """Writes loops over the summed axes of a contraction, for a block of its result.

    Args:
        code: where to write.
        form: the contraction.
        vector: the writer of its numbers.
        cells: row and column of each vector of sums that the block has.

    Attributes:
        group: turns of a group.
    """

    def __init__(self, code: Code, form: Contraction, vector: Vector, cells: Sequence[tuple[int, int]]) -> None:
        self.code, self.form, self.vector, self._size = code, form, vector, len(cells)
        of_matrices = len(form.operands) > 1 and all(map(any, zip(*cells, strict=True)))
        self.group = PRODUCTS if of_matrices else GROUP

    def over(self, axes: Sequence[int], places: list[str], adding: Adding) -> list[str]:
        """Write nested loops over axes, and return the sums of what they add."""
        turns = adding.turns * math.prod([self.form.summed[axis][0] for axis in axes])
        if turns <= self.group:
            return self._carried(axes, places, adding)
        if not axes:
            return adding.sums(places)
        first, *rest = axes
        n, *steps = self.form.summed[first]
        span = max(1, self.group * n // turns)

        def part(start: str, end: str) -> list[str]:
            if span == 1:
                return self.over(rest, self.code.step(self.form.operands, places, start, steps), adding)
            return self._carried(axes, places, adding, start, end)

        return self.in_groups(self._length(first), n, span, part)

    def in_groups(self, count: int | str, most: int, span: int, part: Callable[[str, str], list[str]]) -> list[str]:
        """Write a loop in parts, and return the sum of their sums.

        Args:
            count: turns of the loop, at least one.
            most: how many there are at most.
            span: turns of a part.
            part: (first turn, end) -> the sums of a part.
        """

        def level(spans: Sequence[int], start: str, end: str) -> list[str]:
            if not spans:
                return part(start, end)
            *inner, span = spans

            def turn(first: str, stop: str, totals: list[str]) -> list[str]:
                found = level(inner, first, stop)
                return [self.vector.arithmetic("add", x, y) for x, y in zip(totals, found, strict=True)]

            return self.code.in_parts(start, end, span, turn, [ZERO] * self._size, self.vector.type)

        return level(spans_of(most, span), "0", str(count))

    def _length(self, axis: int) -> int | str:
        return COUNT if axis == self.form.counted else self.form.summed[axis][0]

    def _carried(
        self, axes: Sequence[int], places: list[str], adding: Adding, start: str = "0", end: str = ""
    ) -> list[str]:
        """Write nested loops, of the outermost axis from a turn to an end, that carry sums from turn to turn."""

        def nested(axes: Sequence[int], places: list[str], totals: list[str], start: str, end: int | str) -> list[str]:
            if not axes:
                return adding.add(places, totals)
            first, *rest = axes
            _, *steps = self.form.summed[first]

            def turn(index: str, values: list[str]) -> list[str]:
                return nested(rest, self.code.step(self.form.operands, places, index, steps), values, "0", "")

            return self.code.loop(end or self._length(first), turn, totals, self.vector.type, start)

        return adding.ended(nested(axes, places, [ZERO] * adding.carried, start, end))
