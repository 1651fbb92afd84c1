"""Lowering: replace composite ops by their definitions, until only primitives are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from primad.errors import ProgramError, TracingError
from primad.ir.node import Leaf, Node, Trace
from primad.ir.program import Program, carry_lines, rebuild
from primad.primitive import packed
from primad.trace import TracedArray

MAX_ROUNDS = 200
"""Definitions nest less deeply than this; deeper means that one refers to itself."""


def lower(program: Program, active: Sequence[bool] | None = None, keep_custom: bool = False) -> Program:
    """Return the program with composite ops replaced by their definitions.

    Composites that hold programs (jacobian, hessian, …) come last, so that the ops that consume them can choose how
    they are computed.

    Args:
        program: any program.
        active: if given, only composites that depend on the active inputs through floats are lowered, and those with a
            JVP of their own are kept: what differentiation needs.
        keep_custom: keep composites with a JVP of their own, for a program that may be differentiated later.

    Raises:
        ProgramError: if a definition refers to itself.

    Example:
        >>> import numpy as np, primad
        >>> print(primad.lower(primad.trace(np.mean)(primad.ArrayType((4,), float))))
        program(a: float64[4]) {
          b: float64[] = sum a axes=(0,)
          c: float64[] = div b 4.0
          return c
        }
    """
    if not isinstance(program, Program):
        raise TracingError(
            f"lower and simplify take a Program, got {type(program).__name__}",
            fix="record the function first: primad.trace(f)(*example_arguments).",
        )
    for _ in range(MAX_ROUNDS):
        chosen = _to_lower(program, active, keep_custom)
        if not chosen:
            return program
        program = lower_nodes(program, chosen)
    raise ProgramError(f"lowering did not end after {MAX_ROUNDS} rounds: a composite's definition refers to itself")


def active_nodes(program: Program, active: Sequence[bool]) -> set[Node]:
    """Return the nodes through which an infinitesimal change of the active inputs can pass."""
    result = {node for node, on in zip(program.inputs, active, strict=True) if on and node.type.is_float}
    for node in program.nodes:
        passes = node.type.is_float and not isinstance(node.op, Leaf) and node.op.kind != "piecewise constant"
        if passes and not result.isdisjoint(node.inputs):
            result.add(node)
    return result


def _to_lower(program: Program, active: Sequence[bool] | None, keep_custom: bool) -> set[Node]:
    composites = [node for node in program.nodes if not isinstance(node.op, Leaf) and node.op.kind == "composite"]
    if composites and active is not None:
        live = active_nodes(program, active)
        composites = [node for node in composites if node in live]
    if keep_custom or active is not None:
        composites = [node for node in composites if node.op.jvp is None]
    plain = {node for node in composites if not node.op.holds_program}
    return plain or set(composites)


def lower_nodes(program: Program, chosen: set[Node]) -> Program:
    """Replace the chosen composite nodes by their definitions, once."""
    trace = Trace()
    inputs = [trace.input(node.type) for node in program.inputs]
    mapping: dict[Node, Node] = dict(zip(program.inputs, inputs, strict=True))
    for node in program.nodes:
        if node in mapping:
            continue
        if node in chosen:
            mapping[node] = definition(node, mapping, trace)
        else:
            mapping[node] = rebuild(node, mapping, trace)
    return finish(program, trace, inputs, [mapping.get(node, node) for node in program.outputs], mapping)


def definition(node: Node, mapping: Mapping[Node, Node], trace: Trace) -> Node:
    """Build the definition of a composite node on mapped operands."""
    operands = [TracedArray(mapping.get(operand, operand)) for operand in node.inputs]
    lowered = packed(node.op.lower(*operands, **dict(node.params)), trace)
    if lowered.type != node.type:
        raise ProgramError(f"{node.op.name}: its definition gives {lowered.type} instead of {node.type}")
    return lowered


def finish(
    source: Program,
    trace: Trace,
    inputs: Sequence[Node],
    outputs: Sequence[Node],
    mapping: dict[Node, Node] | None = None,
) -> Program:
    """Close a trace as a program that takes over names and trees from `source`."""
    if mapping is not None:
        carry_lines(source, mapping, trace)
    same = len(inputs) == len(source.inputs)
    program = Program(
        trace,
        inputs,
        outputs,
        source.in_tree if same else None,
        source.out_tree if len(outputs) == len(source.outputs) else None,
        source.names if same else None,
        source.label,
    )
    trace.close()
    return program
