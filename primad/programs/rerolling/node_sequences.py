"""The nodes of a program as arrays of numbers, in which what repeats itself is found fast.

Two nodes match if they are the same op on operands that match too. Where a run may change from step to step, lengths
count for nothing, and neither do params that are integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from primad.ir.array_types import TupleType
from primad.ir.node import CAPTURED, LITERAL, Leaf, Node, Params, literal_value, param_key
from primad.ir.node_arrays import NodeArrays, Places

FIRST_LOOK = 256
"""Nodes that are compared at once; four times as many each time that all are equal. Chosen: wrong guesses end early."""

MIXING = 1_000_003
"""What the number of a form is multiplied by for each operand. Chosen: a prime, so that few forms share a number."""


class NodeSequence:
    """The nodes of a program in order, in arrays of numbers.

    Args:
        arrays: those of the program.
        own: where the nodes stand there, which are neither leaves nor rows of them or of the sources.
        changing: whether lengths and params of integers count for nothing.
        left: of nodes from outside that are steps' of runs before, a number that those of the same place in a step of
            the same run share: they are rows of one array when the run is a loop, and so are views of them.
        mixed: whether values from outside of one type are rows of one array whatever they are.

    Attributes:
        nodes, changing, arrays, own: the nodes, and the same.
        at: for each node of the program where it stands among these; -1 for others.
        left_out: of nodes, the ops that laws left out while these were recorded in their place; of rows none are known.
        kinds: the same number for the same op of as many operands, with equal params and a result of the same type.
        count: how many operands each has.
        operands: where these were made, a negative number for one from outside; those of all nodes in a row.
        first: where those of each node begin.
    """

    def __init__(
        self,
        arrays: NodeArrays,
        own: Places,
        changing: bool,
        left: Mapping[Node, int] | None = None,
        mixed: bool = False,
    ) -> None:
        self.nodes: Sequence[Node] = [arrays.nodes[i] for i in own.tolist()]
        self.changing, self._far, self._mixed = changing, 0, mixed
        self.arrays, self.own, self._left = arrays, own, {} if left is None else left
        self.left_out = arrays.left_out
        self.kinds = (_forms_of(arrays) if changing else arrays.kinds)[own]
        self.count = arrays.count[own]
        self.first = np.cumsum(self.count) - self.count
        self.at = np.full(len(arrays.nodes), -1)
        self.at[own] = np.arange(len(own))
        self._place = self.at.data
        flat = arrays.operands_of(own)
        self.operands = self.at[flat]
        outside = np.flatnonzero(self.operands < 0)
        others, begin, which = np.unique(flat[outside], return_index=True, return_inverse=True)
        order = np.argsort(begin)  # of their first use
        self._others_at = others[order]
        self._others: list[Node] = [arrays.nodes[i] for i in self._others_at.tolist()]
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        self.operands[outside] = -1 - number[which]

    def looking(self, far: int) -> NodeSequence:
        """Return the same nodes, where what is so many steps before may come from anywhere, as from the row above."""
        found = copy(self)
        found._far, found.left_out = far, {}
        return found

    def taken(self, i: int) -> list[int]:
        """Return where the operands of a node were made."""
        found: list[int] = self.operands[self.first[i] : self.first[i] + self.count[i]].tolist()
        return found

    def node(self, number: int) -> Node:
        """Return the node that has a number."""
        return self.nodes[number] if number >= 0 else self._others[-1 - number]

    def place(self, node: Node) -> int:
        """Return where a node stands; -1 if it is from outside."""
        at = self.arrays.place(node)
        return self._place[at] if at >= 0 else -1

    def others(self, nodes: Sequence[Node], among: range) -> list[Node]:
        """Return those of some nodes of the program that stand at none of some places."""
        at = self.at[self.arrays.places(nodes)]
        return [nodes[i] for i in np.flatnonzero((at < among.start) | (at >= among.stop)).tolist()]

    def reordered(self, nodes: Sequence[Node]) -> NodeSequence:
        """Return the nodes in another order."""
        return NodeSequence(self.arrays, self.arrays.places(nodes), self.changing, self._left, self._mixed)

    def alike(self, x: Node, y: Node) -> bool:
        """Say whether two values from outside can be rows of one array, which a run before may leave."""
        return x is y or bool(self._row_kind(x) == self._row_kind(y))

    def _row_kind(self, x: Node) -> tuple[Any, ...]:
        if self._mixed:
            return (x.type,)
        left = self._left.get(x)
        if left is not None:
            return left, x.type
        op, type, source = _row_kind(x, self.changing)
        return op, type, self._left.get(source, source)

    def _agree(self, i: int, k: int, x: int, y: int) -> bool:
        """Say whether values from outside that are alike do the same where a node's rules look at a number."""
        one, other = self.node(x), self.node(y)
        if k in self.nodes[i].op.static_operands and LITERAL in (one.op, other.op):
            return self.changing and is_one_number(one, other)
        return True

    @cached_property
    def _row_kinds(self) -> Places:
        """The same number for values from outside that are alike (see `alike`)."""
        kinds: dict[object, int] = {}
        arrays, at = self.arrays, self._others_at
        if self._left or arrays.own < len(arrays.nodes):  # views of older traces are looked through too
            return np.array([kinds.setdefault(self._row_kind(x), len(kinds)) for x in self._others], np.int64)
        if self._mixed:
            return np.array([kinds.setdefault(x.type, len(kinds)) for x in arrays.like], np.int64)[arrays.kinds[at]]
        forms = [(x.op, _form(x.type) if self.changing else x.type) for x in arrays.like]
        number = np.array([kinds.setdefault(form, len(kinds)) for form in forms], np.int64)[arrays.kinds[at]]
        rows = np.flatnonzero(arrays.of_kinds(lambda x: x.op.indexing.takes_rows is not None)[at])
        shown = at.copy()
        shown[rows] = [arrays.place(x.inputs[0] if is_gathered(x) else x) for x in [self._others[i] for i in rows]]
        source = 1 + arrays.shown[shown]
        source[[x.op in (LITERAL, CAPTURED) for x in self._others]] = 0
        found: Places = number * (1 + len(arrays.nodes)) + source
        return found

    @cached_property
    def forms(self) -> Places:
        """The same number for nodes of one kind whose operands are of the same kinds, or alike if from outside."""
        inside = self.operands >= 0
        kinds = np.empty_like(self.operands)
        kinds[inside] = self.kinds[self.operands[inside]]
        kinds[~inside] = -1 - self._row_kinds[-1 - self.operands[~inside]]
        longest = self.count.max(initial=0)
        powers = np.cumprod(np.concatenate([[1], np.full(longest, MIXING)]))  # of which high bits are lost
        behind = np.repeat(self.first + self.count, self.count) - 1 - np.arange(len(kinds))  # operands behind each
        found: Places = self.kinds * powers[self.count]
        own = np.flatnonzero(self.count)
        found[own] += np.add.reduceat(kinds * powers[behind], self.first[own]) if own.size else 0
        return found

    @cached_property
    def _reads_numbers(self) -> Any:
        """Of each node, whether its rules look at a number that it takes."""
        return self.arrays.of_kinds(lambda node: bool(node.op.static_operands))[self.own]

    def equal(self, at: Places, lag: int, anchor: Any = None) -> Any:
        """Say of nodes whether each does the same as the one that stands so many places before.

        Each node is also compared with its counterpart in the period that begins at the anchor, or at its own one of
        several, if there is one: an operand must be invariant of the loop in both or in neither.
        """
        like = at if anchor is None else anchor + (at - anchor) % lag
        found = (self.kinds[at] == self.kinds[at - lag]) & (self.kinds[at] == self.kinds[like])
        i = np.flatnonzero(found)
        count = self.count[at[i]]
        i, k = np.repeat(i, count), np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)  # every operand
        here, there = (self.operands[self.first[nodes] + k] for nodes in (at[i], at[i] - lag))
        other, before = (self.operands[self.first[nodes] + k] for nodes in (like[i], like[i] - lag))
        good = (here == there) | ((here >= 0) & (there >= 0) & (here - there == lag))
        if self._far:
            near = at[i] - self._far * lag  # the same op before that may be a row above
            apart = np.flatnonzero((here >= 0) & (there >= 0) & (here < near) & (there < near - lag) & ~good)
            good[apart] = self.kinds[here[apart]] == self.kinds[there[apart]]
        rows = np.flatnonzero((here < 0) & (there < 0) & ~good)
        good[rows] = self._row_kinds[-1 - here[rows]] == self._row_kinds[-1 - there[rows]]
        for j in rows[good[rows] & self._reads_numbers[at[i[rows]]]].tolist():
            good[j] = self._agree(int(at[i[j]]), int(k[j]), int(here[j]), int(there[j]))
        shared = np.where((here >= 0) & (here == there), here, -1)
        good &= shared == np.where((other >= 0) & (other == before), other, -1)
        found[i[~good]] = False
        return found

    def taken_from_afar(self, lag: int) -> tuple[Places, Places]:
        """Return which nodes take something from anywhere (see `looking`), in order, and where that was made."""
        at = np.arange(lag, len(self.nodes))
        at = at[self.kinds[at] == self.kinds[at - lag]]
        count = self.count[at]
        nodes, k = np.repeat(at, count), np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        here, there = (self.operands[self.first[each] + k] for each in (nodes, nodes - lag))
        found = np.flatnonzero((here >= 0) & (here != there) & (here - there != lag))
        return nodes[found], here[found]

    def count_equal(self, begin: int, end: int, lag: int, anchor: int) -> int:
        """Count the nodes that are equal (see `equal`) one after the other, from a place towards another."""
        direction, total = (1, end - begin) if end > begin else (-1, begin - end)
        done, look = 0, FIRST_LOOK
        while done < total:
            at = begin + direction * np.arange(done, min(done + look, total))
            equal = self.equal(at, lag, anchor)
            if not equal.all():
                return done + int(np.argmin(equal))
            done, look = done + len(at), 4 * look
        return total


def _forms_of(arrays: NodeArrays) -> Places:
    """Return the kinds of nodes if lengths, and params that are integers, count for nothing."""
    kinds: dict[object, int] = {}
    forms = [(node.op, _forms(node.params), _form(node.type), len(node.inputs)) for node in arrays.like]
    return np.array([kinds.setdefault(form, len(kinds)) for form in forms], np.int64)[arrays.kinds]


def _forms(params: Params) -> Any:
    """Return what params are but for the integers among them."""
    found: list[tuple[str, Any]] = []
    for name, value in params:
        if type(value) is tuple and all(type(item) is int for item in value):
            found.append((name, len(value)))
        else:
            found.append((name, int if type(value) is int else param_key(value)))
    return tuple(found)


def _form(type: Any) -> Any:
    """Return what a type is but for lengths."""
    return type if isinstance(type, TupleType) else (type.dtype, type.ndim)


def _row_kind(x: Node, changing: bool) -> tuple[Any, ...]:
    """Return what is equal of values that are alike."""
    source = None if x.op in (LITERAL, CAPTURED) else root_of(x.inputs[0] if is_gathered(x) else x) if x.inputs else x
    return x.op, _form(x.type) if changing else x.type, source


def root_of(node: Node) -> Node:
    """Return the array whose elements a value shows."""
    while not isinstance(node.op, Leaf) and node.op.memory.views and not isinstance(node.inputs[0].type, TupleType):
        (node,) = node.inputs
    return node


def is_gathered(node: Node) -> bool:
    """Say whether a value is rows of an array at indices that are known."""
    return not isinstance(node.op, Leaf) and node.op.indexing.takes_rows is not None and node.inputs[1].op is CAPTURED


def is_joined(node: Node) -> bool:
    """Say whether a value is some operands one behind the other."""
    return not isinstance(node.op, Leaf) and node.op.indexing.joins


def same_value(x: Node, y: Node) -> bool:
    """Say whether two values from outside of a run are one."""
    return x is y or (x.type == y.type and is_one_number(x, y))


def is_one_number(x: Node, y: Node) -> bool:
    """Say whether two values are the same number, of arrays of any lengths."""
    if x.op is not LITERAL or y.op is not LITERAL:
        return False
    return x.type.dtype == y.type.dtype and bool(param_key(literal_value(x)) == param_key(literal_value(y)))
