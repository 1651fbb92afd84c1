"""Parts of a program, between some of its nodes."""

from __future__ import annotations

from collections.abc import Sequence

from primad.ir.node import Node, Trace
from primad.ir.program import Program, carry_lines, rebuild


def subprogram(program: Program, inputs: Sequence[Node], outputs: Sequence[Node]) -> Program:
    """Return the part of a program that computes some of its nodes from others."""
    trace = Trace()
    new = [trace.input(node.type) for node in inputs]
    mapping = dict(zip(inputs, new, strict=True))
    needed = needed_between(inputs, outputs)
    for node in program.nodes:
        if node in needed and node not in mapping:
            mapping[node] = rebuild(node, mapping, trace, copy=True)
    carry_lines(program, mapping, trace)
    part = Program(trace, new, [mapping[node] for node in outputs])
    trace.close()
    return part


def needed_between(inputs: Sequence[Node], outputs: Sequence[Node]) -> set[Node]:
    """Return the nodes that are needed to compute some nodes when others are known, with both."""
    stop = set(inputs)
    needed: set[Node] = set()
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            if node not in stop:
                stack.extend(node.inputs)
    return needed
