"""Programs as what JSON can say, written and read faster than text: to keep them between processes.

A program is a list of heads, each an op with its params, its type and the user's line, and a row for each node: its
head's number, then its operands'. Programs that ops hold come before those that hold them. Reading executes nothing:
ops are looked up by their names, every type is inferred again, and what does not fit is an error.
"""

from __future__ import annotations

import base64
import hashlib
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primad.errors import PrimadError, ProgramError
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import CAPTURED, INPUT, LITERAL, WEAK, Leaf, Node, Trace, literal_key, literal_value, params_key
from primad.ir.program import ClosedProgram, Program

LARGEST_ARRAY = 64 * 1024
"""Bytes of an array that is written. Chosen: what rules make, as seeds and signs, is smaller; data is an argument."""
_LEAVES = (INPUT, LITERAL, CAPTURED)

Array = np.ndarray[Any, Any]


class NotSerializableError(Exception):
    """A program, or a plan of one, has what JSON does not hold: code of the user's own, or a large array."""


def packed(program: Program, known: Mapping[str, Any]) -> Any:
    """Return the program as JSON that `unpacked` reads; None where JSON does not hold something of it.

    Args:
        program: of any ops.
        known: the ops whose names say what they are.
    """
    return _packed(program, _JsonWriter(known, _whole))


def digest(program: Program, known: Mapping[str, Any], lines: bool = False) -> str | None:
    """Return a text that is equal for equal programs only, in all processes of one version of the known ops.

    Args:
        program: of any ops.
        known: the ops whose names say what they are.
        lines: whether programs that have other names, or come from other lines, are others too.

    Returns:
        None where JSON does not hold something of the program: an op of the user's own, or what a param refers to.
    """
    data = _packed(program, _JsonWriter(known, _sum, lines))
    return None if data is None else hashlib.sha256(repr(data).encode()).hexdigest()


def not_packed(program: Program, known: Mapping[str, Any]) -> str:
    """Say in words what of a program JSON does not hold; empty where it holds all."""
    try:
        _JsonWriter(known, _sum).all_of(program)
    except NotSerializableError as error:
        return str(error)
    return ""


def _packed(program: Program, packing: _JsonWriter) -> list[Any] | None:
    try:
        return packing.all_of(program)
    except NotSerializableError:
        return None


def numbered(program: Program) -> list[Node]:
    """Return the nodes of a program in the order of its rows: inputs that nothing uses first."""
    nodes = {*program.nodes}
    return [*[node for node in program.inputs if node not in nodes], *program.nodes]


def unpacked(data: Any, known: Mapping[str, Any]) -> Program:
    """Read what `packed` gave.

    Args:
        data: that, or anything else that JSON has.
        known: the ops by name.

    Raises:
        ProgramError: where it is no program, names an unknown op, or its types do not agree.
    """
    return unpacked_nodes(data, known)[0]


def unpacked_nodes(data: Any, known: Mapping[str, Any]) -> tuple[Program, list[Node]]:
    """Read what `packed` gave, as `unpacked` does; return the nodes too, in the order of `numbered`."""
    try:
        *inner, last = data
        programs: list[ClosedProgram] = []
        for each in inner:
            programs.append(ClosedProgram(_program(each, programs, known)[0]))
        return _program(last, programs, known)
    except (PrimadError, ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ProgramError(
            f"this is not a packed program: {error}",
            fix="pack the program again with the version of primad that reads it.",
        ) from None


# -- writing -----------------------------------------------------------------------------------------------------------


class _JsonWriter:
    """What has been written so far: the programs, and where each is that an op holds."""

    def __init__(self, known: Mapping[str, Any], array: Callable[[Array], str], lines: bool = True) -> None:
        self._known = known
        self._array = array
        self._lines = lines
        self._programs: list[Any] = []
        self._places: dict[int, int] = {}

    def all_of(self, program: Program) -> list[Any]:
        """Return a program as the last of those that it is made of."""
        self._programs.append(self._one(program))
        return self._programs

    def _one(self, program: Program) -> dict[str, Any]:
        if program.captured:
            raise NotSerializableError("a value of a recording around it")
        heads: list[Any] = []
        places: dict[Any, int] = {}
        number: dict[Node, int] = {}
        rows: list[list[int]] = []
        for node in numbered(program):
            line = program.lines.get(node) if self._lines else None
            key = self._key(node, line)
            if key not in places:
                places[key] = len(heads)
                heads.append([*self._head(node), _packed_type(node.type), line])
            number[node] = len(rows)
            rows.append([places[key], *map(number.__getitem__, node.inputs)])
        named = {"label": program.label, "names": list(program.names)} if self._lines else {}
        ends = {
            "inputs": list(map(number.__getitem__, program.inputs)),
            "outputs": list(map(number.__getitem__, program.outputs)),
        }
        return {**named, "heads": heads, "rows": rows, **ends}

    def _key(self, node: Node, line: str | None) -> Any:
        """Return what nodes share that have one head: programs with equal keys may have other arrays."""
        if node.op is LITERAL:
            return literal_key(literal_value(node), node.type), line
        if node.op is CAPTURED or (not isinstance(node.op, Leaf) and node.op.holds_program):
            return node
        return node.op, params_key(node.params), node.type, line

    def _head(self, node: Node) -> list[Any]:
        if node.op is INPUT:
            return [_LEAVES.index(INPUT), node.params == WEAK]
        if node.op is LITERAL:
            return [_LEAVES.index(LITERAL), self._param(literal_value(node))]
        if node.op is CAPTURED:
            return [_LEAVES.index(CAPTURED), self._array(node.params[0][1].array)]
        name: str = node.op.name
        if self._known.get(name) is not node.op:
            raise NotSerializableError(f"{name}, which is code of your own")
        return [name, [[name, self._param(value)] for name, value in node.params]]

    def _param(self, value: Any) -> Any:
        kind = type(value)
        if kind is tuple:
            return [self._param(item) for item in value]
        if value is None or kind in (bool, int, str) or (kind is float and _is_json_number(value)):
            return value
        if kind is complex and _is_json_number(value.real) and _is_json_number(value.imag):
            return {"complex": [value.real, value.imag]}
        if kind is ClosedProgram:
            if id(value) not in self._places:
                data = self._one(value.hoisted)  # the other values are operands
                self._places[id(value)] = len(self._programs)
                self._programs.append(data)
            return {"program": self._places[id(value)]}
        if isinstance(value, np.dtype):
            return {"dtype": str(value)}
        raise NotSerializableError(f"an object of the type {kind.__name__}")


def _is_json_number(value: float) -> bool:
    """Say whether JSON keeps the bits of a number, as it does but for most NaNs."""
    return value == value or struct.pack("d", value) == struct.pack("d", math.nan)


def _whole(array: Array) -> str:
    """Say an array by its bytes."""
    if array.nbytes > LARGEST_ARRAY or not array.flags.c_contiguous:  # products of others may have other last bits
        raise NotSerializableError(f"a constant of {array.nbytes} bytes")
    return base64.b64encode(array.tobytes()).decode()


def _sum(array: Array) -> str:
    """Say an array by a sum of its numbers, and of how they lie in memory."""
    content = (
        array if array.flags.c_contiguous else array.T if array.flags.f_contiguous else np.ascontiguousarray(array)
    )
    return f"{array.strides} {hashlib.sha256(content.data).hexdigest()}"


def _packed_type(type: ArrayType | TupleType) -> list[Any]:
    if isinstance(type, TupleType):
        return [_packed_type(part) for part in type.types]
    return [type.dtype.name, *type.shape]


# -- reading -----------------------------------------------------------------------------------------------------------


def _program(
    data: Mapping[str, Any], programs: Sequence[ClosedProgram], known: Mapping[str, Any]
) -> tuple[Program, list[Node]]:
    trace = Trace()
    heads = [_Head(head, programs, known) for head in data["heads"]]
    nodes: list[Node] = []
    lines: dict[Node, str] = {}
    for place, *operands in data["rows"]:
        if min(operands, default=place) < 0:
            raise ProgramError(
                "an operand is not among the nodes",
                fix="pack the program again with the version of primad that reads it.",
            )
        head = heads[place]
        node = head.node(trace, tuple([nodes[i] for i in operands]))
        if node.type != head.type:
            raise ProgramError(
                f"{head.op} has the type {node.type}, not {head.type}",
                fix="pack the program again with the version of primad that reads it.",
            )
        if head.line is not None:
            lines[node] = head.line
        nodes.append(node)
    inputs, outputs = ([nodes[i] for i in data[which]] for which in ("inputs", "outputs"))
    if len(inputs) != len({*inputs}) or {*inputs} != {node for node in nodes if node.op is INPUT}:
        raise ProgramError(
            "the inputs are not the program's", fix="pack the program again with the version of primad that reads it."
        )
    program = Program(trace, inputs, outputs, names=list(map(str, data["names"])), label=str(data["label"]))
    program.lines = lines
    trace.close()
    return program, nodes


class _Head:
    """What many nodes share: an op with its params, its type, and the user's line."""

    def __init__(self, data: Sequence[Any], programs: Sequence[ClosedProgram], known: Mapping[str, Any]) -> None:
        op, value, type, line = data
        self.type = _unpacked_type(type)
        self.line = None if line is None else str(line)
        self.op: Any = known[op] if isinstance(op, str) else _LEAVES[op]
        self._value = value
        if isinstance(op, str):
            self._value = tuple([(str(name), _unpacked_param(param, programs)) for name, param in value])

    def node(self, trace: Trace, inputs: tuple[Node, ...]) -> Node:
        """Return the node on these operands."""
        if self.op is INPUT:
            return trace.input(self.type, weak=self._value is True)
        if self.op is LITERAL:
            return trace.literal(_unpacked_param(self._value, ()), self.type)
        if self.op is CAPTURED:
            data = base64.b64decode(self._value, validate=True)
            return trace.capture(np.frombuffer(data, self.type.dtype).reshape(self.type.shape))
        return trace.place(self.op, inputs, self._value)


def _unpacked_type(data: Sequence[Any]) -> Any:
    if data and isinstance(data[0], str):
        return ArrayType(tuple(data[1:]), np.dtype(data[0]))
    return TupleType(tuple([_unpacked_type(part) for part in data]))


def _unpacked_param(data: Any, programs: Sequence[ClosedProgram]) -> Any:
    if isinstance(data, list):
        return tuple([_unpacked_param(item, programs) for item in data])
    if not isinstance(data, dict):
        return data
    ((kind, value),) = data.items()
    if kind == "complex":
        return complex(*value)
    return np.dtype(value) if kind == "dtype" else programs[value]
