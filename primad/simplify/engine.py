"""Applying the laws to a program about to be planned."""

from __future__ import annotations

from primad.ir.node import Node, Trace
from primad.ir.program import Program, replay
from primad.transforms.lowering import finish, lower


def simplify(program: Program) -> Program:
    """Return an equal program that costs less: lowered to primitives, dead code dropped, laws applied.

    Only laws that hold bit for bit or in exact arithmetic are applied, and finite ones to zeros that differentiation
    itself put there.

    Example:
        >>> import primad
        >>> program = primad.trace(lambda x: (x + x) * 1.0)(primad.ArrayType((), float))
        >>> print(primad.simplify(program))
        program(x: float64[]) {
          a: float64[] = mul 2.0 x
          return a
        }
    """
    return rebuild_program(lower(program))


def rebuild_program(program: Program) -> Program:
    """Build the reachable nodes again: constructor laws see operands that earlier passes changed."""
    trace = Trace()
    inputs = [trace.input(node.type) for node in program.inputs]
    mapping: dict[Node, Node] = dict(zip(program.inputs, inputs, strict=True))
    replay(program.nodes, mapping, trace)
    return finish(program, trace, inputs, [mapping.get(node, node) for node in program.outputs], mapping)
