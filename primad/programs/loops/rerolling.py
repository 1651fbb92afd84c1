"""Loops that were written in Python, as loops of the program: code that never heard of `scan` gets its speed.

A `for` loop in plain NumPy is unrolled while it is recorded. Where its steps are equal they become a `scan`, before
anything is derived: so derivatives, batches and plans are those of a loop. Each step computes what it did before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import LITERAL, Node, Trace, literal_value
from primad.ir.program import Program, carry_lines, subprogram
from primad.ir.replay import newest, reapplied, rebuild, replay
from primad.ir.walks import dependents
from primad.ops.record.primitive import as_tuple
from primad.programs.loops.closed_bodies import with_scalars
from primad.programs.loops.joined_carries import JoinedCarries
from primad.programs.loops.loop_diagnostics import unrolled_loops
from primad.programs.loops.repeated_runs import FEWEST_STEPS, Period, period_of, same_value
from primad.programs.loops.scan import Form
from primad.programs.loops.scan import scan as scan_
from primad.programs.loops.stacked_rows import concatenated, stacked_rows
from primad.recording.traced_array import TracedArray
from primad.runtime.failure import nearest_line
from primad.runtime.tiling.tileable_axes import MOST_OPS, tileable_dimensions
from primad.system.quantities import several, size
from primad.transforms.lowering import lower

MOST_ROLLED = 4
"""Loops, one after the other, that are found in a program. Chosen: each is looked for in what the others leave."""

SMALL = 4096
"""Bytes that steps carry, above which a run of up to `MOST_OPS` ops stays unrolled if some axis is only mapped over.
Chosen: it can be cut into tiles along that axis then, and a Jacobian takes one pullback; a loop would hide both."""


def rolled(program: Program) -> Program:
    """Return a program whose long runs of equal steps are loops; the program itself if it has none.

    Its notes say which runs there are, and why one stays unrolled.
    """
    notes: list[str] = []
    for _ in range(MOST_ROLLED):
        period = period_of(program)
        if period is None:
            break
        line = nearest_line(program.lines, period.nodes[period.start])
        at = f" ({line})" if line else ""
        run = f"{several(period.steps, 'equal step')} of {several(period.length, 'op')}{at}, which Python unrolled,"
        rolling = _Rolling(program, period)
        made = rolling.program()
        if made is None:
            program.notes = (*notes, f"{run} stay so: {rolling.refused}")
            return program
        notes.append(f"{run} are one scan")
        program = made
    program.notes = (*notes, *unrolled_loops(program))
    return program


class _Rolling:
    """A program that is being built again, with a loop.

    Unrolled steps on large arrays that are only mapped over run in tiles, which stay in a cache through all of them, as
    steps of a loop do not. So they stay, unless there are so many that compiling them takes long.

    Values that a step takes from the steps before are carried: a node of the step and how many steps ago it was
    computed.

    Attributes:
        refused: why there is no loop.
    """

    def __init__(self, program: Program, period: Period) -> None:
        self.source = program
        self.period = period
        self.refused = ""
        self.place = {node: i for i, node in enumerate(period.nodes)}
        self.first = range(period.start, period.start + period.length)
        # of a node of the step, and how many steps ago it was computed, what stands for that before the first step
        self.carried: dict[tuple[int, int], Node | None] = {}
        self.carry_of: dict[tuple[int, int], tuple[int, int]] = {}  # by the node of the step and its operand
        self.rows: dict[tuple[Node, ...], None] = {}  # of each value from outside that differs, that of every step
        self.row_of: dict[tuple[int, int], tuple[Node, ...]] = {}  # by the node of the step and its operand
        self.stacked: dict[int, None] = {}  # nodes of the step that are used outside, in other steps than the last

    def program(self) -> Program | None:
        """Return the program with the loop; None if it has to stay as it is, or had better."""
        self._find_operands()
        users = self._used_outside()
        carried = [self.period.nodes[self.first[r]] for r, _ in self.carried]
        stacked = [self.period.nodes[self.first[r]] for r in self.stacked]
        if any(isinstance(node.type, TupleType) for node in (*carried, *stacked)):
            self.refused = "a step takes what an op with several results computed in the one before"
            return None
        large = sum(node.type.nbytes for node in carried) > SMALL
        if large and self.period.length * self.period.steps <= MOST_OPS and self._run_in_tiles():
            self.refused = f"they carry more than {size(SMALL)}, and up to {MOST_OPS} ops run in tiles"
            return None
        source = self.source
        trace = Trace(origin=source.trace.origin)
        mapping = {node: trace.input(node.type, weak=bool(node.params)) for node in source.inputs}
        inputs = list(mapping.values())
        try:
            self._replay(mapping, trace, lambda node: self.place.get(node, -1) < self.period.start)
            found = self._loop(mapping, trace)
            self._hand_over(found, users, mapping)
            self._replay_after(mapping, trace)
            carry_lines(source, mapping, trace)
            outputs = [mapping.get(node, node) for node in source.outputs]
            made = Program(trace, inputs, outputs, source.in_tree, source.out_tree, source.names, source.label)
            made.lines = trace.lines
            return made
        finally:
            trace.close()

    def _run_in_tiles(self) -> bool:
        """Say whether an axis that can be cut goes through two steps, and all that is carried but for small values.

        Tiles end where a sum along their axis is used: they do not stay in a cache through several steps then.
        """
        steps = self.period.nodes[self.period.start : self.period.start + 2 * self.period.length]
        given = dict.fromkeys(x for node in steps for x in node.inputs)
        given = {x: None for x in given if x not in set(steps)}
        second = [steps[self.period.length + r] for r, _ in self.carried]
        large = [node for node in second if node.type.nbytes * len(second) > SMALL]
        two = lower(subprogram(self.source, list(given), large))
        return any(
            all(node in axis.axis for node in two.outputs)
            and axis.axis.keys().isdisjoint(dependents(two.nodes, list(axis.reductions)) - axis.reductions)
            for axis in tileable_dimensions(two)
        )

    def _replay(self, mapping: dict[Node, Node], trace: Trace, chosen: Any) -> None:
        replay([node for node in self.source.nodes if chosen(node)], mapping, trace)

    def _replay_after(self, mapping: dict[Node, Node], trace: Trace) -> None:
        """Build again what comes after the run; what is joined of many steps' results are parts of one array."""
        for node in self.source.nodes:
            if self.place.get(node, -1) >= self.period.end:
                if node.op.indexing.joins and len(node.inputs) > FEWEST_STEPS:
                    pieces = [mapping.get(x, x) for x in node.inputs]
                    mapping[node] = concatenated(pieces, trace=trace, **dict(node.params))
                else:
                    mapping[node] = rebuild(node, mapping, trace)

    def _find_operands(self) -> None:
        """Find out what a step takes from the steps before it, and from outside, as the last step says."""
        ahead = self.period.length * (self.period.steps - 1)
        for i in self.first:
            for k, x in enumerate(self.period.nodes[i + ahead].inputs):
                self._find_operand(i, k, x, ahead)

    def _find_operand(self, i: int, k: int, x: Node, ahead: int) -> None:
        """Find out what an operand is: a row from outside, or what a step before carries; of others nothing is noted.

        Args:
            i: place of the node in the first step.
            k: which of its operands.
            x: that operand in the last step.
            ahead: how far the last step is from the first.
        """
        nodes, period = self.period.nodes, self.period
        at = self.place.get(x, -1)
        if at < period.start:
            each = tuple([node.inputs[k] for node in nodes[i : i + ahead + 1 : period.length]])
            if not all(same_value(x, other) for other in each):
                self.rows[each] = None
                self.row_of[i - period.start, k] = each
        elif at < period.start + ahead:
            back, r = divmod(at - period.start - ahead, period.length)
            for step in range(-back):
                given = nodes[i + step * period.length].inputs[k]
                before = self.carried.setdefault((r, -back - step), given)
                assert before is not None and same_value(before, given), "one value is carried from before the run"
            self.carry_of[i - period.start, k] = r, -back

    def _used_outside(self) -> list[tuple[Node, int, int]]:
        """Return the nodes of the run that are used outside of it: each with its node of the step, and its step."""
        nodes, period = self.period.nodes, self.period
        used = dict.fromkeys(self.source.outputs)
        for node in nodes[period.end :]:
            used.update(dict.fromkeys(node.inputs))
        found = []
        for node in used:
            at = self.place.get(node, -1)
            if period.start <= at < period.end:
                found.append((node, *divmod(at - period.start, period.length)[::-1]))
        for _, r, step in found:
            if step < period.steps - 1 and (r, period.steps - step) not in self.carried:
                self.stacked[r] = None
        for _, r, step in found:
            if step == period.steps - 1 and r not in self.stacked:
                self.carried.setdefault((r, 1), None)
        return found

    def _loop(self, mapping: dict[Node, Node], trace: Trace) -> list[TracedArray]:
        """Build the loop, and return its results."""
        period = self.period
        rows = [stacked_rows([mapping.get(x, x) for x in each], trace) for each in self.rows]
        body = Trace(origin=trace.origin)
        types = [period.nodes[self.first[r]].type for r, _ in self.carried]
        carry = {key: body.input(type) for key, type in zip(self.carried, types, strict=True)}
        row = {
            each: body.input(ArrayType(x.type.shape[1:], x.type.dtype)) for each, x in zip(self.rows, rows, strict=True)
        }
        inputs = [*carry.values(), *row.values()]
        own = self._step(mapping, body, carry, row)
        after = [own[r] if ago == 1 else carry[r, ago - 1] for r, ago in self.carried]
        program = Program(body, inputs, [*after, *[own[r] for r in self.stacked]], label=self.source.label)
        program.lines = body.lines
        start = [
            self._given(node, type, mapping, trace) for node, type in zip(self.carried.values(), types, strict=True)
        ]
        joined = JoinedCarries(program, start)
        of, sources = with_scalars(joined.program())
        body.close()
        start = joined.joined(start, trace)
        given = [TracedArray(x) for x in (*start, *rows)]
        closed = [
            TracedArray(node if node.op is not LITERAL else trace.literal(literal_value(node), node.type))
            for node in sources
        ]
        form = Form(len(start), len(rows), period.steps, False, False)
        found = list(as_tuple(scan_(*given, *closed, of=of, **form._asdict())))
        parts = joined.parts([x.node for x in found[: len(start)]])
        return [*map(TracedArray, parts), *found[len(start) :]]

    @staticmethod
    def _given(node: Node | None, type: Any, mapping: dict[Node, Node], trace: Trace) -> Node:
        """Return what is carried into the first step: zeros where no step takes it."""
        if node is None:
            return _filled(trace.literal(type.dtype.type(0).item(), ArrayType((), type.dtype)), type)
        return trace.literal(literal_value(node), node.type) if node.op is LITERAL else mapping.get(node, node)

    def _step(
        self, mapping: dict[Node, Node], body: Trace, carry: dict[tuple[int, int], Node], row: dict[Any, Node]
    ) -> list[Node]:
        """Build a step's nodes."""
        source = self.source
        own: list[Node] = []

        def operand(i: int, k: int, x: Node) -> Node:
            at, start = self.place.get(x, -1), self.period.start
            if (i - start, k) in self.row_of:
                given = row[self.row_of[i - start, k]]
                return given if given.type == x.type else _filled(given, x.type)
            if (i - start, k) in self.carry_of:
                return carry[self.carry_of[i - start, k]]
            if at >= start:
                return own[at - start]
            return body.literal(literal_value(x), x.type) if x.op is LITERAL else mapping.get(x, x)

        for i in self.first:
            node = self.period.nodes[i]
            operands = tuple([operand(i, k, x) for k, x in enumerate(node.inputs)])
            made = reapplied(node, operands, newest(operands, body))
            own.append(made)
            if node in source.lines:
                body.lines.setdefault(made, source.lines[node])
        return own

    def _hand_over(self, found: Sequence[TracedArray], users: Sequence[Any], mapping: dict[Node, Node]) -> None:
        """Say what became of the nodes of the run that are used outside."""
        after = dict(zip(self.carried, found, strict=False))
        stacked = dict(zip(self.stacked, found[len(after) :], strict=True))
        for node, r, step in users:
            ago = self.period.steps - step
            value = after[r, ago] if (r, ago) in after else stacked[r][step]
            mapping[node] = value.node


def _filled(number: Node, type: ArrayType) -> Node:
    """Return an array of one number."""
    found: TracedArray = ops.broadcast(TracedArray(number), shape=type.shape, axes=tuple(range(type.ndim)))
    return found.node
