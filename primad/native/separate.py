"""Stacks of loops as one native function, in which some members at a time take their steps until all of them are done.

What a member carries stays in registers: each element is a vector whose lanes are that element of several members.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from primad.ir.node import Leaf
from primad.ir.program import Program
from primad.native.builder import module
from primad.native.loops import HARMLESS, Code
from primad.native.straight import Elements, Straight
from primad.native.vectors import BOOL, CELLS, MANGLED, Vector, filled, lanes_of
from primad.types import ArrayType

AT_ONCE = 4
"""Vectors of members that take their steps together. Chosen: an instruction of one runs while another's is awaited, and
their values stay in the nearest cache."""


def lanes_for(program: Program) -> int | None:
    """Return how many members a vector has; None where floats of a program are not all of one size."""
    nodes = [*program.inputs, *[node for node in program.nodes if not isinstance(node.op, Leaf)]]
    floats = {node.type.dtype for node in nodes if isinstance(node.type, ArrayType) and node.type.is_float}
    return None if len(floats) > 1 else lanes_of(next(iter(floats), np.dtype(np.float64)))


def separate_text(program: Program, carry: int, stacked: Sequence[bool], lanes: int) -> str:
    """Write a stack of loops: `i64 @KERNEL(ptr %table, i64 %first, i64 %last, i64 %steps)`.

    The loops of the members from `first` up to `last` take at least one step each, which changes nothing where a loop
    has ended. It returns the largest number of steps, minus that where a loop might go on. The table has the addresses
    of the inputs, those of the carried values after the last step, and for each input the elements from one member to
    the next.

    Args:
        program: of one member: (carried values, the rest) -> carried values; the first says whether to go on. Of what
            belongs to a member, the first axis has one element.
        carry: how many values are carried.
        stacked: which inputs belong to a member; the others are the same for all.
        lanes: how many members a vector has.
    """
    return _SeparateLoop(program, carry, stacked, lanes).text()


class _SeparateLoop:
    """A stack of loops that is being written."""

    def __init__(self, program: Program, carry: int, stacked: Sequence[bool], lanes: int) -> None:
        self.code = code = Code()
        self.program, self.carry, self.stacked, self.lanes = program, carry, stacked, lanes
        self.types = types = program.in_types
        self.straight = Straight(code, lanes)
        self.truth = f"<{lanes} x i1>"
        # Truth values are carried as vectors of integers: processors choose by such, and would convert them each time.
        self.masks = self.straight.vector(np.dtype(f"i{lanes_of(np.dtype(np.int8)) // lanes}")).type
        count = len(types) + carry
        self.tables = [code.load("ptr", "%table", i) for i in range(count)]
        self.steps = [code.load("i64", "%table", count + i) for i in range(len(types))]
        self.shared = {i: self._repeated(type, self.tables[i]) for i, type in enumerate(types) if not stacked[i]}

    def text(self) -> str:
        """Write it."""
        code = self.code
        best = code.loop("%last", self._tile, ["0", "false"], ["i64", "i1"], "%first", AT_ONCE * self.lanes)
        minus = code.emit(f"sub i64 0, {best[0]}")
        code.do(f"ret i64 {code.emit(f'select i1 {best[1]}, i64 {minus}, i64 {best[0]}')}")
        head = "i64 @KERNEL(ptr %table, i64 %first, i64 %last, i64 %steps)"
        return module([code.function(head)], code.declared.values())

    def _tile(self, first: str, best: list[str]) -> list[str]:
        """Write the loops of some members."""
        code, lanes = self.code, self.lanes
        starts = [code.emit(f"add i64 {first}, {k * lanes}") for k in range(AT_ONCE)]
        inside = [_inside(self.straight.vector(np.dtype(np.int64)), start) for start in starts]
        operands = [self._operands(start, mask) for start, mask in zip(starts, inside, strict=True)]
        going: list[str] = []

        def turn(_: str, values: list[str]) -> tuple[list[str], str]:
            states = [self._unpacked(part) for part in _parts(values)]
            found = [
                self.straight.run(self.program, [*state, *own[self.carry :]])
                for state, own in zip(states, operands, strict=True)
            ]
            on = found[0][0].item()
            for other in found[1:]:
                on = code.emit(f"or {self.truth} {on}, {other[0].item()}")
            bits = code.emit(f"bitcast {self.truth} {on} to i{lanes}")
            going.append(code.emit(f"icmp ne i{lanes} {bits}, 0"))
            return [x for own in found for x in self._packed(own)], going[0]

        carried = [x for own in operands for x in self._packed(own[: self.carry])]
        after, taken = code.turns("%steps", turn, carried, self._kinds() * AT_ONCE)
        for part, start, mask in zip(_parts(after), starts, inside, strict=True):
            for i, elements in enumerate(self._unpacked(part)):
                self._write(i, start, mask, elements)
        most = code.call_once("i64", "llvm.umax.i64", ("i64", best[0]), ("i64", taken))
        return [most, code.emit(f"or i1 {best[1]}, {going[0]}")]

    # -- what is carried -----------------------------------------------------------------------------------------------

    def _kinds(self) -> list[str]:
        """Return the types of what a vector of members carries."""
        of = [(self.masks if t.dtype == BOOL else self.straight.vector(t.dtype).type, t.size) for t in self._carried]
        return [kind for kind, size in of for _ in range(size)]

    @property
    def _carried(self) -> Sequence[ArrayType]:
        return self.types[: self.carry]

    def _packed(self, values: Sequence[Elements]) -> list[str]:
        """Return elements as they are carried."""
        found = []
        for type, elements in zip(self._carried, values, strict=True):
            for x in elements.ravel():
                found.append(self.code.emit(f"sext {self.truth} {x} to {self.masks}") if type.dtype == BOOL else x)
        return found

    def _unpacked(self, names: Sequence[str]) -> list[Elements]:
        """Return what is carried as elements of arrays."""
        found, rest = [], iter(names)
        for type in self._carried:
            own = np.empty(type.size, object)
            for i in range(type.size):
                name = next(rest)
                own[i] = self.code.emit(f"icmp ne {self.masks} {name}, zeroinitializer") if type.dtype == BOOL else name
            found.append(own.reshape(type.shape))
        return found

    # -- memory --------------------------------------------------------------------------------------------------------

    def _repeated(self, type: ArrayType, pointer: str) -> Elements:
        """Load an array that is the same for all members."""
        vector, found = self.straight.vector(type.dtype), np.empty(type.size, object)
        for i, element in enumerate(Straight(self.code).load(type.dtype, type.shape, pointer).ravel()):
            found[i] = vector.repeated(self.code.emit(f"extractelement <1 x {vector.scalar}> {element}, i64 0"))
        return found.reshape(type.shape)

    def _operands(self, start: str, mask: str) -> list[Elements]:
        """Load what belongs to some members; those that are not there do not go on."""
        found = [self._read(i, start, mask) if on else self.shared[i] for i, on in enumerate(self.stacked)]
        found[0] = np.array([self.code.emit(f"and {self.truth} {found[0].item()}, {mask}")], object)
        return found

    def _read(self, k: int, start: str, mask: str) -> Elements:
        """Load the elements of some members."""
        type, table, step = self.types[k], self.tables[k], self.steps[k]
        if type.size == 1:
            read = self._read_one(type, table, start, step, mask)
            return np.array([read], object).reshape(type.shape)
        found = np.empty(type.size, object)
        for i in range(type.size):
            found[i] = self._truth(type, self._gathered(type, table, start, step, i, mask))
        return found.reshape(type.shape)

    def _read_one(self, type: ArrayType, table: str, start: str, step: str, mask: str) -> str:
        """Load members of one element each: neighbours, the same for all, or others."""
        code, cell = self.code, CELLS[type.dtype.str]
        kind, filler = f"<{self.lanes} x {cell}>", self._filler(type)
        is_row, is_same = (code.emit(f"icmp eq i64 {step}, {n}") for n in (1, 0))

        def neighbours() -> str:
            return code.load_lanes(cell, code.place(cell, table, start), 1, mask, self.lanes, filler)

        def same() -> str:
            return code.load_lanes(cell, table, 0, self.lanes, self.lanes, filler)

        def others() -> str:
            return code.either(kind, is_same, same, lambda: self._gathered(type, table, start, step, 0, mask))

        return self._truth(type, code.either(kind, is_row, neighbours, others))

    def _gathered(self, type: ArrayType, table: str, start: str, step: str, i: int, mask: str) -> str:
        """Load an element of some members."""
        cell = CELLS[type.dtype.str]
        kind, name = f"<{self.lanes} x {cell}>", f"llvm.masked.gather.v{self.lanes}{MANGLED[cell]}.v{self.lanes}p0"
        places = self._places(cell, table, start, step, i)
        return self.code.call(kind, name, places, ("i32", "1"), (self.truth, mask), (kind, self._filler(type)))

    def _filler(self, type: ArrayType) -> str:
        return filled(type.dtype, self.lanes, HARMLESS[type.dtype.kind])

    def _truth(self, type: ArrayType, value: str) -> str:
        """Return what lies in memory as it is computed with."""
        kind = f"<{self.lanes} x {CELLS[type.dtype.str]}>"
        return self.code.emit(f"icmp ne {kind} {value}, zeroinitializer") if type.dtype == BOOL else value

    def _write(self, k: int, start: str, mask: str, elements: Elements) -> None:
        """Store a carried value of some members."""
        type, table, lanes, code = self.types[k], self.tables[len(self.types) + k], self.lanes, self.code
        cell = CELLS[type.dtype.str]
        for i, value in enumerate(elements.ravel()):
            if type.size == 1:
                code.write(type.dtype, code.place(cell, table, start), 1, mask, lanes, value)
                continue
            if type.dtype == BOOL:
                value = code.emit(f"zext {self.truth} {value} to <{lanes} x {cell}>")
            name = f"llvm.masked.scatter.v{lanes}{MANGLED[cell]}.v{lanes}p0"
            places = self._places(cell, table, start, str(type.size), i)
            code.run(name, (f"<{lanes} x {cell}>", value), places, ("i32", "1"), (self.truth, mask))

    def _places(self, cell: str, table: str, start: str, step: str, i: int) -> tuple[str, str]:
        """Return the addresses of an element of some members."""
        code, numbers = self.code, self.straight.vector(np.dtype(np.int64))
        first = code.place(cell, table, code.emit(f"add i64 {i}, {code.emit(f'mul i64 {start}, {step}')}"))
        far = numbers.op("mul", numbers.listed(list(range(self.lanes))), numbers.repeated(step))
        return f"<{self.lanes} x ptr>", code.emit(f"getelementptr {cell}, ptr {first}, {numbers.type} {far}")


def _parts(values: list[str]) -> list[list[str]]:
    """Cut what is carried into what each vector of members carries."""
    size = len(values) // AT_ONCE
    return [values[k * size : (k + 1) * size] for k in range(AT_ONCE)]


def _inside(v: Vector, start: str) -> str:
    """Return which members of a vector are there."""
    left = v.repeated(v.code.emit(f"sub i64 %last, {start}"))
    return v.compare("slt", v.listed(list(range(v.lanes))), left)
