"""What Python wrote out, number by number or step by step, as ops on arrays and as loops.

Most programs are too short for either: what looks for it is loaded when a long one comes.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import LITERAL, Leaf, Node, Trace, literal_value
from primad.ir.program import Program, carry_lines
from primad.ir.replay import replay
from primad.ops.record.primitive import project
from primad.programs.loop_sizes import FEWEST_NODES, FEWEST_STEPS

if TYPE_CHECKING:
    from primad.programs.packing.scalar_groups import Levels

FEWEST_BESIDE_LOOPS = 32
"""Scalar ops beside loops that are worth ops on arrays. Tuned: loops take what they compute from memory in any case,
and forty products, the first row of a table, take 35 ms to compile one by one."""
FILLED_FROM = 2**18
"""Elements that numbers fill altogether, from which they are given as numbers. Chosen: fewer are filled in less than
the 100 µs that it takes to build a short program again, in each call where a number is another."""


def compact(program: Program) -> Program:
    """Return a program whose scalar ops of one form are ops on arrays, and whose equal steps are loops.

    Steps that do not depend on each other are ops on arrays, whose entries are told apart, rather than a loop. Where
    more is left than that, it is looked for loops first: steps that follow on each other may have some numbers each.
    """
    if not _may_hold_loops(program):
        return program
    from primad.programs.rerolling.rerolled_loops import rolled  # its loops are made of programs that are packed

    levels = None if _is_long_chain(program) else _levels_of(program)
    made = None
    most = max(FEWEST_NODES, len(program.nodes) // FEWEST_STEPS)
    if levels is not None and levels.fewest_nodes <= FEWEST_NODES and levels.rest(program) < most:
        made = _with_arrays(program, levels)
        if len(made.nodes) < FEWEST_NODES:
            return made
        if len(made.nodes) < most:  # steps of so few ops are told faster from those
            found = rolled(made)
            if len(found.nodes) < FEWEST_NODES:
                return found
    found = rolled(program)
    if found is not program or levels is None:
        levels, made = _levels_of(found, any(op.programs.called for op in found.ops)), None
    if levels is None:
        return found
    return rolled(made or _with_arrays(found, levels))


def _may_hold_loops(program: Program) -> bool:
    """Say whether a program is long, or an op of a line was recorded as often as a loop has steps.

    Of ops that are recorded as one, which loops become when they are written out, there are as many then too.
    """
    if len(program.nodes) >= FEWEST_NODES or not program.lines:
        return len(program.nodes) >= FEWEST_STEPS
    times = Counter([(line, node.op) for node, line in program.lines.items() if _computes(node)])
    return max(times.values(), default=0) >= FEWEST_STEPS


def _computes(node: Node) -> bool:
    return not isinstance(node.op, Leaf) and node.op is not project


def _is_long_chain(program: Program) -> bool:
    """Say whether so many ops follow on each other that no ops on arrays make them few.

    Sums do not count, of which a chain may be one op. Each op on arrays takes what is gathered for it, by another op.
    """
    if len(program.nodes) < FEWEST_NODES:
        return False
    length: dict[Node, int] = {}
    for node in program.nodes:
        before = max([length[x] for x in node.inputs if x in length], default=0)
        counts = not isinstance(node.op, Leaf) and node.op.kind != "linear"
        length[node] = before + counts
        if 2 * length[node] > FEWEST_NODES:
            return True
    return False


def packed(program: Program) -> Program:
    """Return a program whose scalar ops of one form are ops on arrays; the program itself if they are few."""
    levels = _levels_of(program)
    return program if levels is None else _with_arrays(program, levels)


def _levels_of(program: Program, beside_loops: bool = False) -> Levels | None:
    """Return what of a program can be computed together; None where that is too little to be worth it."""
    if len(program.nodes) < (FEWEST_BESIDE_LOOPS if beside_loops else FEWEST_NODES):
        return None
    from primad.programs.packing.packing import levels_of  # loads when it is called

    return levels_of(program, FEWEST_BESIDE_LOOPS if beside_loops else None)


def _with_arrays(program: Program, levels: Levels) -> Program:
    """Return a program that computes together what can be."""
    from primad.programs.packing.packing import with_arrays  # loads when it is called

    return with_arrays(program, levels)


def with_single_numbers(program: Program) -> Program:
    """Return a program in which numbers that fill long arrays are broadcast, so that single numbers are given.

    It is for programs that run with numbers as inputs: what is given would be filled in each call, and read by each op.
    """
    wide = [x for x in program.sources if x.op is LITERAL and x.type.shape]
    if sum([x.type.size for x in wide]) < FILLED_FROM:
        return program
    trace = Trace()
    inputs = [trace.input(node.type) for node in program.inputs]
    mapping = dict(zip(program.inputs, inputs, strict=True))
    for node in wide:
        shape = node.type.shape
        number = trace.literal(literal_value(node), ArrayType((), node.type.dtype))
        mapping[node] = trace.place(ops.broadcast, (number,), (("axes", tuple(range(len(shape)))), ("shape", shape)))
    replay(program.nodes, mapping, trace, copy=True)
    outputs = [mapping[node] for node in program.outputs]
    made = Program(trace, inputs, outputs, names=program.names, label=program.label)
    made.in_tree, made.out_tree = program.in_tree, program.out_tree
    carry_lines(program, mapping, trace)
    trace.close()
    return made
