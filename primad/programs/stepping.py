"""What is derived from the body of a loop: its tangent, its linear part, the transpose of that, itself on a stack.

A body is a program of one step. All that is made here are bodies again, by the transforms of programs, and plans for
which operands of the loop go where. What applies them is in `primad.programs.scan`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from primad.ir.node import INPUT, Leaf, Node, is_literal
from primad.ir.program import ClosedProgram, Program, subprogram
from primad.ops.broadcasting import widen
from primad.transforms import forward
from primad.transforms.lowering import active_nodes, expand, inline
from primad.transforms.partial import split
from primad.types import ArrayType, TupleType, Zero

Item = TypeVar("Item")


@dataclass(frozen=True)
class Body:
    """The program of a step.

    Attributes:
        program: (carried values, a row of each stacked array, what is the same in all steps) -> (carried values,
            results of the step).
        carry: how many values are carried.
        stacked: how many inputs are rows.
    """

    program: Program
    carry: int
    stacked: int

    def parts(self, values: Sequence[Item]) -> tuple[list[Item], list[Item], list[Item]]:
        """Cut what belongs to the inputs into carried values, rows, and the rest."""
        rows = self.carry + self.stacked
        return list(values[: self.carry]), list(values[self.carry : rows]), list(values[rows:])

    @property
    def results(self) -> int:
        """How many results a step has."""
        return len(self.program.outputs) - self.carry

    def operand_types(self, length: int) -> list[ArrayType]:
        """Return the types of a loop's operands, for so many rows."""
        carried, rows, fixed = self.parts(self.program.in_types)
        return [*carried, *(stacked_type(type, length) for type in rows), *fixed]


def stacked_type(type: ArrayType, length: int) -> ArrayType:
    """Return the type of an array of rows."""
    return ArrayType((length, *type.shape), type.dtype)


def places(flags: Sequence[bool]) -> list[int]:
    """Return where there are flags."""
    return [i for i, on in enumerate(flags) if on]


def until_stable(flags: Sequence[bool], carry: int, reached: Callable[[list[bool]], list[bool]]) -> tuple[bool, ...]:
    """Add the carried values that something reaches after a step, until no step adds one."""
    found = list(flags)
    while True:
        after = reached(found)
        new = [on or (i < carry and after[i]) for i, on in enumerate(found)]
        if new == found:
            return tuple(found)
        found = new


# -- bodies that were made ---------------------------------------------------------------------------------------------


class Made:
    """A body, without what a loop of it need not do.

    Values that are carried and never change become operands that are the same in all steps; results that are zeros, a
    row, or such an operand are not computed; what nothing uses is no input.

    Args:
        body: what to apply.
        counted: whether not all steps may be taken: rows of the results are zeros then, whatever they are.
    """

    def __init__(self, body: Body, counted: bool) -> None:
        program = body.program
        carried, rows, fixed = body.parts(program.inputs)
        same = [node is out for node, out in zip(carried, program.outputs, strict=False)]
        self._same = same
        row_of = {} if counted else {node: i for i, node in enumerate(rows)}
        fixed_of = {node: i for i, node in enumerate(fixed)} | {carried[i]: -1 - i for i in places(same)}
        fixed_of = {} if counted else fixed_of
        results: dict[Node, int] = {}
        self._places: list[tuple[str, Any]] = []
        for node in program.outputs[body.carry :]:
            if node.type.is_float and is_literal(node, 0):
                self._places.append(("zero", node.type))
            elif node in row_of:
                self._places.append(("row", row_of[node]))
            elif node in fixed_of:
                self._places.append(("fixed", fixed_of[node]))
            else:
                self._places.append(("result", results.setdefault(node, len(results))))
        outputs = [program.outputs[i] for i, on in enumerate(same) if not on] + list(results)
        used = set(Program(program.trace, program.inputs, outputs).nodes)
        self._rows = [i for i, node in enumerate(rows) if node in used]
        self._fixed = [i for i in places(same) if carried[i] in used]
        self._others = [i for i, node in enumerate(fixed) if node in used]
        inputs = [carried[i] for i, on in enumerate(same) if not on]
        inputs += [rows[i] for i in self._rows] + [carried[i] for i in self._fixed] + [fixed[i] for i in self._others]
        self.body = Body(Program(program.trace, inputs, outputs), same.count(False), len(self._rows))
        self._of: ClosedProgram | None = ClosedProgram(self.body.program) if outputs else None

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return (self.body.program,)

    def on(self, apply: Callable[..., Any], carried: Any, rows: Any, fixed: Any, length: int) -> tuple[Any, Any]:
        """Return the carried values after the last step and the stacked results, `Zero` for those that are zeros.

        Args:
            apply: (program, carried values, stacked arrays, other operands) -> all results.
            carried: the carried values before the first step.
            rows: the stacked arrays.
            fixed: what is the same in all steps.
            length: how many rows there are.
        """
        moving = [x for x, same in zip(carried, self._same, strict=True) if not same]
        others = [*(carried[i] for i in self._fixed), *(fixed[i] for i in self._others)]
        found = apply(self._of, moving, [rows[i] for i in self._rows], others) if self._of is not None else ()
        after = iter(found)
        finals = [x if same else next(after) for x, same in zip(carried, self._same, strict=True)]
        results = list(after)

        def placed(where: str, which: Any) -> Any:
            if where == "zero":
                return Zero(stacked_type(which, length))
            if where == "row":
                return rows[which]
            if where == "fixed":
                return widen(fixed[which] if which >= 0 else carried[-1 - which], length)
            return results[which]

        return finals, [placed(*place) for place in self._places]


# -- forward -----------------------------------------------------------------------------------------------------------


def moving(body: Body, active: Sequence[bool]) -> tuple[bool, ...]:
    """Return which inputs of a body have tangents in some step, where some have them in the first."""

    def reached(flags: list[bool]) -> list[bool]:
        nodes = active_nodes(body.program, flags)
        return [node in nodes for node in body.program.outputs]

    return until_stable(active, body.carry, reached)


def pushed(body: Body, flags: Sequence[bool], counted: bool) -> Made:
    """Return the body of values and tangents: of each group of operands, first the values."""
    found, tangents, out, out_tangents = _tangents(body, flags, residuals=False)
    own, moved = body.parts(found.inputs[: len(flags)]), by_part(body, flags, tangents)
    inputs = [node for values, along in zip(own, moved, strict=True) for node in (*values, *along)]
    count = len(moved[0])
    outputs = [*out[: body.carry], *out_tangents[:count], *out[body.carry :], *out_tangents[count:]]
    carry, stacked = body.carry + count, body.stacked + len(moved[1])
    return Made(Body(Program(found.trace, inputs, outputs), carry, stacked), counted)


def _tangents(body: Body, flags: Sequence[bool], residuals: bool) -> tuple[Program, list[Node], list[Node], list[Node]]:
    """Return the tangent program, the inputs that are tangents, the outputs, and their tangents.

    These are those of the carried values that move, and of all results that are floats.
    """
    found = expand(forward.jvp(body.program, flags, residuals))
    count = len(body.program.outputs)
    out, after = list(found.outputs[:count]), found.outputs[count:]
    chosen = [flags[i] if i < body.carry else node.type.is_float for i, node in enumerate(out)]
    return found, list(found.inputs[len(flags) :]), out, [after[i] for i in places(chosen)]


def by_part(body: Body, flags: Sequence[bool], values: Sequence[Item]) -> tuple[list[Item], list[Item], list[Item]]:
    """Cut what belongs to the inputs with a flag into that of carried values, of rows, and the rest."""
    given = iter(values)
    carried, rows, fixed = body.parts(flags)
    return tuple([[next(given) for on in part if on] for part in (carried, rows, fixed)])  # type: ignore[return-value]


# -- what is linear, apart ---------------------------------------------------------------------------------------------


class Residuals(NamedTuple):
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
        late_carry: how many of the outputs, the first of those that are late, are carried.
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
        early, rest = split(program, late, late_outputs)
        count = late_outputs.count(False)
        inputs = {node: i for i, node in enumerate(early.inputs)}
        self._rows: list[tuple[bool, int]] = []
        self._fixed: list[int] = []
        stacks: dict[Node, int] = {}
        rows, fixed = [], []
        for node, place in zip(early.outputs[count:], rest.inputs, strict=False):
            number = inputs.get(node, -1)
            if number >= others:
                self._fixed.append(number - others)
                fixed.append(place)
                continue
            is_row = number >= carry
            self._rows.append((is_row, number - carry if is_row else stacks.setdefault(node, len(stacks))))
            rows.append(place)
        outputs = [*early.outputs[:count], *stacks]
        self.early = Made(Body(Program(early.trace, early.inputs, outputs), carry, stacked), counted)
        self.results = count - carry
        given = dict(zip(places(late), rest.inputs[len(rows) + len(fixed) :], strict=True))
        moved = [[given[i] for i in part] for part in parts]
        self.kept = len(rows), len(fixed)
        self.late = Body(
            Program(rest.trace, [*moved[0], *rows, *moved[1], *fixed, *moved[2]], rest.outputs),
            len(moved[0]),
            len(rows) + len(moved[1]),
        )
        self.made = Made(self.late, counted)

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return self.early, self.made

    def fixed(self, fixed: Sequence[Any]) -> list[Any]:
        """Return what is the same in all steps, with what follows from that alone."""
        return [*fixed, *inline(self._before, fixed)] if self._before is not None else list(fixed)

    def residuals(self, stacks: Sequence[Any], rows: Sequence[Any], fixed: Sequence[Any]) -> Residuals:
        """Choose the second loop's operands among the results, the rows and the fixed operands of the first."""
        return Residuals(
            [rows[i] if is_row else stacks[self.results + i] for is_row, i in self._rows],
            [fixed[i] for i in self._fixed],
        )


def _hoisted(program: Program, fixed: Sequence[int]) -> tuple[Program | None, Program]:
    """Take out of a step what depends on its fixed inputs alone; it becomes further inputs.

    What is only a larger view stays, and so does what may fail, since perhaps there are no steps.
    """
    known = {program.inputs[i] for i in fixed}
    for node in program.nodes:
        if not isinstance(node.op, Leaf) and all(x in known or isinstance(x.op, Leaf) for x in node.inputs):
            if any(x.op is INPUT and x not in known for x in node.inputs) or not node.inputs:
                continue
            grows = node.op.views and node.type.size > sum(x.type.size for x in node.inputs)
            if not grows and node.op.domain is None and not node.op.holds_program:
                known.add(node)
    found: dict[Node, None] = {}
    for node in program.nodes:
        if node not in known:
            found.update((x, None) for x in node.inputs if x in known)
    found.update((node, None) for node in program.outputs if node in known)
    taken = [x for x in found if x not in set(program.inputs) and not isinstance(x.type, TupleType)]
    if not taken:
        return None, program
    inputs = [program.inputs[i] for i in fixed]
    before = subprogram(program, inputs, taken)
    return before, subprogram(program, [*program.inputs, *taken], program.outputs)


def linearized(body: Body, flags: Sequence[bool], counted: bool) -> Apart:
    """Return a loop as values with residuals, and what is linear in the tangents."""
    found, _, out, after = _tangents(body, flags, residuals=True)
    program = Program(found.trace, found.inputs, [*out, *after])
    count = len(found.inputs)
    late = [i >= len(flags) for i in range(count)]
    late_outputs = [i >= len(out) for i in range(len(program.outputs))]
    parts = by_part(body, flags, range(len(flags), count))
    return Apart(program, body, late, late_outputs, parts, counted)


def with_flag(items: Sequence[Item], flags: Sequence[bool]) -> list[Item]:
    """Return the items with a flag."""
    return [item for item, on in zip(items, flags, strict=True) if on]


def without_flag(items: Sequence[Item], flags: Sequence[bool]) -> list[Item]:
    """Return the items without one."""
    return [item for item, on in zip(items, flags, strict=True) if not on]
