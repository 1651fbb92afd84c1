"""paddle.nn.functional: activations, layers and losses as functions."""

from typing import Any

from primad.compat.paddle.functions.inplace import in_place
from primad.compat.paddle.nn.functional.activation import (
    celu,
    elu,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    maxout,
    mish,
    prelu,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softmax,
    softplus,
    softshrink,
    softsign,
    swish,
    tanh,
    tanhshrink,
    thresholded_relu,
)
from primad.compat.paddle.nn.functional.common import (
    batch_norm,
    cosine_similarity,
    dropout,
    embedding,
    layer_norm,
    linear,
    normalize,
    one_hot,
    pad,
)
from primad.compat.paddle.nn.functional.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
    softmax_with_cross_entropy,
    square_error_cost,
)
from primad.compat.paddle.nn.functional.vision import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from primad.compat.paddle.settings import errors

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d",
    "conv3d_transpose", "cosine_similarity", "cross_entropy", "dropout", "elu", "embedding", "gelu", "glu",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear",
    "log_sigmoid", "log_softmax", "max_pool1d", "max_pool2d", "max_pool3d", "maxout", "mish", "mse_loss", "nll_loss",
    "normalize", "one_hot", "pad", "prelu", "relu", "relu6", "selu", "sigmoid", "silu", "smooth_l1_loss", "softmax",
    "softmax_with_cross_entropy", "softplus", "softshrink", "softsign", "square_error_cost", "swish", "tanh",
    "tanhshrink", "thresholded_relu",
]  # fmt: skip


_IN_PLACE = {
    f"{function.__name__}_": in_place(function)
    for function in (elu, hardtanh, leaky_relu, relu, softmax, tanh, thresholded_relu)
}


def __getattr__(name: str) -> Any:
    if name in _IN_PLACE:
        return _IN_PLACE[name]
    raise errors.unsupported("paddle.nn.functional", name, [*__all__, *_IN_PLACE])
