"""A program laid out for one native function: its loops in order, and where its values lie.

Pointwise steps with the same shape share a loop, and parts of a joined or padded array are computed in their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from msgspec import Struct, field

from primad.ir.array_types import TupleType
from primad.ir.node import CAPTURED, FLOAT64, INPUT, LITERAL, Node, literal_value
from primad.ir.program import Program
from primad.ir.walks import users_of
from primad.native.emit.emit_context import Loops, Pointwise, Way, own_of
from primad.native.emit.op_table import CONSTANTS, reason, way_of
from primad.native.emit.window_loops import frame_of, framed_in, windows_of
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.strided_views import View, contiguous
from primad.native.loops.body_programs import LoopMemory, NativeBody, form_of
from primad.native.schedule.containers import containers_of
from primad.native.schedule.grouping import components, in_order, keys_of
from primad.native.schedule.storage import (
    VIEWS,
    Joined,
    Place,
    Splat,
    count_of_boxes,
    joined_in,
    part_of,
    view_of,
)
from primad.system.machine import LOOP_ELEMENTS


class Unit(Struct, eq=False):
    """Nodes that are computed together.

    Attributes:
        nodes: pointwise nodes, or one node of another kind, with its results if it has several.
        dtype: of pointwise nodes, a type of the size that their vectors are for.
        results: those whose values are written to memory.
        reads: the buffers that are read.
        writes: the buffers that are written, and their bytes.
    """

    nodes: list[Node]
    dtype: np.dtype[Any] = FLOAT64
    results: list[Node] = field(default_factory=list)
    reads: set[Any] = field(default_factory=set)
    writes: dict[Any, int] = field(default_factory=dict)


class Slices(Struct, frozen=True):
    """How a program that computes one tile stands to whole arrays.

    Attributes:
        axis: the tiled axis of each value that has it.
        shapes: shapes of the whole arrays of which inputs and outputs are slices.
        sums: how many outputs, the first ones, are sums over the tiled axis: each tile adds its part to them.
        copied: outputs that are written when nothing is read any more: they may lie over an input.
    """

    axis: Mapping[Node, int]
    shapes: Mapping[Node, tuple[int, ...]]
    sums: int
    copied: frozenset[Node]


NO_SLICES = Slices({}, {}, 0, frozenset())


NO_BODIES: Mapping[Any, NativeBody] = MappingProxyType({})


def layout_of(
    program: Program,
    slices: Slices = NO_SLICES,
    bodies: Mapping[Any, NativeBody] = NO_BODIES,
    brief: bool = False,
) -> Layout | None:
    """Lay out a lowered program; None if an op or a type has no loop.

    Args:
        program: what to compute.
        slices: for the program of a tile, what its inputs and outputs are slices of.
        bodies: of the loops and calls in it, by what these apply.
        brief: whether a short text is worth more than time: what is joined lies in memory, in one box.
    """
    constants = set(filter(is_constant, program.nodes))
    steps = [
        node for node in program.nodes if node.op is not INPUT and node.op is not LITERAL and node not in constants
    ]
    if any(map(reason, program.nodes)) or any(node.type.size > BUDGET.constant for node in constants):
        return None
    return Layout(program, steps, constants, slices, bodies, brief)


def results_of(unit: Unit) -> tuple[Node | None, ...]:
    """Return the values that an op makes, in order; None for those that nothing uses."""
    node, *several = unit.nodes
    if not isinstance(node.type, TupleType):
        return (node,)
    used = {dict(value.params)["index"]: value for value in several}
    return tuple([used.get(i) for i in range(len(node.type.types))])


def is_constant(node: Node) -> bool:
    """Say whether a value is an array that becomes a part of the text."""
    return node.op is CAPTURED or node.op in CONSTANTS


class Layout:
    """Where each value of a program lies, and in which order they are computed.

    Attributes:
        program: what is computed.
        slices: what its inputs and outputs are slices of.
        bodies: of the loops and calls in it, by what these apply.
        constants: arrays that become a part of the text.
        literals: and literals that are read from memory, by their buffers.
        units: what is computed together, in order.
        places: where each value lies.
        container: the values that lie inside another, and their positions among its operands.
    """

    def __init__(
        self,
        program: Program,
        steps: Sequence[Node],
        constants: set[Node],
        slices: Slices,
        bodies: Mapping[Any, NativeBody],
        brief: bool,
    ) -> None:
        self.program = program
        self.slices = slices
        self.bodies = bodies
        self.steps = steps
        self._ways = {node: way_of(node) for node in steps}
        self._pointwise = {node for node, how in self._ways.items() if isinstance(how, Pointwise)}
        self.constants = constants
        self.literals: dict[Any, Splat] = {}
        self.places: dict[Node, Place] = {node: self.whole(node, node) for node in program.inputs}
        self.units: list[Unit] = []
        self.maker: dict[Node, Unit] = {}
        self._users = users_of(steps)
        self.container = containers_of(program, steps)
        self._keys = keys_of([node for node in steps if node in self._pointwise])
        self._loops = list(components(self.steps, self._keys))
        self._read_in_parts: set[Node] = set() if brief else self._joined()
        self._arrange()

    def is_added(self, node: Node) -> bool:
        """Say whether a value is a sum to which each tile adds its part."""
        return node in self.program.outputs[: self.slices.sums]

    def _joined(self) -> set[Node]:
        """Return the joined or padded arrays that are read in parts: by nothing but pointwise ops, in few boxes."""
        found: dict[tuple[int, ...], dict[Node, Joined]] = {}
        lying = {*self.program.outputs, *self.container}
        for node in self.steps:
            form = joined_in(node)
            if form is None or node.type.size < LOOP_ELEMENTS or node in lying:
                continue
            if self._pointwise.issuperset(self._users[node]) and not any(x in self.container for x in node.inputs):
                found.setdefault(node.type.shape, {})[node] = Joined(*form[:2], ())
        few = [shape for shape, places in found.items() if sum(self._boxes_of_loops(shape, places)) <= BUDGET.in_boxes]
        return {node for shape in few for node in found[shape]}

    def _boxes_of_loops(self, shape: tuple[int, ...], joined: Mapping[Node, Joined]) -> Iterator[int]:
        """Yield the ops in all boxes of each loop over arrays of a shape; equal loops, as of panels, are one text."""
        known: set[tuple[int, int]] = set()
        for members in self._loops:
            if members[0].type.shape != shape:
                continue
            places = [joined[x] for x in dict.fromkeys(x for node in members for x in node.inputs) if x in joined]
            count = count_of_boxes(places, shape)
            if (count, len(members)) not in known:
                known.add((count, len(members)))
                yield count * len(members)

    def _arrange(self) -> None:
        """Find units and places."""
        for members in self._loops:
            self.units.append(Unit(members, self._keys[members[0]][1]))
        elsewhere = (Way.VIEW, Way.FRAME, Way.RESULT)
        own = [node for node in self.steps if node not in self._keys and node not in self._read_in_parts]
        alone = {node: Unit([node]) for node in own if self._ways[node] not in elsewhere}
        for node in self.steps:
            if self._ways[node] is Way.RESULT:
                alone[node.inputs[0]].nodes.append(node)
        self.units += alone.values()
        for unit in self.units:
            self.maker.update(dict.fromkeys(unit.nodes, unit))
        for node in self.program.nodes:
            self._put(node)
        for unit in self.units:
            (node, *_) = unit.nodes
            # A loop reads all operands where they lie: even literals must lie somewhere.
            if node not in self._pointwise and self._ways[node] not in (Way.VIEW, Way.JOIN, Way.FRAME):
                for operand in node.inputs:
                    self.view(operand)
        self._find_results()
        self.units = list(self._ordered())

    def _put(self, node: Node) -> None:
        if node in self.places or isinstance(node.type, TupleType):
            return
        if node.op is LITERAL:
            self.places[node] = Splat(literal_value(node), node.type.dtype)
        elif node in self._read_in_parts:
            self.places[node] = self._in_parts(node)
        elif node.op in VIEWS:
            self.places[node] = self._seen(node)
        elif self._ways.get(node) is Way.FRAME:
            self.places[node] = self._in_windows(node)
        else:
            self.places[node] = self._home(node)

    def _seen(self, node: Node) -> Place:
        source = self.places[node.inputs[0]]
        assert not isinstance(source, Joined)
        found = source if isinstance(source, Splat) else view_of(node, source)
        if found is None:
            self._put_alone(node)
            found = self._home(node)
        return found

    def _in_windows(self, node: Node) -> View | Splat:
        source = self.places[node.inputs[0]]
        if frame_of(node) is not None:
            self._put_alone(node)
            source = framed_in(node)
        assert not isinstance(source, Joined)
        return source if isinstance(source, Splat) else windows_of(node, source)

    def _in_parts(self, node: Node) -> Joined:
        form = joined_in(node)
        assert form is not None
        axis, edges, which = form
        parts: list[Any] = [Splat(0, node.type.dtype) if i is None else self.places[node.inputs[i]] for i in which]
        assert not any(isinstance(part, Joined) for part in parts)  # nothing but pointwise ops reads one
        return Joined(axis, edges, tuple(parts))

    def _put_alone(self, node: Node) -> None:
        """Make a unit of a value that is no view after all, since its elements must lie otherwise."""
        self.maker[node] = Unit([node])
        self.units.append(self.maker[node])

    def _home(self, node: Node) -> View:
        nested = [node]  # each lies in the next; a loop, since arrays that grow step by step nest deeply
        while nested[-1] in self.container and nested[-1] not in self.places:
            nested.append(self.container[nested[-1]][0])
        outermost = nested.pop()
        found = self.places.get(outermost)
        if found is None:
            found = self.places[outermost] = alone(outermost, self._order(outermost))
        assert isinstance(found, View)
        for part in reversed(nested):
            found = self.places[part] = part_of(*self.container[part], found)
        return found

    def _order(self, node: Node) -> Sequence[int]:
        """Return the axes of a value from the outermost in memory to the innermost.

        What is computed for each element alone lies as its operands do, where those that repeat nothing lie alike and
        nothing wants it row by row: so no loop goes across memory.
        """
        rows = range(node.type.ndim)
        if len(rows) < 2 or node not in self._pointwise or node in self.program.outputs:
            return rows
        if any(isinstance(x, Joined) for x in map(self.places.get, node.inputs)):
            return rows
        if not all(x in self._pointwise or self._ways[x] is Way.SUM for x in self._users.get(node, ())):
            return rows
        long = [i for i in rows if node.type.shape[i] > 1]
        places = [place for place in map(self.places.get, node.inputs) if isinstance(place, View)]
        full = [place.strides for place in places if all(place.strides[i] for i in long)]
        orders = {tuple(sorted(long, key=lambda i: -abs(strides[i]))) for strides in full}
        return [*orders.pop(), *[i for i in rows if i not in long]] if len(orders) == 1 else rows

    def whole(self, node: Node, buffer: Any) -> View:
        """Return the place of an input or output in memory of its own, or the first tile's in the whole array's."""
        shape = self.slices.shapes.get(node, node.type.shape)
        return View(buffer, 0, node.type.shape, contiguous(shape), node.type.dtype)

    def view(self, node: Node) -> View:
        """Return the place of a value; one whose elements are all the same literal is read from a single element."""
        place = self.places[node]
        if isinstance(place, View):
            return place
        assert isinstance(place, Splat)
        key = (str(place.value), place.dtype)  # a text, since 0.0 and -0.0 are equal
        self.literals[key] = place
        return View(key, 0, node.type.shape, (0,) * node.type.ndim, place.dtype)

    def _find_results(self) -> None:
        """Find what each unit writes and reads."""
        needed = set(self.program.outputs)
        for node in self.steps:
            unit = self.maker.get(node)
            for operand in node.inputs:
                if self.maker.get(operand) is not unit or unit is None:
                    needed.add(operand)
        for unit in self.units:
            inside = set(unit.nodes)
            unit.results = [node for node in unit.nodes if node in needed]
            for node in unit.results:
                buffer = self.view(node).buffer
                framed = self._ways.get(node) is Way.FRAME
                unit.writes[buffer] = framed_in(node).nbytes if framed else buffer.type.nbytes
            own = self._own_bytes(unit)
            if own:
                unit.writes[own_of(unit.nodes[0])] = own
            for operand in {x for node in unit.nodes for x in node.inputs} - inside:
                unit.reads.update(self._buffers(self.places[operand]))

    def _buffers(self, place: Place) -> list[Any]:
        """Return the buffers that a value lies in."""
        parts = place.parts if isinstance(place, Joined) else (place,)
        return [part.buffer for part in parts if isinstance(part, View)]

    def memory_of_loop(self, unit: Unit) -> LoopMemory:
        """Return what a loop needs memory of its own for; rows lie as steps read them wherever each begins."""
        node = unit.nodes[0]
        form = form_of(node)
        body, views = self.bodies[form.of], list(map(self.view, node.inputs[form.lead :]))
        firsts = [int(body.text is not None and i in form.row_operands) for i in range(form.lead, len(node.inputs))]
        each = zip(views, firsts, strict=True)
        copied = [view.strides[first:] != contiguous(view.shape[first:]) for view, first in each]
        dropped = [value is None for value in results_of(unit)[form.first_stack :]]
        return LoopMemory([True] * len(views) if body.apart else copied, dropped)

    def _own_bytes(self, unit: Unit) -> int:
        """Return the bytes of memory that an op wants for itself."""
        node = unit.nodes[0]
        how = self._ways.get(node)
        if how is Way.LOOP:
            return self.bodies[form_of(node).of].own_bytes(node, self.memory_of_loop(unit))
        return how.memory(node) if isinstance(how, Loops) else 0

    def _makers(self, node: Node) -> Iterator[Unit]:
        while node in self.places and node not in self.maker:
            if not node.inputs:
                return
            if node in self._read_in_parts:
                for part in node.inputs:
                    yield from self._makers(part)
                return
            node = node.inputs[0]
        if node in self.maker:
            yield self.maker[node]

    def _ordered(self) -> Iterator[Unit]:
        """Yield the units, operands first, and otherwise as the program had them."""
        position = {node: i for i, node in enumerate(self.steps)}
        number = {unit: i for i, unit in enumerate(self.units)}
        before = []
        for i, unit in enumerate(self.units):
            read = {x for node in unit.nodes for x in node.inputs}
            before.append({number[maker] for x in read for maker in self._makers(x)} - {i})
        rank = [min(map(position.__getitem__, unit.nodes)) for unit in self.units]
        for i in in_order(before, rank):
            yield self.units[i]


def alone(node: Node, order: Sequence[int]) -> View:
    """Return the place of a value in a buffer of its own, with its axes in an order."""
    shape = node.type.shape
    steps = dict(zip(order, contiguous([shape[i] for i in order]), strict=True))
    return View(node, 0, shape, tuple([steps[i] for i in range(len(shape))]), node.type.dtype)
