"""Linear ops that show the same elements in another shape or order: reshape, permute and flip."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.axes import AxisMap, Change, Factors, Strided, moved_axes
from primad.ir.node import LITERAL, Node, Trace
from primad.ops.arrays.broadcasting import broadcast, retyped
from primad.ops.record.fields import Law, MemoryUse, Work
from primad.ops.record.kinds import linear
from primad.ops.record.primitive import Primitive, apply

__all__ = ["flip", "permute", "reshape"]

Shape = tuple[int, ...]


# -- reshape -----------------------------------------------------------------------------------------------------------


def _reshape_type(x: ArrayType, *, shape: Shape) -> ArrayType:
    if math.prod(shape) != x.size or any(n < 0 for n in shape):
        raise ShapeError(
            f"reshape: an array of shape {x.shape} ({x.size} elements) cannot have shape {shape}",
            fix="give lengths whose product is the number of elements.",
        )
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


def _reshape_few(x: ArrayType, *, shape: Shape) -> Callable[[Any], Any]:
    """Return what reshapes arrays of one type; a number is read: NumPy's functions take a tenth of the time for it."""
    return methodcaller("reshape", shape) if shape or not x.ndim else itemgetter((0,) * x.ndim)


reshape: Primitive = linear(
    "reshape",
    numpy=lambda x, *, shape: np.asarray(x).reshape(shape),
    infer=_reshape_type,
    transpose=[lambda ct, x, *, shape: reshape(ct, shape=x.shape)],
    axes=_reshape_axes,
    adapt=lambda change, *, shape: {"shape": change.result.shape},
    memory=MemoryUse(views=True),
    work=Work(cheap=True, few=_reshape_few),
    doc="Give the elements, in row-major order, another shape.",
    laws=[
        Law(
            "a reshape to the same shape does nothing",
            "bitwise",
            lambda x: (reshape(x, shape=(2, 3)), x),
            ((2, 3),),
            _reshape_same,
            complex="bitwise",
        ),
        Law(
            "two reshapes are one",
            "bitwise",
            lambda x: (reshape(reshape(x, shape=(6,)), shape=(3, 2)), reshape(x, shape=(3, 2))),
            ((2, 3),),
            _reshape_twice,
            ("reshape",),
            complex="bitwise",
        ),
    ],
)


# -- permute -----------------------------------------------------------------------------------------------------------


def _permute_type(x: ArrayType, *, order: Shape) -> ArrayType:
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(
            f"permute: order {order} is not a permutation of the axes of shape {x.shape}",
            fix="name every axis of the operand once.",
        )
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
    memory=MemoryUse(views=True),
    work=Work(cheap=True, few=lambda x, *, order: methodcaller("transpose", order)),
    doc="Reorder the axes: axis i of the result is axis order[i] of x.",
    laws=[
        Law(
            "the identity permutation does nothing",
            "bitwise",
            lambda x: (permute(x, order=(0, 1)), x),
            ((2, 3),),
            _permute_nothing,
            complex="bitwise",
        ),
        Law(
            "two permutations are one",
            "bitwise",
            lambda x: (permute(permute(x, order=(1, 2, 0)), order=(2, 1, 0)), permute(x, order=(0, 2, 1))),
            ((2, 3, 4),),
            _permute_twice,
            ("permute",),
            complex="bitwise",
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
            complex="bitwise",
        ),
    ],
)


# -- flip --------------------------------------------------------------------------------------------------------------


def _flip_type(x: ArrayType, *, axes: Shape) -> ArrayType:
    if any(not 0 <= axis < x.ndim for axis in axes):
        raise ShapeError(
            f"flip: axes {axes} are out of range for shape {x.shape}", fix="name axes of the operand, each once."
        )
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


def reversing(ndim: int, axes: Shape) -> tuple[slice, ...]:
    """Return the index that reverses the order of elements along axes."""
    return tuple([slice(None, None, -1) if axis in axes else slice(None) for axis in range(ndim)])


flip: Primitive = linear(
    "flip",
    numpy=lambda x, *, axes: np.flip(x, axes),
    infer=_flip_type,
    transpose=[lambda ct, x, *, axes: flip(ct, axes=axes)],
    axes=_flip_axes,
    adapt=moved_axes,
    memory=MemoryUse(views=True),
    work=Work(cheap=True, few=lambda x, *, axes: itemgetter(reversing(x.ndim, axes))),
    doc="Reverse the order of elements along axes.",
    laws=[
        Law(
            "two flips cancel",
            "bitwise",
            lambda x: (flip(flip(x, axes=(0, 1)), axes=(0, 1)), x),
            ((2, 3),),
            _flip_back,
            ("flip",),
            complex="bitwise",
        ),
        Law("a flip over no axis does nothing", "bitwise", lambda x: (flip(x, axes=()), x), ((2, 3),), _flip_nothing),
    ],
)
