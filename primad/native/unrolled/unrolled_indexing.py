"""How ops on single elements pick and add at places: at integer indices, which are checked, and in sliding windows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import Node
from primad.native.emit.emit_context import INT64
from primad.native.emit.gather_loops import is_outside, place_of, walk_of
from primad.native.emit.window_loops import leads, overlaps
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.strided_views import offsets, row_major
from primad.native.llvm.vectors import Vector
from primad.native.schedule.storage import VIEWS
from primad.native.unrolled.unrolled_context import Bad, Elements, ElementSite, known_values
from primad.native.unrolled.unrolled_ops import numbered
from primad.ops.record.primitive import application

# -- at indices --------------------------------------------------------------------------------------------------------


def write_gather(site: ElementSite) -> Elements:
    """Pick elements at indices, each of those along the axis by the bits of its place."""
    x, kind = site.operands[0].ravel(), site.node.type
    v, found, places = site.vector(kind.dtype), np.empty(kind.size, object), _places(site)
    for at, column, index in _meetings(site, site.node.inputs[0].type, kind):
        found[at] = _picked(v, x[column], places[index])
    return found.reshape(kind.shape)


def write_scatter_add(site: ElementSite) -> Elements:
    """Add elements into zeros at indices, in order."""
    x, kind = site.operands[0].ravel(), site.node.type
    v, places = site.vector(kind.dtype), _places(site)
    found = site.constants(np.zeros(kind.size, kind.dtype))
    for at, column, index in _meetings(site, kind, site.node.inputs[0].type):
        _add_at(v, found[column], places[index], x[at])
    return found.reshape(kind.shape)


def _meetings(site: ElementSite, picked: ArrayType, spread: ArrayType) -> Iterator[tuple[int, slice, int]]:
    """Yield the places of the elements that have the axes of the indices, in their order.

    With each come the column of the other array that an index is a place in, and the number of its index.
    """
    types = (picked, spread, site.node.inputs[1].type)
    walk = walk_of(site.params, *[row_major(x.shape, x.dtype) for x in types])
    length, step = walk.along
    axes = [*walk.indices, *[(*axis, 0, 0) for axis in walk.row]]
    for first, at, index, _ in sorted(offsets((0, 0, 0, 0), axes), key=itemgetter(1)):
        yield at, slice(first, first + length * step, step), index


def length_of_axis(node: Node) -> int:
    """Return the length of the axis along which an op picks or adds."""
    params = dict(node.params)
    return int(params["size"] if "size" in params else node.inputs[0].type.shape[params["axis"]])


def known_places(node: Node) -> np.ndarray[Any, Any] | None:
    """Return the places that an op's indices mean if they are known and inside."""
    values, n = known_values(node.inputs[1]), length_of_axis(node)
    if values is None or np.any((values < -n) | (values >= n)):
        return None
    values = values.astype(INT64)
    return np.where(values < 0, values + n, values)


def _places(site: ElementSite) -> Elements:
    """Return the places that indices mean, known ones as integers, others as elements, and report those outside."""
    known, n = known_places(site.node), length_of_axis(site.node)
    if known is not None:
        return known.astype(object).ravel()
    found: Elements = site.operands[1].flatten()
    v = site.vector(site.node.inputs[1].type.dtype)
    for number, index in enumerate(found):
        wide, found[number] = place_of(v, index, n)
        if site.checks:
            site.bad.append(Bad(is_outside(v, found[number], n), number, wide))
    return found


def _picked(v: Vector, column: Elements, place: Any) -> str:
    """Return the element at a place, or any if it is outside."""
    items, p = list(column) or [v.constant(0)], v.of(INT64)
    if isinstance(place, int):
        return str(items[place])
    bit = 1
    while len(items) > 1:
        odd = p.order("ne", p.op("and", place, p.constant(bit)), p.constant(0))
        pairs = [items[i : i + 2] for i in range(0, len(items), 2)]
        items = [v.choose(odd, *reversed(pair)) if len(pair) == 2 else pair[0] for pair in pairs]
        bit *= 2
    return str(items[0])


def _add_at(v: Vector, column: Elements, place: Any, value: str) -> None:
    """Add to the element at a place."""
    p = v.of(INT64)
    for i, old in enumerate(column):
        if isinstance(place, int):
            column[i] = v.arithmetic("add", old, value) if i == place else old
        else:
            column[i] = v.choose(p.order("eq", place, p.constant(i)), v.arithmetic("add", old, value), old)


def length_of_gather(node: Node) -> int:
    """Return the instructions of a gather."""
    if known_places(node) is not None:
        return 0
    return BUDGET.choice * node.inputs[1].type.size + length_of_axis(node) * node.type.size


def length_of_scatter(node: Node) -> int:
    """Return the instructions of a sum at indices."""
    updates, indices = (x.type.size for x in node.inputs)
    return updates if known_places(node) is not None else BUDGET.choice * indices + 2 * length_of_axis(node) * updates


def many_choices(node: Node) -> str:
    """Return why places that are not known are those of memory; '' where elements are chosen by comparing."""
    picked, array = (node.type, node.inputs[0].type) if node.op is ops.gather else (node.inputs[0].type, node.type)
    n = length_of_axis(node)
    few = n * min(n, picked.size) <= BUDGET.choices and array.size <= BUDGET.in_registers
    if few or known_places(node) is not None:
        return ""
    return f"to choose {picked.size} times among {n} elements by comparing takes longer than to use memory"


def may_be_outside(node: Node) -> bool:
    """Say whether an index may be outside: it is neither known nor one of the order of so many elements."""
    indices, n = node.inputs[1], length_of_axis(node)
    while indices.op in VIEWS:
        indices = indices.inputs[0]
    source, _ = application(indices)
    if source.op is ops.argsort:
        return bool(source.type.shape[dict(source.params)["axis"]] > n)
    if source.op is ops.lu:  # its order of rows
        return bool(source.inputs[0].type.shape[-1] > n)
    return known_places(node) is None


# -- in windows --------------------------------------------------------------------------------------------------------


def write_overlap_add(site: ElementSite) -> Elements:
    """Add the elements of windows where they lie, those that are the first in their windows first."""
    y, kind, shape = site.operands[0].ravel(), site.node.type, site.operands[0].shape
    v, found = site.vector(kind.dtype), site.constants(np.zeros(kind.size, kind.dtype))
    for part, place in overlaps(site.params, row_major(shape, kind.dtype), row_major(kind.shape, kind.dtype)):
        axes = list(zip(place.shape, part.strides, place.strides, strict=True))
        for source, target in offsets((part.offset, place.offset), axes):
            found[target] = v.arithmetic("add", found[target], y[source])
    return found.reshape(kind.shape)


def write_window_argmax(site: ElementSite) -> Elements:
    """Write the place of the first largest element of each window, or of its first NaN."""
    (x,), params = site.operands, site.params
    where = ops.windows.numpy(numbered(x.shape), **params)
    lengths = [x.shape[axis] if axis in params["axes"] else 1 for axis in range(x.ndim)]
    number = np.broadcast_to(np.arange(math.prod(lengths)).reshape(lengths), x.shape).ravel()
    v, p = site.vector(site.node.inputs[0].type.dtype), site.vector(INT64)
    found = np.empty(site.node.type.shape, object)
    for window in np.ndindex(found.shape):
        inside = [k - 1 for k in where[window].ravel() if k]
        best, place = x.ravel()[inside[0]], p.constant(number[inside[0]])
        for k in inside[1:]:
            value = x.ravel()[k]
            taken = leads(v, value, best)
            best, place = v.choose(taken, value, best), p.choose(taken, p.constant(number[k]), place)
        found[window] = place
    return found


def length_of_windows(node: Node) -> int:
    """Return the instructions of finding the largest elements of windows."""
    return int(BUDGET.choice * node.type.size * math.prod(dict(node.params)["size"]))
