"""Values of nodes whose inputs are known, asked for while their program is still being recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad.ir.node import LITERAL, Leaf, Node, leaf_value
from primad.recording.refusals import unknown
from primad.recording.traced_array import TracedArray
from primad.recording.user_expressions import CodePlace
from primad.runtime.failure import fail
from primad.system.process import silently


def evaluate_node(node: Node) -> Any:
    """Compute one node of an open trace whose inputs' values are known, remembering what was computed.

    Raises:
        TracingError: if it depends on an input without a value.
    """
    stack = [node]
    while stack:
        current = stack[-1]
        values = current.trace.values
        if current in values and not isinstance(values[current], TracedArray):
            stack.pop()
            continue
        missing = [
            operand
            for operand in _sources(current)
            if operand not in operand.trace.values or isinstance(operand.trace.values[operand], TracedArray)
        ]
        if missing:
            stack.extend(missing)
            continue
        values[current] = _compute(current)
        stack.pop()
    return node.trace.values[node]


def _sources(node: Node) -> Sequence[Node]:
    value = node.trace.values.get(node)
    return (value.node,) if isinstance(value, TracedArray) else node.inputs


def _compute(node: Node) -> Any:
    known = node.trace.values.get(node)
    if isinstance(known, TracedArray):
        return known.node.trace.values[known.node]
    if node.op is LITERAL:
        return leaf_value(node)
    if isinstance(node.op, Leaf):
        raise unknown("the value", node.type, node.trace.noted.get(CodePlace))
    operands = [operand.trace.values[operand] for operand in node.inputs]
    try:
        return silently(lambda: node.op.numpy(*operands, **dict(node.params)))
    except Exception as error:
        fail(error, node, operands, node.trace.lines)
