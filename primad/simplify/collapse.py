"""The law that makes Σᵢ ∂ᵢᵢu one forward pass: a sum over directions goes through linear ops.

A value that is only ever summed along an axis need not exist along that axis: if every use of it is a sum over the
axis, or a linear op whose other operands are constant along it and whose result is itself only summed, then the sum can
be taken at the start of the chain instead of at its end. One backward walk finds those values, one forward walk builds
their sums. (Its dual, a broadcast over directions comes last, is a constructor law: see `Outermost` in
`primad.ops.record.fields`.)

The pass is for sums over the directions of a derivative. It is exact in exact arithmetic, but it turns Σ(x − y) into
Σx − Σy, which would lose digits in a user's own sum of small differences; so it runs where a derivative composite sums
over its directions, and not on everything.
"""

from __future__ import annotations

from collections.abc import Hashable

from msgspec import Struct

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.law_families import DIRECTIONS, LEFT_OUT
from primad.ir.node import LITERAL, Leaf, Node, Params, Trace, literal_value, named
from primad.ir.program import Program
from primad.ir.replay import rebuild
from primad.ops.arrays.contraction import letters, split
from primad.ops.record.primitive import apply
from primad.transforms.dimensions import axis_map
from primad.transforms.lowering import rewritten

Axes = frozenset[int]
_NONE: Axes = frozenset()


def collapse(program: Program) -> Program:
    """Move sums towards the inputs through linear ops wherever the unsummed value is not needed otherwise."""
    if DIRECTIONS in LEFT_OUT.get():
        return program
    demand = _demands(program)
    return rewritten(program, lambda node, values, trace: _build(node, demand, values, trace))


def _demands(program: Program) -> dict[Node, Axes]:
    """Return, for each value, the axes along which all its uses sum it."""
    demand: dict[Node, Axes] = dict.fromkeys(program.outputs, _NONE)
    for node in reversed(program.nodes):
        if isinstance(node.op, Leaf):
            demand[node] = _NONE
            continue
        for operand, axes in zip(node.inputs, _uses(node, demand.get(node, _NONE)), strict=True):
            demand[operand] = demand[operand] & axes if operand in demand else axes
    return demand


def _uses(node: Node, demand: Axes) -> list[Axes]:
    """Return the axes along which each operand is summed, given those along which the result is."""
    if node.op is ops.sum:
        own = dict(node.params)["axes"]
        kept = [axis for axis in range(node.inputs[0].type.ndim) if axis not in own]
        return [frozenset([*own, *(kept[axis] for axis in demand)])]
    return _passage(node, demand).sums


class _SumPassage(Struct, frozen=True):
    """How a sum passes a node.

    Attributes:
        axes: the axes of the result over which it passes.
        sums: for each operand the axes over which it is summed instead.
        constant: for each operand the axes along which it is constant, that it loses.
        params: the node's params without the axes.
    """

    axes: Axes
    sums: list[Axes]
    constant: list[Axes]
    params: Params


def _passage(node: Node, demand: Axes) -> _SumPassage:
    """Return how a sum over axes of the result passes a node: over which of them, and what it does to the operands.

    It passes along an axis that is mapped where the op is linear: all operands in which it is linear together have the
    axis, and are summed, and the others are constant along it.
    """
    count = len(node.inputs)
    nothing = _SumPassage(_NONE, [_NONE] * count, [_NONE] * count, node.params)
    if not demand or node.op.axes.map is None:
        return nothing
    groups = node.op.linear_groups(count)
    found = axis_map(node)
    (after,) = found.results
    names: dict[int, Hashable] = {}
    sums: list[set[int]] = [set() for _ in node.inputs]
    constant: list[set[int]] = [set() for _ in node.inputs]
    for axis in demand:
        if found.role(after[axis]) != "mapped":
            continue
        places = [labels.index(after[axis]) if after[axis] in labels else None for labels in found.operands]
        fitting = [g for g in groups if all(_summable(node, i, g, place) for i, place in enumerate(places))]
        if fitting:
            names[axis] = after[axis]
            for i, place in enumerate(places):
                (sums if i in fitting[0] else constant)[i].update(() if place is None else (place,))
    if not names:
        return nothing
    dropped: dict[Hashable, int | None] = dict.fromkeys(names.values())
    change = found.change(dropped, [operand.type for operand in node.inputs], [node.type])
    params = node.op.axes.adapt(change, **dict(node.params))
    if params is None:
        return nothing
    return _SumPassage(frozenset(names), [*map(frozenset, sums)], [*map(frozenset, constant)], named(params))


def _summable(node: Node, position: int, group: tuple[int, ...], place: int | None) -> bool:
    """Say whether an operand, with an axis at a place or not at all, lets a sum over it pass to those of a group."""
    operand = node.inputs[position]
    if position in group:
        return place is not None and operand.type.is_float
    return place is None or is_constant_along(operand, place)


def is_constant_along(node: Node, axis: int) -> bool:
    """Say whether a value is the same all along an axis."""
    if isinstance(node.op, Leaf):
        return node.op is LITERAL
    if node.op.axes.map is None or node.op.axes.pointwise:
        return False
    found = axis_map(node)
    return found.role(found.results[0][axis]) == "made"


def _build(node: Node, demand: dict[Node, Axes], values: dict[Node, Node], trace: Trace) -> Node:
    """Build the sum of a value over the axes demanded (the value itself if there are none)."""
    axes = demand.get(node, _NONE)
    if isinstance(node.op, Leaf):
        return rebuild(node, values, trace)
    if node.op is ops.sum:
        return _summed(node.inputs[0], _uses(node, axes)[0], demand, values, trace)
    passage = _passage(node, axes)
    if not passage.axes:
        return _sum_of_product(trace, rebuild(node, values, trace), axes)
    operands = []
    for operand, sums, constant in zip(node.inputs, passage.sums, passage.constant, strict=True):
        new = _summed(operand, sums, demand, values, trace)
        operands.append(_without(trace, new, _shift(constant, sums)) if constant else new)
    result = apply(trace, node.op, *operands, **dict(passage.params))
    return _sum_of_product(trace, result, _shift(axes - passage.axes, passage.axes))


def _sum_of_product(trace: Trace, node: Node, axes: Axes) -> Node:
    """Build a sum of a value; a contraction sums over what both operands have itself, as one of outer products does."""
    if node.op is not ops.contract:
        return _sum(trace, node, axes)
    x, y, out = split(dict(node.params)["labels"])
    own = frozenset(axis for axis in axes if out[axis] in x and out[axis] in y)
    kept = "".join(letter for axis, letter in enumerate(out) if axis not in own)
    product = apply(trace, ops.contract, *node.inputs, labels=letters(x, y, kept))
    return _sum(trace, product, _shift(axes - own, own))


def _shift(axes: Axes, gone: Axes) -> Axes:
    """Renumber axes after others are gone."""
    return frozenset(axis - sum(other < axis for other in gone) for axis in axes)


def _sum(trace: Trace, node: Node, axes: Axes) -> Node:
    return apply(trace, ops.sum, node, axes=tuple(sorted(axes))) if axes else node


def _summed(operand: Node, axes: Axes, demand: dict[Node, Axes], values: dict[Node, Node], trace: Trace) -> Node:
    """Return an operand's sum over `axes`, of which its own demand is a part."""
    done = demand.get(operand, _NONE) & axes
    return _sum(trace, values.get(operand, operand), _shift(axes - done, done))


def _without(trace: Trace, node: Node, axes: Axes) -> Node:
    """Drop axes along which a value is constant."""
    shape = tuple([n for axis, n in enumerate(node.type.shape) if axis not in axes])
    if node.op is LITERAL:
        return trace.literal(literal_value(node), ArrayType(shape, node.type.dtype))
    if node.op is ops.broadcast:
        kept = _shift(frozenset(dict(node.params)["axes"]) - axes, axes)
        return apply(trace, ops.broadcast, node.inputs[0], shape=shape, axes=tuple(sorted(kept)))
    stop = tuple([min(n, 1) if axis in axes else n for axis, n in enumerate(node.type.shape)])
    first = apply(trace, ops.slice_, node, start=(0,) * node.type.ndim, stop=stop, step=(1,) * node.type.ndim)
    return apply(trace, ops.reshape, first, shape=shape)
