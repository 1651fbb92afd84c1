"""Sliding windows: index arithmetic on an array with zeros around it, its transpose, and the place of the maximum."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

from primad.ir.node import Node
from primad.native.emit.axis_loops import in_vectors, widest
from primad.native.emit.elementwise_loop import pointwise
from primad.native.emit.emit_context import INT64, Site
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.strided_views import View, merged, row_major
from primad.native.llvm.vectors import BOOL, BY_SIZE, Vector
from primad.ops.arrays.windows import meeting

Shape = tuple[int, ...]


def frame_of(node: Node) -> tuple[Shape, Shape] | None:
    """Return how many zeros windows need before and behind an array along each axis; None where they need none."""
    params = dict(node.params)
    shape = list(node.inputs[0].type.shape)
    low, high = [0] * len(shape), [0] * len(shape)
    for axis, n, k, s, d, before in _by_axis(params):
        behind = (n - 1) * s + (k - 1) * d - before - shape[axis] + 1
        low[axis], high[axis] = max(before, 0), max(behind, 0)
    return (tuple(low), tuple(high)) if any(low) or any(high) else None


def _by_axis(params: dict[str, Any]) -> Any:
    return zip(*[params[name] for name in ("axes", "count", "size", "step", "dilation", "low")], strict=True)


def windows_of(node: Node, framed: View) -> View:
    """Return where the elements of windows lie in an array that has zeros around it where they are needed."""
    offset, strides, elements = framed.offset, list(framed.strides), []
    for axis, _, _, s, d, before in _by_axis(dict(node.params)):
        offset += max(-before, 0) * framed.strides[axis]
        elements.append(framed.strides[axis] * d)
        strides[axis] *= s
    return View(framed.buffer, offset, node.type.shape, (*strides, *elements), framed.dtype)


def framed_in(node: Node) -> View:
    """Return the place of the array with the zeros around it that windows need, in a buffer of its own."""
    frame = frame_of(node)
    assert frame is not None
    wide = tuple([a + n + b for a, n, b in zip(frame[0], node.inputs[0].type.shape, frame[1], strict=True)])
    return row_major(wide, node.type.dtype, ("frame", node))


# -- overlap-add -------------------------------------------------------------------------------------------------------


def has_many_elements(node: Node) -> str:
    """Return why an overlap-add has no loops; '' where it has."""
    y, axes = node.inputs[0].type, dict(node.params)["axes"]
    many = math.prod(y.shape[y.ndim - len(axes) :]) > BUDGET.unrolled
    return f"windows of more than {BUDGET.unrolled} elements are added by NumPy" if many else ""


def write_overlap_add(site: Site) -> None:
    """Write a loop for each element of the windows, which adds it where it lies: in NumPy's order."""
    (y,), out = site.operands, site.out
    size = BY_SIZE[out.dtype.itemsize]
    pointwise(site.code, [], [out], size, lambda v, _: [v.of(out.dtype).constant(0)])

    def total(v: Vector, values: list[str]) -> list[str]:
        return [v.of(out.dtype).arithmetic("add", *reversed(values))]

    for part, place in overlaps(site.params, y, out):
        pointwise(site.code, [part, place], [place], size, total)


def overlaps(params: dict[str, Any], windows: View, out: View) -> Iterator[tuple[View, View]]:
    """Yield where the same element of all windows that have it inside lies in the windows, and where in the array."""
    ndim = len(out.shape)
    for element in product(*map(range, windows.shape[ndim:])):
        shape, source, target = list(out.shape), windows.offset, out.offset
        inner = list(out.strides)
        for i, (axis, p) in enumerate(zip(params["axes"], element, strict=True)):
            step, shift = params["step"][i], p * params["dilation"][i] - params["low"][i]
            found = meeting(windows.shape[axis], out.shape[axis], shift, step)
            if found is None:
                break
            having, places = found
            shape[axis] = having.stop - having.start
            source += having.start * windows.strides[axis] + p * windows.strides[ndim + i]
            target += places.start * out.strides[axis]
            inner[axis] *= step
        else:
            yield (
                View(windows.buffer, source, tuple(shape), windows.strides[:ndim], windows.dtype),
                View(out.buffer, target, tuple(shape), tuple(inner), out.dtype),
            )


# -- the place of the maximum ------------------------------------------------------------------------------------------


def leads(v: Vector, value: str, leader: str) -> str:
    """Say whether a value is larger than the largest of those before it, or the first NaN."""
    first_nan = v.logic("and", v.compare("uno", value, value), v.compare("ord", leader, leader))
    return v.logic("or", v.compare("ogt", value, leader), first_nan)


def write_window_argmax(site: Site) -> None:
    """Write the loops over the windows, and in them those over their elements."""
    (x,), out = site.operands, site.out
    if 0 in out.shape:
        return
    code, axes = site.code, site.params["axes"]
    vector = Vector(code, x.dtype)
    others = merged([(out.shape[i], x.strides[i], out.strides[i]) for i in range(len(x.shape)) if i not in axes])
    best = widest(others, vector.lanes)
    row = None if best is None else others[best]
    largest = _Largest(site, vector, row)
    code.over(
        [x, out],
        [code.start(x), code.start(out)],
        [axis for axis in others if axis is not row],
        lambda places: in_vectors(code, [x, out], places, row, vector.lanes, largest.write),
    )


class _Largest:
    """The largest elements of windows that are being written, along an axis of vectors."""

    def __init__(self, site: Site, vector: Vector, row: tuple[int, ...] | None) -> None:
        (self.x,), self.out = site.operands, site.out
        self.code, self.vector, self.places = site.code, vector, vector.of(INT64)
        self.axes = list(_by_axis(site.params))
        self.steps = (1, 1) if row is None else row[1:]

    def write(self, pointers: list[str], count: int, windows: tuple[str, ...] = ()) -> None:
        """Write the loops over the windows of so many lanes, of which those along some axes are chosen."""
        code = self.code
        if len(windows) < len(self.axes):
            axis, n, *_ = self.axes[len(windows)]

            def turn(index: str, _: list[str]) -> None:
                (target,) = code.step([self.out], [pointers[1]], index, [self.out.strides[axis]])
                self.write([pointers[0], target], count, (*windows, index))

            code.loop(n, turn)
            return
        start = [self.places.constant(-1), self.vector.constant(-math.inf)]
        place, _ = self._over_elements(pointers[0], count, windows, (), start)
        step = self.steps[1] if count > 1 else 1
        code.store_lanes("i64", pointers[1], step, count, self.vector.lanes, place)

    def _over_elements(
        self, source: str, count: int, windows: tuple[str, ...], elements: tuple[str, ...], best: list[str]
    ) -> list[str]:
        """Write the loops over the elements of a window, which carry the place of the largest and itself."""
        if len(elements) == len(self.axes):
            return self._compare(source, count, windows, elements, best)
        size = self.axes[len(elements)][2]

        def turn(index: str, values: list[str]) -> list[str]:
            return self._over_elements(source, count, windows, (*elements, index), values)

        return self.code.loop(size, turn, best, (self.places.type, self.vector.type))

    def _compare(
        self, source: str, count: int, windows: tuple[str, ...], elements: tuple[str, ...], best: list[str]
    ) -> list[str]:
        """Take an element if it lies inside and is larger, or the first one inside, or the first NaN."""
        code, v = self.code, self.vector
        inside, number = "true", "0"
        for (axis, _, _, s, d, before), w, p in zip(self.axes, windows, elements, strict=True):
            moved = code.emit(f"add i64 {code.emit(f'mul i64 {w}, {s}')}, {code.emit(f'mul i64 {p}, {d}')}")
            at = code.emit(f"sub i64 {moved}, {before}")
            n = self.x.shape[axis]
            within = code.emit(f"icmp ult i64 {at}, {n}")
            inside = code.emit(f"and i1 {inside}, {within}")
            number = code.emit(f"add i64 {code.emit(f'mul i64 {number}, {n}')}, {at}")
            safe = code.emit(f"select i1 {within}, i64 {at}, i64 0")
            (source,) = code.step([self.x], [source], safe, [self.x.strides[axis]])
        step = self.steps[0] if count > 1 else 1
        value = code.load_lanes(self.x.cell, source, step, count, v.lanes, v.constant(0))
        place, leader = best
        first = self.places.order("lt", place, self.places.constant(0))
        taken = v.logic("and", v.logic("or", leads(v, value, leader), first), v.of(BOOL).repeated(inside))
        return [
            self.places.choose(taken, self.places.repeated(number), place),
            v.choose(taken, value, leader),
        ]
