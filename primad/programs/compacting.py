"""What Python wrote out, number by number or step by step, as ops on arrays and as loops.

Most programs are too short for either: what looks for it is loaded when a long one comes.
"""

from __future__ import annotations

from primad.ir.program import Program
from primad.programs.loops.repeated_runs import FEWEST_NODES


def compact(program: Program) -> Program:
    """Return a program whose scalar ops of one form are ops on arrays, and whose equal steps are loops.

    Steps that do not depend on each other are ops on arrays, whose entries are told apart, rather than a loop. Where
    more is left than that, it is looked for loops first: steps that follow on each other may have some numbers each.
    """
    from primad.programs.loops.rerolling import rolled  # its loops are made of programs that are packed

    made = packed(program)
    if made is not program and len(made.nodes) < FEWEST_NODES:
        return made
    return packed(rolled(program))


def packed(program: Program) -> Program:
    """Return a program whose scalar ops of one form are ops on arrays; the program itself if they are few."""
    if len(program.nodes) < FEWEST_NODES:
        return program
    from primad.programs.packing.packing import packed as found  # loads when it is called

    return found(program)
