"""Programs in which laws are undone that made steps of a loop differ.

A law makes one joined array of joined arrays, so that the last of many that a list gave has as many operands as the
list had elements. Steps that differ in how many they join are none of a loop; written so that each joins one piece,
they are. And a law leaves x + 0 out: where steps add something, or nothing, those that add nothing lack an op. What is
equal is computed once: a step that takes what an earlier one took, as the same window again, lacks what that one has.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from itertools import accumulate
from operator import attrgetter
from typing import Any

import numpy as np

from primad.ir.node import LITERAL, Neutral, Node, Trace
from primad.ir.node_arrays import NodeArrays
from primad.ir.program import Program
from primad.ir.replay import rebuild
from primad.programs.loop_sizes import FEWEST_STEPS
from primad.programs.rerolling.moved_parts import start_and_step
from primad.programs.rerolling.node_sequences import is_joined
from primad.programs.rerolling.runs_in_rows import LONGEST_STEPS
from primad.system.deferred import distinct
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


Instance = tuple[Node, int]
"""A node, and which of the times that it is computed."""
Taken = dict[tuple[Node, int, Node], int]
"""Which instance of an operand an instance of a node takes, where it is not the first."""


def with_repeated_ops(program: Program, arrays: NodeArrays) -> Program | None:
    """Return a program that computes again what steps share by chance; None if there is nothing like that.

    Args:
        program: the program.
        arrays: its nodes.
    """
    taken = _Shared(program, arrays).taken()
    if not taken:
        return None
    trace = Trace(origin=program.trace.origin)
    mapping = {x: trace.input(x.type, weak=bool(x.params)) for x in program.inputs}
    inputs = list(mapping.values())
    again: dict[Instance, Node] = {}
    takers = {node for node, *_ in taken}
    for node in program.nodes:
        own: dict[Node, Node] = {}
        if node in takers:
            for x, i in _missing(node, taken, again):
                given = [(y, taken.get((x, i, y), 0)) for y in x.inputs]
                operands = tuple([again[y, j] if j else mapping.get(y, y) for y, j in given])
                again[x, i] = trace.copy(x, operands, again=True)
                if x in program.lines:
                    trace.lines[again[x, i]] = program.lines[x]
            own = {x: again[x, i] for x in node.inputs if (i := taken.get((node, 0, x), 0))}
        if node not in mapping:
            mapping[node] = rebuild(node, {**mapping, **own} if own else mapping, trace, copy=True)
    return finish(program, trace, inputs, [mapping.get(x, x) for x in program.outputs], mapping)


def _missing(node: Node, taken: Taken, known: Mapping[Instance, Node]) -> list[Instance]:
    """Return what a node takes that is computed again for it, with what that takes, in the order of the first time."""
    found: dict[Instance, None] = {}
    waiting: list[Instance] = [(node, 0)]
    while waiting:
        user, i = waiting.pop()
        given = [(x, j) for x in user.inputs if (j := taken.get((user, i, x), 0))]
        new = [each for each in given if each not in known and each not in found]
        waiting += new
        found.update(dict.fromkeys(new))
    return sorted(found, key=lambda each: each[0].index)


class _Shared:
    """The results of a program that steps share by chance, as what they compute of the same window.

    Ops of one kind and line, most of which take results that none of the others takes, are likely those of steps.

    Args:
        program: the program.
        arrays: its nodes.
    """

    def __init__(self, program: Program, arrays: NodeArrays) -> None:
        self._lines, self._arrays = program.lines, arrays
        leaves = arrays.of_kinds(lambda _: False, nothing=True)
        leaves[arrays.own :] = True
        self._given = leaves[arrays.shown]  # leaves and views of them, which steps take in any case
        user = np.repeat(np.arange(arrays.own), arrays.count)
        computed = ~self._given[arrays.operands]
        pair = distinct(user[computed] * len(arrays.nodes) + arrays.operands[computed])
        self._user, self._taken = np.divmod(pair, len(arrays.nodes))

    def taken(self) -> Taken:
        """Return what takes which instance of what is shared, if each step computes it.

        What nothing else takes than what is computed again is computed again with it. Nothing is, where there would be
        as many ops again: a result that each step takes twice of the one before, which is shared on purpose, doubles.
        """
        chosen = self._by_chance()
        if not chosen:
            return {}
        nodes, order = self._arrays.nodes, np.argsort(self._taken, kind="stable")
        begin = np.searchsorted(self._taken[order], np.arange(len(nodes) + 1))
        waiting = sorted({-self._arrays.place(x) for x, _ in chosen})
        times: dict[Node, int] = {}
        found: Taken = {}
        while waiting and len(found) <= len(nodes):  # from the last on: what takes a node is known before it
            at = -heappop(waiting)
            x = nodes[at]
            if x in times:
                continue
            of: dict[Any, list[Node]] = {}
            for node in [nodes[i] for i in self._user[order[begin[at] : begin[at + 1]]].tolist()]:
                of.setdefault((node.op, self._lines.get(node)), []).append(node)
            each_of = {key: [(y, i) for y in of[key] for i in range(times.get(y, 1))] for key in of}
            lengths = {len(each_of[key]) for key in of if (x, key) in chosen}
            if not lengths and all(len(each) == 1 for each in of.values()):
                lengths = {len(each) for each in each_of.values()}
            for each in each_of.values():
                if lengths == {len(each)}:  # each takes that of its step
                    found.update({(*taker, x): j for j, taker in enumerate(each) if j})
                    times[x] = len(each)
            for i in map(self._arrays.place, x.inputs) if times.get(x, 1) > 1 else ():
                if not self._given[i]:
                    heappush(waiting, -i)
        return {} if waiting else found

    def _by_chance(self) -> set[tuple[Node, Any]]:
        """Return what several ops of a kind and line take, where most of those take results of their own."""
        nodes, kinds = self._arrays.nodes, self._arrays.kinds[self._user]
        use, which, times = np.unique(kinds * len(nodes) + self._taken, return_inverse=True, return_counts=True)
        few = times < FEWEST_STEPS  # the others are the same for all steps
        kind, at = np.divmod(use[few], len(nodes))
        own, every = np.bincount(kind), np.bincount(kind, weights=times[few])
        last = dict(zip(kind[times[few] > 1].tolist(), at[times[few] > 1].tolist(), strict=True))
        some = [each for each, x in last.items() if 2 * own[each] > every[each] and not self._needs_much(x)]
        if not some:
            return set()
        wanted = np.zeros(len(self._arrays.like), bool)
        wanted[some] = True
        uses = np.flatnonzero(few[which] & wanted[kinds])
        pairs = zip(self._user[uses].tolist(), self._taken[uses].tolist(), strict=True)
        counted = Counter([(nodes[x], (nodes[i].op, self._lines.get(nodes[i]))) for i, x in pairs])
        single = Counter([key for _, key in counted])
        whole: Counter[Any] = Counter()
        for (_, key), n in counted.items():
            whole[key] += n
        found = {(x, key) for (x, key), n in counted.items() if n > 1 and 2 * single[key] > whole[key]}
        return found if len(found) >= FEWEST_STEPS // 2 else set()  # a few only part a loop into some

    def _needs_much(self, at: int) -> bool:
        """Say whether a result needs more ops than a step has: it is none that steps share by chance then."""
        arrays, known, waiting = self._arrays, {at}, [at]
        while waiting and len(known) <= LONGEST_STEPS:
            i = waiting.pop()
            operands = arrays.operands[arrays.first[i] : arrays.first[i] + arrays.count[i]].tolist()
            new = [x for x in operands if x not in known and not self._given[x]]
            known.update(new)
            waiting += new
        return len(known) > LONGEST_STEPS
