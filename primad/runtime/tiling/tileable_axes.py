"""Finding the axis of a program that is only mapped over and finally reduced: the one that can be cut into tiles.

A dimension of a program (`primad.transforms.dimensions`) can be tiled if no op mixes it: every use maps it, or
sums over it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from primad import ops
from primad.ir.array_types import TupleType
from primad.ir.node import CAPTURED, INPUT, Leaf, Node
from primad.ir.program import Program
from primad.ir.walks import dependents
from primad.ops.record.primitive import application, project
from primad.parallel.threads import MOST_CHUNKS
from primad.transforms.dimensions import Dimension, Dimensions, axis_map

MOST_OPS = 5000
"""Ops of a program, what it calls and all steps of its loops, for tiles through these, and of a run of equal steps that
stay unrolled for tiles. Chosen: planning so many takes half a second."""


class Tileable(Struct, frozen=True):
    """A dimension of a program that can be tiled.

    Attributes:
        length: its length.
        axis: the axis of each value that has it.
        reductions: the nodes that sum over it.
        sources: values that have it and are computed whole: inputs, captured arrays, and what ops make along it.
        bytes_per_index: mean bytes of the values computed along it, for one index.
    """

    length: int
    axis: dict[Node, int]
    reductions: frozenset[Node]
    sources: frozenset[Node]
    bytes_per_index: int


def tileable_dimensions(program: Program) -> list[Tileable]:
    """Return the dimensions that can be tiled, largest total size first.

    Of those that go through as much of what is computed the one whose axes come first is preferred: a slice of it lies
    in order.
    """
    nodes = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    dimensions = Dimensions(program)
    bad = {
        dimension
        for node in nodes
        for operand in node.inputs
        if operand.op is ops.windows
        for dimension in _beside_windows(node, operand, dimensions)
    }
    found = []
    for dimension in dimensions:
        if dimension not in bad and dimension.length > 0 and not hindrances(dimension):
            found.append(as_tileable(dimension))
    found.sort(key=lambda d: -sum([node.type.nbytes for node in d.axis]))
    first = found[:1]
    first += [d for d in found[1:] if _through(d) == _through(found[0]) and _places(d) < _places(found[0])]
    best = min(first, key=_places, default=None)
    return found if best is None else [best, *[d for d in found if d is not best]]


def _through(dimension: Tileable) -> int:
    """Return the bytes of what is computed along a dimension."""
    return sum([node.type.nbytes for node in dimension.axis if is_computed(node)])


def _places(dimension: Tileable) -> int:
    return sum([axis for node, axis in dimension.axis.items() if is_computed(node)])


def as_tileable(dimension: Dimension) -> Tileable:
    """Return a dimension that nothing hinders from being cut."""
    axis = dimension.axis
    sources = dimension.whole | {node for node in axis if node.op is INPUT or node.op is CAPTURED}
    # The mean and not the widest: in a Jacobian per point the few wide values would make tiles so short that the calls
    # of NumPy on the many narrow ones, and the threads' waits for each other, cost more than arithmetic.
    sizes = [n.type.nbytes for n in axis if is_computed(n)]
    mean = max(1, sum(sizes) // (dimension.length * max(1, len(sizes))))
    sums = frozenset([node for node, _ in dimension.summed])
    return Tileable(dimension.length, axis, sums, frozenset(sources), mean)


def largest_mixed(program: Program) -> Dimension | None:
    """Return the dimension that would be the largest to be cut if nothing mixed it: what does bounds what is tiled."""
    found = [dimension for dimension in Dimensions(program) if dimension.mixed and not dimension.twice]
    return max(found, key=_bytes_along, default=None)


def ends_around_mixing(program: Program, dimension: Dimension) -> list[Node]:
    """Return what a stage makes that ends before the first ops that mix a dimension, or that is nothing but these."""
    mixing = {node for node, _ in dimension.mixed}
    behind = dependents(program.nodes, list(mixing))
    frontier = [node for node in program.nodes if node in mixing and behind.isdisjoint(node.inputs)]
    ends = [operand for node in frontier for operand in node.inputs if not isinstance(operand.op, Leaf)]
    if not ends:
        made = {*frontier}
        ends = [x for x in program.nodes if (x in made or made & {*x.inputs}) and not isinstance(x.type, TupleType)]
        ends = [x for x in ends if x in made or isinstance(x.inputs[0].type, TupleType)]
    return list(dict.fromkeys(ends))


def _bytes_along(dimension: Dimension) -> int:
    return sum(node.type.nbytes for node in dimension.axis if is_computed(node))


def is_computed(node: Node) -> bool:
    """Say whether a value is computed: one of several results is, though the node that names it is a view."""
    return not isinstance(node.op, Leaf) and (not node.op.memory.views or node.op is project)


def hindrances(dimension: Dimension) -> set[Node]:
    """Return the uses of a dimension that neither map it nor sum over it into a value that has none of it."""
    found = {*dimension.twice, *[node for node, _ in dimension.mixed]}
    for node, _ in dimension.summed:
        if node in dimension.axis or _spreads_far(node, dimension):
            found.add(node)
    return found


def _spreads_far(node: Node, dimension: Dimension) -> bool:
    """Say whether a sum goes into the whole of another axis, as a scatter's does, and is large.

    Each chunk holds one: together they would take more memory than whole values along the axis.
    """
    map_of = axis_map(node)
    spreads = any(map_of.role(label) == "mixed" for label in map_of.results[0])
    return spreads and MOST_CHUNKS * node.type.nbytes > _bytes_along(dimension)


def _beside_windows(node: Node, windows: Node, dimensions: Dimensions) -> Iterator[Dimension]:
    """Yield the dimensions of a node for which windows among its operands would be made whole, before the tiles.

    They are a view that is many times as large as its array, and whoever reads it takes a block at a time.
    """
    slid = dict(windows.params)["axes"]
    ndim = windows.inputs[0].type.ndim
    mapped = {dimensions.of(windows, axis) for axis in range(ndim) if axis not in slid}
    for value in (node, *node.inputs):
        yield from {dimensions.of(value, axis) for axis in range(value.type.ndim)} - mapped


def mixes(node: Node) -> bool:
    """Say whether an op makes each element of many along some axis, in arithmetic, as a Fourier transform does."""
    maker, result = application(node)
    map = axis_map(maker)
    return any(map.role(label, result) == "mixed" for label in map.results[result])
