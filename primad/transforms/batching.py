"""Batching: run a program on a stack of inputs, by adding a leading axis to every node that depends on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad import ops
from primad.axes import Change, result_types
from primad.errors import ProgramError
from primad.ir.node import Leaf, Node, Trace
from primad.ir.program import Program, rebuild
from primad.primitive import missing_rule, packed
from primad.trace import TracedArray
from primad.transforms.lowering import finish, lower_nodes
from primad.types import ArrayType


def vmap(program: Program, batched: Sequence[bool], size: int, keep_unbatched: bool = False) -> Program:
    """Return the program on inputs with a leading axis of length `size`.

    Nodes that do not depend on a batched input are computed once.

    Args:
        program: any program.
        batched: which inputs have the leading axis.
        size: its length.
        keep_unbatched: leave outputs that do not depend on the batched inputs without the axis.

    Raises:
        NotDifferentiableError: if an op has no axis map.

    Example:
        >>> import numpy as np, primad
        >>> program = primad.trace(np.dot)(np.ones(3), np.ones(3))
        >>> print(primad.transforms.vmap(program, [True, False], 5))
        program(a: float64[5,3], b: float64[3]) {
          c: float64[5] = contract a b labels="ab,b->a"
          return c
        }
    """
    program = lower_for_batching(program)
    trace = Trace()
    inputs = [
        trace.input(ArrayType((size, *node.type.shape), node.type.dtype) if on else node.type)
        for node, on in zip(program.inputs, batched, strict=True)
    ]
    mapping: dict[Node, Node] = dict(zip(program.inputs, inputs, strict=True))
    wide = {node for node, on in zip(program.inputs, batched, strict=True) if on}
    for node in program.nodes:
        if node in mapping:
            continue
        if isinstance(node.op, Leaf) or wide.isdisjoint(node.inputs):
            mapping[node] = rebuild(node, mapping, trace, copy=True)
            continue
        operands = [TracedArray(mapping.get(operand, operand)) for operand in node.inputs]
        flags = tuple([operand in wide for operand in node.inputs])
        mapping[node] = packed(batch_node(node, operands, flags, size), trace)
        wide.add(node)
    outputs = []
    for node in program.outputs:
        new = TracedArray(mapping.get(node, node))
        outputs.append(new.node if node in wide or keep_unbatched else widen(new, size).node)
    return finish(program, trace, inputs, outputs, mapping)


def lower_for_batching(program: Program) -> Program:
    """Lower the composites that cannot be batched as a whole."""
    while True:
        composites = [
            node
            for node in program.nodes
            if not isinstance(node.op, Leaf) and node.op.kind == "composite" and node.op.batch is None
        ]
        if not composites:
            return program
        program = lower_nodes(program, set(composites))


def batch_node(node: Node, operands: list[TracedArray], flags: tuple[bool, ...], size: int) -> Any:
    """Apply a node's op to operands of which some have a leading batch axis; all its results have one."""
    op, params = node.op, dict(node.params)
    if op.batch is not None:
        return op.batch(flags, size, *operands, **params)
    if op.adapt is None:
        raise missing_rule(op, "axis map")
    adapted = None if op.pointwise and not all(flags) else _inserted(node, flags, size)
    if adapted is None:
        operands = [x if on else widen(x, size) for x, on in zip(operands, flags, strict=True)]
        adapted = _inserted(node, (True,) * len(operands), size)
        if adapted is None:
            raise ProgramError(f"{op.name}: its `adapt` refuses a leading axis of all operands")
    return op(*operands, **adapted)


def _inserted(node: Node, flags: tuple[bool, ...], size: int) -> dict[str, Any] | None:
    """Return a node's params when operands get a leading axis; None if others must get it too."""
    change = Change.insert(flags, size, [operand.type for operand in node.inputs], result_types(node.type))
    adapted: dict[str, Any] | None = node.op.adapt(change, **dict(node.params))
    return adapted


def widen(x: TracedArray, size: int) -> TracedArray:
    """Give an array a leading axis along which it is constant."""
    result: TracedArray = ops.broadcast(x, shape=(size, *x.shape), axes=(0,))
    return result
