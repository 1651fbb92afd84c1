"""Native parts of a small program in which something has no native code: as much as lies between two such steps.

What has no native code bounds a part and no more. The steps are put in order first: all that is ready and native, then
all that is ready and is not, and so on. So there are few parts, and none waits for what is computed from its results.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Container, Mapping, Sequence
from typing import Any

from msgspec import Struct

from primad.ir.array_types import TupleType
from primad.ir.node import LITERAL, Leaf, Node
from primad.ir.program import Program, subprogram
from primad.native.complex_numbers.realify import in_parts, nodes_of, reason_in_parts
from primad.native.emit.pointwise import work_of_element
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.compiler import Kernel, compiled, compiler
from primad.native.loops.body_programs import has_body, lines_within
from primad.native.module.outlined_text import text_of
from primad.native.module.program_text import ProgramText, kernel_of
from primad.native.schedule.layout import is_constant
from primad.native.schedule.shared_pads import with_shared_pads
from primad.native.schedule.storage import VIEWS
from primad.ops.record.primitive import application, project
from primad.runtime.executors.executor import PLAIN, Options
from primad.runtime.loops.loop_executables import begin_loops
from primad.runtime.plan.compiled_program import work_of
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.native_steps import NativePart, NativeStep
from primad.simplify.barriers import without_barriers
from primad.system.machine import CALL_ELEMENTS

FEWEST_STEPS = 4
"""Steps: a part of fewer stays with NumPy, unless they work much. Estimated: to call a part takes as long as so many.
The last bits of results depend on it."""
WORTHWHILE_WORK = FEWEST_STEPS * CALL_ELEMENTS
"""Elements times ops, a function counting as several, from which a part of one step is worth it: as long as so many
steps on arrays whose elements take as long as a call."""


def partitioned(program: Program, options: Options = PLAIN) -> Plan | None:
    """Return a plan whose steps are native parts, and NumPy's definitions of what has no native code between them.

    Args:
        program: what to compute.
        options: how it is to run.

    Returns:
        None without a compiler, where there is no part that is worth it, or for a large program.
    """
    if compiler() is None:
        return None
    program = with_shared_pads(without_barriers(program))
    steps = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    for loops in (True, False) if options.memory is None else (False,):  # long loops are native, each by itself
        if work_of([node for node in steps if is_native(node, loops)]) is not None:
            break
    else:
        return None
    units = Partition(program, loops).units(options.memory)
    return None if units is None else Plan(program, units=units, memory=options.memory, inner=options.inner)


def is_native(node: Node, loops: bool = True) -> bool:
    """Say whether a step can be in a part; loops and calls cannot where a plan holds only some of their rows."""
    if not loops and has_body(application(node)[0]):
        return False
    return not reason_in_parts(node) and not (is_constant(node) and node.type.size > BUDGET.constant)


class _DraftOfParts(Struct, frozen=True):
    """A part before it is compiled."""

    inputs: tuple[Node, ...]
    results: tuple[Node, ...]
    nodes: Sequence[Node]
    text: ProgramText
    failing: Sequence[Node]

    def part(self, kernel: Kernel, lines: Mapping[Node, str]) -> NativePart:
        """Return the part."""
        flops = sum(node.op.cost(node).matmul_flops for node in self.nodes)
        work = sum(map(_work, self.nodes))
        scratch = self.text.scratch
        return NativePart(
            kernel, self.inputs, self.results, frozenset(), work, flops, self.nodes, scratch, self.failing, lines
        )


def _work(node: Node) -> int:
    """Return elements times ops, a function counting as eight."""
    return node.type.size * work_of_element(node)


def _work_of_any(node: Node) -> int:
    """Return elements times ops, and of products the flops."""
    return node.op.cost(node).matmul_flops or (0 if isinstance(node.type, TupleType) else _work(node))


def _is_cheap(node: Node) -> bool:
    """Say whether a large array is the result of one op of arithmetic on another one, which is not larger."""
    if not node.op.axes.pointwise or len(node.inputs) != 1 or node.type.size < CALL_ELEMENTS:
        return False
    return work_of_element(node) <= 1 and 0 < node.inputs[0].type.nbytes <= node.type.nbytes


def _is_worthwhile(run: Sequence[Node]) -> bool:
    return len(run) >= FEWEST_STEPS or sum(map(_work, run)) >= WORTHWHILE_WORK


def alternating_runs(before: Mapping[Node, Collection[Node]], native: Container[Node]) -> list[list[Node]]:
    """Return steps in order, those of a kind and all others apart, each run as long as can be.

    Args:
        before: the steps in an order, and which of them each needs.
        native: those of the kind.
    """
    place = {node: i for i, node in enumerate(before)}
    waiting = {node: set(needed) for node, needed in before.items()}
    users: dict[Node, list[Node]] = {}
    ready: tuple[list[int], list[int]] = ([], [])
    for node, needed in waiting.items():
        for other in needed:
            users.setdefault(other, []).append(node)
        if not needed:
            heapq.heappush(ready[node in native], place[node])
    steps, runs = list(before), []
    of_kind = True
    while any(ready):
        run: list[Node] = []
        while ready[of_kind]:
            node = steps[heapq.heappop(ready[of_kind])]
            run.append(node)
            for user in users.get(node, ()):
                waiting[user].discard(node)
                if not waiting[user]:
                    heapq.heappush(ready[user in native], place[user])
        if run:
            runs.append(run)
        of_kind = not of_kind
    return runs


class Partition:
    """A program on its way to be parts and steps between them.

    Views are computed wherever they are read: they stand in no order. So do arrays that become constants of a text, and
    large ones that a cheap op makes of one array, as a cast or a conjugate: to write and read them takes longer.

    Args:
        program: what is cut.
        loops: whether loops and calls may be in parts.

    Attributes:
        program: as given.
    """

    def __init__(self, program: Program, loops: bool = True) -> None:
        self.program = program
        steps = [node for node in program.nodes if not isinstance(node.op, Leaf)]
        able = {node for node in steps if is_native(node, loops)}
        self._free = {node for node in able if node.op in VIEWS or is_constant(node) or _is_cheap(node)}
        self._native = able - self._free
        self._steps = [node for node in steps if node not in self._free]
        self._drafts = self._drafted()
        self._texts = [draft.text for draft in self._drafts if isinstance(draft, _DraftOfParts)]

    @property
    def scratch(self) -> int:
        """Bytes of memory that the parts need beside their arrays."""
        return max([text.scratch for text in self._texts], default=0)

    @property
    def is_one_part(self) -> bool:
        """Say whether one part is all that runs."""
        return len(self._drafts) == 1 == len(self._texts)

    @property
    def is_mostly_native(self) -> bool:
        """Say whether parts do most of the work beside loops and calls, which are native as they can be."""
        alone = [node for node in self._drafts if isinstance(node, Node) and not has_body(application(node)[0])]
        work = sum(map(_work_of_any, alone))
        return work < sum(map(_work_of_any, self._native)) / 2

    @property
    def length(self) -> int:
        """Characters of the different parts."""
        return sum(map(len, {text.functions for text in self._texts}))

    def units(self, memory: int | None = None) -> list[Node | NativeStep] | None:
        """Return what runs, in order; None if nothing of it is a native part.

        Args:
            memory: bytes that arrays within a step of a loop may take.
        """
        if not self._texts:
            return None
        begin_loops([draft for draft in self._drafts if isinstance(draft, Node)], self.program, memory)
        host = compiler()
        assert host is not None
        made = compiled("a program", lambda: host.kernels([kernel_of(text) for text in self._texts]))
        if made is None:
            return None
        kernels = iter(made)
        units: dict[Node | NativeStep, None] = {}
        for draft in self._drafts:
            if isinstance(draft, _DraftOfParts):
                units[draft.part(next(kernels), lines_within(self.program))] = None
                continue
            for operand in draft.inputs:
                units.update(dict.fromkeys(self._views(operand, units)))
            units[draft] = None
        for node in self.program.outputs:
            units.update(dict.fromkeys(self._views(node, units)))
        return list(units)

    def _views(self, node: Node, known: Container[Node | NativeStep]) -> list[Node]:
        """Return what must be computed of a view, and of what it is a view of, in order."""
        found = []
        while node in self._free and node not in known:
            found.append(node)
            if not node.inputs:
                break
            (node,) = node.inputs
        return found[::-1]

    def _root(self, node: Node) -> Node:
        """Return the value that a view shows, or a view of it, or the value itself."""
        while node in self._free and node.inputs:
            (node,) = node.inputs
        return node

    def _drafted(self) -> list[Node | _DraftOfParts]:
        """Return parts, and the steps that are in none, in order."""
        runs = self._runs()
        number = {node: i for i, run in enumerate(runs) for node in run}
        outside = {self._root(node) for node in self.program.outputs}
        for node in self._steps:
            outside.update([root for root in map(self._root, node.inputs) if number.get(root) != number[node]])
        drafts: list[Node | _DraftOfParts] = []
        for run in runs:
            draft = self._draft(run, outside) if run[0] in self._native and _is_worthwhile(run) else None
            drafts += run if draft is None else [draft]
        return drafts

    def _runs(self) -> list[list[Node]]:
        """Return the steps in order, those that are native and those that are not apart, each as long as can be."""
        place = set(self._steps)
        before = {node: {root for root in map(self._root, node.inputs) if root in place} for node in self._steps}
        runs = alternating_runs(before, self._native)
        users: dict[Node, list[Node]] = {}
        for node, roots in before.items():
            for root in roots:
                users.setdefault(root, []).append(node)
        self._postpone(runs, users)
        return runs

    def _postpone(self, runs: list[list[Node]], users: Mapping[Node, Sequence[Node]]) -> None:
        """Move what native runs too short for a part compute to the next ones, unless it is needed before these."""
        for i in range(len(runs) - 2):
            if runs[i][0] not in self._native or _is_worthwhile(runs[i]):
                continue
            needed = set(runs[i + 1])
            for node in reversed(runs[i]):
                if not needed.isdisjoint(users.get(node, ())):
                    needed.add(node)
            needed.update([node for node in runs[i] if node.op is project and node.inputs[0] in needed])
            runs[i + 2][:0] = [node for node in runs[i] if node not in needed]
            runs[i] = [node for node in runs[i] if node in needed]
        runs[:] = [run for run in runs if run]

    def _draft(self, run: Sequence[Node], outside: Container[Node]) -> _DraftOfParts | None:
        """Write a run as a part; None if it would take too long to compile."""
        inside = set(run)
        roots = dict.fromkeys([root for node in run for root in map(self._root, node.inputs)])
        inputs = [root for root in roots if root not in inside and root.op is not LITERAL and not is_constant(root)]
        results = [node for node in run if node in outside]
        mapping: dict[Node, Node] = {}
        became: dict[Node, Any] = {}
        part = in_parts(subprogram(self.program, inputs, results, mapping=mapping), became)
        text = None if part is None else text_of(part)
        if text is None:
            return None
        original = {new: node for node, new in mapping.items()}
        original.update({one: original.get(node, node) for node, new in became.items() for one in nodes_of(new)})
        failing = [original.get(node, node) for node in text.failing]
        return _DraftOfParts(tuple(inputs), tuple(results), run, text, failing)
