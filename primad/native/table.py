"""What native code there is for each op: one table over all primitives, of how it is written or why it is not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from primad import ops
from primad.ir.node import Leaf, Node
from primad.native.compiler import compiler
from primad.native.pointwise import POINTWISE, Pointwise, operand_dtype
from primad.native.storage import VIEWS
from primad.native.vectors import CELLS
from primad.primitive import Primitive
from primad.types import ArrayType


class Way(Enum):
    """How ops are written that neither work on each element alone nor have a loop of their own."""

    VIEW = "index arithmetic on the array that it shows"
    SUM = "a sum of products"
    JOIN = "parts that are computed in their place"
    CONSTANT = "a constant of the text"


@dataclass(frozen=True)
class Missing:
    """Says that an op has no native code.

    Attributes:
        reason: why.
    """

    reason: str


NATIVE: dict[Primitive, Pointwise | Way | Missing] = {
    **POINTWISE,
    **dict.fromkeys(VIEWS, Way.VIEW),
    **dict.fromkeys((ops.sum, ops.contract), Way.SUM),
    **dict.fromkeys((ops.pad, ops.concatenate), Way.JOIN),
    **dict.fromkeys((ops.eye, ops.iota), Way.CONSTANT),
    **dict.fromkeys((ops.project,), Missing("it stands for one of several results")),
}
"""How each primitive is written, or why it is not; a test holds it against the list of primitives."""


def reason(node: Node) -> str:
    """Return why there is no native code for an op on these types; '' where there is."""
    if isinstance(node.op, Leaf):
        return ""
    how = NATIVE.get(node.op)
    if how is None:
        return f"{node.op.name} is an op of one's own"
    if isinstance(how, Missing):
        return how.reason
    for type in (node.type, *[x.type for x in node.inputs]):
        if isinstance(type, ArrayType) and type.dtype.str not in CELLS:
            return f"there are no vectors of {type.dtype}"
    if isinstance(how, Pointwise):
        dtype = operand_dtype(node)
        written = dtype.kind in how.kinds and (how.between is None or how.between(dtype, node.type.dtype))
        return "" if written else f"{node.op.name} is not written for {dtype}"
    return ""


def has_code(node: Node) -> bool:
    """Say whether an op that works on each element alone can be part of a kernel on this machine."""
    return compiler() is not None and isinstance(NATIVE.get(node.op), Pointwise) and not reason(node)
