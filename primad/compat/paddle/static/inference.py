"""Types of an operator's results, where some lengths are unknown.

The operator is recorded on types, twice: with two different numbers for the unknown lengths. A length of a result that
comes out differently is unknown too. Both numbers have many divisors, so that reshapes fit. Where an unknown length
meets a known one, it is taken to be that one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from primad.compat.paddle.eager.operators import Prototype
from primad.compat.paddle.settings.errors import InvalidArgumentError
from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.program import Program
from primad.recording import tree
from primad.recording.tracing import record
from primad.transforms.lowering import active_nodes, lower

UNKNOWN = -1
Shape = tuple[int, ...]
Typed = tuple[Shape, np.dtype[Any]]

_PROBES = (840, 1680)
_TRIALS = 200
"""How many ways to fill in unknown lengths are tried before an operator is refused."""


def infer(prototype: Prototype, slots: Sequence[Any], attributes: dict[str, Any]) -> list[Any]:
    """Return (shape, dtype) of each output slot; a list of them for a slot that holds many, None for none.

    Args:
        prototype: the operator's record.
        slots: for each input slot a variable (whatever has shape and dtype), a list of them, or None.
        attributes: by Paddle's names.

    Raises:
        InvalidArgumentError: if the operands do not fit the operator, whatever the unknown lengths are.
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
        InvalidArgumentError: if the operands do not fit the operator, whatever the unknown lengths are.
    """
    variables, structure = tree.flatten(list(slots))
    named = {name: attributes[name] for name in prototype.attributes}
    drawn = () if prototype.draw is None else (prototype.draw(np.random.default_rng(0), **named),)

    def compute(*operands: Any) -> Any:
        results = prototype.compute(*operands, *drawn, **named)
        return [results] if len(prototype.outputs) == 1 else list(results)

    def with_lengths(number: int, fixed: Mapping[int, int]) -> Program:
        """Record with a number in place of unknown lengths, and other numbers in place of some of them."""
        places = itertools.count()
        types = []
        for variable in variables:
            shape = [fixed.get(next(places), number) if n == UNKNOWN else n for n in variable.shape]
            types.append(ArrayType(tuple(shape), variable.dtype.numpy))
        return record(compute, types, structure)

    lengths = {length for variable in variables for length in variable.shape}
    unknown = sum(variable.shape.count(UNKNOWN) for variable in variables)
    failed: ShapeError | None = None
    for fixed in itertools.islice(_choices(unknown, sorted(lengths - {UNKNOWN})), _TRIALS):
        try:
            program = with_lengths(_PROBES[0], fixed)
            return program, with_lengths(_PROBES[1], fixed) if unknown else program
        except ShapeError as error:
            failed = failed or error
    assert failed is not None
    if isinstance(failed, IndexError):
        raise failed
    operands = ", ".join(f"{variable.name} {list(variable.shape)}" for variable in variables)
    why = f"{failed.what}{f' ({_PROBES[0]} stands for unknown lengths)' if unknown else ''}."
    raise InvalidArgumentError(f"the operator {prototype.type} does not take {operands}", why)


def _choices(unknown: int, lengths: list[int]) -> Iterator[dict[int, int]]:
    """Yield lengths for some of the unknown ones: for none at first, since each may meet a known length, or be it."""
    for count in range(unknown + 1):
        for places in itertools.combinations(range(unknown), count):
            for chosen in itertools.product(lengths, repeat=count):
                yield dict(zip(places, chosen, strict=True))
