"""The reference interpreter: run each node's NumPy definition, in order, freeing values after their last use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.errors import TracingError
from primad.ir.node import CAPTURED, LITERAL, Leaf, Node, literal_value
from primad.ir.program import Program
from primad.trace import TracedArray

Step = tuple[Callable[..., Any], tuple[int, ...], dict[str, Any], int, tuple[int, ...]]


class Plan:
    """A lowered program, ready to run: slots for values and one step for each node.

    Attributes:
        program: what it computes.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        slot: dict[Node, int] = {node: i for i, node in enumerate(program.inputs)}
        self._constants: list[tuple[int, Any]] = []
        steps: list[tuple[Node, int]] = []
        for node in program.nodes:
            if node in slot:
                continue
            slot[node] = len(slot)
            if node.op is LITERAL:
                filled = np.broadcast_to(np.asarray(literal_value(node), node.type.dtype), node.type.shape)
                self._constants.append((slot[node], filled))
            elif node.op is CAPTURED:
                self._constants.append((slot[node], node.params[0][1].array))
            else:
                steps.append((node, slot[node]))
        self._size = len(slot)
        keep = {slot[node] for node in program.outputs}
        last: dict[int, int] = {}
        for position, (node, _) in enumerate(steps):
            for operand in node.inputs:
                last[slot[operand]] = position
        freed: dict[int, list[int]] = {}
        for index, position in last.items():
            if index not in keep:
                freed.setdefault(position, []).append(index)
        self._steps: list[Step] = [
            (
                node.op.numpy,
                tuple([slot[operand] for operand in node.inputs]),
                dict(node.params),
                place,
                tuple(freed.get(position, ())),
            )
            for position, (node, place) in enumerate(steps)
        ]
        seen: set[Node] = set()
        self._finish: list[tuple[int, Any, bool, bool]] = []
        for node in program.outputs:
            fresh = _fresh(node) and node not in seen
            seen.add(node)
            self._finish.append((slot[node], node.type.dtype, not node.type.shape, fresh))

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the outputs; each is an array of its own, sharing no memory with arguments or other outputs."""
        values: list[Any] = [None] * self._size
        values[: len(arguments)] = arguments
        for index, constant in self._constants:
            values[index] = constant
        with np.errstate(all="ignore"):
            for function, operands, params, place, freed in self._steps:
                values[place] = function(*[values[i] for i in operands], **params)
                for index in freed:
                    values[index] = None
        return [
            dtype.type(values[index]) if scalar else values[index] if fresh else np.array(values[index], dtype)
            for index, dtype, scalar, fresh in self._finish
        ]


def _fresh(node: Node) -> bool:
    """Say whether computing the node makes an array that nothing else holds."""
    return not isinstance(node.op, Leaf) and not node.op.views


def evaluate_node(node: Node) -> Any:
    """Compute one node of an open trace whose inputs' values are known, remembering what was computed.

    Raises:
        TracingError: if it depends on an input without a value.
    """
    stack = [node]
    while stack:
        current = stack[-1]
        values = current.trace.values
        if current in values and not isinstance(values[current], TracedArray):
            stack.pop()
            continue
        missing = [
            operand
            for operand in _sources(current)
            if operand not in operand.trace.values or isinstance(operand.trace.values[operand], TracedArray)
        ]
        if missing:
            stack.extend(missing)
            continue
        values[current] = _compute(current)
        stack.pop()
    return node.trace.values[node]


def _sources(node: Node) -> Sequence[Node]:
    value = node.trace.values.get(node)
    return (value.node,) if isinstance(value, TracedArray) else node.inputs


def _compute(node: Node) -> Any:
    known = node.trace.values.get(node)
    if isinstance(known, TracedArray):
        return known.node.trace.values[known.node]
    if node.op is LITERAL:
        return np.broadcast_to(np.asarray(literal_value(node), node.type.dtype), node.type.shape)
    if isinstance(node.op, Leaf):
        raise TracingError(
            f"the value of a traced array is needed, but an argument of type {node.type} has none",
            why="While primad records a function for jit, vmap or trace, arrays have a type but no value.",
            fix="use primad.numpy.where, or take the derivative outside of jit.",
        )
    with np.errstate(all="ignore"):
        return node.op.numpy(*[operand.trace.values[operand] for operand in node.inputs], **dict(node.params))
