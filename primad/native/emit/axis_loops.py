"""Loops along axes: the largest and smallest element, running sums, the order of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from primad.native.emit.copies import halves
from primad.native.emit.emit_context import INT64, Emit, Site
from primad.native.llvm.strided_views import Code, View, merged
from primad.native.llvm.vectors import BOOL, Vector
from primad.system.machine import CORE

Axes = Sequence[tuple[int, ...]]


def _as_numbers(view: View) -> View:
    """Return truth values as the numbers 0 and 1 that they are in memory."""
    dtype = np.dtype(np.uint8) if view.dtype == BOOL else view.dtype
    return View(view.buffer, view.offset, view.shape, view.strides, dtype)


def widest(axes: Axes, lanes: int) -> int | None:
    """Return the axis along which vectors lie best: one whose elements are neighbours everywhere, or the longest."""
    if not axes:
        return None

    def worth(i: int) -> tuple[bool, int]:
        n, *steps = axes[i]
        return n >= lanes and all(step == 1 for step in steps), n

    return max(range(len(axes)), key=worth)


def in_vectors(
    code: Code,
    views: Sequence[View],
    pointers: Sequence[str],
    axis: tuple[int, ...] | None,
    lanes: int,
    body: Callable[[list[str], int], None],
) -> None:
    """Write a loop along an axis in vectors, of which the last may be partly filled: body(addresses, lanes filled)."""
    n, *steps = axis or (1, *[0] * len(pointers))
    whole, rest = divmod(n, lanes)
    far = [lanes * step for step in steps]
    if whole:
        code.over(views, pointers, [(whole, *far)], lambda places: body(places, lanes))
    if rest:
        body(code.step(views, pointers, str(whole), far), rest)


# -- the largest element -----------------------------------------------------------------------------------------------


def write_extremum(site: Site, larger: Emit) -> None:
    """Write the loops of the largest, or smallest, element along axes: what is left of two is written by `larger`."""
    x, out = map(_as_numbers, (*site.operands, site.out))
    axes = site.params["axes"]
    rest = [i for i in range(len(x.shape)) if i not in axes]
    kept = merged([(x.shape[i], x.strides[i], s) for i, s in zip(rest, out.strides, strict=True)])
    if any(n == 0 for n, *_ in kept):
        return
    _Extremum(site.code, x, out, larger).write(kept, merged([(x.shape[i], x.strides[i]) for i in axes]))


class _Extremum:
    """A largest element that is being written; for the arguments see `write_extremum`."""

    def __init__(self, code: Code, x: View, out: View, larger: Emit) -> None:
        self.code, self.x, self.out = code, x, out
        self.vector = Vector(code, x.dtype)
        self.larger = larger

    def write(self, kept: Axes, found: Axes) -> None:
        """Write the loops over kept axes, (length, steps), and in them those over the axes that are gone after it."""
        code, lanes = self.code, self.vector.lanes
        views, pointers = [self.x, self.out], [code.start(self.x), code.start(self.out)]
        across, along = widest(kept, lanes), widest(found, lanes)
        lengths = [0 if i is None else axes[i][0] for axes, i in ((kept, across), (found, along))]
        near = along is not None and found[along][1] == 1 and lengths[1] >= lanes
        if near or lengths[0] < lanes <= lengths[1]:
            assert along is not None
            others = [axis for i, axis in enumerate(found) if i != along]
            code.over(views, pointers, kept, lambda places: self._along(found[along], others, places))
            return
        others = [axis for i, axis in enumerate(kept) if i != across]
        row = None if across is None else kept[across]
        code.over(
            views,
            pointers,
            others,
            lambda places: in_vectors(
                code, views, places, row, lanes, lambda at, count: self._across(found, row, at, count)
            ),
        )

    def _load(self, pointer: str, stride: int, count: int, filler: str = "poison") -> str:
        return self.code.load_lanes(self.x.cell, pointer, stride, count, self.vector.lanes, filler)

    def _over(
        self, axes: Axes, pointer: str, totals: list[str], body: Callable[[str, list[str]], list[str]]
    ) -> list[str]:
        """Write nested loops that carry vectors."""
        if not axes:
            return body(pointer, totals)
        (n, step), *rest = axes

        def turn(index: str, values: list[str]) -> list[str]:
            (place,) = self.code.step([self.x], [pointer], index, [step])
            return self._over(rest, place, values, body)

        return self.code.loop(n, turn, totals, self.vector.type)

    def _across(self, found: Axes, row: tuple[int, ...] | None, places: list[str], count: int) -> None:
        """Write a vector of results: each lane goes through elements of its own."""
        source, target = places
        step, out_step = (0, 0) if row is None else row[1:]
        stride = step if count > 1 else 1
        first = self._load(source, stride, count)

        def body(pointer: str, totals: list[str]) -> list[str]:
            return [self.larger(self.vector, totals[0], self._load(pointer, stride, count))]

        (total,) = self._over(found, source, [first], body)
        self.code.store_lanes(self.out.cell, target, out_step if count > 1 else 1, count, self.vector.lanes, total)

    def _along(self, axis: tuple[int, ...], others: Axes, places: list[str]) -> None:
        """Write a result whose elements lie in the lanes: lanes that are left over hold the first element."""
        code, vector, lanes = self.code, self.vector, self.vector.lanes
        source, target = places
        n, step = axis
        first = self._load(source, 0, lanes)
        chains = min(CORE.latency, -(-n // lanes))
        turns, left = divmod(n, lanes * chains)

        def body(pointer: str, totals: list[str]) -> list[str]:
            def turn(index: str, values: list[str]) -> list[str]:
                (place,) = code.step([self.x], [pointer], index, [lanes * chains * step])
                moved = [code.step([self.x], [place], str(i), [lanes * step])[0] for i in range(chains)]
                return [self.larger(vector, v, self._load(p, step, lanes)) for v, p in zip(values, moved, strict=True)]

            values = code.loop(turns, turn, totals, vector.type) if turns else list(totals)
            done = turns * chains * lanes
            for i, start in enumerate(range(0, left, lanes)):
                (place,) = code.step([self.x], [pointer], str(done + start), [step])
                values[i] = self.larger(vector, values[i], self._load(place, step, min(lanes, left - start), first))
            return values

        totals = self._over(others, source, [first] * chains, body)
        total = totals[0]
        for other in totals[1:]:
            total = self.larger(vector, total, other)
        group = lanes
        while group > 1:
            total = self.larger(vector, *halves(code, vector.type, lanes, total, total, group))
            group //= 2
        code.store_lanes(self.out.cell, target, 1, 1, lanes, total)


# -- running sums ------------------------------------------------------------------------------------------------------


def write_cumsum(site: Site) -> None:
    """Write the loops of running sums: vectors of other places go along the axis together."""
    (x,), out = site.operands, site.out
    code, axis = site.code, site.params["axis"]
    if 0 in x.shape:
        return
    n, views = x.shape[axis], [x, out]
    steps = [view.strides[axis] for view in views]
    pointers = [code.start(view) for view in views]
    if site.params["reverse"]:
        pointers = code.step(views, pointers, str(n - 1), steps)
        steps = [-step for step in steps]
    others = merged([(x.shape[i], x.strides[i], out.strides[i]) for i in range(len(x.shape)) if i != axis])
    vector = Vector(code, x.dtype)
    best = widest(others, vector.lanes)
    row = None if best is None else others[best]
    moves = (1, 1) if row is None else row[1:]

    def scan(places: list[str], count: int) -> None:
        strides = moves if count > 1 else (1, 1)

        def move(at: list[str], total: str | None) -> str:
            value = code.load_lanes(x.cell, at[0], strides[0], count, vector.lanes, "poison")
            value = value if total is None else vector.arithmetic("add", total, value)
            code.store_lanes(out.cell, at[1], strides[1], count, vector.lanes, value)
            return value

        def turn(index: str, values: list[str]) -> list[str]:
            return [move(code.step(views, places, index, steps), values[0])]

        first = move(places, None)
        if n > 1:
            code.loop(n, turn, [first], vector.type, start="1")

    def along(places: list[str]) -> None:
        in_vectors(code, views, places, row, vector.lanes, scan)

    code.over(views, pointers, [axis for axis in others if axis is not row], along)


# -- the order of elements ---------------------------------------------------------------------------------------------


def before(v: Vector, x: str, y: str) -> str:
    """Say where x is less than y; NaNs come last."""
    if v.dtype.kind != "f":
        return v.order("lt", x, y)
    return v.logic("and", v.compare("ult", x, y), v.compare("ord", x, x))


def write_argsort(site: Site) -> None:
    """Write the loops of a stable sort of a short axis: the place of an element is how many come before it."""
    x, out = _as_numbers(site.operands[0]), site.out
    axis = site.params["axis"]
    others = merged([(x.shape[i], x.strides[i], out.strides[i]) for i in range(len(x.shape)) if i != axis])
    if 0 not in x.shape:
        sort = _Sort(site.code, x, out, x.shape[axis], x.strides[axis], out.strides[axis])
        pointers = [site.code.start(x), site.code.start(out)]
        site.code.over([x, out], pointers, others, lambda places: sort.write(*places))


class _Sort:
    """The sort of one row that is being written."""

    def __init__(self, code: Code, x: View, out: View, n: int, step: int, out_step: int) -> None:
        self.code, self.x, self.out = code, x, out
        self.n, self.step, self.out_step = n, step, out_step
        self.places = Vector(code, INT64)
        self.vector = Vector(code, x.dtype, self.places.lanes)

    def write(self, source: str, target: str) -> None:
        """Write the loops."""
        lanes = self.places.lanes
        whole, rest = divmod(self.n, lanes)
        if whole:
            self.code.loop(whole, lambda i, _: self._vector(source, target, i, lanes))
        if rest:
            self._vector(source, target, str(whole), rest)

    def _vector(self, source: str, target: str, number: str, count: int) -> None:
        """Count for some elements how many come before them, and write their own places there."""
        code, v, p = self.code, self.vector, self.places
        (place,) = code.step([self.x], [source], number, [p.lanes * self.step])
        values = code.load_lanes(self.x.cell, place, self.step, count, p.lanes, "zeroinitializer")
        first = code.emit(f"mul i64 {number}, {p.lanes}")
        own = p.op("add", self.places.repeated(first), p.listed(range(p.lanes)))

        def turn(index: str, totals: list[str]) -> list[str]:
            (at,) = code.step([self.x], [source], index, [self.step])
            other = code.load_lanes(self.x.cell, at, 0, p.lanes, p.lanes, "poison")
            tie = v.logic("xor", before(v, values, other), v.of(BOOL).constant(True))
            tie = v.logic("and", tie, p.order("lt", self.places.repeated(index), own))
            earlier = v.logic("or", before(v, other, values), tie)
            return [p.op("add", totals[0], v.of(BOOL).changed("zext", earlier, p))]

        (counts,) = code.loop(self.n, turn, ["zeroinitializer"], p.type)
        for lane in range(count):
            rank = code.emit(f"extractelement {p.type} {counts}, i64 {lane}")
            value = code.emit(f"extractelement {p.type} {own}, i64 {lane}")
            (at,) = code.step([self.out], [target], rank, [self.out_step])
            code.store("i64", value, at)
