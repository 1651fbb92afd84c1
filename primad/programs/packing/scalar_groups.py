"""Which scalar ops of a program do the same to different numbers, and can be computed together.

Code that another program wrote, as from a list of reactions, has a line for each equation, and a line is ops on numbers
(`r17 = k[17]*y[3]*y[88]`). Ops of one *level* do not depend on each other: an op's level is how many ops lead to it.
Those that are the same op on the same types are a *group*. A sum of many terms is one op here, whatever its length:
else the longest one would make as many levels. Elements of an array that are joined count as ops: each would be cut out
by an op of its own, and have a derivative as large as the array.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from primad.ir.array_types import ArrayType
from primad.ir.node import Leaf, Node, params_key
from primad.ir.program import Program
from primad.programs.loop_sizes import FEWEST_NODES, FEWEST_STEPS
from primad.programs.packing.columns import Joins, is_small_view

MOST_PARTS = 4
"""Numbers that ops of one form take, up to which those that take each are a group. Chosen: each group is an op."""

Term = tuple[bool, Node]
"""A term of a sum, and whether it is subtracted."""


class Group(Struct, frozen=True):
    """Ops, or sums, on numbers that can be computed together.

    Attributes:
        members: the nodes that they compute.
        terms: what each of the sums adds up, in order; None for a group of ops.
    """

    members: Sequence[Node]
    terms: Sequence[Sequence[Term]] | None = None

    @property
    def size(self) -> int:
        """How many ops it stands for."""
        return len(self.members) if self.terms is None else sum(len(each) - 1 for each in self.terms)


class Levels(Struct, frozen=True):
    """The groups of a program, in an order in which they can be computed.

    Attributes:
        groups: by level.
        level_of: the level of each node; what is in no group comes after the groups of its level.
        count: how many nodes the groups compute, with the parts of their sums.
        joins: what joins numbers.
    """

    groups: dict[int, list[Group]]
    level_of: dict[Node, int]
    count: int
    joins: Joins

    @property
    def fewest_nodes(self) -> int:
        """Nodes that compute the groups at least, of which most take what another gathers for them."""
        return 2 * sum(map(len, self.groups.values()))

    def rest(self, program: Program) -> int:
        """Return how many nodes of the program they come from stay beside the groups, at least."""
        return sum(not is_small_view(node) for node in program.nodes) - self.count


def groups_of(program: Program, fewest: int | None = None) -> Levels | None:
    """Return what can be computed together; None where that is too little to be worth it.

    Args:
        program: the program.
        fewest: scalar ops for which it is worth it; `FEWEST_NODES` by default.
    """
    scalars = {node for node in program.nodes if _is_scalar_op(node)}
    joins = Joins(program.nodes)
    elements = joins.elements
    everything = len(scalars) + elements
    if everything < (FEWEST_NODES if fewest is None else fewest):
        return None
    sums = _Sums(program, scalars)
    counted = scalars - sums.inside
    level_of, latest = _levels(program, counted, sums.inside)
    if 2 * (_most_in_groups(counted, sums.inside, level_of, latest) + elements) < everything:
        return None
    groups = _Grouping(sums, level_of, latest).groups([node for node in program.nodes if node in counted])
    count = sum(each.size for found in groups.values() for each in found)
    level_of.update((node, level) for level, found in groups.items() for each in found for node in each.members)
    return Levels(groups, level_of, count, joins) if 2 * (count + elements) >= everything else None


def _most_in_groups(
    counted: set[Node], inside: set[Node], level_of: Mapping[Node, int], latest: Mapping[Node, int]
) -> int:
    """Return how many ops could be in groups: those with enough others beside them at some level, and long sums.

    Steps that follow on each other have few ops at a level: so it is seen at once that they are no groups.
    """
    first = np.array([level_of[node] for node in counted], np.int64)
    last = np.array([latest[node] for node in counted], np.int64)
    levels = last.max(initial=0) + 2
    change = np.bincount(first, minlength=levels) - np.bincount(last + 1, minlength=levels)
    width = np.cumsum(change)
    wide = np.concatenate([[0], np.cumsum(width >= FEWEST_STEPS)])
    return int((wide[last + 1] > wide[first]).sum()) + 2 * len(inside)


def _levels(program: Program, counted: set[Node], inside: set[Node]) -> tuple[dict[Node, int], dict[Node, int]]:
    """Return the levels of nodes, and the last one at which each can be computed while its users keep theirs.

    Args:
        program: the program.
        counted: the nodes that are of a higher level than what they take.
        inside: the nodes that are parts of a sum, and are computed right before the rest of it.
    """
    level_of: dict[Node, int] = {}
    for node in program.nodes:
        level = 0
        for x in node.inputs:
            level = max(level, level_of.get(x, 0))
        level_of[node] = level + (node in counted)
    top = max(level_of.values(), default=0)
    latest: dict[Node, int] = {}
    for node in reversed(program.nodes):
        latest.setdefault(node, top)
        if node in inside:
            level_of[node] = latest[node]
        last = latest[node] if is_small_view(node) or node in inside else level_of[node] - (node in counted)
        for x in node.inputs:
            latest[x] = min(latest.get(x, top), last)
    return level_of, latest


def _is_scalar_op(node: Node) -> bool:
    """Say whether a node is an op on numbers that does the same to each element of arrays."""
    return (
        not isinstance(node.op, Leaf)
        and node.op.axes.pointwise
        and not node.op.memory.views
        and all(isinstance(x.type, ArrayType) and x.type.shape == () for x in (node, *node.inputs))
    )


class _Sums:
    """The sums of a program: chains of additions and subtractions of numbers, from left to right as they were written.

    A sum inside of brackets is a sum of its own, since numbers that are added in another order are rounded otherwise.

    Attributes:
        inside: the nodes that are the beginning of another sum, and nothing else.
    """

    def __init__(self, program: Program, scalars: set[Node]) -> None:
        uses = Counter(x for node in program.nodes for x in node.inputs)
        uses.update(program.outputs)
        self._signs: dict[Any, int | None] = {}
        self._sums = {node for node in scalars if node.type.dtype.kind in "fc" and self._sign(node) is not None}
        self.inside = {
            node.inputs[0] for node in self._sums if node.inputs[0] in self._sums and uses[node.inputs[0]] == 1
        }

    def _sign(self, node: Node) -> int | None:
        if len(node.inputs) != 2 or node.params or node.op.kind != "linear":
            return None
        if node.op not in self._signs:
            self._signs[node.op] = _second_sign(node.op)
        return self._signs[node.op]

    def terms(self, node: Node) -> list[Term] | None:
        """Return what a sum adds up, None if the node is none."""
        if node not in self._sums:
            return None
        found: list[Term] = []
        while True:
            found.append((self._sign(node) == -1, node.inputs[1]))
            node = node.inputs[0]
            if node not in self.inside:
                return [(False, node), *reversed(found)]


def _second_sign(op: Any) -> int | None:
    """Return 1 or −1 where a linear op gives its first operand plus or minus its second; None where it does neither."""
    one, zero = np.ones(()), np.zeros(())
    first, second = op.numpy(one, zero), op.numpy(zero, one)
    return int(np.real(second)) if first == 1 and (second == 1 or second == -1) else None


class _Grouping:
    """Finds groups: nodes of one form that can be computed at one level.

    Args:
        sums: the sums of the program.
        level_of: the first level at which each node can be computed.
        latest: the last one.
    """

    def __init__(self, sums: _Sums, level_of: dict[Node, int], latest: dict[Node, int]) -> None:
        self._terms = sums.terms
        self._first = level_of
        self._latest = latest
        self._found: dict[int, list[Group]] = defaultdict(list)

    def groups(self, nodes: Sequence[Node]) -> dict[int, list[Group]]:
        """Return the groups by level."""
        alike: dict[Any, list[Node]] = defaultdict(list)
        terms = {node: self._terms(node) for node in nodes}
        taken = self._of_lone_sums(terms)
        for node in nodes:
            if node in taken:
                continue
            signs = terms[node]
            alike[_form(node) if signs is None else (node.type, *(minus for minus, _ in signs))].append(node)
        others: dict[Any, list[Node]] = defaultdict(list)
        for members in alike.values():
            left = self._take(members, terms, False)
            if terms[members[0]] is not None:
                others[members[0].type] += left
        for members in others.values():
            self._take(members, terms, True)
        return self._found

    def _of_lone_sums(self, sums: Mapping[Node, Sequence[Term] | None]) -> set[Node]:
        """Make a group of the terms of each sum that is computed alone, and return them.

        Such sums are the steps of a loop, as the rows of a substitution: short ones too, where many are long. As many
        groups would be made of terms that could be computed together too, but not the same in each step.
        """
        levels = Counter([self._first[node] for node, added in sums.items() if added is not None])
        alone: dict[Any, list[tuple[Node, Sequence[Node]]]] = defaultdict(list)
        for node, added in sums.items():
            if added is None or levels[self._first[node]] >= FEWEST_STEPS:
                continue
            own = [x for _, x in added if sums.get(x, added) is None and self._latest[x] == self._first[node] - 1]
            if len(set(own)) == len(own) and len({_form(x) for x in own}) == 1:
                alone[_form(own[0])].append((node, own))
        for rows in alone.values():
            long = [(node, terms) for node, terms in rows if len(terms) >= FEWEST_STEPS]
            for node, terms in rows if len(long) >= FEWEST_STEPS else long:
                self._found[self._latest[terms[0]]].append(Group(terms))
                if (added := sums[node]) is not None and len(terms) < FEWEST_STEPS:
                    self._found[self._latest[node]].append(Group([node], [added]))
        return {x for groups in self._found.values() for each in groups for x in each.members}

    def _take(self, nodes: Sequence[Node], terms: Mapping[Node, Sequence[Term] | None], mixed: bool) -> list[Node]:
        """Make as few groups of nodes of one form as there can be; return what is too few for one.

        Args:
            nodes: of one form.
            terms: what each adds up.
            mixed: whether they are sums with terms of various signs and numbers, whose length counts.
        """
        left: list[Node] = []
        last: int | None = None
        members: list[Node] = []
        for node in [*sorted(nodes, key=self._latest.__getitem__), None]:
            if node is not None and last is not None and self._first[node] <= last:
                members.append(node)
                continue
            for group in _groups(members, terms):
                if last is not None and (group.size if mixed else len(members)) >= FEWEST_STEPS:
                    self._found[last].append(group)
                else:
                    left += group.members
            if node is not None:
                last, members = self._latest[node], [node]
        return left


def _groups(members: Sequence[Node], terms: Mapping[Node, Sequence[Term] | None]) -> list[Group]:
    """Return nodes of one form and level as groups: ops that take one and the same number apart from others.

    Else that number is repeated, and what the others take is gathered from more than one place.
    """
    added = [found for x in members if (found := terms[x]) is not None]
    if added or not members:
        return [Group(members, added or None)]
    for k in range(len(members[0].inputs)):
        parts: dict[Node, list[Node]] = defaultdict(list)
        for node in members:
            parts[node.inputs[k]].append(node)
        if 1 < len(parts) <= MOST_PARTS and min(map(len, parts.values())) >= FEWEST_STEPS:
            return [Group(part) for part in parts.values()]
    return [Group(members)]


def _form(node: Node) -> tuple[Any, ...]:
    """Return what is the same of ops that can be one op on arrays."""
    given = tuple([node.inputs[k] for k in node.op.static_operands])
    return node.op, params_key(node.params), tuple([x.type for x in node.inputs]), given, node.type
