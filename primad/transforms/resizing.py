"""Programs for another length of one of their dimensions: of a tile, or of one member of a stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from primad.ir.array_types import ArrayType
from primad.ir.axes import result_types
from primad.ir.node import LITERAL, Node, Params, Trace, literal_value, named
from primad.ir.program import Program, carry_lines
from primad.ir.walks import needed_between
from primad.ops.record.primitive import project
from primad.transforms.dimensions import axis_map


def resized(
    program: Program, inputs: Sequence[Node], outputs: Sequence[Node], axis: Mapping[Node, int], length: int
) -> tuple[Program, dict[Node, Node]]:
    """Return the part of a program that computes some values from others, for another length of a dimension.

    Args:
        program: the whole.
        inputs: what is given.
        outputs: what is computed.
        axis: the axis of each value that has the dimension; nothing mixes it.
        length: its length in the part.

    Returns:
        the part, and which node became which.
    """
    trace = Trace()
    mapping = {node: trace.input(_resized_type(node, axis, length)) for node in inputs}
    given = [mapping[node] for node in inputs]
    needed = needed_between(inputs, outputs)
    for node in program.nodes:
        if node not in needed or node in mapping:
            continue
        if node.op is LITERAL:
            mapping[node] = trace.literal(literal_value(node), _resized_type(node, axis, length))
            continue
        operands = tuple([mapping[operand] for operand in node.inputs])
        # Laws that did not apply to the whole program are not tried: a sum over the tiles stays a sum.
        mapping[node] = trace.place(node.op, operands, _resized_params(node, axis, length))
    carry_lines(program, mapping, trace)
    part = Program(trace, given, [mapping[node] for node in outputs])
    trace.close()
    return part, mapping


def _resized_params(node: Node, axis: Mapping[Node, int], length: int) -> Params:
    """Return a node's params when the dimension has another length."""
    op = node.op
    if op.axes.pointwise or not node.params or op is project:
        return node.params
    map, results = axis_map(node), result_types(node.type)
    own = [node] * (len(results) == 1)  # what several results have along the dimension, operands have
    arrays = zip((*node.inputs, *own), (*map.operands, *map.results[: len(own)]), strict=True)
    names = {labels[place] for value, labels in arrays if (place := axis.get(value)) is not None}
    names.discard(None)
    if not names:  # loops among them, which have no rule
        return node.params
    change = map.change(dict.fromkeys(names, length), [operand.type for operand in node.inputs], results)
    return named(op.axes.adapt(change, **dict(node.params)))


def _resized_type(node: Node, axis: Mapping[Node, int], length: int) -> ArrayType:
    place = axis.get(node)
    if place is None:
        return node.type
    shape = list(node.type.shape)
    shape[place] = length
    return ArrayType(tuple(shape), node.type.dtype)
