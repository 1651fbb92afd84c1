"""Recomputing cheap values in the groups that use them, where storing them costs more than computing them again.

A derivative's second half uses what the first half computed: t·x where t and x are stored as well, say. A kernel that
reads t and x anyway computes t·x for nothing, while reading it back costs a write and a read of memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from primad import ops
from primad.ir.node import LITERAL, Node
from primad.system.machine import CORE

CHEAP = frozenset((ops.mul, ops.add, ops.sub, ops.neg))
LONGEST = CORE.flops_of_byte
"""Ops that are repeated for one value, at most: a core does so many while it would read the first byte of it."""


class _Groups:
    """Groups that change while values move between them; they go by their numbers."""

    def __init__(self, groups: Sequence[Sequence[Node]], steps: Sequence[Node], outputs: Sequence[Node]) -> None:
        self.members = [dict.fromkeys(group) for group in groups]
        self.owner = {node: i for i, group in enumerate(groups) for node in group}
        # Groups by their numbers; None is what is in no group: an output, or an op that no kernel does.
        self.users: dict[Node, set[int | None]] = {node: {None} for node in outputs}
        for node in steps:
            for operand in node.inputs:
                self.users.setdefault(operand, set()).add(self.owner.get(node))
        self.reads = [
            {x for node in group for x in node.inputs if x not in self.members[i]} for i, group in enumerate(groups)
        ]

    def sink(self, node: Node) -> None:
        """Move a value into the groups that use it, if that saves more passes over memory than it costs."""
        home = self.owner[node]
        others = [user for user in self.users[node] if user is not None and user != home]
        if not others or None in self.users[node]:
            return
        copies: dict[int, list[Node]] = {}
        more: dict[int, set[Node]] = {}
        for other in others:
            first = next(iter(self.members[other]))
            if first.type.shape != node.type.shape:
                return
            copies[other], more[other] = [], set()
            if not self._repeat(node, other, copies[other], more[other]):
                return
        # One write and a read for each user, against the reads that are new; equal costs change nothing.
        if sum(map(len, more.values())) > len(others):
            return
        for other in others:
            self.members[other].update(dict.fromkeys(copies[other]))
            self.reads[other] |= more[other]
            self.reads[other].discard(node)
            for copy in copies[other]:
                for operand in copy.inputs:
                    if operand.op is not LITERAL and operand not in self.members[other]:
                        self.users.setdefault(operand, set()).add(other)
        self.users[node] &= {home}
        if not self.users[node]:
            self._drop(node, home)

    def _drop(self, node: Node, group: int) -> None:
        """Take a value that nothing uses out of a group, and what only it used."""
        members = self.members[group]
        del members[node]
        for operand in node.inputs:
            if any(operand in member.inputs for member in members):
                continue
            owner = self.owner.get(operand)
            if operand in members and owner != group:
                self._drop(operand, group)
                continue
            self.reads[group].discard(operand)
            users = self.users[operand]
            users.discard(group)
            if owner is not None and not users and operand in self.members[owner]:
                self._drop(operand, owner)

    def _is_stored(self, node: Node) -> bool:
        return node not in self.owner or not self.users[node] <= {self.owner[node]}

    def _repeat(self, node: Node, other: int, copies: list[Node], more: set[Node]) -> bool:
        """Collect what `other` must compute and read for this value; False if that is too much."""
        if node.op not in CHEAP or len(copies) >= LONGEST:
            return False
        copies.append(node)
        for operand in node.inputs:
            if operand.op is LITERAL or operand in self.reads[other] or operand in self.members[other]:
                continue
            if operand in copies or operand in more:
                continue
            if self._is_stored(operand):
                more.add(operand)
            elif not self._repeat(operand, other, copies, more):
                return False
        return True


def recompute(groups: Sequence[Sequence[Node]], steps: Sequence[Node], outputs: Sequence[Node]) -> list[list[Node]]:
    """Return the groups with cheap values moved into their users; a value may then stand in several groups.

    Args:
        groups: the groups of a plan, each in the order of the steps.
        steps: all steps of the plan.
        outputs: nodes whose values are needed at the end.
    """
    state = _Groups(groups, steps, outputs)
    for group in groups:
        for node in reversed(group):
            state.sink(node)
    position = {node: i for i, node in enumerate(steps)}
    return [sorted(members, key=position.__getitem__) for members in state.members if members]
