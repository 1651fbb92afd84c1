"""The law that makes Σᵢ ∂ᵢᵢu one forward pass: a sum over directions goes through linear ops.

A value that is only ever summed along an axis need not exist along that axis: if every use of it is a sum over the
axis,
or a linear op whose other operands are constant along it and whose result is itself only summed, then the sum can be
taken at the start of the chain instead of at its end. One backward walk finds those values, one forward walk builds
their sums. (Its dual, a broadcast over directions comes last, is a constructor law: see `primad.primitive`.)

The pass is for sums over the directions of a derivative. It is exact in exact arithmetic, but it turns Σ(x − y) into
Σx − Σy, which would lose digits in a user's own sum of small differences; so it runs where a derivative composite sums
over its directions, and not on everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad import ops
from primad.ir.families import DIRECTIONS, LEFT_OUT
from primad.ir.node import LITERAL, Leaf, Node, Trace, literal_value
from primad.ir.program import Program, rebuild
from primad.ops.contraction import letters, split
from primad.primitive import apply
from primad.transforms.lowering import finish
from primad.types import ArrayType

Axes = frozenset[int]
_NONE: Axes = frozenset()


def collapse(program: Program) -> Program:
    """Move sums towards the inputs through linear ops wherever the unsummed value is not needed otherwise."""
    if DIRECTIONS in LEFT_OUT.get():
        return program
    demand = _demands(program)
    trace = Trace()
    inputs = [trace.input(node.type) for node in program.inputs]
    values: dict[Node, Node] = dict(zip(program.inputs, inputs, strict=True))
    for node in program.nodes:
        if node not in values:
            values[node] = _build(node, demand, values, trace)
    return finish(program, trace, inputs, [values.get(node, node) for node in program.outputs], values)


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
    result: list[set[int]] = [set() for _ in node.inputs]
    for axis in demand:
        for position, mapped in (_through(node, axis) or {}).items():
            result[position].add(mapped)
    return [frozenset(axes) for axes in result]


def _drop_entries(params: dict[str, Any], gone: Axes) -> dict[str, Any]:
    """Params with one entry per axis lose the entries of axes that are gone."""
    return {
        name: tuple([entry for axis, entry in enumerate(entries) if axis not in gone])
        for name, entries in params.items()
    }


def _drop_broadcast(params: dict[str, Any], gone: Axes) -> dict[str, Any]:
    shape = tuple([n for axis, n in enumerate(params["shape"]) if axis not in gone])
    return {"shape": shape, "axes": tuple(sorted(_shift(frozenset(params["axes"]), gone)))}


def _drop_order(params: dict[str, Any], gone: Axes) -> dict[str, Any]:
    order = [old for new, old in enumerate(params["order"]) if new not in gone]
    kept = sorted(order)
    return {"order": tuple([kept.index(old) for old in order])}


def _drop_axes(params: dict[str, Any], gone: Axes) -> dict[str, Any]:
    return {**params, "axes": tuple(sorted(_shift(frozenset(params["axes"]), gone)))}


def _drop_axis(params: dict[str, Any], gone: Axes) -> dict[str, Any]:
    (axis,) = _shift(frozenset([params["axis"]]), gone)
    return {**params, "axis": axis}


_STRUCTURAL: dict[Any, Callable[[dict[str, Any], Axes], dict[str, Any]]] = {
    ops.broadcast: _drop_broadcast,
    ops.permute: _drop_order,
    ops.reshape: _drop_entries,
    ops.slice_: _drop_entries,
    ops.pad: _drop_entries,
    ops.flip: _drop_axes,
    ops.windows: _drop_axes,
    ops.overlap_add: _drop_axes,
    ops.concatenate: _drop_axis,
    ops.cumsum: _drop_axis,
}
"""Ops that only move elements or add along other axes, and their params when axes of the result are gone."""


def _constant(node: Node, axis: int) -> bool:
    """Say whether a value is the same all along an axis."""
    return node.op is LITERAL or (node.op is ops.broadcast and axis in dict(node.params)["axes"])


def _through(node: Node, axis: int) -> dict[int, int] | None:
    """Return the operands, with their axes, to which a sum over an axis of the result passes; None if it does not."""
    op, inputs = node.op, node.inputs
    if op in (ops.add, ops.sub, ops.neg) or (op is ops.cast and inputs[0].type.is_float):
        return dict.fromkeys(range(len(inputs)), axis)
    if op is ops.mul:
        for constant, varying in ((0, 1), (1, 0)):
            if _constant(inputs[constant], axis):
                return {varying: axis}
        return None
    if op is ops.div:
        return {0: axis} if _constant(inputs[1], axis) else None
    if op is ops.mask:
        return {1: axis} if _constant(inputs[0], axis) else None
    if op is ops.select:
        return {1: axis, 2: axis} if _constant(inputs[0], axis) else None
    if op in _STRUCTURAL:
        (before, *_), after = op.axes(*[operand.type for operand in inputs], **dict(node.params))
        label = after[axis]
        if label is None or label not in before:
            return None
        return dict.fromkeys(range(len(inputs)), before.index(label))
    if op is ops.contract:
        in_x, in_y, out = split(dict(node.params)["labels"])
        letter = out[axis]
        if letter not in in_y:
            return {0: in_x.index(letter)}
        if letter not in in_x:
            return {1: in_y.index(letter)}
    return None


def _build(node: Node, demand: dict[Node, Axes], values: dict[Node, Node], trace: Trace) -> Node:
    """Build the sum of a value over the axes demanded (the value itself if there are none)."""
    axes = demand.get(node, _NONE)
    if isinstance(node.op, Leaf):
        return rebuild(node, values, trace)
    used = _uses(node, axes)
    if node.op is ops.sum:
        return _summed(node.inputs[0], used[0], demand, values, trace)
    passed = frozenset(axis for axis in axes if _through(node, axis) is not None)
    if not passed:
        return _sum(trace, rebuild(node, values, trace), axes)
    operands = [_summed(operand, sums, demand, values, trace) for operand, sums in zip(node.inputs, used, strict=True)]
    op, params = node.op, dict(node.params)
    if op in _STRUCTURAL:
        params = _STRUCTURAL[op](params, passed)
    elif op is ops.contract:
        in_x, in_y, out = split(params["labels"])
        gone = {out[axis] for axis in passed}
        params["labels"] = letters(*("".join(c for c in part if c not in gone) for part in (in_x, in_y, out)))
    else:
        operands = [
            operand if not passed - sums else _without(trace, operand, _shift(passed - sums, sums))
            for operand, sums in zip(operands, used, strict=True)
        ]
    result = apply(trace, op, *operands, **params)
    return _sum(trace, result, _shift(axes - passed, passed))


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
    if node.op is ops.broadcast and axes <= set(dict(node.params)["axes"]):
        kept = _shift(frozenset(dict(node.params)["axes"]) - axes, axes)
        return apply(trace, ops.broadcast, node.inputs[0], shape=shape, axes=tuple(sorted(kept)))
    stop = tuple([min(n, 1) if axis in axes else n for axis, n in enumerate(node.type.shape)])
    first = apply(trace, ops.slice_, node, start=(0,) * node.type.ndim, stop=stop, step=(1,) * node.type.ndim)
    return apply(trace, ops.reshape, first, shape=shape)
