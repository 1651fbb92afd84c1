"""Laws of ops that consume another op: how they are written for those of the op that is consumed (`consumed`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad import ops
from primad.ir.node import Node, Trace
from primad.numpy.linalg.products import matmul_
from primad.ops.record.fields import Law, LawClass, Rewrite
from primad.ops.record.primitive import Primitive, application
from primad.recording.traced_array import TracedArray


def of_operand(op: Callable[[], Primitive], rule: Callable[..., Node | None]) -> Rewrite:
    """Make the constructor form of a law of the ops that consume an op.

    Args:
        op: gives the op that is consumed.
        rule: (its application or result, inputs, params) -> node or None: tried for each operand that is one.
    """

    def rewrite(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
        for node in dict.fromkeys(inputs):
            found = rule(node, inputs, params) if application(node)[0].op is op() else None
            if found is not None:
                return found
        return None

    return rewrite


def lowered(op: Primitive) -> Callable[..., Node]:
    """Return the rule that a composite is its definition wherever it consumes an op."""

    def rule(node: Node, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node:
        assert op.lower is not None
        return op.lower(*map(TracedArray, inputs), **params).node  # type: ignore[no-any-return]

    return rule


def product_law(
    what: str, op: Callable[[], Primitive], given: Callable[..., Any], holds: LawClass, *shapes: Any
) -> Law:
    """Make the law that a product of matrices is a contraction, which has laws, where it takes an op's result.

    Args:
        what: the op in words.
        op: gives the op.
        given: a function of an array whose value is a matrix that the op gives, for the statement.
        holds: the class of the law.
        shapes: shapes of the array and of the other matrix.
    """

    def statement(x: Any, y: Any) -> tuple[Any, Any]:
        return matmul_(given(x), y), ops.contract(given(x), y, labels="ab,bc->ac")

    name = f"a product of matrices is a contraction where it takes {what}"
    return Law(name, holds, statement, shapes, of_operand(op, lowered(matmul_)), (matmul_.name,))


def node_of(x: TracedArray) -> Node:
    """Return the node of a traced array."""
    return x.node
