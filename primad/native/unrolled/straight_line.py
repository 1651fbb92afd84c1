"""Small programs as straight-line code on single elements, and loops of them whose carried values stay in registers.

How each op is written is said by one table (`primad.native.emit.op_table`). Views cost nothing: they only say
which element is where.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.ir.array_types import ArrayType
from primad.ir.node import CAPTURED, LITERAL, Node, leaf_value
from primad.ir.program import Program
from primad.native.emit.emit_context import begin_failure_records, report, return_status
from primad.native.emit.op_table import can_fail, failing_in, register_form
from primad.native.llvm.builder import Builder, module
from primad.native.llvm.vectors import CELLS, Vector
from primad.native.unrolled.unrolled_context import Bad, ElementForm, Elements, ElementSite


def straight_function(program: Program) -> tuple[str, dict[str, str]]:
    """Write a program as `i64 @KERNEL(ptr %table, ptr %scratch)`; return the text, and declarations of what it calls.

    The table has the addresses of the inputs and of the outputs. What it returns is 0, or which of the ops that can
    fail (`failing_in`) did, the first being 1; what these say lies in the scratch memory.
    """
    code = Builder()
    failing = failing_in(program)
    records = begin_failure_records(code, len(failing))
    straight = Straight(code, record=dict(zip(failing, records, strict=True)).__getitem__)
    count = len(program.inputs)
    types = [*program.in_types, *program.out_types]
    tables = [code.load("ptr", "%table", i) for i in range(len(types))]
    inputs = [
        straight.load(type.dtype, type.shape, table) for type, table in zip(program.in_types, tables, strict=False)
    ]
    for type, elements, table in zip(program.out_types, straight.run(program, inputs), tables[count:], strict=True):
        straight.store(type.dtype, elements, table)
    return_status(code, records)
    return code.function("i64 @KERNEL(ptr %table, ptr %scratch)"), code.declared


class Straight:
    """Writes programs as straight-line code.

    Attributes:
        code: where to write.
        failed: of the program that was written last, whether some op was not defined for a value, one i1 for each.

    Args:
        code: where to write.
        lanes: how many members of a stack an element stands for.
        record: returns the address at which it is said that an op failed; None where none can.
    """

    def __init__(self, code: Builder, lanes: int = 1, record: Callable[[Node], str] | None = None) -> None:
        self.code, self._lanes, self._record = code, lanes, record
        self.failed: list[str] = []

    def vector(self, dtype: np.dtype[Any]) -> Vector:
        """Return the writer for elements of a type."""
        return Vector(self.code, dtype, self._lanes)

    def load(self, dtype: np.dtype[Any], shape: tuple[int, ...], pointer: str) -> Elements:
        """Load the elements of an array."""
        vector, cell = self.vector(dtype), f"<1 x {CELLS[dtype.str]}>"
        found = np.empty(math.prod(shape), object)
        for i in range(found.size):
            place = self.code.place(CELLS[dtype.str], pointer, i) if i else pointer
            value = self.code.emit(f"load {cell}, ptr {place}, align {dtype.itemsize}")
            found[i] = self.code.emit(f"icmp ne {cell} {value}, zeroinitializer") if vector.scalar == "i1" else value
        return found.reshape(shape)

    def store(self, dtype: np.dtype[Any], elements: Elements, pointer: str) -> None:
        """Store the elements of an array."""
        vector, cell = self.vector(dtype), f"<1 x {CELLS[dtype.str]}>"
        for i, value in enumerate(elements.ravel()):
            if vector.scalar == "i1":
                value = self.code.emit(f"zext {vector.type} {value} to {cell}")
            place = self.code.place(CELLS[dtype.str], pointer, i) if i else pointer
            self.code.do(f"store {cell} {value}, ptr {place}, align {dtype.itemsize}")

    def run(self, program: Program, inputs: Sequence[Elements]) -> list[Elements]:
        """Write a program; return the elements of its outputs."""
        self.failed = []
        known: dict[Node, Any] = dict(zip(program.inputs, inputs, strict=True))
        for node in program.nodes:
            if node not in known:
                known[node] = self._computed(node, [known[operand] for operand in node.inputs])
        return [known[node] for node in program.outputs]

    def _computed(self, node: Node, operands: Sequence[Any]) -> Any:
        site = ElementSite(self.code, self._lanes, node, operands, can_fail(node))
        if node.op is LITERAL or node.op is CAPTURED:
            return site.constants(np.asarray(leaf_value(node), node.type.dtype))
        form = register_form(node)
        assert isinstance(form, ElementForm)
        found = form.write(site)
        if site.bad:
            self._report(node, site.bad)
        return found

    def _report(self, node: Node, bad: Sequence[Bad]) -> None:
        """Say the first condition that holds, if any does."""
        assert self._record is not None and self._lanes == 1
        code = self.code
        conditions = [code.once(f"extractelement <1 x i1> {x.condition}, i64 0") for x in bad]
        failed = conditions[0]
        for condition in conditions[1:]:
            failed = code.once(f"or i1 {failed}, {condition}")
        self.failed.append(failed)
        with code.when(failed):
            *earlier, last = bad
            place, value = str(last.place), last.value
            for x, condition in reversed(list(zip(earlier, conditions, strict=False))):
                place = code.emit(f"select i1 {condition}, i64 {x.place}, i64 {place}")
                value = code.emit(f"select i1 {condition}, <1 x i64> {x.value}, <1 x i64> {value}")
            said = code.emit(f"extractelement <1 x i64> {value}, i64 0")
            report(code, self._record(node), lambda: place, said)


# -- loops -------------------------------------------------------------------------------------------------------------


def loop_text(program: Program, carry: int, stacked: int, reverse: bool, ends: bool) -> str:
    """Write a loop of a program: `i64 @KERNEL(ptr %table, i64 %steps)`.

    It takes at least one step, stops where an op fails, and returns how many it took; minus that where it might go on
    (`ends`).

    The table has the addresses of the carried values before the first step, of the row for the first step of each
    stacked array, of what is the same in all steps, of the carried values after the last step, and of the row for the
    first step of each stacked result. Where ops can fail (`failing_in`), the last is the address of what these say: two
    i64 for each, which are 0 before.

    Args:
        program: (carried values, rows, the rest) -> (carried values, results).
        carry: how many values are carried.
        stacked: how many inputs are rows.
        reverse: whether rows of later steps lie before those of earlier ones.
        ends: whether the first result says if there is a further step; it is not stored.
    """
    code = Builder()
    count = len(program.inputs) + len(program.outputs) - ends
    tables = [code.load("ptr", "%table", i) for i in range(count)]
    failing = failing_in(program)
    said = code.load("ptr", "%table", count) if failing else ""
    records = {node: code.place("i64", said, 2 * i) for i, node in enumerate(failing)}
    straight = Straight(code, record=records.__getitem__)
    taken, going, _ = write_steps(straight, program, (carry, stacked, reverse, ends), tables, "%steps")
    if ends:
        minus = code.emit(f"sub i64 0, {taken}")
        taken = code.emit(f"select i1 {going}, i64 {minus}, i64 {taken}")
    code.do(f"ret i64 {taken}")
    return module([code.function("i64 @KERNEL(ptr %table, i64 %steps)")], code.declared.values())


def write_steps(
    straight: Straight,
    program: Program,
    shape: tuple[int, int, bool, bool],
    tables: Sequence[str | None],
    steps: str,
    stops: Callable[[str], str] | None = None,
) -> tuple[str, str, str]:
    """Write at least one step of a loop, which stops where an op fails.

    Args:
        straight: where to write.
        program: the body.
        shape: how many values are carried, how many inputs are rows, whether rows of later steps lie before those of
            earlier ones, and whether the first result says if there is a further step.
        tables: the addresses, in the order of the table of `loop_text`; None for results that nothing needs.
        steps: how many steps to take at most, an i64.
        stops: writes, for the number of a step, whether the loop stops after it for another reason.

    Returns:
        how many were taken; whether the last one said that there is a further step ('true' where none says it); and
        whether it stopped for that other reason, '' where there is none.
    """
    code, (carry, stacked, reverse, ends) = straight.code, shape
    types = [*program.in_types, *program.out_types[:carry], *program.out_types[carry + ends :]]
    count = len(program.inputs)
    rows = range(carry, carry + stacked)

    def known(address: str | None) -> str:
        assert address is not None
        return address

    loaded = {
        i: straight.load(program.in_types[i].dtype, program.in_types[i].shape, known(tables[i]))
        for i in range(count)
        if i not in rows
    }
    flat = [name for i in range(carry) for name in loaded[i].ravel()]
    kinds = [straight.vector(program.in_types[i].dtype).type for i in range(carry) for _ in loaded[i].ravel()]

    def row(i: int, index: str) -> str:
        step = code.once(f"mul i64 {index}, {-types[i].size if reverse else types[i].size}")
        return code.place(CELLS[types[i].dtype.str], known(tables[i]), step)

    going: list[str] = []
    stopped: list[str] = []

    def turn(index: str, values: list[str]) -> tuple[list[str], str]:
        inputs = _carried(program.in_types[:carry], values)
        for i, type in enumerate(program.in_types[carry:], carry):
            inputs.append(straight.load(type.dtype, type.shape, row(i, index)) if i in rows else loaded[i])
        found = straight.run(program, inputs)
        more = "true"
        if ends:
            truth = found.pop(carry)[()]
            more = code.emit(f"extractelement <1 x i1> {truth}, i64 0")
        for failed in straight.failed:
            more = code.emit(f"select i1 {failed}, i1 false, i1 {more}")
        if ends:
            going.append(more)
        if stops is not None:
            stopped.append(stops(index))
            more = code.emit(f"select i1 {stopped[0]}, i1 false, i1 {more}")
        for k, elements in enumerate(found[carry:], count + carry):
            if tables[k] is not None:
                straight.store(types[k].dtype, elements, row(k, index))
        return [name for elements in found[:carry] for name in elements.ravel()], more

    after, taken = code.turns(steps, turn, flat, kinds)
    for own, type, table in zip(
        _carried(program.out_types[:carry], after), types[count:], tables[count:], strict=False
    ):
        if table is not None:
            straight.store(type.dtype, own, table)
    return taken, going[0] if going else "true", stopped[0] if stopped else ""


def _carried(types: Sequence[ArrayType], names: Sequence[str]) -> list[Elements]:
    """Return the elements of arrays of these types, whose names follow each other."""
    found, rest = [], iter(names)
    for type in types:
        own = np.empty(type.size, object)
        own[:] = [next(rest) for _ in range(type.size)]
        found.append(own.reshape(type.shape))
    return found
