"""The loops of sums of products, as LLVM text: matrix products, dot products, sums.

A block of the result stays in registers while it runs along the summed axes (see
`primad.native.schedule.register_blocks`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from primad.native.emit.copies import halves
from primad.native.emit.elementwise_loop import pointwise
from primad.native.llvm.strided_views import Code, View, lanes_mask
from primad.native.llvm.vectors import Vector
from primad.native.schedule.contraction_plan import Contraction, blocks_for
from primad.native.schedule.register_blocks import Axis, Blocks, pieces
from primad.system.machine import CORE

COUNT = "%count"
"""The length of a counted axis: a value of the function that is written."""
ZERO = "zeroinitializer"


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
        parts = pieces(self.blocks.vectors(self.lanes), self.blocks.width)
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

    def over_summed(
        self,
        axes: Sequence[int],
        places: list[str],
        totals: list[str],
        body: Callable[[list[str], list[str]], list[str]],
    ) -> list[str]:
        """Loop over summed axes, carrying vectors of sums."""
        if not axes:
            return body(places, totals)
        first, *rest = axes
        n, *steps = self.form.summed[first]

        def turn(index: str, values: list[str]) -> list[str]:
            return self.over_summed(rest, self.code.step(self.form.operands, places, index, steps), values, body)

        return self.code.loop(COUNT if first == self.form.counted else n, turn, totals, self.type)

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
        self.code.store_lanes(out.cell, pointer, step, count, self.lanes, value)


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
            return [code.product_sum(self.vector, factors, total) for factors, total in pairs]

        return self.over_summed(range(len(self.form.summed)), places, [ZERO] * len(cells), turn)

    def end(self, totals: list[str], target: str, cells: Sequence[tuple[int, int]], counts: list[int]) -> None:
        """Write the sums of a block to memory."""
        for cell, total in zip(cells, totals, strict=True):
            self.store(target, cell, self.blocks.columns[-1], counts[cell[1]], total)


class _PartialSums(_Loops):
    """Vectors of partial sums, which lie along a summed axis."""

    def sums(self, places: list[str], cells: Sequence[tuple[int, int]], counts: list[int]) -> list[str]:
        """Write the sums of a block, and return a vector of partial sums for each of its cells."""
        along, size = self.blocks.along, len(cells)
        n, *steps = (1, *[0] * len(places)) if along is None else self.form.summed[along]
        chains = min(-(-n // self.lanes), max(1, CORE.chains // size))
        body = self._counted if along is not None and along == self.form.counted else self._along
        others = [i for i in range(len(self.form.summed)) if i != along]
        totals = self.over_summed(others, places, [ZERO] * (size * chains), partial(body, cells, n, steps))
        while chains > 1:
            half = (chains + 1) // 2
            pairs = zip(totals[: (chains - half) * size], totals[half * size :], strict=True)
            joined = [self.vector.arithmetic("add", x, y) for x, y in pairs]
            totals = [*joined, *totals[len(joined) : half * size]]
            chains = half
        return totals

    def _along(
        self, cells: Sequence[tuple[int, int]], n: int, steps: Sequence[int], places: list[str], totals: list[str]
    ) -> list[str]:
        """Go along an axis of known length."""
        code, lanes, operands = self.code, self.lanes, self.form.operands
        chains = len(totals) // len(cells)
        whole, rest = divmod(n, lanes)
        turns, left = divmod(whole, chains)
        far = [lanes * step for step in steps]

        def turn(index: str, values: list[str]) -> list[str]:
            moved = code.step(operands, places, index, [chains * step for step in far])
            return self._add(moved, values, cells, steps, [lanes] * chains)

        if turns:
            totals = code.loop(turns, turn, totals, self.type)
        moved = code.step(operands, places, str(turns * chains), far)
        return self._add(moved, totals, cells, steps, [lanes] * left + [rest] * (rest > 0))

    def _counted(
        self, cells: Sequence[tuple[int, int]], n: int, steps: Sequence[int], places: list[str], totals: list[str]
    ) -> list[str]:
        """Go along the counted axis: along all of it, as most tiles do, or to its end."""
        all_of_it = self.code.emit(f"icmp eq i64 {COUNT}, {n}")
        return self.code.either_of(
            self.type,
            all_of_it,
            lambda: self._along(cells, n, steps, places, totals),
            lambda: self._to_the_end(cells, steps, places, totals),
        )

    def _to_the_end(
        self, cells: Sequence[tuple[int, int]], steps: Sequence[int], places: list[str], totals: list[str]
    ) -> list[str]:
        """Go along the counted axis: of every vector only the lanes before its end are read."""
        code, lanes = self.code, self.lanes
        size = lanes * (len(totals) // len(cells))
        longer = code.emit(f"add i64 {COUNT}, {size - 1}")
        turns = code.emit(f"udiv i64 {longer}, {size}")

        def turn(index: str, values: list[str]) -> list[str]:
            start = code.emit(f"mul i64 {index}, {size}")
            masks = []
            for lane in range(0, size, lanes):
                first = code.emit(f"add i64 {start}, {lane}")
                name = f"llvm.get.active.lane.mask.v{lanes}i1.i64"
                masks.append(code.call(self.vector.bool, name, ("i64", first), ("i64", COUNT)))
            return self._add(code.step(self.form.operands, places, start, steps), values, cells, steps, masks)

        return code.loop(turns, turn, totals, self.type)

    def _add(
        self,
        places: list[str],
        totals: list[str],
        cells: Sequence[tuple[int, int]],
        steps: Sequence[int],
        parts: Sequence[int | str],
    ) -> list[str]:
        """Add the products of some vectors, one after the other, to one chain of partial sums after the other.

        Args:
            places: addresses of the operands.
            totals: the chains, each with a vector for each cell.
            cells: row and column of each.
            steps: steps of the operands along the vectors.
            parts: of each vector, how many of its lanes are summed, or a mask that says which.
        """
        result = list(totals)
        for i, part in enumerate(parts):
            moved = self.code.step(self.form.operands, places, str(i), [self.lanes * step for step in steps])
            known: dict[Any, str] = {}
            for place, cell in enumerate(cells, i * len(cells) % len(totals)):
                factors = self.factors(moved, cell, known, partial(self._load, part, steps))
                result[place] = self.code.product_sum(self.vector, factors, result[place])
        return result

    def _load(self, part: int | str, steps: Sequence[int], k: int, place: str) -> str:
        """Load a vector with zeros outside, also for a repeated element: there, 0·∞ is not 0."""
        code, lanes, view, step = self.code, self.lanes, self.form.operands[k], steps[k]
        value = code.load_lanes(view.cell, place, step, part, lanes, ZERO)
        if step or part == lanes:
            return value
        mask = part if isinstance(part, str) else lanes_mask(part, lanes)
        return code.emit(f"select {self.vector.bool} {mask}, {self.type} {value}, {self.type} {ZERO}")

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
