"""Stacks of loops as native code, in which some members at a time take their steps until all of them are done.

What a member carries stays in registers: each element is a vector whose lanes are that element of several members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from primad.ir.array_types import ArrayType
from primad.native.llvm.builder import module
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.strided_views import HARMLESS, Code
from primad.native.llvm.vectors import BOOL, CELLS, MANGLED, filled, lanes_of
from primad.native.loops.batched_while import AT_ONCE, Member
from primad.native.unrolled.straight_line import Straight
from primad.native.unrolled.unrolled_context import Elements


def lanes_text(member: Member) -> str:
    """Write a stack of loops: `i64 @KERNEL(ptr %table, i64 %first, i64 %last, i64 %steps)`.

    The loops of the members from `first` up to `last` take at least one step each, which changes nothing where a loop
    has ended. It returns the largest number of steps, minus that where a loop might go on. The table has the addresses
    of the inputs, those of the carried values after the last step, and for each input the elements from one member to
    the next.
    """
    code, inputs, carry = Code(), len(member.stacked), len(member.results)
    tables = [code.load("ptr", "%table", i) for i in range(inputs + carry)]
    steps = [code.load("i64", "%table", inputs + carry + i) for i in range(inputs)]
    sources = list(zip(tables, steps, strict=False))
    taken, goes, _ = write_stack(code, member, MemberRange("%first", "%last", "%steps"), sources, tables[inputs:])
    minus = code.emit(f"sub i64 0, {taken}")
    code.do(f"ret i64 {code.emit(f'select i1 {goes}, i64 {minus}, i64 {taken}')}")
    head = "i64 @KERNEL(ptr %table, i64 %first, i64 %last, i64 %steps)"
    return module([code.function(head)], code.declared.values())


class MemberRange(Struct, frozen=True):
    """Which loops of a stack take steps, each an i64.

    Attributes:
        first: the first of them.
        last: one more than the last.
        steps: how many steps each may take, one at least.
        weight: instructions of a step, by which it is counted when to ask again whether to stop; 0 where that is never
            asked.
        spent: where the number of instructions since the last question stands.
        stop: writes the question, and returns an i1.
    """

    first: str
    last: str
    steps: str
    weight: int = 0
    spent: str = ""
    stop: Callable[[], str] = lambda: "false"


def write_stack(
    code: Code, member: Member, members: MemberRange, sources: Sequence[tuple[str, str]], targets: Sequence[str | None]
) -> tuple[str, str, str]:
    """Write the loops of some members of a stack; some at a time take their steps.

    Args:
        code: where to write.
        member: one of them.
        members: which, and how many steps they take.
        sources: for each input of a member, the address of the first one's, and the elements from one member to the
            next.
        targets: where the carried values go after the last step, member by member; None for those that nothing needs.

    Returns:
        the largest number of steps; whether a loop might go on; and whether they stopped before all had taken steps.
    """
    return _StackOfLoops(code, member, members, sources, targets).write()


class _StackOfLoops:
    """A stack of loops that is being written."""

    def __init__(
        self,
        code: Code,
        member: Member,
        members: MemberRange,
        sources: Sequence[tuple[str, str]],
        targets: Sequence[str | None],
    ) -> None:
        self.code, self.members, self.targets = code, members, targets
        self.program, self.carry, self.stacked = member.program, len(member.results), member.stacked
        self.lanes, self.tile = member.lanes, member.tile
        self.types = types = member.program.in_types
        self.straight = Straight(code, self.lanes)
        self.truth = f"<{self.lanes} x i1>"
        # Truth values are carried as vectors of integers: processors choose by such, and would convert them each time.
        self.masks = self.straight.vector(np.dtype(f"i{lanes_of(np.dtype(np.int8)) // self.lanes}")).type
        self.tables, self.steps = ([source[k] for source in sources] for k in (0, 1))
        self.shared = {i: self._repeated(type, self.tables[i]) for i, type in enumerate(types) if not self.stacked[i]}

    def write(self) -> tuple[str, str, str]:
        """Write it."""
        code, members = self.code, self.members
        count = code.emit(f"sub i64 {members.last}, {members.first}")
        tiles = code.emit(f"udiv i64 {code.emit(f'add i64 {count}, {self.tile - 1}')}, {self.tile}")
        stopped: list[str] = []

        def turn(index: str, values: list[str]) -> tuple[list[str], str]:
            most, goes, spent = values
            first = code.emit(f"add i64 {members.first}, {code.emit(f'mul i64 {index}, {self.tile}')}")
            taken, going = self._tile(first)
            most = code.call("i64", "llvm.umax.i64", ("i64", most), ("i64", taken))
            goes = code.emit(f"or i1 {goes}, {going}")
            if not members.weight:
                return [most, goes, spent], "true"
            spent = code.emit(f"add i64 {spent}, {code.emit(f'mul i64 {taken}, {members.weight}')}")
            long = code.emit(f"icmp ugt i64 {spent}, {BUDGET.uninterrupted}")
            stopped.append(code.either("i1", long, members.stop, lambda: "false"))
            ends = code.emit(f"or i1 {goes}, {stopped[0]}")
            return [most, goes, code.emit(f"select i1 {long}, i64 0, i64 {spent}")], code.emit(f"xor i1 {ends}, true")

        before = code.emit(f"load i64, ptr {members.spent}") if members.weight else "0"
        (most, goes, spent), _ = code.turns(tiles, turn, ["0", "false", before], ["i64", "i1", "i64"])
        if members.weight:
            code.store("i64", spent, members.spent)
        return most, goes, stopped[0] if stopped else "false"

    def _tile(self, first: str) -> tuple[str, str]:
        """Write the loops of some members; return how many steps were taken, and whether one might go on."""
        code, lanes = self.code, self.lanes
        starts = [code.emit(f"add i64 {first}, {k * lanes}") for k in range(AT_ONCE)]
        inside = [self._inside(start) for start in starts]
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
        after, taken = code.turns(self.members.steps, turn, carried, self._kinds() * AT_ONCE)
        for part, start, mask in zip(_parts(after), starts, inside, strict=True):
            for i, elements in enumerate(self._unpacked(part)):
                target = self.targets[i]
                if target is not None:
                    self._write(i, target, start, mask, elements)
        return taken, going[0]

    def _inside(self, start: str) -> str:
        """Return which members of a vector are there."""
        numbers = self.straight.vector(np.dtype(np.int64))
        left = numbers.repeated(self.code.emit(f"sub i64 {self.members.last}, {start}"))
        return numbers.compare("slt", numbers.listed(list(range(self.lanes))), left)

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

        def neighbours() -> str:
            return code.load_lanes(cell, code.place(cell, table, start), 1, mask, self.lanes, filler)

        def same() -> str:
            return code.load_lanes(cell, table, 0, self.lanes, self.lanes, filler)

        def others() -> str:
            return self._gathered(type, table, start, step, 0, mask)

        if step.isdigit():
            return self._truth(type, {"0": same, "1": neighbours}.get(step, others)())
        is_row, is_same = (code.emit(f"icmp eq i64 {step}, {n}") for n in (1, 0))
        found = code.either(kind, is_row, neighbours, lambda: code.either(kind, is_same, same, others))
        return self._truth(type, found)

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

    def _write(self, k: int, table: str, start: str, mask: str, elements: Elements) -> None:
        """Store a carried value of some members."""
        type, lanes, code = self.types[k], self.lanes, self.code
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
