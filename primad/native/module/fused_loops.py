"""The text of one unit of a laid-out program: the product, the loops or the copies that compute it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from primad import ops
from primad.ir.node import Node
from primad.native.emit.copies import copy
from primad.native.emit.elementwise_loop import pointwise
from primad.native.emit.emit_context import Loops, Pointwise, Site, Way, own_of
from primad.native.emit.op_table import way_of
from primad.native.emit.pointwise import is_function
from primad.native.emit.product_loops import write_contraction
from primad.native.emit.window_loops import frame_of, framed_in
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.strided_views import Code, View, row_major
from primad.native.llvm.vectors import Vector
from primad.native.loops.nested_loops import write_loop
from primad.native.schedule.contraction_plan import Contraction, contraction, packing
from primad.native.schedule.interleaving import together, write_in_step
from primad.native.schedule.layout import NO_SLICES, Layout, Unit, results_of
from primad.native.schedule.storage import Joined, Splat, boxes, part_of, within
from primad.ops.arrays.contraction import ALPHABET, split


class PlannedProduct(Struct, frozen=True):
    """A contraction, and where an operand and its copy lie that is made first, in the order of the product's reads."""

    form: Contraction
    packed: tuple[View, View] | None = None


def is_known_before(layout: Layout, source: View) -> bool:
    """Say whether a value is the same for all tiles."""
    tiled = layout.slices is not NO_SLICES
    return tiled and source.buffer in layout.program.inputs and source.buffer not in layout.slices.axis


def planned_product(layout: Layout, unit: Unit, added: bool) -> PlannedProduct:
    """Return the contraction of a unit, and what should be copied first.

    Args:
        layout: the program's units and places.
        unit: a sum of products.
        added: whether it is added to the sums of the tiles before.
    """
    (node, *_) = unit.nodes
    out = layout.view(node)
    operands = _labelled(node, [layout.view(x) for x in node.inputs])
    out_labels = _out_labels(node)
    counted = _counted_letter(layout, node, [labels for _, labels in operands]) if added else None
    known = [k for k, (view, _) in enumerate(operands) if is_known_before(layout, view)]
    chosen = packing(out, out_labels, operands, added, counted, known)
    if chosen is None:
        return PlannedProduct(contraction(out, out_labels, operands, added, counted))
    source = chosen.source
    # What is copied before the tiles is copied once for all products that read it so.
    key = source if is_known_before(layout, source) else unit
    packed = row_major(source.shape, source.dtype, key)
    operands[chosen.operand] = (packed, chosen.labels)
    return PlannedProduct(contraction(out, out_labels, operands, added, counted), (source, packed))


def _counted_letter(layout: Layout, node: Node, labels: Sequence[str]) -> str:
    """Return the letter of the tiled axis, over which a product sums."""
    axis = layout.slices.axis
    return next(letters[axis[x]] for x, letters in zip(node.inputs, labels, strict=True) if x in axis)


def _labelled(node: Node, views: Sequence[View]) -> list[tuple[View, str]]:
    if node.op is ops.contract:
        x, y, _ = split(dict(node.params)["labels"])
        return [(views[0], x), (views[1], y)]
    return [(views[0], ALPHABET[: len(views[0].shape)])]


def _out_labels(node: Node) -> str:
    params = dict(node.params)
    if node.op is ops.contract:
        return split(params["labels"])[2]
    return "".join(ALPHABET[i] for i in range(node.inputs[0].type.ndim) if i not in params["axes"])


# -- writing -----------------------------------------------------------------------------------------------------------


def write_unit(code: Code, layout: Layout, unit: Unit, product: PlannedProduct | None) -> None:
    """Write what computes the results of a unit; a sum of products as it was planned."""
    (node, *_) = unit.nodes
    how = way_of(node)
    if product is not None:
        write_contraction(code, product.form, node.type.dtype)
    elif isinstance(how, Pointwise):
        _write_group(code, layout, unit)
    elif how is Way.LOOP:
        write_loop(code, layout, unit)
    elif isinstance(how, Loops):
        results = tuple([None if value is None else layout.view(value) for value in results_of(unit)])
        counted = layout.slices.axis[node.inputs[0]] if layout.is_added(node) else None
        how.write(Site(code, node, tuple(map(layout.view, node.inputs)), results, own_of(node), counted))
    else:
        assert isinstance(how, Way)
        _WRITTEN[how](code, layout, node)


def _write_moved(code: Code, layout: Layout, node: Node) -> None:
    """Write a reshape whose elements must move."""
    (operand,) = node.inputs
    source = layout.view(operand)
    copy(code, source, row_major(source.shape, source.dtype, node))


def _write_container(code: Code, layout: Layout, node: Node) -> None:
    """Write what of a joined or padded array is not computed in its place."""
    whole = layout.view(node)
    if node.op is ops.pad:
        params = dict(node.params)
        if any(params["interior"]):
            copy(code, Splat(0, whole.dtype), whole)
        else:
            _fill_margins(code, params["low"], params["high"], whole)
    for i, operand in enumerate(node.inputs):
        if layout.container.get(operand) != (node, i):
            copy(code, layout.places[operand], part_of(node, i, whole))


def _write_frame(code: Code, layout: Layout, node: Node) -> None:
    """Write a copy of an array with zeros around it, of which windows are views."""
    framed = framed_in(node)
    (operand,) = node.inputs
    shape = operand.type.shape
    frame = frame_of(node)
    assert frame is not None
    low, high = frame
    _fill_margins(code, low, high, framed)
    offset = sum(n * s for n, s in zip(low, framed.strides, strict=True))
    copy(code, layout.places[operand], View(framed.buffer, offset, shape, framed.strides, framed.dtype))


_WRITTEN: dict[Way, Callable[[Code, Layout, Node], None]] = {
    Way.VIEW: _write_moved,
    Way.JOIN: _write_container,
    Way.FRAME: _write_frame,
}
"""How ops are written that need no loop of their own; sums of products are planned, and constants belong to no unit."""


def _write_group(code: Code, layout: Layout, unit: Unit) -> None:
    places = layout.places
    inside = set(unit.nodes)
    outside = dict.fromkeys(x for node in unit.nodes for x in node.inputs if x not in inside)
    whole = {x: place for x in outside if not isinstance(place := places[x], Joined)}
    if len(whole) == len(outside):
        _write_box(code, unit, whole, [layout.view(node) for node in unit.results], is_edge=False)
        return
    shape = unit.nodes[0].type.shape
    for box in boxes([places[x] for x in outside], shape):
        known = {x: within(places[x], box) for x in outside}
        _write_box(
            code,
            unit,
            known,
            [within(layout.view(node), box) for node in unit.results],
            box[-1:] != ((0, *shape[-1:]),),
        )


def _write_box(
    code: Code, unit: Unit, places: Mapping[Node, View | Splat], results: Sequence[View | Splat], is_edge: bool
) -> None:
    """Write the loop over a part of all values, which lies at these places."""
    loaded = {place: x for x, place in places.items() if isinstance(place, View)}
    position = {place: i for i, place in enumerate(loaded)}

    def compute(vector: Vector, values: list[str]) -> list[str]:
        known: dict[Node, str] = {}

        def value(node: Node) -> str:
            if node in known:
                return known[node]
            found = places[node]
            if isinstance(found, View):
                return values[position[found]]
            return vector.of(found.dtype).constant(found.value)

        write_in_step(vector, unit.nodes, known, value)
        return [known[node] for node in unit.results]

    targets = [view for view in results if isinstance(view, View)]
    unrolled = min(BUDGET.row, BUDGET.row_ops // len(unit.nodes))
    # Of a column at an edge, unless functions take longer than to fill vectors.
    column = is_edge and targets[0].shape[-1] == 1 and not any(map(is_function, unit.nodes))
    pointwise(code, list(loaded), targets, unit.dtype, compute, together(unit.nodes), unrolled, in_turn=column)


def _fill_margins(code: Code, lows: Sequence[int], highs: Sequence[int], whole: View) -> None:
    """Write zeros before and behind the elements that an array is around, along each axis."""
    zero = Splat(0, whole.dtype)
    shape = list(whole.shape)
    offset = whole.offset
    for axis, (low, high) in enumerate(zip(lows, highs, strict=True)):
        step = whole.strides[axis]
        for start, length in ((0, low), (shape[axis] - high, high)):
            if length:
                slab = (*shape[:axis], length, *shape[axis + 1 :])
                copy(code, zero, View(whole.buffer, offset + start * step, slab, whole.strides, whole.dtype))
        shape[axis] -= low + high
        offset += low * step
