"""Programs in which laws are undone that made steps of a loop differ.

A law makes one joined array of joined arrays, so that the last of many that a list gave has as many operands as the
list had elements. Steps that differ in how many they join are none of a loop; written so that each joins one piece,
they are. And a law leaves x + 0 out: where steps add something, or nothing, those that add nothing lack an op.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Any

from primad.ir.node import LITERAL, Neutral, Node, Trace
from primad.ir.program import Program
from primad.ir.replay import rebuild
from primad.programs.rerolling.moved_parts import start_and_step
from primad.programs.rerolling.node_sequences import is_joined
from primad.transforms.dimensions import axis_map
from primad.transforms.lowering import expand, finish, rewritten


def one_by_one(program: Program) -> Program:
    """Return a program of primitives where it can be, whose joined arrays begin or end with the one before.

    A slice that ends where pieces do, as what was written so far of an array, is a joined array of these.
    """
    before: dict[tuple[Any, bool, Node], Node] = {}  # by params, and the operand that comes first, or last
    pieces: dict[Node, tuple[Node, ...]] = {}  # of a joined array

    def change(node: Node, mapping: dict[Node, Node], trace: Trace) -> Node | None:
        found = _shown_pieces(node, pieces)
        if found is None and is_joined(node):
            found = _shortened(node, before)
            pieces[node] = found or node.inputs
        if found is None or len(found) == 1:
            return None if found is None else mapping.get(found[0], found[0])
        joined = node if is_joined(node) else node.inputs[0]
        return trace.place(joined.op, tuple([mapping.get(x, x) for x in found]), joined.params)

    return rewritten(expand(program), change, copy=True)


def _shortened(node: Node, before: dict[tuple[Any, bool, Node], Node]) -> tuple[Node, ...] | None:
    """Return what a node joins, with a joined array before it in the place of many pieces; None if there is none."""
    found = None
    for front, outer in ((True, node.inputs[0]), (False, node.inputs[-1])):
        known = before.get((node.params, front, outer))
        before[node.params, front, outer] = node
        count = 0 if known is None else len(known.inputs)
        if known is not None and found is None and 1 < count < len(node.inputs):
            if front and node.inputs[:count] == known.inputs:
                found = (known, *node.inputs[count:])
            elif not front and node.inputs[-count:] == known.inputs:
                found = (*node.inputs[:-count], known)
    return found


def _shown_pieces(node: Node, pieces: Mapping[Node, tuple[Node, ...]]) -> tuple[Node, ...] | None:
    """Return which pieces of a joined array a slice shows, each of them whole; None if it shows something else."""
    if len(node.inputs) != 1 or node.inputs[0] not in pieces or not node.op.memory.views:
        return None
    (whole,) = node.inputs
    axis, length = dict(whole.params)["axis"], whole.type.shape
    map = axis_map(node)
    if len(map.operands[0]) != len(map.results[0]):
        return None
    ways = [start_and_step(*labels) for labels in zip(map.operands[0], map.results[0], strict=True)]
    if any(way is None or way[1] != 1 for way in ways) or any(
        n != length[i] for i, n in enumerate(node.type.shape) if i != axis
    ):
        return None
    start = ways[axis][0]
    ends = list(accumulate([x.type.shape[axis] for x in pieces[whole]], initial=0))
    if not {start, start + node.type.shape[axis]} <= set(ends):
        return None
    return pieces[whole][bisect_left(ends, start) : bisect_left(ends, start + node.type.shape[axis])] or None


def with_neutral_ops(program: Program) -> Program:
    """Return a program with the ops with a number that laws left out while it was recorded."""
    left = [each for each in program.neutral if any(x.op is LITERAL and x is not each[-1] for x in each[2])]
    takes = _takers(program, left)
    waiting = list(enumerate(left))[::-1]
    trace = Trace(origin=program.trace.origin)
    mapping = {x: trace.input(x.type, weak=bool(x.params)) for x in program.inputs}
    inputs = list(mapping.values())
    put_back: dict[int, Node] = {}
    latest: dict[Node, Node] = {}  # of what is left out, what stands for its operand
    for node in program.nodes:
        while waiting and waiting[-1][1][0] <= node.index:
            i, (_, op, operands, params, x) = waiting.pop()
            now = [rebuild(y, {}, trace) if y.op is LITERAL else mapping.get(y, y) for y in operands]
            put_back[i] = latest[x] = trace.place(op, tuple(map(latest.get, operands, now)), params)
        if node not in mapping:
            own = {x: put_back[takes[node, x]] for x in node.inputs if (node, x) in takes}
            before = {x: mapping[x] for x in own if x in mapping}
            mapping.update(own)
            mapping[node] = rebuild(node, mapping, trace, copy=True)
            mapping.update(before)
    return finish(program, trace, inputs, [mapping.get(x, x) for x in program.outputs], mapping)


def _takers(program: Program, left: Sequence[Neutral]) -> dict[tuple[Node, Node], int]:
    """Return which op that was left out a node took for its operand, by both.

    It computes the same whatever it took. Those ops are likely that take results of such ops elsewhere, as in other
    steps; all, where none are.
    """
    users: dict[Node, list[Node]] = {each[-1]: [] for each in left}
    ops, elsewhere = {each[1] for each in left}, set[Any]()
    for node in program.nodes:
        for k, x in enumerate(node.inputs):
            if x in users:
                users[x].append(node)
            elif x.op in ops:
                elsewhere.add((x.op, node.op, k, program.lines.get(node)))
    found = {}
    for i, (place, op, _, _, x) in enumerate(left):
        behind = users[x][bisect_left(users[x], place, key=attrgetter("index")) :]
        alike = [user for user in behind if (op, user.op, user.inputs.index(x), program.lines.get(user)) in elsewhere]
        found.update({(user, x): i for user in alike or behind})
    return found
