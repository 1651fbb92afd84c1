"""Reshapes that merge axes come after what is pointwise, so that values keep the axes of their points for long.

Residuals at points are often made one row of numbers before they are squared and added up, and taken apart again by the
derivative. With the reshape after the squares the two meet, and nothing is left of them.
"""

from __future__ import annotations

from primad import ops
from primad.ir.axes import Factors
from primad.ir.node import Leaf, Node, Trace
from primad.ir.program import Program
from primad.ir.replay import reapplied, rebuild
from primad.ir.walks import dependents
from primad.programs.sparsity.direct.linear_parts import DirectionProgram
from primad.recording.traced_array import TracedArray
from primad.transforms.dimensions import axis_map


def with_late_reshapes(of: DirectionProgram) -> DirectionProgram:
    """Return the same program with reshapes that merge axes of what depends on the direction after pointwise ops."""
    trace = Trace()
    found = {node: trace.input(node.type) for node in of.along.inputs}
    for node in of.along.nodes:
        if node in found:
            continue
        merged = [found[x].inputs[0] for x in node.inputs if x in of.moving and _merges(found[x])]
        if not merged or isinstance(node.op, Leaf) or not node.op.axes.pointwise:
            found[node] = rebuild(node, found, trace)
            continue
        shape = merged[0].type.shape
        operands = [ops.reshape(TracedArray(found[x]), shape=shape).node for x in node.inputs]
        early = TracedArray(reapplied(node, tuple(operands), trace))
        found[node] = ops.reshape(early, shape=node.type.shape).node
    program = Program(trace, [found[x] for x in of.along.inputs], [found[x] for x in of.along.outputs])
    known = {found[x]: value for x, value in of.known.items()}
    return DirectionProgram(program, known, dependents(program.nodes, program.inputs[-1:]))


def _merges(node: Node) -> bool:
    """Say whether a value is another one with some of its axes merged, all elements being in their order."""
    if isinstance(node.op, Leaf) or not node.op.memory.views or len(node.inputs) != 1:
        return False
    map = axis_map(node)
    after = [name for label in map.results[0] for name in (label.names if isinstance(label, Factors) else (label,))]
    return after == [*map.operands[0]] and any(isinstance(label, Factors) for label in map.results[0])
