"""The rows of a Jacobian, pulled back together: a linear program applied to all basis elements of an input at once.

The cotangent that belongs to element i of a result, say the residual at point i, is zero at all other points as long
as points stay apart. So the cotangents of all elements are kept as one array that has the axis of the points once: it
stands for both the element and the point (`Seeds`), and costs what one cotangent costs. Where an op would sum over the
points, because a value without them met them there, the axis is kept: this is the row of each point. What happens to an
axis is read from the ops' axis maps (`primad.ir.axes`); along an axis that an op mixes, cotangents are spread out, one
for each element, and go on as a stack.

Rows that are taken of a value at an array of indices may be more than it has, and one row may be taken often. So the
rows of the value are pulled back, each once, and taken of the Jacobian: row k of f(x)[i] is row i[k] of that of f(x).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.axes import AxisMap, Factors, Label, Strided, is_name
from primad.ir.node import Leaf, Node, is_literal, named
from primad.ir.program import Program
from primad.ir.replay import rebuild
from primad.ir.walks import dependents
from primad.programs.jacobians.seeds import (
    Index,
    Padded,
    Part,
    Pieces,
    Regrouped,
    Seeds,
    add_piece,
    begin,
    in_order,
    restored,
    spread,
    through_rows,
)
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.transforms import batching
from primad.transforms.dimensions import axis_map
from primad.transforms.lowering import alone, inline

# -- what an op does to an index that an axis stands for ---------------------------------------------------------------


class _Passage(Struct, frozen=True):
    """What becomes of an index: the axes of the result that stand for it, and how to go back.

    Attributes:
        places: the axes; more than one if the op splits it; none if it is summed, and stacked then.
        start, step: which elements the result has of it (`inside`), or where they are in it.
        inside: whether the result has part of it (True), or it is part of what the result has (False); None if neither.
        merged: the labels of all indices that are one axis then.
    """

    places: tuple[int, ...] = ()
    start: int = 0
    step: int = 1
    inside: bool | None = None
    merged: tuple[Label, ...] = ()


def _passage(map: AxisMap, label: Label) -> _Passage | None:
    """Return what an op does to an index that an axis with a label stands for; None where it mixes it."""
    (after,) = map.results
    if isinstance(label, Factors):
        if all(after.count(name) == 1 for name in label.names):
            return _Passage(tuple([after.index(name) for name in label.names]))
        return None
    if isinstance(label, Strided):
        if after.count(label.name) != 1:
            return None
        return _Passage((after.index(label.name),), label.start, label.step, inside=False)
    if label is None:
        return None
    role = map.role(label)
    if role == "mapped":
        return _Passage((after.index(label),))
    if role == "summed":
        return _Passage()
    for axis, found in enumerate(after):
        if isinstance(found, Strided) and found.name == label:
            return _Passage((axis,), found.start, found.step, inside=True)
        if isinstance(found, Factors) and label in found.names:
            return _Passage((axis,), merged=found.names)
    return None


def _passages(map: AxisMap, labels: Sequence[Label], seeds: Seeds) -> list[_Passage | None]:
    """Return what an op does to each index; None for those that it mixes, and for those that are stacked."""
    found = [
        None if index.place is None else _passage(map, label)
        for index, label in zip(seeds.indices, labels, strict=True)
    ]
    if any(
        p is not None and (p.merged or len(p.places) > 1) for p in found
    ):  # these regroup, others cannot move in part
        found = [None if p is not None and p.inside is not None else p for p in found]
    for number, passage in enumerate(found):
        if passage is not None and passage.merged:
            first = number - passage.merged.index(labels[number])
            together = tuple(labels[max(0, first) : first + len(passage.merged)])
            if first < 0 or together != passage.merged:
                found[number] = None
    return found


def _moved(seeds: Seeds, passages: Sequence[_Passage | None], shape: tuple[int, ...]) -> Seeds:
    """Return the seeds of the result of an op, of which `shape` is the shape."""
    indices: list[Index] = []
    undo = list(seeds.undo)
    rank = len(seeds.stacked)
    regrouped = False
    for index, passage in zip(seeds.indices, passages, strict=True):
        if passage is None:
            indices.append(index)
            continue
        if passage.merged and indices and indices[-1].place == passage.places[0]:
            indices.pop()  # it became a part of the axis that this one completes
        regrouped = regrouped or bool(passage.merged) or len(passage.places) > 1
        indices.extend([Index(shape[place], place) for place in passage.places])
        if not passage.places:
            indices.append(Index(index.length, rank=rank))
            rank += 1
    for number, (index, passage) in enumerate(zip(seeds.indices, passages, strict=True)):
        if passage is not None and passage.inside is not None and not regrouped:
            kind = Part if passage.inside else Padded
            undo.append(kind(number, passage.start, passage.step, index.length))
    if regrouped:
        undo.append(Regrouped(seeds.lengths))
    if any(index.length == 1 and index.place is not None for index in indices):
        undo.append(Regrouped(tuple([index.length for index in indices])))
        indices = [index for index in indices if index.length != 1 or index.place is None]
    return Seeds(tuple(indices), tuple(undo))


# -- the walk ----------------------------------------------------------------------------------------------------------


def pull_rows(program: Program, cuts: bool = True) -> Program:
    """Return the program (other inputs) -> for each output, the stack of what it is for every basis element.

    Args:
        program: an expanded program that is linear in its last input, as a pullback is in its cotangent.
        cuts: whether rows of a value on the way may be multiplied by cotangents of it, which asks for a program that is
            linear over the complex numbers where there are some.
    """
    adds_rows = cuts and any(op.indexing.adds_rows for op in program.ops)
    try:
        # Where the points do not stay apart behind what rows are taken of, few rows may cost less than all.
        ways = [_pulled(program, taking, cuts) for taking in ((True, False) if adds_rows else (False,))]
    except _SeveralPieces:
        return _pulled(program, False, cuts, spread_out=True)
    return min(ways, key=lambda found: found.cost().flops)


class _SeveralPieces(Exception):
    """Which elements of a cotangent are kept depends on the cotangent, and the two have other seeds.

    So it is, too, where what decides goes on by itself, since it costs less to find the rows of a value before it.
    """


def _pulled(program: Program, taking: bool, cuts: bool, spread_out: bool = False) -> Program:
    def rows(*others: TracedArray) -> list[TracedArray]:
        walk = _RowWalk(program, [x.node for x in others], taking, cuts and not spread_out, spread_out)
        found = walk.rows(program.inputs[-1])
        return [found[node] for node in program.outputs]

    return program_of(program.in_types[:-1], rows, program.names[:-1])


def is_single(program: Program) -> bool:
    """Say whether the ops through which a program depends on its last input have one result each."""
    return not any(isinstance(node.type, TupleType) for node in dependents(program.nodes, program.inputs[-1:]))


def _takes_rows(node: Node, seeds: Seeds) -> bool:
    """Say whether an op adds cotangents of different rows that were taken of its result, one for each basis element."""
    if node.op.indexing.adds_rows is None:
        return False
    taken = node.op.indexing.adds_rows(*[x.type for x in node.inputs], **dict(node.params))
    return any(index.place in taken for index in seeds.indices)


class _RowWalk:
    def __init__(self, program: Program, inputs: Sequence[Node], taking: bool, cuts: bool, spread_out: bool) -> None:
        trace = self._trace = inputs[0].trace
        self._taking = taking
        self._cuts, self._spread_out = cuts, spread_out
        self._outputs = list(dict.fromkeys(program.outputs))
        self._size = sum(node.type.size for node in self._outputs)
        linear = dependents(program.nodes, program.inputs[-1:])
        self._linear = [node for node in program.nodes if node in linear]
        self._moving = linear
        self._values: dict[Node, Node] = dict(zip(program.inputs, inputs, strict=False))
        for node in program.nodes:
            if node not in linear and node not in self._values:
                self._values[node] = rebuild(node, self._values, trace, copy=True)

    def rows(self, start: Node) -> dict[Node, TracedArray]:
        """Return what each output is for every basis element of a value."""
        seeds = begin(start.type)
        ones = TracedArray(self._trace.literal(1, start.type))
        for number in range(len(seeds.indices) if self._spread_out else 0):
            seeds, ones = spread(seeds, ones, number)
        pieces: dict[Node, Pieces] = {start: {seeds: ones}}
        narrow: list[tuple[Node, Pieces]] = []
        taken: dict[Node, Pieces] = {}
        for node in self._linear:
            if not pieces.keys().isdisjoint(node.inputs):
                pieces[node] = self._through(node, pieces, taken)
            if node is not start and node in pieces and node not in self._outputs:
                found = {seeds: pieces[node].pop(seeds) for seeds in [*pieces[node]] if self._is_narrow(node, seeds)}
                if found:
                    narrow.append((node, found))
        for node, found in narrow:
            self._chain(self.rows(node), found, pieces)
        for node, found in taken.items():
            self._chain(self._taken_rows(node), found, pieces)
        return {node: self._assembled(start.type, node.type, pieces.get(node, {})) for node in self._outputs}

    def _is_narrow(self, node: Node, seeds: Seeds) -> bool:
        """Say whether it costs less to find the rows of a value, of fewer elements than there are cotangents of it.

        So it is for a sum over points that the residuals at all points depend on.
        """
        rows, own = seeds.rows, node.type.size
        if not self._cuts or seeds.apart or rows <= own:
            return False
        below = dependents(self._linear, [node]) - {node}
        after: int = sum(other.op.cost(other).flops for other in below if not isinstance(other.op, Leaf))
        return bool((rows - own) * after > 2 * rows * own * self._size)

    def _taken_rows(self, node: Node) -> dict[Node, TracedArray]:
        """Return what each output is for every basis element of the rows that were taken of a value."""
        indices = self._constant(node.inputs[1])
        place = {name: param for name, param in node.params if name in ("axis", "batch")}
        return {output: ops.gather(rows, indices, **place) for output, rows in self.rows(node).items()}

    def _chain(self, own: dict[Node, TracedArray], found: Pieces, pieces: dict[Node, Pieces]) -> None:
        """Add what reaches the outputs through a value, of which what they are for every basis element is given."""
        for output, rows in own.items():
            if is_literal(rows.node, 0):
                continue
            matrix = ops.reshape(rows, shape=(*rows.shape[: rows.ndim - output.type.ndim], output.type.size))
            for seeds, value in found.items():
                exact = str(np.result_type(value.dtype, matrix.dtype))
                stacked, product = through_rows(seeds, *(ops.cast(x, dtype=exact) for x in (value, matrix)))
                product = ops.cast(product, dtype=str(output.type.dtype))
                shape = (*product.shape[: stacked.lead], *output.type.shape)
                add_piece(pieces.setdefault(output, {}), stacked, ops.reshape(product, shape=shape))

    def _through(self, node: Node, pieces: dict[Node, Pieces], taken: dict[Node, Pieces]) -> Pieces:
        """Push the cotangents of a node's operands through it, but for those of rows that were taken of its result."""
        if node.type.size == 0:
            return {}
        map = axis_map(node)
        together: dict[Any, dict[int, tuple[Seeds, TracedArray]]] = {}
        for position, operand in enumerate(node.inputs):
            for seeds, value in pieces.get(operand, {}).items():
                if self._taking and _takes_rows(node, seeds):
                    add_piece(taken.setdefault(node, {}), seeds, value)
                    continue
                labels = tuple([None if i.place is None else map.operands[position][i.place] for i in seeds.indices])
                alike = (seeds.lengths, tuple([i.rank for i in seeds.indices]), seeds.undo, labels)
                number = 0
                while position in together.setdefault((*alike, number), {}):
                    number += 1
                together[*alike, number][position] = seeds, value
        moving, linear = [i for i, x in enumerate(node.inputs) if x in self._moving], node.op.derivative.linear_operands
        others = [] if linear is None else [i for i in moving if i not in linear]
        if any(i not in operands for operands in together.values() for i in others):
            raise _SeveralPieces
        found: Pieces = {}
        for (*_, labels, _), operands in together.items():
            add_piece(found, *self._apply(node, map, labels, operands))
        return found

    def _apply(
        self, node: Node, map: AxisMap, labels: Sequence[Label], operands: dict[int, tuple[Seeds, TracedArray]]
    ) -> tuple[Seeds, TracedArray]:
        """Apply an op to cotangents of some operands; those of others are zero."""
        (seeds, _), *_ = operands.values()
        passages = _passages(map, labels, seeds)
        for number, passage in enumerate(passages):
            if passage is None and seeds.indices[number].place is not None:
                operands = {position: spread(*operand, number) for position, operand in operands.items()}
        (seeds, _), *_ = operands.values()
        summed = [
            labels[number] for number, passage in enumerate(passages) if passage is not None and not passage.places
        ]
        values = {position: value for position, (_, value) in operands.items()}
        result = self._batched(node, map, summed, values, seeds)
        return _moved(seeds, passages, node.type.shape), result

    def _batched(
        self, node: Node, map: AxisMap, summed: Sequence[Label], values: dict[int, TracedArray], seeds: Seeds
    ) -> TracedArray:
        """Apply an op to stacks of operands, keeping axes that it sums as leading ones."""
        arrays = [values[i] if i in values else self._constant(operand) for i, operand in enumerate(node.inputs)]
        params: Any = node.params
        types = [operand.type for operand in node.inputs]
        lead = seeds.lead
        if summed:
            change = map.change(dict.fromkeys(summed), types, [node.type])
            adapted = node.op.axes.adapt(change, **dict(params))
            assert adapted is not None
            params = named(adapted)
            for i, labels in enumerate(map.operands):
                first = lead if i in values else 0
                order = [first + labels.index(name) for name in summed if name in labels]
                rest = [axis for axis in range(arrays[i].ndim) if axis >= first and axis not in order]
                arrays[i] = ops.permute(arrays[i], order=(*range(first), *order, *rest))
            types = [ArrayType(axes.shape, type.dtype) for axes, type in zip(change.operands, types, strict=True)]
        if not summed and not lead:
            result: TracedArray = node.op(*arrays, **dict(params))
            return result
        program = alone(node.op, types, params)
        lengths = {
            name: n
            for labels, operand in zip(map.operands, node.inputs, strict=True)
            for name, n in zip(labels, operand.type.shape, strict=True)
            if is_name(name)
        }
        for name in reversed(summed):
            program = batching.vmap(program, [name in labels for labels in map.operands], lengths[name])
        if lead:
            program = batching.vmap(program, [i in values for i in range(len(arrays))], seeds.rows)
        (result,) = inline(program, arrays)
        stacked = math.prod(result.shape[: lead + len(summed)])
        result = ops.reshape(result, shape=(stacked, *result.shape[lead + len(summed) :]))
        return result

    def _constant(self, operand: Node) -> TracedArray:
        """Return an operand that is no cotangent, or the zero of one that has none."""
        if operand in self._moving:
            return TracedArray(self._trace.literal(0, operand.type))
        return TracedArray(self._values.get(operand, operand))

    def _assembled(self, start: ArrayType, type: ArrayType, pieces: Pieces) -> TracedArray:
        """Return the rows of all basis elements out of those of some."""
        found: Pieces = {}
        for seeds, value in pieces.items():
            for number, index in enumerate(seeds.indices):
                if index.place is not None:
                    seeds, value = spread(seeds, value, number)
            add_piece(found, Seeds(tuple([Index(n) for n in seeds.lengths]), seeds.undo), in_order(seeds, value))
        if not found:
            return TracedArray(self._trace.literal(0, ArrayType((*start.shape, *type.shape), type.dtype)))
        return restored(found, type.ndim)
