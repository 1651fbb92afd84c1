"""Sums of arrays with zeros around them, inside where none of the zeros is read, and in the rims around apart.

The transpose of a sum of weighed neighbours adds products, each with zeros around it in another way. As it stands, each
product is written to memory, with its zeros, and read back by the loop that adds them. But inside, an element of the
sum is a formula of elements that lie in memory already: the products are computed where they are added. In the rims,
which are as wide as the zeros, all stays as it was, on a few rows and columns.

Each element comes from the same ops on the same operands, and has the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from primad import ops
from primad.ir.array_types import TupleType
from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.ir.replay import rebuild
from primad.ir.walks import users_of
from primad.native.emit.emit_context import Pointwise
from primad.native.emit.op_table import way_of
from primad.native.emit.pointwise import is_function
from primad.native.llvm.compile_limits import BUDGET
from primad.native.schedule.joined_slices import Bounds, PushedSlices, whole_of
from primad.system.machine import LOOP_ELEMENTS

INSIDE = 3, 4
"""The share of a sum's elements that is inside, at least. Chosen: loops over rims take longer for an element."""


class _PaddedSum(Struct, frozen=True):
    """A sum that is computed inside and in rims.

    Attributes:
        root: its last op.
        end: the same, or the slice of it that alone is read.
        members: its ops, and products that only it reads.
        read: from where to where it is read.
        inner: inside of which bounds no zeros are.
    """

    root: Node
    end: Node
    members: frozenset[Node]
    read: Bounds
    inner: Bounds


def with_inner_loops(program: Program) -> Program:
    """Return a program in which sums of products with zeros around them are computed inside without these.

    Args:
        program: what is to be written; one of complex numbers is returned as it is.
    """
    if any(node.type.is_complex for node in program.nodes):
        return program
    users = users_of(program.nodes)
    found = {sum_.end: sum_ for sum_ in map(_PaddedSums(program, users).of, program.nodes) if sum_ is not None}
    return _Inside(program, users, found).program() if found else program


class _PaddedSums:
    """Finds sums.

    Args:
        program: in which.
        users: of each of its nodes.
    """

    def __init__(self, program: Program, users: Mapping[Node, Sequence[Node]]) -> None:
        self._outputs = {*program.outputs}
        self._users = users

    def of(self, root: Node) -> _PaddedSum | None:
        """Return the sum that ends in a node, if it is to be computed inside and in rims."""
        if not self._is_pointwise(root) or root.type.size < LOOP_ELEMENTS or self._is_inside_of_another(root):
            return None
        members, pads, open_ = {root}, [], [*root.inputs]
        while open_:
            node = open_.pop()
            if not self._is_read_once(node):
                continue
            if self._is_pointwise(node):
                members.add(node)
                open_ += node.inputs
            elif _is_padded(node) and self._is_product(node.inputs[0]):
                pads.append(node)
                members |= {node, node.inputs[0]}
        end, read = self._read_of(root)
        inner = read
        for node in pads:
            inner = _within(inner, node)
        count = 2 * root.type.ndim + 1
        if len(pads) < BUDGET.padded or count * len(members) > BUDGET.in_boxes:
            return None
        inside = math.prod([max(b - a, 0) for a, b in inner])
        if not inside or INSIDE[1] * inside < INSIDE[0] * end.type.size:
            return None
        return _PaddedSum(root, end, frozenset(members), read, inner)

    def _read_of(self, root: Node) -> tuple[Node, Bounds]:
        """Return what alone is read of a sum, and from where to where this is."""
        if self._is_read_once(root) and self._users[root][0].op is ops.slice_:
            (end,) = self._users[root]
            params = dict(end.params)
            if all(step == 1 for step in params["step"]):
                return end, tuple(zip(params["start"], params["stop"], strict=True))
        return root, whole_of(root)

    def _is_inside_of_another(self, node: Node) -> bool:
        return self._is_read_once(node) and all(
            self._is_pointwise(user) and user.type.shape == node.type.shape for user in self._users[node]
        )

    def _is_product(self, node: Node) -> bool:
        """Say whether a value is arithmetic on elements that lie in memory, and is cheap to compute in its place."""
        return self._is_read_once(node) and self._is_pointwise(node) and not is_function(node)

    def _is_read_once(self, node: Node) -> bool:
        return len(self._users.get(node, ())) == 1 and node not in self._outputs

    def _is_pointwise(self, node: Node) -> bool:
        """Say whether a value is computed for each element, and never fails: what fails is computed whole."""
        if isinstance(node.op, Leaf) or isinstance(node.type, TupleType) or not isinstance(way_of(node), Pointwise):
            return False
        return node.op.domain is None and all(x.type.shape == node.type.shape for x in node.inputs)


def _is_padded(node: Node) -> bool:
    return node.op is ops.pad and not any(dict(node.params)["interior"])


def _within(bounds: Bounds, node: Node) -> Bounds:
    """Return where, within bounds, no zeros of a padded array are."""
    lows, lengths = dict(node.params)["low"], node.inputs[0].type.shape
    each = zip(bounds, lows, lengths, strict=True)
    return tuple([(max(a, low), min(b, low + length)) for (a, b), low, length in each])


class _Inside(PushedSlices):
    """A program whose sums are computed inside and in rims.

    Args:
        program: the program.
        users: of each of its nodes.
        sums: by their last ops.
    """

    def __init__(self, program: Program, users: dict[Node, list[Node]], sums: Mapping[Node, _PaddedSum]) -> None:
        super().__init__(program, users)
        self._sums = sums
        self._members = frozenset[Node]().union(*[sum_.members for sum_ in sums.values()])

    def _written(self, node: Node) -> Node:
        if node not in self._sums:
            return rebuild(node, self._known, self._trace, copy=True)
        return self._around(self._sums[node], self._sums[node].read, 0)

    def _around(self, sum_: _PaddedSum, bounds: Bounds, axis: int) -> Node:
        """Return a part of a sum: inside, and the rims along an axis and those behind it."""
        if axis == len(bounds):
            return self._of_sum(sum_.root, bounds)
        (first, last), (a, b) = bounds[axis], sum_.inner[axis]
        parts = []
        for start, stop in pairwise((first, a, b, last)):
            part = (*bounds[:axis], (start, stop), *bounds[axis + 1 :])
            if (start, stop) == (a, b):
                parts.append(self._around(sum_, part, axis + 1))
            elif start < stop:
                parts.append(self._of_sum(sum_.root, part))
        return parts[0] if len(parts) == 1 else self._trace.place(ops.concatenate, tuple(parts), (("axis", axis),))

    def _of_sum(self, root: Node, bounds: Bounds) -> Node:
        return self._trace.place(root.op, tuple([self._part(x, bounds) for x in root.inputs]), root.params)

    def _is_passed(self, node: Node) -> bool:
        return node in self._members and isinstance(way_of(node), Pointwise)

    def _is_read_once(self, node: Node) -> bool:
        return node in self._members
