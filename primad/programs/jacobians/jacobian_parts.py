"""Parts of matrices of derivatives, which are matrices of derivatives: blocks, chosen rows and columns, transposes.

A block has the rows and columns that it is of in its params. Rows at an array of indices are those of a function that
takes these of its results. Columns at such an array are derivatives by an argument that is zero and is added there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import Node
from primad.ir.program import ClosedProgram, Program
from primad.numpy.linalg.diagonals import trace_
from primad.ops.record.fields import Law
from primad.ops.record.primitive import Primitive
from primad.programs.consumer_laws import lowered, of_operand
from primad.programs.jacobians.blocks import block_shape, put_block, take_block, whole, within
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.transforms.lowering import inline

Params = dict[str, Any]
Inputs = tuple[Node, ...]
Rule = Callable[[Node, Inputs, Params], Node | None]
Side = tuple[str, str]
"""The param that says which part a side of a matrix is, and the one with the argument that it is by: '' for results."""

JACOBIAN: tuple[Side, ...] = (("rows", ""), ("columns", "argument"))
HESSIAN: tuple[Side, ...] = (("rows", ""), ("left", "first"), ("right", "second"))


def order_of(named: Params, ndim: int) -> tuple[int, ...]:
    """Return which axis of the matrix as it was defined each axis of it is."""
    return named.get("order") or tuple(range(ndim))


def arranged_shape(shape: tuple[int, ...], order: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the shape of a matrix whose axes come in an order."""
    return tuple([shape[axis] for axis in order]) if order else shape


def _bounds(named: Params, sides: Sequence[Side]) -> list[tuple[int, int, int]]:
    return [bounds for side, _ in sides for bounds in named[side]]


def _with(node: Node, named: Params, operands: Sequence[Any], order: tuple[int, ...]) -> Node:
    """Return a matrix with other params, and axes in an order."""
    params = {name: value for name, value in named.items() if name != "order"}
    if order != tuple(range(len(order))):
        params["order"] = order
    result: Node = node.op(*operands, **params).node
    return result


def _with_blocks(node: Node, bounds: Sequence[tuple[int, int, int]], order: tuple[int, ...], sides: Any) -> Node:
    named, rest = dict(node.params), list(bounds)
    for side, _ in sides:
        count = len(named[side])
        named[side], rest = tuple(rest[:count]), rest[count:]
    return _with(node, named, [*map(TracedArray, node.inputs)], order)


def sliced(sides: Sequence[Side]) -> Rule:
    """Return the rule that a slice of a matrix of derivatives is that matrix of other blocks."""

    def rule(node: Node, inputs: Inputs, params: Params) -> Node:
        order = order_of(dict(node.params), node.type.ndim)
        bounds = _bounds(dict(node.params), sides)
        taken = zip(order, params["start"], params["stop"], params["step"], strict=True)
        for axis, *own in taken:
            (bounds[axis],) = within((bounds[axis],), (tuple(own),))
        return _with_blocks(node, bounds, order, sides)

    return rule


def turned(sides: Sequence[Side]) -> Rule:
    """Return the rule that a matrix of derivatives turned round along axes is one of blocks with negative steps."""

    def rule(node: Node, inputs: Inputs, params: Params) -> Node:
        order = order_of(dict(node.params), node.type.ndim)
        bounds = _bounds(dict(node.params), sides)
        for axis in params["axes"]:
            n = node.type.shape[axis]
            (bounds[order[axis]],) = within((bounds[order[axis]],), ((n - 1, -1, -1),))
        return _with_blocks(node, bounds, order, sides)

    return rule


def permuted(sides: Sequence[Side]) -> Rule:
    """Return the rule that a transpose of a matrix of derivatives is that matrix with its axes in another order."""

    def rule(node: Node, inputs: Inputs, params: Params) -> Node:
        order = order_of(dict(node.params), node.type.ndim)
        now = tuple([order[axis] for axis in params["order"]])
        return _with(node, dict(node.params), [*map(TracedArray, node.inputs)], now)

    return rule


def cast_before(node: Node, inputs: Inputs, params: Params) -> Node | None:
    """A matrix of derivatives in a wider dtype is that of a function with results of this dtype."""
    named = dict(node.params)
    of, output = named["of"].hoisted, named["output"]
    dtype = np.dtype(params["dtype"])
    if not np.can_cast(node.type.dtype, dtype):
        return None
    wide = program_of(of.in_types, lambda *xs: [ops.cast(inline(of, xs)[output], dtype=str(dtype))])
    named.update({"of": ClosedProgram(wide), "output": 0})
    return _with(node, named, [*map(TracedArray, node.inputs)], order_of(named, node.type.ndim))


def reshaped(sides: Sequence[Side]) -> Rule:
    """Return the rule that a matrix whose rows, or columns, are shown in another shape is that of functions of these.

    Axes of length 1 that come or go are left to the reshape.
    """

    def rule(node: Node, inputs: Inputs, params: Params) -> Node | None:
        named = dict(node.params)
        order = order_of(named, node.type.ndim)
        shapes = _shapes_of_sides(named, sides, order, params["shape"])
        if shapes is None:
            return None
        operands = [*map(TracedArray, node.inputs)]
        for side, argument in sides:
            if shapes[side] != block_shape(named[side]):
                operands += _shown_before(named, side, argument, shapes[side], node) if argument else []
                if not argument:
                    _shown_after(named, side, shapes[side])
        starts = [0, *itertools.accumulate([len(named[side]) for side, _ in sides])]
        places = {side: range(a, b) for (side, _), (a, b) in zip(sides, itertools.pairwise(starts), strict=True)}
        return _with(node, named, operands, tuple([axis for side in shapes for axis in places[side]]))

    return rule


def _shapes_of_sides(
    named: Params, sides: Sequence[Side], order: tuple[int, ...], shape: tuple[int, ...]
) -> dict[str, tuple[int, ...]] | None:
    """Return the shape that each side of a matrix has when all has a shape, in the order in which they come.

    None where axes of two sides become one, where the axes of a side come in another order, or where none that are
    longer than 1 change.
    """
    left, rest, found = list(order), list(shape), {}
    lengths = [len(range(*bounds)) for bounds in _bounds(named, sides)]
    starts = [0, *itertools.accumulate([len(named[side]) for side, _ in sides])]
    places = [(side, [*range(a, b)]) for (side, _), (a, b) in zip(sides, itertools.pairwise(starts), strict=True)]
    for side, axes in sorted(places, key=lambda item: left.index(item[1][0]) if item[1] else -1):
        if [left.pop(0) for _ in axes] != axes:
            return None
        size = math.prod([lengths[axis] for axis in axes])
        own: list[int] = []
        while rest and (math.prod(own) < size or rest[0] == 1):
            own.append(rest.pop(0))
        if math.prod(own) != size:
            return None
        found[side] = tuple(own)
    before = [n for axis in order if (n := lengths[axis]) != 1]
    return found if before != [n for n in shape if n != 1] else None


def _shown_after(named: Params, side: str, shape: tuple[int, ...]) -> None:
    """Change params to those of the function that shows its result in a shape."""
    of, output, rows = named["of"].hoisted, named["output"], named[side]
    found = program_of(of.in_types, lambda *xs: [ops.reshape(take_block(inline(of, xs)[output], rows), shape=shape)])
    named.update({"of": ClosedProgram(found), "output": 0, side: whole(shape)})


def _shown_before(named: Params, side: str, argument: str, shape: tuple[int, ...], node: Node) -> list[TracedArray]:
    """Change params to those of the function of what is added to an argument, in a shape; return that."""
    of, output, number, block = named["of"].hoisted, named["output"], named[argument], named[side]
    x = of.in_types[number]

    def moved(*xs: TracedArray) -> list[TracedArray]:
        given = [*xs[:-1]]
        given[number] = given[number] + put_block(ops.reshape(xs[-1], shape=block_shape(block)), x, block)
        return [inline(of, given)[output]]

    added = ArrayType(shape, x.dtype)
    found = program_of([*of.in_types, added], moved)
    named.update({"of": ClosedProgram(found), "output": 0, argument: len(of.in_types), side: whole(shape)})
    return [TracedArray(node.trace.literal(0, added))]


def rows_taken(sides: Sequence[Side]) -> Rule:
    """Return the rule that rows at indices are those of a function that takes these of its results."""

    def rule(node: Node, inputs: Inputs, params: Params) -> Node | None:
        named = dict(node.params)
        side, argument, place = _side_of(named, sides, _axis(node, params))
        if params["batch"] or argument:
            return None
        order = _with_taken(node, params, inputs[1].type.ndim)
        _taken_after(named, side, place, inputs[1])
        return _with(node, named, [*map(TracedArray, (*node.inputs, inputs[1]))], order)

    return rule


def columns_taken(sides: Sequence[Side]) -> Rule:
    """Return the rule that columns at indices are derivatives by what is added to the argument there."""

    def rule(node: Node, inputs: Inputs, params: Params) -> Node | None:
        named = dict(node.params)
        side, argument, place = _side_of(named, sides, _axis(node, params))
        if params["batch"] or not argument:
            return None
        order = _with_taken(node, params, inputs[1].type.ndim)
        added = _taken_before(named, side, argument, place, inputs[1])
        zeros = node.trace.literal(0, added)
        return _with(node, named, [*map(TracedArray, (*node.inputs, inputs[1], zeros))], order)

    return rule


def _axis(node: Node, params: Params) -> int:
    return order_of(dict(node.params), node.type.ndim)[params["axis"]]


def _with_taken(node: Node, params: Params, count: int) -> tuple[int, ...]:
    """Return the order of the axes when so many are there instead of one."""
    axis, order = _axis(node, params), order_of(dict(node.params), node.type.ndim)
    starts = [0, *itertools.accumulate([count if own == axis else 1 for own in range(len(order))])]
    return tuple([place for own in order for place in range(starts[own], starts[own + 1])])


def _side_of(named: Params, sides: Sequence[Side], axis: int) -> tuple[str, str, int]:
    """Return the side of a matrix that an axis belongs to, the argument that it is by, and which of its axes it is."""
    for side, argument in sides[:-1]:
        if axis < len(named[side]):
            return side, argument, axis
        axis -= len(named[side])
    return *sides[-1], axis


def _taken_after(named: Params, side: str, place: int, indices: Node) -> None:
    """Change params to those of the function that takes elements of its result at indices along an axis."""
    of, output, rows = named["of"].hoisted, named["output"], named[side]

    def taken(*xs: TracedArray) -> list[TracedArray]:
        return [ops.gather(take_block(inline(of, xs[:-1])[output], rows), xs[-1], axis=place, batch=0)]

    found = program_of([*of.in_types, indices.type], taken)
    named.update({"of": ClosedProgram(found), "output": 0, side: whole(found.out_types[0].shape)})


def _taken_before(named: Params, side: str, argument: str, place: int, indices: Node) -> ArrayType:
    """Change params to those of the function of what is added to an argument at indices; return the type of that."""
    of, output, number, block = named["of"].hoisted, named["output"], named[argument], named[side]
    x = of.in_types[number]
    shape = block_shape(block)
    added = ArrayType((*shape[:place], *indices.type.shape, *shape[place + 1 :]), x.dtype)

    def moved(*xs: TracedArray) -> list[TracedArray]:
        given = [*xs[:-2]]
        there = ops.scatter_add(xs[-1], xs[-2], axis=place, batch=0, size=shape[place])
        given[number] = given[number] + put_block(there, x, block)
        return [inline(of, given)[output]]

    found = program_of([*of.in_types, indices.type, added], moved)
    named.update({"of": ClosedProgram(found), "output": 0, argument: len(of.in_types) + 1, side: whole(added.shape)})
    return added


def defined(labels: str, named: Params) -> str:
    """Return the letters of the axes of a matrix in the order in which they were defined."""
    order = order_of(named, len(labels))
    return "".join([labels[order.index(axis)] for axis in range(len(labels))])


# -- what the laws of Jacobians and of Hessians share -----------------------------------------------------------------


def consumer_law(
    name: str, op: Callable[[], Primitive], at: Primitive, rule: Rule, statement: Any, *shapes: Any
) -> Law:
    """Make a law of an op that consumes a matrix of derivatives."""
    return Law(name, "real", statement, shapes, of_operand(op, rule), (at.name,))


def in_order(build: Callable[..., Program]) -> Callable[..., Program]:
    """Return what builds a matrix with its axes in the order that a param says."""

    def built(program: Program, *, order: tuple[int, ...] | None = None, known: Any = None, **options: Any) -> Program:
        matrix = build(program, **options)
        if order is None:
            return matrix
        return program_of(matrix.in_types, lambda *xs: [ops.permute(inline(matrix, xs)[0], order=order)], program.names)

    return built


def is_whole(named: Params, *sides: tuple[str, str]) -> bool:
    """Say whether a matrix of derivatives has all rows, and all columns by each of the arguments."""
    of = named["of"]
    return named["rows"] == whole(of.out_types[named["output"]].shape) and all(
        named[side] == whole(of.program.in_types[named[argument]].shape) for side, argument in sides
    )


def place_of(named: Params) -> Params:
    """Return the params that say of what a matrix is."""
    return {"of": named["of"], "output": named["output"]}


def known_of(named: Params) -> Params:
    """Return the param that says which indices are known, if it is there."""
    return {"known": named["known"]} if "known" in named else {}


def summed(diagonal: Rule) -> Rule:
    """Return the rule that a trace is the sum of a diagonal, where that has one."""

    def rule(node: Node, inputs: Inputs, params: Params) -> Node | None:
        return None if diagonal(node, inputs, params) is None else lowered(trace_)(node, inputs, params)

    return rule


def held(body: Callable[[Any], Any]) -> ClosedProgram:
    """Return a function of two variables as a program that an op holds, for statements."""
    return ClosedProgram(program_of([ArrayType((2,), float)], lambda x: [body(x)]))


def with_added(body: Callable[[Any], Any]) -> ClosedProgram:
    """Return a function of two variables, two indices, and what is added to the variables there."""
    types = [ArrayType((2,), float), ArrayType((2,), int), ArrayType((2,), float)]
    return ClosedProgram(program_of(types, lambda x, i, t: [body(x + ops.scatter_add(t, i, axis=0, batch=0, size=2))]))
