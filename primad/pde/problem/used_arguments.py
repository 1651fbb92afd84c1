"""What a function of arrays depends on, read off its program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from primad.enclosures.op_bounds import JUMPS
from primad.errors import TracingError
from primad.ir.node import Node
from primad.ir.walks import dependents
from primad.ops.record.primitive import project
from primad.recording import tree
from primad.recording.tracing import trace
from primad.transforms.lowering import lower, without_calls

Array = np.ndarray[Any, Any]


def depends(function: Callable[..., Any], arguments: Sequence[Any], place: int) -> list[bool]:
    """Say of each array in one of a function's arguments whether the function's program uses it."""
    program = lower(without_calls(trace(function)(*arguments)))
    own = tree.unflatten(tree.flatten(tuple(arguments))[1], list(program.inputs))[place]
    inside = set(program.nodes)
    return [leaf in inside for leaf in tree.leaves(own)]


def which_depend(function: Callable[..., Any], arguments: Sequence[Any]) -> list[bool]:
    """Say of each array that a function returns whether it depends on any of the function's arguments."""
    program = lower(without_calls(trace(function)(*arguments)))
    found = dependents(program.nodes, program.inputs)
    return [result in found or result in program.inputs for result in program.outputs]


def fixed_results(function: Callable[..., Sequence[Any]], arguments: Sequence[Any]) -> list[Array | None]:
    """Return what of a function's results depends on none of its arguments, and None for all others.

    Of a function that asks for the value of an argument it is not known: all are None then.
    """
    try:
        moving = which_depend(function, arguments)
    except TracingError:
        return [None for _ in function(*arguments)]
    if all(moving):
        return [None for _ in moving]
    found = function(*arguments)
    return [None if moves else np.asarray(one) for one, moves in zip(found, moving, strict=True)]


def all_fixed(function: Callable[..., Sequence[Any]], arguments: Sequence[Any]) -> list[Array] | None:
    """Return a function's results if none of them depends on its arguments; None otherwise."""
    found = fixed_results(function, arguments)
    fixed = [one for one in found if one is not None]
    return fixed if len(fixed) == len(found) else None


def may_jump_with(function: Callable[..., Any], arguments: Sequence[Any], place: int) -> bool:
    """Say whether a function's program has an op that may jump as one of its arguments changes, a comparison say.

    Loops and branches that the argument goes into count as such: it is not looked into them.
    """
    reached = _reached(function, arguments, [place])
    return any(node.op.kind in ("piecewise constant", "program") or node.op in JUMPS for node in reached)


def is_analytic_in(function: Callable[..., Any], arguments: Sequence[Any]) -> bool:
    """Say whether a function is known to be analytic in its arguments: where it is zero all around, it is zero.

    What has absolute values, larger ones of two, comparisons, loops or branches is not.
    """
    reached = [node for node in _reached(function, arguments, range(len(arguments))) if node.op is not project]
    return all(node.op.complex == "analytic" and node.op.kind != "piecewise constant" for node in reached)


def _reached(function: Callable[..., Any], arguments: Sequence[Any], places: Iterable[int]) -> list[Node]:
    """Return what of a function's program depends on some of its arguments."""
    program = lower(without_calls(trace(function)(*arguments)))
    own = tree.unflatten(tree.flatten(tuple(arguments))[1], list(program.inputs))
    given = [leaf for place in places for leaf in tree.leaves(own[place])]
    found = dependents(program.nodes, given)
    return [node for node in program.nodes if node in found and node.inputs]
