"""From a program of complex numbers to one of their parts, which native code computes.

Inputs and outputs lie in memory as NumPy's arrays do, real and imaginary parts in turn: an array of shape (m, n) is one
of real numbers of shape (m, n, 2). What lies between are arrays of parts, which native code keeps in registers and
tiles. No law is applied to what is made: of real numbers x + 0 is x, but the sign of a zero says on which side of a
branch cut a complex number is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType, TupleType, real_dtype
from primad.ir.key import ByKey, Key, params_by_key
from primad.ir.law_families import LEFT_OUT, LOCAL, without
from primad.ir.node import CAPTURED, LITERAL, Leaf, Node, Trace, leaf_value, literal_key, literal_value, named
from primad.ir.program import ClosedProgram, Program
from primad.ir.replay import newest, rebuild
from primad.native.complex_numbers.complex_arithmetic import Parts
from primad.native.complex_numbers.part_rules import rule_of, touches_complex
from primad.native.emit.emit_context import Missing
from primad.native.emit.op_table import reason
from primad.native.llvm.compile_limits import BUDGET, Budget
from primad.native.loops.body_programs import bodies_in, form_of, has_body, step_program
from primad.ops.record.primitive import Primitive, project
from primad.recording.traced_array import TracedArray
from primad.system.process import MOST_KEPT, made_once

_HAS_PARTS = attrgetter("type.is_complex")
"""Says of a node whether its value is complex: of each node of each program that is planned, so without a call."""


class NotInPartsError(Exception):
    """Says that an op has no native code in parts of complex numbers."""


def is_complex(program: Program) -> bool:
    """Say whether a program computes with complex numbers."""
    if any(map(_HAS_PARTS, program.nodes)) or any(map(_HAS_PARTS, program.inputs)):
        return True
    called = any(not isinstance(op, Leaf) and op.programs.called for op in {node.op for node in program.nodes})
    return called and any(map(_is_complex_within, bodies_in(program)))


def _is_complex_within(of: ClosedProgram) -> bool:
    """Say it of the program of a loop or a call, which may take and give real numbers only."""
    return _is_complex_step(of, LEFT_OUT.get())


@made_once(most=MOST_KEPT)
def _is_complex_step(of: ClosedProgram, left_out: frozenset[str]) -> bool:
    return is_complex(step_program(of))


def _is_complex_op(node: Node) -> bool:
    """Say whether an op takes or gives complex numbers, or applies a program that does."""
    return touches_complex(node) or (has_body(node) and _is_complex_within(form_of(node).of))


def in_parts(program: Program, became: dict[Node, Any] | None = None) -> Program | None:
    """Return a program of the same values in parts, with the same inputs and outputs as real arrays.

    Args:
        program: of primitives.
        became: where to say what each node became: a node, or the nodes of both parts.

    Returns:
        the program itself where nothing is complex; None where an op has no native code in parts.
    """
    if not is_complex(program):
        return program
    try:
        return _Realified(program, {} if became is None else became).program()
    except NotInPartsError:
        return None


def interleaved(type: ArrayType) -> ArrayType:
    """Return the type of the real numbers that an array of complex ones lies in memory as; another type as it is."""
    return ArrayType((*type.shape, 2), real_dtype(type.dtype)) if type.is_complex else type


class _Realified:
    """A program of parts that is being made."""

    def __init__(self, source: Program, became: dict[Node, Any]) -> None:
        self._source = source
        with without(LOCAL):
            self._trace = Trace()
        self._known = became
        self._inputs = [self._trace.input(interleaved(node.type)) for node in source.inputs]
        for node, new in zip(source.inputs, self._inputs, strict=True):
            self._known[node] = apart(new) if node.type.is_complex else new

    def program(self) -> Program:
        """Return it.

        Raises:
            NotInPartsError: for an op that has no native code in parts.
        """
        source, trace = self._source, self._trace
        for node in source.nodes:
            if node not in self._known:
                self._known[node] = self._rewritten(node)
            line = source.lines.get(node)
            if line is not None:
                self._say_line(node, line)
        outputs = [joined(self._known[node]) for node in source.outputs]
        found = Program(trace, self._inputs, outputs, names=lambda: source.names, label=source.label)
        trace.close()
        return found

    def _say_line(self, node: Node, line: str) -> None:
        for each in nodes_of(self._known[node]):
            if each.trace is self._trace:
                self._trace.lines.setdefault(each, line)

    def _rewritten(self, node: Node) -> Any:
        if isinstance(node.op, Leaf):
            return self._leaf(node) if node.type.is_complex else rebuild(node, {}, self._trace, copy=True)
        return written_in_parts(node, [self._known[x] for x in node.inputs], self._trace)

    def _leaf(self, node: Node) -> tuple[Node, Node]:
        part = ArrayType(node.type.shape, real_dtype(node.type.dtype))
        if node.op is LITERAL:
            value = complex(literal_value(node))
            return self._trace.literal(value.real, part), self._trace.literal(value.imag, part)
        if node.op is CAPTURED:
            array = np.ascontiguousarray(leaf_value(node))
            return apart(self._trace.capture(array.view(part.dtype).reshape(interleaved(node.type).shape)))
        raise NotInPartsError


# -- single applications -----------------------------------------------------------------------------------------------


def written_in_parts(node: Node, operands: Sequence[Any], trace: Trace) -> Any:
    """Apply what a node does to what its operands became, nodes or the nodes of both parts; return what it became.

    Raises:
        NotInPartsError: if there is no rule for it.
    """
    if node.op is project:
        found = trace.place(project, (operands[0],), node.params)
        return apart(found) if node.type.is_complex else found
    if not _is_complex_op(node):
        return trace.copy(node, tuple(operands))
    if has_body(node):
        params = {
            name: closed_in_parts(value) if name in node.op.programs.names else value for name, value in node.params
        }
        found = trace.place(node.op, tuple(map(joined, operands)), named(params))
        return apart(found) if isinstance(node.type, ArrayType) and node.type.is_complex else found
    rule = rule_of(node)
    if isinstance(rule, Missing):
        raise NotInPartsError(rule.reason)
    given = [Parts(*map(TracedArray, x)) if isinstance(x, tuple) else TracedArray(x) for x in operands]
    made = rule(*given, **dict(node.params))
    return (made.real.node, made.imag.node) if isinstance(made, Parts) else made.node


def apart(whole: Node) -> tuple[Node, Node]:
    """Return the parts of complex numbers that lie in turn along the last axis of an array."""
    shape = whole.type.shape[:-1]
    found = []
    for k in range(2):
        cut = {"start": (*[0] * len(shape), k), "stop": (*shape, k + 1), "step": (1,) * (len(shape) + 1)}
        column = whole.trace.place(ops.slice_, (whole,), named(cut))
        found.append(whole.trace.place(ops.reshape, (column,), named({"shape": shape})))
    return found[0], found[1]


def nodes_of(known: Any) -> tuple[Node, ...]:
    """Return the nodes that a value became: one, or those of both parts."""
    return known if isinstance(known, tuple) else (known,)


def joined(known: Any) -> Node:
    """Return what a value became as one node: parts in turn along a last axis."""
    if isinstance(known, Node):
        return known
    trace: Trace = newest(known, known[0].trace)
    shape = (*known[0].type.shape, 1)
    columns = [trace.place(ops.reshape, (part,), named({"shape": shape})) for part in known]
    return trace.place(ops.concatenate, tuple(columns), named({"axis": len(shape) - 1}))


class _ClosedInParts(ClosedProgram):
    """The program of a loop or a call in parts, which no law is applied to."""

    lawful = False

    def __init__(self, of: ClosedProgram, program: Program) -> None:
        super().__init__(program)
        self.key = Key(("in parts", of.key))
        self._hoisted = program

    @property
    def operand_types(self) -> list[ArrayType]:
        """Types of its inputs alone, since numbers that rules of parts bring along stay within."""
        return self.program.in_types


def closed_in_parts(of: ClosedProgram) -> ClosedProgram:
    """Return a program that an op holds in parts.

    Raises:
        NotInPartsError: if an op of it has no rule.
    """
    found = _closed_in_parts(of, LEFT_OUT.get())
    if found is None:
        raise NotInPartsError("its program has steps without native code in parts of complex numbers")
    return found


@made_once(most=MOST_KEPT)
def _closed_in_parts(of: ClosedProgram, left_out: frozenset[str]) -> ClosedProgram | None:
    step = step_program(of)
    program = in_parts(step)
    return of if program is step else None if program is None else _ClosedInParts(of, program)


def reason_in_parts(node: Node) -> str:
    """Return why there is no native code for an op, written in parts if its types are complex; '' if there is."""
    if node.op is project:
        return reason_in_parts(node.inputs[0])
    if not _is_complex_op(node):
        return reason(node)
    types, values = tuple([x.type for x in node.inputs]), tuple(map(_value_of, node.inputs))
    return _reason_in_parts(node.op, types, values, params_by_key(node.params), LEFT_OUT.get(), BUDGET)


def _value_of(node: Node) -> ByKey | None:
    """Return the value of a literal."""
    return ByKey(literal_value(node), literal_key(literal_value(node), node.type)) if node.op is LITERAL else None


@lru_cache(maxsize=MOST_KEPT)
def _reason_in_parts(
    op: Primitive,
    types: tuple[ArrayType, ...],
    values: tuple[ByKey | None, ...],
    params: ByKey,
    left_out: frozenset[str],
    budget: Budget,
) -> str:
    """Return it for operands of these types, of which some are literals: once for all that are alike."""
    with without(LOCAL):
        trace = Trace()
    nodes = [
        trace.input(type) if value is None else trace.literal(value.value, type)
        for type, value in zip(types, values, strict=True)
    ]
    node = trace.place(op, tuple(nodes), params.value)
    given = [x for x in nodes if x.op is not LITERAL]
    results = [node]
    if isinstance(node.type, TupleType):
        results = [trace.place(project, (node,), named({"index": i})) for i in range(len(node.type.types))]
    trace.close()
    try:
        program = _Realified(Program(trace, given, results), {}).program()
    except NotInPartsError as error:
        return str(error)
    return next(filter(None, map(reason, program.nodes)), "")
