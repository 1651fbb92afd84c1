"""Small programs as straight-line code on single elements, and loops of them whose carried values stay in registers.

An element is a vector of one lane, so that ops are written by the same table as everywhere (`primad.native.table`), or
of several, which are the same element of members of a stack (`primad.native.separate`). Views cost nothing: they only
say which element is where.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.ir.node import CAPTURED, LITERAL, Node, leaf_value
from primad.ir.program import Program
from primad.native.budget import BUDGET
from primad.native.builder import Builder, module
from primad.native.pointwise import POINTWISE, Pointwise, larger, operand_dtype, written
from primad.native.table import REDUCED, Way, length_of, way_of
from primad.native.vectors import CELLS, Vector, lanes_of
from primad.ops.contraction import split

Elements = np.ndarray[Any, Any]
"""An object array of the names of an array's elements."""
TOGETHER = 3
"""Elements from which on a function is computed for a whole vector of them. Estimated: a vector's takes longer than one
number's. The last bits of results depend on it."""


def stays_in_registers(program: Program) -> bool:
    """Say whether a program is written as straight-line code: its arrays are small, and it is no longer than a body."""
    if any(node.type.size > BUDGET.in_registers for node in (*program.inputs, *program.nodes)):
        return False
    return short_length(program) is not None


def short_length(program: Program) -> int | None:
    """Return the instructions of a program on single elements; None where they are more than a loop's body may have."""
    length = length_of(program)
    return None if length is None or length > BUDGET.instructions else length


def straight_function(program: Program) -> tuple[str, dict[str, str]]:
    """Write a program as `i64 @KERNEL(ptr %table, ptr %scratch)`; return the text, and declarations of what it calls.

    The table has the addresses of the inputs and of the outputs. What it returns is 0.
    """
    code = Builder()
    straight = Straight(code)
    count = len(program.inputs)
    types = [*program.in_types, *program.out_types]
    tables = [code.load("ptr", "%table", i) for i in range(len(types))]
    inputs = [
        straight.load(type.dtype, type.shape, table) for type, table in zip(program.in_types, tables, strict=False)
    ]
    for type, elements, table in zip(program.out_types, straight.run(program, inputs), tables[count:], strict=True):
        straight.store(type.dtype, elements, table)
    code.do("ret i64 0")
    return code.function("i64 @KERNEL(ptr %table, ptr %scratch)"), code.declared


class Straight:
    """Writes programs as straight-line code.

    Attributes:
        code: where to write.
        lanes: how many members of a stack an element stands for.
    """

    def __init__(self, code: Builder, lanes: int = 1) -> None:
        self.code, self._lanes = code, lanes

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
        known: dict[Node, Elements] = dict(zip(program.inputs, inputs, strict=True))
        for node in program.nodes:
            if node not in known:
                known[node] = self._computed(node, [known[operand] for operand in node.inputs])
        return [known[node] for node in program.outputs]

    def _computed(self, node: Node, operands: Sequence[Elements]) -> Elements:
        params, dtype = dict(node.params), node.type.dtype
        if node.op is LITERAL or node.op is CAPTURED:
            return self._constants(np.asarray(leaf_value(node), dtype))
        how = way_of(node)
        if how is Way.CONSTANT:
            return self._constants(np.asarray(node.op.numpy(**params), dtype))
        if isinstance(how, Pointwise):
            return self._pointwise(node, how, operands)
        if node.op is ops.contract:
            return self._contracted(dtype, *operands, **params)
        if node.op in REDUCED:
            return self._reduced(node, operands[0], **params)
        if node.op is ops.pad:
            shown = self._constants(np.zeros(node.type.shape, dtype))
            place = np.arange(operands[0].size).reshape(operands[0].shape)
            where = node.op.numpy(place + 1, **params)
            shown[where > 0] = operands[0].ravel()[where[where > 0] - 1]
            return shown
        moved: Elements = node.op.numpy(*operands, **params)
        return moved.reshape(node.type.shape)

    def _constants(self, values: np.ndarray[Any, Any]) -> Elements:
        vector = self.vector(values.dtype)
        found = np.empty(values.shape, object)
        for index in np.ndindex(values.shape):
            found[index] = vector.constant(values[index].item())
        return found

    def _pointwise(self, node: Node, how: Pointwise, operands: Sequence[Elements]) -> Elements:
        found = np.empty(node.type.size, object)
        columns = [operand.ravel() for operand in operands]
        joins = how.function and found.size >= TOGETHER and self._lanes == 1
        step = lanes_of(operand_dtype(node)) if joins else 1
        for start in range(0, found.size, step):
            count = min(step, found.size - start)
            if step == 1:
                found[start] = written(self.vector(node.type.dtype), node, [column[start] for column in columns])
                continue
            joined = [
                self._joined(node.inputs[i].type.dtype, column[start : start + count], step)
                for i, column in enumerate(columns)
            ]
            wide = Vector(self.code, operand_dtype(node), step)
            value, result = written(wide, node, joined), wide.of(node.type.dtype)
            for lane in range(count):
                mask = f"<1 x i32> <i32 {lane}>"
                found[start + lane] = self.code.once(
                    f"shufflevector {result.type} {value}, {result.type} poison, {mask}"
                )
        return found.reshape(node.type.shape)

    def _joined(self, dtype: np.dtype[Any], elements: Elements, lanes: int) -> str:
        """Join elements to one vector; lanes that are left over repeat the last one."""
        one, wide = self.vector(dtype), Vector(self.code, dtype, lanes)
        value = "poison"
        for lane in range(lanes):
            element = elements[min(lane, len(elements) - 1)]
            scalar = self.code.once(f"extractelement {one.type} {element}, i64 0")
            value = self.code.once(f"insertelement {wide.type} {value}, {one.scalar} {scalar}, i64 {lane}")
        return value

    def _contracted(self, dtype: np.dtype[Any], x: Elements, y: Elements, *, labels: str) -> Elements:
        """Sums of products, rounded once for each product as in other loops."""
        left, right, result = split(labels)
        sizes = dict(zip(left + right, (*x.shape, *y.shape), strict=True))
        summed = "".join(dict.fromkeys(letter for letter in left + right if letter not in result))
        vector = self.vector(dtype)
        found = np.empty([sizes[letter] for letter in result], object)
        for index in np.ndindex(found.shape):
            at = dict(zip(result, index, strict=True))
            total = ""
            for inner in np.ndindex(*[sizes[letter] for letter in summed]):
                at.update(zip(summed, inner, strict=True))
                factors = x[tuple([at[letter] for letter in left])], y[tuple([at[letter] for letter in right])]
                total = self._product_sum(vector, factors, total)
            found[index] = total or vector.constant(0)
        return found

    def _product_sum(self, v: Vector, factors: tuple[str, str], total: str) -> str:
        """Return total + the product of factors, of floats rounded once."""
        if v.dtype.kind == "f":
            return v.intrinsic("fma", *factors, total) if total else v.op("fmul", *factors)
        product = v.arithmetic("mul", *factors)
        return v.arithmetic("add", total, product) if total else product

    def _reduced(self, node: Node, x: Elements, *, axes: tuple[int, ...]) -> Elements:
        vector = self.vector(node.type.dtype)
        count = math.prod([x.shape[axis] for axis in axes])
        rest = np.moveaxis(x, axes, range(len(axes))).reshape(count, *node.type.shape)
        found = np.empty(node.type.shape, object)
        for index in np.ndindex(node.type.shape):
            items = rest[(slice(None), *index)]
            total = items[0] if len(items) else vector.constant(0)
            for item in items[1:]:
                total = _JOINED[node.op](vector, total, item)
            found[index] = total
        return found


_JOINED: dict[Any, Any] = {
    ops.sum: POINTWISE[ops.add].emit,
    ops.reduce_max: larger("gt"),
    ops.reduce_min: larger("lt"),
}
"""Ops along axes that are written so, and how two elements are joined."""


# -- loops -------------------------------------------------------------------------------------------------------------


def loop_text(program: Program, carry: int, stacked: int, reverse: bool, ends: bool) -> str:
    """Write a loop of a program: `i64 @KERNEL(ptr %table, i64 %steps)`.

    It takes at least one step, and returns how many it took; minus that where it might go on (`ends`).

    The table has the addresses of the carried values before the first step, of the row for the first step of each
    stacked array, of what is the same in all steps, of the carried values after the last step, and of the row for the
    first step of each stacked result.

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
    taken, going = write_steps(Straight(code), program, (carry, stacked, reverse, ends), tables, "%steps")
    if ends:
        minus = code.emit(f"sub i64 0, {taken}")
        taken = code.emit(f"select i1 {going}, i64 {minus}, i64 {taken}")
    code.do(f"ret i64 {taken}")
    return module([code.function("i64 @KERNEL(ptr %table, i64 %steps)")], code.declared.values())


def write_steps(
    straight: Straight, program: Program, shape: tuple[int, int, bool, bool], tables: Sequence[str | None], steps: str
) -> tuple[str, str]:
    """Write at least one step of a loop.

    Args:
        straight: where to write.
        program: the body.
        shape: how many values are carried, how many inputs are rows, whether rows of later steps lie before those of
            earlier ones, and whether the first result says if there is a further step.
        tables: the addresses, in the order of the table of `loop_text`; None for results that nothing needs.
        steps: how many steps to take at most, an i64.

    Returns:
        how many were taken, and whether the last one said that there is a further step ('true' where none says it).
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

    def turn(index: str, values: list[str]) -> tuple[list[str], str]:
        names = iter(values)
        inputs = []
        for i, type in enumerate(program.in_types):
            if i < carry:
                own = np.empty(type.size, object)
                own[:] = [next(names) for _ in range(type.size)]
                inputs.append(own.reshape(type.shape))
            else:
                inputs.append(straight.load(type.dtype, type.shape, row(i, index)) if i in rows else loaded[i])
        found = straight.run(program, inputs)
        more = "true"
        if ends:
            truth = found.pop(carry)[()]
            more = code.emit(f"extractelement <1 x i1> {truth}, i64 0")
            going.append(more)
        for k, elements in enumerate(found[carry:], count + carry):
            if tables[k] is not None:
                straight.store(types[k].dtype, elements, row(k, index))
        return [name for elements in found[:carry] for name in elements.ravel()], more

    after, taken = code.turns(steps, turn, flat, kinds)
    names = iter(after)
    for i, type in enumerate(program.out_types[:carry]):
        own = np.empty(type.size, object)
        own[:] = [next(names) for _ in range(type.size)]
        if tables[count + i] is not None:
            straight.store(type.dtype, own, known(tables[count + i]))
    return taken, going[0] if going else "true"
