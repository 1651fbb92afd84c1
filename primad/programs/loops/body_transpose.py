"""Loops that are linear in some operands, and their transposes, which take the steps the other way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad.ir.array_types import Zero
from primad.ir.node import is_literal
from primad.ir.program import Program
from primad.ir.walks import dependents
from primad.programs.loops.body_split import Apart
from primad.programs.loops.body_transforms import (
    Body,
    Item,
    Made,
    by_part,
    places,
    until_stable,
    with_flag,
    without_flag,
)
from primad.programs.loops.deferred_sums import sum_of_steps
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.transforms import reverse
from primad.transforms.lowering import expand, inline


class LinearLoop:
    """A loop that is linear in some operands.

    Attributes:
        apart: the loop as two, where it carries values that the linear operands do not change; else None.
        late: the body of what is linear.
        kept: how many of its rows, and of its fixed inputs, are not linear: the first ones.

    Args:
        body: of the loop.
        linear: in which of its operands it is linear.
        counted: whether not all steps may be taken.
    """

    def __init__(self, body: Body, linear: Sequence[bool], counted: bool) -> None:
        program = body.program

        def reached(flags: list[bool]) -> list[bool]:
            nodes = dependents(program.nodes, [program.inputs[i] for i in places(flags)])
            return [node in nodes for node in program.outputs]

        self._flags = until_stable(linear, body.carry, reached)
        self._outputs = [*self._flags[: body.carry], *reached(list(self._flags))[body.carry :]]
        self._body = body
        self.linear = tuple(linear)
        parts = by_part(body, self._flags, places(self._flags))
        self.apart: Apart | None = None
        if all(self._flags[: body.carry]):
            _, rows, fixed = by_part(body, [not on for on in self._flags], without_flag(program.inputs, self._flags))
            carried, moving_rows, moving_fixed = ([program.inputs[i] for i in part] for part in parts)
            inputs = [*carried, *rows, *moving_rows, *fixed, *moving_fixed]
            outputs = with_flag(program.outputs, self._outputs)
            self.late = Body(Program(program.trace, inputs, outputs), body.carry, body.stacked)
            self.kept = len(rows), len(fixed)
        else:
            self.apart = Apart(program, body, self._flags, self._outputs, parts, counted)
            self.late, self.kept = self.apart.late, self.apart.kept

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return self.apart, self.late.program

    def others(self, operands: Sequence[Item]) -> tuple[list[Item], list[Item], list[Item]]:
        """Choose the operands that are not linear: carried values, rows, the rest."""
        return by_part(self._body, [not on for on in self._flags], without_flag(operands, self._flags))

    def cotangents(self, given: Sequence[Item]) -> list[Item]:
        """Choose the cotangents of the results that depend on the linear operands."""
        return with_flag(given, self._outputs)

    def of_operands(self, found: Sequence[Any]) -> list[Any]:
        """Return the cotangents of all operands, None for those in which the loop is not linear.

        Args:
            found: those of what is late: carried values, rows, the rest.
        """
        given = iter(found)
        late = [next(given) if on else None for on in self._flags]
        return [ct if on else None for ct, on in zip(late, self.linear, strict=True)]


# -- transposed --------------------------------------------------------------------------------------------------------


def _pullback(late: Body, linear: Sequence[bool], present: Sequence[bool], kept: int) -> tuple[Program, list[bool]]:
    """Return the transposed body of what is linear, and which of its results have cotangents in some step.

    Cotangents are carried of what has them at the end, and of all that these lead to.

    Args:
        late: the body.
        linear: in which of its inputs it is linear.
        present: which results of the loop have cotangents.
        kept: how many inputs of the transposed body come before the cotangents.
    """
    program, on = late.program, list(present)
    while True:
        chosen = Program(program.trace, program.inputs, with_flag(program.outputs, on))
        back = expand(reverse.transposed_program(chosen, linear))
        reached = dependents(back.nodes, back.inputs[kept:])
        more = [on[i] or (i < late.carry and back.outputs[i] in reached) for i in range(len(on))]
        if more == on:
            return back, on
        on = more


class Transposed:
    """The body of a linear loop run the other way: cotangents are carried, those of what is fixed are added up.

    Attributes:
        made: (cotangents of carried values, sums; kept rows, rows of cotangents; kept fixed operands) -> (…; rows of
            cotangents of the linear rows).

    Args:
        loop: the linear loop.
        present: which of its results have cotangents.
        counted: whether not all steps may be taken.
        length: how many there are.
    """

    def __init__(self, loop: LinearLoop, present: Sequence[bool], counted: bool, length: int) -> None:
        late, program = loop.late, loop.late.program
        kept_rows, kept_fixed = loop.kept
        carried, rows, fixed = late.parts(range(len(program.inputs)))
        self._rows, self._fixed = rows[kept_rows:], fixed[kept_fixed:]
        wanted = {*carried, *self._rows, *self._fixed}
        linear = [i in wanted for i in range(len(program.inputs))]

        back, on = _pullback(late, linear, present, kept_rows + kept_fixed)
        seeds = list(back.inputs[kept_rows + kept_fixed :])
        self.carried = places(on[: late.carry])
        given = on[late.carry :]
        self.given = places(given)
        outputs = back.outputs
        sums = range(late.carry + len(self._rows), len(outputs))
        some = [i for i in sums if not is_literal(outputs[i], 0)]
        fixed_inputs = back.inputs[kept_rows : kept_rows + kept_fixed]
        row_inputs = [*back.inputs[:kept_rows], *seeds[len(self.carried) :]]
        found = {i: None if counted else sum_of_steps(back, outputs[i], row_inputs, fixed_inputs, length) for i in some}
        self._later = {i: later for i, later in found.items() if later is not None}
        self._summed = [i for i in some if i not in self._later]
        awaited = list(dict.fromkeys(x for later in self._later.values() for x in later.made))
        whole = Program(back.trace, back.inputs, [*outputs, *awaited])
        self._places = {node: ("fixed", k) for k, node in enumerate(fixed_inputs)}
        self._places |= {node: ("rows", k) for k, node in enumerate(row_inputs)}
        self._places |= {node: ("made", k) for k, node in enumerate(awaited)}
        into = [program.in_types[i] for i in self.carried]
        types = [*into, *(outputs[i].type for i in self._summed), *back.in_types[:kept_rows]]
        types += [seed.type for seed in seeds[len(self.carried) :]] + back.in_types[kept_rows : kept_rows + kept_fixed]

        def step(*operands: TracedArray) -> list[Any]:
            cts, rest = operands[: len(self.carried)], operands[len(self.carried) :]
            totals, rest = rest[: len(self._summed)], rest[len(self._summed) :]
            own, rest = rest[:kept_rows], rest[kept_rows:]
            ys, others = rest[: len(self.given)], rest[len(self.given) :]
            found = inline(whole, [*own, *others, *cts, *ys])
            after = [found[i] for i in self.carried]
            after += [total + found[i] for total, i in zip(totals, self._summed, strict=True)]
            return [*after, *found[late.carry : late.carry + len(self._rows)], *found[len(outputs) :]]

        body = Body(program_of(types, step), len(self.carried) + len(self._summed), kept_rows + len(self.given))
        self.made = Made(body, counted)
        self._types = [node.type for node in outputs]
        self._carry = late.carry

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return self.made, [later.program for later in self._later.values()]

    def starts(self, cotangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return what is carried before the first step, and the stacked cotangents.

        Args:
            cotangents: those of the linear loop's results.
        """
        carried = [cotangents[i] for i in self.carried] + [Zero(self._types[i]) for i in self._summed]
        return carried, [cotangents[self._carry + i] for i in self.given]

    def found(
        self, finals: Sequence[Any], stacks: Sequence[Any], rows: Sequence[Any], fixed: Sequence[Any]
    ) -> list[Any]:
        """Return the cotangents of the linear loop's carried values, rows and fixed operands.

        Args:
            finals: what is carried after the last step.
            stacks: the stacked results.
            rows: the stacked operands.
            fixed: the other operands.
        """
        after: dict[int, Any] = dict(zip([*self.carried, *self._summed], finals, strict=True))
        count = len(self._rows)
        given = {"fixed": fixed, "rows": rows, "made": stacks[count:]}
        for i, later in self._later.items():
            operands = [given[part][k] for part, k in map(self._places.__getitem__, later.operands)]
            (after[i],) = inline(later.program, operands)
        ends = range(self._carry), range(self._carry + count, len(self._types))
        carried, others = ([after.get(i, Zero(self._types[i])) for i in part] for part in ends)
        return [*carried, *stacks[:count], *others]
