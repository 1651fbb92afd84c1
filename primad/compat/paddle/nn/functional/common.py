"""Layers as functions: linear, embedding, dropout, normalisation (`paddle.nn.functional`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import nn
from primad.compat.paddle.eager.operators import apply, prototype
from primad.compat.paddle.eager.tensor import RECORDING
from primad.compat.paddle.functions.manipulation import lengths, pad
from primad.compat.paddle.functions.math import abs, clip, divide, norm, pow, sum
from primad.compat.paddle.settings.dtypes import default_numpy
from primad.compat.paddle.settings.errors import InvalidArgumentError
from primad.compat.paddle.static.normalization import append_batch_norm
from primad.compat.paddle.static.variable import Variable


@prototype("linear", inputs="X Weight Bias")
def linear_(x: Any, weight: Any, bias: Any) -> Any:
    product = np.matmul(x, weight)
    return product if bias is None else product + bias


def linear(x: Any, weight: Any, bias: Any = None, name: Any = None) -> Any:
    """Return x·weight + bias; the weight has the shape (inputs, outputs)."""
    return apply(linear_, x, weight, bias, name=name)


@prototype("lookup_table_v2", inputs="Ids W", padding_idx=-1)
def embedding_(ids: Any, table: Any, *, padding_idx: int) -> Any:
    return nn.embedding(ids, table, None if padding_idx == -1 else padding_idx)


def embedding(
    x: Any, weight: Any, padding_idx: int | None = None, sparse: bool = False, name: Any = None, **ignored: Any
) -> Any:
    """Return the rows of a table at positions x.

    Args:
        x: integers.
        weight: the table, one row for each number.
        padding_idx: a row that stands for nothing: it reads as zeros and has no gradient.
        sparse: ignored: gradients are dense.
        name: ignored.
        ignored: Paddle's limits on the size of rows.
    """
    count = int(weight.shape[0])
    if padding_idx is not None and not -count <= padding_idx < count:
        raise InvalidArgumentError(f"padding_idx must be within [-{count}, {count}), but got {padding_idx}")
    return apply(
        embedding_,
        x,
        weight,
        layer="embedding",
        padding_idx=-1 if padding_idx is None else padding_idx % count,
        name=name,
    )


@prototype("one_hot_v2", depth=1, dtype="float32")
def one_hot_(x: Any, *, depth: int, dtype: str) -> Any:
    return nn.one_hot(x, depth, dtype)


def one_hot(x: Any, num_classes: int = -1, name: Any = None) -> Any:
    """Return vectors that are 1 at positions x and 0 elsewhere."""
    if num_classes == -1:
        num_classes = int(x.max().item()) + 1
    return apply(one_hot_, x, depth=int(num_classes), dtype=default_numpy().name, name=name)


def _draw_key(rng: np.random.Generator, **_: Any) -> Any:
    return np.asarray(rng.integers(2**62), np.int64)


@prototype("dropout", draw=_draw_key, dropout_prob=0.5, axis=None, dropout_implementation="upscale_in_train",
           is_test=False)  # fmt: skip
def dropout_(
    x: Any, key: Any, *, dropout_prob: float, axis: tuple[int, ...] | None, dropout_implementation: str, is_test: bool
) -> Any:
    if is_test:
        return x if dropout_implementation == "upscale_in_train" else x * (1.0 - dropout_prob)
    ones = np.ones(tuple([n if axis is None or i in axis else 1 for i, n in enumerate(x.shape)]), x.dtype)
    kept = nn.dropout(ones, key, dropout_prob)
    return x * kept if dropout_implementation == "upscale_in_train" else x * kept * (1.0 - dropout_prob)


def dropout(
    x: Any, p: Any = 0.5, axis: Any = None, training: bool = True, mode: str = "upscale_in_train", name: Any = None
) -> Any:
    """Set elements to 0 with probability p while training.

    Args:
        x: a tensor.
        p: the probability.
        axis: axes along which elements are dropped one by one; along the others whole slices are; by default all.
        training: otherwise x is returned (times 1 − p with mode 'downscale_in_infer').
        mode: 'upscale_in_train' divides what is kept by 1 − p, 'downscale_in_infer' does not.
        name: ignored.

    Raises:
        InvalidArgumentError: if p is no probability or the mode is not known.
    """
    p = float(p)
    if not 0.0 <= p <= 1.0:
        raise InvalidArgumentError(f"p argument should between 0 and 1, got {p}")
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise InvalidArgumentError("mode argument should be 'downscale_in_infer' or 'upscale_in_train'")
    if not training:
        return x if mode == "upscale_in_train" else x * (1.0 - p)
    if p == 0.0:
        return x
    axes = None if axis is None else tuple(i % len(x.shape) for i in lengths(axis))
    return apply(dropout_, x, dropout_prob=p, axis=axes, dropout_implementation=mode, name=name)


def normalize(x: Any, p: float = 2, axis: int = 1, epsilon: float = 1e-12, name: Any = None) -> Any:
    """Return x divided by its p-norm along an axis, or by epsilon where that is larger."""
    length = (
        norm(x, float(p), axis, keepdim=True) if p in (1, 2) else pow(sum(pow(abs(x), p), axis, keepdim=True), 1 / p)
    )
    return divide(x, clip(length, epsilon), name)


@prototype("batch_norm", inputs="X Mean Variance Scale Bias", outputs="Y", epsilon=1e-5, data_layout="NCHW")
def batch_norm_(x: Any, mean: Any, variance: Any, scale: Any, bias: Any, *, epsilon: float, data_layout: str) -> Any:
    axis = 1 if data_layout.startswith("NC") else -1
    if mean is None:
        mean, variance = nn.batch_statistics(x, axis)
    return nn.batch_norm(x, mean, variance, scale, bias, epsilon, axis)


@prototype("batch_statistics", outputs="Mean Variance", data_layout="NCHW")
def batch_statistics_(x: Any, *, data_layout: str) -> Any:
    return nn.batch_statistics(x, 1 if data_layout.startswith("NC") else -1)


def batch_norm(
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    data_format: str = "NCHW",
    use_global_stats: bool | None = None,
    name: Any = None,
) -> Any:
    """Normalise each channel over the batch.

    Args:
        x: a tensor with a channel axis.
        running_mean: one number per channel; overwritten while training.
        running_var: one number per channel; overwritten while training.
        weight: factor of each channel, or None.
        bias: shift of each channel, or None.
        training: whether the statistics are those of x; else the running ones.
        momentum: how much of the running statistics is kept in a step.
        epsilon: added to the variance.
        data_format: 'NC…' if the channel axis is the second, else it is the last.
        use_global_stats: whether the running statistics are used, by default when not training.
        name: ignored.
    """
    if isinstance(running_mean, Variable):
        return append_batch_norm(
            x, running_mean, running_var, weight, bias, momentum, epsilon, data_format, not training,
            bool(use_global_stats),
        )  # fmt: skip
    global_statistics = not training if use_global_stats is None else use_global_stats
    options: dict[str, Any] = {"epsilon": float(epsilon), "data_layout": data_format}
    if global_statistics:
        return apply(batch_norm_, x, running_mean, running_var, weight, bias, **options, name=name)
    RECORDING.append(False)
    try:
        mean, variance = apply(batch_statistics_, x, data_layout=data_format)
        running_mean.set_value(running_mean * momentum + mean * (1.0 - momentum))
        running_var.set_value(running_var * momentum + variance * (1.0 - momentum))
    finally:
        RECORDING.pop()
    return apply(batch_norm_, x, None, None, weight, bias, **options, name=name)


@prototype("layer_norm", inputs="X Scale Bias", outputs="Y", epsilon=1e-5, begin_norm_axis=1)
def layer_norm_(x: Any, scale: Any, bias: Any, *, epsilon: float, begin_norm_axis: int) -> Any:
    axes = tuple(range(begin_norm_axis, x.ndim))
    shape = tuple(x.shape[begin_norm_axis:])
    scale, bias = (None if part is None else part.reshape(shape) for part in (scale, bias))
    return nn.layer_norm(x, axes, scale, bias, epsilon)


def layer_norm(
    x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, epsilon: float = 1e-5, name: Any = None
) -> Any:
    """Normalise each sample over its last axes, whose lengths are `normalized_shape`.

    Raises:
        InvalidArgumentError: if x does not end in that shape.
    """
    shape = lengths(normalized_shape)
    begin = len(x.shape) - len(shape)
    if tuple(x.shape[begin:]) != shape:
        raise InvalidArgumentError(f"layer_norm: a tensor of shape {list(x.shape)} does not end in {list(shape)}")
    return apply(layer_norm_, x, weight, bias, epsilon=float(epsilon), begin_norm_axis=begin, name=name)


@prototype("cos_sim", inputs="X Y", axis=1, eps=1e-8)
def cosine_similarity_(x: Any, y: Any, *, axis: int, eps: float) -> Any:
    product = np.sum(x * y, axis=axis)
    lengths = np.linalg.norm(x, axis=axis) * np.linalg.norm(y, axis=axis)
    return product / np.where(lengths < eps, eps, lengths)


def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    """Return the cosine of the angle between vectors along an axis."""
    return apply(cosine_similarity_, x1, x2, axis=axis, eps=eps)


__all__ = [
    "batch_norm",
    "cosine_similarity",
    "dropout",
    "embedding",
    "layer_norm",
    "linear",
    "normalize",
    "one_hot",
    "pad",
]
