"""Drawing random programs over all ops: shared nodes, unused inputs, repeated outputs, operands inside domains."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from primad import nn, ops
from primad import numpy as pnp
from primad.ir.program import Program
from primad.primitive import Primitive
from primad.trace import TracedArray, lift, trace
from primad.types import ArrayType
from primad.verify.cases import Choices

SHAPES = ((), (2,), (3,), (2, 2), (1, 2))
COMPOSITES: dict[str, Primitive] = {record.name: record for record in (*pnp.COMPOSITES, *nn.COMPOSITES)}


class Pool:
    """The values of a program that is being drawn."""

    def __init__(self, choose: Choices, inputs: list[Any]) -> None:
        self.choose = choose
        self.values = list(inputs)

    def any(self) -> Any:
        """Return a value; later ones are chosen more often, so that programs are deep."""
        recent = self.values[-3:]
        return self.choose.among(recent if self.choose.integer(0, 2) else self.values)

    def axes(self) -> Any:
        """Return a value with at least one axis."""
        x = self.any()
        return x if x.ndim else ops.broadcast(x, shape=(2,), axes=(0,))

    def like(self, x: Any) -> Any:
        """Return a value of the same shape as x: an existing one, or another summed and broadcast."""
        same = [x, *(value for value in self.values if value.shape == x.shape)]
        y = self.any() if self.choose.integer(0, 2) == 0 else self.choose.among(same)
        if y.shape == x.shape:
            return y
        total = ops.sum(y, axes=tuple(range(y.ndim)))
        return ops.broadcast(total, shape=x.shape, axes=tuple(range(x.ndim)))

    def axis(self, x: Any) -> int:
        """Return one of the axes of x."""
        return self.choose.integer(0, x.ndim - 1)


def tame(x: Any) -> Any:
    """Bring a value into (−1, 1)."""
    return ops.sin(x)


def positive(x: Any) -> Any:
    """Make a value positive and not small."""
    return 0.5 + x * x


Step = Callable[[Pool], Any]


def _unary(op: Callable[[Any], Any], lift: Callable[[Any], Any] = lambda x: x) -> Step:
    return lambda pool: op(lift(pool.any()))


def _binary(
    op: Primitive,
    left: Callable[[Any], Any] = lambda x: x,
    right: Callable[[Any], Any] = lambda x: x,
    **params: Any,
) -> Step:
    def step(pool: Pool) -> Any:
        x = pool.any()
        return op(left(x), right(pool.like(x)), **params)

    return step


def _condition(combine: Callable[[Any, Any], Any]) -> Step:
    """A comparison, used in a choice."""

    def step(pool: Pool) -> Any:
        x = pool.any()
        y = pool.like(x)
        return ops.select(combine(x, y), x, pool.like(x))

    return step


def _masked(pool: Pool) -> Any:
    x = pool.any()
    return ops.mask(x > 0, pool.like(x))


def _reduction(op: Primitive, lift: Callable[[Any], Any] = lambda x: x, **params: Any) -> Step:
    def step(pool: Pool) -> Any:
        x = pool.axes()
        if op.name in ("var", "std", "norm") and all(n == 1 for n in x.shape):
            x = ops.concatenate(x, 2.0 * x, axis=0)
        axes = (pool.axis(x),) if pool.choose.integer(0, 1) else tuple(range(x.ndim))
        if op.name in ("var", "std") and any(x.shape[axis] == 1 for axis in axes):
            axes = tuple(range(x.ndim))
        return op(lift(x), axes=axes, **params)

    return step


def _along(op: Primitive, **params: Any) -> Step:
    def step(pool: Pool) -> Any:
        x = pool.axes()
        return op(x, axis=pool.axis(x), **params)

    return step


def _broadcast(pool: Pool) -> Any:
    x = pool.any()
    axis = pool.choose.integer(0, x.ndim)
    if x.ndim > 2:
        return ops.sum(x, axes=(0,))
    return ops.broadcast(x, shape=(*x.shape[:axis], 2, *x.shape[axis:]), axes=(axis,))


def _flat(pool: Pool) -> Any:
    x = pool.any()
    return ops.reshape(x, shape=(x.size,))


def _permute(pool: Pool) -> Any:
    x = pool.any()
    return ops.permute(x, order=tuple(reversed(range(x.ndim))))


def _slice(pool: Pool) -> Any:
    x = pool.axes()
    start = tuple(pool.choose.integer(0, n - 1) for n in x.shape)
    return ops.slice_(x, start=start, stop=x.shape, step=tuple(pool.choose.integer(1, 2) for _ in x.shape))


def _pad(pool: Pool) -> Any:
    x = pool.axes()
    low, interior = (tuple(pool.choose.integer(0, 1) for _ in x.shape) for _ in range(2))
    return ops.pad(x, low=low, high=(0,) * x.ndim, interior=interior)


def _concatenate(pool: Pool) -> Any:
    x = pool.axes()
    return ops.concatenate(x, pool.like(x), axis=pool.axis(x))


def _flip(pool: Pool) -> Any:
    x = pool.axes()
    return ops.flip(x, axes=(pool.axis(x),))


def _argsort(pool: Pool) -> Any:
    x = pool.axes()
    flat = ops.reshape(x, shape=(x.size,))
    return ops.gather(ops.reshape(pool.like(x), shape=(x.size,)), ops.argsort(flat, axis=0), axis=0, batch=0)


def _gather(pool: Pool) -> Any:
    x = pool.axes()
    axis = pool.axis(x)
    return ops.gather(x, _indices(pool, x.shape[axis], pool.choose.integer(1, 3)), axis=axis, batch=0)


def _scatter_add(pool: Pool) -> Any:
    x = pool.axes()
    axis = pool.axis(x)
    return ops.scatter_add(x, _indices(pool, 2, x.shape[axis]), axis=axis, batch=0, size=2)


def _indices(pool: Pool, n: int, count: int) -> Any:
    return np.array([pool.choose.integer(0, n - 1) for _ in range(count)])


def _contract(pool: Pool) -> Any:
    x = pool.axes()
    y = pool.like(x)
    labels = {1: ("a,a->", "a,b->ab", "a,a->a"), 2: ("ab,ab->a", "ab,cb->ac", "ab,ab->ba")}.get(x.ndim)
    return ops.contract(x, y, labels=pool.choose.among(labels)) if labels else x * y


def _matmul(pool: Pool) -> Any:
    x = pool.axes()
    y = pool.like(x)
    return COMPOSITES["matmul"](x, ops.permute(y, order=tuple(reversed(range(y.ndim)))) if x.ndim == 2 else y)


def _square_matrix(name: str, **params: Any) -> Step:
    def step(pool: Pool) -> Any:
        x = pool.axes()
        flat = ops.reshape(x, shape=(x.size,))
        return COMPOSITES[name](COMPOSITES["outer"](flat, flat), **params)

    return step


def _leaf(op: Primitive, like: Any, **params: Any) -> Any:
    return TracedArray(like.node.trace.build(op, (), tuple(sorted(params.items()))))


def _eye(pool: Pool) -> Any:
    x = pool.axes()
    flat = ops.reshape(x, shape=(x.size,))
    return COMPOSITES["outer"](flat, flat) * _leaf(ops.eye, x, n=x.size, dtype="float64")


def _iota(pool: Pool) -> Any:
    x = pool.any()
    flat = ops.reshape(x, shape=(x.size,))
    return flat * _leaf(ops.iota, x, n=x.size, dtype="float64")


def _truncate(pool: Pool) -> Any:
    x = pool.any()
    return pool.like(x) * ops.cast(ops.truncate(x, dtype="int64"), dtype="float64")


def _cast(pool: Pool) -> Any:
    return ops.cast(ops.cast(pool.any(), dtype="float32"), dtype="float64")


def _cumsum(pool: Pool) -> Any:
    return _along(ops.cumsum, reverse=bool(pool.choose.integer(0, 1)))(pool)


def _power(pool: Pool) -> Any:
    x = pool.any()
    if pool.choose.integer(0, 1):
        return ops.power(positive(tame(x)), tame(pool.like(x)))
    return ops.power(positive(tame(x)), pool.choose.among((2.0, 0.5, -1.0, 3.0, 2.5)))


def _diag(pool: Pool) -> Any:
    x = pool.axes()
    return COMPOSITES["diag"](ops.reshape(x, shape=(x.size,)), k=pool.choose.integer(-1, 1))


def _outer(pool: Pool) -> Any:
    x = pool.any()
    return COMPOSITES["outer"](x, pool.any())


def _keyed(pool: Pool, like: Any) -> Any:
    return TracedArray(lift(np.int64(pool.choose.integer(0, 3)), like.node.trace))


def _draw(pool: Pool) -> Any:
    x = pool.any()
    return x * ops.draw(_keyed(pool, x), shape=x.shape, dtype="float64")


def _dropout(pool: Pool) -> Any:
    x = pool.any()
    return COMPOSITES["dropout"](x, _keyed(pool, x), rate=0.5)


def _one_hot(pool: Pool) -> Any:
    x = pool.axes()
    indices = TracedArray(lift(_indices(pool, x.shape[-1], 2), x.node.trace))
    picked = COMPOSITES["one_hot"](indices, depth=x.shape[-1], dtype="float64")
    return ops.contract(ops.reshape(x, shape=(x.size // x.shape[-1], x.shape[-1])), picked, labels="ab,cb->ac")


def _batch_norm(pool: Pool) -> Any:
    x = pool.axes()
    axis = pool.axis(x)
    others = tuple([i for i in range(x.ndim) if i != axis])
    channels = [ops.sum(pool.like(x), axes=others) for _ in range(4)]
    channels[1] = positive(channels[1])
    return COMPOSITES["batch_norm"](x, *channels, axis=axis, epsilon=0.125)


def _layer_norm(pool: Pool) -> Any:
    x = pool.axes()
    axis = pool.axis(x)
    others = tuple([i for i in range(x.ndim) if i != axis])
    scale, shift = (ops.sum(pool.like(x), axes=others) for _ in range(2))
    return COMPOSITES["layer_norm"](x, scale, shift, axes=(axis,), epsilon=0.125)


def _cross_entropy(pool: Pool) -> Any:
    x = pool.axes()
    axis = pool.axis(x)
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    labels = _indices(pool, x.shape[axis], int(np.prod(shape, dtype=int))).reshape(shape)
    return COMPOSITES["cross_entropy"](x, TracedArray(lift(labels, x.node.trace)), axis=axis, ignore_index=1)


def _digamma(pool: Pool) -> Any:
    return ops.polygamma(positive(pool.any()), n=0)


def _probability(x: Any) -> Any:
    return 0.5 + 0.25 * ops.sin(x)


def _row(pool: Pool) -> Any:
    """Return a value as one row of elements."""
    x = pool.any()
    return ops.reshape(x, shape=(x.size,))


def _sliding(op: Primitive, rows: Callable[[Any], Any] = lambda x: x) -> Step:
    """Windows of two elements along one axis, at most one of them outside on either side."""

    def step(pool: Pool) -> Any:
        x = rows(_row(pool))
        low = pool.choose.integer(0, 1)
        params = {"axes": (0,), "step": (pool.choose.integer(1, 2),), "dilation": (1,), "low": (low,)}
        if op is ops.overlap_add:
            return op(x, length=(x.shape[0],), **params)
        return op(x, count=((x.shape[0] - 1 + low) // params["step"][0] + 1,), size=(2,), **params)

    return step


def _window_argmax(pool: Pool) -> Any:
    x = _row(pool)
    place = _sliding(ops.window_argmax)(Pool(pool.choose, [x]))
    return ops.gather(x, place, axis=0, batch=0)


def _pair(x: Any) -> Any:
    """Return windows of two elements, which differ."""
    return COMPOSITES["outer"](x, _leaf(ops.iota, x, n=2, dtype="float64") + 1.0)


def _image(x: Any) -> Any:
    return ops.reshape(x, shape=(1, 1, x.size))


def _conv(name: str, **params: Any) -> Step:
    def step(pool: Pool) -> Any:
        x, y = _row(pool), _row(pool)
        weight = ops.slice_(y, start=(0,), stop=(min(2, x.size, y.size),), step=(1,))
        stride, low = (pool.choose.integer(1, 2),), pool.choose.integer(0, int(x.size > 1))
        padding = ((low, int(x.size > 1 + low)),)  # which a transposed convolution takes off its result
        out = COMPOSITES[name](
            _image(x), _image(weight), stride=stride, padding=padding, dilation=(1,), groups=1, **params
        )
        return ops.reshape(out, shape=(out.size,))

    return step


def _pool(name: str, **params: Any) -> Step:
    def step(pool: Pool) -> Any:
        x = _image(_row(pool))
        n = min(2, x.size)
        sizes = {"size": (n,), "stride": (pool.choose.integer(1, 2),), "padding": ((0, n - 1),)}
        out = COMPOSITES[name](x, **sizes, ceil_mode=False, **params)
        return ops.reshape(out, shape=(out.size,))

    return step


def _adaptive_pool(name: str) -> Step:
    def step(pool: Pool) -> Any:
        out = COMPOSITES[name](_image(_row(pool)), count=(2,))
        return ops.reshape(out, shape=(2,))

    return step


_LIFTS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("exp", "expm1", "sinh", "cosh", "exp2", "tan", "selu", "gelu_tanh", "mish"), tame),
    **dict.fromkeys(("arcsin", "arccos", "arctanh", "leg", "erfinv"), lambda x: 0.75 * ops.sin(x)),
    "arccosh": lambda x: 1.0 + positive(x),
    **dict.fromkeys(("log", "sqrt", "log1p", "log2", "log10", "reciprocal", "cbrt", "gammaln"), positive),
}
_UNARY = (
    ops.neg, ops.abs, ops.exp, ops.exp2, ops.expm1, ops.log, ops.log2, ops.log10, ops.log1p, ops.sqrt,
    ops.sin, ops.cos, ops.tan, ops.sinh, ops.cosh, ops.tanh, ops.sech2,
    ops.arctan, ops.arcsin, ops.arccos, ops.arcsinh, ops.arccosh, ops.arctanh, ops.leg, ops.cbrt, ops.erfinv,
    ops.gammaln, ops.erf, ops.erfc, ops.logistic, ops.softplus, ops.sign, ops.floor, ops.stop_gradient,
    *(COMPOSITES[name] for name in ("square", "reciprocal")),
    *(COMPOSITES[name] for name in ("relu", "silu", "gelu", "gelu_tanh", "selu", "hard_swish", "softsign")),
    *(COMPOSITES[name] for name in ("tanhshrink", "mish", "log_sigmoid")),
)  # fmt: skip

_SHAPED: dict[str, dict[str, float]] = {
    "leaky_relu": {"slope": 0.25},
    "elu": {"alpha": 0.5},
    "celu": {"alpha": 0.5},
    "hardtanh": {"low": -0.5, "high": 0.25},
    "hard_sigmoid": {"slope": 0.5, "offset": 0.25},
    "hardshrink": {"threshold": 0.3},
    "softshrink": {"threshold": 0.3},
    "thresholded_relu": {"threshold": 0.3, "value": 0.125},
}
"""Activations with the numbers that shape them."""

STEPS: dict[str, Step] = {
    **{name: _unary(partial(COMPOSITES[name], **params)) for name, params in _SHAPED.items()},
    "prelu": _binary(COMPOSITES["prelu"]),
    **{op.name: _unary(op, _LIFTS.get(op.name, lambda x: x)) for op in _UNARY},
    **{
        op.name: _binary(op)
        for op in (ops.add, ops.sub, ops.mul, ops.maximum, ops.minimum, ops.hypot, ops.arctan2, ops.direction)
    },
    **{op.name: _binary(op, right=positive) for op in (ops.div, ops.floor_divide, ops.remainder, ops.fmod)},
    "polygamma": _digamma,
    "xlogy": _binary(COMPOSITES["xlogy"], right=positive),
    "logaddexp": _binary(COMPOSITES["logaddexp"], tame, tame),
    "power": _power,
    "squared_error": _binary(COMPOSITES["squared_error"]),
    "huber": _binary(COMPOSITES["huber"], delta=0.5),
    "binary_cross_entropy": _binary(COMPOSITES["binary_cross_entropy"], _probability, _probability),
    "binary_cross_entropy_with_logits": _binary(COMPOSITES["binary_cross_entropy_with_logits"], tame, _probability),
    "cross_entropy": _cross_entropy,
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "dropout": _dropout,
    "one_hot": _one_hot,
    "draw": _draw,
    "less": _condition(lambda x, y: x < y),
    "less_equal": _condition(lambda x, y: x <= y),
    "equal": _condition(lambda x, y: ops.equal(x, y)),
    "logical_and": _condition(lambda x, y: (x < y) & (x > 0)),
    "logical_or": _condition(lambda x, y: (x < y) | (x > 0)),
    "logical_not": _condition(lambda x, y: ~(x < y)),
    "select": _condition(lambda x, y: x > 0),
    "mask": _masked,
    **{name: _reduction(COMPOSITES[name]) for name in ("mean", "norm", "logsumexp")},
    "var": _reduction(COMPOSITES["var"], ddof=1),
    "std": _reduction(COMPOSITES["std"], ddof=0),
    "prod": _reduction(COMPOSITES["prod"]),
    **{op.name: _reduction(op) for op in (ops.sum, ops.reduce_max, ops.reduce_min)},
    **{name: _along(COMPOSITES[name]) for name in ("sort", "softmax", "log_softmax")},
    "cumsum": _cumsum,
    "broadcast": _broadcast,
    "reshape": _flat,
    "permute": _permute,
    "slice": _slice,
    "pad": _pad,
    "concatenate": _concatenate,
    "flip": _flip,
    "argsort": _argsort,
    "gather": _gather,
    "scatter_add": _scatter_add,
    "contract": _contract,
    "matmul": _matmul,
    "outer": _outer,
    "diagonal": _square_matrix("diagonal", axis1=0, axis2=1),
    "trace": _square_matrix("trace", axis1=0, axis2=1),
    "diag": _diag,
    "eye": _eye,
    "iota": _iota,
    "windows": _sliding(ops.windows),
    "overlap_add": _sliding(ops.overlap_add, _pair),
    "window_argmax": _window_argmax,
    "conv": _conv("conv"),
    "conv_transpose": _conv("conv_transpose", output_padding=(0,)),
    "max_pool": _pool("max_pool"),
    "avg_pool": _pool("avg_pool", count_include_pad=True),
    **{name: _adaptive_pool(name) for name in ("adaptive_max_pool", "adaptive_avg_pool")},
    "truncate": _truncate,
    "cast": _cast,
    "barrier": lambda pool: ops.barrier(x := pool.any()) * pool.like(x),
}
"""How each op is applied to values of a pool."""

LARGEST = 8
"""Values with more elements are summed: high precision is slow."""


def draw_program(choose: Choices, most: int = 6) -> Program:
    """Draw a program with one to three inputs and up to `most` ops (and what brings their operands into the domain)."""
    types = [ArrayType(choose.among(SHAPES), float) for _ in range(choose.integer(1, 3))]

    def body(*inputs: Any) -> list[Any]:
        pool = Pool(choose, list(inputs))
        for _ in range(choose.integer(2, most)):
            value = STEPS[choose.among(tuple(STEPS))](pool)
            if value.size > LARGEST:
                value = ops.sum(value, axes=tuple(range(value.ndim - 1)))
            if value.size > LARGEST:
                value = ops.sum(value, axes=(0,))
            pool.values.append(value)
        made = pool.values[len(inputs) :]
        return [made[-1], *(choose.among(made) for _ in range(choose.integer(0, 2)))]

    return trace(body)(*types)
