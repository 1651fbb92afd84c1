"""Activation functions, in forms that keep finite derivatives wherever the true ones are finite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.nn.lookup import one_hot
from primad.nn.operands import floats
from primad.nn.random import uniform
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.elementwise.ufuncs import absolute, exp, expm1, log, maximum, tanh, where
from primad.numpy.reduce.largest import argmax
from primad.numpy.reduce.largest import max as largest
from primad.numpy.shapes.shaping import broadcast_to, moveaxis, split
from primad.numpy.special import expit as sigmoid
from primad.numpy.special import log_softmax, softmax, softplus
from primad.ops.record.kinds import composite
from primad.ops.record.operand_types import float_type
from primad.ops.record.primitive import Primitive
from primad.recording.traced_array import TracedArray
from primad.system.deferred import special

__all__ = [
    "celu", "elu", "gelu", "glu", "gumbel_softmax", "hard_sigmoid", "hard_swish", "hardshrink", "hardtanh",
    "leaky_relu", "log_sigmoid", "log_softmax", "maxout", "mish", "prelu", "relu", "relu6", "rrelu", "selu",
    "sigmoid", "silu", "softmax", "softplus", "softshrink", "softsign", "swiglu", "tanhshrink",
    "thresholded_relu",
]  # fmt: skip

_ROOT_HALF = math.sqrt(0.5)


# Conditions are written so that NaN, of which every comparison is false, takes the branch that keeps it.


def _relu(x: Any) -> Any:
    return ops.select(x <= 0, x.__class__(x.node.trace.literal(0, x.type)), x)


relu_: Primitive = composite(
    "relu", numpy=lambda x: np.where(x <= 0, 0, x), lower=_relu, doc="x where positive, else 0; relu′(0) = 0."
)
silu_: Primitive = composite(
    "silu", numpy=lambda x: x * special.expit(x), lower=lambda x: x * ops.logistic(x), doc="x · logistic(x)."
)
gelu_: Primitive = composite(
    "gelu",
    numpy=lambda x: x * 0.5 * special.erfc(-x * _ROOT_HALF),
    lower=lambda x: (0.5 * x) * ops.erfc(-_ROOT_HALF * x),
    doc="x·Φ(x), Φ the normal distribution function, written with erfc for the left tail.",
)

GELU_LINEAR = math.sqrt(2.0 / math.pi)
GELU_CUBIC = 0.044715 * GELU_LINEAR
GELU_END = 40.0
"""Where the logistic function of the cubic polynomial has long been 0 or 1. Chosen: its cube is a number of 16 bits."""
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
"""Klambauer et al. 2017: with these, means 0 and variances 1 are a fixed point of a layer."""


def _gelu_tanh(x: Any) -> Any:
    """x·logistic(2z) is x·(1 + tanh z)/2 without its cancellation in the left tail."""
    z = _inside(x, low=-GELU_END, high=GELU_END)  # else 0 were multiplied by an infinite power of x
    return x * sigmoid(2.0 * (GELU_LINEAR * z + GELU_CUBIC * (z * z * z)))


def _elu(x: Any, *, alpha: float) -> Any:
    return where(x > 0, x, alpha * expm1(where(x > 0, 0.0, x)))


def _celu(x: Any, *, alpha: float) -> Any:
    return where(x > 0, x, alpha * expm1(where(x > 0, 0.0, x / alpha)))


def _hard_sigmoid(x: Any, *, slope: float, offset: float) -> Any:
    return _inside(slope * x + offset, low=0.0, high=1.0)


def _inside(x: Any, *, low: float, high: float) -> Any:
    """Limit x by choices, not by maximum and minimum: at an edge the derivative is that outside, 0."""
    return where(x <= low, low, where(x >= high, high, x))


def _hard_swish(x: Any) -> Any:
    return x * _hard_sigmoid(x, slope=1.0 / 6.0, offset=0.5)


def _hardshrink(x: Any, *, threshold: float) -> Any:
    return where(absolute(x) <= threshold, 0.0, x)


def _softshrink(x: Any, *, threshold: float) -> Any:
    return where(x > threshold, x - threshold, where(x >= -threshold, 0.0, x + threshold))


def _mish(x: Any) -> Any:
    """The hyperbolic tangent is (s² − 1)/(s² + 1) with s = 1 + eˣ; here both are divided by e²ˣ for positive x."""
    e = exp(where(x > 0, -x, x))
    positive, negative = 1.0 + 2.0 * e, e * (e + 2.0)
    return x * where(x > 0, positive / (positive + 2.0 * (e * e)), negative / (negative + 2.0))


def _defined(name: str, function: Any, doc: str) -> Primitive:
    return composite(name, numpy=function, lower=function, doc=doc)


gelu_tanh_ = _defined("gelu_tanh", _gelu_tanh, "x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2.")
leaky_relu_ = _defined(
    "leaky_relu", lambda x, *, slope: where(x > 0, x, slope * x), "x where positive, else slope·x; at 0, the slope."
)
prelu_ = _defined("prelu", lambda x, slope: where(x > 0, x, slope * x), "leaky_relu with an array of slopes.")
elu_ = _defined("elu", _elu, "x where positive, else α·(eˣ − 1).")
celu_ = _defined("celu", _celu, "x where positive, else α·(exp(x/α) − 1).")
selu_ = _defined("selu", lambda x: SELU_SCALE * _elu(x, alpha=SELU_ALPHA), "A multiple of elu that keeps variances.")
hardtanh_ = _defined("hardtanh", _inside, "x limited to [low, high]; at an edge the derivative is 0.")
hard_sigmoid_ = _defined("hard_sigmoid", _hard_sigmoid, "slope·x + offset, limited to [0, 1].")
hard_swish_ = _defined("hard_swish", _hard_swish, "x·hard_sigmoid(x).")
hardshrink_ = _defined("hardshrink", _hardshrink, "x where |x| exceeds the threshold, else 0.")
softshrink_ = _defined("softshrink", _softshrink, "x moved towards 0 by the threshold, as far as 0.")
thresholded_relu_ = _defined(
    "thresholded_relu",
    lambda x, *, threshold, value: where(x <= threshold, value, x),
    "x where it exceeds the threshold, else a value.",
)
softsign_ = composite(
    "softsign",
    numpy=lambda x: x / (1.0 + absolute(x)),
    lower=lambda x: x / (1.0 + absolute(x)),
    infer=float_type("softsign", "f"),
    jvp=[lambda t, out, x: t / (1.0 + ops.abs(x)) / (1.0 + ops.abs(x))],
    doc="x/(1 + |x|), with the derivative 1/(1 + |x|)².",
)
tanhshrink_ = _defined("tanhshrink", lambda x: x - tanh(x), "x − tanh x.")
mish_ = _defined("mish", _mish, "x·tanh(softplus(x)).")
log_sigmoid_ = _defined("log_sigmoid", lambda x: -softplus(-x), "log(logistic(x)), accurate in both tails.")

COMPOSITES = (
    relu_, silu_, gelu_, gelu_tanh_, leaky_relu_, prelu_, elu_, celu_, selu_, hardtanh_, hard_sigmoid_, hard_swish_,
    hardshrink_, softshrink_, thresholded_relu_, softsign_, tanhshrink_, mish_, log_sigmoid_,
)  # fmt: skip


def _apply(record: Any, x: Any, **params: Any) -> Any:
    return record(*floats(x), **params)


def relu(x: Any) -> Any:
    """max(x, 0) with relu′(0) = 0; same shape as x.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.relu(np.array([-1.0, 2.0]))
        array([0., 2.])
    """
    return _apply(relu_, x)


def silu(x: Any) -> Any:
    """The product x · logistic(x); same shape as x (also called swish)."""
    return _apply(silu_, x)


def gelu(x: Any, approximate: bool = False) -> Any:
    """x·Φ(x), Φ the normal distribution function; same shape as x (Hendrycks & Gimpel 2016).

    Args:
        x: an array.
        approximate: whether to take their formula with tanh, which is off by up to 5e-4.

    Example:
        >>> import primad
        >>> primad.grad(primad.nn.gelu)(0.0)
        np.float64(0.5)
    """
    return _apply(gelu_tanh_ if approximate else gelu_, x)


def leaky_relu(x: Any, slope: float = 0.01) -> Any:
    """Return x where positive, else slope·x; at 0 the derivative is the slope (Maas et al. 2013)."""
    return _apply(leaky_relu_, x, slope=float(slope))


def prelu(x: Any, slope: Any, axis: int = 1) -> Any:
    """leaky_relu with slopes that are learned (He et al. 2015).

    Args:
        x: an array.
        slope: one number, or one for each index of the channel axis.
        axis: the channel axis.

    Raises:
        ShapeError: if the slopes do not fit.

    Example:
        >>> import numpy as np, primad
        >>> primad.nn.prelu(np.array([[-1.0, -2.0]]), np.array([0.5, 0.25]))
        array([[-0.5, -0.5]])
    """
    x, slope = floats(x, slope)
    if slope.size != 1:
        axis = normalize_axis("prelu", axis, x.ndim)
        if slope.shape != (x.shape[axis],):
            raise ShapeError(
                f"prelu: slopes of shape {slope.shape} do not fit {x.shape[axis]} channels",
                fix=f"give one slope, or {x.shape[axis]}.",
            )
        slope = slope.reshape(tuple([-1 if i == axis else 1 for i in range(x.ndim)]))
    else:
        slope = slope.reshape(())
    return prelu_(x, broadcast_to(slope, x.shape))


def rrelu(x: Any, key: Any, low: float = 0.125, high: float = 1.0 / 3.0) -> Any:
    """leaky_relu with a slope for each element that is drawn from [low, high), for training (Xu et al. 2015).

    At inference take `leaky_relu(x, (low + high)/2)`.

    Args:
        x: an array.
        key: an integer that decides the draws.
        low: least slope.
        high: largest slope.
    """
    (x,) = floats(x)
    return prelu_(x, low + (high - low) * uniform(key, x.shape, x.dtype))


def elu(x: Any, alpha: float = 1.0) -> Any:
    """Return x where positive, else α·(eˣ − 1); at 0 the derivative is α (Clevert et al. 2016)."""
    return _apply(elu_, x, alpha=float(alpha))


def celu(x: Any, alpha: float = 1.0) -> Any:
    """Return x where positive, else α·(exp(x/α) − 1), whose derivative is continuous for every α (Barron 2017)."""
    return _apply(celu_, x, alpha=float(alpha))


def selu(x: Any) -> Any:
    """ELU with the α and the factor that keep means 0 and variances 1 (Klambauer et al. 2017)."""
    return _apply(selu_, x)


def relu6(x: Any) -> Any:
    """Return x clipped to [0, 6]; at both edges the derivative is 0."""
    return _apply(hardtanh_, x, low=0.0, high=6.0)


def hardtanh(x: Any, low: float = -1.0, high: float = 1.0) -> Any:
    """Return x clipped to [low, high]; at both edges the derivative is 0."""
    return _apply(hardtanh_, x, low=float(low), high=float(high))


def hard_sigmoid(x: Any, slope: float = 1.0 / 6.0, offset: float = 0.5) -> Any:
    """slope·x + offset, limited to [0, 1]; at both edges the derivative is 0."""
    return _apply(hard_sigmoid_, x, slope=float(slope), offset=float(offset))


def hard_swish(x: Any) -> Any:
    """x·hard_sigmoid(x) (Howard et al. 2019)."""
    return _apply(hard_swish_, x)


def hardshrink(x: Any, threshold: float = 0.5) -> Any:
    """Return x where |x| exceeds the threshold, else 0; at the threshold the derivative is 0."""
    return _apply(hardshrink_, x, threshold=float(threshold))


def softshrink(x: Any, threshold: float = 0.5) -> Any:
    """Return x moved towards 0 by the threshold, 0 where that would pass it; at the threshold the derivative is 0."""
    return _apply(softshrink_, x, threshold=float(threshold))


def thresholded_relu(x: Any, threshold: float = 1.0, value: float = 0.0) -> Any:
    """Return x where it exceeds the threshold, else a value; at the threshold the derivative is 0."""
    return _apply(thresholded_relu_, x, threshold=float(threshold), value=float(value))


def softsign(x: Any) -> Any:
    """x/(1 + |x|)."""
    return _apply(softsign_, x)


def tanhshrink(x: Any) -> Any:
    """The difference x − tanh x."""
    return _apply(tanhshrink_, x)


def mish(x: Any) -> Any:
    """x·tanh(softplus(x)) (Misra 2020)."""
    return _apply(mish_, x)


def log_sigmoid(x: Any) -> Any:
    """The logarithm of the logistic function, accurate in both tails.

    Example:
        >>> import primad
        >>> primad.nn.log_sigmoid(-1000.0)
        np.float64(-1000.0)
    """
    return _apply(log_sigmoid_, x)


def glu(x: Any, axis: int = -1) -> Any:
    """The first half of x along an axis, times the logistic function of the second (Dauphin et al. 2017).

    Raises:
        ShapeError: if the axis has an odd length.
    """
    (x,) = floats(x)
    first, gate = split(x, 2, axis)
    return first * sigmoid(gate)


def swiglu(x: Any, gate: Any = None) -> Any:
    """silu(x)·gate (Shazeer 2020); without a gate, x is halved along its last axis."""
    if gate is None:
        (x,) = floats(x)
        x, gate = split(x, 2, -1)
    return silu(x) * gate


def maxout(x: Any, groups: int, axis: int = 1) -> Any:
    """The largest of each `groups` neighbouring channels (Goodfellow et al. 2013); ties share the derivative.

    Args:
        x: an array.
        groups: how many channels make one.
        axis: the channel axis.

    Raises:
        ShapeError: if the number of channels is no multiple of `groups`.
    """
    (x,) = floats(x)
    axis = normalize_axis("maxout", axis, x.ndim)
    if x.shape[axis] % groups:
        raise ShapeError(
            f"maxout: {x.shape[axis]} channels do not fall into groups of {groups}",
            fix="choose a number that divides the channels.",
        )
    shape = (*x.shape[:axis], x.shape[axis] // groups, groups, *x.shape[axis + 1 :])
    return largest(x.reshape(shape), axis=axis + 1)


def gumbel_softmax(x: Any, key: Any, temperature: float = 1.0, hard: bool = False, axis: int = -1) -> Any:
    """Draw from the classes with logits x, differentiably (Jang et al. 2017, Maddison et al. 2017).

    Args:
        x: logits.
        key: an integer that decides the draw.
        temperature: the lower, the closer to one-hot vectors.
        hard: whether to return one-hot vectors, with the derivative of the soft ones.
        axis: the class axis.
    """
    (x,) = floats(x)
    least = float(np.finfo(x.dtype).tiny)
    noise = -log(-log(maximum(uniform(key, x.shape, x.dtype), least)))
    soft = softmax((x + noise) / temperature, axis)
    if not hard:
        return soft
    chosen = moveaxis(one_hot(argmax(soft, axis=axis), x.shape[axis], x.dtype), -1, axis)
    # (soft − soft) is exactly 0, and has the derivative of the first.
    return chosen + (soft - (ops.stop_gradient(soft) if isinstance(soft, TracedArray) else soft))
