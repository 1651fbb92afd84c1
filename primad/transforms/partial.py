"""Splitting a program by what is known first: inner values that are at hand, values that need no late inputs."""

from __future__ import annotations

from collections.abc import Sequence

from primad.ir.node import CAPTURED, LITERAL, Node, Trace
from primad.ir.program import Program, rebuild


def split(program: Program, late: Sequence[bool], late_outputs: Sequence[bool]) -> tuple[Program, Program]:
    """Split a program into an early and a late part.

    Args:
        program: a lowered program.
        late: which inputs are known only later (tangents, cotangents).
        late_outputs: which outputs the late part returns.

    Returns:
        early: (early inputs) -> (the other outputs, residuals);
        rest: (residuals, late inputs) -> (the late outputs).
    """
    depends = {node for node, on in zip(program.inputs, late, strict=True) if on}
    for node in program.nodes:
        if not depends.isdisjoint(node.inputs):
            depends.add(node)
    residuals: dict[Node, None] = {}
    needed = [node for node in program.nodes if node in depends]
    for node in needed:
        for operand in node.inputs:
            if operand not in depends and operand.op is not LITERAL and operand.op is not CAPTURED:
                residuals[operand] = None
    outputs = [node for node, on in zip(program.outputs, late_outputs, strict=True) if on]
    for node in outputs:
        if node not in depends and node.op is not LITERAL:
            residuals[node] = None

    trace = Trace()
    inputs = [node for node, on in zip(program.inputs, late, strict=True) if not on]
    mapping = {node: trace.input(node.type) for node in inputs}
    early_outputs = [node for node, on in zip(program.outputs, late_outputs, strict=True) if not on]
    for node in program.nodes:
        if node not in depends and node not in mapping:
            mapping[node] = rebuild(node, mapping, trace, copy=True)
    new_inputs = [mapping[node] for node in inputs]
    early = Program(trace, new_inputs, [mapping[node] for node in (*early_outputs, *residuals)])
    trace.close()

    trace = Trace()
    mapping = {node: trace.input(node.type) for node in residuals}
    late_inputs = [node for node, on in zip(program.inputs, late, strict=True) if on]
    for node in late_inputs:
        mapping[node] = trace.input(node.type)
    new_inputs = [mapping[node] for node in (*residuals, *late_inputs)]
    for node in program.nodes:
        if node not in mapping and (node in depends or node.op is LITERAL or node.op is CAPTURED):
            mapping[node] = rebuild(node, mapping, trace, copy=True)
    rest = Program(trace, new_inputs, [mapping[node] for node in outputs])
    trace.close()
    return early, rest


def cut(program: Program, known: int) -> Program:
    """Return the program that takes its first outputs as further inputs instead of computing them.

    For a derivative whose primal values are at hand: what they determine is read, not computed again.

    Args:
        program: a lowered program.
        known: how many of its outputs are known.

    Returns:
        the program (inputs, known values) -> (the other outputs).

    Example:
        >>> import numpy as np, primad
        >>> program = primad.transforms.vjp(primad.trace(np.exp)(1.0))
        >>> print(primad.transforms.cut(program, 1))
        program(x: float64[], ct: float64[], v0: float64[]) {
          a: float64[] = mul v0 ct
          return a
        }
    """
    trace = Trace()
    mapping: dict[Node, Node] = {node: trace.input(node.type) for node in program.inputs}
    inputs = list(mapping.values())
    for node in program.outputs[:known]:
        inputs.append(trace.input(node.type))
        if node.op is not LITERAL and node.op is not CAPTURED:
            mapping.setdefault(node, inputs[-1])
    outputs = program.outputs[known:]
    needed, stack = set(mapping), list(outputs)
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            stack.extend(node.inputs)
    for node in program.nodes:
        if node in needed and node not in mapping:
            mapping[node] = rebuild(node, mapping, trace, copy=True)
    names = [*program.names, *(f"v{i}" for i in range(known))]
    rest = Program(trace, inputs, [mapping[node] for node in outputs], names=names)
    trace.close()
    return rest
