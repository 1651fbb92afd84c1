"""Forward mode: push tangents through a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from primad.ir.array_types import Zero
from primad.ir.node import Leaf, Node, Trace
from primad.ir.program import Program, carry_lines
from primad.ir.replay import rebuild
from primad.ops.record.primitive import packed, result_of
from primad.ops.record.rules import missing_rule
from primad.recording.traced_array import TracedArray
from primad.transforms.lowering import finish, with_rules


def push_tangents(
    program: Program,
    trace: Trace,
    primals: Sequence[Node],
    tangents: Sequence[TracedArray | Zero],
    marks: Mapping[Node, TracedArray] | None = None,
    residuals: bool = False,
) -> tuple[list[Node], list[TracedArray | Zero]]:
    """Replay a program in `trace` and compute the tangents of its outputs beside it.

    Args:
        program: a program whose active composites are lowered.
        trace: where to build.
        primals: fresh nodes for the inputs.
        tangents: their tangents.
        marks: further tangents that enter at nodes of the program, added to what arrives there.
        residuals: whether the tangents will be transposed (see `linearize` in `primad.ops.record.fields`).

    Returns:
        the outputs and their tangents.
    """
    mapping: dict[Node, Node] = dict(zip(program.inputs, primals, strict=True))
    moving: dict[Node, Any] = {
        node: tangent
        for node, tangent in zip(program.inputs, tangents, strict=True)
        if isinstance(tangent, TracedArray)
    }
    marks = marks or {}
    for node in program.inputs:
        if node in marks:
            moving[node] = moving[node] + marks[node] if node in moving else marks[node]
    for node in program.nodes:
        if node in mapping:
            continue
        moves = not isinstance(node.op, Leaf) and node.type.is_float and not moving.keys().isdisjoint(node.inputs)
        apart = moves and node.op.derivative.linearize is not None
        if not apart:
            mapping[node] = rebuild(node, mapping, trace, copy=True)
        if node in marks:
            moving[node] = marks[node]
        if not moves:
            continue
        if not apart and node.op.derivative.jvp is None:
            raise missing_rule(node.op, "JVP rule")
        operands = [TracedArray(mapping.get(operand, operand)) for operand in node.inputs]
        incoming = [moving[operand] if operand in moving else Zero(operand.type) for operand in node.inputs]
        params = dict(node.params)
        if apart:
            out, tangent = node.op.derivative.linearize(incoming, *operands, residuals=residuals, **params)
            mapping[node] = packed(out, trace)
        else:
            tangent = node.op.derivative.jvp(incoming, result_of(mapping[node]), *operands, **params)
        if isinstance(tangent, tuple):
            if not all(isinstance(part, Zero) for part in tangent):
                moving[node] = tangent
        elif not isinstance(tangent, Zero):
            moving[node] = tangent + moving[node] if node in moving else tangent
    carry_lines(program, mapping, trace)
    outputs = [mapping.get(node, node) for node in program.outputs]
    return outputs, [moving[node] if node in moving else Zero(node.type) for node in program.outputs]


def fresh_inputs(program: Program, trace: Trace, active: Sequence[bool]) -> tuple[list[Node], list[TracedArray | Zero]]:
    """Return new inputs for a program's primals, and for the tangents of its active inputs."""
    primals = [trace.input(node.type) for node in program.inputs]
    tangents = [
        TracedArray(trace.input(node.type)) if on else Zero(node.type)
        for node, on in zip(program.inputs, active, strict=True)
    ]
    return primals, tangents


def zero_node(trace: Trace, type: Any) -> Node:
    """Return the literal zero of a type."""
    return trace.literal(0, type)


def jvp(program: Program, active: Sequence[bool] | None = None, residuals: bool = False) -> Program:
    """Return the program (inputs, tangents of active inputs) -> (outputs, their tangents).

    Tangents of outputs that do not depend on the active inputs are zeros.

    Args:
        program: any program.
        active: which inputs have tangents; by default those that are floats.
        residuals: whether what is linear in the tangents is to stand apart, to be transposed or applied often.

    Raises:
        NotDifferentiableError: if an op on the path has no JVP rule.

    Example:
        >>> import numpy as np, primad
        >>> print(primad.transforms.jvp(primad.trace(np.exp)(1.0)))
        program(x: float64[], x_dot: float64[]) {
          a: float64[] = exp x
          b: float64[] = mul a x_dot
          return a, b
        }
    """
    active = [node.type.is_float for node in program.inputs] if active is None else active
    return by_rules(with_rules(program, active), active, residuals)


def by_rules(program: Program, active: Sequence[bool], residuals: bool = False) -> Program:
    """Return what `jvp` does of a program whose ops on the path from active inputs all have rules, by these alone."""
    trace = Trace()
    primals, tangents = fresh_inputs(program, trace, active)
    outputs, out_tangents = push_tangents(program, trace, primals, tangents, residuals=residuals)
    seeds = [tangent.node for tangent in tangents if isinstance(tangent, TracedArray)]
    results = [
        tangent.node if isinstance(tangent, TracedArray) else zero_node(trace, tangent.type) for tangent in out_tangents
    ]
    names = [*program.names, *(f"{name}_dot" for name, on in zip(program.names, active, strict=True) if on)]
    result = finish(program, trace, [*primals, *seeds], [*outputs, *results])
    result.names = tuple(names)
    return result
