"""What is found by recording the definition of an op: the types of its results, and its cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from primad.ir.array_types import ArrayType
from primad.ir.key import params_by_key
from primad.ir.node import Node, Params, named
from primad.ir.program import Cost, Program
from primad.recording import tree
from primad.recording.tracing import record


def recorded(function: Callable[..., Any], types: tuple[ArrayType, ...], params: Params) -> Program:
    """Return the program of a function of arrays of some types, with params."""
    _, structure = tree.flatten(tuple(range(len(types))))
    return record(lambda *inputs: function(*inputs, **dict(params)), types, structure, recording=False)


class Definition:
    """A composite's definition, `(*inputs, **params) -> output`: what follows from it is found once for equal types."""

    def __init__(self, lower: Callable[..., Any]) -> None:
        self._type = lru_cache(maxsize=4096)(lambda types, params: recorded(lower, types, params.value).out_types[0])
        self._cost = lru_cache(maxsize=256)(lambda types, params: recorded(lower, types, params.value).cost())

    def infer(self, *types: ArrayType, **params: Any) -> ArrayType:
        """Return the type of the result."""
        found: ArrayType = self._type(types, params_by_key(named(params)))
        return found

    def cost(self, node: Node) -> Cost:
        """Count one application."""
        found: Cost = self._cost(tuple([operand.type for operand in node.inputs]), params_by_key(node.params))
        return found
