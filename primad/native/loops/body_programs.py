"""Bodies of loops that stand inside of native functions: their programs, and how much they may do.

A program that is called is a body, too: that of a loop of one step, whose results are those of the step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from primad.ir.array_types import ArrayType
from primad.ir.law_families import LEFT_OUT
from primad.ir.node import Leaf, Node
from primad.ir.program import ClosedProgram, Program
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.scratch_memory import aligned
from primad.ops.record.fields import LoopForm
from primad.simplify import simplify
from primad.simplify.barriers import without_barriers
from primad.system.process import MOST_KEPT, made_once

if TYPE_CHECKING:
    from primad.native.module.program_text import ProgramText


class LoopMemory(Struct, frozen=True):
    """What a loop needs memory of its own for.

    Attributes:
        copied: for each operand, whether it does not lie as its steps read it.
        dropped: for each result of a step, whether nothing uses it.
    """

    copied: Sequence[bool]
    dropped: Sequence[bool]


def _those(types: Sequence[ArrayType], wanted: Sequence[bool]) -> list[ArrayType]:
    """Return types, and in the place of those that are not wanted that of an array without elements."""
    return [type if on else ArrayType((0,), type.dtype) for type, on in zip(types, wanted, strict=True)]


class NativeBody(Struct, frozen=True):
    """The program of a loop's step, or one that is called, ready to be written.

    Attributes:
        program: the program.
        name: of its function, unless its elements are written out one by one, in registers, as those of one member of
            a stack of loops are.
        text: of that function.
        apart: whether it is the step of a stack of loops, of which each ends when it is done.
    """

    program: Program
    name: str = ""
    text: ProgramText | None = None
    apart: bool = False

    def own_types(self, node: Node, wanted: LoopMemory) -> list[ArrayType]:
        """Return what a loop may need memory for: operands in order, carried values twice, and a row of each result.

        A stack of loops needs it for operands alone.

        Args:
            node: the loop.
            wanted: which of the operands and results need it.
        """
        form = form_of(node)
        operands = _those([x.type for x in node.inputs[form.lead :]], wanted.copied)
        if self.apart:
            return operands
        carried = self.program.in_types[: form.carry]
        rows = _those(self.program.out_types[form.carry + form.ends :], wanted.dropped)
        return [*operands, *carried, *carried, *rows]

    def offsets(self, node: Node, wanted: LoopMemory) -> list[int]:
        """Return where these lie in the loop's own memory, and where they end: the step's scratch memory is behind."""
        return list(accumulate([aligned(type.nbytes) for type in self.own_types(node, wanted)], initial=0))

    def own_bytes(self, node: Node, wanted: LoopMemory) -> int:
        """Return the bytes of a loop's own memory: some, since values of no elements lie there too."""
        return max(1, self.offsets(node, wanted)[-1] + (0 if self.text is None else self.text.scratch))


def step_program(of: ClosedProgram) -> Program:
    """Return the program of a step, of primitives alone."""
    return _step_program(of, LEFT_OUT.get())


@made_once(most=MOST_KEPT)
def _step_program(of: ClosedProgram, left_out: frozenset[str]) -> Program:
    return without_barriers(simplify(of.hoisted) if of.lawful else of.hoisted)


def needed_results(program: Program, carry: int, wanted: Iterable[int]) -> list[int]:
    """Return which outputs of a step some of them need, in some step: these, and carried values.

    Args:
        program: (carried values, the rest) -> (carried values, the rest).
        carry: how many are carried.
        wanted: the places of the outputs that are asked for.
    """
    found = {*wanted}
    while True:
        outputs = [program.outputs[i] for i in sorted(found)]
        used = {*Program(program.trace, program.inputs, outputs).nodes, *outputs}
        more = {i for i in range(carry) if program.inputs[i] in used} - found
        if not more:
            return sorted(found)
        found |= more


def is_loop(node: Node) -> bool:
    """Say whether a node is a loop."""
    return not isinstance(node.op, Leaf) and node.op.programs.loop is not None


def has_body(node: Node) -> bool:
    """Say whether a node applies a program that is no part of its own: a loop does, and a call."""
    return not isinstance(node.op, Leaf) and node.op.programs.called


def form_of(node: Node) -> LoopForm:
    """Return how a node applies such a program; a call is a loop of one step, which carries nothing."""
    if node.op.programs.loop is not None:
        found: LoopForm = node.op.programs.loop(node)
        return found
    (of,) = node.op.held(node.params)
    return LoopForm(of, 0, 0, 1, False, False, False)


def bodies_in(program: Program) -> list[ClosedProgram]:
    """Return the programs that nodes of a program apply, each once."""
    called = {op for op in program.ops if op.programs.called}
    return list(dict.fromkeys([form_of(node).of for node in program.nodes if node.op in called])) if called else []


def _with_bodies(program: Program) -> list[Program]:
    """Return a program, and those of the bodies in it and in these, each once."""
    found, seen = [program], set()
    for each in found:
        for of in bodies_in(each):
            if of not in seen:
                seen.add(of)
                found.append(step_program(of))
    return found


def nodes_within(program: Program) -> Iterator[Node]:
    """Yield the nodes of a program, and then those of the bodies in it."""
    for each in _with_bodies(program):
        yield from each.nodes


def lines_within(program: Program) -> Mapping[Node, str]:
    """Return the user's lines of these nodes."""
    found: dict[Node, str] = {}
    for each in _with_bodies(program):
        found.update(each.lines)
    return found


def most_work_of(form: LoopForm) -> int:
    """Return the flops and bytes of a loop that takes as many steps as it may, until it looks for interrupts.

    Of loops that look themselves one step counts.
    """
    return most_work_of_step(form.of) if form.separate or counts_steps(form) else _work_of_all_steps(form)


def _work_of_all_steps(form: LoopForm) -> int:
    return form.length * most_work_of_step(form.of)


def counts_steps(form: LoopForm) -> bool:
    """Say whether a loop of so many steps as turn out counts what it does, to look for interrupts now and then.

    Many short ones, as in a loop of a million steps, take long together.
    """
    return form.lead and _work_of_all_steps(form) > BUDGET.uncounted


def may_be_long(form: LoopForm) -> bool:
    """Say whether a loop of so many steps as turn out may take so long that other threads are not to wait for it."""
    return form.lead and _work_of_all_steps(form) > BUDGET.uninterrupted


@lru_cache(maxsize=MOST_KEPT)
def most_work_of_step(of: ClosedProgram) -> int:
    """Return the flops and bytes of a step whose own loops take as many steps as they may."""
    return most_work(step_program(of))


def most_work(program: Program) -> int:
    """Return the flops and bytes of a program whose loops take as many steps as they may.

    Views count as much as copies: where what is read must lie in order, they are. So do results that are operands.
    """
    total = sum(node.type.nbytes for node in program.outputs)
    for node in program.nodes:
        if has_body(node):
            total += most_work_of(form_of(node))
        elif not isinstance(node.op, Leaf):
            cost: Any = node.op.cost(node)
            total += cost.flops + max(cost.bytes, node.type.nbytes)
    return total
