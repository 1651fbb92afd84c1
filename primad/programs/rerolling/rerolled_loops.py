"""Loops that were written in Python, as loops of the program: code that never heard of `scan` gets its speed.

A `for` loop in plain NumPy is unrolled while it is recorded. Where its steps are equal they become a `scan`, before
anything is derived: so derivatives, batches and plans are those of a loop. Each step computes what it did before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from primad.ir.node import Node, Trace
from primad.ir.program import Program, carry_lines
from primad.ir.replay import rebuild, replay
from primad.programs.loop_sizes import FEWEST_STEPS
from primad.programs.rerolling.late_ops import late_ops
from primad.programs.rerolling.loop_diagnostics import unrolled_loops
from primad.programs.rerolling.loop_of_run import LoopOfRun, SharedStep
from primad.programs.rerolling.repeated_runs import Period, Sequences, is_short, period_of, run_after
from primad.programs.rerolling.runs_in_rows import runs_in_rows
from primad.programs.rerolling.stacked_rows import Rebuilt, concatenated
from primad.programs.rerolling.undone_laws import one_by_one, with_neutral_ops, with_repeated_ops
from primad.runtime.failure import nearest_line
from primad.system.quantities import several

MOST_ROLLED = 4
"""Loops, one after the other, that are found in one pass, and passes, each over what the one before leaves. Chosen: for
each all nodes are looked at."""

MOST_UNROLLED = 128
"""Nodes of a turn of an outer loop, up to which what is inside of it stays unrolled. Tuned: the gradient of a loop with
steps of 120 ops on numbers is compiled in 60 ms, and takes half of the time of one with a loop inside."""


def rolled(program: Program) -> Program:
    """Return a program whose long runs of equal steps are loops; the program itself if it has none.

    Its notes say which runs there are, and why one stays unrolled.
    """
    before = program.notes
    known = Sequences(program)
    apart = with_repeated_ops(program, known.arrays)
    found = None if apart is None else _rolled(apart)
    if found is not None and len(found.nodes) >= len(program.nodes):
        found = None
    if found is None or not is_short(found.nodes):
        other = _rolled(program, known=known)
        if found is None or (other is not None and len(other.nodes) <= len(found.nodes)):
            found = other
    if found is None and len(program.neutral) >= FEWEST_STEPS:
        found = _rolled(with_neutral_ops(program), mixed=True)
    found = found or _rolled(program, changing=True) or program
    found.notes = (*before, *found.notes)
    return found


def _rolled(
    program: Program, mixed: bool = False, changing: bool = False, known: Sequences | None = None
) -> Program | None:
    """Return a program whose runs of equal steps are loops; None if it has none, and there is more to be tried.

    Args:
        program: the program.
        mixed: whether values from outside of one type are rows of one array whatever they are, and laws may apply anew.
        changing: whether it is known that no steps are equal but for lengths, and there is nothing more to be tried.
        known: its sequences, with rows of one array told from others; they are made if there are none.
    """
    if is_short(program.nodes) and not changing:  # what its composites are may be long
        return None
    notes: list[str] = []
    refused: dict[str, str] = {}
    nested = False  # whether there are many loops now, which may be steps of another one
    for _ in range(MOST_ROLLED):
        source, period = program, None
        if notes or not changing:
            if notes or known is None:
                known = Sequences(program, nested, mixed)
            late = [] if program.trace.several else late_ops(known.of(known.sources))  # results of one op stay together
            if late:
                known.reorder(late)
            runs = runs_in_rows(program, nested, known)
            if not nested and _follow_closely(runs):
                period = period_of(program, known=known)
            short = period is not None and period.length <= MOST_UNROLLED and period.is_most
            rows = [] if short else [loop for loop in _loops(program, runs) if not loop.refused]
            if len(rows) >= FEWEST_STEPS and 2 * sum(bool(loop.carry_of) for loop in rows) > len(rows):
                notes.append(f"{len(rows)} times {_said(program, rows[0].period)} are one scan each")
                program, nested = _with_loops(program, rows, not mixed), True
                continue
            period = period or period_of(program, of_loops=nested, known=known)
        if period is None and (notes or changing):
            source = one_by_one(program)
            period = period_of(source, changing=True)
        if period is None:
            break
        after = [period] if known is None or period.changing else _with_those_after(known, period)
        loop, *others = _loops(source, after)
        if loop.refused and period.changing:
            refused[nearest_line(source.lines, period.nodes[period.start]) or ""] = loop.refused
            break
        if loop.refused:
            program.notes = (*notes, f"{_said(source, period)} stay so: {loop.refused}")
            return program if notes or not mixed else None
        found = [loop, *takewhile(lambda other: not other.refused, others)]  # others take rows of all before them
        notes += [f"{_said(source, each.period)} are one scan" for each in found]
        program = _with_loops(source, found, not mixed)
    if not notes and not changing:
        return None
    program.notes = (*notes, *unrolled_loops(program, refused))
    return program


def _follow_closely(runs: Sequence[Period]) -> bool:
    """Say whether runs are so short that a loop around them had better hold their steps one by one."""
    return bool(runs) and runs[-1].start - runs[0].start < MOST_UNROLLED * (len(runs) - 1)


def _with_those_after(known: Sequences, run: Period) -> list[Period]:
    """Return a run and those that follow on it, all with their nodes in one order.

    They are found at once: what is built again for each loop is most of the time that a loop takes.
    """
    found = [run]
    while len(found) < MOST_ROLLED:
        other = run_after(known, found)
        if other is None:
            break
        found = [replace(each, nodes=other.nodes) for each in [*found, other]]
    return found


def _said(program: Program, period: Period) -> str:
    """Return how many steps a run has, and where it is written."""
    line = nearest_line(program.lines, period.nodes[period.end - 2 * period.length])  # no op that was left out
    at = f" ({line})" if line else ""
    lengths = " on arrays of other lengths" if period.changing else ""
    steps = f"{several(period.steps, 'equal step')} of {several(period.length, 'op')}{lengths}"
    return f"{steps}{at}, which Python unrolled,"


def _loops(program: Program, runs: Sequence[Period]) -> list[LoopOfRun]:
    """Return the loops that runs become, which have their nodes in one order."""
    if not runs:
        return []
    nodes = runs[0].nodes
    place = {node: i for i, node in enumerate(nodes)}
    behind = runs[0].end
    last = {x: i for i, node in enumerate(nodes[behind:], behind) for x in node.inputs}
    last.update(dict.fromkeys(program.outputs, len(nodes)))
    used = sorted([(place[x], i) for x, i in last.items() if x in place])
    found = [LoopOfRun(program, period, place, used) for period in runs]
    if len(found) >= FEWEST_STEPS:
        found = _alike(found, lambda period, like: LoopOfRun(program, period, place, used, like))
    if not any(loop.ends_apart for loop in found):
        return found
    return _loops(program, [replace(each.period, steps=each.period.steps - each.ends_apart) for each in found])


def _alike(loops: Sequence[LoopOfRun], again: Callable[[Period, LoopOfRun], LoopOfRun]) -> list[LoopOfRun]:
    """Return loops that leave what most of them leave, where they leave less, as that of the last row of a table."""
    of = {tuple(loop.stacked): loop for loop in loops}
    (most, _), *_ = Counter([tuple(loop.stacked) for loop in loops]).most_common()
    like = of[most]
    return [
        again(loop.period, like)
        if tuple(loop.stacked) != most and loop.stacked.keys() <= like.stacked.keys() and _do_the_same(loop, like)
        else loop
        for loop in loops
    ]


def _do_the_same(one: LoopOfRun, other: LoopOfRun) -> bool:
    """Say whether the steps of two loops have the same ops."""
    steps = [loop.period.nodes[loop.period.start :][: loop.period.length] for loop in (one, other)]
    return [(node.op, node.type) for node in steps[0]] == [(node.op, node.type) for node in steps[1]]


def _with_loops(source: Program, loops: Sequence[LoopOfRun], copy: bool) -> Program:
    """Return a program in which runs are loops: what comes before the first, what lies between, and what follows.

    Args:
        source: the program.
        loops: the loops, in order.
        copy: whether no law applies anew to what comes before.
    """
    trace = Trace(origin=source.trace.origin)
    weak = [bool(node.params) for node in source.inputs]
    given = {x: trace.input(x.type, weak=weak) for x, weak in zip(source.inputs, weak, strict=True)}
    inputs = list(given.values())
    nodes, place, begin = loops[0].period.nodes, loops[0].place, loops[0].period.start
    end = loops[-1].period.end
    before, after = list[Node](), list[Node]()
    for node in source.nodes:
        at = place.get(node, -1)
        if at < begin:
            before.append(node)
        elif at >= end:
            after.append(node)
    rows = [node for node in before if node not in place and node not in given]  # few are taken alone
    mapping = Rebuilt(given, trace, rows)
    steps: dict[Any, SharedStep] = {}
    try:
        replay([node for node in before if node in place], mapping, trace, copy)
        for loop in loops:
            _replay_after(nodes[begin : loop.period.start], mapping, trace)
            loop.add(mapping, trace, steps)
            begin = loop.period.end
        _replay_after(after, mapping, trace)
        outputs = [mapping.get(node, node) for node in source.outputs]
        carry_lines(source, dict(mapping), trace)
        made = Program(trace, inputs, outputs, source.in_tree, source.out_tree, source.names, source.label)
        made.lines = trace.lines
        return made
    finally:
        trace.close()


def _replay_after(nodes: Sequence[Node], mapping: Rebuilt, trace: Trace) -> None:
    """Build again what comes after a run; what is joined of many steps' results are parts of one array."""
    for node in nodes:
        if node.op.indexing.joins and len(node.inputs) > FEWEST_STEPS:
            mapping[node] = concatenated(mapping.pieces(node), trace=trace, **dict(node.params))
        elif not mapping.put_off(node):
            mapping[node] = rebuild(node, mapping, trace)
