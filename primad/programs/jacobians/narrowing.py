"""A part of a result out of the parts of all values that it needs: a slice goes through mapped ops to the inputs."""

from __future__ import annotations

from collections.abc import Hashable

from primad import ops
from primad.ir.array_types import TupleType
from primad.ir.axes import AxisMap, Strided, is_name
from primad.ir.node import Leaf, Node, Trace
from primad.ir.program import Program
from primad.ir.replay import rebuild
from primad.ops.record.primitive import apply
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.transforms.dimensions import axis_map
from primad.transforms.lowering import expand

Window = tuple[int, int]
"""From where to where an axis is needed."""
Windows = tuple[Window, ...]


def narrowed(program: Program, windows: Windows) -> Program:
    """Return the program that computes a part of its only output.

    Along an axis that ops map, the part needs the same part of their operands, and no more is computed. What an op sums
    or mixes is computed whole.

    Args:
        program: any program with one output.
        windows: from where to where each axis of the output is wanted; not empty.
    """
    program = expand(program)
    (output,) = program.outputs
    needed: dict[Node, Windows] = {output: windows}
    for node in reversed(program.nodes):
        if node in needed and not isinstance(node.op, Leaf):
            needed[node] = _possible(node, needed[node])
            for operand, own in _of_operands(node, needed[node]):
                needed[operand] = _hull(needed.get(operand, own), own)

    def part(*inputs: TracedArray) -> list[TracedArray]:
        trace = inputs[0].node.trace
        values = {node: x.node for node, x in zip(program.inputs, inputs, strict=True)}
        for node in program.nodes:
            if node in needed and isinstance(node.op, Leaf):
                value = values[node] if node in values else rebuild(node, values, trace)
                values[node] = _cut(value, _whole(node), needed[node])
            elif node in needed:
                values[node] = _built(node, needed, values, trace)
        return [TracedArray(_cut(values[output], needed[output], windows))]

    return program_of(program.in_types, part, program.names)


def _whole(node: Node) -> Windows:
    return () if isinstance(node.type, TupleType) else tuple([(0, n) for n in node.type.shape])


def _hull(x: Windows, y: Windows) -> Windows:
    return tuple([(min(a, c), max(b, d)) for (a, b), (c, d) in zip(x, y, strict=True)])


def _cut(value: Node, have: Windows, want: Windows) -> Node:
    """Return the part of a value of which a part is there."""
    if have == want:
        return value
    start = tuple([c - a for (a, _), (c, _) in zip(have, want, strict=True)])
    stop = tuple([d - a for (a, _), (_, d) in zip(have, want, strict=True)])
    return apply(value.trace, ops.slice_, value, start=start, stop=stop, step=(1,) * len(start))


def _narrow(node: Node, map: AxisMap, windows: Windows) -> dict[Hashable, Window]:
    """Return the windows of indices that an op maps, makes or joins along one axis of its result."""
    (after,) = map.results
    joined = _joined(node, map)
    return {
        label: window
        for label, window in zip(after, windows, strict=True)
        if is_name(label) and after.count(label) == 1 and (map.role(label) != "mixed" or label == joined)
    }


def _joined(node: Node, map: AxisMap) -> Hashable:
    """Return the index that an op joins out of parts, which are its operands; None for other ops."""
    labels = [[label for label in operand if isinstance(label, Strided)] for operand in map.operands]
    alone = [found[0] for found in labels if len(found) == 1 and found[0].step == 1]
    jointly = node.op.derivative.linear_operands is None
    if not jointly or len(alone) != len(labels) or len({part.name for part in alone}) != 1:
        return None
    return alone[0].name


def _possible(node: Node, windows: Windows) -> Windows:
    """Return what can be built of a value, of which a part is needed: all of it along axes that its op mixes."""
    if node.op.axes.adapt is None or any(isinstance(x.type, TupleType) for x in (node, *node.inputs)):
        return _whole(node)
    map = axis_map(node)
    named = _narrow(node, map, windows)
    return tuple([named.get(label, (0, n)) for label, n in zip(map.results[0], node.type.shape, strict=True)])


def _of_operands(node: Node, windows: Windows) -> list[tuple[Node, Windows]]:
    """Return what a part of an op's result needs of its operands, of those of which it needs something."""
    if windows == _whole(node):
        return [(x, _whole(x)) for x in node.inputs]
    map = axis_map(node)
    named = _narrow(node, map, windows)
    found = [
        (x, tuple([_of_axis(label, n, named) for label, n in zip(labels, x.type.shape, strict=True)]))
        for x, labels in zip(node.inputs, map.operands, strict=True)
    ]
    return [(x, own) for x, own in found if _joined(node, map) is None or all(a < b for a, b in own)]


def _of_axis(label: Hashable, length: int, named: dict[Hashable, Window]) -> Window:
    if isinstance(label, Strided) and label.name in named:  # what is joined has a part of its own
        a, b = named[label.name]
        return min(max(a - label.start, 0), length), min(max(b - label.start, 0), length)
    return named.get(label, (0, length))


def _built(node: Node, needed: dict[Node, Windows], values: dict[Node, Node], trace: Trace) -> Node:
    """Build the part of a value that is needed."""
    own = [(x, _cut(values[x], needed[x], windows)) for x, windows in _of_operands(node, needed[node])]
    if needed[node] == _whole(node):
        return rebuild(node, dict(own), trace)
    params = dict(node.params)
    map = axis_map(node)
    lengths = {label: b - a for label, (a, b) in _narrow(node, map, needed[node]).items()}
    params = node.op.axes.adapt(map.change(lengths, [x.type for x in node.inputs], [node.type]), **params)
    return apply(trace, node.op, *[value for _, value in own], **params)
