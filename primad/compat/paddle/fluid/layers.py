"""`fluid.layers`: functions and layers of static variables, with the signatures of Paddle 1.x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad.compat.paddle.eager.operators import Prototype, apply
from primad.compat.paddle.functions import manipulation, math
from primad.compat.paddle.functions.creation import fill_constant_
from primad.compat.paddle.functions.indexing import gather
from primad.compat.paddle.functions.manipulation import concat, reshape, stack, transpose, unsqueeze
from primad.compat.paddle.functions.math import abs, cast, cos, exp, log, pow, scale, sigmoid, sin, sqrt, square, tanh
from primad.compat.paddle.nn import functional
from primad.compat.paddle.nn.functional import relu, softmax
from primad.compat.paddle.settings import errors
from primad.compat.paddle.settings.dtypes import as_dtype
from primad.compat.paddle.settings.naming import Layer
from primad.compat.paddle.static import nn as layers
from primad.compat.paddle.static.nn import batch_norm, conv2d, embedding
from primad.compat.paddle.static.parameters import create_global_var, create_parameter
from primad.compat.paddle.static.program import data as static_data
from primad.compat.paddle.static.variable import Variable


def data(
    name: str, shape: Sequence[int], append_batch_size: bool = True, dtype: Any = "float32", lod_level: int = 0
) -> Variable:
    """Return a variable that is fed.

    Args:
        name: its name.
        shape: lengths of its axes; −1 is unknown.
        append_batch_size: whether to put an axis of unknown length in front, unless a length is given as −1.
        dtype: its data type.
        lod_level: must be 0.
    """
    known = list(shape)
    return static_data(name, [-1, *known] if append_batch_size and -1 not in known else known, dtype)


def fc(
    input: Any,
    size: int,
    num_flatten_dims: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Any:
    """Return act(Σ input·w + b), a fully connected layer with new parameters (see `paddle.static.nn.fc`)."""
    return layers.fc(input, size, num_flatten_dims, param_attr, bias_attr, act, name)


def mean(x: Any, name: str | None = None) -> Any:
    """Return the mean of all elements."""
    return math.mean(x, name=name)


def square_error_cost(input: Any, label: Any) -> Any:
    """Return (input − label)², elementwise."""
    return functional.square_error_cost(input, label)


def cross_entropy(input: Any, label: Any, soft_label: bool = False, ignore_index: int = -100) -> Any:
    """Return −log of the probability that `input` gives to the label, for each sample, in an axis of length 1.

    Args:
        input: probabilities, along the last axis.
        label: class numbers in an axis of length 1, or probabilities with `soft_label`.
        soft_label: whether labels are probabilities.
        ignore_index: a class whose samples give 0.
    """
    return functional.cross_entropy(
        input, label, soft_label=soft_label, ignore_index=ignore_index, reduction="none", use_softmax=False
    )


def softmax_with_cross_entropy(logits: Any, label: Any, soft_label: bool = False, ignore_index: int = -100) -> Any:
    """Return −log softmax(logits) at the label, for each sample, in an axis of length 1."""
    return functional.softmax_with_cross_entropy(logits, label, soft_label=soft_label, ignore_index=ignore_index)


def dropout(
    x: Any, dropout_prob: float, is_test: bool = False, seed: int | None = None, name: str | None = None,
    dropout_implementation: str = "downgrade_in_infer",
) -> Any:  # fmt: skip
    """Set elements to 0 with a probability, unless `is_test`."""
    mode = "downscale_in_infer" if dropout_implementation == "downgrade_in_infer" else dropout_implementation
    return functional.dropout(x, dropout_prob, training=not is_test, mode=mode)


def fill_constant(shape: Sequence[int], dtype: Any, value: float, name: str | None = None) -> Variable:
    """Return a variable that is filled with one value."""
    attributes = {"shape": tuple(map(int, shape)), "value": value, "dtype": as_dtype(dtype).name}
    result: Variable = Variable.apply(fill_constant_, (), attributes, Layer("fill_constant", name))
    result.stop_gradient = True
    return result


def _elementwise(record: Prototype) -> Any:
    def function(x: Any, y: Any, axis: int = -1, act: str | None = None, name: str | None = None) -> Any:
        result = apply(record, x, y, axis=axis)
        return result if act is None else getattr(functional, act)(result)

    function.__name__ = function.__qualname__ = record.type
    function.__doc__ = "Combine x and y elementwise; the first axis of y meets `axis` of x."
    return function


elementwise_add = _elementwise(math.elementwise_add_)
elementwise_sub = _elementwise(math.elementwise_sub_)
elementwise_mul = _elementwise(math.elementwise_mul_)
elementwise_div = _elementwise(math.elementwise_div_)
elementwise_pow = _elementwise(math.elementwise_pow_)


def matmul(
    x: Any, y: Any, transpose_x: bool = False, transpose_y: bool = False, alpha: float = 1.0, name: str | None = None
) -> Any:
    """Return alpha times the matrix product."""
    product = math.matmul(x, y, transpose_x, transpose_y)
    return product if alpha == 1.0 else product * alpha


def reduce_sum(input: Any, dim: Any = None, keep_dim: bool = False, name: str | None = None) -> Any:
    """Return the sum over axes, by default over all."""
    return math.sum(input, dim, keepdim=keep_dim)


def reduce_mean(input: Any, dim: Any = None, keep_dim: bool = False, name: str | None = None) -> Any:
    """Return the mean over axes, by default over all."""
    return math.mean(input, dim, keepdim=keep_dim)


def sums(input: Sequence[Any]) -> Any:
    """Return the sum of variables of one shape."""
    return math.add_n(input)


def split(input: Any, num_or_sections: Any, dim: int = -1, name: str | None = None) -> Any:
    """Return the parts of a variable along an axis."""
    return manipulation.split(input, num_or_sections, dim)


__all__ = [
    "abs", "batch_norm", "cast", "concat", "conv2d", "cos", "create_global_var", "create_parameter", "cross_entropy",
    "data", "dropout", "elementwise_add", "elementwise_div", "elementwise_mul", "elementwise_pow", "elementwise_sub",
    "embedding", "exp", "fc", "fill_constant", "gather", "log", "matmul", "mean", "pow", "reduce_mean", "reduce_sum",
    "relu", "reshape", "scale", "sigmoid", "sin", "softmax", "softmax_with_cross_entropy", "split", "sqrt", "square",
    "square_error_cost", "stack", "sums", "tanh", "transpose", "unsqueeze",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise errors.unsupported("paddle.fluid.layers", name, __all__)
