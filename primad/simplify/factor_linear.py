"""The law that makes a differential operator one pass: a sum of equal linear ops is the op of the sum.

L(a) + L(b) is L(a + b), if L is linear and the same in both: its other operands are the same nodes. Applied from the
end of a sum of derivatives towards its beginning, it adds up what enters the terms linearly where it begins: ∂u/∂t − Δu
propagates the value, the first derivatives in space, and one sum of the rest.

The pass is exact in exact arithmetic, and reorders sums; so like its kin `primad.simplify.collapse` it runs on sums
that derivatives make, and not on everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.law_families import DIRECTIONS, LEFT_OUT
from primad.ir.node import LITERAL, Leaf, Node, Trace
from primad.ir.program import Program
from primad.ir.replay import replay
from primad.ops.record.primitive import apply, is_of_several
from primad.transforms.lowering import finish

Term = tuple[Node | None, Node]
"""What is added up: the number of the new program by which it is multiplied (None for one), and a value of the old."""
DEEPEST = 200
"""Linear ops through which a sum is moved."""


def factor_linear(program: Program) -> Program:
    """Build each result, a sum, by adding up the operands of equal linear ops that are used nowhere else."""
    if DIRECTIONS in LEFT_OUT.get():
        return program
    trace = Trace()
    inputs = [trace.input(node.type) for node in program.inputs]
    values: dict[Node, Node] = dict(zip(program.inputs, inputs, strict=True))
    replay(program.nodes, values, trace)
    uses = Counter(operand for node in program.nodes for operand in node.inputs)
    uses.update(program.outputs)
    sums = _LinearSums(uses, values, trace)
    return finish(program, trace, inputs, [sums.of([(None, node)]) for node in program.outputs], values)


def instead_in_sum(node: Node, instead: Callable[[Node, int], Node | None], most: int = 32) -> Node | None:
    """Return a sum with another term in place of one; None if there is nothing to put there.

    Args:
        node: the sum, perhaps of one term.
        instead: `(term, 1 or −1, the sign that it has in the sum)` -> another term in its place, or None.
        most: additions and subtractions that are looked into.
    """

    def look(node: Node, sign: int) -> Node | None:
        nonlocal most
        if node.op is not ops.add and node.op is not ops.sub:
            return instead(node, sign)
        most -= 1
        if most < 0:
            return None
        left, right = node.inputs
        found = look(right, sign if node.op is ops.add else -sign)
        if found is not None:
            return apply(found.trace, node.op, left, found)
        found = look(left, sign)
        return None if found is None else apply(found.trace, node.op, found, right)

    return look(node, 1)


class _LinearSums:
    """Sums of values of a program, built in a new trace.

    Args:
        uses: how often each value of the old program is used.
        values: what stands for the values of the old program.
        trace: the new one.
    """

    def __init__(self, uses: Counter[Node], values: dict[Node, Node], trace: Trace) -> None:
        self.uses = uses
        self.values = values
        self.trace = trace

    def of(self, terms: Sequence[Term], depth: int = 0) -> Node:
        """Return a sum of terms."""
        left = dict(enumerate(self._flat(terms)))
        alike: dict[Any, list[int]] = {}
        for place, (_, node) in left.items() if depth < DEEPEST else ():
            for key in self._keys(node):
                alike.setdefault(key, []).append(place)
        parts: list[tuple[Node | None, Node]] = []
        for key, places in sorted(alike.items(), key=lambda item: -len(item[1])):
            rest = [place for place in places if place in left]
            if len(rest) > 1:
                parts.append((None, self._inside(key, [left.pop(place) for place in rest], depth)))
        return self._added([*((weight, self.values.get(node, node)) for weight, node in left.values()), *parts])

    def _flat(self, terms: Sequence[Term]) -> list[Term]:
        """Return the terms of sums among terms, and numbers in front of them as weights."""
        found: list[Term] = []
        waiting = list(terms)[::-1]
        while waiting:
            term = waiting.pop()
            parts = self._parts(*term)
            waiting += parts[::-1]
            if not parts:
                found.append(term)
        return found

    def _parts(self, weight: Node | None, node: Node) -> list[Term]:
        """Return the terms of which a term is the sum; none if it is no sum, negation or product with a number."""
        if self.uses[node] > 1 or isinstance(node.op, Leaf):
            return []
        if node.op is ops.add or node.op is ops.sub:
            left, right = node.inputs
            return [(weight, left), (self._times(weight, None, node.op is ops.sub), right)]
        if node.op is ops.neg:
            return [(self._times(weight, None, True), node.inputs[0])]
        number = self._number(node)
        return [] if number is None else [(self._times(weight, number[0], False), number[1])]

    def _number(self, node: Node) -> tuple[Node, Node] | None:
        """Return the number, one for all elements, by which a product multiplies, in the new program, and the rest.

        Literal factors are none: they would be multiplied by each other, and π · π would be 9.87.
        """
        if node.op is not ops.mul:
            return None
        for number, rest in (node.inputs, node.inputs[::-1]):
            if number.op is ops.broadcast and not number.inputs[0].type.shape:
                return self.values.get(number.inputs[0], number.inputs[0]), rest
        return None

    def _times(self, weight: Node | None, number: Node | None, negative: bool) -> Node | None:
        both = [each for each in (weight, number) if each is not None]
        if len(both) == 2:
            dtype = str(np.result_type(*[each.type.dtype for each in both]))
            both = [apply(self.trace, ops.mul, *[apply(self.trace, ops.cast, each, dtype=dtype) for each in both])]
        found = both[0] if both else None
        if not negative:
            return found
        if found is None:
            return self.trace.literal(-1.0, ArrayType((), float))
        return apply(self.trace, ops.neg, found)

    def _keys(self, node: Node) -> list[Any]:
        """Return what two terms must have in common: a linear op, and the operands but for those it is linear in."""
        if self.uses[node] > 1 or isinstance(node.op, Leaf) or is_of_several(node):
            return []
        if not _takes_numbers(node):
            return []
        groups = node.op.linear_groups(len(node.inputs))
        moving = [group for group in groups if all(node.inputs[i].op is not LITERAL for i in group)]
        return list(dict.fromkeys(_common(node, group) for group in moving))

    def _inside(self, key: Any, terms: Sequence[Term], depth: int) -> Node:
        """Return the sum of equal linear ops as the op of sums."""
        first = terms[0][1]
        groups = [next(g for g in n.op.linear_groups(len(n.inputs)) if _common(n, g) == key) for _, n in terms]
        operands = [self.values.get(operand, operand) for operand in first.inputs]
        for number, place in enumerate(groups[0]):
            moving = [(weight, node.inputs[group[number]]) for (weight, node), group in zip(terms, groups, strict=True)]
            operands[place] = self.of(moving, depth + 1)
        return apply(self.trace, first.op, *operands, **dict(first.params))

    def _added(self, terms: Sequence[tuple[Node | None, Node]]) -> Node:
        """Return a weighted sum of values of the new program; equal weights multiply once."""
        weighted: dict[Node | None, Node] = {}
        for weight, node in terms:
            weighted[weight] = apply(self.trace, ops.add, weighted[weight], node) if weight in weighted else node
        total: Node | None = None
        for weight, node in weighted.items():
            term = node
            if weight is not None:
                shape = node.type.shape
                number = apply(self.trace, ops.cast, weight, dtype=str(node.type.dtype))
                wide = apply(self.trace, ops.broadcast, number, shape=shape, axes=tuple(range(len(shape))))
                term = apply(self.trace, ops.mul, node, wide)
            total = term if total is None else apply(self.trace, ops.add, total, term)
        assert total is not None
        return total


def _takes_numbers(node: Node) -> bool:
    """Say whether numbers before a term may multiply its operands instead: of one dtype, so that none is rounded."""
    floats = [x.type for x in (node, *node.inputs) if x.type.is_float]
    if len({type.dtype for type in floats}) > 1:
        return False
    return not node.type.is_complex or node.op.complex != "real-linear"


def _common(node: Node, group: tuple[int, ...]) -> Any:
    """Return what is left of an application without the operands in which it is linear, which have types only."""
    others = tuple([operand for i, operand in enumerate(node.inputs) if i not in group])
    types = tuple([node.inputs[i].type for i in group])
    return node.op, node.params, None if node.op is ops.mul else group, others, types
