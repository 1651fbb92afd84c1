"""What a step computes of what it carries, and the step before has computed of the same at its end: carried instead.

A leapfrog step, say, begins with the forces with which the last one ended, and a Runge–Kutta step whose last stage is
the first of the next one with that stage. The recorded step computes both; carried over, one of them is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad.ir.array_types import ArrayType
from primad.ir.node import LITERAL, Leaf, Node
from primad.ir.program import ClosedProgram, subprogram
from primad.ir.walks import dependents
from primad.programs.loops.body_transforms import Body
from primad.transforms.lowering import inline, lower


def again_at_the_end(body: Body) -> dict[Node, Node]:
    """Return what of a step depends on carried values alone, each with the node that is the same of those after it."""
    carried, _, fixed = body.parts(body.program.inputs)
    known = {_written(node, node.inputs): node for node in body.program.nodes if not isinstance(node.op, Leaf)}
    later = dict(zip(carried, body.program.outputs, strict=False))
    later |= {node: node for node in (*fixed, *(x for x in body.program.nodes if x.op is LITERAL))}
    moving = dependents(body.program.nodes, carried)
    found: dict[Node, Node] = {}
    for node in body.program.nodes:
        if isinstance(node.op, Leaf) or not all(x in later for x in node.inputs):
            continue
        same = known.get(_written(node, [later[x] for x in node.inputs]))
        if same is None:
            continue
        later[node] = same
        if node in moving:
            found[node] = same
    return found


def _written(node: Node, inputs: Sequence[Node]) -> Any:
    return node.op, node.params, tuple(inputs)


def worth_carrying(body: Body) -> dict[Node, Node]:
    """Return what of `again_at_the_end` is to be carried: what others use, if it saves more than it costs to move."""
    found = again_at_the_end(body)
    used = {x for node in body.program.nodes if node not in found for x in node.inputs} | {*body.program.outputs}
    edge = {node: same for node, same in found.items() if node in used}
    if not all(isinstance(node.type, ArrayType) for node in edge):
        return {}
    saved = lower(subprogram(body.program, body.program.inputs, list(edge))).cost().flops if edge else 0
    return edge if saved > 2 * sum(node.type.size for node in edge) else {}  # it is written and read


def with_carried_expressions(
    of: ClosedProgram, given: Sequence[Any], carry: int, stacked: int
) -> tuple[ClosedProgram, list[Any], int]:
    """Return a loop whose steps carry what they would compute again.

    Args:
        of: the program of a step.
        given: traced operands: the carried values before the first step, stacked arrays, the rest.
        carry: how many values are carried.
        stacked: how many operands have a row for each step.

    Returns:
        the program, the operands, and how many values are carried now: those of before, then what is new.
    """
    body = Body(of.hoisted, carry, stacked)
    edge = worth_carrying(body)
    if not edge:
        return of, list(given), carry
    program = body.program
    carried, rows, fixed = body.parts(program.inputs)
    start, stacks, rest = body.parts(given)
    first = inline(subprogram(program, [*carried, *fixed], list(edge)), [*start, *rest])
    outputs = [*program.outputs[:carry], *edge.values(), *program.outputs[carry:]]
    step = subprogram(program, [*carried, *edge, *rows, *fixed], outputs)
    return ClosedProgram(step), [*start, *first, *stacks, *rest], carry + len(edge)
