"""The part of a loop that some of its results need: what it carries, takes and computes for others is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from primad.ir.program import ClosedProgram, Program
from primad.native.loops.body_programs import needed_results
from primad.system.process import MOST_KEPT, made_once


class NeededPart(NamedTuple):
    """A part of a loop.

    Attributes:
        of: the program of its step.
        carry: how many values it carries.
        stacked: how many of its operands are stacked arrays.
        operands: which operands of the whole it takes.
        numbers: what it takes after them: those that are exponents in what is left out, too, no operands of it.
        results: which results of the whole it gives.
    """

    of: ClosedProgram
    carry: int
    stacked: int
    operands: Sequence[int]
    numbers: Sequence[Any]
    results: Sequence[int]


@made_once(most=MOST_KEPT)
def needed_part(of: ClosedProgram, carry: int, stacked: int, wanted: tuple[bool, ...]) -> NeededPart | None:
    """Return the part of a loop that is needed; None where all of it is.

    Args:
        of: the program of a step: (carried values, rows, the rest) -> (carried values, results).
        carry: how many values are carried.
        stacked: how many operands are stacked arrays.
        wanted: which of the carried values and of the stacked results are used.
    """
    if all(wanted) or not of.lawful:
        return None
    whole = of.hoisted
    results = needed_results(whole, carry, [i for i, on in enumerate(wanted) if on])
    if len(results) == len(wanted):
        return None
    outputs = [whole.outputs[i] for i in results]
    used = {*Program(whole.trace, whole.inputs, outputs).nodes, *outputs}
    operands = [i for i, node in enumerate(whole.inputs) if (i in results if i < carry else node in used)]
    program = Program(whole.trace, [whole.inputs[i] for i in operands], outputs)
    program.lines = whole.lines
    counts = sum(i < carry for i in operands), sum(carry <= i < carry + stacked for i in operands)
    return NeededPart(ClosedProgram(program), *counts, operands, program.source_values, results)
