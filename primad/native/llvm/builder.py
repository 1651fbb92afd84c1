"""The text of an LLVM function that is being written: numbered values, loops, conditions, what it calls.

All native code is written by this one builder and the classes that inherit from it: loops over arrays
(`native/llvm/strided_views.py`), the functions that call them (`native/module/`) and those that Python calls
(`native/cpython/`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager

DECLARATIONS = "\n; declarations\n"
"""What stands in a text between the functions and the declarations of what they call."""


def module(functions: Iterable[str], declarations: Iterable[str]) -> str:
    """Return a text as the compiler takes it."""
    return "\n".join(functions) + DECLARATIONS + "\n".join(declarations)


class Builder:
    """The text of a function that is being written.

    Attributes:
        lines: instructions and labels so far.
        declared: declarations of the functions that it calls, by name.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self._rooms: list[str] = []
        self._count = 0
        self._known: list[dict[str, str]] = [{}]

    def fresh(self) -> int:
        """Return a number that no name has yet."""
        self._count += 1
        return self._count

    # -- instructions --------------------------------------------------------------------------------------------------

    def emit(self, code: str, name: str = "") -> str:
        """Write an instruction and return the name of its value, by default a new one."""
        if not name:
            self._count += 1
            name = f"%t{self._count}"
        self.lines.append(f"  {name} = {code}")
        return name

    def once(self, code: str) -> str:
        """Write an instruction whose value depends on its operands alone; one that was written before is not repeated.

        Written before means: on the way that leads here, so not inside a loop or a condition that has ended.
        """
        for known in self._known:
            if code in known:
                return known[code]
        self._count += 1
        name = self._known[-1][code] = f"%t{self._count}"
        self.lines.append(f"  {name} = {code}")
        return name

    def do(self, code: str) -> None:
        """Write an instruction that has no value."""
        self.lines.append(f"  {code}")

    def picked(self, type: str, x: str, y: str, lanes: Iterable[int | None]) -> str:
        """Return lanes of two vectors of a type, counted through both; where it is None, anything."""
        picks = ["i32 poison" if lane is None else f"i32 {lane}" for lane in lanes]
        return self.once(f"shufflevector {type} {x}, {type} {y}, <{len(picks)} x i32> <{', '.join(picks)}>")

    def gathered(self, type: str, vectors: Sequence[str], lanes: Sequence[tuple[int, int]]) -> str:
        """Return lanes of several vectors of a type, each given by its vector's number and its place there."""
        value = vectors[0]
        for k in range(1, len(vectors)):
            before = [(place if k == 1 else i) if of < k else None for i, (of, place) in enumerate(lanes)]
            picks = [len(lanes) + place if of == k else i for i, (of, place) in zip(before, lanes, strict=True)]
            value = self.picked(type, value, vectors[k], picks)
        return value

    def met(self, type: str, values: Sequence[str]) -> list[str]:
        """Return vectors of a type behind a place that all must pass, and that comes after those written before."""
        if len(values) == 1:  # nothing to wait for, and LLVM has no such text for one value
            return list(values)
        types = ", ".join([type] * len(values))
        places = ",".join(["=x"] * len(values) + [str(i) for i in range(len(values))])
        operands = ", ".join(f"{type} {x}" for x in values)
        behind = self.emit(f'call {{ {types} }} asm sideeffect "", "{places}"({operands})')
        return [self.emit(f"extractvalue {{ {types} }} {behind}, {i}") for i in range(len(values))]

    def room(self, type: str, count: int = 1, align: int = 0) -> str:
        """Return the address of memory of the function's own, which it has from its beginning to its end."""
        name = f"%room{len(self._rooms)}"
        self._rooms.append(f"  {name} = alloca {type}, i64 {count}{f', align {align}' if align else ''}")
        return name

    def place(self, type: str, address: str, index: int | str) -> str:
        """Return the address of an element of an array."""
        return self.emit(f"getelementptr {type}, ptr {address}, i64 {index}")

    def load(self, type: str, address: str, index: int | str) -> str:
        """Load an element of an array that is aligned."""
        return self.emit(f"load {type}, ptr {self.place(type, address, index)}")

    def store(self, type: str, value: int | str, address: str) -> None:
        """Store a value in its place, which is aligned."""
        self.do(f"store {type} {value}, ptr {address}")

    def call(self, result: str, name: str, *operands: tuple[str, str]) -> str:
        """Call a function, which is declared then, and return the name of its value.

        Args:
            result: type of the value.
            name: of the function.
            operands: the type of each operand, and the operand.
        """
        return self.emit(self._calling(result, name, operands))

    def call_once(self, result: str, name: str, *operands: tuple[str, str]) -> str:
        """Call a function whose value depends on its operands alone, if it was not called with them before."""
        return self.once(self._calling(result, name, operands))

    def run(self, name: str, *operands: tuple[str, str]) -> None:
        """Call a function that has no value."""
        self.do(self._calling("void", name, operands))

    def ask(self, result: str, name: str, *operands: tuple[str, str]) -> str:
        """Call a function of the same text, or at an address, and return the name of its value."""
        return self.emit(f"call {result} {name}({', '.join(f'{type} {value}' for type, value in operands)})")

    def run_own(self, name: str, *operands: tuple[str, str]) -> None:
        """Call a function of the same text, or at an address, that has no value."""
        self.do(f"call void {name}({', '.join(f'{type} {value}' for type, value in operands)})")

    def _calling(self, result: str, name: str, operands: Sequence[tuple[str, str]]) -> str:
        if name not in self.declared:
            self.declared[name] = f"declare {result} @{name}({', '.join([type for type, _ in operands])})"
        return f"call {result} @{name}({', '.join([f'{type} {value}' for type, value in operands])})"

    # -- control -------------------------------------------------------------------------------------------------------

    def label(self, name: str) -> None:
        """Begin a block of a name, to which others may go."""
        self.lines.append(f"{name}:")

    def go(self, label: str) -> None:
        """End a block: go to another."""
        self.do(f"br label %{label}")

    def require(self, condition: str, otherwise: str) -> None:
        """Go on here only where a condition holds, and otherwise at a label."""
        k = self.fresh()
        self.do(f"br i1 {condition}, label %go{k}, label %{otherwise}")
        self.label(f"go{k}")

    @contextmanager
    def when(self, condition: str, ends: bool = False) -> Generator[None]:
        """Write what is done only where a condition holds.

        Args:
            condition: a truth value.
            ends: whether what is done goes elsewhere in the end.
        """
        k = self.fresh()
        self.do(f"br i1 {condition}, label %then{k}, label %after{k}")
        self.label(f"then{k}")
        with self._inside():
            yield
        if not ends:
            self.go(f"after{k}")
        self.label(f"after{k}")

    def either(self, type: str, condition: str, yes: Callable[[], str], no: Callable[[], str]) -> str:
        """Write two ways to a value, and return the one that the condition chooses."""
        (found,) = self.either_of(type, condition, lambda: [yes()], lambda: [no()])
        return found

    def either_of(
        self, type: str, condition: str, yes: Callable[[], list[str]], no: Callable[[], list[str]]
    ) -> list[str]:
        """Write two ways to some values of a type, and return those that the condition chooses."""
        k = self.fresh()
        self.do(f"br i1 {condition}, label %yes{k}, label %no{k}")
        found = []
        for name, way in (("yes", yes), ("no", no)):
            self.label(f"{name}{k}")
            with self._inside():
                found.append([f"[ {value}, %{name}{k}.end ]" for value in way()])
            self.go(f"{name}{k}.end")  # a block of its own: the way may have ended in another than it began
            self.label(f"{name}{k}.end")
            self.go(f"both{k}")
        self.label(f"both{k}")
        return [self.emit(f"phi {type} {', '.join(values)}") for values in zip(*found, strict=True)]

    def loop(
        self,
        count: int | str,
        body: Callable[[str, list[str]], list[str] | None],
        carried: Sequence[str] = (),
        type: str | Sequence[str] = "",
        start: str = "0",
        step: int = 1,
    ) -> list[str]:
        """Write a loop of at least one turn.

        Args:
            count: where the index ends.
            body: (index, values) -> the carried values after the turn that it writes.
            carried: the values before the first turn.
            type: their type, or the type of each.
            start: where the index begins.
            step: how far it goes in a turn.

        Returns:
            the values after the last turn.
        """
        if count == 1:
            return body("0", list(carried)) or []
        types = [type] * len(carried) if isinstance(type, str) else type
        return self._loop(count, lambda i, values: (body(i, values) or [], ""), carried, types, start, step)[0]

    def in_parts(
        self,
        start: str,
        end: str,
        length: int,
        body: Callable[[str, str, list[str]], list[str] | None],
        carried: Sequence[str] = (),
        type: str | Sequence[str] = "",
    ) -> list[str]:
        """Write a loop over the parts of a range, which all have one length but for the last.

        Args:
            start: where the range begins.
            end: where it ends, behind its beginning.
            length: of a part.
            body: (start of a part, its end, values) -> the carried values after the part.
            carried: the values before the first part.
            type: their type, or the type of each.

        Returns:
            the values after the last part.
        """

        def turn(index: str, values: list[str]) -> list[str] | None:
            far = self.emit(f"add i64 {index}, {length}")
            return body(index, self.call("i64", "llvm.umin.i64", ("i64", far), ("i64", end)), values)

        return self.loop(end, turn, carried, type, start, length)

    def turns(
        self,
        most: str,
        body: Callable[[str, list[str]], tuple[list[str], str]],
        carried: Sequence[str],
        types: Sequence[str],
    ) -> tuple[list[str], str]:
        """Write a loop of at least one turn that carries values of any types, and may end before the last turn.

        Args:
            most: how many turns there are at most, an i64.
            body: (index, values) -> the carried values after the turn that it writes, and whether to go on, an i1.
            carried: the values before the first turn.
            types: their types.

        Returns:
            the values after the last turn, and how many turns there were.
        """
        return self._loop(most, body, carried, types)

    def _loop(
        self,
        count: int | str,
        body: Callable[[str, list[str]], tuple[list[str], str]],
        carried: Sequence[str],
        types: Sequence[str],
        start: str = "0",
        step: int = 1,
    ) -> tuple[list[str], str]:
        """Write a loop whose body also says whether to go on, or '' where only the index does."""
        k = self.fresh()
        self.go(f"before{k}")
        self.label(f"before{k}")
        self.go(f"loop{k}")
        self.label(f"loop{k}")
        head = len(self.lines)
        phis = [f"%c{k}.{j}" for j in range(len(carried))]
        with self._inside():
            after, more = body(f"%i{k}", phis)
        entered = [f"  %i{k} = phi i64 [ {start}, %before{k} ], [ %n{k}, %next{k} ]"]
        entered += [
            f"  {phi} = phi {type} [ {first}, %before{k} ], [ {value}, %next{k} ]"
            for phi, type, first, value in zip(phis, types, carried, after, strict=True)
        ]
        self.lines[head:head] = entered
        self.go(f"next{k}")
        self.label(f"next{k}")
        self.emit(f"add i64 %i{k}, {step}", f"%n{k}")
        going = self.emit(f"icmp ult i64 %n{k}, {count}", f"%m{k}")
        if more:
            going = self.emit(f"and i1 {going}, {more}")
        self.do(f"br i1 {going}, label %loop{k}, label %after{k}")
        self.label(f"after{k}")
        return after, f"%n{k}"

    @contextmanager
    def _inside(self) -> Generator[None]:
        """Forget at the end what was written meanwhile: what comes after need not have passed it."""
        self._known.append({})
        yield
        self._known.pop()

    def function(self, head: str) -> str:
        """Return the text of the whole function."""
        return "\n".join([f"define {head} nounwind {{", "entry:", *self._rooms, *self.lines, "}"])
