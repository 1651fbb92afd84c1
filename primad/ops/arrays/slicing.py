"""Parts of arrays and arrays of parts, which are one another's transposes: slice, pad and concatenate."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.axes import AxisMap, Change, Strided, moved_axis
from primad.ir.node import LITERAL, Node, Trace, is_literal, literal_value
from primad.ops.arrays.broadcasting import broadcast, retyped
from primad.ops.arrays.reshaping import Shape
from primad.ops.record.fields import CHEAP, Law, MemoryUse
from primad.ops.record.kinds import linear
from primad.ops.record.primitive import Primitive, apply

__all__ = ["concatenate", "pad", "slice_"]


# -- slice -------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _slices(start: Shape, stop: Shape, step: Shape) -> tuple[slice, ...]:
    """Return an index of slices: many short programs take the same ones in each run."""
    return tuple([slice(a, b, s) for a, b, s in zip(start, stop, step, strict=True)])


def _slice(x: Any, *, start: Shape, stop: Shape, step: Shape) -> Any:
    return np.asarray(x)[_slices(start, stop, step)]


def _slice_type(x: ArrayType, *, start: Shape, stop: Shape, step: Shape) -> ArrayType:
    if not len(start) == len(stop) == len(step) == x.ndim:
        raise ShapeError(f"slice: bounds {start}, {stop}, {step} do not have the {x.ndim} axes of shape {x.shape}")
    if any(not (0 <= a <= b <= n and s > 0) for a, b, s, n in zip(start, stop, step, x.shape, strict=True)):
        raise ShapeError(f"slice: bounds {start}, {stop}, {step} are not inside shape {x.shape}")
    return ArrayType(tuple([-(-(b - a) // s) for a, b, s in zip(start, stop, step, strict=True)]), x.dtype)


def _slice_axes(x: ArrayType, *, start: Shape, stop: Shape, step: Shape) -> AxisMap:
    labels = tuple(
        [
            axis if (a, b, s) == (0, n, 1) else Strided(axis, a, s)
            for axis, (a, b, s, n) in enumerate(zip(start, stop, step, x.shape, strict=True))
        ]
    )
    return AxisMap((tuple(range(x.ndim)),), (labels,))


def _slice_adapt(change: Change, *, start: Shape, stop: Shape, step: Shape) -> dict[str, Any]:
    start, step = change.result.entries(start, 0), change.result.entries(step, 1)
    ends = zip(start, change.result.entries(stop, 0), step, change.result.shape, strict=True)
    return {"start": start, "stop": tuple([n if (a, s) == (0, 1) else b for a, b, s, n in ends]), "step": step}


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
    return retyped(trace, inputs, _slice_type(x.type, **params).shape) if x.op is LITERAL else None


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
    return apply(trace, broadcast, inner, shape=_slice_type(x.type, **params).shape, axes=axes)


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
    numpy=_slice,
    infer=_slice_type,
    transpose=[_slice_transpose],
    axes=_slice_axes,
    adapt=_slice_adapt,
    memory=MemoryUse(views=True),
    work=CHEAP,
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


@lru_cache(maxsize=4096)
def _padded(before: Shape, low: Shape, high: Shape, interior: Shape) -> tuple[Shape, tuple[slice, ...]]:
    """Return the shape of a padded array, and where in it the elements lie."""
    shape = tuple([a + b + n + max(0, n - 1) * i for a, b, i, n in zip(low, high, interior, before, strict=True)])
    return shape, tuple([slice(a, m - b, i + 1) for a, b, i, m in zip(low, high, interior, shape, strict=True)])


def _pad(x: Any, *, low: Shape, high: Shape, interior: Shape) -> Any:
    x = np.asarray(x)
    shape, places = _padded(x.shape, low, high, interior)
    out = np.zeros(shape, x.dtype)
    out[places] = x
    return out


def _pad_type(x: ArrayType, *, low: Shape, high: Shape, interior: Shape) -> ArrayType:
    if not len(low) == len(high) == len(interior) == x.ndim or any(n < 0 for n in (*low, *high, *interior)):
        raise ShapeError(f"pad: widths {low}, {high}, {interior} do not fit shape {x.shape}")
    sizes = zip(low, high, interior, x.shape, strict=True)
    return ArrayType(tuple([a + b + n + max(0, n - 1) * i for a, b, i, n in sizes]), x.dtype)


def _pad_transpose(ct: Any, x: Any, *, low: Shape, high: Shape, interior: Shape) -> Any:
    stop = tuple([m - b for m, b in zip(ct.shape, high, strict=True)])
    return slice_(ct, start=low, stop=stop, step=tuple([i + 1 for i in interior]))


def _pad_axes(x: ArrayType, *, low: Shape, high: Shape, interior: Shape) -> AxisMap:
    labels = tuple(
        [
            Strided(axis, a, i + 1) if a or b or i else axis
            for axis, (a, b, i) in enumerate(zip(low, high, interior, strict=True))
        ]
    )
    return AxisMap((labels,), (tuple(range(x.ndim)),))


def _pad_adapt(change: Change, **widths: Shape) -> dict[str, Any]:
    return {name: change.operand.entries(width, 0) for name, width in widths.items()}


def _pad_nothing(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (x,) = inputs
    if not any(params["low"]) and not any(params["high"]) and not any(params["interior"]):
        return x
    if is_literal(x, 0):
        return trace.literal(literal_value(x), _pad_type(x.type, **params))
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
    return apply(trace, broadcast, padded, shape=_pad_type(x.type, **params).shape, axes=axes)


pad: Primitive = linear(
    "pad",
    numpy=_pad,
    infer=_pad_type,
    transpose=[_pad_transpose],
    axes=_pad_axes,
    adapt=_pad_adapt,
    work=CHEAP,
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


def _concatenate_type(*types: ArrayType, axis: int) -> ArrayType:
    first = types[0]
    if not 0 <= axis < first.ndim:
        raise ShapeError(f"concatenate: axis {axis} is out of range for shape {first.shape}")
    for other in types:
        rest = other.shape[:axis] + other.shape[axis + 1 :]
        if (
            other.ndim != first.ndim
            or rest != first.shape[:axis] + first.shape[axis + 1 :]
            or other.dtype != first.dtype
        ):
            raise ShapeError(f"concatenate: {', '.join(map(str, types))} do not agree outside axis {axis}")
    length = sum(other.shape[axis] for other in types)
    return ArrayType((*first.shape[:axis], length, *first.shape[axis + 1 :]), first.dtype)


def _concatenate_transpose(ct: Any, *inputs: Any, axis: int) -> list[Any]:
    low = [0] * ct.ndim
    high = list(ct.shape)
    found = []
    for x in inputs:
        high[axis] = low[axis] + x.shape[axis]
        found.append(slice_(ct, start=tuple(low), stop=tuple(high), step=(1,) * ct.ndim))
        low[axis] = high[axis]
    return found


def _concatenate_axes(*types: ArrayType, axis: int) -> AxisMap:
    labels = tuple(range(types[0].ndim))
    starts = itertools.accumulate([x.shape[axis] for x in types[:-1]], initial=0)
    return AxisMap(
        tuple([(*labels[:axis], Strided(axis, start, 1), *labels[axis + 1 :]) for start in starts]), (labels,)
    )


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
    infer=_concatenate_type,
    transpose=_concatenate_transpose,
    axes=_concatenate_axes,
    adapt=moved_axis,
    operands=None,
    work=CHEAP,
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
