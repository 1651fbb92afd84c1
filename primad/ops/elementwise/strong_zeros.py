"""Cotangents that are masked: their zeros are strong, and stay so through what hides or adds up masks."""

from __future__ import annotations

from typing import Any

from primad.ir.array_types import is_complex
from primad.ir.node import LITERAL, Node
from primad.ops.elementwise.conversion import cast
from primad.ops.elementwise.discrete import equal
from primad.ops.elementwise.selection import mask
from primad.ops.record.primitive import full
from primad.recording.traced_array import TracedArray


def is_masked(x: Any) -> bool:
    """Say whether a cotangent is an array with zeros by decree."""
    return isinstance(x, TracedArray) and x.node.op is mask


def keep_masked(node: Node, position: int, cotangent: TracedArray, operands: list[Any], found: Any) -> Any:
    """Keep the zeros of a masked cotangent strong where a structural op (a sum, a pad, a scatter, …) hides its mask.

    What the op makes of the condition is nonzero exactly where something unmasked arrives: of complex numbers both
    parts, since an op may take one of them.

    Args:
        node: the op that is transposed.
        position: the operand whose cotangent is wanted.
        cotangent: that of the node.
        operands: what its transpose is given for its operands.
        found: the cotangent of the operand.
    """
    if node.op.kind != "linear" or isinstance(found, tuple) or found.node.op in (mask, LITERAL):
        return found
    view = found.node
    if view.inputs == (cotangent.node,) and view.op.memory.views and found.dtype == cotangent.dtype:
        params = dict(view.params)  # the same view of the condition
        shown: TracedArray = mask(
            view.op(_condition(cotangent.node), **params), view.op(_bare(cotangent.node), **params)
        )
        return shown
    condition = cast(_condition(cotangent.node), dtype=str(cotangent.dtype))
    if is_complex(cotangent.dtype):
        condition = condition * full(1 + 1j, condition)
    arrives: TracedArray = node.op.derivative.transpose(condition, *operands, **dict(node.params))[position]
    result: TracedArray = mask(~equal(arrives, 0), found)
    return result


def sum_of_masked(x: TracedArray, y: TracedArray) -> TracedArray:
    """Add two cotangents; where both are masked the sum is masked too: it is zero where both are."""
    total: TracedArray = x + y
    if is_masked(x) and is_masked(y) and x.node.inputs[0] is not y.node.inputs[0]:
        total = mask(_condition(x.node) | _condition(y.node), total)
    return total


def _condition(node: Node) -> Any:
    """Return where a masked value, perhaps masked several times, is not zero by decree."""
    condition: Any = TracedArray(node.inputs[0])
    node = node.inputs[1]
    while node.op is mask:
        condition = condition & TracedArray(node.inputs[0])
        node = node.inputs[1]
    return condition


def _bare(node: Node) -> TracedArray:
    """Return a masked value without its masks."""
    while node.op is mask:
        node = node.inputs[1]
    return TracedArray(node)
