"""One loop of the program that a run of equal steps becomes.

Values that a step takes from the steps before are carried: a node of the step and how many steps ago it was computed.
What differs from step to step and comes from outside are rows of arrays; what is used outside is stacked.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import CAPTURED, LITERAL, Node, Trace, literal_key, literal_value, params_key
from primad.ir.program import ClosedProgram, Program, subprogram
from primad.ir.replay import rebuild
from primad.ir.walks import dependents
from primad.ops.record.primitive import as_tuple
from primad.programs.loop_sizes import FEWEST_STEPS
from primad.programs.loops.closed_bodies import with_scalars
from primad.programs.loops.scan import Form
from primad.programs.loops.scan import scan as scan_
from primad.programs.rerolling.frames import Frames, NoFrames
from primad.programs.rerolling.joined_carries import JoinedCarries
from primad.programs.rerolling.moved_parts import cut, lengthened, moved, on_elements
from primad.programs.rerolling.node_sequences import is_one_number, same_value
from primad.programs.rerolling.repeated_runs import Period
from primad.programs.rerolling.stacked_rows import Rebuilt, row_of
from primad.programs.rerolling.taken_elements import is_repeated
from primad.recording.traced_array import TracedArray, lift
from primad.runtime.tiling.tileable_axes import MOST_OPS, tileable_dimensions
from primad.system.quantities import size
from primad.transforms.lowering import lower

SMALL = 4096
"""Bytes that steps carry, above which a run of up to `MOST_OPS` ops stays unrolled if some axis is only mapped over.
Chosen: it can be cut into tiles along that axis then, and a Jacobian takes one pullback; a loop would hide both."""

MOST_PRODUCTS = 0.5
"""Flops of matrix products for each byte that a step computes, above which a run is a loop whatever it carries. Tuned:
recurrent cells on 16 to 256 rows (0.6 to 4 flops) take a quarter of to 1.4 times the time in a loop as in tiles,
and their first call a fifth or less; a network of 16 on 1000 rows (0.3) takes two times as long in a loop."""


class SharedStep(NamedTuple):
    """The program of a loop's step.

    Attributes:
        of: the program.
        sources: what it closes over.
        numbers: of what it closes over from before the loop, the number by which that of another loop is found.
    """

    of: ClosedProgram
    sources: Sequence[Node]
    numbers: Mapping[Node, int]


class LoopOfRun:
    """The loop that a run of equal steps of a program becomes.

    Unrolled steps on large arrays that are only mapped over run in tiles, which stay in a cache through all of them, as
    steps of a loop do not. So they stay, unless there are so many that compiling them takes long.

    Args:
        source: the program.
        period: the run.
        place: where each of its nodes stands.
        used: where nodes stand that are used behind the first run, in order, and the last of what uses each; behind all
            nodes if the program returns it.
        like: a loop that may be a step of the same outer one: what it leaves is left, whether it is used or not.

    Attributes:
        period: the same.
        refused: why there is no loop; empty if there is one.
        ends_apart: whether others take a result of an op with several from the last step, which no step takes: there is
            a loop of the steps before.
    """

    def __init__(
        self,
        source: Program,
        period: Period,
        place: Mapping[Node, int],
        used: Sequence[tuple[int, int]],
        like: LoopOfRun | None = None,
    ) -> None:
        self.source, self.period, self.place = source, period, place
        self.first = range(period.start, period.start + period.length)
        # the last but one: what laws left out of the first steps and of the last, nothing else takes
        self.usual = range(period.end - 2 * period.length, period.end - period.length)
        # of a node of the step, and how many steps ago it was computed, what stands for that before the first step
        self.carried: dict[tuple[int, int], Node | None] = {}
        self.carry_of: dict[tuple[int, int], tuple[int, int]] = {}  # by the node of the step and its operand
        self.rows: dict[tuple[Node, ...], None] = {}  # of each value from outside that differs, that of every step
        self.row_of: dict[tuple[int, int], tuple[Node, ...]] = {}  # by the node of the step and its operand
        self.views: dict[tuple[Node, ...], tuple[Node, ...]] = {}  # of rows that show others, the same way in each step
        self._is_like_another = like is not None
        # nodes of the step that are used outside, in other steps than the last
        self.stacked: dict[int, None] = {} if like is None else dict(like.stacked)
        self._find_operands()
        self._find_views()
        self.users = self._used_outside(used)
        self.refused = self._hindrance()
        several = [(r, x) for (r, _), x in self.carried.items() if self._has_several(r)]
        last = bool(several) and all(x is None for _, x in several) and not any(map(self._has_several, self.stacked))
        self.ends_apart = last and period.steps > FEWEST_STEPS

    def _hindrance(self) -> str:
        """Return why the run has to stay as it is, or had better."""
        try:
            self.frames = Frames(self.period, {r for _, r, _ in self.users})
        except NoFrames as why:
            return str(why)
        carried = [self.period.nodes[self.first[r]] for r, _ in self.carried]
        if any(map(self._has_several, [*[r for r, _ in self.carried], *self.stacked])):
            return "a step takes what an op with several results computed in the one before"
        large = sum(node.type.nbytes for node in carried) > SMALL
        few = self.period.length * self.period.steps <= MOST_OPS
        if large and few and not self.period.changing and self._run_in_tiles():
            return f"they carry more than {size(SMALL)}, and up to {MOST_OPS} ops run in tiles"
        return ""

    def _has_several(self, r: int) -> bool:
        """Say whether a node of the step has several results."""
        return isinstance(self.period.nodes[self.first[r]].type, TupleType)

    def add(self, mapping: Rebuilt, trace: Trace, steps: dict[Any, SharedStep]) -> None:
        """Build the loop, of what became of the nodes before it, and say what became of its own that are used.

        Args:
            mapping: what became of the nodes before the loop.
            trace: where it is built.
            steps: programs of steps that loops before it have, of which one may be that of this loop too.
        """
        self._hand_over(self._loop(mapping, trace, steps), mapping)

    def _run_in_tiles(self) -> bool:
        """Say whether an axis that can be cut goes through two steps, and all that is carried but for small values.

        Tiles end where a sum along their axis is used: they do not stay in a cache through several steps then. And what
        a cache saves is little beside large products, which tiles make narrow.
        """
        steps = self.period.nodes[self.period.start : self.period.start + 2 * self.period.length]
        flops = sum([node.op.cost(node).matmul_flops for node in steps])
        if flops > MOST_PRODUCTS * sum([node.type.nbytes for node in steps]):
            return False
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

    def _find_operands(self) -> None:
        """Find out what a step takes from the steps before it, and from outside, as the last step says."""
        ahead = self.period.length * (self.period.steps - 1)
        for i in self.first:
            for k, x in enumerate(self.period.nodes[i + ahead].inputs):
                self._find_operand(i, k, x, ahead)

    def _find_views(self) -> None:
        """Find out which rows show other rows: a step takes these, and looks at them itself."""
        for each in () if self.period.changing else list(self.rows):
            first = each[0]
            shown = tuple([x.inputs[0] for x in each if x.inputs])
            if shown in self.rows and first.op.memory.views and not isinstance(shown[0].type, TupleType):
                form = first.op, params_key(first.params), shown[0].type
                if all((x.op, params_key(x.params), y.type) == form for x, y in zip(each, shown, strict=True)):
                    self.views[each] = shown

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
            same = is_one_number if period.changing else same_value
            if not all(x is other or same(x, other) for other in each):
                self.rows[each] = None
                self.row_of[i - period.start, k] = each
        elif at < period.start + ahead:
            back, r = divmod(at - period.start - ahead, period.length)
            for step in range(-back):
                given = nodes[i + step * period.length].inputs[k]
                before = self.carried.setdefault((r, -back - step), given)
                assert before is not None and same_value(before, given), "one value is carried from before the run"
            self.carry_of[i - period.start, k] = r, -back

    def _used_outside(self, used: Sequence[tuple[int, int]]) -> list[tuple[Node, int, int]]:
        """Return the nodes of the run that are used outside of it: each with its node of the step, and its step."""
        period = self.period
        found = []
        for at, last in used[bisect_left(used, (period.start, 0)) : bisect_left(used, (period.end, 0))]:
            if last >= period.end:
                found.append((period.nodes[at], *divmod(at - period.start, period.length)[::-1]))
        for _, r, step in found:
            if step < period.steps - 1 and (r, period.steps - step) not in self.carried:
                self.stacked[r] = None
        for _, r, step in found:
            if step == period.steps - 1 and r not in self.stacked:
                self.carried.setdefault((r, 1), None)
        return found

    def _form(self, mapping: Rebuilt) -> tuple[Any, dict[Node, int]] | None:
        """Return what loops have in common whose steps are one program, and what it closes over, with numbers.

        It is None where that is not known before the program is made.
        """
        if self.period.changing:
            return None
        numbers: dict[Node, int] = {}
        rows = {each: i for i, each in enumerate(self.rows)}
        form: list[Any] = [tuple(self.carried), tuple(self.stacked)]
        form += [
            (rows[each], rows[shown], each[0].op, params_key(each[0].params)) for each, shown in self.views.items()
        ]
        for r, i in enumerate(self.usual):
            node = self.period.nodes[i]
            form += [node.op, params_key(node.params), node.type]
            for k, x in enumerate(node.inputs):
                if (r, k) in self.row_of:
                    form += [rows[self.row_of[r, k]], x.type]
                    continue
                known = self._known_operand((r, k), x, i)
                if known is None:
                    given = mapping.get(x, x)
                    if given.op is LITERAL or is_repeated(given):
                        return None
                    known = "outside", numbers.setdefault(given, len(numbers)), given.type
                form.append(known)
        return tuple(form), numbers

    def _known_operand(self, operand: tuple[int, int], x: Node, place: int) -> Any:
        """Return what tells an operand from others if it is no row: carried, of the step, or a number; else None."""
        if operand in self.carry_of:
            return self.carry_of[operand]
        if self.place.get(x, -1) >= self.usual.start:
            return "own", self.place[x] - place
        return literal_key(literal_value(x), x.type) if x.op is LITERAL else None

    def _loop(self, mapping: Rebuilt, trace: Trace, steps: dict[Any, SharedStep]) -> list[TracedArray]:
        """Build the loop, and return its results."""
        period = self.period
        frames = self.frames
        form, numbers = self._form(mapping) or (None, {})
        if form in steps:
            same = steps[form]
            rows = [frames.rows(each, (), mapping, trace) for each in self.rows if each not in self.views]
            start = [self._given(node, frames.type(r), mapping, trace) for (r, _), node in self.carried.items()]
            outside = list(numbers)
            sources = [outside[same.numbers[x]] if x in same.numbers else x for x in same.sources]
            return self._scanned(start, rows, same.of, sources, trace)
        users: dict[tuple[Node, ...], list[Node]] = {}
        for (r, _), each in self.row_of.items():
            users.setdefault(each, []).append(period.nodes[self.first[r]])
        body = Trace(origin=trace.origin)
        alike = {each: frames.fixed(each, used, mapping, trace, body) for each, used in users.items()}
        fixed = {each: node for each, node in alike.items() if node is not None}
        several = [each for each in self.rows if each not in fixed and each not in self.views]
        shifted = {each: frames.shifted(each, users[each], mapping, trace) for each in several}
        moving = {each: found for each, found in shifted.items() if found is not None}
        several = [each for each in several if each not in moving]
        rows = [frames.rows(each, users[each], mapping, trace) for each in several]
        rows += [lift(np.array(each), trace) for each in frames.numbers]
        types = [frames.type(r) for r, _ in self.carried]
        carry = {key: body.input(type) for key, type in zip(self.carried, types, strict=True)}
        each_row = zip((*several, *frames.numbers), rows, strict=True)
        row = {each: body.input(ArrayType(x.type.shape[1:], x.type.dtype)) for each, x in each_row}
        parts = {each: body.input(x.type) for each, (x, _) in moving.items()}
        inputs = [*carry.values(), *parts.values(), *row.values()]
        frames.begin([*carry.values(), *[row[each] for each in several if not on_elements(users[each])]])
        for each in sorted(self.views, key=lambda each: each[0].index):  # what they show comes first
            row[each] = body.build(each[0].op, (row[self.views[each]],), each[0].params)
        own = self._step(mapping, body, carry, {**fixed, **row, **parts})
        after = [own[r] if ago == 1 else carry[r, ago - 1] for r, ago in self.carried]
        after += [
            moved(TracedArray(parts[each]), [move], itemgetter(0), body).node for each, (_, move) in moving.items()
        ]
        program = Program(body, inputs, [*after, *[own[r] for r in self.stacked]], label=self.source.label)
        program.lines = body.lines
        start = [
            self._given(node, type, mapping, trace) for node, type in zip(self.carried.values(), types, strict=True)
        ]
        start += [x for x, _ in moving.values()]
        joined = JoinedCarries(program, start, trace)
        of, sources = with_scalars(joined.program())
        body.close()
        if form is not None and not joined.any:
            steps[form] = SharedStep(of, sources, numbers)
        start = joined.joined(start, trace)
        found = self._scanned(start, rows, of, sources, trace)
        last = joined.parts([x.node for x in found[: len(start)]])
        return [*map(TracedArray, last[: len(self.carried)]), *found[len(start) :]]

    def _scanned(
        self, start: Sequence[Node], rows: Sequence[Node], of: ClosedProgram, sources: Sequence[Node], trace: Trace
    ) -> list[TracedArray]:
        """Return the results of a scan of a step's program that closes over sources."""
        given = [TracedArray(x) for x in (*start, *rows)]
        closed = [TracedArray(rebuild(node, {}, trace) if node.op in (LITERAL, CAPTURED) else node) for node in sources]
        form = Form(len(start), len(rows), self.period.steps, False, False)
        return list(as_tuple(scan_(*given, *closed, of=of, **form._asdict())))

    @staticmethod
    def _given(node: Node | None, type: Any, mapping: Rebuilt, trace: Trace) -> Node:
        """Return what is carried into the first step: zeros where no step takes it."""
        if node is None:
            return _filled(trace.literal(type.dtype.type(0).item(), ArrayType((), type.dtype)), type)
        given = rebuild(node, {}, trace) if node.op is LITERAL else mapping.get(node, node)
        return lengthened(TracedArray(given), type).node

    def _step(
        self, mapping: Rebuilt, body: Trace, carry: dict[tuple[int, int], Node], row: dict[Any, Node]
    ) -> list[Node]:
        """Build a step's nodes."""
        source = self.source
        own: list[Node] = []

        def operand(r: int, k: int, x: Node) -> Node:
            at, start = self.place.get(x, -1), self.usual.start
            if (r, k) in self.row_of:
                each = self.row_of[r, k]
                type = self.frames.type_of(each)
                return row[each] if row[each].type == type else _filled(row[each], type)
            if (r, k) in self.carry_of:
                return carry[self.carry_of[r, k]]
            if at >= start:
                return own[at - start]
            if x.op is not LITERAL:
                given = mapping.get(x, x)
                return body.build(given.op, given.inputs, given.params) if is_repeated(given) else given
            steps = self.period.nodes[self.first[r] : self.period.end : self.period.length]
            return body.literal(literal_value(x), self.frames.type_of([node.inputs[k] for node in steps]))

        for r, i in enumerate(self.usual):
            node = self.period.nodes[i]
            operands = tuple([operand(r, k, x) for k, x in enumerate(node.inputs)])
            made = self.frames.computed(r, operands, body, row)
            own.append(made)
            if node in source.lines:
                body.lines.setdefault(made, source.lines[node])
        return own

    def _hand_over(self, found: Sequence[TracedArray], mapping: Rebuilt) -> None:
        """Say what became of the nodes of the run that are used outside."""
        after = dict(zip(self.carried, found, strict=False))
        stacked = dict(zip(self.stacked, found[len(after) :], strict=True))
        for node, r, step in self.users:
            ago = self.period.steps - step
            if r in stacked and stacked[r].shape[1:] == node.type.shape:
                mapping.rows[node] = stacked[r].node, step
                if self._is_like_another:  # which gives the result of its last step so
                    continue
            if (r, ago) in after:
                mapping[node] = cut(after[r, ago], node.type).node
            elif node not in mapping.rows:
                mapping[node] = cut(TracedArray(row_of(stacked[r].node, step)), node.type).node


def _filled(number: Node, type: ArrayType) -> Node:
    """Return an array of one number."""
    found: TracedArray = ops.broadcast(TracedArray(number), shape=type.shape, axes=tuple(range(type.ndim)))
    return found.node
