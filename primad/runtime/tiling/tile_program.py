"""What of a program runs in tiles: the values along a dimension, the sums that they end in, the program of one tile."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from primad import ops
from primad.ir.array_types import TupleType
from primad.ir.node import LITERAL, Leaf, Node
from primad.ir.program import Program, subprogram
from primad.ir.walks import needed_between, users_of
from primad.native.schedule.layout import Slices
from primad.native.schedule.storage import VIEWS
from primad.ops.record.primitive import application, project
from primad.runtime.executors.executor import Donated
from primad.runtime.tiling.tileable_axes import Tileable
from primad.system.machine import CORE
from primad.transforms.resizing import resized

SMALL_VIEW, SMALL_ROOT = 64, 64 * 1024
"""Bytes of views that native tiles read where they lie, and of the arrays that these show. Chosen: a line of a cache,
which is read faster than an address is passed, and what is copied at once where it is not in order."""

Tiled = tuple[Program, Slices]
"""The program of a tile, and how it stands to the whole."""


class TilePartition(Struct, frozen=True):
    """A part of a program that runs in tiles.

    Attributes:
        program: the whole program.
        dimension: what is cut.
        before: what is computed whole, before the tiles.
        after: what is computed from the totals of all tiles.
        inputs: values that tiles read.
        totals: values that are sums over all tiles, or sums of several such.
        sums: the sums that they are made of.
        total_of: for each of these, the place of its total.
        sliced: values that tiles write slices of.
        into: for each of these, the input of the program whose memory it takes, or None.
    """

    program: Program
    dimension: Tileable
    before: frozenset[Node]
    after: frozenset[Node]
    inputs: Sequence[Node]
    totals: Sequence[Node]
    sums: Sequence[Node]
    total_of: Sequence[int]
    sliced: Sequence[Node]
    into: Sequence[int | None]

    def tile(self, length: int) -> Tiled:
        """Return the program of a tile, and how it stands to the whole."""
        outputs = [*self.sums, *self.sliced]
        part, mapping = resized(self.program, self.inputs, outputs, self.dimension.axis, length)
        slices = Slices(
            axis={mapping[node]: axis for node, axis in self.dimension.axis.items() if node in mapping},
            shapes={mapping[node]: node.type.shape for node in (*self.inputs, *self.sliced)},
            sums=len(self.sums),
            copied=frozenset([mapping[node] for node in self.taken]),
        )
        return part, slices

    def with_views_inside(self) -> TilePartition:
        """Return the same with tiles that read what small views show, instead of an array for each of them.

        It is for native tiles, to which a view is no more than where it lies.
        """

        def read(node: Node) -> Node:
            root = _seen_through(node)
            small = node.type.nbytes <= SMALL_VIEW and root.type.nbytes <= SMALL_ROOT
            return root if small and self.axis(node) is None and root.op is not LITERAL else node

        return replace(self, inputs=list(dict.fromkeys(map(read, self.inputs))))

    @property
    def taken(self) -> list[Node]:
        """Those of the values that tiles write slices of which take the memory of inputs."""
        return [node for node, place in zip(self.sliced, self.into, strict=True) if place is not None]

    @property
    def operands(self) -> list[Node]:
        """What all tiles together take, what they read first and then the inputs whose memory results take."""
        return [*self.inputs, *[self.program.inputs[place] for place in self.into if place is not None]]

    @property
    def results(self) -> list[Node]:
        """What all tiles together give."""
        return [*self.totals, *self.sliced]

    def axis(self, node: Node) -> int | None:
        """Return the tiled axis of a value."""
        return self.dimension.axis.get(node)

    def slices(self, values: Sequence[Any], start: int, stop: int) -> list[Any]:
        """Return what tiles read of whole inputs between two indices."""
        cut = map(self.dimension.axis.get, self.inputs)
        return [x if axis is None else x[along(axis, start, stop)] for x, axis in zip(values, cut, strict=True)]

    def write(self, full: Sequence[Any], start: int, stop: int, slices: Sequence[Any]) -> None:
        """Write what tiles computed between two indices into whole outputs."""
        for target, node, piece in zip(full, self.sliced, slices, strict=True):
            target[along(self.dimension.axis[node], start, stop)] = piece

    @property
    def moved(self) -> int:
        """Bytes of what all tiles read and write outside of themselves."""
        return sum(node.type.nbytes for node in (*self.inputs, *self.sliced) if self.axis(node) is not None)


def partition_of(program: Program, dimension: Tileable, donated: Donated) -> TilePartition:
    """Return what of a program runs in tiles along a dimension."""
    sums = dimension.reductions
    inside = {
        node
        for node in program.nodes
        if node in dimension.axis and node not in dimension.sources and node.op is not LITERAL
    }
    inside |= {node.inputs[0] for node in inside if node.op is project}  # several results have no axis themselves
    total = _totals(program, sums)
    after: set[Node] = set()
    for node in program.nodes:
        if node not in inside and node not in total and any(x in total or x in after for x in node.inputs):
            after.add(node)
    before = frozenset([x for x in program.nodes if x not in inside and x not in after and x not in total])
    parts = [node for node in program.nodes if node in sums]
    totals = list(dict.fromkeys([total[node] for node in parts]))
    used = [operand for node in program.nodes if node in inside or node in sums for operand in node.inputs]
    outer = {*before, *program.inputs}
    sliced = [node for node in dict.fromkeys(program.outputs) if node in inside]
    elsewhere = {operand for node in program.nodes if node in after or node in before for operand in node.inputs}
    elsewhere.update(program.outputs)
    # Views are no more than where they lie, until they are copied to the results: after some results were written.
    elsewhere.update([_seen_through(node) for node in sliced])
    places = _donated_slices(program, dimension, donated, elsewhere)
    return TilePartition(
        program=program,
        dimension=dimension,
        before=before,
        after=frozenset(after),
        inputs=[node for node in dict.fromkeys(used) if node in outer and node.op is not LITERAL],
        totals=totals,
        sums=parts,
        total_of=[totals.index(total[node]) for node in parts],
        sliced=sliced,
        into=[places.get(node) for node in sliced],
    )


def with_costly(
    program: Program, first: Sequence[Node], tiled: Collection[Node], mixed: Collection[Node] = ()
) -> list[Node]:
    """Return what a first stage computes, with what it would cost more to compute again than to keep.

    Args:
        program: what is computed in stages.
        first: what the first stage must compute.
        tiled: values along the dimension that is cut, which are not kept: memory would grow with it.
        mixed: values that are kept all the same: each of their elements is made of many.
    """
    early = needed_between(program.inputs, first)
    kept = list(first)
    for node in reversed(program.nodes):
        if node not in early or isinstance(node.type, TupleType) or isinstance(node.op, Leaf) or node in kept:
            continue
        maker, _ = application(node)
        costs = maker.op.cost(maker).flops >= CORE.flops_of_byte * node.type.nbytes
        if node in mixed or (costs and node not in tiled):
            later = needed_between([*program.inputs, *kept], program.outputs)
            kept += [node] if node in later else []
    return kept


def with_compared(program: Program, first: Sequence[Node]) -> list[Node]:
    """Return what a first stage computes, with what the second compares with it.

    A largest element is equal to one of those among which it was found. Computed again, in tiles of another length,
    these could differ in their last bits, and none would be equal to it: its derivative would be zero.
    """
    early = needed_between(program.inputs, first)
    given = {*program.inputs, *first}
    later = needed_between(given, program.outputs)
    made: set[Node] = set(first)  # what is made of the first stage's results
    again: dict[Node, dict[Node, None]] = {}  # of what is computed twice each value is made
    found = dict.fromkeys(first)
    for node in program.nodes:
        if node not in later or node in given or isinstance(node.op, Leaf):
            continue
        if node in early:
            again[node] = {} if isinstance(node.type, TupleType) else {node: None}
            continue
        if not made.isdisjoint(node.inputs):
            made.add(node)
        again[node] = {x: None for operand in node.inputs for x in again.get(operand, {})}
        if node.op.kind == "piecewise constant" and len({*node.inputs}) > 1:
            one, other = ([x for x in node.inputs if x in part] for part in (made, again))
            if any(x is not y and again[y] for x in one for y in other):
                found |= again[node]
    return list(found)


class Surroundings(NamedTuple):
    """What is computed before tiles, and after them.

    Attributes:
        before: the program of what comes before.
        given: its inputs: those of the whole that it needs.
        early: what it computes.
        after: the program of what comes after.
        known: its inputs: what it needs of those of the whole, of what was computed before, and of the totals.
        late: what it computes.
    """

    before: Program
    given: Sequence[Node]
    early: Sequence[Node]
    after: Program
    known: Sequence[Node]
    late: Sequence[Node]


def surroundings(program: Program, partitions: Sequence[TilePartition], donated: Donated = ()) -> Surroundings:
    """Return what of a program surrounds the parts of it that run in tiles."""
    own = set(program.inputs)
    outer = {*frozenset.intersection(*[partition.before for partition in partitions]), *own}
    after = frozenset[Node]().union(*[partition.after for partition in partitions])
    used = [operand for node in program.nodes if node in after for operand in node.inputs]
    read = [node for partition in partitions for node in partition.inputs]
    early = [
        node
        for node in dict.fromkeys([*read, *used, *program.outputs])
        if node in outer and node not in own and node.op is not LITERAL
    ]
    late = [node for node in dict.fromkeys(program.outputs) if node in after or node.op is LITERAL]
    totals = [node for partition in partitions for node in partition.totals]
    given = needed_of(program.inputs, early)
    known = needed_of([*program.inputs, *early, *totals], late, [program.inputs[place] for _, place in donated])
    return Surroundings(subprogram(program, given, early), given, early, subprogram(program, known, late), known, late)


def needed_of(known: Sequence[Node], outputs: Sequence[Node], also: Collection[Node] = ()) -> list[Node]:
    """Return those of known values from which others are computed, and those that are wanted in any case."""
    needed = needed_between(known, outputs).union(also)
    return [node for node in known if node in needed]


def _totals(program: Program, sums: frozenset[Node]) -> dict[Node, Node]:
    """Return, for each sum over the tiles and for what only adds such sums up, the value that they end in.

    The weight gradients of a layer are a sum of products, one for each stream of derivatives: all of them are added to
    the same memory.
    """
    users = users_of(program.nodes)
    outputs = set(program.outputs)
    above: dict[Node, Node | None] = dict.fromkeys(sums)
    for node in program.nodes:
        if node.op is ops.add and all(x in above and users[x] == [node] and x not in outputs for x in node.inputs):
            above.update(dict.fromkeys(node.inputs, node))
            above[node] = None
    total: dict[Node, Node] = {}
    for node, over in reversed(above.items()):
        total[node] = node if over is None else total[over]
    return total


def _donated_slices(program: Program, dimension: Tileable, donated: Donated, elsewhere: set[Node]) -> dict[Node, int]:
    """Return the input whose memory an output takes that tiles write.

    A tile has read its slice of the input before it writes it, if the slice lies along the same axis and nothing else
    reads the input. Of an input that nothing reads, the memory is free.
    """
    places: dict[Node, int] = {}
    read = {operand for node in program.nodes for operand in node.inputs} if donated else set()
    for output, place in donated:
        node, source = program.outputs[output], program.inputs[place]
        free = source not in read or dimension.axis.get(source) == dimension.axis.get(node)
        if free and node in dimension.axis and source not in elsewhere:
            places.setdefault(node, place)
    return places


def _seen_through(node: Node) -> Node:
    """Return the value that a view, or a view of a view, shows."""
    while node.op in VIEWS:
        (node,) = node.inputs
    return node


def along(axis: int, start: int, stop: int) -> tuple[slice, ...]:
    """Return the index of a range along an axis."""
    return (*(slice(None),) * axis, slice(start, stop))
