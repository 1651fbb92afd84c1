"""Loops that take and add rows at integer indices, which are checked one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from primad.ir.node import Node
from primad.native.emit.elementwise_loop import pointwise, pointwise_at
from primad.native.emit.emit_context import Site
from primad.native.emit.grouped_sums import COUNT
from primad.native.llvm.strided_views import Code, View, contiguous, merged
from primad.native.llvm.vectors import BY_SIZE, Vector, lanes_of

COUNTER = np.dtype(np.int8)
"""Elements of a counter's imagined array are bytes, so that its address is the place."""
Axes = list[tuple[int, ...]]
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


def write_gather(site: Site) -> None:
    """Write the loops of a gather: for each index a row, which may have any axes, is copied."""
    x, indices = site.operands
    out = site.out
    axis, batch = site.params["axis"], site.params["batch"]
    own = len(indices.shape) - batch
    rows = _rows(x, out, axis, batch, own)

    def copy(source: str, target: str) -> None:
        size = BY_SIZE[out.dtype.itemsize]
        pointwise_at(site.code, [x], [out], [source, target], rows, size, lambda _, values: values, pieces=True)

    taken = [(n, x.strides[i] if i < batch else 0, s) for i, (n, s) in enumerate(_index_steps(out, batch, axis, own))]
    _at_each_index(site, x, out, taken, (x.shape[axis], x.strides[axis], 0), copy)


def write_scatter_add(site: Site) -> None:
    """Write the loops of a scatter: zeros, or what is there, to which a row is added for each index, in order."""
    x, indices = site.operands
    out = site.out
    axis, batch = site.params["axis"], site.params["batch"]
    own = len(indices.shape) - batch
    size = BY_SIZE[out.dtype.itemsize]
    if site.counted is None:
        pointwise(site.code, [], [out], size, lambda v, _: [v.of(out.dtype).constant(0)])
    rows = [(n, t, s) for n, s, t in _rows(out, x, axis, batch, own)]
    n, *near = (merged(rows) or [(1, 1, 1)])[0]
    short = near == [1, 1] and n <= lanes_of(out.dtype)  # one row: of several the first would not step by 1
    if short and own == len(indices.shape) == 1 and 0 not in (*indices.shape, *out.shape):
        _add_runs(site, n)
        return

    def add(source: str, target: str) -> None:
        def total(v: Vector, values: list[str]) -> list[str]:
            return [v.of(out.dtype).arithmetic("add", *reversed(values))]

        pointwise_at(
            site.code,
            [x, out],
            [out],
            [source, target, target],
            [(n, s, t, t) for n, s, t in rows],
            size,
            total,
            pieces=True,
        )

    steps = _index_steps(x, batch, axis, own)
    added = [(n, s, out.strides[i] if i < batch else 0) for i, (n, s) in enumerate(steps)]
    _at_each_index(site, x, out, added, (out.shape[axis], 0, out.strides[axis]), add)


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


def _rows(picked: View, spread: View, axis: int, batch: int, own: int) -> Axes:
    """Return the axes of a row: its length, the step where one is picked, the step where the indices' axes are."""
    before = [(picked.shape[i], picked.strides[i], spread.strides[i]) for i in range(batch, axis)]
    after = [
        (picked.shape[i], picked.strides[i], spread.strides[i - 1 + own]) for i in range(axis + 1, len(picked.shape))
    ]
    return [*before, *after]


def _index_steps(spread: View, batch: int, axis: int, own: int) -> list[tuple[int, int]]:
    """Return length and step, in the array that has them, of the axes of the indices."""
    places = [*range(batch), *range(axis, axis + own)]
    return [(spread.shape[i], spread.strides[i]) for i in places]


def _at_each_index(
    site: Site,
    x: View,
    out: View,
    steps: Sequence[tuple[int, int, int]],
    picked: tuple[int, int, int],
    row: Callable[[str, str], None],
) -> None:
    """Write the loops over the indices; of one outside, the place is said, and the row at 0 is taken.

    Args:
        site: the op.
        x: its first operand.
        out: its result.
        steps: of each axis of the indices, its length and the steps in the operand and in the result.
        picked: of the axis along which rows are picked, the same.
        row: (address in the operand, address in the result) -> writes what is done with a row.
    """
    code, indices = site.code, site.operands[1]
    counter = View(None, 0, indices.shape, contiguous(indices.shape), COUNTER)
    if any(n == 0 for n in (*indices.shape, *x.shape[: site.params["batch"]])):
        return
    axes = [(n, *moves, i, c) for (n, *moves), i, c in zip(steps, indices.strides, counter.strides, strict=True)]
    views = [x, out, indices, counter]
    length, *strides = picked

    def body(pointers: list[str]) -> None:
        source, target, place, number = pointers
        safe = _inside(site, place, lambda: code.emit(f"ptrtoint ptr {number} to i64"), length)
        if length:
            row(*code.step([x, out], [source, target], safe, strides))

    starts = [*map(code.start, (x, out, indices)), "null"]
    if site.counted is None:
        code.over(views, starts, merged(axes), body)
        return
    _, *steps_along = axes.pop(site.params["batch"] + site.counted - site.params["axis"])

    def turn(number: str, _: list[str]) -> None:
        code.over(views, code.step(views, starts, number, steps_along), merged(axes), body)

    code.loop(COUNT, turn)


def _inside(site: Site, place: str, number: Callable[[], str], length: int) -> str:
    """Load an index, and return where it leads along an axis: of one outside, the place is said, and it leads to 0.

    Args:
        site: the op.
        place: the address of the index.
        number: writes its place among the indices.
        length: of the axis.
    """
    code = site.code
    index = _loaded(code, site.operands[1], place)
    from_end = code.emit(f"icmp slt i64 {index}, 0")
    moved = code.emit(f"select i1 {from_end}, i64 {length}, i64 0")
    at = code.emit(f"add i64 {index}, {moved}")
    outside = code.emit(f"icmp uge i64 {at}, {length}")
    site.fail(outside, number, index)
    return code.emit(f"select i1 {outside}, i64 0, i64 {at}")


def _loaded(code: Code, indices: View, place: str) -> str:
    """Load an index as an i64."""
    value = code.emit(f"load {indices.cell}, ptr {place}, align 1")
    if indices.dtype.itemsize == 8:
        return value
    return code.emit(f"{'sext' if indices.dtype.kind == 'i' else 'zext'} {indices.cell} {value} to i64")
