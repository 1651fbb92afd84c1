"""Types of an operator's results, where some lengths are unknown.

The operator is recorded on types, twice: with two different numbers for the unknown lengths. A length of a result that
comes out differently is unknown too. Both numbers have many divisors, so that reshapes fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import tree
from primad.compat.paddle.operators import Prototype
from primad.errors import PrimadError
from primad.ir.program import Program
from primad.trace import record
from primad.transforms.lowering import active_nodes, lower
from primad.types import ArrayType

UNKNOWN = -1
Shape = tuple[int, ...]
Typed = tuple[Shape, np.dtype[Any]]

_PROBES = (840, 1680)


def infer(prototype: Prototype, slots: Sequence[Any], attributes: dict[str, Any]) -> list[Any]:
    """Return (shape, dtype) of each output slot; a list of them for a slot that holds many, None for none.

    Args:
        prototype: the operator's record.
        slots: for each input slot a variable (whatever has shape and dtype), a list of them, or None.
        attributes: by Paddle's names.

    Raises:
        PrimadError: if the operands do not fit the operator, whatever the unknown lengths are.
    """
    program, other = recorded(prototype, slots, attributes)
    typed = [
        (tuple([a if a == b else UNKNOWN for a, b in zip(one.shape, two.shape, strict=True)]), one.dtype)
        for one, two in zip(program.out_types, other.out_types, strict=True)
    ]
    return tree.unflatten(program.out_tree, typed)  # type: ignore[no-any-return]


def dependence(prototype: Prototype, slots: Sequence[Any], attributes: dict[str, Any]) -> list[Any]:
    """Return, in the structure of the slots, whether a derivative can pass from that input to an output.

    A gradient operator of a linear one, for example, takes the inputs and does not depend on them.
    """
    program = lower(recorded(prototype, slots, attributes)[0])
    count = len(program.inputs)
    passes = []
    for i in range(count):
        live = active_nodes(program, [i == j for j in range(count)])
        passes.append(not live.isdisjoint(program.outputs))
    return tree.unflatten(tree.flatten(list(slots))[1], passes)  # type: ignore[no-any-return]


def recorded(prototype: Prototype, slots: Sequence[Any], attributes: dict[str, Any]) -> tuple[Program, Program]:
    """Return an operator as a program, for two different numbers in place of unknown lengths.

    Raises:
        PrimadError: if the operands do not fit the operator, whatever the unknown lengths are.
    """
    variables, structure = tree.flatten(list(slots))
    named = {name: attributes[name] for name in prototype.attributes}
    drawn = () if prototype.draw is None else (prototype.draw(np.random.default_rng(0), **named),)

    def compute(*operands: Any) -> Any:
        results = prototype.compute(*operands, *drawn, **named)
        return [results] if len(prototype.outputs) == 1 else list(results)

    def with_number(number: int) -> Program:
        types = []
        for variable in variables:
            shape = [number if length == UNKNOWN else length for length in variable.shape]
            types.append(ArrayType(tuple(shape), variable.dtype.numpy))
        return record(compute, types, structure)

    if not any(UNKNOWN in variable.shape for variable in variables):
        program = with_number(0)
        return program, program
    try:
        return with_number(_PROBES[0]), with_number(_PROBES[1])
    except PrimadError:  # an unknown length meets a known one, so it must be that one, or 1
        program = with_number(1)
        return program, program
