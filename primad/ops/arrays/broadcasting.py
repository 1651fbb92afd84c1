"""Broadcast and sum, each the transpose of the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, array_type
from primad.ir.axes import AxisMap, Change, moved_axes
from primad.ir.node import LITERAL, Node, Trace, literal_value
from primad.ir.program import Cost
from primad.ops.arrays.generators import eye, identity
from primad.ops.blocked.blocked_reductions import reduction
from primad.ops.blocked.groups import GROUP, RunningSums, sum_along
from primad.ops.blocked.pieces import Each, in_order
from primad.ops.elementwise.literals import may_round
from primad.ops.record.fields import Law, MemoryUse, Outermost, Rewrite, Work
from primad.ops.record.kinds import linear
from primad.ops.record.primitive import Primitive, apply
from primad.recording.traced_array import TracedArray
from primad.system.machine import STREAMED_BYTES

__all__ = ["broadcast", "sum"]

Shape = tuple[int, ...]


def retyped(trace: Trace, inputs: tuple[Node, ...], shape: Shape) -> Node | None:
    """A literal fills its array, so moving its elements only changes its type."""
    if inputs[0].op is LITERAL:
        return trace.literal(literal_value(inputs[0]), array_type(shape, inputs[0].type.dtype))
    return None


def _broadcast(x: Any, *, shape: Shape, axes: Shape) -> Any:
    x = np.asarray(x)
    kept = iter(x.strides)
    strides = [0 if axis in axes else next(kept) for axis in range(len(shape))]
    if x.flags.c_contiguous and x.size:  # a tenth of the time that NumPy's function takes
        found: Any = np.ndarray(shape, x.dtype, x, 0, strides)
        found.flags.writeable = False
        return found
    return np.broadcast_to(np.expand_dims(x, axes), shape)


def _broadcast_few(x: ArrayType, *, shape: Shape, axes: Shape) -> Callable[[Any], Any] | None:
    """Return what repeats a number."""
    strides, dtype = (0,) * len(shape), x.dtype
    return None if x.shape else lambda x: np.ndarray(shape, dtype, x, 0, strides)


def _broadcast_type(x: ArrayType, *, shape: Shape, axes: Shape) -> ArrayType:
    if any(not 0 <= axis < len(shape) for axis in axes) or len(set(axes)) != len(axes):
        raise ShapeError(
            f"broadcast: new axes {axes} do not fit the shape {shape}",
            fix="name each new axis once, by its place in the result.",
        )
    if x.shape != tuple([n for axis, n in enumerate(shape) if axis not in axes]):
        raise ShapeError(
            f"broadcast: shape {x.shape} with new axes {axes} does not give {shape}",
            fix="give the operand's lengths at the old axes, and any at the new ones.",
        )
    return ArrayType(shape, x.dtype)


@lru_cache(maxsize=1024)
def _axis_map(ndim: int, axes: Shape, made: bool) -> AxisMap:
    """Return the map of an op that makes axes, or of one that sums over them."""
    labels = tuple(range(ndim))
    rest = tuple([axis for axis in labels if axis not in axes])
    return AxisMap((rest,), (labels,)) if made else AxisMap((labels,), (rest,))


def _broadcast_adapt(change: Change, *, shape: Shape, axes: Shape) -> dict[str, Any]:
    return {"shape": change.result.shape, "axes": change.result.places(axes)}


def _broadcast_nothing(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    return inputs[0] if not params["axes"] else retyped(trace, inputs, params["shape"])


def _broadcast_twice(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (x,) = inputs
    if x.op is not broadcast:
        return None
    kept = [axis for axis in range(len(params["shape"])) if axis not in params["axes"]]
    inner = [kept[axis] for axis in dict(x.params)["axes"]]
    return apply(trace, broadcast, x.inputs[0], shape=params["shape"], axes=tuple(sorted([*params["axes"], *inner])))


def _leave_pointwise(op: Primitive, operands: Sequence[Any]) -> Rewrite | None:
    """Pointwise ops commute with broadcasts: compute on the smaller arrays, then broadcast the result."""
    if not op.axes.pointwise or not all(x is broadcast or x is LITERAL for x in operands):
        return None
    return partial(_outermost, op)


def _outermost(op: Primitive, trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """Broadcast the result of a pointwise op, not its operands.

    `f(broadcast(x), broadcast(y)) = broadcast(f(x, y))` along the axes that are new in every operand; literals are
    constant along all axes. Equal bit for bit. It is the second half of the law that carries the forward Laplacian.
    """
    common: set[int] | None = None
    for node in inputs:
        if node.op is LITERAL:
            continue
        axes = set(dict(node.params)["axes"])
        common = axes if common is None else common & axes
    if not common:
        return None
    shape = inputs[0].type.shape
    small_shape = tuple([n for axis, n in enumerate(shape) if axis not in common])
    small = [_without_axes(trace, node, common, small_shape) for node in inputs]
    return apply(trace, broadcast, apply(trace, op, *small, **params), shape=shape, axes=tuple(sorted(common)))


def _without_axes(trace: Trace, node: Node, common: set[int], shape: tuple[int, ...]) -> Node:
    if node.op is LITERAL:
        return trace.literal(literal_value(node), ArrayType(shape, node.type.dtype))
    kept = [axis for axis in dict(node.params)["axes"] if axis not in common]
    if not kept:
        return node.inputs[0]
    left = [axis for axis in range(node.type.ndim) if axis not in common]
    moved = tuple([left.index(axis) for axis in kept])
    return apply(trace, broadcast, node.inputs[0], shape=shape, axes=moved)


broadcast: Primitive = linear(
    "broadcast",
    numpy=_broadcast,
    infer=_broadcast_type,
    transpose=[lambda ct, x, *, shape, axes: sum(ct, axes=axes)],
    axes=lambda x, *, shape, axes: _axis_map(len(shape), axes, made=True),
    adapt=_broadcast_adapt,
    memory=MemoryUse(views=True),
    outermost=Outermost(1, _leave_pointwise),
    work=Work(cheap=True, few=_broadcast_few),
    doc="Repeat an array along the new axes `axes` of `shape`.",
    laws=[
        Law(
            "broadcasting along no axis does nothing",
            "bitwise",
            lambda x: (broadcast(x, shape=(2, 3), axes=()), x),
            ((2, 3),),
            _broadcast_nothing,
            complex="bitwise",
        ),
        Law(
            "two broadcasts are one",
            "bitwise",
            lambda x: (
                broadcast(broadcast(x, shape=(2, 3), axes=(0,)), shape=(2, 4, 3), axes=(1,)),
                broadcast(x, shape=(2, 4, 3), axes=(0, 1)),
            ),
            ((3,),),
            _broadcast_twice,
            ("broadcast",),
            complex="bitwise",
        ),
    ],
)


def widen(x: Any, size: int) -> Any:
    """Give an array a leading axis along which it is constant."""
    return broadcast(x, shape=(size, *x.shape), axes=(0,))


# -- sum ---------------------------------------------------------------------------------------------------------------


SHORT = 64
"""Elements of the last axes that are added one array after the other, at most. Tuned with average pooling, which takes
a tenth of the time so; NumPy adds along short axes slowly, and along long ones as fast. The last bits of results depend
on it."""


def _sum(x: Any, *, axes: Shape, each: Each = in_order) -> Any:
    x = np.asarray(x)
    first = x.ndim - len(axes)
    last = bool(axes) and first > 0 and tuple(axes) == tuple(range(first, x.ndim))
    if last and not x.flags.c_contiguous and math.prod(x.shape[first:]) <= SHORT <= x.shape[first - 1]:
        return _sum_of_arrays(x, first)
    return reduction(np.add, x, axes=axes, each=each)


def _sum_few(x: ArrayType, *, axes: Shape) -> Callable[[Any], Any] | None:
    """Return what adds up all elements."""
    if len(axes) != x.ndim or x.nbytes >= STREAMED_BYTES:
        return None
    dtype = x.dtype
    if x.size > GROUP:
        return lambda x: sum_along(x, axes)
    axis = axes[0] if len(axes) == 1 else axes
    return lambda x: np.add.reduce(x, axis, dtype)


def _sum_of_arrays(x: Any, first: int) -> Any:
    """Add the arrays x[…, i, j], of which there are few: NumPy would run its inner loop along the short axes."""
    total = RunningSums(1)
    for index in np.ndindex(x.shape[first:]):
        part = x[(..., *index)]
        total.add(0, part if total.of_group(0) is not None else part.copy())
        total.turn()
    return total.ended()[0]


def _sum_type(x: ArrayType, *, axes: Shape) -> ArrayType:
    if any(not 0 <= axis < x.ndim for axis in axes) or len(set(axes)) != len(axes):
        raise ShapeError(
            f"sum: axes {axes} are out of range for shape {x.shape}", fix="name axes of the operand, each once."
        )
    if x.dtype.kind == "b":
        raise ShapeError("sum: cannot sum booleans; cast them first", fix="cast booleans to int64 or float64.")
    return ArrayType(tuple([n for axis, n in enumerate(x.shape) if axis not in axes]), x.dtype)


def _sum_nothing(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    return None if params["axes"] else inputs[0]


def _sum_twice(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (x,) = inputs
    if x.op is not sum:
        return None
    inner = dict(x.params)["axes"]
    kept = [axis for axis in range(x.inputs[0].type.ndim) if axis not in inner]
    return apply(trace, sum, x.inputs[0], axes=tuple(sorted([*inner, *(kept[axis] for axis in params["axes"])])))


def _sum_broadcast(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """Summing n equal terms is multiplying by n."""
    (x,) = inputs
    if not x.type.is_float or (x.op is not broadcast and x.op is not LITERAL):
        return None
    new = dict(x.params)["axes"] if x.op is broadcast else tuple(range(x.type.ndim))
    both = [axis for axis in params["axes"] if axis in new]
    if not both:
        return None
    count = math.prod([x.type.shape[axis] for axis in both])
    if count == 0:  # the sum of no terms is 0, whatever they would be
        return trace.literal(0, _sum_type(x.type, **params))
    shape = tuple([n for axis, n in enumerate(x.type.shape) if axis not in both])
    shift = {axis: position for position, axis in enumerate([a for a in range(x.type.ndim) if a not in both])}
    if x.op is LITERAL:
        if not may_round(np.multiply, literal_value(x), count, literal_value(x) * count):
            return None
        smaller = trace.literal(literal_value(x) * count, ArrayType(shape, x.type.dtype))
    else:
        small = x.inputs[0]
        if count != 1:
            small = TracedArray(small).__mul__(float(count)).node
        smaller = apply(
            trace, broadcast, small, shape=shape, axes=tuple([shift[axis] for axis in new if axis not in both])
        )
    return apply(trace, sum, smaller, axes=tuple([shift[axis] for axis in params["axes"] if axis not in both]))


def _sum_identity(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    (x,) = inputs
    if x.op is not eye or len(params["axes"]) != 2:
        return None
    return trace.literal(float(x.type.shape[0]), ArrayType((), x.type.dtype))


def _sum_diagonal(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """The zeros beside the diagonal are those of the seeds."""
    axes = params["axes"]
    for x, y in (inputs[0].inputs, inputs[0].inputs[::-1]) if len(inputs[0].inputs) == 2 else ():
        if x.op is eye and y.op is broadcast and len(dict(y.params)["axes"]) == 1:
            vector = y.inputs[0]
            return vector if len(axes) == 1 else apply(trace, sum, vector, axes=(0,))
    return None


sum: Primitive = linear(
    "sum",
    numpy=_sum,
    infer=_sum_type,
    transpose=[lambda ct, x, *, axes: broadcast(ct, shape=x.shape, axes=axes)],
    axes=lambda x, *, axes: _axis_map(x.ndim, axes, made=False),
    adapt=moved_axes,
    memory=MemoryUse(each=True),
    work=Work(flops=lambda node: Cost(node.inputs[0].type.size, 0, node.type.nbytes, 1), few=_sum_few),
    doc="Add up along axes.",
    laws=[
        Law(
            "a sum over no axis does nothing",
            "real",
            lambda x: (sum(x, axes=()), x),
            ((2, 3),),
            _sum_nothing,
            complex="real",
        ),
        Law(
            "two sums are one",
            "real",
            lambda x: (sum(sum(x, axes=(1,)), axes=(0,)), sum(x, axes=(0, 1))),
            ((2, 3, 4),),
            _sum_twice,
            ("sum",),
            complex="real",
        ),
        Law(
            "summing n equal terms is multiplying by n",
            "real",
            lambda x: (sum(broadcast(x, shape=(4, 3), axes=(0,)), axes=(0,)), x * 4.0),
            ((3,),),
            _sum_broadcast,
            ("broadcast", "literal"),
        ),
        Law(
            "the identity matrix adds up to its length",
            "bitwise",
            lambda x: (sum(identity(x, 3), axes=(0, 1)) * x, 3.0 * x),
            ((),),
            _sum_identity,
            ("eye",),
            complex="real",
        ),
        Law(
            "a diagonal matrix adds up to its diagonal",
            "finite",
            lambda x: (sum(broadcast(x, shape=(3, 3), axes=(0,)) * identity(x, 3), axes=(0,)), x),
            ((3,),),
            _sum_diagonal,
            ("mul",),
            complex="finite",
        ),
    ],
)
