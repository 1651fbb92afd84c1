"""Layers of neural networks: dense ones, activations, softmax, normalization and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import nn
from primad import numpy as pnp
from primad.compat.mxnet.errors import MXNetError
from primad.compat.mxnet.graph.shape_rules import Shape, first_input, same, size, unify, written
from primad.compat.mxnet.imperative.operator_parameters import Settings, boolean, choice, dtype, integer, real, shape
from primad.compat.mxnet.operators.elementwise import UNARY
from primad.compat.mxnet.operators.record import DType, operator
from primad.functional.recorded_values import stop_gradient
from primad.numpy import special

# -- dense layers and activations --------------------------------------------------------------------------------------


WEIGHTED = ("data", "weight", "bias")
"""Inputs of a layer with weights."""


def left_out_bias(settings: Settings) -> tuple[str, ...]:
    """Return which of these inputs a layer does not have."""
    return ("bias",) if settings.no_bias else ()


def _dense_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    data, units = inputs[0], settings.num_hidden
    if data is None:
        return
    inputs[1] = unify((units, size(data, 1) if settings.flatten else data[-1]), inputs[1])
    outputs[0] = unify((data[0], units) if settings.flatten else (*data[:-1], units), outputs[0])
    if not settings.no_bias and (inputs[2] is None or len(inputs[2]) == 1):
        inputs[2] = unify((units,), inputs[2])
    assert outputs[0] is not None
    inputs[0] = unify((outputs[0][0], *data[1:]) if settings.flatten else (*outputs[0][:-1], data[-1]), data)


@operator(
    "FullyConnected",
    inputs=WEIGHTED,
    absent=left_out_bias,
    parameters={"num_hidden": integer(minimum=1), "no_bias": boolean(False), "flatten": boolean(True)},
    shapes=_dense_shapes,
)
def fully_connected(settings: Settings, data: Any, weight: Any, bias: Any = None) -> Any:
    """X Wᵀ + b, of the data as rows or along its last axis."""
    if settings.flatten and data.ndim != 2:
        data = pnp.reshape(data, (data.shape[0], -1))
    result = data @ pnp.transpose(weight)
    return result if bias is None else result + pnp.reshape(bias, (-1,))


ACTIVATIONS = {name: UNARY[name].compute for name in ("relu", "sigmoid", "tanh", "softsign")}
ACTIVATIONS["softrelu"] = nn.softplus


@operator("Activation", parameters={"act_type": choice(*ACTIVATIONS)}, shapes=same)
def activation(settings: Settings, data: Any) -> Any:
    """One of a few activation functions."""
    return ACTIVATIONS[settings.act_type](data)


_SELU_SCALE, _SELU_SLOPE = 1.0507009873554805, 1.6732632423543772
"""Klambauer et al. 2017."""


def _leaky_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    first_input(settings, inputs, outputs)
    if settings.act_type == "prelu" and inputs[0] is not None and inputs[1] is None:
        inputs[1] = (inputs[0][1] if len(inputs[0]) > 1 else 1,)


@operator(
    "LeakyReLU",
    inputs=("data", "gamma"),
    absent=lambda settings: () if settings.act_type == "prelu" else ("gamma",),
    parameters={
        "act_type": choice("elu", "gelu", "leaky", "prelu", "selu", default="leaky"),
        "slope": real(0.25),
        "lower_bound": real(0.125),
        "upper_bound": real(0.334),
    },
    initial={"gamma": '["Constant", {"value": 0.25}]'},
    shapes=_leaky_shapes,
)
def leaky_relu(settings: Settings, data: Any, gamma: Any = None) -> Any:
    """The data where it is positive, else a multiple of it, or of exp(x) − 1; or gelu."""
    kind = settings.act_type
    if kind == "gelu":
        return nn.gelu(data)
    if kind == "selu":
        return _SELU_SCALE * pnp.where(data > 0, data, _SELU_SLOPE * pnp.expm1(data))
    if kind == "elu":
        return pnp.where(data > 0, data, settings.slope * pnp.expm1(data))
    if kind == "leaky":
        return pnp.where(data > 0, data, settings.slope * data)
    return pnp.where(data > 0, data, pnp.reshape(gamma, _gamma_shape(gamma.shape, data.shape)) * data)


def _gamma_shape(gamma: tuple[int, ...], data: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape in which gamma broadcasts to the data: its axes are among the first two, the last one first."""
    left, found = list(gamma), []
    for n in reversed(data[:2]):
        found.append(left.pop() if left and left[-1] in (1, n) else 1)
    if left:
        raise MXNetError(f"Cannot broadcast gamma to data. gamma: {written(gamma)}, data: {written(data)}")
    return (*reversed(found), *[1] * (len(data) - 2))


# -- softmax -----------------------------------------------------------------------------------------------------------

_SOFTMAX = {"axis": integer(-1), "temperature": real(None), "dtype": dtype(None), "use_length": boolean(False)}


def _softmax_types(settings: Settings, inputs: list[DType], outputs: list[DType]) -> None:
    outputs[0] = settings.dtype or outputs[0] or inputs[0]
    inputs[0] = inputs[0] or outputs[0]


def _scaled(settings: Settings, data: Any) -> Any:
    if settings.use_length:
        raise MXNetError("softmax with use_length is not supported", fix="mask the data with where and −inf.")
    return data if settings.temperature is None else data / settings.temperature


@operator("softmax", parameters=_SOFTMAX, shapes=same, types=_softmax_types)
def softmax(settings: Settings, data: Any) -> Any:
    """exp(x)/Σ exp(x) along an axis."""
    return nn.softmax(_scaled(settings, data), axis=settings.axis).astype(settings.dtype or data.dtype)


@operator("softmin", parameters=_SOFTMAX, shapes=same, types=_softmax_types)
def softmin(settings: Settings, data: Any) -> Any:
    """exp(−x)/Σ exp(−x) along an axis."""
    return nn.softmax(-_scaled(settings, data), axis=settings.axis).astype(settings.dtype or data.dtype)


@operator("log_softmax", parameters=_SOFTMAX, shapes=same, types=_softmax_types)
def log_softmax(settings: Settings, data: Any) -> Any:
    """X − log Σ exp(x) along an axis."""
    return special.log_softmax(_scaled(settings, data), axis=settings.axis).astype(settings.dtype or data.dtype)


@operator("SoftmaxActivation", parameters={"mode": choice("channel", "instance", default="instance")}, shapes=same)
def softmax_activation(settings: Settings, data: Any) -> Any:
    """Softmax over axis 1 (channel), or over all axes but the first (instance)."""
    if settings.mode == "channel":
        return nn.softmax(data, axis=1)
    return pnp.reshape(nn.softmax(pnp.reshape(data, (data.shape[0], -1)), axis=1), data.shape)


@operator("softmax_cross_entropy", inputs=("data", "label"))
def softmax_cross_entropy(settings: Settings, data: Any, label: Any) -> Any:
    """The sum over rows of −log softmax at the label."""
    rows = pnp.reshape(stop_gradient(label).astype(np.int64), (-1, 1))
    picked = pnp.take_along_axis(special.log_softmax(data, axis=-1), rows, axis=1)
    return pnp.reshape(-pnp.sum(picked), (1,))


# -- normalization and dropout -----------------------------------------------------------------------------------------


def _channel_shapes(axis_of: Any) -> Any:
    def rule(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
        first_input(settings, inputs, outputs)
        if inputs[0] is not None:
            length = inputs[0][axis_of(settings) % len(inputs[0])]
            inputs[1:] = [unify((length,), found) for found in inputs[1:]]

    return rule


def _statistics_types(settings: Settings, inputs: list[DType], outputs: list[DType]) -> None:
    """The statistics and their scale are float32 at least, whatever the data is."""
    data = inputs[0] or outputs[0]
    inputs[0] = outputs[0] = data
    if data is not None:
        inputs[1:] = [np.promote_types(data, np.float32)] * (len(inputs) - 1)


@operator(
    "BatchNorm",
    inputs=("data", "gamma", "beta", "moving_mean", "moving_var"),
    parameters={
        "eps": real(1e-3),
        "momentum": real(0.9),
        "fix_gamma": boolean(True),
        "use_global_stats": boolean(False),
        "output_mean_var": boolean(False),
        "axis": integer(1),
        "cudnn_off": boolean(False),
        "min_calib_range": real(None),
        "max_calib_range": real(None),
    },
    auxiliary=("moving_mean", "moving_var"),
    initial={"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'},
    hidden=2,
    shapes=_channel_shapes(lambda settings: settings.axis),
    types=_statistics_types,
    training=True,
)
def batch_norm(
    settings: Settings, data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, *, training: bool
) -> Any:
    """Normalized with the batch's mean and variance in training, else with the moving ones."""
    if settings.output_mean_var:
        raise MXNetError("BatchNorm with output_mean_var is not supported", fix="compute them with mean.")
    scale = np.ones(gamma.shape, gamma.dtype) if settings.fix_gamma else gamma
    if not training or settings.use_global_stats:
        out = nn.batch_norm(data, moving_mean, moving_var, scale, beta, settings.eps, settings.axis)
        return out.astype(data.dtype), moving_mean, moving_var
    mean, variance = nn.batch_statistics(data.astype(moving_mean.dtype), settings.axis)
    out = nn.batch_norm(data, mean, variance, scale, beta, settings.eps, settings.axis)
    kept = settings.momentum
    return out.astype(data.dtype), moving_mean * kept + mean * (1.0 - kept), moving_var * kept + variance * (1.0 - kept)


@operator(
    "LayerNorm",
    inputs=("data", "gamma", "beta"),
    parameters={"axis": integer(-1), "eps": real(1e-5), "output_mean_var": boolean(False)},
    hidden=2,
    shapes=_channel_shapes(lambda settings: settings.axis),
)
def layer_norm(settings: Settings, data: Any, gamma: Any, beta: Any) -> Any:
    """Normalized along an axis."""
    return nn.layer_norm(data, (settings.axis % data.ndim,), gamma, beta, settings.eps)


@operator(
    "InstanceNorm",
    inputs=("data", "gamma", "beta"),
    parameters={"eps": real(1e-3)},
    hidden=2,
    shapes=_channel_shapes(lambda settings: 1),
)
def instance_norm(settings: Settings, data: Any, gamma: Any, beta: Any) -> Any:
    """Normalized over the spatial axes, for each sample and channel."""
    wide = (-1,) + (1,) * (data.ndim - 2)
    plain = nn.layer_norm(data, tuple(range(2, data.ndim)), None, None, settings.eps)
    return plain * pnp.reshape(gamma, wide) + pnp.reshape(beta, wide)


@operator(
    "Dropout",
    parameters={
        "p": real(0.5),
        "mode": choice("always", "training", default="training"),
        "axes": shape(()),
        "cudnn_off": boolean(None),
    },
    hidden=1,
    shapes=same,
    training=True,
    key=True,
)
def dropout(settings: Settings, data: Any, *, training: bool, key: Any) -> Any:
    """In training, zero with probability p and divided by 1 − p elsewhere; along `axes` all elements go together."""
    if not (training or settings.mode == "always") or settings.p == 0:
        return data
    if not settings.axes:
        return nn.dropout(data, key, settings.p)
    lengths = tuple(1 if axis in settings.axes else n for axis, n in enumerate(data.shape))
    return data * nn.dropout(np.ones(lengths, data.dtype), key, settings.p)
