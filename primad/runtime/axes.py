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
    """Axes that are the same index: each axis has a number, and numbers are joined."""

    def __init__(self) -> None:
        self._first: dict[Node, int] = {}
        self._parent: list[int] = []

    def first(self, node: Node) -> int:
        """Return the number of a value's first axis; the others follow."""
        found = self._first.get(node)
        if found is None:
            found = self._first[node] = len(self._parent)
            self._parent.extend(range(found, found + len(node.type.shape)))
        return found

    def find(self, node: Node, axis: int) -> int:
        """Return the number that stands for all axes that an axis was joined with."""
        return self._root(self.first(node) + axis)

    def join(self, x: int, y: int) -> None:
        """Say that two numbered axes are the same index."""
        self._parent[self._root(x)] = self._root(y)

    def _root(self, number: int) -> int:
        parent = self._parent
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number


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
    mixing = []
    for node in ops_in_order:
        if node.op.axes is None:
            return []
        if node.op.pointwise:
            _join_all(node, union)
        else:
            mixing.append((node, _labels(node)))
    for node, (before, after) in mixing:
        first: dict[object, int] = {}
        for value, labels in [*zip(node.inputs, before, strict=True), (node, after)]:
            for number, label in enumerate(labels, union.first(value)):
                if label is not None:
                    union.join(number, first.setdefault(label, number))
    members: dict[int, dict[Node, int]] = {}
    bad: set[int] = set()
    for node in dict.fromkeys((*program.inputs, *program.nodes)):
        for axis in range(node.type.ndim):
            root = union.find(node, axis)
            axes = members.setdefault(root, {})
            if node in axes:
                bad.add(root)
            axes[node] = axis
    reductions: dict[int, set[Node]] = {}
    sources: dict[int, set[Node]] = {}
    for node, labels in mixing:
        _classify(node, labels, union, bad, reductions, sources)
    for node in ops_in_order:
        for operand in node.inputs:
            if operand.op is ops.windows:
                bad.update(_beside_windows(node, operand, union))
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


def _join_all(node: Node, union: _Union) -> None:
    """Join the axes of a pointwise op: every index of the result is the same index of each operand."""
    first = union.first(node)
    for operand in node.inputs:
        other = union.first(operand)
        for axis in range(len(node.type.shape)):
            union.join(other + axis, first + axis)


def _beside_windows(node: Node, windows: Node, union: _Union) -> Iterator[int]:
    """Yield the dimensions of a node for which windows among its operands would be made whole, before the tiles.

    They are a view that is many times as large as its array, and whoever reads it takes a block at a time.
    """
    slid = dict(windows.params)["axes"]
    ndim = windows.inputs[0].type.ndim
    mapped = {union.find(windows, axis) for axis in range(ndim) if axis not in slid}
    for value in (node, *node.inputs):
        yield from {union.find(value, axis) for axis in range(value.type.ndim)} - mapped


def _classify(
    node: Node,
    labels: tuple[tuple[tuple[object, ...], ...], tuple[object, ...]],
    union: _Union,
    bad: set[int],
    reductions: dict[int, set[Node]],
    sources: dict[int, set[Node]],
) -> None:
    before, after = labels
    summed = set(dict(node.params)["axes"]) if node.op is ops.sum else set()
    carried: set[int] = set()
    for operand, part in zip(node.inputs, before, strict=True):
        for axis, label in enumerate(part):
            root = union.find(operand, axis)
            if label is not None and label in after:
                carried.add(root)
            elif (node.op is ops.sum and axis in summed) or (node.op is ops.contract and label not in after):
                reductions.setdefault(root, set()).add(node)
            else:
                bad.add(root)
    for axis in range(len(after)):
        root = union.find(node, axis)
        if root in reductions and node in reductions[root]:
            bad.add(root)
        if root not in carried and node.op is not ops.broadcast:
            sources.setdefault(root, set()).add(node)
    for operand in node.inputs:
        # A value cannot meet its own dimension whole and in tiles at once.
        for axis in range(operand.type.ndim):
            root = union.find(operand, axis)
            if root in sources and node in sources[root]:
                bad.add(root)
