"""Loops in tiles: step after step, where an axis can be cut through all of their steps.

Tiles along such an axis stay in a cache through all steps, as a loop's carried values do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad.ir.node import Leaf, Node
from primad.ir.program import ClosedProgram, Program
from primad.ir.walks import dependents
from primad.ops.record.fields import LoopForm
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.runtime.tiling.tileable_axes import MOST_OPS, Tileable, tileable_dimensions
from primad.system.machine import CALL_ELEMENTS
from primad.transforms.lowering import calls, inline, lower, unrolled


def with_loops_unrolled(program: Program, most: int = MOST_OPS) -> Program | None:
    """Return a program with its loops step after step; None if it has none, or one that does not run so in tiles.

    Args:
        program: what to compute.
        most: ops, with all steps, from which it is not.
    """
    loops = [node.op.programs.loop(node) for node in calls(program) if node.op.programs.loop is not None]
    if not loops or _length_of(program) > most or not all(map(_is_cut, loops)):
        return None
    return lower(unrolled(program))


def step_after_step(program: Program) -> Program:
    """Return a program with its loops step after step, or as it is if steps are too many or their number is not known.

    Axes go through all steps then.
    """
    return lower(unrolled(program)) if calls(program) and _length_of(program) <= MOST_OPS else program


def _length_of(program: Program, known: dict[ClosedProgram, float] | None = None) -> float:
    """Return how many ops a program has with all steps of its loops; ∞ where their number is not known.

    Args:
        program: the program.
        known: what is found of the programs that it holds, each of which several may hold.
    """
    known = {} if known is None else known
    total = 0.0
    for node in program.nodes:
        if isinstance(node.op, Leaf):
            continue
        form: LoopForm | None = None if node.op.programs.loop is None else node.op.programs.loop(node)
        if form is not None and (form.ends or form.lead or form.separate):
            return float("inf")
        held: list[ClosedProgram] = node.op.held(node.params) if node.op.programs.called else []
        for of in held:
            if of not in known:
                known[of] = _length_of(of.program, known)
        total += 1 if not held else sum([known[of] for of in held]) * (1 if form is None else form.length)
    return total


def _is_cut(form: LoopForm) -> bool:
    """Say whether an axis can be cut that large values have, or are sums along, which a step takes from the one before.

    Tiles end where a sum along their axis is used: they do not stay in a cache through several steps then. What is only
    added up over the steps, as the derivative in weights that all steps share, is used by none of them.
    """
    two, outputs = _two_steps(form)
    return any(_goes_through(axis, two, outputs) for axis in tileable_dimensions(two)) if outputs else False


def _goes_through(axis: Tileable, two: Program, outputs: Sequence[Node]) -> bool:
    """Say whether an axis can be cut through two steps."""
    sums = dependents(two.nodes, list(axis.reductions))
    along = [node in axis.axis for node in outputs]
    held = any(along) and all(cut or node in sums for cut, node in zip(along, outputs, strict=True))
    return held and axis.axis.keys().isdisjoint(sums - axis.reductions)


def _two_steps(form: LoopForm) -> tuple[Program, list[Node]]:
    """Return the program of two steps, and the large values that the second hands on."""
    step: Program = form.of.hoisted
    types, carry, end = step.in_types, form.carry, form.carry + form.stacked

    def steps(*given: TracedArray) -> list[Any]:
        fixed = given[end + form.stacked :]
        first = inline(step, [*given[:end], *fixed])
        return list(inline(step, [*first[:carry], *given[end : end + form.stacked], *fixed])[:carry])

    two = lower(unrolled(program_of([*types[:end], *types[carry:end], *types[end:]], steps)))
    return two, [node for node in two.outputs if node.type.size * carry > CALL_ELEMENTS]
