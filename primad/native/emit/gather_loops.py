"""Loops that take and add rows at integer indices, which are checked: in vectors at first, and then one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from primad.ir.node import Node
from primad.native.emit.elementwise_loop import pointwise, pointwise_at
from primad.native.emit.emit_context import INT64, Site
from primad.native.emit.grouped_sums import COUNT
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.strided_views import View, contiguous, counter_of, merged
from primad.native.llvm.vectors import BY_SIZE, Number, Vector, lanes_of

Axes = Sequence[tuple[int, ...]]
PlaceAt = Callable[[str, Callable[[], str]], str]
"""(address of an index, what writes its number) -> the place that it leads to, along an axis."""
WORK_OF_READING, WORK_OF_ADDING = 8, 12
"""Ops of arithmetic on an element in a cache that a row takes as long as which is read, or added, at an index: that is
checked, and what is added must have been written before it is read again. Fitted to times of rows of 1 to 16
elements; only predictions depend on them."""


def work_of_gather(node: Node) -> int:
    """Return how many ops of arithmetic on an element a gather takes as long as."""
    return WORK_OF_READING * int(node.inputs[1].type.size) + int(node.type.size)


def work_of_scatter_add(node: Node) -> int:
    """Return how many ops of arithmetic on an element it takes as long as to add rows at indices, zeros included."""
    added, indices = node.inputs
    return WORK_OF_ADDING * int(indices.type.size) + int(added.type.size) + int(node.type.size)


# -- which elements meet -----------------------------------------------------------------------------------------------


class Walk(Struct, frozen=True):
    """Where elements meet of an array in which indices are places, and of one that has the axes of the indices.

    The first is what a gather reads, or a scatter adds to; the second is what a gather writes, or a scatter adds.

    Attributes:
        indices: their axes: length, and steps in the first array, in the second, of the indices and of their number.
        along: length, and step in the first array, of the axis in which an index is a place.
        row: the other axes: length, and steps in both arrays.
    """

    indices: Axes
    along: tuple[int, int]
    row: Axes


def walk_of(params: dict[str, Any], picked: View, spread: View, indices: View) -> Walk:
    """Return where elements meet; for the two arrays see `Walk`."""
    axis, batch = params["axis"], params["batch"]
    end = axis + len(indices.shape) - batch
    own, steps = (*range(batch), *range(axis, end)), zip(indices.strides, contiguous(indices.shape), strict=True)
    row = (*range(batch, axis), *range(end, len(spread.shape)))
    return Walk(
        [
            (spread.shape[i], picked.strides[i] if i < batch else 0, spread.strides[i], *more)
            for i, more in zip(own, steps, strict=True)
        ],
        (picked.shape[axis], picked.strides[axis]),
        [(spread.shape[i], picked.strides[i if i < axis else i - end + axis + 1], spread.strides[i]) for i in row],
    )


def place_of(v: Vector, index: str, length: int) -> tuple[str, str]:
    """Return indices as i64, and the places that they mean along an axis: from its end where they are negative.

    Args:
        v: of the indices.
        index: the indices.
        length: of the axis.
    """
    p = v.of(INT64)
    if v.dtype.itemsize < p.dtype.itemsize:
        index = v.changed("sext" if v.signed else "zext", index, p)
    negative = p.order("lt", index, p.constant(0))
    return index, p.op("add", index, p.choose(negative, p.constant(length), p.constant(0)))


def is_outside(v: Vector, place: str, length: int) -> str:
    """Say which places are outside of an axis."""
    p = v.of(INT64)
    return p.compare("uge", place, p.constant(length))


# -- loops -------------------------------------------------------------------------------------------------------------


def write_gather(site: Site) -> None:
    """Write the loops of a gather: for each index a row, which may have any axes, is copied."""
    x, indices = site.operands
    out = site.out
    walk = walk_of(site.params, x, out, indices)

    def copy(source: str, target: str) -> None:
        size = BY_SIZE[out.dtype.itemsize]
        pointwise_at(site.code, [x], [out], [source, target], walk.row, size, lambda _, values: values, pieces=True)

    _at_each_index(site, walk, x, out, copy)


def write_scatter_add(site: Site) -> None:
    """Write the loops of a scatter: zeros, or what is there, to which a row is added for each index, in order."""
    x, indices = site.operands
    out = site.out
    walk = walk_of(site.params, out, x, indices)
    size = BY_SIZE[out.dtype.itemsize]
    if site.counted is None:
        pointwise(site.code, [], [out], size, lambda v, _: [v.of(out.dtype).constant(0)])
    n, *near = (merged(walk.row) or [(1, 1, 1)])[0]
    short = near == [1, 1] and n <= lanes_of(out.dtype)  # one row: of several the first would not step by 1
    if short and not site.params["batch"] and len(indices.shape) == 1 and 0 not in (*indices.shape, *out.shape):
        _add_runs(site, n)
        return

    def add(target: str, source: str) -> None:
        def total(v: Vector, values: list[str]) -> list[str]:
            return [v.of(out.dtype).arithmetic("add", *values)]

        row = [(n, t, s, t) for n, t, s in walk.row]
        pointwise_at(site.code, [out, x], [out], [target, source, target], row, size, total, pieces=True)

    _at_each_index(site, walk, out, x, add)


def _add_runs(site: Site, n: int) -> None:
    """Write the loop that adds rows of n neighbours, no longer than a vector: one stays in a register while it is met.

    What was just written can be read only after a while, which is longer than the addition takes. The first row is held
    before the loop, and may be written as it is.
    """
    (x, indices), out, code = site.operands, site.out, site.code
    axis = site.params["axis"]
    vector = Vector(code, out.dtype)
    rows, source, place = map(code.start, (out, x, indices))

    def row(at: str) -> str:
        (address,) = code.step([out], [rows], at, [out.strides[axis]])
        return address

    def read(address: str) -> str:
        return code.read(out.dtype, address, 1, n, vector.lanes, pieces=True)

    def write(at: str, total: str) -> None:
        code.write(out.dtype, row(at), 1, n, vector.lanes, total, pieces=True)

    def turn(number: str, carried: list[str]) -> list[str]:
        before, total = carried
        added, index = code.step([x, indices], [source, place], number, [x.strides[axis], indices.strides[0]])
        at = _inside(site, index, lambda: number, out.shape[axis])

        def next_row() -> str:
            write(before, total)
            return read(row(at))

        same = code.emit(f"icmp eq i64 {at}, {before}")
        held = code.either(vector.type, same, lambda: total, next_row)
        return [at, vector.arithmetic("add", held, read(added))]

    count = indices.shape[0] if site.counted is None else COUNT
    write(*code.loop(count, turn, ["0", read(rows)], ["i64", vector.type]))


def _at_each_index(site: Site, walk: Walk, picked: View, spread: View, row: Callable[[str, str], None]) -> None:
    """Write the loops over the indices; one outside is reported, and the row at 0 is taken.

    Args:
        site: the op.
        walk: where elements meet.
        picked: the array in which indices are places.
        spread: the one that has their axes.
        row: (address in the first, address in the second) -> writes what is done with a row.
    """
    code, indices = site.code, site.operands[1]
    if 0 in indices.shape:
        return
    (length, _), dtype = walk.along, indices.dtype
    many = math.prod(indices.shape) > BUDGET.row * lanes_of(dtype)  # of fewer the check would be written out
    short = math.prod([n for n, *_ in walk.row]) <= lanes_of(picked.dtype)  # of longer ones it is a small part
    if not many or not short or site.counted is not None or not 1 < length <= np.iinfo(dtype).max:
        _at_each_of_these(site, walk, picked, spread, row, lambda place, number: _inside(site, place, number, length))
        return
    beyond = _some_beyond(site, walk)
    with code.when(code.emit(f"xor i1 {beyond}, true")):
        _at_each_of_these(site, walk, picked, spread, row, lambda place, _: _known_inside(site, place))
    with code.when(beyond):
        _at_each_of_these(site, walk, picked, spread, row, lambda place, number: _inside(site, place, number, length))


def _at_each_of_these(
    site: Site, walk: Walk, picked: View, spread: View, row: Callable[[str, str], None], place_at: PlaceAt
) -> None:
    """Write the loops over the indices, with what writes the place that one leads to."""
    code, indices = site.code, site.operands[1]
    counter = counter_of(indices.shape)
    views, axes = [picked, spread, indices, counter], list(walk.indices)
    length, step = walk.along

    def body(pointers: list[str]) -> None:
        first, second, place, number = pointers
        safe = place_at(place, lambda: code.emit(f"ptrtoint ptr {number} to i64"))
        if length:
            row(*code.step([picked, spread], [first, second], safe, [step, 0]))

    starts = [*map(code.start, (picked, spread, indices)), "null"]
    if site.counted is None:
        code.over(views, starts, merged(axes), body)
        return
    _, *steps_along = axes.pop(site.params["batch"] + site.counted - site.params["axis"])

    def turn(number: str, _: list[str]) -> None:
        code.over(views, code.step(views, starts, number, steps_along), merged(axes), body)

    code.loop(COUNT, turn)


def _some_beyond(site: Site, walk: Walk) -> str:
    """Write the loop that compares all indices, in vectors; return whether one is negative or not below the length."""
    code, indices = site.code, site.operands[1]
    met = code.room("i1")
    code.store("i1", 0, met)

    def compare(v: Vector, loaded: list[str]) -> list[str]:
        beyond = v.compare("uge", loaded[0], v.constant(walk.along[0]))
        with code.when(code.call("i1", f"llvm.vector.reduce.or.v{v.lanes}i1", (v.bool, beyond))):
            code.store("i1", 1, met)
        return []

    axes = [(n, step) for n, *_, step, _ in walk.indices]
    pointwise_at(code, [indices], [], [code.start(indices)], axes, indices.dtype, compare, pieces=True)
    return code.load("i1", met, 0)


def _known_inside(site: Site, place: str) -> str:
    """Load an index that is neither negative nor outside, and return where it leads."""
    code, n = site.code, Number(site.code, site.operands[1].dtype)
    index = code.emit(f"load {n.type}, ptr {place}, align 1")
    return n.changed("zext", index, n.of(INT64)) if n.dtype.itemsize < INT64.itemsize else index


def _inside(site: Site, place: str, number: Callable[[], str], length: int) -> str:
    """Load an index, and return where it leads along an axis: one outside is reported, and leads to 0.

    Args:
        site: the op.
        place: the address of the index.
        number: writes its place among the indices.
        length: of the axis.
    """
    code, indices = site.code, site.operands[1]
    n = Number(code, indices.dtype)
    index, at = place_of(n, code.emit(f"load {n.type}, ptr {place}, align 1"), length)
    outside = is_outside(n, at, length)
    site.fail(outside, number, index)
    return code.emit(f"select i1 {outside}, i64 0, i64 {at}")
