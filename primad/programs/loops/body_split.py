"""Loops as two: values with what is needed of each step, and what is linear in inputs that come later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import INPUT, Leaf, Node
from primad.ir.program import Program, subprogram
from primad.programs.loops.body_transforms import Body, Made, by_part, places, tangents_of
from primad.programs.loops.residual_selection import fewest, loops_taken_again
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.transforms.lowering import inline
from primad.transforms.partial_eval import split


class KeptOfSteps(NamedTuple):
    """What the linear part of a loop needs of the other: stacked arrays, and what is the same in all steps."""

    rows: list[Any]
    fixed: list[Any]


class Apart:
    """A loop as two: what some late inputs (tangents, say) do not change, and the rest, which is linear in them.

    Attributes:
        early: the first loop's body; its results are those that the loop has without the late inputs, and residuals.
        late: the second's: (late carried values; residual rows, late rows; fixed residuals, late fixed ones).
        kept: how many rows, and how many fixed operands, are residuals.

    Args:
        program: of a step; what is late stands among its inputs and outputs wherever it is.
        body: says what the inputs that are not late are.
        late: which inputs are late.
        late_outputs: which outputs are late.
        parts: where the late inputs are: carried values, rows, the rest.
        counted: whether not all steps may be taken.
    """

    def __init__(
        self,
        program: Program,
        body: Body,
        late: Sequence[bool],
        late_outputs: Sequence[bool],
        parts: tuple[list[int], list[int], list[int]],
        counted: bool,
    ) -> None:
        own = [not on for on in late[: len(body.program.inputs)]]
        carry = sum(own[: body.carry])
        stacked = sum(own[body.carry : body.carry + body.stacked])
        others = carry + stacked
        fixed_inputs = [i for i, on in enumerate(late) if not on][others:]
        before, program = (None, program) if counted else _hoisted(program, fixed_inputs)
        self._before = before
        late = [*late, *[False] * (len(program.inputs) - len(late))]
        count = late_outputs.count(False)
        own_inputs = [node for node, on in zip(program.inputs, late, strict=True) if not on]
        stacked_results = [node for node, on in zip(program.outputs, late_outputs, strict=True) if not on][carry:]
        free = {*own_inputs[carry:], *stacked_results}

        def kept(wanted: list[Node]) -> list[Node]:
            return fewest(wanted, free, loops_taken_again(wanted, program.nodes))

        early, rest = split(program, late, late_outputs, (ops.barrier,), kept)
        inputs = {node: i for i, node in enumerate(early.inputs)}
        awaited = dict(zip(early.outputs[count:], rest.inputs, strict=False))
        stacks = [node for node in awaited if inputs.get(node, -1) < carry]
        joined = _joined([node for node in stacks if node not in early.outputs[:count]])
        alone = [node for node in stacks if not any(node in group for group in joined)]
        taken = [node for node in awaited if carry <= inputs.get(node, -1) < others]
        same = [node for node in awaited if inputs.get(node, -1) >= others]
        self._rows, self._fixed = [inputs[node] - carry for node in taken], [inputs[node] - others for node in same]
        self.results, self._stacks = count - carry, len(alone) + len(joined)
        self.early = Made(Body(_with_joined(early, count, alone, joined), carry, stacked), counted)
        given = dict(zip(places(late), rest.inputs[len(awaited) :], strict=True))
        moved = [[given[i] for i in part] for part in parts]
        rows = [awaited[node] for node in (*taken, *alone)], [[awaited[node] for node in group] for group in joined]
        self.kept = len(taken) + self._stacks, len(same)
        self.late = Body(
            _from_joined(rest, moved[0], *rows, [*moved[1], *(awaited[node] for node in same), *moved[2]]),
            len(moved[0]),
            self.kept[0] + len(moved[1]),
        )
        self.made = Made(self.late, counted)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return self.early, self.made

    def fixed(self, fixed: Sequence[Any], near: Any) -> list[Any]:
        """Return what is the same in all steps, with what follows from that alone, in the trace of `near` at least."""
        return [*fixed, *inline(self._before, fixed, near)] if self._before is not None else list(fixed)

    def residuals(self, stacks: Sequence[Any], rows: Sequence[Any], fixed: Sequence[Any]) -> KeptOfSteps:
        """Choose the second loop's operands among the results, the rows and the fixed operands of the first."""
        kept = stacks[self.results : self.results + self._stacks]
        return KeptOfSteps([*(rows[i] for i in self._rows), *kept], [fixed[i] for i in self._fixed])


SMALL = 64
"""Residuals of at most so many elements are joined to one row: a step then writes to few places."""


def _joined(nodes: Sequence[Node]) -> list[list[Node]]:
    """Return which small residuals are joined: those of one dtype, if there are several."""
    groups: dict[Any, list[Node]] = {}
    for node in nodes:
        if node.type.size <= SMALL:
            groups.setdefault(node.type.dtype, []).append(node)
    return [group for group in groups.values() if len(group) > 1]


def _with_joined(early: Program, count: int, alone: Sequence[Node], joined: Sequence[Sequence[Node]]) -> Program:
    """Return a program's first outputs with residuals, those of each group joined to one array."""
    whole = Program(
        early.trace, early.inputs, [*early.outputs[:count], *alone, *(x for group in joined for x in group)]
    )
    if not joined:
        return whole

    def body(*operands: TracedArray) -> list[Any]:
        found = inline(whole, operands)
        first, rest = found[: count + len(alone)], iter(found[count + len(alone) :])
        for group in joined:
            flat = [ops.reshape(next(rest), shape=(node.type.size,)) for node in group]
            first.append(ops.concatenate(*flat, axis=0))
        return first

    return program_of(whole.in_types, body)


def _from_joined(
    rest: Program, first: list[Node], alone: list[Node], joined: list[list[Node]], last: list[Node]
) -> Program:
    """Return a program that takes the inputs of each group as one array, in the order of the arguments."""
    if not joined:
        return Program(rest.trace, [*first, *alone, *last], rest.outputs)
    before = [*first, *alone]
    types = [ArrayType((sum(x.type.size for x in group),), group[0].type.dtype) for group in joined]

    def body(*operands: TracedArray) -> list[Any]:
        known = dict(zip(before, operands, strict=False))
        known.update(zip(last, operands[len(before) + len(joined) :], strict=True))
        for group, whole in zip(joined, operands[len(before) :], strict=False):
            start = 0
            for node in group:
                part = ops.slice_(whole, start=(start,), stop=(start + node.type.size,), step=(1,))
                known[node] = ops.reshape(part, shape=node.type.shape)
                start += node.type.size
        return inline(rest, [known[node] for node in rest.inputs])

    return program_of([*(x.type for x in before), *types, *(x.type for x in last)], body)


def _hoisted(program: Program, fixed: Sequence[int]) -> tuple[Program | None, Program]:
    """Take out of a step what depends on its fixed inputs alone; it becomes further inputs.

    What is only a larger view stays, and so does what may fail, since perhaps there are no steps.
    """
    known = {program.inputs[i] for i in fixed}
    for node in program.nodes:
        if not isinstance(node.op, Leaf) and all(x in known or isinstance(x.op, Leaf) for x in node.inputs):
            if any(x.op is INPUT and x not in known for x in node.inputs) or not node.inputs:
                continue
            grows = node.op.memory.views and node.type.size > sum(x.type.size for x in node.inputs)
            if not grows and node.op.domain is None and not node.op.holds_program:
                known.add(node)
    found: dict[Node, None] = {}
    for node in program.nodes:
        if node not in known:
            found.update((x, None) for x in node.inputs if x in known)
    found.update((node, None) for node in program.outputs if node in known)
    taken = [x for x in found if x not in set(program.inputs)]
    if not taken:
        return None, program
    inputs = [program.inputs[i] for i in fixed]
    before = subprogram(program, inputs, taken)
    return before, subprogram(program, [*program.inputs, *taken], program.outputs)


def linearized(body: Body, flags: Sequence[bool], counted: bool) -> Apart:
    """Return a loop as values with residuals, and what is linear in the tangents."""
    found, _, out, after = tangents_of(body, flags, residuals=True)
    program = Program(found.trace, found.inputs, [*out, *after])
    count = len(found.inputs)
    late = [i >= len(flags) for i in range(count)]
    late_outputs = [i >= len(out) for i in range(len(program.outputs))]
    parts = by_part(body, flags, range(len(flags), count))
    return Apart(program, body, late, late_outputs, parts, counted)
