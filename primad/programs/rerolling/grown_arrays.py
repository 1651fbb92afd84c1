"""Arrays that grow by a piece in each step of a loop, written so that each step joins one piece.

A law makes one joined array of joined arrays, so that the last of many that a list gave has as many operands as the
list had elements. Steps that differ in how many they join are none of a loop.
"""

from __future__ import annotations

from typing import Any

from primad.ir.node import Node, Trace
from primad.ir.program import Program
from primad.programs.rerolling.node_sequences import is_joined
from primad.transforms.lowering import expand, rewritten


def one_by_one(program: Program) -> Program:
    """Return a program of primitives where it can be, whose joined arrays begin or end with the one before."""
    before: dict[tuple[Any, bool, Node], Node] = {}  # by params, and the operand that comes first, or last

    def change(node: Node, mapping: dict[Node, Node], trace: Trace) -> Node | None:
        if not is_joined(node):
            return None
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
        if found is None:
            return None
        return trace.place(node.op, tuple([mapping.get(x, x) for x in found]), node.params)

    return rewritten(expand(program), change, copy=True)
