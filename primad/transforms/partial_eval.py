"""Splitting a program by what is known first: inner values that are at hand, values that need no late inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from primad.ir.node import CAPTURED, LITERAL, Node
from primad.ir.program import Program, subprogram
from primad.ir.walks import dependents


def split(
    program: Program,
    late: Sequence[bool],
    late_outputs: Sequence[bool],
    again: Collection[Any] = (),
    kept: Callable[[list[Node]], list[Node]] = list,
) -> tuple[Program, Program]:
    """Split a program into an early and a late part.

    Args:
        program: a lowered program.
        late: which inputs are known only later (tangents, cotangents).
        late_outputs: which outputs the late part returns.
        again: ops behind which values are computed by each part that needs them.
        kept: chooses, for what the late part reads, values of the early one from which it follows.

    Returns:
        early: (early inputs) -> (the other outputs, residuals);
        rest: (residuals, late inputs) -> (the late outputs).
    """
    awaited = [node for node, on in zip(program.inputs, late, strict=True) if on]
    depends = dependents(program.nodes, [*awaited, *[node for node in program.nodes if node.op in again]])
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
    residuals = dict.fromkeys(kept(list(residuals)))

    known = [node for node, on in zip(program.inputs, late, strict=True) if not on]
    early = [node for node, on in zip(program.outputs, late_outputs, strict=True) if not on]
    return (
        subprogram(program, known, [*early, *residuals]),
        subprogram(program, [*residuals, *awaited], outputs),
    )


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
    inputs = [*program.inputs, *program.outputs[:known]]
    names = [*program.names, *(f"v{i}" for i in range(known))]
    return subprogram(program, inputs, program.outputs[known:], names)
