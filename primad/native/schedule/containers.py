"""Which values are computed in the place of a part of a joined or padded array, so that nothing is copied."""

from __future__ import annotations

from collections.abc import Sequence

from primad import ops
from primad.ir.node import Node
from primad.ir.program import Program
from primad.native.emit.emit_context import Loops, Way
from primad.native.emit.op_table import way_of
from primad.native.loops.body_programs import form_of
from primad.native.schedule.storage import splits_axes
from primad.ops.record.primitive import application

Containers = dict[Node, tuple[Node, int]]
"""The array that each value lies within, and the value's position among its operands."""


def containers_of(program: Program, steps: Sequence[Node]) -> Containers:
    """Return the values that are only parts of a joined or padded array.

    Rows of a loop's results lie one behind another, so that these are parts of what is joined row by row, and read or
    returned as it is.

    Args:
        program: the program.
        steps: those of its nodes that are computed.
    """
    made = set(steps)
    uses: dict[Node, int] = dict.fromkeys(program.outputs, 2)
    for node in steps:
        for operand in node.inputs:
            uses[operand] = uses.get(operand, 0) + 1

    def lies_within(part: Node, rows: bool) -> bool:
        while uses[part] == 1 and part in made and splits_axes(part):
            part = part.inputs[0]
        if uses[part] != 1 or part not in made:
            return False
        return _lies_anywhere(part) or (rows and _is_stack_of_loop(part))

    found = {
        operand: (node, i)
        for node in steps
        if node.op is ops.concatenate or (node.op is ops.pad and not any(dict(node.params)["interior"]))
        for i, operand in enumerate(node.inputs)
        if lies_within(operand, uses.get(node, 0) > 1 and _joins_rows(node))
    }
    for part in list(found):
        while splits_axes(part):
            found[part.inputs[0]] = (part, 0)
            part = part.inputs[0]
    return found


def _joins_rows(node: Node) -> bool:
    return node.op is ops.concatenate and dict(node.params)["axis"] == 0


def _lies_anywhere(node: Node) -> bool:
    """Say whether a value can be computed in any place."""
    how = way_of(application(node)[0])
    return how.anywhere if isinstance(how, Loops) else how not in (Way.VIEW, Way.FRAME, Way.LOOP)


def _is_stack_of_loop(node: Node) -> bool:
    """Say whether a value is stacked results of a loop, whose rows lie one behind the other."""
    source, place = application(node)
    return way_of(source) is Way.LOOP and place >= form_of(source).first_stack
