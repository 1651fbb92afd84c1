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
from primad.trace import record
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
    variables, structure = tree.flatten(list(slots))
    named = {name: attributes[name] for name in prototype.attributes}

    drawn = () if prototype.draw is None else (prototype.draw(np.random.default_rng(0), **named),)

    def types(number: int) -> tuple[list[ArrayType], Any]:
        def compute(*operands: Any) -> Any:
            results = prototype.compute(*operands, *drawn, **named)
            return [results] if len(prototype.outputs) == 1 else list(results)

        leaves = [
            ArrayType(
                tuple([number if length == UNKNOWN else length for length in variable.shape]), variable.dtype.numpy
            )
            for variable in variables
        ]
        program = record(compute, leaves, structure)
        return program.out_types, program.out_tree

    if not any(UNKNOWN in variable.shape for variable in variables):
        found, out_tree = types(0)
        return tree.unflatten(out_tree, [(type.shape, type.dtype) for type in found])  # type: ignore[no-any-return]
    try:
        found, out_tree = types(_PROBES[0])
        others, _ = types(_PROBES[1])
    except PrimadError:  # an unknown length meets a known one, so it must be that one, or 1
        found, out_tree = types(1)
        others = found
    return tree.unflatten(  # type: ignore[no-any-return]
        out_tree,
        [
            (tuple([a if a == b else UNKNOWN for a, b in zip(one.shape, two.shape, strict=True)]), one.dtype)
            for one, two in zip(found, others, strict=True)
        ],
    )
