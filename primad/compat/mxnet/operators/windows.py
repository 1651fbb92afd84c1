"""Layers that slide windows over images: convolution, pooling and their inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from primad import nn
from primad import numpy as pnp
from primad.compat.mxnet.errors import MXNetError
from primad.compat.mxnet.graph.shape_rules import Shape, unify
from primad.compat.mxnet.imperative.operator_parameters import Settings, boolean, choice, integer, shape, text
from primad.compat.mxnet.operators.neural import WEIGHTED, left_out_bias
from primad.compat.mxnet.operators.record import operator


def _spread(values: Sequence[int], rank: int, default: int) -> tuple[int, ...]:
    return tuple(values) or (default,) * rank


def _bias_shape(settings: Settings, inputs: list[Shape]) -> None:
    if not settings.no_bias:
        inputs[2] = unify((settings.num_filter,), inputs[2])


def _convolution_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    data = inputs[0]
    if data is not None:
        channels = data[1] // settings.num_group
        inputs[1] = unify((settings.num_filter, channels, *settings.kernel), inputs[1])
        _bias_shape(settings, inputs)


def _add_bias(result: Any, bias: Any) -> Any:
    return result if bias is None else result + pnp.reshape(bias, (-1,) + (1,) * (result.ndim - 2))


_CONVOLUTION = {
    "kernel": shape(),
    "stride": shape(()),
    "dilate": shape(()),
    "pad": shape(()),
    "num_filter": integer(minimum=1),
    "num_group": integer(1, minimum=1),
    "workspace": integer(1024),
    "no_bias": boolean(False),
    "cudnn_tune": text(None),
    "cudnn_off": boolean(False),
    "layout": choice("NCW", "NCHW", "NCDHW", default=None),
}


@operator("Convolution", inputs=WEIGHTED, absent=left_out_bias, parameters=_CONVOLUTION, shapes=_convolution_shapes)
def convolution(settings: Settings, data: Any, weight: Any, bias: Any = None) -> Any:
    """Cross-correlation over one to three spatial axes, plus a bias for each channel."""
    rank = len(settings.kernel)
    result = nn.conv(
        data,
        weight,
        _spread(settings.stride, rank, 1),
        _spread(settings.pad, rank, 0),
        _spread(settings.dilate, rank, 1),
        settings.num_group,
    )
    return _add_bias(result, bias)


def _deconvolution_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    data = inputs[0]
    if data is not None:
        inputs[1] = unify((data[1], settings.num_filter // settings.num_group, *settings.kernel), inputs[1])
        _bias_shape(settings, inputs)


@operator(
    "Deconvolution",
    inputs=WEIGHTED,
    absent=left_out_bias,
    parameters={
        "kernel": shape(),
        "stride": shape(()),
        "dilate": shape(()),
        "pad": shape(()),
        "adj": shape(()),
        "target_shape": shape(()),
        "num_filter": integer(minimum=1),
        "num_group": integer(1, minimum=1),
        "workspace": integer(512),
        "no_bias": boolean(True),
        "cudnn_tune": text(None),
        "cudnn_off": boolean(False),
        "layout": choice("NCW", "NCHW", "NCDHW", default=None),
    },
    shapes=_deconvolution_shapes,
)
def deconvolution(settings: Settings, data: Any, weight: Any, bias: Any = None) -> Any:
    """The transpose of convolution, plus a bias for each channel."""
    if any(settings.target_shape):
        raise MXNetError("Deconvolution with target_shape is not supported", fix="give pad and adj.")
    rank = len(settings.kernel)
    result = nn.conv_transpose(
        data,
        weight,
        _spread(settings.stride, rank, 1),
        _spread(settings.pad, rank, 0),
        _spread(settings.adj, rank, 0),
        _spread(settings.dilate, rank, 1),
        settings.num_group,
    )
    return _add_bias(result, bias)


@operator(
    "Pooling",
    parameters={
        "kernel": shape(()),
        "pool_type": choice("avg", "max", "sum", default="max"),
        "global_pool": boolean(False),
        "cudnn_off": boolean(False),
        "pooling_convention": choice("full", "valid", default="valid"),
        "stride": shape(()),
        "pad": shape(()),
        "p_value": integer(None),
        "count_include_pad": boolean(None),
        "layout": choice("NCW", "NCHW", "NCDHW", default=None),
    },
    hidden=lambda settings: int(settings.pool_type == "max"),
)
def pooling(settings: Settings, data: Any) -> Any:
    """The largest element, the mean or the sum of each window, or of everything (global_pool)."""
    rank = data.ndim - 2
    if settings.global_pool:
        axes = tuple(range(2, data.ndim))
        functions: dict[str, Any] = {"max": pnp.max, "avg": pnp.mean, "sum": pnp.sum}
        return functions[settings.pool_type](data, axis=axes, keepdims=True)
    kernel, stride, pad = settings.kernel, _spread(settings.stride, rank, 1), _spread(settings.pad, rank, 0)
    ceil = settings.pooling_convention == "full"
    if settings.pool_type == "max":
        return nn.max_pool(data, kernel, stride, pad, ceil)
    if settings.pool_type == "avg":
        return nn.avg_pool(data, kernel, stride, pad, ceil, settings.count_include_pad is not False)
    return nn.avg_pool(data, kernel, stride, pad, False, True) * float(math.prod(kernel))


@operator(
    "UpSampling",
    inputs=None,
    parameters={
        "scale": integer(minimum=1),
        "num_filter": integer(0),
        "sample_type": choice("nearest"),
        "multi_input_mode": choice("concat", "sum", default="concat"),
        "num_args": integer(minimum=1),
        "workspace": integer(512),
    },
)
def up_sampling(settings: Settings, *arrays: Any) -> Any:
    """Each pixel several times; further arrays are scaled to the same size, and joined or added."""
    height = arrays[0].shape[2] * settings.scale
    made = []
    for array in arrays:
        factor = height // array.shape[2]
        made.append(pnp.repeat(pnp.repeat(array, factor, axis=2), factor, axis=3))
    return pnp.concatenate(made, axis=1) if settings.multi_input_mode == "concat" else sum(made[1:], made[0])
