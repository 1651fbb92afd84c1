"""Parts of arrays and arrays of parts, one another's transposes: slice, pad and concatenate, with their laws."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np

from primad.ir.array_types import ArrayType
from primad.ir.axes import moved_axis
from primad.ir.node import LITERAL, Node, Trace, is_literal, literal_value
from primad.ops.arrays.broadcasting import broadcast, retyped
from primad.ops.arrays.part_definitions import (
    concatenate_axes,
    concatenate_type,
    pad_adapt,
    pad_axes,
    pad_type,
    padded,
    padding,
    slice_adapt,
    slice_axes,
    slice_type,
    sliced,
    slices,
)
from primad.ops.arrays.reshaping import Shape
from primad.ops.record.fields import Indexing, Law, MemoryUse, Work
from primad.ops.record.kinds import linear
from primad.ops.record.primitive import Primitive, apply

__all__ = ["concatenate", "pad", "slice_"]


# -- slice -------------------------------------------------------------------------------------------------------------


def _slice_transpose(ct: Any, x: Any, *, start: Shape, stop: Shape, step: Shape) -> Any:
    low, high, interior = [], [], []
    for a, s, n, m in zip(start, step, x.shape, ct.shape, strict=True):
        spread = max(0, (m - 1) * s + 1)
        low.append(a if m else 0)
        high.append(n - (a if m else 0) - spread)
        interior.append(s - 1)
    return pad(ct, low=tuple(low), high=tuple(high), interior=tuple(interior))


def _slice_nothing(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (x,) = inputs
    if x.type.shape == params["stop"] and not any(params["start"]) and all(s == 1 for s in params["step"]):
        return x
    return retyped(trace, inputs, slice_type(x.type, **params).shape) if x.op is LITERAL else None


def _slice_twice(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (x,) = inputs
    if x.op is not slice_:
        return None
    first = dict(x.params)
    start, stop, step = [], [], []
    for a, s, b, c, d, t in zip(
        first["start"], first["step"], params["start"], params["stop"], params["step"], first["stop"], strict=True
    ):
        start.append(min(a + b * s, t))
        stop.append(min(a + max(c - 1, b) * s + 1, t) if c > b else min(a + b * s, t))
        step.append(s * d)
    return apply(trace, slice_, x.inputs[0], start=tuple(start), stop=tuple(stop), step=tuple(step))


def _slice_broadcast(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (x,) = inputs
    if x.op is not broadcast:
        return None
    axes = dict(x.params)["axes"]
    kept = [axis for axis in range(x.type.ndim) if axis not in axes]
    inner = apply(
        trace, slice_, x.inputs[0], **{key: tuple([bound[axis] for axis in kept]) for key, bound in params.items()}
    )
    return apply(trace, broadcast, inner, shape=slice_type(x.type, **params).shape, axes=axes)


def _slice_joined(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (joined,) = inputs
    if joined.op is not concatenate:
        return None
    axis = dict(joined.params)["axis"]
    first, end, before = params["start"][axis], params["stop"][axis], 0
    for part in joined.inputs:
        length = part.type.shape[axis]
        if before <= first and end <= before + length:
            start, stop = list(params["start"]), list(params["stop"])
            start[axis], stop[axis] = first - before, end - before
            return apply(trace, slice_, part, start=tuple(start), stop=tuple(stop), step=params["step"])
        before += length
    return None


slice_: Primitive = linear(
    "slice",
    numpy=sliced,
    infer=slice_type,
    transpose=[_slice_transpose],
    axes=slice_axes,
    adapt=slice_adapt,
    memory=MemoryUse(views=True),
    work=Work(cheap=True, few=lambda x, **bounds: itemgetter(slices(**bounds))),
    doc="Take start:stop:step of each axis (steps are positive; flip reverses).",
    laws=[
        Law(
            "a full slice does nothing",
            "bitwise",
            lambda x: (slice_(x, start=(0, 0), stop=(2, 3), step=(1, 1)), x),
            ((2, 3),),
            _slice_nothing,
            complex="bitwise",
        ),
        Law(
            "two slices are one",
            "bitwise",
            lambda x: (
                slice_(slice_(x, start=(1,), stop=(11,), step=(2,)), start=(1,), stop=(5,), step=(3,)),
                slice_(x, start=(3,), stop=(10,), step=(6,)),
            ),
            ((12,),),
            _slice_twice,
            ("slice",),
            complex="bitwise",
        ),
        Law(
            "a slice of joined arrays that lies in one of them is a slice of that one",
            "bitwise",
            lambda x, y: (
                slice_(concatenate(x, y, axis=0), start=(3, 0), stop=(5, 2), step=(1, 1)),
                slice_(y, start=(1, 0), stop=(3, 2), step=(1, 1)),
            ),
            ((2, 2), (3, 2)),
            _slice_joined,
            ("concatenate",),
            complex="bitwise",
        ),
        Law(
            "a broadcast is outermost: slice",
            "bitwise",
            lambda x: (
                slice_(broadcast(x, shape=(2, 3), axes=(0,)), start=(0, 1), stop=(1, 3), step=(1, 1)),
                broadcast(slice_(x, start=(1,), stop=(3,), step=(1,)), shape=(1, 2), axes=(0,)),
            ),
            ((3,),),
            _slice_broadcast,
            ("broadcast",),
            complex="bitwise",
        ),
    ],
)


# -- pad ---------------------------------------------------------------------------------------------------------------


def _pad_transpose(ct: Any, x: Any, *, low: Shape, high: Shape, interior: Shape) -> Any:
    stop = tuple([m - b for m, b in zip(ct.shape, high, strict=True)])
    return slice_(ct, start=low, stop=stop, step=tuple([i + 1 for i in interior]))


def _pad_nothing(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (x,) = inputs
    if not any(params["low"]) and not any(params["high"]) and not any(params["interior"]):
        return x
    if is_literal(x, 0):
        return trace.literal(literal_value(x), pad_type(x.type, **params))
    return None


def _pad_broadcast(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """Axes that get no zeros, and along which the operand is constant, are broadcast after it."""
    (x,) = inputs
    if x.op is not broadcast and x.op is not LITERAL:
        return None
    new = dict(x.params)["axes"] if x.op is broadcast else range(x.type.ndim)
    axes = tuple([axis for axis in new if not any(width[axis] for width in params.values())])
    if not axes:
        return None
    kept = [axis for axis in range(x.type.ndim) if axis not in axes]
    small = ArrayType(tuple([x.type.shape[axis] for axis in kept]), x.type.dtype)
    if x.op is LITERAL:
        inner = trace.literal(literal_value(x), small)
    else:
        left = tuple([kept.index(axis) for axis in new if axis in kept])
        inner = apply(trace, broadcast, x.inputs[0], shape=small.shape, axes=left)
    padded = apply(trace, pad, inner, **{key: tuple([width[axis] for axis in kept]) for key, width in params.items()})
    return apply(trace, broadcast, padded, shape=pad_type(x.type, **params).shape, axes=axes)


pad: Primitive = linear(
    "pad",
    numpy=padded,
    infer=pad_type,
    transpose=[_pad_transpose],
    axes=pad_axes,
    adapt=pad_adapt,
    work=Work(cheap=True, few=padding),
    doc="Put zeros before (low), after (high) and between (interior) the elements of each axis.",
    laws=[
        Law(
            "padding by nothing does nothing",
            "bitwise",
            lambda x: (pad(x, low=(0, 0), high=(0, 0), interior=(0, 0)), x),
            ((2, 3),),
            _pad_nothing,
            complex="bitwise",
        ),
        Law(
            "a broadcast is outermost: pad",
            "bitwise",
            lambda x: (
                pad(broadcast(x, shape=(2, 3), axes=(0,)), low=(0, 1), high=(0, 1), interior=(0, 0)),
                broadcast(pad(x, low=(1,), high=(1,), interior=(0,)), shape=(2, 5), axes=(0,)),
            ),
            ((3,),),
            _pad_broadcast,
            ("broadcast", "literal"),
            complex="bitwise",
        ),
    ],
)


# -- concatenate -------------------------------------------------------------------------------------------------------


def _concatenate_transpose(ct: Any, *inputs: Any, axis: int) -> list[Any]:
    low = [0] * ct.ndim
    high = list(ct.shape)
    found = []
    for x in inputs:
        high[axis] = low[axis] + x.shape[axis]
        found.append(slice_(ct, start=tuple(low), stop=tuple(high), step=(1,) * ct.ndim))
        low[axis] = high[axis]
    return found


def _concatenate_nested(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    if not any(x.op is concatenate and dict(x.params) == params for x in inputs):
        return None
    flat: list[Node] = []
    for x in inputs:
        flat.extend(x.inputs if x.op is concatenate and dict(x.params) == params else [x])
    return apply(trace, concatenate, *flat, **params)


def _concatenate_following(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    axis = params["axis"]
    joined: list[Node] = []
    for x in inputs:
        both = _joined_slices(trace, joined[-1], x, axis) if joined and x.op is slice_ else None
        if both is None:
            joined.append(x)
        else:
            joined[-1] = both
    return None if len(joined) == len(inputs) else apply(trace, concatenate, *joined, **params)


def _joined_slices(trace: Trace, x: Node, y: Node, axis: int) -> Node | None:
    """Return one slice for two of the same array of which the second begins where the first ends."""
    if x.op is not slice_ or x.inputs != y.inputs:
        return None
    first, then = dict(x.params), dict(y.params)
    step = first["step"][axis]
    follows = first["start"][axis] + step * x.type.shape[axis]
    apart = [(first[key][i], then[key][i]) for key in ("start", "stop") for i in range(x.type.ndim) if i != axis]
    if first["step"] != then["step"] or follows != then["start"][axis] or any(a != b for a, b in apart):
        return None
    return apply(trace, slice_, *x.inputs, start=first["start"], stop=then["stop"], step=first["step"])


concatenate: Primitive = linear(
    "concatenate",
    numpy=lambda *arrays, axis: np.concatenate([np.asarray(x) for x in arrays], axis),
    infer=concatenate_type,
    transpose=_concatenate_transpose,
    axes=concatenate_axes,
    adapt=moved_axis,
    operands=None,
    indexing=Indexing(joins=True),
    work=Work(cheap=True, few=lambda *types, axis: lambda *arrays: np.concatenate(arrays, axis)),
    doc="Join arrays along an axis.",
    laws=[
        Law(
            "one array alone is its own concatenation",
            "bitwise",
            lambda x: (concatenate(x, axis=0), x),
            ((2, 3),),
            lambda trace, inputs, params: inputs[0] if len(inputs) == 1 else None,
            complex="bitwise",
        ),
        Law(
            "a concatenation of concatenations is one",
            "bitwise",
            lambda x, y: (concatenate(concatenate(x, y, axis=0), x, axis=0), concatenate(x, y, x, axis=0)),
            ((2, 3), (1, 3)),
            _concatenate_nested,
            ("concatenate",),
            complex="bitwise",
        ),
        Law(
            "slices that follow one another are one",
            "bitwise",
            lambda x: (
                concatenate(
                    slice_(x, start=(1, 0), stop=(4, 3), step=(2, 2)),
                    slice_(x, start=(5, 0), stop=(6, 3), step=(2, 2)),
                    slice_(x, start=(0, 0), stop=(1, 3), step=(2, 2)),
                    axis=0,
                ),
                concatenate(
                    slice_(x, start=(1, 0), stop=(6, 3), step=(2, 2)),
                    slice_(x, start=(0, 0), stop=(1, 3), step=(2, 2)),
                    axis=0,
                ),
            ),
            ((7, 3),),
            _concatenate_following,
            ("slice",),
            complex="bitwise",
        ),
    ],
)
