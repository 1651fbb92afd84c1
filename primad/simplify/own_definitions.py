"""What an op of a user's own is made of, and whether it is cheap: found by recording its definition."""

from __future__ import annotations

from functools import lru_cache, partial

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.key import ByKey, params_by_key
from primad.ir.node import CAPTURED, Leaf, Node
from primad.ir.program import Program
from primad.ops.record.primitive import Primitive, is_of_several
from primad.recording.tracing import trace
from primad.simplify.engine import simplify


def own_definition(node: Node) -> Program | None:
    """Return the pointwise ops that a user's own pointwise op is made of; None of other ops, and where it is not known.

    It is not where the definition cannot be recorded, closes over arrays, or gives another type than the op infers.
    """
    op = node.op
    if not isinstance(op, Primitive) or not op.axes.pointwise or ops.BY_NAME.get(op.name) is op:
        return None
    return _recorded(op, tuple([x.type for x in node.inputs]), node.type, params_by_key(node.params))


@lru_cache(maxsize=256)
def _recorded(op: Primitive, types: tuple[ArrayType, ...], result: ArrayType, params: ByKey) -> Program | None:
    try:
        program = simplify(trace(partial(op.numpy, **dict(params.value)))(*types))
    except Exception:  # any: what a user's definition does with traced arrays is not known
        return None
    if list(program.out_types) != [result] or any(node.op is CAPTURED for node in program.nodes):
        return None
    return program if all(isinstance(x.op, Leaf) or x.op.axes.pointwise for x in program.nodes) else None


def is_cheap(node: Node) -> bool:
    """Say whether computing a value again takes no longer than reading it.

    The record of its op says so; one of a user's own that does not is as cheap as what it is made of.
    """
    if isinstance(node.op, Leaf) or is_of_several(node):
        return False
    if node.op.work.cheap:
        return True
    definition = own_definition(node)
    return definition is not None and all(isinstance(x.op, Leaf) or is_cheap(x) for x in definition.nodes)
