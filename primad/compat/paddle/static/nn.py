"""Layers of static programs (`paddle.static.nn`): operators together with the parameters that they need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import nn
from primad.compat.paddle import math as functions
from primad.compat.paddle.errors import InvalidArgumentError, UnimplementedError
from primad.compat.paddle.initializer import Constant, XavierUniform
from primad.compat.paddle.naming import Layer
from primad.compat.paddle.operators import apply, prototype
from primad.compat.paddle.parameters import ParamAttr, as_attribute
from primad.compat.paddle.static.parameters import make_parameter


@prototype("mul", inputs="X Y", x_num_col_dims=1, y_num_col_dims=1)
def mul_(x: Any, y: Any, *, x_num_col_dims: int, y_num_col_dims: int) -> Any:
    """The product of x and y as matrices: the first axes are the rows, the others the columns."""
    rows, columns = x.shape[:x_num_col_dims], y.shape[y_num_col_dims:]
    left = x.reshape((*_flat(rows), math.prod(x.shape[x_num_col_dims:])))
    right = y.reshape((math.prod(y.shape[:y_num_col_dims]), *_flat(columns)))
    return np.matmul(left, right).reshape((*rows, *columns))


def _flat(shape: tuple[int, ...]) -> tuple[int]:
    return (math.prod(shape),)


@prototype("lookup_table_v2", inputs="Ids W", padding_idx=-1)
def lookup_table_(ids: Any, table: Any, *, padding_idx: int) -> Any:
    """Rows of a table; those of `padding_idx` are zeros."""
    rows = nn.embedding(ids, table)
    if padding_idx == -1:
        return rows
    return np.where((ids == padding_idx)[..., None], np.zeros((), table.dtype), rows)


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
    """
    layer = Layer("fc", name)
    listed = list(x) if isinstance(x, (list, tuple)) else [x]
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
    bias = as_attribute(bias_attr)
    if bias is not None:
        kept = num_flatten_dims if num_flatten_dims >= 0 else result.ndim + num_flatten_dims
        shift = make_parameter(bias, (size,), result.dtype, Constant(0.0), "b", layer.name)
        result = apply(functions.elementwise_add_, result, shift, layer=layer, axis=kept)
    return _activated(result, activation, layer)


def _activated(result: Any, activation: str | None, layer: Layer) -> Any:
    if activation is None:
        return result
    raise UnimplementedError(f"activation {activation!r}")


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
    padding = -1 if padding_idx is None else padding_idx if padding_idx >= 0 else int(size[0]) + padding_idx
    return apply(lookup_table_, input, table, layer=layer, padding_idx=padding)
