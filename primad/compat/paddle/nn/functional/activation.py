"""Activations (`paddle.nn.functional`): those of `primad.nn` with Paddle's names and options."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from primad import nn
from primad.compat.paddle.eager.operators import Prototype, apply, prototype
from primad.compat.paddle.functions.math import cast, floating, sigmoid, tanh
from primad.numpy import special


def _activation(type: str, compute: Callable[..., Any], doc: str, **options: Any) -> Callable[..., Any]:
    """Make a function of one tensor and options from what it computes.

    Args:
        type: what Paddle calls the operator.
        compute: takes an array of floats, then the options in their order, each in the type of its default.
        doc: the documentation of the function.
        options: the names and defaults of the options.
    """
    kinds = [default.__class__ for default in options.values()]

    def compute_with(x: Any, **given: Any) -> Any:
        return compute(floating(x), *[kind(given[name]) for name, kind in zip(options, kinds, strict=True)])

    record = Prototype(type, compute_with, attributes=options)
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=value) for name, value in options.items()]
    signature = Signature(
        [
            Parameter("x", Parameter.POSITIONAL_OR_KEYWORD),
            *parameters,
            Parameter("name", Parameter.POSITIONAL_OR_KEYWORD, default=None),
        ]
    )

    def function(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        return apply(record, given.pop("x"), **given)

    function.__name__ = function.__qualname__ = type
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__doc__ = doc
    return function


_SELU = (1.0507009873554804934193349852946, 1.6732632423543772848170429916717)

relu = _activation("relu", nn.relu, "Return max(x, 0); its derivative at 0 is 0.")
relu6 = _activation("relu6", nn.relu6, "Return x limited to [0, 6].")
silu = _activation("silu", nn.silu, "Return x·sigmoid(x).")
swish = _activation("swish", nn.silu, "Return x·sigmoid(x), which is also called silu.")
mish = _activation("mish", nn.mish, "Return x·tanh(softplus(x)).")
softsign = _activation("softsign", nn.softsign, "Return x/(1 + |x|).")
tanhshrink = _activation("tanhshrink", nn.tanhshrink, "Return x − tanh(x).")
hardswish = _activation("hardswish", nn.hard_swish, "Return x·hardsigmoid(x).")
log_sigmoid = _activation("log_sigmoid", nn.log_sigmoid, "Return the logarithm of sigmoid(x).")
gelu = _activation(
    "gelu",
    nn.gelu,
    "Return x·Φ(x), Φ the normal distribution function; or its approximation with tanh.",
    approximate=False,
)
leaky_relu = _activation(
    "leaky_relu", nn.leaky_relu, "Return x where it is positive, else negative_slope·x.", negative_slope=0.01
)
elu = _activation("elu", nn.elu, "Return x where it is positive, else alpha·(exp(x) − 1).", alpha=1.0)
celu = _activation("celu", nn.celu, "Return x where it is positive, else alpha·(exp(x/alpha) − 1).", alpha=1.0)
selu = _activation(
    "selu",
    lambda x, scale, alpha: nn.selu(x) if (scale, alpha) == _SELU else scale * nn.elu(x, alpha),
    "Return scale·elu(x, alpha), which keeps means 0 and variances 1.",
    scale=_SELU[0],
    alpha=_SELU[1],
)
hardtanh = _activation(
    "hard_tanh", nn.hardtanh, "Return x limited to [min, max]; at the edges the derivative is 0.", min=-1.0, max=1.0
)
hardsigmoid = _activation(
    "hard_sigmoid", nn.hard_sigmoid, "Return slope·x + offset limited to [0, 1].", slope=0.1666667, offset=0.5
)
hardshrink = _activation(
    "hard_shrink", nn.hardshrink, "Return x where |x| exceeds the threshold, else 0.", threshold=0.5
)
softshrink = _activation(
    "softshrink", nn.softshrink, "Return x moved towards 0 by the threshold, 0 where that would pass it.", threshold=0.5
)
thresholded_relu = _activation(
    "thresholded_relu",
    nn.thresholded_relu,
    "Return x where it exceeds the threshold, else a value.",
    threshold=1.0,
    value=0.0,
)
softplus = _activation(
    "softplus",
    lambda x, beta, threshold: nn.softplus(x) if beta == 1 else nn.softplus(x * beta) / beta,
    "Return log(1 + exp(beta·x))/beta, exact everywhere: the threshold is not needed.",
    beta=1.0,
    threshold=20.0,
)
glu = _activation("glu", nn.glu, "Return the first half of x along an axis, times the sigmoid of the second.", axis=-1)
maxout = _activation(
    "maxout", nn.maxout, "Return the largest of each `groups` neighbouring channels.", groups=1, axis=1
)


@prototype("prelu", inputs="X Alpha", data_format="NCHW")
def prelu_(x: Any, weight: Any, *, data_format: str) -> Any:
    weight = weight.reshape(()) if weight.size == 1 else weight
    return nn.prelu(floating(x), weight, 1 if data_format.startswith("NC") else x.ndim - 1)


def prelu(x: Any, weight: Any, data_format: str = "NCHW", name: Any = None) -> Any:
    """Return x where it is positive, else weight·x; the weight is one number, or one for each channel."""
    return apply(prelu_, x, weight, data_format=data_format, name=name)


@prototype("softmax", axis=-1)
def softmax_(x: Any, *, axis: int) -> Any:
    return nn.softmax(floating(x), axis=axis)


def softmax(x: Any, axis: int = -1, dtype: Any = None, name: Any = None) -> Any:
    """Return exp(x) divided by its sum along an axis."""
    return apply(softmax_, x if dtype is None else cast(x, dtype), axis=int(axis), name=name)


@prototype("log_softmax", axis=-1)
def log_softmax_(x: Any, *, axis: int) -> Any:
    return special.log_softmax(floating(x), axis=axis)


def log_softmax(x: Any, axis: int = -1, dtype: Any = None, name: Any = None) -> Any:
    """Return the logarithm of softmax along an axis."""
    return apply(log_softmax_, x if dtype is None else cast(x, dtype), axis=int(axis), name=name)


__all__ = [
    "celu", "elu", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log_sigmoid",
    "log_softmax", "maxout", "mish", "prelu", "relu", "relu6", "selu", "sigmoid", "silu", "softmax", "softplus",
    "softshrink", "softsign", "swish", "tanh", "tanhshrink", "thresholded_relu",
]  # fmt: skip
