"""The loops of sums of products, as LLVM text: matrix products, dot products, sums.

A block of the result stays in registers while it runs along the summed axes (see
`primad.native.schedule.register_blocks`), as far as a group of a sum goes (`primad.native.emit.grouped_sums`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from primad.native.emit.copies import halves
from primad.native.emit.elementwise_loop import pointwise
from primad.native.emit.grouped_sums import COUNT, ZERO, Adding, SummedLoops
from primad.native.llvm import vectors
from primad.native.llvm.strided_views import Code, View, lanes_mask
from primad.native.llvm.vectors import Vector
from primad.native.schedule.contraction_plan import Contraction, blocks_for
from primad.native.schedule.register_blocks import Axis, Blocks, pieces
from primad.system.machine import CORE, LONGEST_VECTOR_BYTES


def write_contraction(code: Code, form: Contraction, dtype: np.dtype[Any]) -> None:
    """Write the loops of a contraction."""
    if any(axis[0] == 0 for axis in form.kept):
        return
    if any(axis[0] == 0 for axis in form.summed):
        if not form.accumulate:
            pointwise(code, [], [form.out], dtype, lambda vector, _: [vector.constant(0)])
        return
    _, blocks = blocks_for(form, dtype)
    kind = _PartialSums if blocks.dotted else _Elements
    kind(code, form, blocks, dtype).write()


class _Loops(ABC):
    """Loops over the blocks of a result, with the addresses of all arrays moved along."""

    def __init__(self, code: Code, form: Contraction, blocks: Blocks, dtype: np.dtype[Any]) -> None:
        self.code = code
        self.form = form
        self.blocks = blocks
        self.vector = Vector(code, dtype)
        self.lanes = self.vector.lanes
        self.type = self.vector.type
        self.views = [*form.operands, form.out]
        self.each = 1 if blocks.dotted else self.lanes  # elements of a row for each of its vectors

    @abstractmethod
    def sums(self, places: list[str], cells: Sequence[tuple[int, int]], counts: list[int]) -> list[str]:
        """Write the sums of a block, and return a vector for each of its cells.

        Args:
            places: addresses of the operands' first elements.
            cells: row and column of each.
            counts: of each column, how many elements of the result it has.
        """

    @abstractmethod
    def end(self, totals: list[str], target: str, cells: Sequence[tuple[int, int]], counts: list[int]) -> None:
        """Write the sums of a block to memory."""

    def write(self) -> None:
        """Write the loops."""
        self._over(self.blocks.others, [self.code.start(view) for view in self.views], self._cut_columns)

    def _over(self, axes: Sequence[Axis], pointers: list[str], body: Callable[[list[str]], None]) -> None:
        self.code.over(self.views, pointers, axes, body)

    def _cut_columns(self, pointers: list[str]) -> None:
        n, *steps = self.blocks.columns
        each = self.each
        parts = [*pieces(self.blocks.vectors(self.lanes), self.blocks.width)]
        if n % each:  # the last vector is filled partly
            many, width = parts.pop()
            parts += [(many - 1, width), (1, width)] if many > 1 else [(1, width)]
        done = 0
        for many, width in parts:
            start = self.code.step(self.views, pointers, str(done * each), steps)
            done += many * width
            counts = [each] * (width - 1) + [min(each, n - (done - 1) * each)]
            self._over([(many, *[width * each * step for step in steps])], start, partial(self._cut_rows, counts))

    def _cut_rows(self, counts: list[int], pointers: list[str]) -> None:
        n, *steps = self.blocks.rows
        done = 0
        for many, height in pieces(n, self.blocks.height):
            start = self.code.step(self.views, pointers, str(done), steps)
            done += many * height
            self._over([(many, *[height * step for step in steps])], start, partial(self._block, counts, height))

    def _block(self, counts: list[int], height: int, pointers: list[str]) -> None:
        *places, target = pointers
        cells = [(i, j) for i in range(height) for j in range(len(counts))]
        if len(counts) > height:  # fewer vectors live at a time when the rows' are the ones that stay
            cells.sort(key=lambda cell: cell[::-1])
        self.end(self.sums(places, cells, counts), target, cells, counts)

    def factors(
        self, places: list[str], cell: tuple[int, int], known: dict[Any, str], load: Callable[[int, str], str]
    ) -> list[str]:
        """Return what is multiplied for a cell.

        Args:
            places: addresses of the operands.
            cell: row and column.
            known: vectors that other cells have loaded.
            load: (operand, address) -> vector.
        """
        result = []
        for k, (view, place) in enumerate(zip(self.form.operands, places, strict=True)):
            steps = (self.blocks.rows[1 + k], self.each * self.blocks.columns[1 + k])
            key = (k, *[i if step else 0 for i, step in zip(cell, steps, strict=True)])
            if key not in known:
                known[key] = load(k, self._at(view, place, cell, steps))
            result.append(known[key])
        return result

    def _at(self, view: View, place: str, cell: tuple[int, int], steps: tuple[int, int]) -> str:
        offset = cell[0] * steps[0] + cell[1] * steps[1]
        return self.code.place(view.cell, place, offset) if offset else place

    def store(self, target: str, cell: tuple[int, int], step: int, count: int, value: str) -> None:
        """Write the first elements of a vector of sums from a cell on, or add them to what is there."""
        out = self.form.out
        pointer = self._at(out, target, cell, (self.blocks.rows[-1], self.each * self.blocks.columns[-1]))
        if self.form.accumulate:
            before = self.code.load_lanes(out.cell, pointer, step, count, self.lanes, ZERO)
            value = self.vector.arithmetic("add", before, value)
        if step > 1 and count == self.lanes and self._has_long_sums() and vectors.WIDTH_BYTES == LONGEST_VECTOR_BYTES:
            self.code.scatter(out.cell, pointer, step, count, value)
        else:
            self.code.store_lanes(out.cell, pointer, step, count, self.lanes, value)

    def _has_long_sums(self) -> bool:
        """Say whether a sum takes longer than to take a vector apart and store it, which is then half of the text.

        By one instruction, blocks of products of 100 rows compile in two thirds of the time; calls take 1 % more.
        """
        return math.prod([length for length, *_ in self.form.summed]) >= 2 * self.lanes


class _Elements(_Loops):
    """Vectors of neighbouring elements of the result."""

    def sums(self, places: list[str], cells: Sequence[tuple[int, int]], counts: list[int]) -> list[str]:
        """Write the sums of a block, and return a vector for each of its cells."""
        code, operands, steps = self.code, self.form.operands, self.blocks.columns[1:]

        def load(count: int, k: int, place: str) -> str:
            return code.load_lanes(operands[k].cell, place, steps[k], count, self.lanes, ZERO)

        def products(places: list[str]) -> list[list[str]]:
            known: dict[Any, str] = {}
            return [self.factors(places, cell, known, partial(load, counts[cell[1]])) for cell in cells]

        if not self.form.summed:
            return [self.vector.arithmetic("mul", *x) if len(x) == 2 else x[0] for x in products(places)]

        def turn(places: list[str], totals: list[str]) -> list[str]:
            pairs = zip(products(places), totals, strict=True)
            return [self.vector.product_sum(factors, total) for factors, total in pairs]

        loops = SummedLoops(code, self.form, self.vector, cells)
        return loops.over(range(len(self.form.summed)), places, Adding(1, len(cells), turn))

    def end(self, totals: list[str], target: str, cells: Sequence[tuple[int, int]], counts: list[int]) -> None:
        """Write the sums of a block to memory."""
        for cell, total in zip(cells, totals, strict=True):
            self.store(target, cell, self.blocks.columns[-1], counts[cell[1]], total)


class _PartialSums(_Loops):
    """Vectors of partial sums, which lie along a summed axis."""

    def sums(self, places: list[str], cells: Sequence[tuple[int, int]], counts: list[int]) -> list[str]:
        """Write the sums of a block, and return a vector of partial sums for each of its cells."""
        row = _Row(self, cells)
        others = [i for i in range(len(self.form.summed)) if i != self.blocks.along]
        return row.loops.over(others, places, Adding(row.turns, row.carried, row.add, row.ended, row.sums))

    def end(self, totals: list[str], target: str, cells: Sequence[tuple[int, int]], counts: list[int]) -> None:
        """Write the sums of a block to memory: those that lie behind one another as a vector."""
        row_step, column_step = self.blocks.rows[-1], self.blocks.columns[-1]
        places = {i * row_step + j * column_step: (i, j) for i, j in cells}
        sums = dict(zip(cells, totals, strict=True))
        runs: list[list[int]] = []
        for offset in sorted(places):
            run = runs[-1] if runs else []
            if run and len(run) < self.lanes and (len(run) == 1 or offset - run[-1] == run[1] - run[0]):
                run.append(offset)
            else:
                runs.append([offset])
        for run in runs:
            value = self._lanes_added([sums[places[offset]] for offset in run])
            self.store(target, places[run[0]], run[1] - run[0] if len(run) > 1 else 1, len(run), value)

    def _lanes_added(self, totals: Sequence[str]) -> str:
        """Add up the lanes of each vector; the sums are the first lanes of the result."""
        group = self.lanes
        values: list[str | None] = [*totals, *[None] * (self.lanes - len(totals))]
        while group > 1:
            values = [self._halves_added(x, y, group) for x, y in zip(values[::2], values[1::2], strict=True)]
            group //= 2
        (result,) = values
        assert result is not None
        return result

    def _halves_added(self, x: str | None, y: str | None, group: int) -> str | None:
        """Add the second half of each group of lanes to its first half: those of x, then those of y."""
        if x is None:
            return None
        first, second = halves(self.code, self.type, self.lanes, x, y or "poison", group)
        return self.vector.arithmetic("add", first, second)


class _Row:
    """The partial sums of a block along an axis: chains of sums take its vectors in turn.

    Attributes:
        turns: how often each chain takes one, at most.
        carried: how many vectors all chains have.
        loops: the loops around it.

    Args:
        block: what writes the block.
        cells: row and column of each of its vectors.
    """

    def __init__(self, block: _PartialSums, cells: Sequence[tuple[int, int]]) -> None:
        along, form, lanes = block.blocks.along, block.form, block.lanes
        self._block, self._cells = block, cells
        self._n, *self._steps = (1, *[0] * len(form.operands)) if along is None else form.summed[along]
        vectors = -(-self._n // lanes)
        self._chains = min(vectors, max(1, CORE.chains // len(cells)))
        self._counted = along is not None and along == form.counted
        self.turns = -(-vectors // self._chains)
        self.carried = len(cells) * self._chains
        self.loops = SummedLoops(block.code, form, block.vector, cells)

    def add(self, places: list[str], totals: list[str]) -> list[str]:
        """Add all vectors to the chains."""
        count = self._n // (self._chains * self._block.lanes)

        def known() -> list[str]:
            found = self._whole(places, totals, "0", count) if count else totals
            return self._rest(places, found)

        return self._along(known, lambda: self._masked(places, totals, "0", self._counted_turns()))

    def sums(self, places: list[str]) -> list[str]:
        """Return the sums of all vectors; what no turn of all chains takes is a group of its own."""
        over, group = self.loops.in_groups, self.loops.group
        count = self._n // (self._chains * self._block.lanes)

        def known() -> list[str]:
            rest = self.ended(self._rest(places, [ZERO] * self.carried))
            return self._added(over(count, count, group, partial(self._group, self._whole, places)), rest)

        def masked() -> list[str]:
            return over(self._counted_turns(), self.turns, group, partial(self._group, self._masked, places))

        return self._along(known, masked)

    def ended(self, totals: list[str]) -> list[str]:
        """Add up the chains."""
        size, chains = len(self._cells), self._chains
        while chains > 1:
            half = (chains + 1) // 2
            joined = self._added(totals[: (chains - half) * size], totals[half * size :])
            totals = [*joined, *totals[len(joined) : half * size]]
            chains = half
        return totals

    def _group(self, take: Callable[..., list[str]], places: list[str], start: str, end: str) -> list[str]:
        """Return the sums of a group of turns."""
        return self.ended(take(places, [ZERO] * self.carried, start, end))

    def _added(self, some: Sequence[str], others: Sequence[str]) -> list[str]:
        return [self._block.vector.arithmetic("add", x, y) for x, y in zip(some, others, strict=True)]

    def _along(self, known: Callable[[], list[str]], masked: Callable[[], list[str]]) -> list[str]:
        """Go along an axis of known length, or a counted one: along all of it, as most tiles do, or to its end."""
        if not self._counted:
            return known()
        all_of_it = self._block.code.emit(f"icmp eq i64 {COUNT}, {self._n}")
        return self._block.code.either_of(self._block.type, all_of_it, known, masked)

    def _whole(self, places: list[str], totals: list[str], start: str, end: int | str) -> list[str]:
        """Take turns in which every chain takes a vector."""
        block, size = self._block, self._chains * self._block.lanes

        def turn(index: str, values: list[str]) -> list[str]:
            moved = block.code.step(block.form.operands, places, index, [size * step for step in self._steps])
            return self._take(moved, values, [block.lanes] * self._chains)

        return block.code.loop(end, turn, totals, block.type, start)

    def _rest(self, places: list[str], totals: list[str]) -> list[str]:
        """Take the vectors that are too few for all chains, the last of which may be partly filled."""
        block, lanes = self._block, self._block.lanes
        done = self._n // (self._chains * lanes) * self._chains
        left, rest = divmod(self._n - done * lanes, lanes)
        moved = block.code.step(block.form.operands, places, str(done), [lanes * step for step in self._steps])
        return self._take(moved, totals, [lanes] * left + [rest] * (rest > 0))

    def _counted_turns(self) -> str:
        size = self._chains * self._block.lanes
        longer = self._block.code.emit(f"add i64 {COUNT}, {size - 1}")
        return self._block.code.emit(f"udiv i64 {longer}, {size}")

    def _masked(self, places: list[str], totals: list[str], start: str, end: str) -> list[str]:
        """Take turns along the counted axis: of every vector only the lanes before its end are read."""
        block, lanes = self._block, self._block.lanes
        code, size = block.code, self._chains * lanes

        def turn(index: str, values: list[str]) -> list[str]:
            at = code.emit(f"mul i64 {index}, {size}")
            masks = []
            for lane in range(0, size, lanes):
                first = code.emit(f"add i64 {at}, {lane}")
                name = f"llvm.get.active.lane.mask.v{lanes}i1.i64"
                masks.append(code.call(block.vector.bool, name, ("i64", first), ("i64", COUNT)))
            return self._take(code.step(block.form.operands, places, at, self._steps), values, masks)

        return code.loop(end, turn, totals, block.type, start)

    def _take(self, places: list[str], totals: list[str], parts: Sequence[int | str]) -> list[str]:
        """Add the products of some vectors, one after the other, to one chain of partial sums after the other.

        Args:
            places: addresses of the operands.
            totals: the chains, each with a vector for each cell.
            parts: of each vector, how many of its lanes are summed, or a mask that says which.
        """
        block, result, size = self._block, list(totals), len(self._cells)
        for i, part in enumerate(parts):
            far = [block.lanes * step for step in self._steps]
            moved = block.code.step(block.form.operands, places, str(i), far)
            known: dict[Any, str] = {}
            for place, cell in enumerate(self._cells, i * size % len(totals)):
                factors = block.factors(moved, cell, known, partial(self._load, part))
                result[place] = block.vector.product_sum(factors, result[place])
        return result

    def _load(self, part: int | str, k: int, place: str) -> str:
        """Load a vector with zeros outside, also for a repeated element: there, 0·∞ is not 0."""
        block, lanes = self._block, self._block.lanes
        view, step = block.form.operands[k], self._steps[k]
        value = block.code.load_lanes(view.cell, place, step, part, lanes, ZERO)
        if step or part == lanes:
            return value
        mask = part if isinstance(part, str) else lanes_mask(part, lanes)
        return block.code.emit(f"select {block.vector.bool} {mask}, {block.type} {value}, {block.type} {ZERO}")
