"""Sums over the steps of a loop that are computed when it has ended: of outer products, one product of matrices.

What comes back to a matrix that is the same in all steps is mostly made of two vectors of each step. To add their
product to a sum in each step is to read and write the whole matrix as often; the vectors are stacked instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from primad import ops
from primad.ir.array_types import TupleType
from primad.ir.node import Leaf, Node
from primad.ir.program import Program, subprogram
from primad.ir.walks import users_of
from primad.programs.loops.residual_selection import fewest
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.simplify.collapse import collapse
from primad.transforms import batching
from primad.transforms.lowering import inline


class SumOfSteps(NamedTuple):
    """A sum over all steps.

    Attributes:
        operands: the values of a step of which it is computed: stacked, but for inputs that are the same in all steps.
        made: those that a step has to give.
        program: of the stacked values (and others): the sum.
    """

    operands: list[Node]
    made: list[Node]
    program: Program


def sum_of_steps(
    step: Program, total: Node, rows: Sequence[Node], fixed: Sequence[Node], length: int
) -> SumOfSteps | None:
    """Return how to compute a sum over steps after the loop; None where that takes more memory than the sum.

    Args:
        step: the program of a step.
        total: what is summed, one of its outputs.
        rows: its inputs that are rows.
        fixed: and those that are the same in all steps.
        length: how many steps there are.
    """
    operands = fewest([total], {*rows, *fixed}, _only_for(total, step))
    stacked = [node not in fixed for node in operands]
    if length * sum(node.type.nbytes for node, on in zip(operands, stacked, strict=True) if on) > total.type.nbytes:
        return None
    if not any(stacked):
        return None
    each = batching.vmap(subprogram(step, operands, [total]), stacked, length)

    def added(*values: TracedArray) -> list[TracedArray]:
        (found,) = inline(each, values)
        return [ops.sum(found, axes=(0,))]

    program = collapse(program_of(each.in_types, added))
    made = [node for node in program.nodes if not isinstance(node.op, Leaf) and not node.op.memory.views]
    if any(node.type.size > total.type.size for node in made):
        return None
    return SumOfSteps(operands, [node for node in operands if node not in rows and node not in fixed], program)


def _only_for(total: Node, step: Program) -> set[Node]:
    """Return what nothing but one output needs, itself included."""
    users = users_of(step.nodes)
    outputs = [node for node in step.outputs if node is not total]
    found: set[Node] = set()
    for node in reversed(step.nodes):
        alone = node is total or (node in users and found.issuperset(users[node]))
        several = any(isinstance(x.type, TupleType) for x in (node, *node.inputs))
        plain = not several and not isinstance(node.op, Leaf) and not node.op.programs.called
        if alone and plain and node not in outputs:
            found.add(node)
    return found
