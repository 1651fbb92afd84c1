"""What is derived from the body of a loop: its tangent, its linear part, the transpose of that, itself on a stack.

A body is a program of one step. All that is made here are bodies again, by the transforms of programs, and plans for
which operands of the loop go where. What applies them is in `primad.programs.loops.scan`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from primad.ir.array_types import ArrayType, Zero
from primad.ir.node import Node, is_literal
from primad.ir.program import ClosedProgram, Program
from primad.ops.arrays.broadcasting import widen
from primad.transforms import forward
from primad.transforms.lowering import active_nodes, expand

Item = TypeVar("Item")


class Body(Struct, frozen=True):
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
        known = {carried[i]: ("carried", i) for i in places(same)}
        known |= {node: ("fixed", i) for i, node in enumerate(fixed)} | {
            node: ("row", i) for i, node in enumerate(rows)
        }
        results: dict[Node, int] = {}
        self._places: list[tuple[str, Any]] = []
        for node in program.outputs[body.carry :]:
            if node.type.is_float and is_literal(node, 0):
                self._places.append(("zero", node.type))
            elif node in known and not counted:
                self._places.append(known[node])
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
                return widen(fixed[which], length)
            if where == "carried":
                return widen(carried[which], length)
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
    found, tangents, out, out_tangents = tangents_of(body, flags, residuals=False)
    own, moved = body.parts(found.inputs[: len(flags)]), by_part(body, flags, tangents)
    inputs = [node for values, along in zip(own, moved, strict=True) for node in (*values, *along)]
    count = len(moved[0])
    outputs = [*out[: body.carry], *out_tangents[:count], *out[body.carry :], *out_tangents[count:]]
    carry, stacked = body.carry + count, body.stacked + len(moved[1])
    return Made(Body(Program(found.trace, inputs, outputs), carry, stacked), counted)


def tangents_of(
    body: Body, flags: Sequence[bool], residuals: bool
) -> tuple[Program, list[Node], list[Node], list[Node]]:
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


def with_flag(items: Sequence[Item], flags: Sequence[bool]) -> list[Item]:
    """Return the items with a flag."""
    return [item for item, on in zip(items, flags, strict=True) if on]


def without_flag(items: Sequence[Item], flags: Sequence[bool]) -> list[Item]:
    """Return the items without one."""
    return [item for item, on in zip(items, flags, strict=True) if not on]
