"""The law that takes permutations late: what is computed lies as its operands do, and permutations meet and cancel.

p(x) + p(y) is p(x + y) for a permutation p of axes, and so for all that is done to each element, to slices, to what is
joined and to sums: an op whose axes are indices, or parts of them, does the same whatever their order. Written along
the first axis and moved back (`np.moveaxis`, `.T`), a difference of neighbours along rows would read and write across
memory; with permutations taken late, it has none. A permutation stays where operands disagree, before ops that mix
axes, and at results.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from primad import ops
from primad.ir.array_types import TupleType
from primad.ir.axes import Labels
from primad.ir.law_families import LEFT_OUT, LOCAL
from primad.ir.node import LITERAL, Leaf, Node, Trace, named
from primad.ir.program import Program
from primad.ir.replay import rebuild
from primad.ops.record.primitive import apply
from primad.system.machine import CALL_ELEMENTS
from primad.transforms.dimensions import axis_map
from primad.transforms.lowering import finish

Order = tuple[int, ...]
"""Of each axis of a value, which axis of the array it is that stands for it."""


def permute_late(program: Program, smallest: int = CALL_ELEMENTS) -> Program:
    """Return the program with permutations as late as possible, if fewer elements are then permuted; else itself.

    Args:
        program: a lowered program.
        smallest: permutations of fewer elements do not count.
    """
    before = _permuted(program, smallest)
    if not before or LOCAL in LEFT_OUT.get():
        return program
    found = _LatePermutations(program).result()
    return found if _permuted(found, smallest) < before else program


def _permuted(program: Program, smallest: int) -> int:
    """Return how many elements are permuted."""
    sizes = [node.type.size for node in program.nodes if node.op is ops.permute]
    return sum([size for size in sizes if size >= smallest])


class _LatePermutations:
    """A program that is built again, each value as an array and the order in which its axes stand in it."""

    def __init__(self, program: Program) -> None:
        self._source = program
        self._trace = Trace()
        self._known: dict[Node, tuple[Node, Order]] = {}

    def result(self) -> Program:
        """Return the program."""
        inputs = [self._trace.input(type) for type in self._source.in_types]
        for node, new in zip(self._source.inputs, inputs, strict=True):
            self._known[node] = new, tuple(range(node.type.ndim))
        for node in self._source.nodes:
            if node not in self._known:
                self._known[node] = self._moved(node) or self._as_it_is(node)
        outputs = [self._whole(node) for node in self._source.outputs]
        lines = {node: new for node, (new, _) in self._known.items()}
        return finish(self._source, self._trace, inputs, outputs, lines)

    def _as_it_is(self, node: Node) -> tuple[Node, Order]:
        """Build a node on operands whose axes stand in their own order."""
        inputs = {x: self._whole(x) for x in node.inputs}
        turned = any(self._is_turned(x) for x in node.inputs)
        new = rebuild(node, inputs, self._trace, copy=not turned)
        return new, () if isinstance(node.type, TupleType) else tuple(range(node.type.ndim))

    def _is_turned(self, node: Node) -> bool:
        order = self._known[node][1] if node in self._known else ()
        return order != tuple(range(len(order)))

    def _whole(self, node: Node) -> Node:
        """Return a value with its axes in their own order."""
        if not self._is_turned(node):
            return self._known[node][0] if node in self._known else node
        new, order = self._known[node]
        return apply(self._trace, ops.permute, new, order=order)

    def _moved(self, node: Node) -> tuple[Node, Order] | None:
        """Build a node on operands as they stand; None if it is built as it is."""
        if node.op is ops.permute:
            new, order = self._known[node.inputs[0]]
            return new, tuple([order[axis] for axis in dict(node.params)["order"]])
        if not any(map(self._is_turned, node.inputs)) or not _is_free(node):
            return None
        axes = axis_map(node)
        assert axes.indices is not None
        change = axes.reordered(self._most(node.inputs, axes.indices), [x.type for x in node.inputs], [node.type])
        assert change is not None
        inputs = [self._turned(x, moved.order) for x, moved in zip(node.inputs, change.operands, strict=True)]
        params = dict(node.params) if node.op.axes.pointwise else node.op.axes.adapt(change, **dict(node.params))
        new = self._trace.build(node.op, tuple(inputs), named(params))
        return new, _inverse(change.result.order)

    def _most(self, operands: Sequence[Node], indices: Sequence[Labels]) -> Labels:
        """Return the order of indices in which most elements stand, the program's own if as many do."""
        found: Counter[Labels] = Counter()
        for node, names in zip(operands, indices, strict=False):
            new, order = self._known[node]
            if node.op is not LITERAL and len(names) > 1:
                read = new.inputs[0] if new.op is ops.broadcast else new  # which can be repeated in any order
                found[tuple([names[axis] for axis in _inverse(order)])] += read.type.size
        own = set(indices[: len(operands)])
        return max(found, key=lambda names: (found[names], names in own))

    def _turned(self, node: Node, axes: Order) -> Node:
        """Return the array of a value whose axes are so many of its axes, in this order."""
        new, order = self._known[node]
        return apply(self._trace, ops.permute, new, order=tuple([order[axis] for axis in axes]))


def _is_free(node: Node) -> bool:
    """Say whether the order of its operands' axes does not matter to an op, nor to what it says when it fails."""
    if isinstance(node.op, Leaf) or isinstance(node.type, TupleType) or node.op.domain is not None:
        return False
    if node.op.axes.map is None or node.op.axes.adapt is None or math.prod(node.type.shape) == 0:
        return False
    return axis_map(node).indices is not None


def _inverse(order: Order) -> Order:
    return tuple(sorted(range(len(order)), key=order.__getitem__))
