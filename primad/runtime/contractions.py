"""Sums of products over strided arrays, as LLVM text: matrix products, dot products, sums.

A product of matrices keeps a block of the result in registers while it runs along the summed axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.runtime import vectors
from primad.runtime.loops import Code, View, lanes_mask, merged, pointwise
from primad.runtime.vectors import Vector

COUNT = "%count"
"""The length of a counted axis: a value of the function that is written."""


def _registers() -> int:
    """Return how many vector registers a block of a product may take: the operands need some of 16, or of 32."""
    return 24 if vectors.WIDTH_BYTES == 64 else 12


@dataclass(frozen=True)
class Contraction:
    """A sum of products of one or two operands: out[…] = Σ x[…]·y[…].

    Attributes:
        out: where the result goes.
        operands: one or two arrays.
        kept: axes of the result: (length, steps in the operands, step in the result).
        summed: the other axes: (length, steps in the operands).
        accumulate: whether the sum is added to what the memory of the result holds.
        counted: which summed axis is only as long as `%count` says, a value of at least 1 of the enclosing function.
    """

    out: View
    operands: tuple[View, ...]
    kept: list[tuple[int, ...]]
    summed: list[tuple[int, ...]]
    accumulate: bool = False
    counted: int | None = None


def contraction(
    out: View,
    out_labels: str,
    operands: Sequence[tuple[View, str]],
    accumulate: bool = False,
    counted: str | None = None,
) -> Contraction:
    """Describe a contraction whose axes are named by letters.

    Args:
        out: where the result goes.
        out_labels: the axes of the result.
        operands: one or two arrays, each with its axes.
        accumulate: whether to add to what the memory of the result holds.
        counted: a summed axis of which the first `%count` elements are summed: an i64 of the enclosing function, from 1
            to the axis' length.
    """
    lengths: dict[str, int] = {}
    strides: list[dict[str, int]] = []
    for view, labels in operands:
        lengths.update(zip(labels, view.shape, strict=True))
        strides.append(dict(zip(labels, view.strides, strict=True)))
    kept = [
        (lengths[c], *[found.get(c, 0) for found in strides], step)
        for c, step in zip(out_labels, out.strides, strict=True)
    ]
    if counted is not None and lengths[counted] == 1:
        counted = None
    inner = [c for c in lengths if c not in out_labels and c != counted]
    axes = {c: (lengths[c], *[found.get(c, 0) for found in strides]) for c in lengths}
    summed = merged(sorted([axes[c] for c in inner], key=lambda axis: -axis[-1]))
    if counted is not None:  # outermost: what lies behind one another then is read in a row
        summed.insert(0, axes[counted])
    views = tuple([view for view, _ in operands])
    return Contraction(out, views, merged(kept), summed, accumulate, None if counted is None else 0)


def packing(form: Contraction, lanes: int) -> int | None:
    """Return the operand that should first be copied so that the last axis of the result is contiguous in it."""
    if not form.kept or len(form.operands) < 2 or not form.summed:
        return None
    length, *steps, out_step = form.kept[-1]
    bad = [i for i, step in enumerate(steps) if step not in (0, 1)]
    reused = [n for n, *other, _ in form.kept[:-1] if bad and other[bad[0]] == 0]
    worth = out_step == 1 and length >= lanes and len(bad) == 1 and max(reused, default=0) >= 4
    return bad[0] if worth else None


def write_contraction(code: Code, form: Contraction, dtype: np.dtype[Any]) -> None:
    """Write the loops of a contraction."""
    if any(axis[0] == 0 for axis in form.kept):
        return
    if any(axis[0] == 0 for axis in form.summed):
        if form.accumulate:
            return
        pointwise(code, [], [form.out], dtype, lambda vector, _: [vector.constant(0)])
        return
    lanes = Vector(dtype, "").lanes
    dotted = next((i for i, (n, *steps) in enumerate(form.summed) if all(s == 1 for s in steps) and n >= lanes), None)
    wide = bool(form.kept) and form.kept[-1][-1] == 1 and all(step in (0, 1) for step in form.kept[-1][1:-1])
    if dotted is not None and not (wide and form.kept[-1][0] >= lanes):
        _Dot(code, form, dtype, dotted).write()
    elif form.kept:
        _Block(code, form, dtype).write()
    else:
        _Dot(code, form, dtype, _along(form)).write()


def _along(form: Contraction) -> int | None:
    """Return the summed axis along which the vectors of a sum of everything lie."""
    # Elements that lie apart are put into a vector one by one, for which their number must be known.
    good = [i for i, (_, *steps) in enumerate(form.summed) if i != form.counted or all(step < 2 for step in steps)]
    return good[-1] if good else None


class _Loops:
    """What both forms share: loops over some axes, with the addresses of all arrays moved along."""

    def __init__(self, code: Code, form: Contraction, dtype: np.dtype[Any]) -> None:
        self.code = code
        self.form = form
        self.dtype = dtype
        self.lanes = Vector(dtype, "").lanes
        self.type = Vector(dtype, "").type
        self.views = [*form.operands, form.out]

    def over(self, axes: Sequence[tuple[int, ...]], pointers: list[str], body: Callable[[list[str]], None]) -> None:
        """Loop over axes of the result."""
        if not axes:
            body(pointers)
            return
        (n, *strides), *rest = axes

        def turn(index: str, _: list[str]) -> list[str]:
            self.over(rest, self.code.step(self.views, pointers, index, strides), body)
            return []

        self.code.loop(n, turn)

    def sums(
        self,
        axes: Sequence[int],
        pointers: list[str],
        totals: list[str],
        body: Callable[[list[str], list[str]], list[str]],
    ) -> list[str]:
        """Loop over summed axes, carrying vectors of sums."""
        if not axes:
            return body(pointers, totals)
        first, *rest = axes
        n, *strides = self.form.summed[first]

        def turn(index: str, values: list[str]) -> list[str]:
            return self.sums(rest, self.code.step(self.form.operands, pointers, index, strides), values, body)

        return self.code.loop(COUNT if first == self.form.counted else n, turn, totals, self.type)

    def store(self, pointer: str, step: int, count: int, lanes: int, value: str) -> None:
        """Write the first elements of a vector of sums, or add them to what is there."""
        out = self.form.out
        if self.form.accumulate:
            before = self.code.load(out, pointer, step, count, lanes, "zeroinitializer")
            value = self.code.emit(f"fadd <{lanes} x {out.cell}> {before}, {value}")
        self.code.store(out, pointer, step, count, lanes, value)


class _Dot(_Loops):
    """Vectors along a summed axis: each element of the result is a sum over vectors, then over their lanes."""

    def __init__(self, code: Code, form: Contraction, dtype: np.dtype[Any], along: int | None) -> None:
        super().__init__(code, form, dtype)
        self.along = (1, *[0] * len(form.operands)) if along is None else form.summed[along]
        self.counted = along is not None and along == form.counted
        self.others = [i for i in range(len(form.summed)) if i != along]

    def write(self) -> None:
        """Write the loops."""
        self.over(self.form.kept, [self.code.start(view) for view in self.views], self._element)

    def _element(self, pointers: list[str]) -> None:
        code, lanes = self.code, self.lanes
        n, *steps = self.along
        whole, rest = divmod(n, lanes)
        chains = max(1, min(4, whole))
        zero = "zeroinitializer"

        def add(places: list[str], totals: list[str], first: int, count: int) -> list[str]:
            result = list(totals)
            for j in range(first, len(totals) if count == lanes else first + 1):
                moved = code.step(self.form.operands, places, str(j - first), [lanes * step for step in steps])
                factors = [
                    code.load(view, place, step, count, lanes, zero)
                    for view, place, step in zip(self.form.operands, moved, steps, strict=True)
                ]
                if count < lanes:  # a repeated element fills all lanes: not those outside, where 0·∞ is not 0
                    kept = f"<{lanes} x i1> {lanes_mask(count, lanes)}"
                    factors = [
                        factor if step else code.emit(f"select {kept}, {self.type} {factor}, {self.type} {zero}")
                        for factor, step in zip(factors, steps, strict=True)
                    ]
                result[j] = code.product_sum(Vector(self.dtype, ""), factors, totals[j])
            return result

        def along(places: list[str], totals: list[str]) -> list[str]:
            blocks, left = divmod(whole, chains)
            far = [lanes * chains * step for step in steps]
            operands = self.form.operands
            if blocks:
                totals = code.loop(
                    blocks,
                    lambda index, values: add(code.step(operands, places, index, far), values, 0, lanes),
                    totals,
                    self.type,
                )
            if left:
                moved = code.step(operands, places, str(blocks), far)
                totals = [*add(moved, totals[:left], 0, lanes), *totals[left:]]
            if rest:
                moved = code.step(operands, places, str(whole), [lanes * step for step in steps])
                totals = [*add(moved, totals[:1], 0, rest), *totals[1:]]
            return totals

        *places, target = pointers
        totals = self.sums(self.others, places, [zero] * chains, self._counted if self.counted else along)
        while len(totals) > 1:
            half = (len(totals) + 1) // 2
            pairs = zip(totals[:half], totals[half:], strict=False)
            joined = [code.emit(f"fadd {self.type} {x}, {y}") for x, y in pairs]
            totals = [*joined, *totals[len(joined) : half]]
        self._store_sum(totals[0], target)

    def _counted(self, places: list[str], totals: list[str]) -> list[str]:
        """Go along the counted axis; of every vector only the lanes before its end are read."""
        code, lanes, operands = self.code, self.lanes, self.form.operands
        n, *steps = self.along
        turns = "1"
        if n > lanes * len(totals):
            longer = code.emit(f"add i64 {COUNT}, {lanes * len(totals) - 1}")
            turns = code.emit(f"udiv i64 {longer}, {lanes * len(totals)}")

        def turn(index: str, values: list[str]) -> list[str]:
            result = []
            for j, total in enumerate(values):
                block = code.emit(f"mul i64 {index}, {lanes * len(totals)}")
                first = code.emit(f"add i64 {block}, {lanes * j}")
                kind = f"<{lanes} x i1>"
                name = code.declare(kind, f"llvm.get.active.lane.mask.v{lanes}i1.i64", "i64", "i64")
                mask = code.emit(f"call {kind} {name}(i64 {first}, i64 {COUNT})")
                moved = code.step(operands, places, first, steps)
                factors = [self._masked(*each, mask) for each in zip(operands, moved, steps, strict=True)]
                result.append(code.product_sum(Vector(self.dtype, ""), factors, total))
            return result

        return turn("0", totals) if turns == "1" else code.loop(turns, turn, totals, self.type)

    def _masked(self, view: View, place: str, step: int, mask: str) -> str:
        """Load the elements of a vector where a mask is true: zeros elsewhere, also of a repeated element."""
        code, lanes = self.code, self.lanes
        kind = f"<{lanes} x {view.cell}>"
        if step == 0:
            value = code.load(view, place, 0, lanes, lanes, "")
            return code.emit(f"select <{lanes} x i1> {mask}, {kind} {value}, {kind} zeroinitializer")
        bits = 8 * view.dtype.itemsize
        name = code.declare(kind, f"llvm.masked.load.v{lanes}f{bits}.p0", "ptr", "i32", f"<{lanes} x i1>", kind)
        return code.emit(f"call {kind} {name}(ptr {place}, i32 1, <{lanes} x i1> {mask}, {kind} zeroinitializer)")

    def _store_sum(self, value: str, target: str) -> None:
        code, lanes = self.code, self.lanes
        while lanes > 1:
            half = lanes // 2
            kind = f"<{half} x {self.form.out.cell}>"
            before = f"<{lanes} x {self.form.out.cell}>"
            parts = []
            for start in (0, half):
                picks = ", ".join(f"i32 {start + i}" for i in range(half))
                parts.append(code.emit(f"shufflevector {before} {value}, {before} poison, <{half} x i32> <{picks}>"))
            value = code.emit(f"fadd {kind} {parts[0]}, {parts[1]}")
            lanes = half
        self.store(target, 1, 1, 1, value)


class _Block(_Loops):
    """Vectors along the last axis of the result, and a block of rows and vectors at a time in registers."""

    def write(self) -> None:
        """Write the loops."""
        *others, self.columns = self.form.kept
        rows = self._rows(others)
        self.rows = others.pop(rows) if rows is not None else (1, *[0] * len(self.views))
        self.over(others, [self.code.start(view) for view in self.views], self._panels)

    def _rows(self, axes: Sequence[tuple[int, ...]]) -> int | None:
        """Choose the axis whose indices share the vectors that are loaded."""
        along = [i for i, step in enumerate(self.columns[1:-1]) if step]
        good = [i for i, (_, *steps) in enumerate(axes) if all(steps[operand] == 0 for operand in along)]
        return max(good, key=lambda i: axes[i][0], default=None)

    def _panels(self, pointers: list[str]) -> None:
        lanes = self.lanes
        n = self.columns[0]
        vectors = -(-n // lanes)
        width = vectors if vectors <= 6 else 3
        far = [width * lanes * step for step in self.columns[1:]]
        blocks, left = divmod(vectors, width)
        exact = blocks if n % lanes == 0 or left else blocks - 1

        def turn(index: str, _: list[str]) -> list[str]:
            self._row_blocks(self.code.step(self.views, pointers, index, far), [lanes] * width)
            return []

        if exact:
            self.code.loop(exact, turn)
        if exact < blocks or left:
            rest = n - exact * width * lanes
            counts = [min(lanes, rest - start) for start in range(0, rest, lanes)]
            self._row_blocks(self.code.step(self.views, pointers, str(exact), far), counts)

    def _row_blocks(self, pointers: list[str], counts: list[int]) -> None:
        n, *strides = self.rows
        height = max(1, min(n, 8, _registers() // len(counts)))
        blocks, left = divmod(n, height)
        far = [height * stride for stride in strides]

        def turn(index: str, _: list[str]) -> list[str]:
            self._block(self.code.step(self.views, pointers, index, far), height, counts)
            return []

        self.code.loop(blocks, turn)
        if left:
            self._block(self.code.step(self.views, pointers, str(blocks), far), left, counts)

    def _block(self, pointers: list[str], height: int, counts: list[int]) -> None:
        code, lanes = self.code, self.lanes
        operands = self.form.operands
        row_steps, column_steps = self.rows[1:], self.columns[1:]
        cells = [(i, j) for i in range(height) for j in range(len(counts))]
        vector = Vector(self.dtype, "")

        def factors(places: list[str], known: dict[Any, str], i: int, j: int) -> list[str]:
            result = []
            for k, (view, place) in enumerate(zip(operands, places, strict=True)):
                key = (k, i if row_steps[k] else 0, j if column_steps[k] else 0)
                if key not in known:
                    offset = i * row_steps[k] + j * lanes * column_steps[k]
                    spot = code.emit(f"getelementptr {view.cell}, ptr {place}, i64 {offset}") if offset else place
                    known[key] = code.load(view, spot, column_steps[k], counts[j], lanes, "zeroinitializer")
                result.append(known[key])
            return result

        def turn(places: list[str], totals: list[str]) -> list[str]:
            known: dict[Any, str] = {}
            return [
                code.product_sum(vector, factors(places, known, i, j), total)
                for (i, j), total in zip(cells, totals, strict=True)
            ]

        *places, target = pointers
        if self.form.summed:
            totals = self.sums(range(len(self.form.summed)), places, ["zeroinitializer"] * len(cells), turn)
        else:
            known: dict[Any, str] = {}
            found = [factors(places, known, i, j) for i, j in cells]
            totals = [code.emit(f"fmul {self.type} {f[0]}, {f[1]}") if len(f) == 2 else f[0] for f in found]
        for (i, j), total in zip(cells, totals, strict=True):
            offset = i * row_steps[-1] + j * lanes * column_steps[-1]
            spot = code.emit(f"getelementptr {self.form.out.cell}, ptr {target}, i64 {offset}") if offset else target
            self.store(spot, column_steps[-1], counts[j], lanes, total)
