"""Rows that loops make and loops take, of which only a part is held: the others are computed again when they are asked.

Reverse mode keeps what the derivative needs of each step as stacked arrays, which a loop the other way takes row by
row. Where they would not fit into the budget, a plan passes them as `Rows`. Behind these stands a `Source`: the loop
that makes them, with states from which it can go on (see `primad.runtime.loops.binomial_schedule`). What takes the
rows, in whatever order, need not know. It may be the source of other rows, as in second derivatives.

A loop that took fewer steps than there are rows passes `Rows` too: behind these stand the rows of its steps,
`StoredRows` in arrays whose other rows nobody wrote.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from primad.ir.array_types import ArrayType
from primad.runtime.loops.binomial_schedule import Cut, Online, distance
from primad.system.machine import SECOND_CACHE

Take = Callable[[list[Any], int, int, list[Any]], int]
"""(state, first row, row after the last, results) -> number of steps taken, minus that where a condition still holds.

It takes the steps of these rows from a state, which is changed in place, and writes their results."""
PIECE_BYTES = SECOND_CACHE.size
"""Bytes of an operand that is copied to be contiguous, at once: they stay in a cache."""


class Source:
    """A loop whose rows are computed in blocks of steps, again where they are not held any more.

    Attributes:
        steps: how many steps there are.
        state: what is carried after the last block that ran.

    Args:
        take: takes steps.
        state: what is carried before the first step.
        types: types of all results of a step.
        streamed: which of them are row streams.
        reverse: whether the last row comes first.
    """

    def __init__(
        self, take: Take, state: list[Any], types: Sequence[ArrayType], streamed: Sequence[int], reverse: bool
    ) -> None:
        self.steps = 0
        self.state = state
        self._take, self._types, self._streamed, self._reverse = take, types, streamed, reverse
        self._block = self._most = 1
        self._states = {0: _copies(state)}
        self._at = 0  # the block that `state` is before
        self._current = -1
        self._rows: list[Any] = []
        self._held: dict[int, list[Any]] = {}

    # -- the first time ------------------------------------------------------------------------------------------------

    def run(self, steps: int, cut: Cut, out: Sequence[Any]) -> None:
        """Take all steps, writing the results that are no row streams.

        Args:
            steps: how many there are.
            cut: how to keep states.
            out: arrays of all rows of each result; those of row streams are not looked at.
        """
        self.steps, self._block, self._most = steps, cut.block, cut.states
        self._ask(-(-steps // cut.block) - 1, out)

    def explore(self, most: int, budget: int, out: Sequence[Any]) -> int:
        """Take steps until a condition does not hold; return how many, minus that where it still does.

        Args:
            most: how many steps there may be.
            budget: bytes that may be held. While they suffice, all rows are.
            out: arrays as `run` takes them.
        """
        row, state = sum(type.nbytes for type in self._types), sum(x.nbytes for x in self.state)
        self._block = max(1, budget // (32 * max(1, row)))
        self._most = max(1, (budget // 2 - 2 * self._block * row) // max(1, state))
        self.steps = most
        schedule, holds, taken, block = Online(self._most), True, 0, 0
        while True:
            if block:
                keeps, given_up = schedule.at(block)
                if given_up is not None:
                    del self._states[given_up]
                if keeps:
                    self._states[block] = _copies(self.state)
            found = self._run(block, out)
            taken += abs(found)
            holds = holds and (block + 1) * self._block * row <= budget // 2
            self._held = {**self._held, block: self._rows} if holds else {}
            if found > 0 or taken == most:
                self.steps = taken
                return taken if found > 0 else -taken
            block += 1

    # -- again ---------------------------------------------------------------------------------------------------------

    def rows(self, first: int, last: int) -> list[Any]:
        """Return the row streams' rows from one place up to another, which lie in one block."""
        step = self.steps - last if self._reverse else first
        block = step // self._block
        self._ask(block)
        start, _ = self._range(block)
        return [x[first - start : last - start] for x in self._rows]

    def edges(self, first: int, last: int) -> Iterator[int]:
        """Yield the places between two at which blocks meet."""
        if self._reverse:
            first, last = self.steps - last, self.steps - first
        for edge in range(-(-(first + 1) // self._block) * self._block, last, self._block):
            yield self.steps - edge if self._reverse else edge

    def _range(self, block: int) -> tuple[int, int]:
        """Return the first row of a block, and the one after its last."""
        first = block * self._block
        last = min(first + self._block, self.steps)
        return (self.steps - last, self.steps - first) if self._reverse else (first, last)

    def _ask(self, block: int, out: Sequence[Any] | None = None) -> None:
        """Compute the rows of a block, if they are not there."""
        if block == self._current:
            return
        if block in self._held:
            self._current, self._rows = block, self._held[block]
            return
        if self._at != block:
            self._at = max(i for i in self._states if i <= block)
            self.state = _copies(self._states[self._at])
        while self._at < block:
            free = self._most - sum(i <= block for i in self._states)
            ahead = self._at + distance(block - self._at + 1, free + 1) if free > 0 else block
            while self._at < ahead:
                self._run(self._at, out)
            if self._at < block:
                if len(self._states) == self._most:
                    del self._states[max(self._states)]
                self._states[self._at] = _copies(self.state)
        self._run(block, out)

    def _run(self, block: int, out: Sequence[Any] | None) -> int:
        """Take the steps of the block that the state is before."""
        self._current, self._rows = -1, []
        first, last = self._range(block)
        results = [
            np.empty((last - first, *type.shape), type.dtype)
            if out is None or i in self._streamed
            else out[i][first:last]
            for i, type in enumerate(self._types)
        ]
        found = self._take(self.state, first, last, results)
        self._at, self._current = block + 1, block
        self._rows = [results[i] for i in self._streamed]
        return found


class StoredRows:
    """The rows of a loop's steps, in arrays with room for more.

    Attributes:
        steps: how many there are.

    Args:
        steps: as the attribute.
        arrays: those of all row streams.
    """

    def __init__(self, steps: int, arrays: Sequence[Any]) -> None:
        self.steps, self._arrays = steps, arrays

    def rows(self, first: int, last: int) -> list[Any]:
        """Return the row streams' rows from one place up to another."""
        return [x[first:last] for x in self._arrays]

    def edges(self, first: int, last: int) -> Iterator[int]:
        """Yield nothing: all rows lie in one block."""
        return iter(())


def _copies(state: Sequence[Any]) -> list[Any]:
    return [x.copy() for x in state]


class Rows:
    """A stacked result of a loop, of which only a part is held.

    Attributes:
        source: what computes it.
        shape: of the whole.
        dtype: of its elements.

    Args:
        source: what computes it.
        which: the number of the row stream.
        type: of the whole.
    """

    def __init__(self, source: Source | StoredRows, which: int, type: ArrayType) -> None:
        self.source, self._which = source, which
        self.shape, self.dtype = type.shape, type.dtype

    def part(self, first: int, last: int) -> Any:
        """Return the rows from one place up to another, which lie in one block."""
        return self.source.rows(first, last)[self._which]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Return all rows, with zeros where no step was taken."""
        whole = np.zeros(self.shape, self.dtype)
        for first, last in pieces(0, self.source.steps, False, [self]):
            whole[first:last] = self.part(first, last)
        return whole if dtype is None else whole.astype(dtype, copy=False)


def pieces(first: int, last: int, reverse: bool, rows: Sequence[Any]) -> list[tuple[int, int]]:
    """Return the ranges of rows in which a loop takes its steps, in order, so that each is at hand as a whole.

    Args:
        first: the first row.
        last: the row after the last.
        reverse: whether the last one comes first.
        rows: the stacked arrays and row streams.
    """
    ends = {first, last}
    for x in rows:
        if isinstance(x, Rows):
            ends.update(x.source.edges(first, last))
        elif not x.flags.c_contiguous and x.nbytes > PIECE_BYTES:
            ends.update(range(first, last, max(1, PIECE_BYTES * len(x) // x.nbytes)))
    order = sorted(ends)
    found = list(itertools.pairwise(order))
    return found[::-1] if reverse else found
