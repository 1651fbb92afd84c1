"""Building nodes again: on other operands, in another trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from primad.errors import ProgramError
from primad.ir.node import CAPTURED, INPUT, LITERAL, PACK, Node, Trace, literal_value


def replay(nodes: Sequence[Node], mapping: dict[Node, Node], trace: Trace, copy: bool = False) -> None:
    """Rebuild `nodes` on the operands that `mapping` gives, adding each new node to `mapping`.

    Each goes to the newest trace among its operands; leaves go to `trace`. Nodes of older traces stand for themselves.

    Args:
        nodes: in order, operands first.
        mapping: what has been rebuilt so far.
        trace: where leaves go.
        copy: whether `mapping` takes inputs one to one to fresh inputs, so that no law can apply anew.
    """
    for node in nodes:
        if node not in mapping:
            mapping[node] = rebuild(node, mapping, trace, copy)


def rebuild(node: Node, mapping: Mapping[Node, Node], trace: Trace, copy: bool = False) -> Node:
    """Build one node again on mapped operands (see `replay`)."""
    op = node.op
    if op is LITERAL:
        return trace.literal(literal_value(node), node.type)
    if op is CAPTURED:
        return trace.capture(node.params[0][1])
    if op is INPUT:
        raise ProgramError(
            f"input {node} has no value in this context", fix="pass a value for every input that the nodes read."
        )
    given, get = node.inputs, mapping.get
    inputs: tuple[Node, ...]
    if len(given) == 2:  # most of the time
        first, second = given
        inputs = get(first, first), get(second, second)
    else:
        inputs = tuple([get(operand, operand) for operand in given])
    owner = trace
    for operand in inputs:
        if operand.trace is not trace:
            owner = newest(inputs, trace)
            break
    return reapplied(node, inputs, owner, copy)


def reapplied(node: Node, inputs: tuple[Node, ...], trace: Trace, copy: bool = False) -> Node:
    """Apply a node's op to other operands, in the trace that the newest of them belongs to."""
    if len(inputs) == 1 and inputs[0].op is PACK:
        part: Node = inputs[0].inputs[node.params[0][1]]
        return part
    return trace.copy(node, inputs) if copy else trace.build(node.op, inputs, node.params)


def newest(inputs: Sequence[Node], default: Trace) -> Trace:
    """Return the newest trace among the nodes, or `default` when there are none."""
    if not inputs:
        return default
    found = inputs[0].trace
    for node in inputs[1:]:
        if node.trace.age > found.age:
            found = node.trace
    return found
