"""Programs that read their own values beside where they are written, in boxes in which nothing is joined.

The stages of a method of Runge and Kutta on a grid each read the stage before, moved by an element: x[1:]·y[:-1],
joined with what holds at the end. As they stand, each stage is a loop over memory of its own. But an element far from
the ends is a formula of a few elements of the inputs. So results are cut where some joined array has an edge, and each
piece is one loop over pieces of the inputs, which computes again what its neighbours do.

Each element of a result comes from the same ops on the same operands, and has the same bits.
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import LITERAL, Leaf, Node, Operation, Params, Trace, literal_value
from primad.ir.program import Program, carry_lines
from primad.ir.replay import reapplied, rebuild
from primad.native.emit.emit_context import Pointwise
from primad.native.emit.op_table import way_of
from primad.native.emit.pointwise import work_of_element
from primad.native.llvm.compile_limits import BUDGET
from primad.native.schedule.grouping import components, keys_of
from primad.native.schedule.storage import joined_in
from primad.system.machine import CORE

SHORTEST = 256
"""Elements of a joined array, at least. Estimated: the loops of its ends take as long as so many elements."""
GAIN = 0.7
"""The share of the predicted time that boxes may take at most. Chosen: a step of Runge and Kutta's is below it, and its
transpose, whose loops in boxes take as long as before where arrays fit into the first cache, is above."""
PASS = CORE.starts
"""Ops of arithmetic that take as long as reading or writing a value in a cache: a core starts so many at a time, but
only one load for which its second-level cache is asked."""


class _TooManyError(Exception):
    """Says that a program in boxes is too long."""


def in_boxes(program: Program) -> Program:
    """Return a program that computes the same in boxes, if that takes less time; else the program itself.

    One of complex numbers, for which there is no native code, is returned as it is.
    """
    if len(program.nodes) > BUDGET.boxed or any(node.type.is_complex for node in program.nodes):
        return program
    for axis in sorted({dict(node.params)["axis"] for node in program.nodes if _joins(node)}):
        try:
            changed = _Boxes(program, axis).program()
        except _TooManyError:
            continue
        if _time(changed) < GAIN * _time(program):
            program = changed
    return program


def in_boxes_along_all(program: Program) -> Program:
    """Return a program on arrays that lie in memory in boxes along all axes at once, if that takes less time.

    The gradient of differences along two axes has pieces joined, or zeros around values, along either: cut along one of
    them, half of the passes stay. Passes over memory are saved, so that any gain is one. A sum of a joined value is one
    of its pieces' sums, so that the last bits of sums may differ.
    """
    if len(program.nodes) > BUDGET.boxed or any(node.type.is_complex for node in program.nodes):
        return program
    joins = [joined_in(node) for node in program.nodes if not isinstance(node.type, TupleType) and _is_long(node)]
    changed = program
    try:
        for axis in sorted({joined[0] for joined in joins if joined is not None}):
            changed = _Boxes(changed, axis, sums=True).program()
    except _TooManyError:
        return program
    return changed if changed is not program and _time(changed) <= _time(program) else program


def _is_long(node: Node) -> bool:
    return node.type.size >= SHORTEST


def _joins(node: Node) -> bool:
    """Say whether a node joins long arrays."""
    return node.op is ops.concatenate and _is_long(node)


class _Boxes:
    """A program that is computed in boxes along an axis: pieces of values from where to where.

    Args:
        program: the program.
        axis: what is cut.
        sums: whether a sum along it is one of the sums of pieces.
    """

    def __init__(self, program: Program, axis: int, sums: bool = False) -> None:
        self._source, self._axis, self._sums = program, axis, sums
        self._trace = Trace()
        self._inputs = [self._trace.input(node.type) for node in program.inputs]
        self._known: dict[Node, Node] = dict(zip(program.inputs, self._inputs, strict=True))
        self._pieces: dict[tuple[Node, int, int], Node] = {}
        self._edges: dict[Node, frozenset[int]] = {}
        for node in program.nodes:
            self._edges[node] = self._edges_of(node)
        self._cuts: dict[tuple[int, ...], set[int]] = {}
        for node in program.outputs:  # the loops of pieces that have the same place are one
            self._cuts.setdefault(node.type.shape, set()).update(self._edges[node])

    def program(self) -> Program:
        """Return it.

        Raises:
            _TooManyError: if it is too long.
        """
        outputs = [self._whole(node) for node in self._source.outputs]
        carry_lines(self._source, self._known, self._trace)
        found = Program(self._trace, self._inputs, outputs, names=self._source.names)
        self._trace.close()
        return found

    def _is_cut(self, node: Node) -> bool:
        """Say whether pieces of a value are computed of pieces of its operands, and not cut out of the whole."""
        axis = self._axis
        if isinstance(node.op, Leaf) or isinstance(node.type, TupleType) or not any(node.type.shape[axis : axis + 1]):
            return False  # it has no pieces along the axis
        params = dict(node.params)
        if node.op is ops.slice_:
            cut = [(0, n, 1) for n in node.inputs[0].type.shape]
            cut[axis] = (params["start"][axis], params["stop"][axis], 1)
            return list(zip(params["start"], params["stop"], params["step"], strict=True)) == cut
        if node.op is ops.broadcast:
            return axis in params["axes"]
        joined = joined_in(node)
        return joined[0] == axis if joined else isinstance(way_of(node), Pointwise)

    def _edges_of(self, node: Node) -> frozenset[int]:
        """Return where the formula of a value changes along the axis."""
        if not self._is_cut(node) or node.op is ops.broadcast:
            return frozenset()
        joined = joined_in(node)
        if joined is not None:
            _, edges, parts = joined
            inner = [
                e + start
                for start, i in zip(edges, parts, strict=False)
                if i is not None
                for e in self._edges[node.inputs[i]]
            ]
            return frozenset((*edges[1:-1], *inner))
        if node.op is ops.slice_:
            start, length = dict(node.params)["start"][self._axis], node.type.shape[self._axis]
            return frozenset(e - start for e in self._edges[node.inputs[0]] if 0 < e - start < length)
        return frozenset().union(*[self._edges[x] for x in node.inputs])

    def _whole(self, node: Node) -> Node:
        """Return a value as a whole."""
        if node not in self._known:
            if self._is_cut(node):
                pieces = self._all_pieces(node)
                joined = (("axis", self._axis),)
                self._known[node] = self._made(ops.concatenate, pieces, joined) if len(pieces) > 1 else pieces[0]
            elif self._is_sum_of_joined(node):
                terms = [self._made(node.op, (piece,), node.params) for piece in self._all_pieces(node.inputs[0])]
                self._known[node] = reduce(lambda total, term: self._made(ops.add, (total, term), ()), terms)
            elif isinstance(node.op, Leaf):
                self._known[node] = rebuild(node, {}, self._trace, copy=True)
            else:
                inputs = tuple([self._whole(x) for x in node.inputs])
                self._known[node] = reapplied(node, inputs, self._trace, copy=True)
        return self._known[node]

    def _all_pieces(self, node: Node) -> tuple[Node, ...]:
        """Return a value that is cut, in pieces."""
        shape = node.type.shape
        cuts = self._edges[node] | self._cuts.get(shape, set())
        return tuple([self._piece(node, a, b) for a, b in pairwise(sorted({0, shape[self._axis], *cuts}))])

    def _is_sum_of_joined(self, node: Node) -> bool:
        """Say whether a node sums, along the axis, a value that is joined of pieces."""
        if not self._sums or node.op is not ops.sum or self._axis not in dict(node.params)["axes"]:
            return False
        return self._is_cut(node.inputs[0]) and bool(self._edges[node.inputs[0]])

    def _piece(self, node: Node, a: int, b: int) -> Node:
        """Return a piece of a value in which its formula does not change."""
        key = node, a, b
        if key not in self._pieces:
            self._pieces[key] = self._computed(node, a, b)
        return self._pieces[key]

    def _computed(self, node: Node, a: int, b: int) -> Node:
        axis, params = self._axis, dict(node.params)
        shape = (*node.type.shape[:axis], b - a, *node.type.shape[axis + 1 :])
        if node.op is LITERAL:
            return self._trace.literal(literal_value(node), ArrayType(shape, node.type.dtype))
        if not self._is_cut(node):
            return self._cut_out(self._whole(node), a, b)
        if node.op is ops.slice_:
            start = params["start"][axis]
            return self._piece(node.inputs[0], a + start, b + start)
        if node.op is ops.broadcast:
            return self._made(node.op, (self._whole(node.inputs[0]),), (("axes", params["axes"]), ("shape", shape)))
        joined = joined_in(node)
        if joined is None:
            return self._made(node.op, tuple([self._piece(x, a, b) for x in node.inputs]), node.params)
        place = max(k for k, edge in enumerate(joined[1][:-1]) if edge <= a)
        part, start = joined[2][place], joined[1][place]
        if part is None:
            return self._trace.literal(0, ArrayType(shape, node.type.dtype))
        return self._piece(node.inputs[part], a - start, b - start)

    def _cut_out(self, node: Node, a: int, b: int) -> Node:
        shape = node.type.shape
        if (a, b) == (0, shape[self._axis]):
            return node
        start, stop = [0] * len(shape), list(shape)
        start[self._axis], stop[self._axis] = a, b
        params = (("start", tuple(start)), ("step", (1,) * len(shape)), ("stop", tuple(stop)))
        return self._made(ops.slice_, (node,), params)

    def _made(self, op: Operation, inputs: tuple[Node, ...], params: Params) -> Node:
        if self._trace.size > BUDGET.in_boxes:
            raise _TooManyError
        return self._trace.place(op, inputs, params)


# -- what it gains -----------------------------------------------------------------------------------------------------


def _time(program: Program) -> int:
    """Return about how long the loops over elements of a program take, and what is copied for them."""
    steps = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    keys = keys_of([node for node in steps if isinstance(way_of(node), Pointwise)])
    users = {(x, node) for node in steps for x in node.inputs}
    total = sum(2 * PASS * x.type.size for node in steps if joined_in(node) for x in node.inputs if x not in keys)
    for members in components(steps, keys):
        inside = set(members)
        read = {x for node in members for x in node.inputs if x not in inside and not _is_one_number(x)}
        written = {x for x, node in users if x in inside and node not in inside} | inside.intersection(program.outputs)
        passes = PASS * (len(read) + len(written))
        total += members[0].type.size * (passes + sum(map(work_of_element, members)))
    return total


def _is_one_number(node: Node) -> bool:
    """Say whether all elements of a value are the same number, which stays in a register."""
    while node.op is ops.broadcast:
        (node,) = node.inputs
    return node.op is LITERAL or node.type.size == 1
