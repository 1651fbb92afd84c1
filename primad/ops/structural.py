"""Linear ops that move elements: reshape, permute, slice, pad, concatenate and flip."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from primad.axes import AxisMap, Change, Factors, Strided, moved_axes, moved_axis
from primad.errors import ShapeError
from primad.ir.node import LITERAL, Node, Trace, is_literal, literal_value
from primad.kinds import linear
from primad.ops.broadcasting import broadcast, retyped
from primad.primitive import Law, Primitive, apply
from primad.types import ArrayType

__all__ = ["concatenate", "flip", "pad", "permute", "reshape", "slice_"]

Shape = tuple[int, ...]


# -- reshape -----------------------------------------------------------------------------------------------------------


def _reshape_type(x: ArrayType, *, shape: Shape) -> ArrayType:
    if math.prod(shape) != x.size or any(n < 0 for n in shape):
        raise ShapeError(f"reshape: an array of shape {x.shape} ({x.size} elements) cannot have shape {shape}")
    return ArrayType(shape, x.dtype)


def _spans(shape: Shape) -> list[tuple[int, int]]:
    """Return, for each axis, how many elements one step along it passes, and how many all of it has."""
    spans, below = [], 1
    for n in reversed(shape):
        spans.append((below, below * n))
        below *= n
    return spans[::-1]


def _reshape_axes(x: ArrayType, *, shape: Shape) -> AxisMap:
    """Name the indices that axes of both shapes are made of.

    The elements stay in row-major order, so an index is a pair of numbers: how many elements a step passes, and how
    many all steps do. Where these do not divide one another, as in (4, 6) → (6, 4), axes are mixed.
    """
    both = [_spans(x.shape), _spans(shape)]
    if x.size == 0:
        return AxisMap(((None,) * x.ndim,), ((None,) * len(shape),))
    ends = [{1, x.size}.union(*spans) for spans in both]
    cuts = sorted(ends[0] | ends[1])
    pieces = list(itertools.pairwise(cuts))
    shared = sorted(ends[0] & ends[1])
    broken = {
        (low, high)
        for low, high in itertools.pairwise(shared)
        if any(b % a for a, b in pieces if low <= a and b <= high)
    }

    def label(span: tuple[int, int]) -> Any:
        low, high = span
        if any(a <= low and high <= b for a, b in broken):
            return None
        own = [(a, b) for a, b in reversed(pieces) if low <= a and b <= high]
        return own[0] if len(own) == 1 else Factors(tuple(own), tuple([b // a for a, b in own]))

    found = [[label(span) if span[0] != span[1] else None for span in spans] for spans in both]
    for place in cuts:  # axes of length 1 go with those that stand at the same place
        lonely = [[axis for axis, span in enumerate(spans) if span == (place, place)] for spans in both]
        for number, (i, j) in enumerate(zip(*lonely, strict=False)):
            found[0][i] = found[1][j] = (place, place, number)
    return AxisMap((tuple(found[0]),), (tuple(found[1]),))


def _reshape_same(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    return inputs[0] if params["shape"] == inputs[0].type.shape else retyped(trace, inputs, params["shape"])


def _reshape_twice(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    return apply(trace, reshape, inputs[0].inputs[0], **params) if inputs[0].op is reshape else None


reshape: Primitive = linear(
    "reshape",
    numpy=lambda x, *, shape: np.reshape(x, shape),
    infer=_reshape_type,
    transpose=[lambda ct, x, *, shape: reshape(ct, shape=x.shape)],
    axes=_reshape_axes,
    adapt=lambda change, *, shape: {"shape": change.result.shape},
    views=True,
    doc="Give the elements, in row-major order, another shape.",
    laws=[
        Law(
            "a reshape to the same shape does nothing",
            "bitwise",
            lambda x: (reshape(x, shape=(2, 3)), x),
            ((2, 3),),
            _reshape_same,
        ),
        Law(
            "two reshapes are one",
            "bitwise",
            lambda x: (reshape(reshape(x, shape=(6,)), shape=(3, 2)), reshape(x, shape=(3, 2))),
            ((2, 3),),
            _reshape_twice,
            ("reshape",),
        ),
    ],
)


# -- permute -----------------------------------------------------------------------------------------------------------


def _permute_type(x: ArrayType, *, order: Shape) -> ArrayType:
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(f"permute: order {order} is not a permutation of the axes of shape {x.shape}")
    return ArrayType(tuple([x.shape[axis] for axis in order]), x.dtype)


def _permute_adapt(change: Change, *, order: Shape) -> dict[str, Any]:
    return {"order": tuple([change.operand.place(axis) for axis in change.result.entries(order, None)])}


def inverse_order(order: Shape) -> Shape:
    """Return the permutation that undoes `order`."""
    inverse = [0] * len(order)
    for new, old in enumerate(order):
        inverse[old] = new
    return tuple(inverse)


def _permute_nothing(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    order = params["order"]
    if order == tuple(range(len(order))):
        return inputs[0]
    return retyped(trace, inputs, tuple([inputs[0].type.shape[axis] for axis in order]))


def _permute_twice(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (x,) = inputs
    if x.op is not permute:
        return None
    first = dict(x.params)["order"]
    return apply(trace, permute, x.inputs[0], order=tuple([first[axis] for axis in params["order"]]))


def _permute_broadcast(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (x,) = inputs
    if x.op is not broadcast:
        return None
    new = dict(x.params)["axes"]
    order = params["order"]
    old = [axis for axis in range(x.type.ndim) if axis not in new]
    inner = tuple([old.index(axis) for axis in order if axis not in new])
    shape = tuple([x.type.shape[axis] for axis in order])
    axes = tuple([i for i, axis in enumerate(order) if axis in new])
    return apply(trace, broadcast, apply(trace, permute, x.inputs[0], order=inner), shape=shape, axes=axes)


permute: Primitive = linear(
    "permute",
    numpy=lambda x, *, order: np.transpose(x, order),
    infer=_permute_type,
    transpose=[lambda ct, x, *, order: permute(ct, order=inverse_order(order))],
    axes=lambda x, *, order: AxisMap((tuple(range(x.ndim)),), (order,)),
    adapt=_permute_adapt,
    views=True,
    doc="Reorder the axes: axis i of the result is axis order[i] of x.",
    laws=[
        Law(
            "the identity permutation does nothing",
            "bitwise",
            lambda x: (permute(x, order=(0, 1)), x),
            ((2, 3),),
            _permute_nothing,
        ),
        Law(
            "two permutations are one",
            "bitwise",
            lambda x: (permute(permute(x, order=(1, 2, 0)), order=(2, 1, 0)), permute(x, order=(0, 2, 1))),
            ((2, 3, 4),),
            _permute_twice,
            ("permute",),
        ),
        Law(
            "a broadcast is outermost: permute",
            "bitwise",
            lambda x: (
                permute(broadcast(x, shape=(2, 3, 4), axes=(1,)), order=(2, 1, 0)),
                broadcast(permute(x, order=(1, 0)), shape=(4, 3, 2), axes=(1,)),
            ),
            ((2, 4),),
            _permute_broadcast,
            ("broadcast",),
        ),
    ],
)


# -- slice and pad -----------------------------------------------------------------------------------------------------


def _slice(x: Any, *, start: Shape, stop: Shape, step: Shape) -> Any:
    return np.asarray(x)[tuple([slice(a, b, s) for a, b, s in zip(start, stop, step, strict=True)])]


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


slice_: Primitive = linear(
    "slice",
    numpy=_slice,
    infer=_slice_type,
    transpose=[_slice_transpose],
    axes=_slice_axes,
    adapt=_slice_adapt,
    views=True,
    doc="Take start:stop:step of each axis (steps are positive; flip reverses).",
    laws=[
        Law(
            "a full slice does nothing",
            "bitwise",
            lambda x: (slice_(x, start=(0, 0), stop=(2, 3), step=(1, 1)), x),
            ((2, 3),),
            _slice_nothing,
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
        ),
    ],
)


def _pad(x: Any, *, low: Shape, high: Shape, interior: Shape) -> Any:
    x = np.asarray(x)
    shape = tuple([a + b + n + max(0, n - 1) * i for a, b, i, n in zip(low, high, interior, x.shape, strict=True)])
    out = np.zeros(shape, x.dtype)
    out[tuple([slice(a, m - b, i + 1) for a, b, i, m in zip(low, high, interior, shape, strict=True)])] = x
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


pad: Primitive = linear(
    "pad",
    numpy=_pad,
    infer=_pad_type,
    transpose=[_pad_transpose],
    axes=_pad_axes,
    adapt=_pad_adapt,
    doc="Put zeros before (low), after (high) and between (interior) the elements of each axis.",
    laws=[
        Law(
            "padding by nothing does nothing",
            "bitwise",
            lambda x: (pad(x, low=(0, 0), high=(0, 0), interior=(0, 0)), x),
            ((2, 3),),
            _pad_nothing,
        )
    ],
)


# -- concatenate and flip ----------------------------------------------------------------------------------------------


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


concatenate: Primitive = linear(
    "concatenate",
    numpy=lambda *arrays, axis: np.concatenate([np.asarray(x) for x in arrays], axis),
    infer=_concatenate_type,
    transpose=_concatenate_transpose,
    axes=_concatenate_axes,
    adapt=moved_axis,
    operands=None,
    doc="Join arrays along an axis.",
    laws=[
        Law(
            "one array alone is its own concatenation",
            "bitwise",
            lambda x: (concatenate(x, axis=0), x),
            ((2, 3),),
            lambda trace, inputs, params: inputs[0] if len(inputs) == 1 else None,
        ),
        Law(
            "a concatenation of concatenations is one",
            "bitwise",
            lambda x, y: (concatenate(concatenate(x, y, axis=0), x, axis=0), concatenate(x, y, x, axis=0)),
            ((2, 3), (1, 3)),
            _concatenate_nested,
            ("concatenate",),
        ),
    ],
)


def _flip_type(x: ArrayType, *, axes: Shape) -> ArrayType:
    if any(not 0 <= axis < x.ndim for axis in axes):
        raise ShapeError(f"flip: axes {axes} are out of range for shape {x.shape}")
    return x


def _flip_axes(x: ArrayType, *, axes: Shape) -> AxisMap:
    labels = tuple([Strided(axis, n - 1, -1) if axis in axes else axis for axis, n in enumerate(x.shape)])
    return AxisMap((tuple(range(x.ndim)),), (labels,))


def _flip_nothing(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (x,) = inputs
    return x if not params["axes"] or x.op is LITERAL else None


def _flip_back(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (x,) = inputs
    return x.inputs[0] if x.op is flip and dict(x.params) == params else None


flip: Primitive = linear(
    "flip",
    numpy=lambda x, *, axes: np.flip(x, axes),
    infer=_flip_type,
    transpose=[lambda ct, x, *, axes: flip(ct, axes=axes)],
    axes=_flip_axes,
    adapt=moved_axes,
    views=True,
    doc="Reverse the order of elements along axes.",
    laws=[
        Law(
            "two flips cancel",
            "bitwise",
            lambda x: (flip(flip(x, axes=(0, 1)), axes=(0, 1)), x),
            ((2, 3),),
            _flip_back,
            ("flip",),
        ),
        Law("a flip over no axis does nothing", "bitwise", lambda x: (flip(x, axes=()), x), ((2, 3),), _flip_nothing),
    ],
)
