"""What a function of arrays depends on, read off its program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primad.enclosures.op_bounds import JUMPS
from primad.recording import tree
from primad.recording.tracing import trace
from primad.transforms.lowering import lower, without_calls


def depends(function: Callable[..., Any], arguments: Sequence[Any], place: int) -> list[bool]:
    """Say of each array in one of a function's arguments whether the function's program uses it."""
    program = lower(without_calls(trace(function)(*arguments)))
    own = tree.unflatten(tree.flatten(tuple(arguments))[1], list(program.inputs))[place]
    inside = set(program.nodes)
    return [leaf in inside for leaf in tree.leaves(own)]


def may_jump_with(function: Callable[..., Any], arguments: Sequence[Any], place: int) -> bool:
    """Say whether a function's program has an op that may jump as one of its arguments changes, a comparison say.

    Loops and branches that the argument goes into count as such: it is not looked into them.
    """
    program = lower(without_calls(trace(function)(*arguments)))
    own = tree.unflatten(tree.flatten(tuple(arguments))[1], list(program.inputs))[place]
    reached = set(tree.leaves(own))
    for node in program.nodes:
        if any(operand in reached for operand in node.inputs):
            reached.add(node)
            if node.op.kind in ("piecewise constant", "program") or node.op in JUMPS:
                return True
    return False
