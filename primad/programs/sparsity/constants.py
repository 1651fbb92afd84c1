"""Values of a program that are the same whenever it runs: indices, and captured arrays, that say where zeros are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad.errors import PrimadError
from primad.ir.array_types import ArrayType
from primad.ir.axes import is_name
from primad.ir.node import CAPTURED, LITERAL, Leaf, Node, leaf_value
from primad.ops.record.primitive import Primitive
from primad.transforms.dimensions import axis_map

Array = np.ndarray[Any, Any]

MOST_DEEP = 40
"""Ops behind each other that are looked through for where a value is zero. Chosen: a matrix that is put together of its
diagonals or blocks takes fewer."""
MOST_MASKED = 2**24
"""Flops of an op that is computed of zeros and ones. Chosen: they take some hundredths of a second."""


class KnownValue(NamedTuple):
    """A value that is known.

    Attributes:
        value: the array.
        of: the numbers of the given arrays that it depends on.
        is_moved: whether its elements are those of one of these, moved, repeated, or in another type, so that it is
            zero where that is.
    """

    value: Array
    of: frozenset[int]
    is_moved: bool = False


class Constants:
    """Values of a program that follow from some of its inputs, computed when they are asked for.

    Args:
        given: the inputs that are known.

    Attributes:
        contents: the numbers of given arrays whose values matter.
        zeros: the numbers of those of which it matters where they are zero.
    """

    def __init__(self, given: Mapping[Node, KnownValue]) -> None:
        self._found: dict[Node, KnownValue | None] = dict(given)
        self._supports: dict[Node, Array | None] = {}
        self.contents: set[int] = set()
        self.zeros: set[int] = set()

    def value(self, node: Node) -> Array | None:
        """Return the value of a node, if it is known."""
        found = self.find(node)
        return None if found is None else found.value

    def uses(self, node: Node) -> None:
        """Say that what is found depends on the value of a node."""
        found = self.find(node)
        if found is not None:
            self.contents |= found.of

    def uses_zeros(self, node: Node) -> None:
        """Say that what is found depends on where a value is zero: it holds as well where more elements are not."""
        found = self.find(node)
        if found is not None:
            (self.zeros if found.is_moved or np.all(found.value) else self.contents).update(found.of)

    def support(self, node: Node, depth: int = MOST_DEEP) -> Array | None:
        """Return where a value may be other than zero, whatever the numbers that are not known; None if everywhere.

        A matrix that is made of its diagonal is zero elsewhere, and so is what is cut to a triangle.

        Args:
            node: the value, of finite numbers.
            depth: ops that are looked through, one behind the other.
        """
        if node not in self._supports:
            self._supports[node] = self._support(node, depth)
        return self._supports[node]

    def _support(self, node: Node, depth: int) -> Array | None:
        known = self.find(node)
        if known is not None:
            self.uses_zeros(node)
            return np.asarray(known.value != 0)
        op, found = node.op, None
        arrays = all(isinstance(x.type, ArrayType) for x in (node, *node.inputs))
        if isinstance(op, Leaf) or not arrays or not depth:
            return None
        if op.axes.pointwise:
            found = self._pointwise_support(node, depth - 1)
        elif op.cost(node).flops <= MOST_MASKED and op.kind in ("linear", "multilinear"):
            masks = {i: self.support(node.inputs[i], depth - 1) for x in op.linear_groups(len(node.inputs)) for i in x}
            if op.kind == "multilinear":
                found = _product_support(node, masks)
            elif any(mask is not None for mask in masks.values()) or not _only_takes(op):
                found = self._moved_support(node, masks)
        return None if found is None or found.all() else found

    def support_of_any(self, nodes: Sequence[Node], depth: int = MOST_DEEP) -> Array | None:
        """Return where one of some values of one shape may be other than zero; None if everywhere."""
        masks = [mask for x in nodes if (mask := self.support(x, depth)) is not None]
        return np.asarray(np.logical_or.reduce(masks)) if len(masks) == len(nodes) else None

    def _pointwise_support(self, node: Node, depth: int) -> Array | None:
        """An op is zero where all operands of a group are in which it is linear, and where known ones make it so."""
        found: list[Array] = []
        for group in node.op.linear_groups(len(node.inputs)):
            others = [i for i in range(len(node.inputs)) if i not in group]
            known = {i: value for i in others if (value := self.value(node.inputs[i])) is not None}
            if others and len(known) == len(others):
                counts = []
                for i in group:
                    mask = self.support(node.inputs[i], depth)
                    own = np.broadcast_to(counting(node, i, known), node.type.shape)
                    counts.append(own if mask is None else own & mask)
                for i in others:
                    self.uses(node.inputs[i])
                found.append(np.logical_or.reduce(counts))
            elif (mask := self.support_of_any([node.inputs[i] for i in group], depth)) is not None:
                found.append(mask)
        return np.asarray(np.logical_and.reduce(found)) if found else None

    def _moved_support(self, node: Node, masks: Mapping[int, Array | None]) -> Array | None:
        """An op that only moves elements, or adds them, gives zero where it gives it for zeros and ones."""
        given: dict[int, Array] = {}
        start = 1  # each element has a number of its own, so that none is lost where some are subtracted
        for i, x in enumerate(node.inputs):
            if i in masks:
                mask, numbers = masks[i], np.arange(start, start + x.type.size).reshape(x.type.shape)
                given[i], start = numbers if mask is None else np.where(mask, numbers, 0), start + x.type.size
            elif (value := self.value(x)) is not None:
                given[i] = value
            else:
                return None

        def run(of: Callable[[Array], Array]) -> Array:
            values = [of(x) if i in masks else x for i, x in sorted(given.items())]
            return np.asarray(node.op.numpy(*values, **dict(node.params)))

        if node.op.indexing.adds_rows is not None:
            found = run(lambda x: (x != 0).astype(np.int64))
        else:
            found = run(lambda x: x)
            if not np.array_equal(run(lambda x: x**2), found**2):
                return None
        for i in given.keys() - masks.keys():
            self.uses(node.inputs[i])
        return np.asarray(found != 0)

    def within(self, given: Mapping[Node, Node]) -> Constants:
        """Return the constants of a program that is called, by what its inputs are here."""
        found = {own: self.find(x) for own, x in given.items()}
        inner = Constants({own: known for own, known in found.items() if known is not None})
        inner.contents, inner.zeros = self.contents, self.zeros
        return inner

    def within_row(self, given: Mapping[Node, Node], rows: Mapping[Node, Node], number: int | slice) -> Constants:
        """Return the constants of a step of a loop, which also takes a row of some values; or of some steps."""
        inner = self.within(given)
        for own, known in [(own, self.find(x)) for own, x in rows.items()]:
            if known is not None:
                inner._found[own] = known._replace(value=known.value[number])
        return inner

    def find(self, node: Node) -> KnownValue | None:
        """Return what is known of a node."""
        stack = [node]
        while stack:
            top = stack[-1]
            if top in self._found:
                stack.pop()
                continue
            missing = [x for x in top.inputs if x not in self._found]
            if any(x in self._found and self._found[x] is None for x in top.inputs):
                self._found[top] = None
            elif missing:
                stack.append(missing[0])
            else:
                self._found[top] = self._computed(top)
        return self._found[node]

    def _computed(self, node: Node) -> KnownValue | None:
        if node.op is LITERAL or node.op is CAPTURED:
            return KnownValue(leaf_value(node), frozenset())
        known = [x for x in map(self._found.__getitem__, node.inputs) if x is not None]
        if isinstance(node.op, Leaf) or not isinstance(node.type, ArrayType):
            return None
        try:
            with np.errstate(all="ignore"):
                value = np.asarray(node.op.numpy(*[x.value for x in known], **dict(node.params)))
        except (PrimadError, ValueError, ArithmeticError, IndexError):
            return None  # running the program says what is wrong
        return KnownValue(value, frozenset().union(*[x.of for x in known]), _is_moved(node, known, value))


def _is_moved(node: Node, known: Sequence[KnownValue], value: Array) -> bool:
    """Say whether a value is zero where one that is known is, moved, and stays so if other elements change."""
    if len(known) != 1 or not known[0].is_moved:
        return False
    scaled = node.op.axes.pointwise and node.op.linear_groups(1) == [(0,)]
    return node.op.memory.views or bool(scaled and np.count_nonzero(value) == np.count_nonzero(known[0].value))


def counting(node: Node, position: int, known: Mapping[int, Any]) -> Any:
    """Return where a pointwise op is not zero if one operand is 1, others are known, and the rest is 0."""
    alike = all(not any(x.strides) for x in known.values())  # one number, everywhere
    one = (slice(0, 1),) * (node.type.ndim if alike else 0)
    seeds = [np.broadcast_to(x.type.dtype.type(i == position), x.type.shape) for i, x in enumerate(node.inputs)]
    with np.errstate(all="ignore"):
        return node.op.numpy(*[known.get(i, seeds[i])[one] for i in range(len(seeds))], **dict(node.params)) != 0


def _only_takes(op: Primitive) -> bool:
    """Say whether each element of an op's result is one of the operand's."""
    return op.memory.views or op.indexing.takes_rows is not None


def _product_support(node: Node, masks: Mapping[int, Array | None]) -> Array | None:
    """A sum of products is zero where that of zeros and ones is, if all indices are mapped or summed over."""
    map = axis_map(node)
    if all(mask is None for mask in masks.values()) or not all(
        is_name(x) for own in (*map.operands, *map.results) for x in own
    ):
        return None
    ones = [np.ones(x.type.shape) if masks[i] is None else masks[i] for i, x in enumerate(node.inputs)]
    return np.asarray(node.op.numpy(*[np.asarray(x, np.float64) for x in ones], **dict(node.params)) != 0)
