"""The text of a laid-out program: one function that calls a part for each unit, and the memory that they share.

Equal parts are one function: the layers of a network, or its streams, are mostly the same loops on other arrays. Values
that die inside share one block of scratch memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from primad.ir.node import CAPTURED, Node
from primad.ir.program import Program
from primad.native.emit.copies import copy
from primad.native.emit.emit_context import FAILURE_BYTES, Way, begin_failure_records, failure_of, return_status
from primad.native.emit.grouped_sums import COUNT
from primad.native.emit.op_table import failing_in, way_of
from primad.native.llvm.builder import Builder, module
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.scratch_memory import Memory
from primad.native.llvm.strided_views import Code, View
from primad.native.llvm.vectors import CELLS, number_text
from primad.native.loops.body_programs import counts_steps, form_of, has_body, lines_within, nodes_within
from primad.native.loops.nested_loops import SPENT, SPENT_TEXT
from primad.native.loops.step_driver import DRIVER, driver
from primad.native.module.fused_loops import is_known_before, planned_product, write_unit
from primad.native.schedule.layout import NO_SLICES, Layout, Unit

Address = tuple[int, int]


class ProgramText(Struct, frozen=True):
    """A program's text.

    Attributes:
        functions: the definitions; the program is `i64 @KERNEL(ptr %table, ptr %scratch)`, that of a tile is
            `i64 @KERNEL.tile(ptr %table, ptr %scratch, i64 %count)` after `@KERNEL.before(ptr %table, ptr %scratch)`.
            What they return is 0, or which of the ops that can fail did, the first being 1.
        declared: the declarations of what they call, by name.
        scratch: bytes of scratch memory that they share. Where an op failed there are two i64 at its start: one more
            than the place of the value for which it is not defined, and that value.
        failing: the ops that can fail.
        lines: the user's lines of nodes.
    """

    functions: str
    declared: dict[str, str]
    scratch: int
    failing: tuple[Node, ...]
    lines: Mapping[Node, str]

    def plain(self, program: Program) -> list[Any]:
        """Return it as JSON; ops are their places in the program that it is for."""
        place = {node: i for i, node in enumerate(nodes_within(program))}
        return [self.functions, self.declared, self.scratch, [place[node] for node in self.failing]]

    @staticmethod
    def of(plain: Sequence[Any], program: Callable[[], Program]) -> ProgramText:
        """Return the text that `plain` gave, of the same program, which is made only where an op of it can fail.

        Raises:
            ValueError, TypeError, LookupError, AttributeError: for what `plain` does not give.
        """
        functions, declared, scratch, failing = plain
        texts = [functions, *declared, *declared.values()]
        numbers = [scratch, *failing]
        if {type(text) for text in texts} != {str} or {type(n) for n in numbers} != {int} or min(numbers) < 0:
            raise ValueError("what is kept is no text of a program")
        nodes = list(nodes_within(program())) if failing else []
        lines = lines_within(program()) if failing else {}
        return ProgramText(functions, declared, scratch, tuple([nodes[i] for i in failing]), lines)


class TooLongError(Exception):
    """Says that the text of a program is longer than it may be."""


SHARED = "@SHARED"
"""How the names of functions begin that parts of a text share, until it is whole."""


def with_names(functions: Mapping[str, str]) -> list[str]:
    """Return functions, which are written for any name, with their names."""
    return [text.replace("@FUNCTION", name) for text, name in functions.items()]


class ProgramWriter:
    """Writes the functions of a laid-out program.

    Attributes:
        layout: the program's units and places.
        scratch: bytes of scratch memory.
        copied_before: how many of them hold what is copied once for all tiles.

    Args:
        layout: the program's units and places.
        most: how many characters its parts may have together, long parts counting for more.
        addresses: for each input and then output, the entry of the table of addresses from which its place is counted,
            and the bytes from there; by default each has an entry of its own.
        shared: the functions of a text of which this one is a part, by their own text, with their names, `SHARED` and
            more; those that are written here and name nothing of this text are added to them. By default it has all.
    """

    def __init__(
        self,
        layout: Layout,
        most: float = math.inf,
        addresses: Sequence[Address] | None = None,
        shared: dict[str, str] | None = None,
    ) -> None:
        self.layout = layout
        count = len(layout.program.inputs) + len(layout.program.outputs)
        self._addresses = [(i, 0) for i in range(count)] if addresses is None else addresses
        self._left = most
        self._tiled = layout.slices is not NO_SLICES
        self._functions: dict[str, str] = {}
        self._shared = shared
        self._declared: dict[str, str] = {}
        outputs = layout.program.outputs
        self._pointers: dict[Any, str] = {node: f"%in{i}" for i, node in enumerate(layout.program.inputs)}
        self._direct: dict[Node, int] = {}
        for k, node in enumerate(outputs):
            made_alone = node in layout.maker and layout.places[node] == layout.whole(node, node)
            if made_alone and node not in self._direct and node not in layout.slices.copied:
                self._direct[node] = k
                self._pointers[node] = f"%out{k}"
        assert all(node in self._direct for node in outputs[: layout.slices.sums])
        self._products = {
            unit: planned_product(layout, unit, layout.is_added(unit.nodes[0]))
            for unit in layout.units
            if way_of(unit.nodes[0]) is Way.SUM
        }
        constants = sorted(layout.constants, key=lambda node: node.index)
        self._pointers.update({node: f"@KERNEL.constant{i}" for i, node in enumerate(constants)})
        self._arrays = [_array_text(self._pointers[node], _array_of(node)) for node in constants]
        self._pointers.update({key: f"@KERNEL.literal{i}" for i, key in enumerate(layout.literals)})
        self._arrays += [
            _array_text(self._pointers[key], np.array([splat.value], splat.dtype))
            for key, splat in layout.literals.items()
        ]
        self._failing = tuple(dict.fromkeys([node for unit in layout.units for node in _failing_in(unit, layout)]))
        self._pointers.update({failure_of(node): f"%failure{i}" for i, node in enumerate(self._failing)})
        places, self.scratch = self._places_in_scratch()
        self._scratch_places = list(places.values())
        self._pointers.update({buffer: f"%scratch{i}" for i, buffer in enumerate(places)})

    def write(self) -> ProgramText:
        """Return the text.

        Raises:
            TooLongError: if it is longer than it may be.
        """
        layout = self.layout
        before, main = self._begun(), self._begun()
        copied: set[tuple[View, View]] = set()
        for unit in layout.units:
            product = self._products.get(unit)
            packed = None if product is None else product.packed
            if packed is not None and packed not in copied:
                copied.add(packed)
                copying = Code()
                copy(copying, *packed)
                self._call(before if is_known_before(layout, packed[0]) else main, copying)
            code = Code()
            write_unit(code, layout, unit, self._products.get(unit))
            self._call(main, code)
        for k, node in enumerate(layout.program.outputs):
            if self._direct.get(node) != k:
                self._pointers[k] = f"%out{k}"
                code = Code()
                copy(code, layout.places[node], layout.whole(node, k))
                self._call(main, code)
        parts = with_names(self._functions)
        arguments = "(ptr %table, ptr %scratch"
        before.do("ret void")
        return_status(main, [f"%failure{i}" for i in range(len(self._failing))])
        if self._tiled:
            functions = [
                before.function(f"void @KERNEL.before{arguments})"),
                main.function(f"i64 @KERNEL.tile{arguments}, i64 %count)"),
            ]
        else:
            functions = [main.function(f"i64 @KERNEL{arguments})")]
        counter = [SPENT_TEXT] if any(SPENT in part for part in parts) else []
        text = "\n".join([*self._arrays, *counter, *self._bodies(), *parts, *functions])
        return ProgramText(text, self._declared, self.scratch, self._failing, lines_within(layout.program))

    def _bodies(self) -> list[str]:
        """Return the functions of the bodies of loops, and the loop that calls them."""
        texts = [(body.name, body.text) for body in self.layout.bodies.values() if body.text is not None]
        for _, text in texts:
            self._declared.update(text.declared)
        functions = [text.functions.replace("@KERNEL", name) for name, text in texts]
        return [*functions, driver(DRIVER)] if texts else []

    def _begun(self) -> Builder:
        """Begin a function of the table of addresses (inputs, then outputs) and of scratch memory."""
        code = Builder()
        program = self.layout.program
        names = [f"in{i}" for i in range(len(program.inputs))] + [f"out{k}" for k in range(len(program.outputs))]
        bases: dict[int, str] = {}
        for name, (entry, offset) in zip(names, self._addresses, strict=True):
            if entry not in bases:
                bases[entry] = code.load("ptr", "%table", entry)
            code.emit(f"getelementptr i8, ptr {bases[entry]}, i64 {offset}", f"%{name}")
        for i, offset in enumerate(self._scratch_places):
            code.emit(f"getelementptr i8, ptr %scratch, i64 {offset}", f"%scratch{i}")
        begin_failure_records(code, len(self._failing))
        return code

    def _call(self, caller: Builder, code: Code) -> None:
        """Make what was written a function, unless there is an equal one, and call it."""
        if not code.lines:
            return
        self._declared.update(code.declared)
        code.do("ret void")
        parameters = [("ptr", name) for name in code.places.values()]
        if COUNT in "\n".join(code.lines):
            parameters.append(("i64", COUNT))
        text = code.function(f"internal void @FUNCTION({', '.join(map(' '.join, parameters))})")
        functions, names = self._functions, "@KERNEL"
        if self._shared is not None and names not in text:
            functions, names = self._shared, SHARED
        if text not in functions:
            self._left -= len(text) * (1 + len(text) / BUDGET.long_function)
            if self._left < 0:
                raise TooLongError
        name = functions.setdefault(text, f"{names}.function{len(functions)}")
        arguments = []
        for buffer, offset, cell in code.places:
            pointer = self._pointers[buffer]
            arguments.append(("ptr", caller.place(cell, pointer, offset) if offset else pointer))
        caller.run_own(name, *arguments, *parameters[len(arguments) :])

    # -- memory --------------------------------------------------------------------------------------------------------

    def _places_in_scratch(self) -> tuple[dict[Any, int], int]:
        """Return the place of each buffer in the scratch memory, and its size."""
        layout = self.layout
        first: dict[Any, int] = {}
        last: dict[Any, int] = {}
        sizes: dict[Any, int] = {}
        once: set[Any] = set()
        end = len(layout.units)
        for i, unit in enumerate(layout.units):
            for buffer, size in unit.writes.items():
                first.setdefault(buffer, i)
                last[buffer] = i
                sizes[buffer] = size
            product = self._products.get(unit)
            if product is not None and product.packed is not None:
                source, packed = product.packed
                first[packed.buffer], last[packed.buffer] = i, i
                if is_known_before(layout, source):  # it is copied once, and there for all tiles
                    first[packed.buffer], last[packed.buffer] = 0, end
                    once.add(packed.buffer)
                sizes[packed.buffer] = packed.nbytes
            for buffer in unit.reads:
                last[buffer] = i
        self.copied_before = sum(sizes[buffer] for buffer in once)
        for node in layout.program.outputs:
            place = layout.places[node]
            if isinstance(place, View):
                last[place.buffer] = end
        found: dict[Any, int] = {}
        dying: list[list[Any]] = [[] for _ in range(end + 1)]
        memory = Memory()
        if self._failing:
            memory.take(FAILURE_BYTES * len(self._failing))
        beginning = sorted([buffer for buffer in first if buffer not in self._pointers], key=first.__getitem__)
        i = 0
        for buffer in beginning:
            while i < first[buffer]:
                for dead in dying[i]:
                    memory.free(found[dead])
                i += 1
            found[buffer] = memory.take(sizes[buffer])
            dying[last[buffer]].append(buffer)
        return found, memory.size


def _failing_in(unit: Unit, layout: Layout) -> list[Node]:
    """Return the ops of a unit that can fail, or be interrupted: its own, and those in the body that it applies."""
    node = unit.nodes[0]
    found = [] if node.op.domain is None and not (has_body(node) and counts_steps(form_of(node))) else [node]
    if has_body(node):
        body = layout.bodies[form_of(node).of]
        found += failing_in(body.program) if body.text is None else body.text.failing
    return found


def kernel_of(text: ProgramText) -> str:
    """Return a text as the compiler takes it."""
    return module([text.functions], text.declared.values())


def _array_of(node: Node) -> Any:
    found = node.params[0][1].array if node.op is CAPTURED else node.op.numpy(**dict(node.params))
    return np.ascontiguousarray(found, node.type.dtype)


def _array_text(name: str, array: Any) -> str:
    """Return the definition of a constant array."""
    cell = CELLS[array.dtype.str]
    elements = [f"{cell} {number_text(array.dtype, x)}" for x in array.ravel().tolist()]
    return f"{name} = internal constant [{len(elements)} x {cell}] [{', '.join(elements)}]"
