"""Layers of static programs (`paddle.static.nn`): operators together with the parameters that they need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primad.compat.paddle.eager.operators import apply, prototype
from primad.compat.paddle.functions import math as functions
from primad.compat.paddle.nn import functional
from primad.compat.paddle.nn.functional import common
from primad.compat.paddle.settings.default_initializers import Constant, Normal, XavierUniform
from primad.compat.paddle.settings.errors import ArgumentTypeError, InvalidArgumentError, unsupported
from primad.compat.paddle.settings.naming import Layer
from primad.compat.paddle.settings.parameters import ParamAttr, as_attribute
from primad.compat.paddle.static.normalization import append_batch_norm
from primad.compat.paddle.static.parameters import make_parameter
from primad.compat.paddle.static.variable import Variable


@prototype("mul", inputs="X Y", x_num_col_dims=1, y_num_col_dims=1)
def mul_(x: Any, y: Any, *, x_num_col_dims: int, y_num_col_dims: int) -> Any:
    """The product of x and y as matrices: the first axes are the rows, the others the columns."""
    rows, columns = x.shape[:x_num_col_dims], y.shape[y_num_col_dims:]
    left = x.reshape((*_flat(rows), math.prod(x.shape[x_num_col_dims:])))
    right = y.reshape((math.prod(y.shape[:y_num_col_dims]), *_flat(columns)))
    return np.matmul(left, right).reshape((*rows, *columns))


def _flat(shape: tuple[int, ...]) -> tuple[int]:
    return (math.prod(shape),)


def fc(
    x: Any,
    size: int,
    num_flatten_dims: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    activation: str | None = None,
    name: str | None = None,
) -> Any:
    """Return activation(Σ x·w + b), a fully connected layer with new parameters.

    Args:
        x: a variable or a list of variables, one weight for each; all are summed.
        size: number of outputs.
        num_flatten_dims: how many first axes are kept; the others are flattened (−1: all but the last).
        weight_attr: how to make the weights.
        bias_attr: how to make the bias; False leaves it out.
        activation: name of a function of `paddle.nn.functional`, or None.
        name: the layer's name, first part of those of its parameters.

    Raises:
        ArgumentTypeError: if x is no variable.
        InvalidArgumentError: if the number of inputs is not known.

    Example:
        >>> from primad.compat import paddle
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     y = paddle.static.nn.fc(paddle.static.data("x", [None, 3]), 2, name="mine")
        ...     y.shape, [parameter.name for parameter in y.program.all_parameters()]
        ((-1, 2), ['mine.w_0', 'mine.b_0'])
    """
    layer = Layer("fc", name)
    listed = list(x) if isinstance(x, (list, tuple)) else [x]
    for value in listed:
        if not isinstance(value, Variable):
            raise ArgumentTypeError(f"fc: x must be a Variable, or a list of Variables, got {type(value).__name__}")
    attributes = list(weight_attr) if isinstance(weight_attr, (list, tuple)) else [weight_attr] * len(listed)
    products = []
    for value, given in zip(listed, attributes, strict=True):
        kept = num_flatten_dims if num_flatten_dims >= 0 else value.ndim + num_flatten_dims
        inputs = value.shape[kept:]
        if -1 in inputs:
            raise InvalidArgumentError(
                f"fc: the axes {inputs} of {value.name} are its inputs, and one of their lengths is unknown",
                fix="give that length in data(shape=…), or another num_flatten_dims.",
            )
        attribute = as_attribute(given) or ParamAttr()
        weight = make_parameter(attribute, (math.prod(inputs), size), value.dtype, XavierUniform(), "w", layer.name)
        products.append(apply(mul_, value, weight, layer=layer, x_num_col_dims=kept))
    result = products[0] if len(products) == 1 else apply(functions.add_n_, products, layer=layer)
    return _activated(_shifted(result, bias_attr, size, len(result.shape) - 1, layer), activation, layer)


def _shifted(result: Any, attribute: Any, size: int, axis: int, layer: Layer) -> Any:
    """Return a result plus a new bias along an axis, or as it is, if the attribute is False."""
    bias = as_attribute(attribute)
    if bias is None:
        return result
    shift = make_parameter(bias, (size,), result.dtype, Constant(0.0), "b", layer.name)
    return apply(functions.elementwise_add_, result, shift, layer=layer, axis=axis)


def _activated(result: Any, activation: str | None, layer: Layer) -> Any:
    """Return a function of a result, as a part of the layer."""
    with layer:
        return result if activation is None else getattr(functional, activation)(result)


def embedding(
    input: Any,
    size: Sequence[int],
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Any:
    """Return rows of a new table of shape `size`, one for each integer of the input.

    Args:
        input: integers.
        size: (number of rows, length of a row).
        is_sparse: ignored: gradients are dense.
        is_distributed: ignored.
        padding_idx: a row that stands for nothing: it reads as zeros and has no gradient.
        param_attr: how to make the table.
        dtype: its data type.
    """
    layer = Layer("embedding")
    attribute = as_attribute(param_attr) or ParamAttr()
    table = make_parameter(attribute, size, dtype, XavierUniform(), "w", layer.name)
    padding = -1 if padding_idx is None else int(padding_idx) % int(size[0])
    return apply(common.embedding_, input, table, layer=layer, padding_idx=padding)


def conv2d(
    input: Any,
    num_filters: int,
    filter_size: int | Sequence[int],
    stride: int | Sequence[int] = 1,
    padding: Any = 0,
    dilation: int | Sequence[int] = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Any:
    """Return act(x ∗ w + b), a convolution over two axes with new parameters.

    Args:
        input: shape (batch, channels, height, width), or channels last.
        num_filters: number of outputs.
        filter_size: height and width of the kernel.
        stride: distance of windows.
        padding: numbers, pairs, 'same' or 'valid'.
        dilation: distance of elements in a window.
        groups: number of parts of the channels.
        param_attr: how to make the kernel.
        bias_attr: how to make the bias; False leaves it out.
        use_cudnn: ignored.
        act: name of a function of `paddle.nn.functional`, or None.
        name: the layer's name.
        data_format: 'NCHW' or 'NHWC'.
    """
    layer = Layer("conv2d", name)
    kernel = (filter_size, filter_size) if isinstance(filter_size, int) else tuple(filter_size)
    channels = input.shape[1 if data_format == "NCHW" else -1]
    parts = groups or 1
    deviation = math.sqrt(2.0 / (kernel[0] * kernel[1] * channels))
    attribute = as_attribute(param_attr) or ParamAttr()
    shape = (num_filters, channels // parts, *kernel)
    weight = make_parameter(attribute, shape, input.dtype, Normal(0.0, deviation), "w", layer.name)
    with layer:
        result = functional.conv2d(input, weight, None, stride, padding, dilation, parts, data_format)
    axis = 1 if data_format == "NCHW" else -1
    return _activated(_shifted(result, bias_attr, num_filters, axis, layer), act, layer)


def batch_norm(
    input: Any,
    act: str | None = None,
    is_test: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    param_attr: Any = None,
    bias_attr: Any = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    use_global_stats: bool = False,
) -> Any:
    """Return act of each channel normalised, scaled and shifted, with new parameters (Ioffe & Szegedy 2015).

    While training, the batch's statistics are used, and running means of them kept for evaluation, in persistable
    variables.

    Args:
        input: shape (batch, channels, …), or channels last.
        act: name of a function of `paddle.nn.functional`, or None.
        is_test: whether to use the running statistics; `clone(for_test=True)` sets it.
        momentum: how much of the running statistics is kept in a run.
        epsilon: added to the variance.
        param_attr: how to make the scale.
        bias_attr: how to make the shift.
        data_layout: 'NCHW' or 'NHWC'.
        in_place: ignored.
        name: the layer's name.
        moving_mean_name: name of the running mean.
        moving_variance_name: name of the running variance.
        do_model_average_for_mean_and_var: ignored.
        use_global_stats: whether to use the running statistics in training, too.
    """
    layer = Layer("batch_norm", name)
    size = (input.shape[1 if data_layout == "NCHW" else -1],)
    scale = make_parameter(as_attribute(param_attr) or ParamAttr(), size, input.dtype, Constant(1.0), "w", layer.name)
    shift = make_parameter(as_attribute(bias_attr) or ParamAttr(), size, input.dtype, Constant(0.0), "b", layer.name)
    mean, variance = (
        make_parameter(ParamAttr(name=given, trainable=False), size, input.dtype, Constant(start), "w", layer.name)
        for given, start in ((moving_mean_name, 0.0), (moving_variance_name, 1.0))
    )
    with layer:
        result = append_batch_norm(
            input, mean, variance, scale, shift, momentum, epsilon, data_layout, is_test, use_global_stats
        )
    return _activated(result, act, layer)


def layer_norm(
    input: Any,
    scale: bool = True,
    shift: bool = True,
    begin_norm_axis: int = 1,
    epsilon: float = 1e-5,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Any:
    """Return act of each sample normalised over its last axes, scaled and shifted, with new parameters.

    Args:
        input: a variable.
        scale: whether to scale.
        shift: whether to shift.
        begin_norm_axis: the first of the axes that are normalised over.
        epsilon: added to the variance.
        param_attr: how to make the scale.
        bias_attr: how to make the shift.
        act: name of a function of `paddle.nn.functional`, or None.
        name: the layer's name.
    """
    layer = Layer("layer_norm", name)
    size = (math.prod(input.shape[begin_norm_axis:]),)
    made = [
        make_parameter(as_attribute(given) or ParamAttr(), size, input.dtype, Constant(start), stem, layer.name)
        if wanted
        else None
        for wanted, given, start, stem in ((scale, param_attr, 1.0, "w"), (shift, bias_attr, 0.0, "b"))
    ]
    options: dict[str, Any] = {"epsilon": epsilon, "begin_norm_axis": begin_norm_axis}
    return _activated(apply(common.layer_norm_, input, *made, layer=layer, **options), act, layer)


__all__ = ["batch_norm", "conv2d", "embedding", "fc", "layer_norm"]


def __getattr__(name: str) -> Any:
    raise unsupported("paddle.static.nn", name, __all__)
