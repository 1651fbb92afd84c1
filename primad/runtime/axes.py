"""Finding the axis of a program that is only mapped over and finally reduced: the one that can be cut into tiles.

The axis maps of the ops say which axes are the same index. Unifying them gives the dimensions of the program. A
dimension can be tiled if no op mixes it: every use maps it, or sums over it (sum, or a contracted letter).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from primad import ops
from primad.ir.node import CAPTURED, INPUT, Leaf, Node
from primad.ir.program import Program
from primad.ops.contraction import split

Axis = tuple[Node, int]


@dataclass(frozen=True)
class Dimension:
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


class _Union:
    def __init__(self) -> None:
        self._parent: dict[Axis, Axis] = {}

    def find(self, item: Axis) -> Axis:
        parent = self._parent.setdefault(item, item)
        while parent != item:
            grand = self._parent[parent]
            self._parent[item] = grand
            item, parent = parent, grand
        return item

    def join(self, x: Axis, y: Axis) -> None:
        self._parent[self.find(x)] = self.find(y)


def _labels(node: Node) -> tuple[tuple[tuple[object, ...], ...], tuple[object, ...]]:
    """Return the labels of a node's operands and of its result, with summed letters labelled too."""
    params = dict(node.params)
    if node.op is ops.contract:
        in_x, in_y, out = split(params["labels"])
        return (tuple(in_x), tuple(in_y)), tuple(out)
    found: tuple[tuple[tuple[object, ...], ...], tuple[object, ...]] = node.op.axes(
        *[operand.type for operand in node.inputs], **params
    )
    return found


def tileable_dimensions(program: Program) -> list[Dimension]:
    """Return the dimensions that can be tiled, largest total size first."""
    union = _Union()
    ops_in_order = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    maps = {}
    for node in ops_in_order:
        if node.op.axes is None:
            return []
        before, after = maps[node] = _labels(node)
        first: dict[object, Axis] = {}
        for value, labels in [*zip(node.inputs, before, strict=True), (node, after)]:
            for axis, label in enumerate(labels):
                if label is not None:
                    union.join((value, axis), first.setdefault(label, (value, axis)))
    members: dict[Axis, dict[Node, int]] = {}
    bad: set[Axis] = set()
    values = {*program.nodes, *program.inputs}
    for node in values:
        for axis in range(node.type.ndim):
            root = union.find((node, axis))
            if node in members.setdefault(root, {}):
                bad.add(root)
            members[root][node] = axis
    reductions: dict[Axis, set[Node]] = {}
    sources: dict[Axis, set[Node]] = {}
    for node in ops_in_order:
        _classify(node, maps[node], union, bad, reductions, sources)
        bad.update(_beside_windows(node, union))
    found = []
    for root, axes in members.items():
        node, axis = next(iter(axes.items()))
        length = node.type.shape[axis]
        if root in bad or length == 0:
            continue
        made = sources.get(root, set()) | {node for node in axes if node.op is INPUT or node.op is CAPTURED}
        # The mean and not the widest: in a Jacobian per point the few wide values would make tiles so short that the
        # calls of NumPy on the many narrow ones, and the threads' waits for each other, cost more than arithmetic.
        sizes = [n.type.nbytes for n in axes if not isinstance(n.op, Leaf) and not n.op.views]
        mean = max(1, sum(sizes) // (length * max(1, len(sizes))))
        found.append(Dimension(length, axes, frozenset(reductions.get(root, ())), frozenset(made), mean))
    found.sort(key=lambda d: -sum(node.type.nbytes for node in d.axis))
    return found


def _beside_windows(node: Node, union: _Union) -> Iterator[Axis]:
    """Yield the dimensions of a node for which windows among its operands would be made whole, before the tiles.

    They are a view that is many times as large as its array, and whoever reads it takes a block at a time.
    """
    for operand in node.inputs:
        if operand.op is ops.windows:
            slid = dict(operand.params)["axes"]
            ndim = operand.inputs[0].type.ndim
            mapped = {union.find((operand, axis)) for axis in range(ndim) if axis not in slid}
            for value in (node, *node.inputs):
                yield from {union.find((value, axis)) for axis in range(value.type.ndim)} - mapped


def _classify(
    node: Node,
    labels: tuple[tuple[tuple[object, ...], ...], tuple[object, ...]],
    union: _Union,
    bad: set[Axis],
    reductions: dict[Axis, set[Node]],
    sources: dict[Axis, set[Node]],
) -> None:
    before, after = labels
    summed = set(dict(node.params)["axes"]) if node.op is ops.sum else set()
    carried: set[Axis] = set()
    for operand, part in zip(node.inputs, before, strict=True):
        for axis, label in enumerate(part):
            root = union.find((operand, axis))
            if label is not None and label in after:
                carried.add(root)
            elif (node.op is ops.sum and axis in summed) or (node.op is ops.contract and label not in after):
                reductions.setdefault(root, set()).add(node)
            else:
                bad.add(root)
    for axis in range(len(after)):
        root = union.find((node, axis))
        if root in reductions and node in reductions[root]:
            bad.add(root)
        if root not in carried and node.op is not ops.broadcast:
            sources.setdefault(root, set()).add(node)
    for operand in node.inputs:
        # A value cannot meet its own dimension whole and in tiles at once.
        for axis in range(operand.type.ndim):
            root = union.find((operand, axis))
            if root in sources and node in sources[root]:
                bad.add(root)
