"""Slices of what is put around an array, as slices of the array: read where they lie, in boxes.

A stencil on a padded array reads slices of it that are moved by an element. Each of them is most of the array itself,
with a row or a column of what is around it, which loops over elements read in parts. So the padded array need not lie
anywhere, in the stencil and in its transpose, which adds what is padded and cuts it. The elements, and so the bits, are
the same.
"""

from __future__ import annotations

from typing import Any

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import LITERAL, Leaf, Node, Trace, literal_value
from primad.ir.program import Program, carry_lines
from primad.ir.replay import rebuild
from primad.ir.walks import users_of
from primad.native.emit.emit_context import Pointwise
from primad.native.emit.op_table import way_of
from primad.native.emit.pointwise import is_function
from primad.native.llvm.compile_limits import BUDGET
from primad.native.loops.body_programs import has_body
from primad.native.schedule.layout import layout_of
from primad.system.machine import LOOP_ELEMENTS

Bounds = tuple[tuple[int, int], ...]
"""From where to where along each axis."""


def with_slices_of_parts(program: Program) -> Program:
    """Return a program that reads slices of joined arrays as slices of their parts, if that takes fewer loops.

    A loop in parts is written once for each box. Of functions of elements that takes three times as long to compile,
    and a copy takes little beside them: diffusion by exponentials gains a twentieth.

    Args:
        program: what is to be written; one of complex numbers, or with loops of several steps, is returned as it is.
    """
    if len(program.nodes) > BUDGET.boxed or any(map(_is_left, program.nodes)):
        return program
    users = users_of(program.nodes)
    sliced = [node for node in program.nodes if _is_large_join(node) and _is_only_sliced(node, users, program)]
    if not sliced:
        return program
    changed = PushedSlices(program, users).program()
    before, after = layout_of(program), layout_of(changed)
    if before is None or after is None or len(changed.nodes) > BUDGET.in_boxes:
        return program
    return changed if len(after.units) < len(before.units) else program


def _is_left(node: Node) -> bool:
    """Say whether a program that has a node is left as it is: a loop is not laid out before it is made."""
    return node.type.is_complex or is_function(node) or has_body(node)


def _is_large_join(node: Node) -> bool:
    """Say whether a node puts something around an array, or beside it, so large that loops read it in parts."""
    if isinstance(node.op, Leaf) or isinstance(node.type, TupleType) or node.type.size < LOOP_ELEMENTS:
        return False
    return node.op is ops.concatenate or (node.op is ops.pad and not any(dict(node.params)["interior"]))


def _is_only_sliced(node: Node, users: dict[Node, list[Node]], program: Program) -> bool:
    return node not in program.outputs and all(user.op is ops.slice_ for user in users.get(node, ()))


class PushedSlices:
    """A program whose slices are moved towards what is joined.

    Args:
        program: the program.
        users: of each of its nodes.
    """

    def __init__(self, program: Program, users: dict[Node, list[Node]]) -> None:
        self._source = program
        self._users = {node: {*found} for node, found in users.items()}
        self._trace = Trace()
        self._inputs = [self._trace.input(node.type) for node in program.inputs]
        self._known: dict[Node, Node] = dict(zip(program.inputs, self._inputs, strict=True))
        self._parts: dict[tuple[Node, Bounds, bool], Node] = {}

    def program(self) -> Program:
        """Return it."""
        for node in self._source.nodes:
            if node in self._known:
                continue
            self._known[node] = self._written(node)
        outputs = [self._known[node] for node in self._source.outputs]
        carry_lines(self._source, self._known, self._trace)
        found = Program(self._trace, self._inputs, outputs, names=self._source.names)
        self._trace.close()
        return found

    def _written(self, node: Node) -> Node:
        """Return a value as a whole, whose operands are known."""
        if node.op is ops.slice_ and all(step == 1 for step in dict(node.params)["step"]):
            return self._part(node, whole_of(node))
        return rebuild(node, self._known, self._trace, copy=True)

    def _part(self, node: Node, bounds: Bounds, joined: bool = False) -> Node:
        """Return the elements of a value within bounds, a view of it where it is `joined`: several may read them."""
        key = node, bounds, joined
        if key not in self._parts:
            self._parts[key] = self._made(*key)
        return self._parts[key]

    def _made(self, node: Node, bounds: Bounds, joined: bool) -> Node:
        shape, params = node.type.shape, dict(node.params)
        whole = bounds == whole_of(node)
        if node.op is ops.slice_ and all(step == 1 for step in params["step"]):
            starts = params["start"]
            inner = tuple([(a + start, b + start) for (a, b), start in zip(bounds, starts, strict=True)])
            return self._part(node.inputs[0], inner, joined)
        if whole and node in self._known:
            return self._known[node]
        lengths = _lengths(bounds)
        if 0 in lengths:
            return self._trace.literal(0, ArrayType(lengths, node.type.dtype))
        if node.op is LITERAL:
            return self._trace.literal(literal_value(node), ArrayType(lengths, node.type.dtype))
        if node.op is ops.concatenate:
            return self._of_joined(node, bounds, params["axis"])
        if node.op is ops.pad and not any(params["interior"]):
            return self._of_padded(node, bounds, not self._is_read_once(node))
        if node.op is ops.flip:
            turned = enumerate(zip(bounds, shape, strict=True))
            inner = tuple([(n - b, n - a) if axis in params["axes"] else (a, b) for axis, ((a, b), n) in turned])
            return self._trace.place(node.op, (self._part(node.inputs[0], inner, joined),), node.params)
        if node.op is ops.broadcast:
            inner = tuple([each for axis, each in enumerate(bounds) if axis not in params["axes"]])
            repeated = (("axes", params["axes"]), ("shape", lengths))
            return self._trace.place(node.op, (self._part(node.inputs[0], inner, joined),), repeated)
        if not joined and self._is_passed(node):
            return self._trace.place(node.op, tuple([self._part(x, bounds) for x in node.inputs]), node.params)
        return self._cut(self._known[node], bounds)

    def _is_passed(self, node: Node) -> bool:
        """Say whether a value is computed within bounds alone: for each element, and nothing else reads it.

        What can fail is computed whole: its error must not be lost.
        """
        if isinstance(node.op, Leaf) or not isinstance(way_of(node), Pointwise) or node in self._source.outputs:
            return False
        alone = node.op.domain is None and len(self._users.get(node, ())) == 1
        return alone and all(x.type.shape == node.type.shape for x in node.inputs)

    def _of_joined(self, node: Node, bounds: Bounds, axis: int) -> Node:
        first, last = bounds[axis]
        start, parts = 0, []
        for operand in node.inputs:
            length = operand.type.shape[axis]
            a, b = max(first - start, 0), min(last - start, length)
            if a < b:
                parts.append(self._part(operand, (*bounds[:axis], (a, b), *bounds[axis + 1 :]), True))
            start += length
        return parts[0] if len(parts) == 1 else self._trace.place(node.op, tuple(parts), node.params)

    def _is_read_once(self, node: Node) -> bool:
        """Say whether what is padded may be computed anew in each part: here several slices of it are read."""
        return False

    def _of_padded(self, node: Node, bounds: Bounds, joined: bool) -> Node:
        (operand,) = node.inputs
        inner, low, high = [], [], []
        for (first, last), before, length in zip(bounds, dict(node.params)["low"], operand.type.shape, strict=True):
            a, b = max(first - before, 0), min(last - before, length)
            if a >= b:
                return self._trace.literal(0, ArrayType(_lengths(bounds), node.type.dtype))
            inner.append((a, b))
            low.append(a - (first - before))
            high.append((last - before) - b)
        part = self._part(operand, tuple(inner), joined)
        if not any(low) and not any(high):
            return part
        return self._trace.place(ops.pad, (part,), _ordered(node, low=tuple(low), high=tuple(high)))

    def _cut(self, node: Node, bounds: Bounds) -> Node:
        if bounds == whole_of(node):
            return node
        start, stop = tuple([a for a, _ in bounds]), tuple([b for _, b in bounds])
        params = (("start", start), ("step", (1,) * len(bounds)), ("stop", stop))
        return self._trace.place(ops.slice_, (node,), params)


def whole_of(node: Node) -> Bounds:
    """Return the bounds of a whole array."""
    return tuple([(0, n) for n in node.type.shape])


def _lengths(bounds: Bounds) -> tuple[int, ...]:
    return tuple([stop - start for start, stop in bounds])


def _ordered(node: Node, **changed: Any) -> tuple[tuple[str, Any], ...]:
    """Return the params of a node, some of them changed."""
    return tuple([(name, changed.get(name, value)) for name, value in node.params])
