"""Batching: run a program on a stack of inputs, by adding a leading axis to every node that depends on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad.errors import ProgramError
from primad.ir.array_types import ArrayType, TupleType, Zero, type_of_results
from primad.ir.axes import Change, result_types
from primad.ir.node import Leaf, Node, Trace
from primad.ir.program import ClosedProgram, Cost, Program
from primad.ir.walks import dependents
from primad.ops.arrays.broadcasting import widen
from primad.ops.record.fields import DerivativeRules, Programs, Work
from primad.ops.record.primitive import Primitive, as_tuple, one_or_all, packed
from primad.ops.record.rules import missing_rule
from primad.recording.traced_array import TracedArray
from primad.transforms.forward import jvp
from primad.transforms.lowering import alone, inline, lower, lower_nodes, rewritten


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
    program, wide = _batchable(program, batched)

    def change(node: Node, mapping: dict[Node, Node], trace: Trace) -> Node | None:
        if node not in wide:
            return None
        operands = [TracedArray(mapping.get(operand, operand)) for operand in node.inputs]
        flags = tuple([is_wide(old, new.node) for old, new in zip(node.inputs, operands, strict=True)])
        return packed(batch_node(node, operands, flags, size), trace) if any(flags) else None

    def result(node: Node, new: Node) -> Node:
        return new if keep_unbatched or is_wide(node, new) else widen(TracedArray(new), size).node

    types = [
        ArrayType((size, *type.shape), type.dtype) if on else type
        for type, on in zip(program.in_types, batched, strict=True)
    ]
    return rewritten(program, change, copy=True, types=types, result=result)


def is_wide(node: Node, new: Node) -> bool:
    """Say whether what stands for a node has the leading axis: a loop's results need not all depend on what has it."""
    return isinstance(node.type, TupleType) or new.type.ndim > node.type.ndim


def _batchable(program: Program, batched: Sequence[bool]) -> tuple[Program, set[Node]]:
    """Replace the composites that depend on the batched inputs by their definitions, where nothing else is known.

    Returns:
        the program, and the nodes that may depend on its batched inputs.
    """
    while True:
        wide = dependents(program.nodes, [node for node, on in zip(program.inputs, batched, strict=True) if on])
        composites = {node for node in wide if not isinstance(node.op, Leaf) and node.op.is_composite}
        unknown = {node for node in composites if node.op.axes.batch is None and not node.op.has_rule}
        if not unknown:
            return program, wide
        program = lower_nodes(program, unknown)


def batch_node(node: Node, operands: list[TracedArray], flags: tuple[bool, ...], size: int) -> Any:
    """Apply a node's op to operands of which some have a leading batch axis.

    Its result has one too; of several results, those that depend on such operands.
    """
    op, params = node.op, dict(node.params)
    if op.axes.batch is not None:
        return op.axes.batch(flags, size, *operands, **params)
    if op.has_rule:
        return _mapped(node, operands, flags, size)
    if op.axes.adapt is None:
        raise missing_rule(op, "axis map")
    adapted = None if op.axes.pointwise and not all(flags) else _inserted(node, flags, size)
    if adapted is None:
        operands = [x if on else widen(x, size) for x, on in zip(operands, flags, strict=True)]
        adapted = _inserted(node, (True,) * len(operands), size)
        if adapted is None:
            raise ProgramError(
                f"{op.name}: its `adapt` refuses a leading axis of all operands",
                fix="let `adapt` take an axis in front of all operands, or give the op Axes(batch=rule).",
            )
    return op(*operands, **adapted)


def _inserted(node: Node, flags: tuple[bool, ...], size: int) -> dict[str, Any] | None:
    """Return a node's params when operands get a leading axis; None if others must get it too."""
    change = Change.insert(flags, size, [operand.type for operand in node.inputs], result_types(node.type))
    adapted: dict[str, Any] | None = node.op.axes.adapt(change, **dict(node.params))
    return adapted


# -- composites with a rule of their own -------------------------------------------------------------------------------


def _mapped(node: Node, operands: Sequence[TracedArray], flags: tuple[bool, ...], size: int) -> Any:
    """Apply a composite with a rule of its own to a stack of operands, as a node whose rule is that of each row."""
    program = alone(node.op, [operand.type for operand in node.inputs], node.params)
    return mapped(*operands, of=ClosedProgram(program), batched=flags, size=size)


def _mapped_type(*types: ArrayType, of: ClosedProgram, batched: tuple[bool, ...], size: int) -> ArrayType | TupleType:
    wide = [ArrayType((size, *type.shape), type.dtype) for type in of.out_types]
    return type_of_results(wide)


def _mapped_tangent(
    tangents: Sequence[Any], out: Any, *operands: Any, of: ClosedProgram, batched: tuple[bool, ...], size: int
) -> Any:
    """Batching and differentiation commute: the tangents of a stack are a stack of tangents."""
    active = [not isinstance(tangent, Zero) for tangent in tangents]
    pushed = jvp(of.hoisted, active, residuals=True)  # so that a stack of it can be transposed
    flags = [*batched, *(flag for flag, on in zip(batched, active, strict=True) if on)]
    stacked = vmap(Program(pushed.trace, pushed.inputs, pushed.outputs[len(of.out_types) :]), flags, size)
    moving = [tangent for tangent in tangents if not isinstance(tangent, Zero)]
    return one_or_all(inline(stacked, [*operands, *moving]))


def _mapped_rows(*arrays: Any, of: ClosedProgram, batched: tuple[bool, ...], size: int) -> Any:
    rows = [[x[i] if on else x for x, on in zip(arrays, batched, strict=True)] for i in range(size)]
    return one_or_all([np.stack(found) for found in zip(*[as_tuple(of.hoisted(*row)) for row in rows], strict=True)])


def _build_mapped(program: Program, *, batched: tuple[bool, ...], size: int) -> Program:
    return vmap(lower(program), batched, size)


def _cost(node: Node) -> Cost:
    params = dict(node.params)
    return lower(_build_mapped(params["of"].hoisted, batched=params["batched"], size=params["size"])).cost()


mapped = Primitive(
    name="mapped",
    kind="program",
    numpy=_mapped_rows,
    infer=_mapped_type,
    lower=lambda *operands, of, **options: one_or_all(inline(_build_mapped(of.hoisted, **options), operands)),
    derivative=DerivativeRules(jvp=_mapped_tangent),
    programs=Programs(names=("of",), build=_build_mapped),
    work=Work(flops=_cost),
    doc="A composite with a rule of its own, on a stack of operands; its rule is that of each.",
)
