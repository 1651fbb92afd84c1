"""The law that computes only what is read: rows that are taken, or a slice, of a value are taken of its operands.

f(x)[i] is f(x[i]), along an axis that f maps, and a window of what is joined is one of each part. Demands go from the
end of a program towards its beginning: for each axis of a value, all of it, a window of it, or the rows at some
indices. What an op maps along that axis is demanded of its operands; what it sums or mixes is computed whole, and cut.

A value is computed once, as the least that holds all its demands, so that the program does not grow; and nothing is
moved that takes more than a share of the axis, since indices may repeat and each operand is cut anew.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.axes import AxisMap, Labels, Strided, is_name
from primad.ir.law_families import LEFT_OUT, LOCAL
from primad.ir.node import LITERAL, Leaf, Node, Trace, literal_value
from primad.ir.program import Program
from primad.ir.replay import rebuild
from primad.ops.record.primitive import apply, is_of_several
from primad.transforms.dimensions import axis_map
from primad.transforms.lowering import expand, finish

Want = tuple[int, int] | Node | None
"""What is needed along an axis: from where to where, or the rows at the elements of an array of indices; None: all."""
Wants = tuple[Want, ...]

SMALLEST = 4096
"""Elements of a value, at least, of which less is computed. Estimated: the ops that cut take longer than is saved."""
WINDOW, ROWS = 2, 4
"""How many times as long as a window, and as rows that are taken, an axis must be. Estimated: a cut of each operand
costs as much as some ops; windows are views."""


def take_early(program: Program, smallest: int = SMALLEST, rows: int = ROWS) -> Program:
    """Return the program that computes no more of its values than what is read.

    Args:
        program: any program; composites are passed if they have an axis map.
        smallest: values of fewer elements are computed whole.
        rows: how many times as long as rows that are taken an axis must be.
    """
    beginning = {op for op in program.ops if op is ops.slice_ or op.indexing.takes_rows is not None}
    if not beginning or LOCAL in LEFT_OUT.get():
        return program
    if not any(_begins(node, smallest, rows) for node in program.nodes if node.op in beginning):
        return program
    return _Taking(program, smallest, rows).result()


def windows_alone(program: Program) -> Program:
    """Return the program that computes the windows that its slices take, however large, as if there were nothing else.

    It is for a part of a derivative, which is asked for apart from the rest: what is not read may fail.
    """
    return _Taking(program, smallest=1, rows=1, alone=True).result()


def differentiable(program: Program, active: Sequence[bool]) -> Program:
    """Return the program in the form that is differentiated, without what is not read: it has no cotangents either.

    Args:
        program: any program.
        active: which inputs it is differentiated with respect to.
    """
    return take_early(expand(program, active))


def _begins(node: Node, smallest: int, rows: int) -> bool:
    """Say whether a node takes a share of a value that is computed."""
    taken = _taken(node)
    return (
        taken is not None and not isinstance(node.inputs[0].op, Leaf) and _pays(node.inputs[0], taken, smallest, rows)
    )


def _joined(node: Node, map: AxisMap) -> Hashable:
    """Return the index that an op joins out of parts, which are its operands; None for other ops."""
    jointly = node.op.derivative.linear_operands is None
    name, *others = {_part(labels) for labels in map.operands} if jointly else {None}
    return None if others else name


def _part(labels: Labels) -> Hashable:
    """Return the index of which an operand is a part that has no gaps; None if it is no such part of one index."""
    parts = [label.name if label.step == 1 else None for label in labels if isinstance(label, Strided)]
    return parts[0] if len(parts) == 1 else None


def _taken(node: Node) -> Wants | None:
    """Return what an op that takes rows or a slice needs of its first operand; None for other ops."""
    if node.op is ops.slice_:
        params, shape = dict(node.params), node.inputs[0].type.shape
        bounds = zip(params["start"], params["stop"], params["step"], shape, strict=True)
        return tuple([None if (a, b, step) == (0, n, 1) else (a, b) for a, b, step, n in bounds])
    if _takes_rows(node) and node.inputs[1].type.ndim == 1 and node.type.ndim == node.inputs[0].type.ndim:
        axis = node.op.indexing.takes_rows(*[x.type for x in node.inputs], **dict(node.params))
        return tuple([node.inputs[1] if i == axis else None for i in range(node.inputs[0].type.ndim)])
    return None


def _takes_rows(node: Node) -> bool:
    return not isinstance(node.op, Leaf) and node.op.indexing.takes_rows is not None


def _combine(own: Want, want: Want) -> bool:
    """Say whether what is needed of what is taken can be taken at once."""
    return own is None or (isinstance(own, tuple) and isinstance(want, tuple))


def _together(node: Node, taken: Wants, wants: Wants) -> Wants:
    """Return what is needed of what a node takes a slice or rows of, when not all of its result is needed."""
    steps = dict(node.params)["step"] if node.op is ops.slice_ else (1,) * len(taken)
    found = list(taken)
    for axis, (own, want, step) in enumerate(zip(taken, wants, steps, strict=True)):
        if own is None:
            found[axis] = want
        elif isinstance(own, tuple) and isinstance(want, tuple):
            found[axis] = own[0] + step * want[0], own[0] + step * (want[1] - 1) + 1
    return tuple(found)


def _passing(node: Node, wants: Wants, taken: Wants | None, alone: bool) -> Wants:
    """Return the demands, of those of a node's result, that its operands can meet; None where the op is applied to all.

    An op that can fail is applied to all: its error must not be lost. Neither must that of indices out of range, so
    demands go on only along an axis that an operand has: one that the op makes has no length to compare rows with, and
    a window of it is left to the law of a slice of what is made. `alone` says that there are no such errors.
    """
    if taken is not None:
        return tuple([want if _combine(own, want) else None for own, want in zip(taken, wants, strict=True)])
    if isinstance(node.op, Leaf):
        return tuple([want if node.op is LITERAL and isinstance(want, tuple) else None for want in wants])
    if is_of_several(node) or node.op.axes.adapt is None or not (alone or node.op.domain is None):
        return _all(node)
    map = axis_map(node)
    (after,) = map.results
    held = {label for labels in map.operands for label in labels}
    joined = _joined(node, map)

    def met(label: Hashable, want: Want) -> bool:
        if not is_name(label):
            return False
        if map.role(label) == "mixed":
            return label == joined and isinstance(want, tuple)
        return alone or label in held

    return tuple([want if met(label, want) else None for label, want in zip(after, wants, strict=True)])


def _length(want: Want, length: int) -> int:
    return length if want is None else want.type.size if isinstance(want, Node) else want[1] - want[0]


def _pays(node: Node, wants: Wants, smallest: int, rows: int) -> bool:
    """Say whether so much less of a value is needed that it pays for the cuts."""
    share = 1.0
    for want, n in zip(wants, node.type.shape, strict=True):
        if want is not None:
            length = _length(want, n)
            if length * (rows if isinstance(want, Node) else 1) > n or not length:
                return False
            share *= n / length
    return share >= min(WINDOW, rows) and node.type.size >= smallest


def _both(x: Wants, y: Wants) -> Wants:
    """Return the least that holds two demands."""
    return tuple([_either(a, b) for a, b in zip(x, y, strict=True)])


def _either(x: Want, y: Want) -> Want:
    if isinstance(x, tuple) and isinstance(y, tuple):
        return min(x[0], y[0]), max(x[1], y[1])
    return x if x is y else None


class _Taking:
    """One use of the law.

    Args:
        program: any program.
        smallest: values of fewer elements are computed whole.
        rows: how many times as long as rows that are taken an axis must be.
        alone: whether only windows are passed, and errors of what is not read are none.
    """

    def __init__(self, program: Program, smallest: int, rows: int, alone: bool = False) -> None:
        self._program = program
        self._alone = alone
        self._smallest = smallest
        self._rows = rows
        self._own = set(program.nodes)
        lines = program.lines
        self._lines = {x.inputs[1]: lines[x] for x in program.nodes if _takes_rows(x) and x in lines}
        self._wants: dict[Node, Wants] = {}
        self._trace = Trace()
        self._values: dict[Node, Node] = {}
        self._demand()

    # -- demands -------------------------------------------------------------------------------------------------------

    def _demand(self) -> None:
        for node in self._program.outputs:
            self._wants[node] = _all(node)
        for node in reversed(self._program.nodes):
            if node in self._wants:
                self._wants[node] = self._possible(node, self._wants[node])
                for operand, wants in self._of_operands(node):
                    wants = wants if operand in self._own else _all(operand)
                    self._wants[operand] = _both(self._wants.get(operand, wants), wants)

    def _possible(self, node: Node, wants: Wants) -> Wants:
        """Return what is computed of a value, of which a part is needed: all where that is not much less."""
        if _is_whole(wants) or not _pays(node, wants, self._smallest, self._rows):
            return _all(node)
        possible = _passing(node, wants, self._taken(node), self._alone)
        return possible if _pays(node, possible, self._smallest, self._rows) else _all(node)

    def _of_operands(self, node: Node) -> Iterator[tuple[Node, Wants]]:
        """Yield what a node, of which so much is computed, needs of its operands and of arrays of indices."""
        wants = self._wants[node]
        yield from [(want, _all(want)) for want in wants if isinstance(want, Node)]
        if taken := self._taken(node):
            first, *others = node.inputs
            yield first, _together(node, taken, wants)
            yield from [(operand, _all(operand)) for operand in others]
        elif _is_whole(wants):
            yield from [(operand, _all(operand)) for operand in node.inputs]
        elif not isinstance(node.op, Leaf):
            yield from _of_mapped(node, wants)

    def _taken(self, node: Node) -> Wants | None:
        """Return what an op that takes rows or a slice needs of its first operand, if it is not treated as others."""
        return None if self._alone and node.op is not ops.slice_ else _taken(node)

    # -- building ------------------------------------------------------------------------------------------------------

    def result(self) -> Program:
        """Return the program that computes what is needed."""
        program, trace, values = self._program, self._trace, self._values
        inputs = [trace.input(type) for type in program.in_types]
        values.update(zip(program.inputs, inputs, strict=True))
        for node in self._order():
            if node not in values:
                values[node] = self._built(node)
        return finish(program, trace, inputs, [values.get(node, node) for node in program.outputs], values)

    def _order(self) -> Sequence[Node]:
        """Return what is needed in order: indices may be computed after the whole of what they take rows of."""
        found: dict[Node, None] = {}
        for start in self._program.outputs:
            waiting = [start]
            while waiting:
                node = waiting[-1]
                missing = [x for x, _ in self._of_operands(node) if x in self._own and x not in found]
                if missing:
                    waiting += missing
                else:
                    found[waiting.pop()] = None
        return list(found)

    def _built(self, node: Node) -> Node:
        """Build as much of a value as is needed."""
        wants, trace = self._wants[node], self._trace
        taken = self._taken(node)
        if _is_whole(wants) and (taken is None or _is_whole(self._wants[node.inputs[0]])):
            return rebuild(node, self._values, trace)
        if taken is not None:
            return self._rest(node, _together(node, taken, wants))
        lengths = [_length(want, n) for want, n in zip(wants, node.type.shape, strict=True)]
        if isinstance(node.op, Leaf):
            return trace.literal(literal_value(node), ArrayType(tuple(lengths), node.type.dtype))
        operands = [self._cut(operand, own) for operand, own in _of_mapped(node, wants)]
        params = dict(node.params)
        if not node.op.axes.pointwise:
            map = axis_map(node)
            cut = zip(map.results[0], wants, lengths, strict=True)
            new: dict[Hashable, int | None] = {label: length for label, want, length in cut if want is not None}
            params = node.op.axes.adapt(map.change(new, [x.type for x in node.inputs], [node.type]), **params)
        return apply(trace, node.op, *operands, **params)

    def _rest(self, node: Node, wants: Wants) -> Node:
        """Build what an op takes, of a value of which a part was computed."""
        found = self._cut(node.inputs[0], wants)
        if node.op is not ops.slice_:
            return found
        shape, step = found.type.shape, dict(node.params)["step"]
        return apply(self._trace, ops.slice_, found, start=(0,) * len(shape), stop=shape, step=step)

    def _cut(self, node: Node, wants: Wants) -> Node:
        """Return a part of a value of which a part was computed that holds it."""
        value = self._values.get(node, node)
        start, stop = [0] * value.type.ndim, list(value.type.shape)
        for axis, (want, have) in enumerate(zip(wants, self._wants[node], strict=True)):
            if isinstance(want, tuple):
                first = have[0] if isinstance(have, tuple) else 0
                start[axis], stop[axis] = want[0] - first, want[1] - first
            elif want is not have:
                assert want is not None
                value = apply(self._trace, ops.gather, value, self._values.get(want, want), axis=axis, batch=0)
                if want in self._lines:
                    self._trace.lines.setdefault(value, self._lines[want])
                stop[axis] = value.type.shape[axis]
        if not any(start) and tuple(stop) == value.type.shape:
            return value
        step = (1,) * len(start)
        return apply(self._trace, ops.slice_, value, start=tuple(start), stop=tuple(stop), step=step)


def _all(node: Node) -> Wants:
    return () if isinstance(node.type, TupleType) else (None,) * node.type.ndim


def _is_whole(wants: Wants) -> bool:
    return all(want is None for want in wants)


def _of_mapped(node: Node, wants: Wants) -> list[tuple[Node, Wants]]:
    """Return what a part of an op's result needs of its operands, of those of which it needs something."""
    map = axis_map(node)
    named = {label: want for label, want in zip(map.results[0], wants, strict=True) if want is not None}
    found = [
        (operand, tuple([_of_axis(label, n, named) for label, n in zip(labels, operand.type.shape, strict=True)]))
        for operand, labels in zip(node.inputs, map.operands, strict=True)
    ]
    return [(operand, own) for operand, own in found if (0, 0) not in own]


def _of_axis(label: Hashable, length: int, named: Mapping[Hashable, Want]) -> Want:
    """Return what is needed along an axis of an operand: a part of what is joined has a window of its own."""
    want = named.get(label.name) if isinstance(label, Strided) else named.get(label)
    if not isinstance(label, Strided) or want is None:
        return want
    assert isinstance(want, tuple)
    first, end = max(want[0] - label.start, 0), min(want[1] - label.start, length)
    return (0, 0) if first >= end else None if (first, end) == (0, length) else (first, end)
