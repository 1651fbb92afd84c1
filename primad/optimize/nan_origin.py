"""Which op of a program made the first value that is not finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import shown_place
from primad.ir.node import INPUT, Leaf, leaf_value
from primad.recording import tree
from primad.recording.tracing import trace
from primad.runtime.executors.reference import definition
from primad.system.process import silently
from primad.transforms.lowering import lower, without_calls


def first_not_finite(function: Any, *args: Any) -> str | None:
    """Return in words which op of a function was the first to make a NaN or an infinity of finite numbers.

    Args:
        function: of trees of arrays.
        *args: where it is not finite.

    Returns:
        the op, an element of its result, and the user's line; None if all is finite.
    """
    program = lower(without_calls(trace(function)(*args)))
    inputs = dict(zip(program.inputs, tree.leaves(tuple(args)), strict=True))
    values: dict[Any, Any] = {}
    for node in program.nodes:
        if isinstance(node.op, Leaf):
            values[node] = np.asarray(inputs[node] if node.op is INPUT else leaf_value(node))
            continue
        operands = [values[operand] for operand in node.inputs]
        found = silently(lambda node=node, operands=operands: definition(node.op)(*operands, **dict(node.params)))
        values[node] = found
        wrong = next((i for i, part in enumerate(_parts(found)) if not _finite(part)), None)
        if wrong is not None and all(_finite(part) for operand in operands for part in _parts(operand)):
            line = program.lines.get(node)
            said = f"{node.op.name}{_in_words(found, wrong, operands)}"
            return f"{said}, in {shown_place(line)}" if line else said
    return None


def _in_words(found: Any, wrong: int, operands: list[Any]) -> str:
    """Return what an element of an op's result is that is not finite, where, and of which elements."""
    parts = _parts(found)
    array = np.asarray(parts[wrong])
    place = np.argwhere(~np.isfinite(array))[0]
    at = f" at {[int(i) for i in place]}" if len(place) else ""
    if len(parts) > 1:
        return f" is {array[tuple(place)]}{at} of result {wrong}"
    given = [_at(operand, array.shape, place) for operand in operands]
    of = f" of {', '.join(f'{x:.4g}' for x in given)}" if all(x is not None for x in given) else ""
    return f"{of} is {array[tuple(place)]}{at}"


def _parts(value: Any) -> Any:
    """Return the results of an op, which may be one."""
    return value if isinstance(value, (tuple, list)) else (value,)


def _at(operand: Any, shape: tuple[int, ...], place: Any) -> Any:
    return operand[tuple(place)] if np.shape(operand) == shape else None


def _finite(value: Any) -> bool:
    return np.asarray(value).dtype.kind not in "fc" or bool(np.all(np.isfinite(value)))
