"""Running a program on bounds: op by op, by the table; loops step by step, calls inside of their callers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.enclosures.array_bounds import square_sum_bounds
from primad.enclosures.bounds import Bounds, hull, intersection, point, real, whole
from primad.enclosures.interval_arithmetic import mul, square
from primad.enclosures.op_bounds import BOUNDS, SQUARES, may_jump, why_not
from primad.errors import EnclosureError
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import INPUT, Leaf, Node, leaf_value
from primad.ir.program import Program
from primad.ops.arrays.contraction import split
from primad.ops.record.fields import LoopForm
from primad.ops.record.primitive import Primitive
from primad.runtime.failure import nearest_line
from primad.system.deferred import loaded
from primad.transforms.lowering import without_calls

Value = Any
"""Bounds, or a tuple of them for an op with several results."""
Undefined = tuple[Node, Sequence[Bounds], str]
"""An op that is not proven to have a value, the bounds of its operands, and the user's line."""


class IntervalRun:
    """A run of a program of primitives on bounds.

    Args:
        stand_ins: ops whose bounds are those of others: a record that is tried, in the place of the op that it should
            be.

    Attributes:
        continuous: whether it is proven that nothing jumps on the box: then the rules of the ops tell how values move.
        undefined: the first op of which it is not proven that it has a value, with the bounds of its operands and the
            user's line.
        overflown: the first op of which it is not proven that it stays below the largest number of its dtype.
    """

    def __init__(self, stand_ins: Mapping[Primitive, Primitive] | None = None) -> None:
        self._stand_ins = stand_ins or {}
        self.continuous = True
        self.undefined: Undefined | None = None
        self.overflown: Undefined | None = None

    def outputs(self, program: Program, arguments: Sequence[Bounds]) -> list[Bounds]:
        """Return bounds of the outputs, from those of the inputs; NaN for what is not proven to exist.

        Raises:
            EnclosureError: for an op that has no bounds, with the user's line.
        """
        with np.errstate(all="ignore"):
            return self._outputs(without_calls(program), arguments)

    def _outputs(self, program: Program, arguments: Sequence[Bounds]) -> list[Bounds]:
        values: dict[Node, Value] = dict(zip(program.inputs, arguments, strict=True))
        for node in program.nodes:
            if node.op is INPUT:
                continue
            if isinstance(node.op, Leaf):
                values[node] = point(np.asarray(leaf_value(node), node.type.dtype))
                continue
            operands = [values[operand] for operand in node.inputs]
            why = self._why_not(node, operands)
            if why:
                what = f"{node.op.name} has no bounds"
                raise EnclosureError(
                    what,
                    f"{why[0].upper()}{why[1:]}.",
                    where=nearest_line(program.lines, node),
                    fix="write it by functions that have bounds, or keep its operands constant.",
                )
            found = self._applied(node, operands)
            root = _root_of(node)
            if root is not None:
                of, factors = root
                alone = square(real(values[of]))
                for factor in factors:
                    alone = mul(alone, real(values[factor]))
                found = intersection(found, alone)
            values[node] = found
            if self.undefined is None and isinstance(found, Bounds) and _has_nan(found):
                self.undefined = node, operands, nearest_line(program.lines, node) or ""
            if self.overflown is None and isinstance(found, Bounds) and _may_overflow(found, types_of(node)[0].dtype):
                self.overflown = node, operands, nearest_line(program.lines, node) or ""
        return [values[node] for node in program.outputs]

    def _applied(self, node: Node, operands: Sequence[Value]) -> Value:
        op, params = node.op, dict(node.params)
        if op.programs.loop is not None:
            return self._loop(op.programs.loop(node), operands)
        if op.programs.called:
            (of,) = op.held(node.params)
            results = self._outputs(without_calls(of.hoisted), operands)
            return tuple(results) if isinstance(node.type, TupleType) else results[0]
        if op is ops.project:
            return operands[0][params["index"]]
        if _is_exact(node, operands):
            return _at_points(node, operands, params)
        op = self._stand_ins.get(op, op)
        found = _bounds_of(op, node, operands, params)
        self.continuous &= not may_jump(op, operands, found)
        return found

    def _why_not(self, node: Node, operands: Sequence[Value]) -> str:
        """Return why an application has no bounds; '' if it has."""
        op = self._stand_ins.get(node.op, node.op)
        if op.programs.loop is not None or op.programs.called or op is ops.project or _is_exact(node, operands):
            return ""
        return "Complex numbers have no bounds yet" if any(type.is_complex for type in types_of(node)) else why_not(op)

    def _loop(self, form: LoopForm, operands: Sequence[Bounds]) -> tuple[Bounds, ...] | Bounds:
        if form.separate:
            raise EnclosureError("a stack of loops has no bounds", fix="enclose one of them at a time.")
        lead, rest = (operands[0], operands[1:]) if form.lead else (None, operands)
        carried, rows = list(rest[: form.carry]), rest[form.carry : form.carry + form.stacked]
        fixed = rest[form.carry + form.stacked :]
        step = without_calls(form.of.hoisted)
        places = range(form.length)[:: -1 if form.reverse else 1]
        left: dict[int, list[Bounds]] = {}
        count, go = 0, lead if form.ends else None
        for place in places:
            sure, perhaps = _is_taken(place, lead, go)
            if not perhaps:
                continue
            found = self._outputs(step, [*carried, *[Bounds(row.low[place], row.high[place]) for row in rows], *fixed])
            after, more = found[: form.carry], found[form.carry + int(form.ends) :]
            carried = list(after) if sure else [hull(real(a), real(b)) for a, b in zip(carried, after, strict=True)]
            left[place] = list(more) if sure else [hull(_zero(y), y) for y in more]
            go, count = (found[form.carry] if form.ends else None), count + 1
        if go is not None and bool(go.high):
            raise EnclosureError(f"a loop has not ended after {form.length} steps", fix="give it a larger max_steps.")
        types = form.of.out_types[form.carry + int(form.ends) :]
        stacked = [
            _stacked([left[i][k] if i in left else point(np.zeros(type.shape)) for i in range(form.length)], type.shape)
            for k, type in enumerate(types)
        ]
        results = [*([point(np.asarray(count))] if form.ends else []), *carried, *stacked]
        return tuple(results) if len(results) > 1 else results[0]


def _root_of(node: Node) -> tuple[Node, list[Node]] | None:
    """Return x and known numbers a and b, if a node is the product of a x and b x, which has their sign everywhere.

    So are derivatives of powers: that of x·x·x has (2 x)·x in it, whose bounds are those of two numbers otherwise.
    """
    if node.op is not ops.mul or node.inputs[0] is node.inputs[1] or node.type.dtype != np.float64:
        return None
    (x, a), (y, b) = [_without_factor(operand) for operand in node.inputs]
    return (x, [*a, *b]) if x is y else None


def _without_factor(node: Node) -> tuple[Node, list[Node]]:
    """Return what known numbers are multiplied with in a node, and these."""
    factors: list[Node] = []
    while node.op is ops.mul:
        first, second = node.inputs
        known, other = (first, second) if _is_number(first) else (second, first)
        if not _is_number(known):
            break
        factors.append(known)
        node = other
    return node, factors


def _is_number(node: Node) -> bool:
    return isinstance(node.op, Leaf) or (node.op is ops.broadcast and isinstance(node.inputs[0].op, Leaf))


def _is_exact(node: Node, operands: Sequence[Value]) -> bool:
    """Say whether an op is computed as it is: of known values, whole numbers or truth values; of nothing, anything."""
    rounds = any(type.dtype.kind in "fc" for type in types_of(node))
    return all(isinstance(x, Bounds) and x.is_point for x in operands) and not (rounds and operands)


def types_of(node: Node) -> tuple[ArrayType, ...]:
    """Return the types of a node's results."""
    return node.type.types if isinstance(node.type, TupleType) else (node.type,)


def _bounds_of(op: Primitive, node: Node, operands: Sequence[Bounds], params: dict[str, Any]) -> Bounds:
    given = [real(x) for x in operands]
    same = len(node.inputs) == 2 and node.inputs[0] is node.inputs[1]
    if same and op in SQUARES:
        found = SQUARES[op](given[0], **params)
    elif same and op is ops.contract and len(set(split(params["labels"])[:2])) == 1:
        found = square_sum_bounds(given[0], **params)
    else:
        found = BOUNDS[op](*given, **params)
    found = Bounds(*[np.asarray(end) for end in found])
    dtype = types_of(node)[0].dtype
    return whole(found, dtype) if dtype.kind in "iu" else found


def _has_nan(x: Bounds) -> bool:
    return x.low.dtype.kind == "f" and bool(np.any(np.isnan(x.low)))


def _may_overflow(x: Bounds, dtype: np.dtype[Any]) -> bool:
    if dtype.kind != "f" or not x.low.size:
        return False
    largest = np.finfo(dtype).max
    return not (np.min(x.low) >= -largest and np.max(x.high) <= largest)


def _at_points(node: Node, operands: Sequence[Bounds], params: dict[str, Any]) -> Value:
    """Return what an op makes of known values, which is exact: whole numbers, truth values."""
    kinds = [operand.type.dtype for operand in node.inputs]
    known = [x.low.astype(kind) if kind.kind in "iu" else x.low for x, kind in zip(operands, kinds, strict=True)]
    found = loaded(node.op.numpy)(*known, **params)
    return tuple(map(point, found)) if isinstance(found, tuple) else point(found)


def _is_taken(place: int, lead: Bounds | None, go: Bounds | None) -> tuple[bool, bool]:
    """Say whether a step is taken surely, and perhaps."""
    if go is not None:
        if bool(go.low) != bool(go.high):
            raise EnclosureError(
                "how many steps a loop takes depends on where in the box a point lies",
                fix="make the box smaller, or take a fixed number of steps: primad.scan, primad.fori_loop.",
            )
        return bool(go.low), bool(go.high)
    return (True, True) if lead is None else (place < int(lead.low), place < int(lead.high))


def _zero(x: Bounds) -> Bounds:
    return Bounds(np.zeros_like(x.low), np.zeros_like(x.low))


def _stacked(rows: list[Bounds], shape: tuple[int, ...]) -> Bounds:
    if not rows:
        return point(np.zeros((0, *shape)))
    return Bounds(*[np.stack([row[end] for row in rows]) for end in (0, 1)])
