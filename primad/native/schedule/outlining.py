"""A long program as a sequence of calls: cut into parts, of which equal ones are one function.

A recorded loop repeats the same few nodes on other values. What a call of a part writes lies in one block of memory, so
that it takes a few addresses only: of its own block, of the blocks and arguments that it reads, and of the numbers in
which it differs from other calls of the same part.
"""

from __future__ import annotations

import ctypes
from collections.abc import Hashable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from msgspec import Struct, field

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import LITERAL, Leaf, Node, Trace, literal_value, param_key, params_key
from primad.ir.program import Program
from primad.ir.replay import replay
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.scratch_memory import Memory, aligned, alignment_of
from primad.native.schedule.layout import is_constant
from primad.native.schedule.repetition import ends_of_pieces
from primad.native.schedule.storage import VIEWS
from primad.ops.record.primitive import project

NUMBER_BYTES = ctypes.sizeof(ctypes.c_double)
"""Bytes of a number that is not in the text; shorter ones take as many."""

ARGUMENT, BLOCK, NUMBERS = "argument", "block", "numbers"
Base = tuple[str, int]
"""An address: of an argument (its position), a block (the call that writes it), of numbers (the bytes before them)."""


class CutPart(Struct, frozen=True):
    """A program that is called at one place or several.

    Attributes:
        program: what it computes.
        addresses: for each of its inputs and then outputs, the entry of the table of addresses from which it is
            counted, and the bytes from there.
        nodes: its nodes, in the order of those that calls stand for.
    """

    program: Program
    addresses: Sequence[tuple[int, int]]
    nodes: Sequence[Node]


class CallOfPart(Struct, eq=False):
    """A call of a part.

    Attributes:
        part: the number of the part.
        addresses: the addresses that it takes.
        nodes: what the nodes of the part stand for.
    """

    part: int
    addresses: Sequence[Base]
    nodes: Sequence[Node]


class _Use(Struct, eq=False):
    """A piece of a program that is to become a call.

    Attributes:
        nodes: what it computes; views are computed wherever they are read.
        results: what others need of it, in its block.
        apart: outputs of the program, and their positions among its arguments.
        known: all values that it meets, and their numbers, in an order in which they can be computed.
        reads: values of other calls, or arguments, and where they lie.
        literals: the numbers in which equal uses may differ.
        bases: what addresses are counted from, and their places in the table.
    """

    nodes: Sequence[Node]
    results: dict[Node, int] = field(default_factory=dict)
    apart: list[tuple[Node, int]] = field(default_factory=list)
    known: dict[Node, int] = field(default_factory=dict)
    reads: dict[Node, tuple[int, int]] = field(default_factory=dict)
    literals: list[Node] = field(default_factory=list)
    bases: dict[Base, int] = field(default_factory=dict)


class PartedProgram:
    """A program in parts.

    Attributes:
        program: the whole.
        parts: the different parts.
        calls: their calls, in order.
        numbers: what stands in the memory of numbers.
        places: for each call, where its block lies in the scratch memory.
        scratch: bytes of the scratch memory that the blocks take.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.parts: list[CutPart] = []
        self.calls: list[CallOfPart] = []
        self.numbers: list[tuple[float, Any]] = []
        self._root: dict[Node, Node] = {}
        self._loose = {node for node in program.sources if node.op is LITERAL}
        self._position: dict[Node, int] = {node: i for i, node in enumerate(program.inputs)}
        steps = [node for node in program.nodes if not isinstance(node.op, Leaf) and not is_constant(node)]
        self._steps = [node for node in steps if node.op not in VIEWS]
        self._uses = self._cut()
        self._home: dict[Node, int] = {node: i for i, use in enumerate(self._uses) for node in use.nodes}
        self._find_results()
        self._make_calls()
        self.places, self.scratch = self._placed()

    # -- cutting -------------------------------------------------------------------------------------------------------

    def _cut(self) -> list[_Use]:
        """Return the pieces, and a last one that makes those outputs that are views, arguments or numbers."""
        marks = [self._mark(node) for node in self._steps]
        lengths = BUDGET.shortest_repeated, BUDGET.longest_repeated, BUDGET.longest_part
        ends = ends_of_pieces(marks, self._crossing(), *lengths)
        ends = [self._after_results(end) for end in ends]
        return [_Use(self._steps[a:b]) for a, b in pairwise([0, *dict.fromkeys(ends)])] + [_Use(())]

    def _after_results(self, end: int) -> int:
        """Return an end behind all results of an op with several, which come next after it."""
        while end < len(self._steps) and self._steps[end].op is project:
            end += 1
        return end

    def _mark(self, node: Node) -> Hashable:
        """Return what nodes share that can be computed by the same code, as far as they tell by themselves."""
        operands: list[Any] = []
        for x in node.inputs:
            while x.op in VIEWS:
                operands.append((x.op, params_key(x.params)))
                x = x.inputs[0]
            operands.append(x.type if x not in self._loose else None)
        return node.op, params_key(node.params), tuple(operands)

    def _crossing(self) -> list[int]:
        """Return for each place between two steps how many values are made before it and read after it."""
        made = {node: i for i, node in enumerate(self._steps)}
        last = dict.fromkeys(made, 0)
        for i, node in enumerate(self._steps):
            for x in node.inputs:
                if self._rooted(x) in made:
                    last[self._rooted(x)] = i
        change = [0] * (len(made) + 2)
        for node, end in last.items():
            change[made[node] + 1] += 1
            change[max(end, made[node]) + 1] -= 1
        return list(accumulate(change))

    def _rooted(self, node: Node) -> Node:
        """Return the value that a view shows, or a view of it, or the value itself."""
        chain = []
        while node.op in VIEWS and node not in self._root:
            chain.append(node)
            node = node.inputs[0]
        found = self._root.get(node, node)
        self._root.update(dict.fromkeys(chain, found))
        return found

    # -- what each use makes and reads ---------------------------------------------------------------------------------

    def _find_results(self) -> None:
        """Find what of each use others need, and which outputs of the program it makes."""
        outputs: dict[Node, int] = {}
        last = len(self._uses) - 1
        for k, node in enumerate(self.program.outputs):
            home = last if node in outputs else self._home.get(node, last)
            outputs.setdefault(node, k)
            self._uses[home].apart.append((node, len(self.program.inputs) + k))
            if home < last:
                self._position[node] = len(self.program.inputs) + k
        needed: set[Node] = set()
        for i, use in enumerate(self._uses):
            for x in (x for node in use.nodes for x in node.inputs):
                root = self._rooted(x)
                if self._home.get(root, i) != i:
                    needed.add(root)
        for node, _ in self._uses[last].apart:
            needed.add(self._rooted(node))
        for use in self._uses:
            offset = 0
            for node in use.nodes:
                if node in needed and node not in self._position:
                    offset = aligned(offset, alignment_of(node.type.nbytes))
                    use.results[node] = offset
                    offset += node.type.nbytes

    def _make_calls(self) -> None:
        alike: dict[Hashable, list[int]] = {}
        for i, use in enumerate(self._uses):
            if use.nodes or use.apart:
                alike.setdefault(self._description(i), []).append(i)
        found: list[tuple[int, CallOfPart]] = []
        for number, members in enumerate(alike.values()):
            rows = zip(*[map(literal_value, self._uses[i].literals) for i in members], strict=True)
            varied = [place for place, values in enumerate(rows) if len(set(map(param_key, values))) > 1]
            self.parts.append(self._part(self._uses[members[0]], members[0], varied))
            found += [(i, self._call(number, i, varied)) for i in members]
        found.sort(key=lambda entry: entry[0])
        self.calls = [call for _, call in found]

    def _description(self, i: int) -> Hashable:
        """Number the values that a use meets, and return what equal uses share."""
        use = self._uses[i]
        rows: list[Hashable] = []
        for node in use.nodes:
            operands = tuple([self._number(i, x, rows) for x in node.inputs])
            use.known[node] = len(use.known)
            rows.append((node.op, params_key(node.params), operands))
        made = tuple([self._number(i, node, rows) for node, _ in use.apart])
        kept = tuple([use.known[node] for node in use.results])
        return tuple(rows), made, kept

    def _number(self, i: int, node: Node, rows: list[Hashable]) -> int:
        """Return the number of a value, after numbering what it is a view of."""
        use = self._uses[i]
        chain = []
        while node.op in VIEWS and node not in use.known:
            chain.append(node)
            (node,) = node.inputs
        if node not in use.known:
            rows.append(self._leaf(use, node))
            use.known[node] = len(use.known)
        for view in reversed(chain):
            rows.append((view.op, params_key(view.params), use.known[view.inputs[0]]))
            use.known[view] = len(use.known)
            node = view
        return use.known[node]

    def _leaf(self, use: _Use, node: Node) -> Hashable:
        if node in self._loose:
            use.literals.append(node)
            return node.op, node.type
        if node.op is LITERAL or is_constant(node):
            return node.op, params_key(node.params), node.type
        if node in self._position:
            base, offset = (ARGUMENT, self._position[node]), 0
        else:
            home = self._home[node]
            base, offset = (BLOCK, home), self._uses[home].results[node]
        use.reads[node] = use.bases.setdefault(base, len(use.bases)), offset
        return "read", use.reads[node], node.type

    # -- parts and calls -----------------------------------------------------------------------------------------------

    def _part(self, use: _Use, i: int, varied: Sequence[int]) -> CutPart:
        """Return the program of a use, in which numbers that differ from those of equal uses are inputs."""
        trace = Trace()
        inputs = [trace.input(node.type) for node in use.reads]
        mapping = dict(zip(use.reads, inputs, strict=True))
        addresses = list(use.reads.values())
        bases = len(use.bases)
        for place, number in enumerate(varied):
            node = use.literals[number]
            inputs.append(trace.input(ArrayType((), node.type.dtype)))
            axes = tuple(range(node.type.ndim))
            mapping[node] = (
                trace.place(ops.broadcast, (inputs[-1],), (("axes", axes), ("shape", node.type.shape)))
                if axes
                else inputs[-1]
            )
            addresses.append((bases, NUMBER_BYTES * place))
        bases += bool(varied)
        addresses += [(bases, offset) for offset in use.results.values()]
        bases += bool(use.results)
        addresses += [(bases + k, 0) for k in range(len(use.apart))]
        replay(list(use.known), mapping, trace, copy=True)
        outputs = [mapping[node] for node in (*use.results, *(node for node, _ in use.apart))]
        part = Program(trace, inputs, outputs)
        trace.close()
        return CutPart(part, addresses, [mapping[node] for node in use.known])

    def _call(self, part: int, i: int, varied: Sequence[int]) -> CallOfPart:
        use = self._uses[i]
        addresses = [*use.bases]
        if varied:
            addresses.append((NUMBERS, NUMBER_BYTES * len(self.numbers)))
            self.numbers += [(literal_value(use.literals[k]), use.literals[k].type.dtype) for k in varied]
        if use.results:
            addresses.append((BLOCK, i))
        addresses += [(ARGUMENT, position) for _, position in use.apart]
        return CallOfPart(part, addresses, list(use.known))

    def _placed(self) -> tuple[dict[int, int], int]:
        """Return where each block lies in the scratch memory, and the size of that."""
        last: dict[int, int] = {}
        for i, use in enumerate(self._uses):
            for kind, home in use.bases:
                if kind == BLOCK:
                    last[home] = i
        dying: dict[int, list[int]] = {}
        for home, i in last.items():
            dying.setdefault(i, []).append(home)
        memory = Memory()
        places: dict[int, int] = {}
        for i, use in enumerate(self._uses):
            if use.results:
                node, offset = next(reversed(use.results.items()))
                places[i] = memory.take(offset + node.type.nbytes)
            for home in dying.get(i, ()):
                memory.free(places[home])
        return places, memory.size
