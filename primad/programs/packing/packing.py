"""Scalar expressions of one form as ops on arrays.

A right-hand side with a line for each of hundreds of reactions is thousands of ops on numbers, and deriving and
compiling it takes as much time as if they all differed. Those that do the same to different numbers become one op on
arrays, before anything is derived: its operands are gathered from where the numbers are. Sums of various terms are one
sum of rows by index. Each number is computed as before, and terms are added in the same order; but a sum that is alone
at its level is NumPy's sum, which adds in pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.law_families import LEFT_OUT, LOCAL
from primad.ir.node import LITERAL, Leaf, Node, Trace, literal_value
from primad.ir.program import Program
from primad.ir.replay import newest, reapplied, rebuild
from primad.programs.loop_sizes import FEWEST_STEPS
from primad.programs.packing.columns import Columns, is_small_view
from primad.programs.packing.scalar_groups import Group, Levels, Term, groups_of
from primad.recording.traced_array import TracedArray, lift
from primad.system.quantities import several
from primad.transforms.lowering import finish


def levels_of(program: Program, fewest: int | None = None) -> Levels | None:
    """Return what of a program can be computed together; None where that is too little, or is to stay as it is.

    Args:
        program: the program.
        fewest: scalar ops for which it is worth it.
    """
    return None if LOCAL in LEFT_OUT.get() else groups_of(program, fewest)


def with_arrays(program: Program, levels: Levels) -> Program:
    """Return a program that computes together what was found to do the same to different numbers."""
    made = _Packing(program, levels).program()
    count = sum(map(len, levels.groups.values()))
    if count:
        made.notes = (*program.notes, f"{several(levels.count, 'scalar op')} are {several(count, 'op')} on arrays")
    return made


class _Packing:
    """A program that is being built again, with arrays in the place of numbers."""

    def __init__(self, program: Program, levels: Levels) -> None:
        self.source = program
        self.levels = levels
        self.joined = set(levels.joins.outermost)
        self.trace = Trace(origin=program.trace.origin)
        self.mapping = {node: self.trace.input(node.type, weak=bool(node.params)) for node in program.inputs}
        self.place: dict[Node, tuple[Node, int]] = {}
        self.columns = Columns(self.trace, self.place, self.value)

    def program(self) -> Program:
        """Return the program."""
        inputs = list(self.mapping.values())
        members = {node for groups in self.levels.groups.values() for each in groups for node in each.members}
        rest: dict[int, list[Node]] = {}
        for node in self.source.nodes:
            if node not in members and node not in self.mapping and not is_small_view(node):
                rest.setdefault(self.levels.level_of[node], []).append(node)
        for level in sorted(self.levels.groups.keys() | rest.keys()):
            for group in self.levels.groups.get(level, ()):
                self._compute(group)
            for node in rest.get(level, ()):
                self.mapping[node] = self._rebuilt(node)
        return finish(self.source, self.trace, inputs, [self.value(x) for x in self.source.outputs], self.mapping)

    def value(self, node: Node) -> Node:
        """Return what stands for a node whose operands have been built; a node of another trace for itself."""
        found = self.mapping.get(node)
        if found is None and node.trace is self.source.trace:
            if node in self.place:
                array, i = self.place[node]
                part = ops.slice_(TracedArray(array), start=(i,), stop=(i + 1,), step=(1,))
                found = lift(ops.reshape(part, shape=()), self.trace)
            else:
                operands = tuple(map(self.value, node.inputs))
                found = reapplied(node, operands, newest(operands, self.trace))
            self.mapping[node] = found
        return node if found is None else found

    def _rebuilt(self, node: Node) -> Node:
        """Build a node of no group again; what joins numbers is taken from where these are."""
        if isinstance(node.op, Leaf):
            return rebuild(node, self.mapping, self.trace)
        if node in self.joined:
            found = self.columns.of(self.levels.joins.numbers[node])
            if found.type.size == node.type.size:
                return lift(ops.reshape(TracedArray(found), shape=node.type.shape), self.trace)
        operands = tuple(map(self.value, node.inputs))
        return reapplied(node, operands, newest(operands, self.trace))

    def _compute(self, group: Group) -> None:
        """Compute the numbers of a group as one array."""
        if group.terms is None:
            found = self._applied(group.members[0], list(zip(*[node.inputs for node in group.members], strict=True)))
        elif len(group.members) >= FEWEST_STEPS and len({tuple([x for x, _ in terms]) for terms in group.terms}) == 1:
            found = self._added(group.terms)
        else:
            found = self._scattered(group.terms)
        line = self.source.lines.get(group.members[0])
        if line is not None:
            self.trace.lines.setdefault(found, line)
        self.place.update({node: (found, i) for i, node in enumerate(group.members)})

    def _applied(self, node: Node, operands: Sequence[Sequence[Node]]) -> Node:
        """Apply a node's op to arrays of numbers."""
        count = len(operands[0])
        given = tuple([self._wide(self.columns.of(each), count) for each in operands])
        return reapplied(node, given, newest(given, self.trace))

    def _wide(self, node: Node, count: int) -> Node:
        """Return an array; a number as an array of equal ones."""
        if node.op is LITERAL:
            return self.trace.literal(literal_value(node), ArrayType((count,), node.type.dtype))
        return node if node.type.ndim else lift(ops.broadcast(TracedArray(node), shape=(count,), axes=(0,)), self.trace)

    def _added(self, sums: Sequence[Sequence[Term]]) -> Node:
        """Return sums of terms that have the same signs."""
        columns = [self._wide(self.columns.of([x for _, x in column]), len(sums)) for column in zip(*sums, strict=True)]
        total = TracedArray(columns[0])
        for (minus, _), column in zip(sums[0][1:], columns[1:], strict=True):
            total = (ops.sub if minus else ops.add)(total, TracedArray(column))
        return lift(total, self.trace)

    def _scattered(self, sums: Sequence[Sequence[Term]]) -> Node:
        """Return sums of any terms: each term is added to where its sum is."""
        terms = [term for each in sums for term in each]
        signs = {minus for minus, _ in terms[1:]}
        if len(sums) == 1 and len(signs) == 1:
            rest = TracedArray(self._wide(self.columns.of([x for _, x in terms[1:]]), len(terms) - 1))
            first, total = TracedArray(self.value(terms[0][1])), ops.sum(rest, axes=(0,))
            found = ops.sub(first, total) if signs.pop() else ops.add(first, total)
            return lift(ops.reshape(found, shape=(1,)), self.trace)
        values = TracedArray(self._wide(self.columns.of([x for _, x in terms]), len(terms)))
        if any(minus for minus, _ in terms):
            factors = np.where([minus for minus, _ in terms], -1.0, 1.0).astype(values.dtype)
            values = ops.mul(values, TracedArray(lift(factors, self.trace)))
        if len(sums) == 1:
            return lift(ops.reshape(ops.sum(values, axes=(0,)), shape=(1,)), self.trace)
        rows = np.repeat(np.arange(len(sums)), list(map(len, sums)))
        found = ops.scatter_add(values, TracedArray(lift(rows, self.trace)), axis=0, batch=0, size=len(sums))
        return lift(found, self.trace)
